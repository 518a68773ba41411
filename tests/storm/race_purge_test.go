package storm_test

import (
	"testing"
	"time"

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
	w.add("beside", "beside@x", "stays")
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
		require.NoError(t, w.overtake(func() error { return w.Purge(w.Ctx, w.key("a")) }, race.meanwhile), name)
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
	require.NoError(t, w.Overtake(dbtest.First(snapshot), func() error { return w.Purge(w.Ctx, w.key("a")) }, func() {
		_, err := w.look.Create(w.Ctx, w.make(Person{ID: "a", Email: "new@x"}))
		require.NoError(t, err)
	}))
	w.sound()
	require.Empty(t, w.Items())
}

// The other way round: the create has read the history that a purge then removes.
func TestRace_CreateMeetsAPurge(t *testing.T) {
	t.Parallel()
	w := open[Kept](t)
	w.add("a", "a@x", "1")
	w.remove("a")
	w.written = nil
	require.NoError(t, w.overtake(w.saving(func() (Kept, error) { return w.Create(w.Ctx, w.make(Person{ID: "a", Email: "new@x"})) }), func() {
		require.NoError(t, w.look.Purge(w.Ctx, w.key("a")))
	}))
	d := w.sound()
	require.Len(t, d.beings, 1)
	require.Len(t, d.sentinels, 1)
}

// An update or restore that was planned from what a purge has removed finds nothing.
func TestRace_WritesMeetAPurge(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	for _, write := range []func() error{
		func() error { _, err := w.Update(w.Ctx, w.key("a"), w.email("b@x")); return err },
		func() error { return w.Delete(w.Ctx, w.key("a")) },
	} {
		w.add("a", "a@x", "1")
		w.written = nil
		require.Error(t, w.overtake(write, func() { require.NoError(t, w.look.Purge(w.Ctx, w.key("a"))) }))
		require.Empty(t, w.Items())
	}
	w.add("a", "a@x", "1")
	w.remove("a")
	require.Error(t, w.overtake(func() error { _, err := w.bin.Restore(w.Ctx, w.key("a")); return err }, func() {
		require.NoError(t, w.look.Purge(w.Ctx, w.key("a")))
	}))
	require.Empty(t, w.Items())
}

// The address of the item, or of its copy, belongs to another item by the time of the purge.
func TestRace_StolenEmailIsNotFreedByPurge(t *testing.T) {
	t.Parallel()
	w := open[Leased](t)
	w.add("a", "a@x", "1")
	w.written = nil
	require.NoError(t, w.overtake(func() error { return w.Purge(w.Ctx, w.key("a")) }, func() {
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
	require.ErrorIs(t, w.Overtake(dbtest.First(snapshot), func() error { return w.Purge(w.Ctx, w.key("a")) }, func() {
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
