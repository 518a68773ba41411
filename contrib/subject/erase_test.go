package subject_test

import (
	"context"
	"encoding/json"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

type counts = map[subject.Kind]int

// both is the key of the paper that names ada and others, which stays.
const both = "$app#v1#paper#s $app#v1#paper#both"

func TestErase_TakesWhatNamesTheSubjectAndNothingElse(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	_, err := l.Totals.Ensure(l.Ctx)
	require.NoError(t, err)
	before := l.kept(ada)
	maps.DeleteFunc(before, func(_ string, it dbtest.Item) bool { return has(it, "#order#got") }) // which is ada's with its whole history
	built := 0
	x := l.subjects(subject.Options{Views: []subject.View{{Name: "totals", Rebuild: func(ctx context.Context) error {
		built++
		_, err := l.Totals.Rebuild(ctx)
		return err
	}}}})
	r := l.erase(x, ada)

	assert.Equal(t, counts{"claim": 1, "current": 1, "version": 1}, entityOf(t, r, "Person").Erased)
	orders := entityOf(t, r, "Order")
	assert.Equal(t, counts{"claim": 3, "copy": 1, "current": 2, "version": 4}, orders.Erased)
	assert.Equal(t, counts{"version": 1}, orders.Emptied, "of the order that is bob's now")
	assert.Equal(t, counts{"current": 1, "event": 6}, entityOf(t, r, "Trip").Erased)
	assert.Equal(t, counts{"current": 1, "event": 3}, entityOf(t, r, "Device").Erased)
	assert.Equal(t, counts{"claim": 1, "current": 1, "version": 1}, entityOf(t, r, "Session").Erased)
	papers := entityOf(t, r, "Paper")
	assert.Equal(t, counts{"current": 1}, papers.Erased)
	assert.Equal(t, []subject.Left{{Kind: subject.Current, Reason: "it names others, too: take the subject out of the set or list, or purge the item", Count: 1}}, papers.Left)
	assert.True(t, r.Done)
	assert.Equal(t, 2, r.Passes)
	assert.Zero(t, r.LastPass)
	assert.False(t, r.Clean(), "a paper stays")
	assert.Equal(t, 1, built)
	assert.True(t, r.Views[0].Rebuilt)
	assert.Equal(t, 29, r.Erased())
	assert.Equal(t, "erase: 29 items erased or emptied, 1 left", r.String())
	assert.Positive(t, r.Cost.WriteUnits)

	l.Clock.Move(25 * time.Hour)
	_, err = l.Totals.Rebuild(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, []string{both}, l.naming(ada))
	for key, it := range before {
		assert.Equal(t, it, l.ItemsByKey()[key], "of bob's %s", key)
	}
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.NotContains(t, string(text), ada, "the report is filed")
	assert.Contains(t, string(text), "request 17")

	again := l.erase(x, bob)
	assert.True(t, again.Done)
	assert.Empty(t, l.kept("nobody"))
}

// The state of an item that another person has now keeps its place in the history, without its content.
func TestErase_EmptiesPastStatesOfItemsOfOthers(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	l.erase(l.subjects(subject.Options{}), ada)
	v, err := l.Past.Get(l.Ctx, order{ID: "passed"}, 1)
	require.ErrorIs(t, err, entity.ErrOmitted)
	require.ErrorContains(t, err, "was erased")
	assert.EqualValues(t, 1, v.Number)
	now, err := l.Past.Get(l.Ctx, order{ID: "passed"}, 2)
	require.NoError(t, err)
	assert.Equal(t, bob, now.Item.Customer)
	f := entity.Fields[order]()
	next, err := l.Orders.Update(l.Ctx, order{ID: "passed"}, entity.Set(&f.Amount, 9))
	require.NoError(t, err)
	assert.EqualValues(t, 3, next.Version)
	_, err = l.Totals.Ensure(l.Ctx)
	require.NoError(t, err, "a view skips the state")
	row, _, err := l.Totals.Get(l.Ctx, bob)
	require.NoError(t, err)
	assert.Equal(t, bob, row.State.Last)
}

func TestErase_DryRunWritesNothing(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	before := l.Items()
	x := l.subjects(subject.Options{})
	l.Sent()
	dry, err := x.Erase(l.Ctx, subject.Request{ID: ada, DryRun: true})
	require.NoError(t, err)
	for _, op := range l.Operations() {
		assert.Contains(t, []string{"Scan", "Query", "BatchGetItem", "GetItem"}, op)
	}
	assert.Equal(t, before, l.Items())
	require.NotNil(t, dry.Estimate)
	done := l.erase(x, ada)
	assert.Nil(t, done.Estimate)
	for i := range done.Entities {
		assert.Equal(t, done.Entities[i].Erased, dry.Entities[i].Erased, done.Entities[i].Entity)
		assert.Equal(t, done.Entities[i].Emptied, dry.Entities[i].Emptied, done.Entities[i].Entity)
		assert.Equal(t, done.Entities[i].Left, dry.Entities[i].Left, done.Entities[i].Entity)
	}
	assert.GreaterOrEqual(t, dry.Estimate.WriteUnits, done.Cost.WriteUnits, "DynamoDB charges two units in a transaction, the local one does not always")
	assert.InDelta(t, done.Cost.WriteUnits, dry.Estimate.WriteUnits, done.Cost.WriteUnits)
	assert.Equal(t, "dry run", dry.Action)
}

func TestErase_KeepsWhatTheLawDemands(t *testing.T) {
	l := newLab(t)
	l.live(l.Ctx)
	x := l.subjects(subject.Options{Keep: []subject.Keep{{Entity: "Order", Reason: "tax law: ten years"}}})
	r := l.erase(x, ada)
	orders := entityOf(t, r, "Order")
	assert.Equal(t, "tax law: ten years", orders.Kept)
	assert.Empty(t, orders.Erased)
	assert.Contains(t, orders.Left, subject.Left{Kind: subject.Current, Reason: "tax law: ten years", Count: 2})
	l.OK(l.Orders.Get(l.Ctx, order{ID: "o-" + ada}))
	assert.Equal(t, counts{"claim": 1, "current": 1, "version": 1}, entityOf(t, r, "Person").Erased)
	assert.False(t, r.Clean())
}

// A keyed entity alone on its table is read by a query.
func TestErase_ByTheKey(t *testing.T) {
	b, persons := dbtest.OpenStore[person](t)
	x, err := subject.New(b.DB, subject.Options{})
	require.NoError(t, err)
	for _, who := range []string{ada, bob} {
		b.OK(persons.Create(b.Ctx, person{ID: who, Email: who}))
	}
	before := len(b.Items())
	b.Sent()
	r, err := x.Erase(b.Ctx, subject.Request{ID: ada})
	require.NoError(t, err)
	assert.NotContains(t, b.Operations(), "Scan")
	assert.Equal(t, "query", r.Entities[0].Route)
	assert.Equal(t, counts{"claim": 1, "current": 1, "version": 1}, r.Entities[0].Erased)
	assert.True(t, r.Clean())
	assert.Len(t, b.Items(), before/2)
	require.NoError(t, persons.Delete(b.Ctx, person{ID: bob}))
	r, err = x.Erase(b.Ctx, subject.Request{ID: bob})
	require.NoError(t, err)
	assert.Empty(t, b.Items(), "a deleted copy, its claim and its history go, too")
	assert.Equal(t, 1, r.Entities[0].Erased["claim"])
}

// What has no current item any more is found: deleted copies, the history of a hard delete, claims without an item, expired items.
func TestErase_FindsWhatIsLeftOver(t *testing.T) {
	l := newLab(t)
	s, err := l.Sessions.Create(l.Ctx, session{ID: "s-1", User: ada})
	l.OK(s, err)
	require.NoError(t, l.Sessions.Delete(l.Ctx, s)) // its versions stay
	l.OK(l.Sessions.Create(l.Ctx, session{ID: "s-2", User: ada}))
	require.Len(t, l.naming(ada), 5)
	l.RemoveItem(l.Item("$app#v1#session#s-2", "$app#v1#session")) // as another program may: its claim stays
	l.OK(l.Sessions.Create(l.Ctx, session{ID: "s-3", User: bob}))
	l.Clock.Move(90 * time.Minute) // the items have expired, the table still has them
	l.OK(l.Sessions.Create(l.Ctx, session{ID: "s-4", User: bob}))
	r := l.erase(l.subjects(subject.Options{}), ada)
	assert.Equal(t, counts{"version": 3, "claim": 1}, entityOf(t, r, "Session").Erased)
	assert.Empty(t, l.naming(ada))
	assert.True(t, r.Clean())
	r = l.erase(l.subjects(subject.Options{}), bob)
	assert.Equal(t, counts{"current": 2, "version": 2, "claim": 1}, entityOf(t, r, "Session").Erased)
	assert.Empty(t, l.Items())
}

// A claim that a copy and a new life of an item share stays with the life.
func TestErase_LeavesTheClaimsOfANewLife(t *testing.T) {
	l := newLab(t)
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: ada, Number: "n"}))
	require.NoError(t, l.Orders.Delete(l.Ctx, order{ID: "o"}))
	l.Clock.Move(31 * 24 * time.Hour) // the copy has expired, the table still has it
	l.OK(l.Orders.Create(l.Ctx, order{ID: "o", Customer: bob, Number: "n"}))
	r := l.erase(l.subjects(subject.Options{}), ada)
	assert.Equal(t, counts{"copy": 1}, entityOf(t, r, "Order").Erased)
	assert.NotZero(t, entityOf(t, r, "Order").Emptied)
	assert.NotNil(t, l.Sentinel("n"))
	_, err := l.Orders.Create(l.Ctx, order{ID: "other", Customer: bob, Number: "n"})
	require.Error(t, err)
	assert.Empty(t, l.naming(ada))
}

// The current item of a series whose events are others' shows the subject until the next event.
func TestErase_ASeriesShowsItsLastEvent(t *testing.T) {
	l := newLab(t)
	at := dbtest.Start
	l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: bob, Km: 1, At: at}))
	l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: ada, Km: 2, At: at.Add(time.Minute)}))
	x := l.subjects(subject.Options{})
	r := l.erase(x, ada)
	trips := entityOf(t, r, "Trip")
	assert.Equal(t, counts{"event": 1}, trips.Erased)
	require.Len(t, trips.Left, 1)
	assert.Contains(t, trips.Left[0].Reason, "until the next event")
	l.OK(l.Trips.Append(l.Ctx, trip{Car: "c", Driver: bob, Km: 3, At: at.Add(2 * time.Minute)}))
	assert.True(t, l.erase(x, ada).Clean())
	assert.Empty(t, l.naming(ada))
}
