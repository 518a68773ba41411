package storm_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// The write that overtakes a purge came after it was asked for: either the purge removes it too, or it begins a new life
// of which nothing is missing.
func TestRace_PurgeRemovesWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	in[Bin](t, purgeMeets)
	in[Free](t, purgeMeets)
	in[Reserve](t, purgeMeets)
	in[Leased](t, purgeMeets)
}

func purgeMeets[T any](t *testing.T, w *world[T]) {
	w.add("other", "other@x", "stays")
	stays := len(w.Items())
	kept := w.written
	live := func() { w.add("a", "a@x", "1") }
	deleted := func() {
		live()
		w.remove("a")
	}
	restore := func() { w.done(w.look.bin.Restore(w.Ctx, w.key("a"))) }
	for name, race := range map[string]struct {
		before, meanwhile func()
	}{
		"update":  {live, func() { w.update("a", w.name("2"), w.email("b@x")) }},
		"delete":  {live, func() { w.remove("a") }},
		"restore": {deleted, restore},
		"restore and update": {deleted, func() {
			restore()
			w.update("a", w.email("b@x"))
		}},
		"purge": {live, func() { require.NoError(t, w.look.Purge(w.Ctx, w.key("a"))) }},
		"purge and create": {func() {
			w.add("a", "a@x", "1")
			w.update("a", w.name("2"))
		}, func() {
			require.NoError(t, w.look.Purge(w.Ctx, w.key("a")))
			w.add("a", "b@x", "3")
		}},
	} {
		race.before()
		require.NoError(t, w.overtake(w.purging("a"), race.meanwhile), name)
		w.written = kept
		w.sound()
		require.Len(t, w.Items(), stays, "%s: nothing of the item is left, and nothing else is missing", name)
	}
}

// A create between the removal of the item and that of its snapshots: the purge goes on until there is no item.
func TestRace_PurgeMeetsACreateBeforeTheSnapshotsAreGone(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	w.add("a", "a@x", "1")
	w.update("a", w.name("2"))
	w.written = nil
	snapshot := func(r faults.Request) bool { return r.Operation == "DeleteItem" }
	require.NoError(t, w.Overtake(dbtest.First(snapshot), w.purging("a"), func() {
		_, err := w.look.Create(w.Ctx, w.make(Person{ID: "a", Email: "new@x"}))
		require.NoError(t, err)
	}))
	w.sound()
	require.Empty(t, w.Items())
}

// The address of the item, or of its copy, belongs to another item by the time of the purge.
func TestRace_StolenEmailIsNotFreedByPurge(t *testing.T) {
	t.Parallel()
	w := open[Leased](t)
	w.add("a", "a@x", "1")
	w.written = nil
	require.NoError(t, w.overtake(w.purging("a"), func() {
		w.Clock.Move(2 * time.Hour)
		w.add("thief", "a@x", "t")
	}))
	d := w.sound()
	require.Len(t, d.beings, 1)
	require.Len(t, d.sentinels, 1)

	free := open[Bin](t)
	free.add("a", "a@x", "1")
	free.remove("a")
	free.add("heir", "a@x", "2")
	require.NoError(t, free.Purge(t.Context(), free.key("a")))
	require.Len(t, free.sound().sentinels, 1)
}

// A whole life went by since the snapshot was read: another one has its key. Stopped then, the purge has removed only what
// it had read.
func TestRace_PurgeLeavesTheSnapshotOfALaterLife(t *testing.T) {
	t.Parallel()
	w := open[Kept](t, dbtest.Attempts(1))
	w.add("a", "a@x", "1")
	snapshot := func(r faults.Request) bool { return r.Operation == "DeleteItem" }
	require.ErrorIs(t, w.Overtake(dbtest.First(snapshot), w.purging("a"), func() {
		require.NoError(t, w.look.Purge(w.Ctx, w.key("a")))
		w.written = nil
		w.add("a", "b@x", "2")
	}), entity.ErrConflict)
	d := w.sound()
	require.Len(t, d.beings[address{w.pk("a"), w.sk()}].snapshots, 1)
	got, err := w.look.past.Get(w.Ctx, w.key("a"), 1)
	require.NoError(t, err)
	require.Equal(t, "b@x", got.Item.Email)
}

// crowded is an item with more deleted copies than one transaction can remove, all with the address of its first life, but
// for the oldest of them, which have that of a life before.
func crowded(t *testing.T) *world[Bin] {
	w := open[Bin](t, dbtest.Attempts(1))
	w.add("a", "a@x", "1")
	w.remove("a")
	var pattern item
	for _, it := range w.Items() {
		if text(it, "_k") == "d" {
			pattern = it
		}
	}
	require.NotNil(t, pattern)
	var puts []types.WriteRequest
	for i := range 105 {
		it := maps.Clone(pattern)
		at := time.Date(2100, 1, 1, 0, i, 0, 0, time.UTC).Format(fixed)
		it["deletedAt"] = dbtest.S(at)
		it["sk"] = dbtest.S("$app#v1#bin#deleted#" + at)
		it["_w"] = dbtest.S(fmt.Sprint("w", i))
		if i < 10 {
			it["email"] = dbtest.S("old@x")
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	for batch := range slices.Chunk(puts, 25) {
		w.OK(w.Raw.BatchWriteItem(w.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.Table: batch}}))
	}
	w.sound()
	return w
}

// A life that begins before the first of those transactions has a value of the copies which that one removes.
func TestPurge_OfManyCopiesTakesNoValueOfALifeThatBeganMeanwhile(t *testing.T) {
	t.Parallel()
	w := crowded(t)
	require.ErrorIs(t, w.overtake(w.purging("a"), func() { w.add("a", "old@x", "2") }), entity.ErrConflict)
	require.Len(t, w.sound().sentinels, 1)
	_, there := w.current("a")
	require.True(t, there)
}
