package migrate_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Items of an old program enter the new indexes and claim their values, and nothing else of them changes.
func TestRewrite_FillsIndexesAndClaimsValues(t *testing.T) {
	t.Parallel()
	c := open(t)
	a := c.add("a", "red", "a@x")
	_, err := c.old.Update(c.Ctx, a, entity.Set(&entity.Fields[before]().Tasks, 2))
	require.NoError(t, err)
	c.add("b", "red", "")
	c.OK(c.old.Delete(c.Ctx, c.add("gone", "red", "gone@x")))
	was := c.ItemsByKey()

	dry := c.rewrite(migrate.DryRun())
	assert.Equal(t, was, c.ItemsByKey(), "a dry run writes nothing")
	assert.Equal(t, map[migrate.Reason]int{migrate.IndexKeys: 3, migrate.Claims: 1}, dry.Reasons)
	assert.Len(t, dry.Examples, 4)
	assert.Equal(t, "3 of 6 items rewritten (1 claims, 3 index keys)", dry.String())

	done := c.rewrite()
	assert.Equal(t, []int{dry.Items, dry.Rewritten, 0, 0}, []int{done.Items, done.Rewritten, done.Skipped(), done.Conflicts})
	assert.Equal(t, dry.Reasons, done.Reasons)
	assert.True(t, done.Done)
	assert.Equal(t, []string{"a", "b"}, c.team("red"))
	gone, err := entity.Must(entity.Must(lifecycle.Of(c.now)).Index("gone")).Query(member{Team: "red"}).Collect(c.Ctx)
	require.NoError(t, err)
	require.Len(t, gone, 1)
	found, err := entity.Must(unique.Of(c.now, "email")).Find(c.Ctx, member{Email: "a@x"})
	require.NoError(t, err)
	assert.Equal(t, "a", found.ID)

	is := c.ItemsByKey()
	for key, it := range was {
		assert.Equal(t, without(it, "_w"), without(is[key], "_w", "gsi1pk", "gsi1sk", "gsi2pk", "gsi2sk"), key)
		if strings.Contains(key, "#v#") || strings.Contains(key, "#deleted#") {
			assert.Equal(t, it["_w"], is[key]["_w"], "a related item keeps its write id: %s", key)
		}
	}
	assert.Len(t, is, len(was)+1, "the sentinel")

	again := c.rewrite()
	assert.Zero(t, again.Rewritten)
	assert.Equal(t, []string{"Scan", "BatchGetItem"}, c.Operations())

	// The history goes on as if nothing had happened.
	next, err := c.now.Update(c.Ctx, member{ID: "a"}, entity.Set(&entity.Fields[member]().Tasks, 3))
	require.NoError(t, err)
	assert.EqualValues(t, 3, next.Version)
	states, err := entity.Must(versioned.Of(c.now)).List(member{ID: "a"}).Collect(c.Ctx)
	require.NoError(t, err)
	assert.Len(t, states, 2)
}

// What other programs wrote gets the hidden attributes and index keys that the library would have written.
func TestRewrite_CompletesItemsOfOtherPrograms(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.PutItem(texts("pk", pk("x"), "sk", sk, "id", "x", "team", "red", "other", "kept"))
	c.PutItem(texts("pk", pk("y"), "sk", sk, "team", "red", "gsi1pk", "stale", "gsi2pk", "stale"))
	r := c.rewrite()
	assert.Equal(t, map[migrate.Reason]int{migrate.Marks: 2, migrate.IndexKeys: 2, migrate.KeyParts: 1}, r.Reasons)
	x, y := c.Item(pk("x"), sk), c.Item(pk("y"), sk)
	assert.Equal(t, texts("pk", pk("x"), "sk", sk, "id", "x", "team", "red", "other", "kept", "__edd_e__", "Member",
		"gsi1pk", "$app#v1#member#red", "gsi1sk", "$app#v1#member#x", "gsi2pk", "$app#v1#member#red"), without(x, "_w"))
	assert.Equal(t, texts("pk", pk("y"), "sk", sk, "id", "y", "team", "red", "__edd_e__", "Member",
		"gsi1pk", "$app#v1#member#red", "gsi1sk", "$app#v1#member#y", "gsi2pk", "$app#v1#member#red"), without(y, "_w"))
	assert.NotEmpty(t, x["_w"])
	assert.NotEqual(t, x["_w"], y["_w"])
	assert.Zero(t, c.rewrite().Rewritten)
}

// An item that cannot be brought to the declaration is counted and stays as it is; the others are rewritten.
func TestRewrite_LeavesWhatItCannotSettle(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.add("good", "red", "")
	c.add("first", "red", "same@x")
	c.OK(c.now.Create(c.Ctx, member{ID: "owner", Email: "same@x"}))
	c.PutItem(dbtest.Item{"pk": dbtest.S(pk("type")), "sk": dbtest.S(sk), "id": dbtest.S("type"), "tasks": dbtest.S("many"), "__edd_e__": dbtest.S("Member")})
	c.PutItem(texts("pk", pk("key"), "sk", sk, "id", "another"))
	c.PutItem(texts("pk", pk("long"), "sk", sk, "id", "long", "team", strings.Repeat("t", 2100)))
	c.PutItem(texts("pk", pk("later"), "sk", sk+"#z#1", "id", "later", "__edd_e__", "Member"))
	c.PutItem(texts("pk", "$app#v1#members#1", "sk", "$app#v1#members", "id", "of another entity"))
	c.PutItem(texts("pk", pk("other"), "sk", sk, "id", "other", "__edd_e__", "Other"))
	was := c.ItemsByKey()
	r := c.rewrite()
	assert.Equal(t, map[migrate.Problem]int{
		migrate.ValueTaken: 1, migrate.Undecodable: 1, migrate.WrongKey: 1, migrate.Unstorable: 1, migrate.UnknownKind: 1,
	}, r.Problems)
	assert.Equal(t, 1, r.Rewritten)
	is := c.ItemsByKey()
	for key, it := range was {
		if !strings.HasPrefix(key, pk("good")) {
			assert.Equal(t, it, is[key], key)
		}
	}
	assert.Equal(t, []string{"good", "owner"}, append(c.team("red"), "owner"))
	for _, x := range r.Examples {
		assert.NotContains(t, x.Key, "same@x")
	}

	_, err := migrate.Rewrite(c.Ctx, c.now, migrate.Strict())
	var bad *migrate.ItemError
	require.ErrorAs(t, err, &bad)
	assert.NotEmpty(t, bad.Problem)
}

// call1 has a value that is unique for an hour.
type call1 struct {
	_ entity.Key        `name:"Call" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"token" fields:"token" ttl:"1h"`

	ID    string `dynamodbav:"id"`
	Token string `dynamodbav:"token"`
	User  string `dynamodbav:"user"`
}

type call2 struct {
	_ entity.Key        `name:"Call" pk:"$#{id}" sk:"$"`
	_ entity.GSI        `name:"byUser" index:"gsi1" pk:"$#{user}" sk:"$#{id}"`
	_ unique.Constraint `name:"token" fields:"token" ttl:"1h"`

	ID    string `dynamodbav:"id"`
	Token string `dynamodbav:"token"`
	User  string `dynamodbav:"user"`
}

// An item whose limited claim has ended keeps its value, also when another item has claimed it since.
func TestRewrite_OfAnItemWhoseClaimHasEnded(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now, old := dbtest.Declare[call2](t, b.DB), dbtest.Declare[call1](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(old.Create(b.Ctx, call1{ID: "a", Token: "k", User: "u"}))
	b.Clock.Move(2 * time.Hour)
	b.OK(old.Create(b.Ctx, call1{ID: "b", Token: "k", User: "u"}))
	report, err := migrate.Rewrite(b.Ctx, now, migrate.Strict())
	require.NoError(t, err)
	assert.Equal(t, 2, report.Rewritten)
	found, err := entity.Must(now.Index("byUser")).Query(call2{User: "u"}).Collect(b.Ctx)
	require.NoError(t, err)
	assert.Len(t, found, 2)
	verified, err := migrate.VerifyUnique(b.Ctx, entity.Must(unique.Of(now, "token")))
	require.NoError(t, err)
	assert.Empty(t, verified.Findings)
	again, err := migrate.Rewrite(b.Ctx, now, migrate.Strict())
	require.NoError(t, err)
	assert.Zero(t, again.Rewritten)
}

// A write that comes between the read and the write of an item is kept, and the item is rewritten from it.
func TestRewrite_ConcurrentWriterWins(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.add("a", "red", "")
	var r migrate.Report
	err := c.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() (err error) {
		r, err = migrate.Rewrite(c.Ctx, c.now)
		return err
	}, func() {
		m, err := c.old.Update(c.Ctx, before{ID: "a"}, entity.Set(&entity.Fields[before]().Team, "blue"))
		require.NoError(t, err)
		require.EqualValues(t, 2, m.Version)
	})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1}, []int{r.Rewritten, r.Conflicts})
	assert.Equal(t, []string{"a"}, c.team("blue"))
	assert.Empty(t, c.team("red"))
	assert.EqualValues(t, 2, c.get("a").Version)
}

// A write that was planned before the rewrite, and comes after it, is planned again: it does not take the keys away. An old
// program does not know that they are keys, so it keeps them in the snapshot that it puts; the next run removes them there.
func TestRewrite_MakesEarlierPlansConflict(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.add("a", "red", "")
	slow := dbtest.Declare[before](t, c.Open(c.Client))
	c.Wire.Reset()
	err := c.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() error {
		_, err := slow.Update(c.Ctx, before{ID: "a"}, entity.Set(&entity.Fields[before]().Tasks, 7))
		return err
	}, func() {
		_, err := migrate.Rewrite(c.Ctx, dbtest.Declare[member](t, c.Open(c.Raw)))
		require.NoError(t, err)
	})
	require.NoError(t, err)
	assert.Equal(t, 2, c.Wire.Count("TransactWriteItems"), "the first plan is refused, the second reads the rewritten item")
	assert.Equal(t, map[migrate.Reason]int{migrate.IndexKeys: 1}, c.rewrite().Reasons)
	assert.Equal(t, []string{"a"}, c.team("red"))
	assert.Equal(t, 7, c.get("a").Tasks)
}

// Whatever happens to one of its requests, a second run leaves the table as an undisturbed one does.
func TestRewrite_FaultsAtEachRequest(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Throttle, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Twice, faults.Conflict) {
		c := open(t)
		for n := 1; ; n++ {
			fault := round.At(n)
			for _, id := range []string{"a", "b"} {
				c.RemoveItem(texts("pk", "$app#v1#member.email#"+id+"@x", "sk", "$app#v1#member.email"))
				c.PutItem(texts("pk", pk(id), "sk", sk, "id", id, "team", "red", "email", id+"@x"))
			}
			c.PutItem(texts("pk", pk("c"), "sk", sk, "id", "c", "team", "red"))
			c.Wire.Reset()
			c.Wire.Inject(faults.Nth(n, fault))
			_, err := migrate.Rewrite(c.Ctx, c.now, migrate.Checkpoint("fill"), migrate.Restart())
			c.Wire.Inject(nil)
			sent := len(c.Wire.Requests())
			if err != nil {
				c.Clock.Move(31e9)
				_, err = migrate.Rewrite(c.Ctx, c.now, migrate.Checkpoint("fill"))
			}
			require.NoError(t, err, "%v at request %d", fault, n)
			require.Equal(t, []string{"a", "b", "c"}, c.team("red"), "%v at request %d", fault, n)
			verified, err := migrate.VerifyUnique(c.Ctx, entity.Must(unique.Of(c.now, "email")))
			require.NoError(t, err)
			require.Empty(t, verified.Findings, "%v at request %d", fault, n)
			if sent < n {
				require.Greater(t, n, 6)
				break
			}
		}
	}
}

func TestRewrite_RefusesWhatMakesNoSense(t *testing.T) {
	t.Parallel()
	c := open(t)
	for _, opts := range [][]migrate.Option{
		{entity.Segments(0)}, {entity.Segments(65)}, {migrate.Restart()}, {migrate.DryRun(), migrate.Checkpoint("x")}, {migrate.OnProgress(nil)}, {nil},
		{entity.Segment(4, 4)}, {entity.Segment(-1, 4)}, {entity.Segment(0, 0)}, {entity.Segment(0, 2), entity.Segments(2)},
	} {
		_, err := migrate.Rewrite(c.Ctx, c.now, opts...)
		assert.Equal(t, bind.CodeOption, dbtest.InputCode(err))
	}
	_, err := migrate.Rewrite(c.Ctx, c.now, migrate.Checkpoint("no name"))
	assert.Equal(t, bind.CodeCheckpoint, dbtest.InputCode(err))
	_, err = migrate.Rewrite(c.Ctx, (*entity.Store[member])(nil))
	assert.Equal(t, bind.CodeUnopened, dbtest.InputCode(err))
	var none context.Context
	_, err = migrate.Rewrite(none, c.now)
	assert.Equal(t, bind.CodeContext, dbtest.InputCode(err))

	type timeless struct {
		_       entity.Key       `name:"Timeless" pk:"$#{id}" sk:"$"`
		_       versioned.Retain ``
		ID      string           `dynamodbav:"id"`
		Version int64            `dynamodbav:"version" entity:"version"`
	}
	_, err = migrate.Rewrite(c.Ctx, dbtest.Declare[timeless](t, c.DB))
	assert.Equal(t, bind.CodeRewriteHistory, dbtest.InputCode(err))
	assert.Empty(t, c.Sent())
}

// A run is one call for observers, and its cost is that of the report. A budget paces it. A check also counts the items that it read.
func TestRewrite_IsOneCall(t *testing.T) {
	t.Parallel()
	var calls []entity.Report
	b, s := dbtest.OpenStore[indexed](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { calls = append(calls, r) })
	})
	b.PutItem(texts("pk", "$app#v1#worker#a", "sk", "$app#v1#worker", "team", "red"))
	calls = nil
	r, err := migrate.Rewrite(b.Ctx, s, entity.Budget(1e6, 1e6), migrate.Checkpoint("fill"))
	require.NoError(t, err)
	require.Len(t, calls, 1)
	assert.Equal(t, []any{"Rewrite", "Worker"}, []any{calls[0].Verb, calls[0].Entity})
	assert.Equal(t, []any{calls[0].Requests, calls[0].ReadUnits, calls[0].WriteUnits}, []any{r.Cost.Requests, r.Cost.ReadUnits, r.Cost.WriteUnits})
	var seen []int
	done, err := migrate.Check(b.Ctx, s, func(migrate.Finding) error { return nil }, entity.Budget(1e6, 0), migrate.OnProgress(func(p migrate.Progress) { seen = append(seen, p.Evaluated) }))
	require.NoError(t, err)
	require.Equal(t, []int{done.Evaluated}, seen)
	require.Len(t, calls, 2)
	assert.Equal(t, []any{"Check", done.Cost.Requests, done.Cost.ReadUnits}, []any{calls[1].Verb, calls[1].Requests, calls[1].ReadUnits})
}

// Each segment is rewritten under a checkpoint of its own. Together they do what one run does, and a repeated segment reads
// its checkpoint and writes nothing.
func TestRewrite_SegmentsShareTheWork(t *testing.T) {
	t.Parallel()
	const items, segments = 24, 4
	c := open(t)
	for i := range items {
		c.add(fmt.Sprintf("m%02d", i), "red", "")
	}
	want := c.rewrite(migrate.DryRun())
	sum := migrate.Report{Done: true}
	for i := range segments {
		part, name := entity.Segment(i, segments), fmt.Sprintf("fill-%d", i)
		r := c.rewrite(part, migrate.Checkpoint(name))
		require.True(t, r.Done && !r.Resumed)
		sum = sum.Merge(r)
		again := c.rewrite(part, migrate.Checkpoint(name))
		require.True(t, again.Done && again.Resumed)
		require.Equal(t, r.Rewritten, again.Rewritten)
		require.Len(t, c.Wire.Requests(), 1, "the checkpoint")
		_, err := migrate.Rewrite(c.Ctx, c.now, entity.Segment((i+1)%segments, segments), migrate.Checkpoint(name))
		require.ErrorIs(t, err, migrate.ErrOtherWork)
	}
	require.Equal(t, want.Rewritten, sum.Rewritten)
	require.Equal(t, want.Reasons, sum.Reasons)
	require.Equal(t, want.Problems, sum.Problems)
	require.Equal(t, want.Items, sum.Items)
	require.True(t, sum.Done && !sum.Resumed)
	require.Len(t, sum.Examples, 10)
	require.Greater(t, sum.Cost.WriteUnits, float64(items))
	require.False(t, sum.Merge(migrate.Report{}).Done)
	require.Len(t, c.team("red"), items)
	require.Zero(t, c.rewrite(migrate.DryRun()).Rewritten)
}
