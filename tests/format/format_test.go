// Package format_test keeps the promise that every version reads, and goes on writing, what any release has stored. Each release leaves a
// directory: the items of a table that its program wrote (items.jsonl), what reads return (read.txt), and what they return after further
// writes (written.txt). go test ./tests/format -release v0.1.0 makes one; nobody changes it afterwards.
//
// The tests of interop replay what was recorded of effect-dynamodb with this library's public API, and compare the tables
// byte by byte and the keys vector by vector.
package format_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/avjson"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The declarations of the stored tables. They never change: a program that was written for a release keeps its own.

type address struct {
	Street string            `dynamodbav:"street"`
	Since  time.Time         `dynamodbav:"since"`
	Codes  map[string]int    `dynamodbav:"codes,omitempty"`
	Notes  []string          `dynamodbav:"notes,omitempty"`
	Extra  map[string]string `dynamodbav:"extra"`
}

// Person has every feature, role and kind of attribute.
type Person struct {
	_ entity.Key           `name:"Person" pk:"$#{tenant}" sk:"$#{number:06}"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{tenant}#{team|lower}" sk:"$#{joined}"`
	_ entity.GSI           `name:"active" index:"gsi2" pk:"$#{tenant}" sk:"$#{name}" when:"state=active|new" shards:"3"`
	_ entity.GSI           `name:"gone" index:"gsi3" pk:"$#{tenant}" sk:"$#{deletedAt}"`
	_ versioned.Retain     `ttl:"3650d"`
	_ lifecycle.SoftDelete `ttl:"3650d"`
	_ unique.Constraint    `name:"email" fields:"tenant,{email|lower}"`

	Tenant  string             `dynamodbav:"tenant"`
	Number  int                `dynamodbav:"number"`
	Name    string             `dynamodbav:"name" entity:"required"`
	Email   string             `dynamodbav:"email,omitempty"`
	Team    string             `dynamodbav:"team,omitempty" entity:"default=core"`
	State   string             `dynamodbav:"state" entity:"default=new"`
	Token   string             `dynamodbav:"token,omitempty" entity:"secret"`
	Origin  string             `dynamodbav:"origin,omitempty" entity:"immutable"`
	First   string             `dynamodbav:"first,omitempty" entity:"set_once"`
	Joined  time.Time          `dynamodbav:"joined" entity:"time=s"`
	Seen    time.Time          `dynamodbav:"seen,omitempty" entity:"time=unixms"`
	Tags    []string           `dynamodbav:"tags,omitempty,stringset"`
	Ranks   []int              `dynamodbav:"ranks,omitempty,numberset"`
	Photo   []byte             `dynamodbav:"photo,omitempty"`
	Score   float64            `dynamodbav:"score"`
	Big     uint64             `dynamodbav:"big"`
	On      *bool              `dynamodbav:"on"`
	Home    address            `dynamodbav:"home"`
	Places  map[string]address `dynamodbav:"places,omitempty"`
	By      string             `dynamodbav:"by" entity:"context=actor"`
	Version int64              `dynamodbav:"version" entity:"version"`
	Created time.Time          `dynamodbav:"created" entity:"created_at"`
	Updated time.Time          `dynamodbav:"updated" entity:"updated_at,time=us"`
	Deleted time.Time          `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
}

// Reading is a series with a current item, Pulse one without, over several partitions.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Level  *int      `dynamodbav:"level,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

type Pulse struct {
	_ entity.Key        `name:"Pulse" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"seq" current:"none" shards:"2"`

	Device string `dynamodbav:"device"`
	Seq    int64  `dynamodbav:"seq"`
	Beats  int    `dynamodbav:"beats" entity:"append"`
}

// Note is in the table under keys of its own, and expires.
type Note struct {
	_ entity.Key        `name:"Note" pk:"pk=NOTE#{tenant}" sk:"sk=N#{id}" kind:"type=note"`
	_ lifecycle.TTL     `attr:"_ttl" after:"3650d"`
	_ unique.Constraint `name:"title" fields:"tenant,title"`

	Tenant string `dynamodbav:"tenant"`
	ID     string `dynamodbav:"id"`
	Title  string `dynamodbav:"title"`
}

var release = flag.String("release", "", "write the directory of this release")

// program is one that uses the declarations.
type program struct {
	*dbtest.Bench
	people   *entity.Store[Person]
	history  *versioned.History[Person]
	deleted  *lifecycle.Deleted[Person]
	byEmail  *unique.Lookup[Person]
	readings *timeseries.Series[Reading]
	pulses   *timeseries.Series[Pulse]
	notes    *entity.Store[Note]
	byTitle  *unique.Lookup[Note]
}

func open(t *testing.T, codec entity.Codec, from time.Time) *program {
	t.Helper()
	p := &program{Bench: dbtest.Open(t, func(c *entity.Config) {
		c.Codec = codec
		c.FromContext = func(_ context.Context, name string) (string, bool) { return "some " + name, true }
	})}
	p.Clock.Set(from, 0)
	p.people, p.notes = dbtest.Declare[Person](t, p.DB), dbtest.Declare[Note](t, p.DB)
	p.history, p.deleted = entity.Must(versioned.Of(p.people)), entity.Must(lifecycle.Of(p.people))
	p.byEmail, p.byTitle = entity.Must(unique.Of(p.people, "email")), entity.Must(unique.Of(p.notes, "title"))
	p.readings, p.pulses = entity.Must(timeseries.New[Reading](p.DB)), entity.Must(timeseries.New[Pulse](p.DB))
	p.CreateTables()
	return p
}

// OK checks the results of a call, and lets a minute pass: how often a call reads the clock makes no difference.
func (p *program) OK(results ...any) {
	p.T.Helper()
	p.Bench.OK(results...)
	p.Clock.Move(time.Minute)
}

// days are the moments at which a program of a release wrote, and at which one of today goes on.
var days = [2]time.Time{time.Date(2101, 5, 6, 7, 8, 9, 123456789, time.UTC), time.Date(2101, 6, 7, 8, 9, 10, 0, time.UTC)}

func ada(n int, email string) Person {
	on := n%2 == 0
	return Person{
		Tenant: "t#1", Number: n, Name: fmt.Sprint("Ada ", n), Email: email, Token: "secret", Origin: "o", First: "f", Joined: days[0].Truncate(time.Second), Seen: days[0],
		Tags: []string{"b", "a"}, Ranks: []int{3, 1}, Photo: []byte{0, 255}, Score: 1.25, Big: 1<<64 - 1, On: &on,
		Home:   address{Street: "Main $ #1", Since: days[0], Codes: map[string]int{"x": 1}, Notes: []string{"ü"}},
		Places: map[string]address{"work": {Street: "S"}},
	}
}

// play writes items with every feature.
func (p *program) play() {
	f, ctx := entity.Fields[Person](), p.Ctx
	for n, email := range []string{"Ada@x", "b@x", "c@x", "d@x"} {
		p.OK(p.people.Create(ctx, ada(n+1, email)))
	}
	one, two, three := Person{Tenant: "t#1", Number: 1}, Person{Tenant: "t#1", Number: 2}, Person{Tenant: "t#1", Number: 3}
	p.OK(p.people.Update(ctx, one, entity.Set(&f.State, "active"), entity.Add(&f.Score, 2)))
	p.OK(p.people.Modify(ctx, one, func(v *Person) error { v.Email, v.Team = "ADA@x", "Ops"; return nil }))
	p.OK(p.people.Delete(ctx, two, entity.Set(&f.State, "left"), versioned.AnyVersion()))
	p.OK(p.people.Delete(ctx, three))
	p.OK(p.deleted.Restore(ctx, three))
	level := func(n int) *int { return &n }
	for _, r := range []Reading{{Device: "d", At: days[0], Level: level(1)}, {Device: "d", At: days[0].Add(time.Hour), Level: level(2)}, {Device: "d", At: days[0].Add(time.Minute), Level: level(3)}} {
		p.OK(p.readings.Append(ctx, r))
	}
	p.OK(p.readings.Update(ctx, Reading{Device: "d"}, entity.Set(&entity.Fields[Reading]().Owner, "o")))
	for n := range int64(5) {
		p.OK(p.pulses.Append(ctx, Pulse{Device: "d", Seq: n + 1, Beats: 60}))
	}
	p.OK(p.notes.Create(ctx, Note{Tenant: "t", ID: "1", Title: "One"}))
}

// goOn writes to everything that play has stored.
func (p *program) goOn() {
	f, ctx := entity.Fields[Person](), p.Ctx
	one, two, three, four := Person{Tenant: "t#1", Number: 1}, Person{Tenant: "t#1", Number: 2}, Person{Tenant: "t#1", Number: 3}, Person{Tenant: "t#1", Number: 4}
	p.OK(p.people.Update(ctx, one, entity.Set(&f.State, "away"), entity.Set(&f.Email, "new@x")))
	p.OK(p.history.Revert(ctx, one, 2))
	p.OK(p.deleted.Restore(ctx, two))
	p.OK(p.people.Put(ctx, ada(3, "c@X")))
	p.OK(p.people.Delete(ctx, four))
	require.ErrorAs(p.T, dbtest.ErrorOf(p.people.Create(ctx, ada(5, "aDa@x"))), new(*unique.ViolationError), "the address is claimed")
	p.OK(p.people.Create(ctx, ada(5, "d@x")))
	level := 9
	p.OK(p.readings.Append(ctx, Reading{Device: "d", At: days[1], Level: &level}))
	p.OK(p.pulses.Append(ctx, Pulse{Device: "d", Seq: 7, Beats: 61}))
	p.OK(p.notes.Update(ctx, Note{Tenant: "t", ID: "1"}, entity.Set(&entity.Fields[Note]().Title, "Two")))
	p.OK(p.notes.Create(ctx, Note{Tenant: "t", ID: "2", Title: "One"}))
	require.NoError(p.T, p.people.Purge(ctx, three))
}

// The types of versions and deleted items with the names that the recordings have in JSON.
type (
	readState struct {
		Number    int64
		Item      Person
		Deleted   bool
		ValidFrom time.Time
		Omitted   error `json:",omitempty"`
	}
	readCopy struct {
		Item      Person
		DeletedAt time.Time
		ExpiresAt time.Time
		Omitted   error `json:",omitempty"`
	}
)

// read returns what every kind of read returns.
func (p *program) read() string {
	var b strings.Builder
	say := func(what string, v any, err error) {
		require.NoError(p.T, err, what)
		text, err := json.Marshal(v)
		require.NoError(p.T, err)
		fmt.Fprintf(&b, "%s: %s\n", what, text)
	}
	ctx, tenant := p.Ctx, Person{Tenant: "t#1"}
	people, err := p.people.Query(tenant, entity.Consistent()).Collect(ctx)
	say("people", people, err)
	for _, v := range people {
		versions, err := p.history.List(v, versioned.WithCurrent()).Collect(ctx)
		var states []readState
		for _, v := range versions {
			states = append(states, readState(v))
		}
		say(fmt.Sprint("versions of ", v.Number), states, err)
		found, err := p.byEmail.Find(ctx, Person{Tenant: v.Tenant, Email: strings.ToUpper(v.Email)})
		say("found", found.Number, err)
	}
	copies, err := p.deleted.Query(tenant).Collect(ctx)
	var removed []readCopy
	for _, c := range copies {
		removed = append(removed, readCopy(c))
	}
	say("deleted", removed, err)
	for _, name := range []string{"byTeam", "active"} {
		x := entity.Must(p.people.Index(name))
		for _, team := range []string{"core", "OPS"} {
			part := tenant
			if name == "byTeam" {
				part.Team = team
			} else if team != "core" {
				continue
			}
			got, err := x.Query(part).Collect(ctx)
			say(name+" "+team, numbers(got), err)
		}
	}
	gone := entity.Must(p.deleted.Index("gone"))
	left, err := gone.Query(tenant).Collect(ctx)
	say("gone", len(left), err)
	current, err := p.readings.Get(ctx, Reading{Device: "d"})
	say("reading", current, err)
	events, err := p.readings.History(Reading{Device: "d"}).Collect(ctx)
	say("events", events, err)
	pulses, err := p.pulses.History(Pulse{Device: "d"}).Collect(ctx)
	say("pulses", pulses, err)
	notes, err := p.notes.Query(Note{Tenant: "t"}).Collect(ctx)
	say("notes", notes, err)
	note, err := p.byTitle.Find(ctx, Note{Tenant: "t", Title: "One"})
	say("note", note, err)
	return b.String()
}

func numbers(all []Person) (list []int) {
	for _, v := range all {
		list = append(list, v.Number)
	}
	return list
}

// jsonOf returns a value in DynamoDB's JSON.
func jsonOf(av types.AttributeValue) map[string]any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberB:
		return map[string]any{"B": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberNULL:
		return map[string]any{"NULL": true}
	case *types.AttributeValueMemberSS:
		return map[string]any{"SS": slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberNS:
		return map[string]any{"NS": slices.Sorted(slices.Values(v.Value))}
	case *types.AttributeValueMemberBS:
		return map[string]any{"BS": v.Value}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = jsonOf(e)
		}
		return map[string]any{"L": list}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": itemJSON(v.Value)}
	}
	panic(fmt.Sprintf("no JSON of a %T", av))
}

func itemJSON(it map[string]types.AttributeValue) map[string]any {
	out := map[string]any{}
	for name, av := range it {
		out[name] = jsonOf(av)
	}
	return out
}

// ofRelease returns the files of a release, by name: what this version stores.
func ofRelease(t *testing.T) map[string]string {
	t.Helper()
	p := open(t, entity.OwnCodec, days[0])
	p.play()
	var lines []string
	for _, it := range p.Items() {
		text := entity.Must(json.Marshal(itemJSON(it)))
		lines = append(lines, string(text))
	}
	slices.SortFunc(lines, func(a, b string) int { return cmp.Compare(a, b) })
	before, q := p.read(), load(t, entity.OwnCodec, lines)
	q.goOn()
	return map[string]string{"items.jsonl": strings.Join(lines, "\n") + "\n", "read.txt": before, "written.txt": q.read()}
}

// ids are the parts of write ids that differ from run to run: a database remembers them as tokens.
var ids = regexp.MustCompile(`("_w":\{"S":")[A-Z2-7]+`)

// keep makes the directory of a release. One that exists is left as it is, and must have what this version stores.
func keep(t *testing.T, dir string) {
	t.Helper()
	made := ofRelease(t)
	if _, err := os.Stat(dir); err == nil {
		for name, now := range made {
			require.Equal(t, ids.ReplaceAllString(text(t, dir, name), "${1}"), ids.ReplaceAllString(now, "${1}"), "tests/format/%s exists, and this version stores something else. What a release has stored does not change: "+
				"take the next version, or, if %s has no tag yet, remove the directory and run this again", dir, dir)
		}
		t.Logf("tests/format/%s exists, and has what this version stores", dir)
		return
	}
	require.NoError(t, os.MkdirAll(dir, 0o755))
	for name, text := range made {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
}

// load returns a program of today on a table with the items of a release.
func load(t *testing.T, codec entity.Codec, lines []string) *program {
	t.Helper()
	p := open(t, codec, days[1])
	for _, line := range lines {
		it, problem := avjson.Item(json.RawMessage(line))
		require.Empty(t, problem, line)
		p.PutItem(it)
	}
	return p
}

func TestFormat_OfEachReleaseIsReadAndWritten(t *testing.T) {
	if *release != "" {
		require.Regexp(t, regexp.MustCompile(`^v\d+\.\d+\.\d+$`), *release)
		keep(t, *release)
	}
	releases := entity.Must(filepath.Glob("v*"))
	require.NotEmpty(t, releases)
	for _, dir := range releases {
		for name, codec := range map[string]entity.Codec{"own codec": entity.OwnCodec, "SDK's codec": entity.SDKCodec} {
			t.Run(dir+" "+name, func(t *testing.T) {
				t.Parallel()
				p := load(t, codec, lines(t, filepath.Join(dir, "items.jsonl")))
				require.Equal(t, text(t, dir, "read.txt"), p.read())
				p.goOn()
				require.Equal(t, text(t, dir, "written.txt"), p.read())
			})
		}
	}
}

func text(t *testing.T, dir, name string) string {
	t.Helper()
	text := entity.Must(os.ReadFile(filepath.Join(dir, name)))
	return string(text)
}

func lines(t *testing.T, name string) (all []string) {
	t.Helper()
	file := entity.Must(os.Open(name))
	defer file.Close()
	for s := bufio.NewScanner(file); s.Scan(); {
		all = append(all, s.Text())
	}
	require.NotEmpty(t, all)
	return all
}
