package expiry_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// history opens the history of a store.
func history[T any](l *lab[T]) *versioned.History[T] {
	l.T.Helper()
	return entity.Must(versioned.Of(l.store))
}

// numbers returns the numbers of the versions that a query of a history yields.
func numbers[T any](l *lab[T], q entity.Query[versioned.Version[T]]) []int64 {
	l.T.Helper()
	all := []int64{}
	for _, v := range entity.Must(q.Collect(l.Ctx)) {
		all = append(all, v.Number)
	}
	return all
}

// A snapshot is kept for a day after its state ended: after it was replaced, or after the item expired in it.
func TestHistory_SnapshotsEndADayAfterTheirStates(t *testing.T) {
	t.Parallel()
	l := open[Pass](t)
	ctx := t.Context()
	end := func(d time.Duration) entity.UpdateOption { return entity.Set(&l.f.Ends, dawn.Add(d).Unix()) }
	l.OK(l.store.Create(ctx, Pass{ID: "a"}))
	require.Equal(t, map[string]string{"1": after(hour + day)}, l.snapshots("a"))
	l.Clock.Move(10 * time.Minute)
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, end(3*hour)))
	require.Equal(t, map[string]string{"1": after(10*time.Minute + day), "2": after(3*hour + day)}, l.snapshots("a"))
	l.Clock.Move(10 * time.Minute)
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Remove(&l.f.Ends)))
	require.Equal(t, map[string]string{"1": after(10*time.Minute + day), "2": after(20*time.Minute + day), "3": ""}, l.snapshots("a"))
	l.Clock.Move(10 * time.Minute)
	l.OK(l.store.Put(ctx, Pass{ID: "a", Note: "x"}))
	l.Clock.Move(10 * time.Minute)
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, end(time.Minute))) // has passed: it is over with this write
	require.Equal(t, map[string]string{
		"1": after(10*time.Minute + day), "2": after(20*time.Minute + day), "3": after(30*time.Minute + day), "4": after(40*time.Minute + day),
		"5": after(40*time.Minute + day),
	}, l.snapshots("a"))
	for _, it := range l.Items() {
		require.NotEmpty(t, ends(it), "nothing of an expired item stays for ever")
	}
}

// A state has the expiry that it had, not that of its snapshot.
func TestHistory_StatesKeepTheirExpiry(t *testing.T) {
	t.Parallel()
	l := open[Pass](t)
	ctx, h := t.Context(), history(l)
	l.OK(l.store.Create(ctx, Pass{ID: "a", Note: "one"}))
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Ends, dawn.Add(2*hour).Unix())))
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Remove(&l.f.Ends), entity.Set(&l.f.Note, "three")))
	l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Ends, dawn.Add(3*hour).Unix())))
	want := map[int64]int64{1: dawn.Add(hour).Unix(), 2: dawn.Add(2 * hour).Unix(), 3: 0, 4: dawn.Add(3 * hour).Unix()}
	for _, v := range entity.Must(h.List(Pass{ID: "a"}, versioned.WithCurrent()).Collect(ctx)) {
		require.Equal(t, want[v.Number], v.Item.Ends, "version %d", v.Number)
		got := entity.Must(h.Get(ctx, Pass{ID: "a"}, v.Number))
		require.Equal(t, v, got)
	}
	require.Equal(t, []int64{3}, numbers(l, h.List(Pass{ID: "a"}, entity.Filter(entity.NotExists(&l.f.Ends)))))
	diff := entity.Must(h.Diff(ctx, Pass{ID: "a"}, 1, 2))
	require.Contains(t, diff, versioned.FieldChange{Attribute: "ends", Field: "Ends", Before: dawn.Add(hour).Unix(), After: dawn.Add(2 * hour).Unix()})
	// Revert takes the content, not the end, which may have passed.
	l.Clock.Move(2*hour + time.Minute)
	got := entity.Must(h.Revert(ctx, Pass{ID: "a"}, 1))
	require.Equal(t, "one", got.Note)
	require.Equal(t, dawn.Add(3*hour).Unix(), got.Ends)
}

// The history of an expired item is complete for a day, whether or not DynamoDB has removed the item.
func TestHistory_OfAnExpiredItem(t *testing.T) {
	t.Parallel()
	for _, removed := range []bool{false, true} {
		l := open[Pass](t)
		ctx, h, key := t.Context(), history(l), Pass{ID: "a"}
		l.OK(l.store.Create(ctx, Pass{ID: "a", Code: "A1", Note: "one"}))
		l.Clock.Move(10 * time.Minute)
		l.OK(l.store.Update(ctx, key, entity.Set(&l.f.Note, "two")))
		require.Equal(t, []int64{1}, numbers(l, h.List(key)))
		l.Clock.Move(50 * time.Minute)
		if removed {
			l.RemoveItem(l.Current("a"))
		}
		require.Equal(t, []int64{1, 2}, numbers(l, h.List(key)), "the last state is a past one")
		require.Equal(t, []int64{2, 1}, numbers(l, h.List(key, versioned.WithCurrent(), entity.Desc())))
		last := entity.Must(h.Get(ctx, key, 2))
		require.Equal(t, "two", last.Item.Note)
		require.Equal(t, dawn.Add(hour).Unix(), last.Item.Ends)
		require.False(t, last.Deleted)
		require.Equal(t, "two", entity.Must(h.At(ctx, key, dawn.Add(hour-time.Second))).Item.Note)
		_, err := h.At(ctx, key, dawn.Add(hour))
		require.ErrorIs(t, err, entity.ErrNotFound, "it had expired")
		require.NotErrorIs(t, err, versioned.ErrVersionExpired)
		_, err = h.Revert(ctx, key, 1)
		require.ErrorIs(t, err, entity.ErrNotFound)

		l.Clock.Move(day - hour)
		created := entity.Must(l.store.Create(ctx, Pass{ID: "a", Note: "three"})) // before the day is over
		require.EqualValues(t, 3, created.Version, "no version is used twice")
		require.Equal(t, []int64{1, 2, 3}, numbers(l, h.List(key, versioned.WithCurrent())))
		_, err = h.At(ctx, key, dawn.Add(2*hour))
		require.ErrorIs(t, err, entity.ErrNotFound, "between two lives")
		l.Clock.Move(hour)
		require.Equal(t, []int64{3}, numbers(l, h.List(key)), "the day is over for the states of the first life")
		_, err = h.At(ctx, key, dawn.Add(hour-time.Second))
		require.ErrorIs(t, err, versioned.ErrVersionExpired)
	}
}

// Another program that knows no history has begun a new life whose version, or whose next one, a snapshot has.
func TestHistory_ContinuesAfterATakenVersion(t *testing.T) {
	t.Parallel()
	for _, first := range []bool{true, false} {
		l := open[Pass](t)
		ctx := t.Context()
		l.OK(l.store.Create(ctx, Pass{ID: "a"}))
		for range 2 {
			l.OK(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Note, "x")))
		}
		it := l.Current("a")
		it["version"], it["_w"], it["updated"] = dbtest.N("1"), dbtest.S("other"), dbtest.S("2101-03-04T05:06:08.000000000Z")
		l.PutItem(it)
		states := 5
		if !first { // it has expired
			pk, sk := l.KeyOf(it)
			l.RemoveItem(l.Item(pk, sk+"#v#0000001"))
			states = 4
		}
		got := entity.Must(l.store.Update(ctx, Pass{ID: "a"}, entity.Set(&l.f.Note, "y")))
		require.EqualValues(t, 5, got.Version, "4 is the state that was replaced")
		require.Len(t, l.snapshots("a"), states)
	}
}

// unproven refuses a first put without its item, as a client that hides items does.
type unproven struct {
	entity.Client
	meanwhile func()
}

func (c *unproven) PutItem(ctx context.Context, in *dynamodb.PutItemInput, f ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if first := c.meanwhile; first != nil {
		c.meanwhile = nil
		first()
		return nil, &types.ConditionalCheckFailedException{}
	}
	return c.Client.PutItem(ctx, in, f...)
}

// A create that is planned again counts the life of its item from the time of the last plan.
func TestTTL_ACreateThatIsPlannedAgainLivesFromThen(t *testing.T) {
	dbtest.Parallel(t)
	b, _ := dbtest.OpenStore[PlainQuota](t)
	b.Clock.Set(dawn, 0)
	slow := &unproven{Client: b.Client, meanwhile: func() { b.Clock.Move(time.Minute) }}
	quotas := dbtest.Declare[PlainQuota](t, b.Open(slow))
	got := entity.Must(quotas.Create(t.Context(), PlainQuota{Quota: Quota{ID: "q"}}))
	require.Equal(t, dawn.Add(hour+time.Minute).Unix(), got.Ends)
	require.Equal(t, after(hour+time.Minute), ends(b.Current("q")))
}
