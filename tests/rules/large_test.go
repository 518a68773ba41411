package rules_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// most is the size of the largest item that DynamoDB stores, as it counts.
const most = 400 * 1024

// bulky is an item whose past states are larger than itself.
type bulky struct {
	_ entity.Key           `name:"Bulky" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"deleted" index:"gsi1" pk:"$#{team}" sk:"$#{gone}"`
	_ unique.Constraint    `name:"mail" fields:"mail"`
	_ versioned.Retain     `ttl:"30d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`

	ID      string     `dynamodbav:"id"`
	Team    string     `dynamodbav:"team,omitempty"`
	Mail    string     `dynamodbav:"mail,omitempty"`
	Log     []string   `dynamodbav:"log,omitempty"`
	Version int64      `dynamodbav:"version" entity:"version"`
	Made    time.Time  `dynamodbav:"made" entity:"created_at"`
	Changed time.Time  `dynamodbav:"changed" entity:"updated_at"`
	Gone    *time.Time `dynamodbav:"gone,omitempty" entity:"deleted_at"`
}

// fading is one that expires, so that each write keeps the state that it makes too.
type fading struct {
	_ entity.Key       `name:"Fading" pk:"$#{id}" sk:"$"`
	_ versioned.Retain `ttl:"30d"`
	_ lifecycle.TTL    `attr:"end" after:"90d"`

	ID      string    `dynamodbav:"id"`
	Log     []string  `dynamodbav:"log,omitempty"`
	Seen    time.Time `dynamodbav:"seen"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Made    time.Time `dynamodbav:"made" entity:"created_at"`
}

// bloat makes the stored item of id as large as DynamoDB allows, less the given bytes, as ListAppend of a program without a history
// can.
func bloat(b *dbtest.Bench, id string, less int) {
	b.T.Helper()
	it := b.Current(id)
	it["log"] = list(dbtest.S(""))
	bytes := most - less - item.Size(it)
	it["log"] = list(dbtest.S(strings.Repeat("x", bytes)))
	b.PutItem(it)
}

// Whatever can be stored can be changed and removed: a state that is too large for the history or the copies is left out of them,
// and the reads of them say so.
func TestLarge_WhatIsStoredCanBeChangedAndRemoved(t *testing.T) {
	b, docs := opened[bulky](t)
	history, deleted := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs))
	f, ctx, lost := entity.Fields[bulky](), t.Context(), 0
	sizes := []int{1024, 0}
	if testsize.Long() {
		sizes = append(sizes, 2000, 700, 500, 250)
	}
	for n, less := range sizes {
		id := fmt.Sprint(n)
		key := bulky{ID: id}
		entity.Must(docs.Create(ctx, bulky{ID: id, Team: "red", Mail: id + "@x"}))
		bloat(b, id, less)
		entity.Must(docs.Update(ctx, key, entity.Set(&f.Team, "r"))) // one byte less per letter
		entity.Must(docs.Update(ctx, key, entity.Remove(&f.Log)))
		bloat(b, id, less)
		require.NoError(t, docs.Delete(ctx, key), less)

		states := entity.Must(history.List(key, entity.IncludeExpired(), versioned.WithCurrent()).Collect(ctx))
		require.Len(t, states, 4, less)
		for i, v := range states {
			require.Equal(t, int64(i+1), v.Number)
			require.Equal(t, id+"@x", v.Item.Mail)
			got, err := history.Get(ctx, key, v.Number)
			at, errAt := history.At(ctx, key, v.ValidFrom)
			require.Equal(t, v, at)
			if v.Omitted == nil {
				b.OK(got, err)
				require.NoError(t, errAt)
				require.Equal(t, v, got)
				require.NotNil(t, v.Item.Log)
				continue
			}
			lost++
			require.Less(t, less, 800, "it fits with what the library adds")
			require.ErrorIs(t, err, entity.ErrOmitted)
			require.ErrorIs(t, errAt, entity.ErrOmitted)
			require.ErrorContains(t, err, "EDD-9272")
			require.ErrorContains(t, err, fmt.Sprintf("the content of the state was left out: with it, version %d would have had ", v.Number))
			require.Nil(t, v.Item.Log)
			require.Equal(t, "red"[:len(v.Item.Team)], v.Item.Team, "a part of the key of an index")
			require.ErrorIs(t, dbtest.ErrorOf(history.Diff(ctx, key, v.Number, 3)), entity.ErrOmitted)
		}
		copies := entity.Must(deleted.List(key).Collect(ctx))
		require.Len(t, copies, 1)
		whole := copies[0].Omitted == nil
		require.Equal(t, states[3].Omitted == nil, whole)
		require.Equal(t, copies[0], entity.Must(deleted.Get(ctx, key)))
		_, err := docs.Create(ctx, bulky{ID: "other", Mail: id + "@x"})
		require.ErrorAs(t, err, new(*unique.ViolationError), "the copy keeps the value")
		_, err = deleted.Restore(ctx, key)
		if whole {
			require.NoError(t, err, less)
			require.NoError(t, docs.Delete(ctx, key))
		} else {
			require.ErrorIs(t, err, entity.ErrOmitted)
			require.Contains(t, err.Error(), "version 4")
			require.ErrorIs(t, dbtest.ErrorOf(deleted.RestoreCopy(ctx, copies[0])), entity.ErrOmitted)
			require.ErrorIs(t, dbtest.ErrorOf(docs.Create(ctx, key)), entity.ErrDeleted)
			require.Equal(t, copies, entity.Must(entity.Must(deleted.Index("deleted")).Query(bulky{Team: "r"}).Collect(ctx)))
		}
		require.NoError(t, deleted.Purge(ctx, key))
		entity.Must(docs.Create(ctx, bulky{ID: "other", Mail: id + "@x"}))
		require.NoError(t, docs.Purge(ctx, bulky{ID: "other"}))
		require.Empty(t, b.Items())
	}
	require.Positive(t, lost)
}

// An item that expires stores each new state in its history too, for DynamoDB removes it without a trace.
func TestLarge_AnExpiringItemCanBeChangedByEveryVerb(t *testing.T) {
	b, docs := opened[fading](t)
	history, f, ctx := entity.Must(versioned.Of(docs)), entity.Fields[fading](), t.Context()
	for name, write := range map[string]func(fading) error{
		"update": func(key fading) error { return dbtest.ErrorOf(docs.Update(ctx, key, entity.Remove(&f.Log))) },
		"still large": func(key fading) error {
			return dbtest.ErrorOf(docs.Update(ctx, key, entity.Set(&f.Seen, time.Unix(0, 0).UTC()))) // as long as before
		},
		"upsert": func(key fading) error { return dbtest.ErrorOf(docs.Upsert(ctx, key, entity.Set(&f.Log, nil))) },
		"put":    func(key fading) error { return dbtest.ErrorOf(docs.Put(ctx, key)) },
		"modify": func(key fading) error {
			return dbtest.ErrorOf(docs.Modify(ctx, key, func(v *fading) error { v.Log = nil; return nil }))
		},
		"delete":   func(key fading) error { return docs.Delete(ctx, key) },
		"transact": func(key fading) error { return b.DB.Transact(ctx, docs.Op().Delete(key)) },
		"purge":    func(key fading) error { return docs.Purge(ctx, key) },
	} {
		key := fading{ID: name, Seen: dbtest.Start}
		entity.Must(docs.Create(ctx, key))
		bloat(b, name, 0)
		require.NoError(t, write(key), name)
		states := entity.Must(history.List(key, versioned.WithCurrent()).Collect(ctx))
		if name == "purge" {
			require.Empty(t, states)
			continue
		}
		require.Len(t, states, 2, name)
		require.ErrorIs(t, states[0].Omitted, entity.ErrOmitted, name)
		require.Equal(t, name == "delete" || name == "transact", states[1].Omitted != nil, name)
		if name == "update" {
			require.ErrorIs(t, dbtest.ErrorOf(history.Revert(ctx, key, 1)), entity.ErrOmitted)
		}
	}
}

// An update that lets an item grow too large gives ErrTooLarge, and a transaction names the operation.
func TestLarge_AnUpdateThatGrowsTooLargeIsErrTooLarge(t *testing.T) {
	b, docs := opened[page](t)
	f, ctx, op := entity.Fields[page](), t.Context(), docs.Op()
	key := page{ID: "large"}
	entity.Must(docs.Create(ctx, key))
	entity.Must(docs.Create(ctx, page{ID: "small"}))
	bloat(b, "large", 100)
	more := entity.ListAppend(&f.Log, strings.Repeat("x", 200))
	one := entity.Add(&f.Hits, 1)
	for name, err := range map[string]error{
		"Update":            dbtest.ErrorOf(docs.Update(ctx, key, more)),
		"Update Idempotent": dbtest.ErrorOf(docs.Update(ctx, key, more, entity.Idempotent())),
		"Upsert":            dbtest.ErrorOf(func() (any, error) { _, _, err := docs.Upsert(ctx, key, more); return nil, err }()),
		"Modify":            dbtest.ErrorOf(docs.Modify(ctx, key, func(v *page) error { v.Log = append(v.Log, strings.Repeat("x", 200)); return nil })),
	} {
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
		require.False(t, entity.IsAmbiguous(err), name)
		require.Contains(t, dbtest.As[*entity.Error](t, err).Key, "large")
	}
	culprit, fine := op.Update(key, more), op.Update(page{ID: "small"}, one)
	for name, err := range map[string]error{
		"Transact":          b.DB.Transact(ctx, fine, culprit),
		"TransactWithToken": b.DB.TransactWithToken(ctx, entity.Token{ID: "t"}, fine, culprit),
	} {
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
		require.ErrorIs(t, entity.FailureOf(err, culprit), entity.ErrTooLarge, name)
		require.NoError(t, entity.FailureOf(err, fine), name)
	}
	entity.Must(docs.Update(ctx, key, one)) // it still fits
	require.Zero(t, entity.Must(docs.Get(ctx, page{ID: "small"})).Hits, "nothing was applied")
}

// Every verb whose result is too large gives ErrTooLarge, and stores nothing.
func TestLarge_EveryVerbThatGrowsTooLargeIsErrTooLarge(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t, func(c *entity.Config) { c.TTL = "ends" })
	ctx, half := t.Context(), strings.Repeat("x", most/2)
	docs, plain := dbtest.Declare[bulky](t, b.DB), dbtest.Declare[page](t, b.DB)
	series := entity.Must(timeseries.New[reading](b.DB))
	b.CreateTables()
	history, deleted := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs))
	f, l := entity.Fields[bulky](), entity.Fields[reading]()
	change := func(id string, with func(item.Item)) {
		it := b.Current(id)
		with(it)
		b.PutItem(it)
	}

	entity.Must(plain.Create(ctx, page{ID: "put"}))
	entity.Must(docs.Create(ctx, bulky{ID: "put too"}))
	entity.Must(docs.Create(ctx, bulky{ID: "revert", Log: []string{half}}))
	entity.Must(docs.Update(ctx, bulky{ID: "revert"}, entity.Remove(&f.Log)))
	change("revert", func(it item.Item) { it["unknown"] = dbtest.S(half) })
	entity.Must(docs.Create(ctx, bulky{ID: "restore", Log: []string{half}}))
	require.NoError(t, docs.Delete(ctx, bulky{ID: "restore"}))
	at := dbtest.Start.Truncate(time.Second)
	entity.Must(series.Append(ctx, reading{ID: "append", At: at}))
	entity.Must(series.Update(ctx, reading{ID: "append"}, entity.Set(&l.Log, []string{half})))
	event := func(second int, note string) reading {
		return reading{ID: "append", At: at.Add(time.Duration(second) * time.Second), Note: note}
	}
	whole, more := []string{half, half}, entity.ListAppend(&f.Log, half)
	copied := entity.Must(deleted.Get(ctx, bulky{ID: "restore"}))

	before := b.Items()
	for name, write := range map[string]func() error{
		"Put":                func() error { return dbtest.ErrorOf(plain.Put(ctx, page{ID: "put", Log: whole})) },
		"Put with a history": func() error { return dbtest.ErrorOf(docs.Put(ctx, bulky{ID: "put too", Log: whole})) },
		"Create":             func() error { return dbtest.ErrorOf(plain.Create(ctx, page{ID: "new", Log: whole})) },
		"Revert":             func() error { return dbtest.ErrorOf(history.Revert(ctx, bulky{ID: "revert"}, 1)) },
		"Revert, in a transaction": func() error {
			return b.DB.Transact(ctx, history.Op().Revert(bulky{ID: "revert"}, 1), plain.Op().Create(page{ID: "new"}))
		},
		"Restore":     func() error { return dbtest.ErrorOf(deleted.Restore(ctx, bulky{ID: "restore"}, more)) },
		"RestoreCopy": func() error { return dbtest.ErrorOf(deleted.RestoreCopy(ctx, copied, more)) },
		"Restore, in a transaction": func() error {
			return b.DB.Transact(ctx, plain.Op().Create(page{ID: "new"}), deleted.Op().Restore(bulky{ID: "restore"}, more))
		},
		"Append":           func() error { return dbtest.ErrorOf(series.Append(ctx, event(1, half))) },
		"Append alone":     func() error { return dbtest.ErrorOf(series.Append(ctx, event(1, half+half))) },
		"Append to a past": func() error { return dbtest.ErrorOf(series.Append(ctx, event(-1, half+half))) },
		"Append, in a transaction": func() error {
			return b.DB.Transact(ctx, series.Op().Append(event(1, half)), plain.Op().Create(page{ID: "new"}))
		},
		"AppendAll": func() error { return dbtest.ErrorOf(series.AppendAll(ctx, []reading{event(1, half)})) },
		"Series.Update": func() error {
			return dbtest.ErrorOf(series.Update(ctx, reading{ID: "append"}, entity.ListAppend(&l.Log, half)))
		},
		"Series.Upsert": func() error {
			return dbtest.ErrorOf(series.Upsert(ctx, reading{ID: "append"}, entity.ListAppend(&l.Log, half)))
		},
	} {
		b.Sent()
		err := write()
		writes := b.Wire.Count("PutItem") + b.Wire.Count("UpdateItem") + b.Wire.Count("TransactWriteItems")
		assert.LessOrEqual(t, writes, 1, "%s: repeating it would not help", name)
		assert.ErrorIs(t, err, entity.ErrTooLarge, name)
		assert.False(t, entity.IsAmbiguous(err), name)
		assert.Equal(t, before, b.Items(), name)
	}
}

// scroll is the first form of an item, and parchment the second: its step cannot be applied to a state without its content.
type scroll struct {
	_ entity.Key `name:"Scroll" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID      string    `dynamodbav:"id"`
	Lines   []string  `dynamodbav:"log,omitempty"`
	By      int       `dynamodbav:"by,omitempty"`
	Version int64     `dynamodbav:"v" entity:"version"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
}

type parchment struct {
	_ entity.Key `name:"Scroll" pk:"$#{id}" sk:"$" payload:"2"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID      string    `dynamodbav:"id"`
	Title   string    `dynamodbav:"title"`
	By      string    `dynamodbav:"by,omitempty" entity:"context=actor"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
}

func TestLarge_AStateWithoutItsContentIsReadAfterAnUpgradeAndFromAStream(t *testing.T) {
	b, old := opened[scroll](t, withActors)
	ctx := t.Context()
	entity.Must(old.Create(ctx, scroll{ID: "a"}))
	bloat(b, "a", 0)
	require.NoError(t, old.Delete(ctx, scroll{ID: "a"}))

	now := dbtest.Declare[parchment](t, b.Open(b.Client), entity.Upgrade(1, func(s scroll) (parchment, error) {
		return parchment{ID: s.ID, Title: s.Lines[0], Version: s.Version}, nil
	}))
	history, deleted := entity.Must(versioned.Of(now)), entity.Must(lifecycle.Of(now))
	for i, v := range entity.Must(history.List(parchment{ID: "a"}).Collect(ctx)) {
		require.Equal(t, int64(i+1), v.Number)
		require.ErrorIs(t, v.Omitted, entity.ErrOmitted)
		require.Equal(t, v.ValidFrom, v.Item.Changed)
	}
	copies := entity.Must(deleted.List(parchment{ID: "a"}).Collect(ctx))
	require.Len(t, copies, 1)
	require.ErrorContains(t, copies[0].Omitted, "version 2")
	require.Equal(t, "a", copies[0].Item.ID)
	require.ErrorIs(t, dbtest.ErrorOf(deleted.Restore(ctx, parchment{ID: "a"})), entity.ErrOmitted)

	for _, it := range b.Items() {
		change, ok, err := stream.Of(old, stream.Record{Operation: "INSERT", SequenceNumber: "1", Keys: b.Key(b.KeyOf(it)), New: it})
		require.NoError(t, err)
		require.True(t, ok)
		require.ErrorIs(t, change.Omitted, entity.ErrOmitted)
		require.Equal(t, "a", change.New.ID)
	}
	require.NoError(t, deleted.Purge(ctx, parchment{ID: "a"}))
	require.Empty(t, b.Items())
}

type readable struct {
	_ entity.Key `name:"Readable" pk:"$#{team}" sk:"$#{id}"`
	_ entity.GSI `name:"by" index:"gsi1" pk:"$#{team}" sk:"$#{id}" project:"keys"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	Team    string `dynamodbav:"team"`
	ID      string `dynamodbav:"id"`
	N       int    `dynamodbav:"n"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// corrupt gives items another type of n than the struct has.
func corrupt(b *dbtest.Bench, ids ...string) {
	b.T.Helper()
	for _, it := range b.Items() {
		for _, id := range ids {
			if dbtest.Text(it["id"]) == id {
				it["n"] = dbtest.S("secret text")
				b.PutItem(it)
			}
		}
	}
}

// names requires that an error names an item that does not decode by its key, and its attribute.
func names(t *testing.T, err error, id string) {
	t.Helper()
	require.Equal(t, "n", dbtest.As[*entity.DecodeError](t, err).Attr)
	require.Regexp(t, `sk="\$app#v1#readable#`+id, err.Error())
	require.NotContains(t, err.Error(), "secret")
}

// Every read of many items names the one that does not decode, and with SkipUndecodable reads all others.
func TestUndecodable_IsNamedAndSkippedByEveryReadOfMany(t *testing.T) {
	b, docs := opened[readable](t)
	history, deleted, by := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs)), entity.Must(docs.Index("by"))
	f, ctx, red, skip := entity.Fields[readable](), t.Context(), readable{Team: "red"}, entity.SkipUndecodable()
	var keys []readable
	for i := range 7 {
		keys = append(keys, readable{Team: "red", ID: fmt.Sprint("d", i)})
		entity.Must(docs.Create(ctx, keys[i]))
	}
	entity.Must(docs.Update(ctx, keys[3], entity.Set(&f.N, 1)))
	entity.Must(docs.Update(ctx, keys[3], entity.Set(&f.N, 2)))
	corrupt(b, "d3")
	for name, q := range map[string]func(...entity.ReadOption) entity.Query[readable]{
		"query": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.Query(red, eachAs[entity.QueryOption](o)...)
		},
		"any": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.QueryAny([]readable{red, {Team: "blue"}}, eachAs[entity.QueryOption](o)...)
		},
		"hydrated": func(o ...entity.ReadOption) entity.Query[readable] {
			return by.Query(red, append(eachAs[entity.QueryOption](o), entity.Hydrate())...)
		},
		"scan": func(o ...entity.ReadOption) entity.Query[readable] { return docs.Scan(eachAs[entity.ScanOption](o)...) },
		"segments": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.Scan(append(eachAs[entity.ScanOption](o), entity.Segments(3))...)
		},
	} {
		all, err := q().Collect(ctx)
		names(t, err, "d3")
		require.Empty(t, all, name)
		page, err := q().Page(ctx, "")
		names(t, err, "d3")
		require.Zero(t, page, "%s: neither items nor a cursor beyond them", name)

		all, err = q(skip).Collect(ctx)
		require.ErrorIs(t, err, entity.ErrUndecodable, name)
		names(t, err, "d3")
		require.Len(t, all, 6, name)
		page, err = q(skip).Page(ctx, "")
		require.ErrorIs(t, err, entity.ErrUndecodable, name)
		require.Len(t, page.Items, 6, name)
		n, last := 0, error(nil)
		for _, err := range q(skip).All(ctx) {
			if last = err; err == nil {
				n++
			}
		}
		require.ErrorIs(t, last, entity.ErrUndecodable, name)
		require.Equal(t, 6, n, name)
	}
	// Pages go on, and each reports what it left out.
	q, cursor, got := docs.Query(red, entity.Limit(2), skip), "", 0
	for {
		page, err := q.Page(ctx, cursor)
		require.Equal(t, cursor != "" && got == 2, errors.Is(err, entity.ErrUndecodable))
		if got += len(page.Items); page.Next == "" {
			break
		}
		cursor = page.Next
	}
	require.Equal(t, 6, got)

	many, err := docs.GetMany(ctx, keys)
	names(t, err, "d3")
	require.Nil(t, many)
	many, err = docs.GetMany(ctx, keys, skip)
	names(t, err, "d3")
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Nil(t, many[3])
	require.Equal(t, "d4", many[4].ID)

	bad, good := keys[3], keys[4]
	good.N = 9
	found, err := b.DB.BatchGet(ctx, docs.Op().GetInto(&bad, skip), docs.Op().GetInto(&good, skip))
	names(t, err, "d3")
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Equal(t, []bool{false, true}, found)
	require.Zero(t, good.N)
	names(t, dbtest.ErrorOf(b.DB.BatchGet(ctx, docs.Op().GetInto(&bad))), "d3")
	names(t, b.DB.TransactGet(ctx, docs.Op().GetInto(&bad), docs.Op().GetInto(&good)), "d3")
	var into []readable
	names(t, b.DB.GetCollection(ctx, docs.Query(red).Into(&into)), "d3")
	require.Equal(t, "EDD-9108", dbtest.InputCode(b.DB.GetCollection(ctx, docs.Query(red, skip).Into(&into))))
	names(t, b.DB.GetCollection(ctx, docs.Query(red).Visit(func(readable) error { return nil })), "d3")

	names(t, dbtest.ErrorOf(history.List(keys[3]).Collect(ctx)), "d3#v#0000001")
	states, err := history.List(keys[3], skip).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Empty(t, states)
	require.NoError(t, docs.Delete(ctx, keys[4]))
	corrupt(b, "d4")
	names(t, dbtest.ErrorOf(deleted.Query(red).Collect(ctx)), "d4#deleted#")
	copies, err := deleted.Query(red, skip).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Empty(t, copies)
}

// eachAs returns options as those of another family.
func eachAs[O any](opts []entity.ReadOption) (all []O) {
	for _, o := range opts {
		all = append(all, any(o).(O))
	}
	return all
}

type sample struct {
	_ entity.Key        `name:"Readable" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID string `dynamodbav:"id"`
	At int    `dynamodbav:"at"`
	N  int    `dynamodbav:"n" entity:"append"`
}

// The error of a read wraps the first errors and counts the others.
func TestUndecodable_TheErrorIsBounded(t *testing.T) {
	b, samples := following[sample](t)
	for i := range 30 {
		b.OK(samples.Append(t.Context(), sample{ID: "s", At: i + 1}))
	}
	corrupt(b, "s")
	names(t, dbtest.ErrorOf(samples.History(sample{ID: "s"}).Collect(t.Context())), "e#")
	_, err := samples.History(sample{ID: "s"}, entity.SkipUndecodable()).Collect(t.Context())
	require.ErrorContains(t, err, "items that cannot be decoded were left out: 30, of which the first are: item ")
	joined := dbtest.As[interface{ Unwrap() []error }](t, err)
	require.Len(t, joined.Unwrap()[1].(interface{ Unwrap() []error }).Unwrap(), 20)
}
