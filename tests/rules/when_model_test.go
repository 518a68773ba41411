package rules_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Chore has attributes of every kind that a condition can be about.
type Chore struct {
	ID       string     `dynamodbav:"id"`
	Status   string     `dynamodbav:"status,omitempty"`
	Assignee *string    `dynamodbav:"assignee"`
	Closed   *time.Time `dynamodbav:"closedAt,omitempty"`
	Level    int        `dynamodbav:"level"`
	Team     string     `dynamodbav:"team,omitempty"`
	Owner    string     `dynamodbav:"owner,omitempty" entity:"immutable"`
	First    string     `dynamodbav:"first,omitempty" entity:"set_once"`
	Seen     time.Time  `dynamodbav:"seen,omitempty"`
	Tags     []string   `dynamodbav:"tags,omitempty"`
	Mode     string     `dynamodbav:"mode,omitempty" entity:"default=new"`
	Updated  time.Time  `dynamodbav:"updated" entity:"updated_at"`
}

// errand has no feature but its indexes.
type errand struct {
	_ entity.Key `name:"Errand" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$" sk:"$#{id}" when:"status=open|pending"`
	_ entity.GSI `name:"mine" index:"gsi2" pk:"$#{assignee}" sk:"$#{level}" when:"assignee,!closedAt" shards:"2"`
	_ entity.GSI `name:"low" index:"gsi3" pk:"team" sk:"gsi3sk={status}" when:"level=0|-1,status=open"`
	_ entity.GSI `name:"owned" index:"gsi4" pk:"$#{team}#{owner}" when:"first=a,owner,tags"`
	_ entity.GSI `name:"seen" index:"gsi5" pk:"$#{id}" sk:"$#seen" when:"seen"`
	_ entity.GSI `name:"first" index:"gsi6" pk:"gsi6pk={first}" sk:"$#{updated}" when:"id=a" shards:"3"`
	_ entity.GSI `name:"new" index:"gsi8" pk:"$#{mode}" when:"mode=new|newer,!closedAt"`
	_ entity.LSI `name:"idle" index:"lsi1" sk:"lsi1sk={team}" when:"!assignee"`
	Chore
}

// trip has so few indexes that most of its writes read nothing.
type trip struct {
	_ entity.Key `name:"Trip" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"going" index:"gsi9" pk:"$" sk:"$#{id}" when:"!closedAt" shards:"3"`
	_ entity.GSI `name:"theirs" index:"gsi10" pk:"$#{owner}" when:"!closedAt"`
	_ entity.GSI `name:"b" index:"gsi11" pk:"$#{id}" when:"id=b"`
	Chore
}

// dossier has the features that keep other items with it, and an index of deleted copies.
type dossier struct {
	_ entity.Key           `name:"Dossier" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"first" fields:"first"`
	_ entity.GSI           `name:"open" index:"gsi1" pk:"$" sk:"$#{id}" when:"status=open|pending"`
	_ entity.GSI           `name:"mine" index:"gsi2" pk:"$#{assignee}" sk:"$#{level}" when:"assignee,!closedAt" shards:"2"`
	_ entity.GSI           `name:"gone" index:"gsi7" pk:"$#{team}" sk:"$#{deletedAt}" when:"status=open" shards:"2"`
	Chore
	Version int64     `dynamodbav:"version" entity:"version"`
	Deleted time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

// with reports whether an item has non-empty values for all names.
func with(it dbtest.Item, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool {
		return it[name] == nil || !reflect.ValueOf(it[name]).Elem().FieldByName("Value").IsValid() || isNull(it, name)
	})
}

// isNull reports whether an attribute is NULL or an empty text.
func isNull(it dbtest.Item, name string) bool {
	v := reflect.ValueOf(it[name]).Elem().FieldByName("Value")
	return v.Kind() == reflect.Bool || v.Kind() == reflect.String && v.Len() == 0
}

// is reports whether an attribute is one of some texts or numbers.
func is(it dbtest.Item, name string, values ...string) bool {
	return it[name] != nil && slices.Contains(values, dbtest.Text(it[name]))
}

// member says by the attributes of an item whether an index has it. It is written without the library.
type member func(it dbtest.Item) bool

func current(it dbtest.Item) bool { return it["_k"] == nil && !dbtest.IsSentinel(it) }

var members = map[string]member{
	"gsi1": func(it dbtest.Item) bool { return current(it) && is(it, "status", "open", "pending") },
	"gsi2": func(it dbtest.Item) bool { return current(it) && with(it, "assignee") && !with(it, "closedAt") },
	"gsi3": func(it dbtest.Item) bool {
		return current(it) && is(it, "level", "0", "-1") && is(it, "status", "open") && with(it, "team")
	},
	"gsi4": func(it dbtest.Item) bool {
		return current(it) && is(it, "first", "a") && with(it, "owner", "team", "tags")
	},
	"gsi5": func(it dbtest.Item) bool { return current(it) && with(it, "seen") },
	"gsi6": func(it dbtest.Item) bool { return current(it) && is(it, "id", "a") && with(it, "first") },
	"gsi7": func(it dbtest.Item) bool { return is(it, "_k", "d") && is(it, "status", "open") && with(it, "team") },
	"gsi8": func(it dbtest.Item) bool {
		return current(it) && is(it, "mode", "new", "newer") && !with(it, "closedAt")
	},
	"gsi9":  func(it dbtest.Item) bool { return current(it) && !with(it, "closedAt") },
	"gsi10": func(it dbtest.Item) bool { return current(it) && !with(it, "closedAt") && with(it, "owner") },
	"gsi11": func(it dbtest.Item) bool { return current(it) && is(it, "id", "b") },
	"lsi1":  func(it dbtest.Item) bool { return current(it) && !with(it, "assignee") && with(it, "team") },

	"series1": func(it dbtest.Item) bool { return current(it) && with(it, "alarm") },
	"series2": func(it dbtest.Item) bool { return current(it) && is(it, "fault", "x", "y") && !with(it, "note") },
	"series3": func(it dbtest.Item) bool { return current(it) && is(it, "site", "x") },
	"series4": func(it dbtest.Item) bool { return current(it) && is(it, "alarm", "red") },
	"series5": func(it dbtest.Item) bool { return current(it) && is(it, "site", "x") },
}

// The indexes of errand, and of dossier.
var (
	plainIndexes   = []string{"gsi1", "gsi2", "gsi3", "gsi4", "gsi5", "gsi6", "gsi8", "lsi1"}
	featureIndexes = []string{"gsi1", "gsi2", "gsi7"}
)

// spread are the numbers of shards of the indexes that have some.
var spread = map[string]uint64{"gsi2": 2, "gsi6": 3, "gsi7": 2, "gsi9": 3}

// requireMembers requires that each index of the table has the items that its condition admits, each in its shard, and no others.
func requireMembers(t require.TestingT, b *dbtest.Bench, indexes []string, after string) {
	items := b.Items()
	for _, index := range indexes {
		var want, got []string
		for _, it := range items {
			if members[index](it) {
				want = append(want, fmt.Sprint(b.KeyOf(it)))
			}
		}
		out := entity.Must(b.Raw.Scan(b.Ctx, &dynamodb.ScanInput{TableName: &b.Table, IndexName: &index}))
		for _, it := range out.Items {
			got = append(got, fmt.Sprint(b.KeyOf(it)))
			if n, pk := spread[index], dbtest.Text(it["pk"]); n > 0 {
				require.True(t, strings.HasSuffix(dbtest.Text(it[index+"pk"]), shardOf(pk+pk[:strings.LastIndex(pk, "#")], n)), "%s after %s: %v", index, after, it)
			}
		}
		slices.Sort(want)
		slices.Sort(got)
		require.Equal(t, want, got, "%s after %s: %v", index, after, items)
	}
}

// partitions are the parts of the partition keys of indexes, of an item that is in them.
var partitions = map[string]func(Chore) Chore{
	"open":   func(Chore) Chore { return Chore{} },
	"mine":   func(c Chore) Chore { return Chore{Assignee: c.Assignee} },
	"low":    func(c Chore) Chore { return Chore{Team: c.Team} },
	"owned":  func(c Chore) Chore { return Chore{Team: c.Team, Owner: c.Owner} },
	"seen":   func(c Chore) Chore { return Chore{ID: c.ID} },
	"first":  func(c Chore) Chore { return Chore{First: c.First} },
	"new":    func(c Chore) Chore { return Chore{Mode: c.Mode} },
	"going":  func(Chore) Chore { return Chore{} },
	"theirs": func(c Chore) Chore { return Chore{Owner: c.Owner} },
	"b":      func(c Chore) Chore { return Chore{ID: c.ID} },
	"idle":   func(c Chore) Chore { return Chore{ID: c.ID} },
}

// requireFound requires that a query of each index finds the items that are in it.
func requireFound[T any](t require.TestingT, b *dbtest.Bench, s *entity.Store[T], names ...string) {
	for _, name := range names {
		index := entity.Must(s.Index(name))
		all := entity.Must(index.Scan().Collect(b.Ctx))
		for _, v := range all {
			var of T
			*dbtest.Embedded[Chore](&of) = partitions[name](*dbtest.Embedded[Chore](&v))
			require.Contains(t, entity.Must(index.Query(of).Collect(b.Ctx)), v, name)
		}
	}
}

// draw is a source of random calls of a store.
type draw[T any] struct {
	*rapid.T
	*dbtest.Bench
	s *entity.Store[T]
	f *Chore
}

func (d draw[T]) text(label string, from ...string) string {
	return rapid.SampledFrom(from).Draw(d.T, label)
}

// value draws a value with an id.
func (d draw[T]) value() T {
	var v T
	c := dbtest.Embedded[Chore](&v)
	*c = Chore{
		ID: d.text("id", "a", "b"), Status: d.text("status", "", "open", "pending", "done"), Level: rapid.IntRange(-2, 1).Draw(d.T, "level"),
		Team: d.text("team", "", "red"), Owner: d.text("owner", "", "ann"), First: d.text("first", "", "a", "b"),
		Mode: d.text("mode", "", "new", "old"),
	}
	if text := d.text("assignee", "nil", "", "bob"); text != "nil" {
		c.Assignee = &text
	}
	if d.text("closed", "no", "yes") == "yes" {
		at := d.Clock.Now()
		c.Closed = &at
	}
	if d.text("seen", "no", "yes") == "yes" {
		c.Seen = d.Clock.Now()
	}
	if d.text("tags", "no", "yes") == "yes" {
		c.Tags = []string{"t"}
	}
	return v
}

// changes draws changes of different attributes, as often at random as such that depend on the stored value.
func (d draw[T]) changes() (opts []entity.UpdateOption) {
	bob, at := "bob", d.Clock.Now()
	each := [][]entity.UpdateOption{
		{entity.Set(&d.f.Status, "open"), entity.Set(&d.f.Status, "done"), entity.Set(&d.f.Status, ""), entity.Remove(&d.f.Status), entity.SetIfNotExists(&d.f.Status, "open")},
		{entity.Set(&d.f.Assignee, &bob), entity.Set(&d.f.Assignee, nil), entity.Remove(&d.f.Assignee)},
		{entity.Set(&d.f.Closed, &at), entity.Remove(&d.f.Closed)},
		{entity.Set(&d.f.Level, 0), entity.Add(&d.f.Level, 1), entity.Add(&d.f.Level, -1)},
		{entity.Set(&d.f.Team, "red"), entity.Remove(&d.f.Team), entity.Set(&d.f.Team, "blue")},
		{entity.SetIfNotExists(&d.f.First, "a"), entity.Set(&d.f.First, "b")},
		{entity.Set(&d.f.Seen, at), entity.Remove(&d.f.Seen)},
		{entity.Set(&d.f.Mode, "newer"), entity.Remove(&d.f.Mode), entity.SetIfNotExists(&d.f.Mode, "new")},
		{entity.ListAppend(&d.f.Tags, "t"), entity.Remove(&d.f.Tags), entity.Set(&d.f.Tags, []string{"u"})},
	}
	for i := range each {
		if rapid.IntRange(0, 2).Draw(d.T, "change") == 0 {
			opts = append(opts, rapid.SampledFrom(each[i]).Draw(d.T, "of"))
		}
	}
	if opts == nil {
		opts = each[0][:1]
	}
	return opts
}

// step makes a random call. more are those of the entity alone.
func (d draw[T]) step(more map[string]func(v T) error) string {
	v, o := d.value(), d.s.Op()
	calls := map[string]func(T) error{
		"Create": func(v T) error { _, err := d.s.Create(d.Ctx, v); return err },
		"Put":    func(v T) error { _, err := d.s.Put(d.Ctx, v); return err },
		"Upsert": func(v T) error { _, _, err := d.s.Upsert(d.Ctx, v); return err },
		"Upsert with changes": func(v T) error {
			bob := "bob"
			_, _, err := d.s.Upsert(d.Ctx, v, entity.Set(&d.f.Assignee, &bob), entity.Add(&d.f.Level, 1))
			return err
		},
		"Update": func(v T) error { _, err := d.s.Update(d.Ctx, v, d.changes()...); return err },
		"Update idempotent": func(v T) error {
			return dbtest.ErrorOf(d.s.Update(d.Ctx, v, append(d.changes(), entity.Idempotent())...))
		},
		"Modify": func(v T) error {
			_, err := d.s.Modify(d.Ctx, v, func(w *T) error {
				c, g := dbtest.Embedded[Chore](w), dbtest.Embedded[Chore](&v)
				c.Status, c.Assignee, c.Closed, c.Level, c.Team, c.Tags = g.Status, g.Assignee, g.Closed, g.Level, g.Team, g.Tags
				return nil
			})
			return err
		},
		"Touch":  func(v T) error { _, err := d.s.Touch(d.Ctx, v, &d.f.Seen, 0); return err },
		"Delete": func(v T) error { return d.s.Delete(d.Ctx, v) },
		"Transact": func(v T) error {
			w := v
			dbtest.Embedded[Chore](&w).ID = map[string]string{"a": "b", "b": "a"}[dbtest.Embedded[Chore](&v).ID]
			return d.DB.Transact(d.Ctx, o.Update(v, d.changes()...), o.CheckExists(v, entity.NotExists(&d.f.Closed)), o.Put(w))
		},
	}
	for name, call := range more {
		calls[name] = call
	}
	names := make([]string, 0, len(calls))
	for name := range calls {
		names = append(names, name)
	}
	slices.Sort(names)
	name := d.text("call", names...)
	d.Clock.Move(time.Minute)
	err := calls[name](v)
	var taken *unique.ViolationError
	switch dbtest.InputCode(err) {
	case "EDD-9102", "EDD-9109": // a part of a key would be negative; two operations of a transaction claim one unique value
		return name
	}
	expected := []error{entity.ErrNotFound, entity.ErrExists, entity.ErrConditionFailed, entity.ErrNotDeleted}
	if err != nil && !errors.As(err, &taken) && !slices.ContainsFunc(expected, func(want error) bool { return errors.Is(err, want) }) {
		require.NoError(d.T, err, name)
	}
	return fmt.Sprintf("%s of %+v: %v", name, dbtest.Embedded[Chore](&v), err)
}

// play makes random calls, after each of which every index must have what its condition admits.
func play[T any](t *testing.T, b *dbtest.Bench, s *entity.Store[T], indexes, names []string, more map[string]func(v T) error) {
	testsize.Check(t, testsize.Pick(3, 30), func(rt *rapid.T) {
		b.Wipe()
		d := draw[T]{rt, b, s, dbtest.Embedded[Chore](entity.Fields[T]())}
		for range rapid.IntRange(5, 30).Draw(rt, "calls") {
			requireMembers(rt, b, indexes, d.step(more))
		}
		requireFound(rt, b, s, names...)
	})
}

func TestWhen_EveryVerbKeepsTheIndexes(t *testing.T) {
	b, s := opened[errand](t)
	play(t, b, s, plainIndexes, []string{"open", "mine", "low", "owned", "seen", "first", "new", "idle"},
		map[string]func(errand) error{
			"PutMany": func(v errand) error { _, err := s.PutMany(b.Ctx, []errand{v}, entity.Unconditional()); return err },
			"BatchWrite": func(v errand) error {
				return dbtest.ErrorOf(b.DB.BatchWrite(b.Ctx, s.Op().BatchPut(v, entity.Unconditional())))
			},
		})
}

func TestWhen_WritesWithoutAReadKeepTheIndexes(t *testing.T) {
	b, s := opened[trip](t)
	play(t, b, s, []string{"gsi9", "gsi10", "gsi11"}, []string{"going", "theirs", "b"}, nil)
}

func TestWhen_FeaturesKeepTheIndexes(t *testing.T) {
	b, s := opened[dossier](t)
	history, bin, f := entity.Must(versioned.Of(s)), entity.Must(lifecycle.Of(s)), &entity.Fields[dossier]().Chore
	play(t, b, s, featureIndexes, []string{"open", "mine"}, map[string]func(dossier) error{
		"Restore": func(v dossier) error { _, err := bin.Restore(b.Ctx, v); return err },
		"Delete with changes": func(v dossier) error {
			return s.Delete(b.Ctx, v, entity.Set(&f.Status, v.Status), entity.Set(&f.Team, v.Team))
		},
		"Restore with changes": func(v dossier) error {
			_, err := bin.Restore(b.Ctx, v, entity.Set(&f.Status, v.Status), entity.Remove(&f.Closed))
			return err
		},
		"Revert":              func(v dossier) error { _, err := history.Revert(b.Ctx, v, 1); return err },
		"Revert to the third": func(v dossier) error { _, err := history.Revert(b.Ctx, v, 3); return err },
	})

	b.Wipe()
	for _, id := range []string{"b", "a", "c"} {
		v := dossier{Chore: Chore{ID: id, Status: "open", Team: "red"}}
		b.OK(s.Create(b.Ctx, v))
		b.Clock.Move(time.Minute)
		require.NoError(t, s.Delete(b.Ctx, v))
	}
	found := ""
	for _, v := range entity.Must(entity.Must(bin.Index("gone")).Query(dossier{Chore: Chore{Team: "red"}}).Collect(b.Ctx)) {
		found += v.Item.ID
	}
	require.Equal(t, "bac", found, "the shards of the deleted in one order")
}

// gauge is a series whose indexes depend on what appends write, or on enrichment.
type gauge struct {
	_ entity.Key        `name:"Gauge" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`
	_ entity.GSI        `name:"alarmed" index:"series1" pk:"$" sk:"$#{at}" when:"alarm"`
	_ entity.GSI        `name:"faulty" index:"series2" pk:"$#{fault}" sk:"$#{at}" when:"fault=x|y,!note"`
	_ entity.GSI        `name:"there" index:"series3" pk:"$#{site}" sk:"$#{id}" when:"site=x"`
	_ entity.GSI        `name:"red" index:"series4" pk:"$#{alarm}" when:"alarm=red"`
	_ entity.GSI        `name:"placed" index:"series5" pk:"$#{id}" when:"site=x"`

	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Alarm *string   `dynamodbav:"alarm,omitempty" entity:"append"`
	Fault string    `dynamodbav:"fault" entity:"append"`
	Note  string    `dynamodbav:"note" entity:"append"`
	Site  string    `dynamodbav:"site,omitempty"`
}

func TestWhen_AppendsAndEnrichmentKeepTheIndexes(t *testing.T) {
	b, s := following[gauge](t)
	f, o := entity.Fields[gauge](), s.Op()
	testsize.Check(t, testsize.Pick(3, 30), func(rt *rapid.T) {
		b.Wipe()
		text := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(rt, label) }
		event := func() gauge {
			v := gauge{ID: text("id", "a", "b"), At: dbtest.Start.Add(time.Duration(rapid.IntRange(0, 50).Draw(rt, "at")) * time.Minute),
				Fault: text("fault", "", "x", "y", "z"), Note: text("note", "", "n")}
			if alarm := text("alarm", "none", "red", "blue"); alarm != "none" {
				v.Alarm = &alarm
			}
			return v
		}
		for range rapid.IntRange(5, 30).Draw(rt, "calls") {
			v, ctx := event(), context.Context(b.Ctx)
			call := text("call", "Append", "AppendAll", "Transact", "Update", "Remove", "Upsert")
			var err error
			switch call {
			case "Append":
				_, err = s.Append(ctx, v)
			case "AppendAll":
				_, err = s.AppendAll(ctx, []gauge{v, event(), event()})
			case "Transact":
				w := event()
				w.ID, w.At = v.ID, v.At.Add(time.Second)
				err = b.DB.Transact(ctx, o.Append(v), o.Append(w))
			case "Update":
				_, err = s.Update(ctx, v, entity.Set(&f.Site, text("site", "x", "y")))
			case "Remove":
				_, err = s.Update(ctx, v, entity.Remove(&f.Site))
			case "Upsert":
				v.Site = text("site", "", "x", "y")
				_, _, err = s.Upsert(ctx, v)
			}
			var late *timeseries.NotAppliedError
			if err != nil && !errors.Is(err, entity.ErrNotFound) && !errors.As(err, &late) {
				require.NoError(rt, err, call)
			}
			requireMembers(rt, b, []string{"series1", "series2", "series3", "series4", "series5"}, fmt.Sprintf("%s of %+v", call, v))
		}
	})
}
