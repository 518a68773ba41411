package storm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestRace_DeleteKeepsWhatAnUpdateWrote(t *testing.T) {
	t.Parallel()
	in[Bin](t, deleteMeetsUpdate)
	in[Free](t, deleteMeetsUpdate)
	in[Reserve](t, deleteMeetsUpdate)
	in[Kept](t, deleteMeetsUpdate)
	in[Plain](t, deleteMeetsUpdate)
	in[Locked](t, deleteMeetsUpdate)
}

func deleteMeetsUpdate[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	require.NoError(t, w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, func() {
		w.update("a", w.email("new@x"), w.name("2"))
	}))
	_, there := w.current("a")
	require.False(t, there)
	d := w.sound()
	if w.soft {
		copies := w.copies("a")
		require.Len(t, copies, 1)
		p := *w.at(&copies[0].Item)
		require.Equal(t, []string{"new@x", "2"}, []string{p.Email, p.Name}, "the update is in the copy")
	}
	if w.reserve {
		require.Len(t, d.sentinels, 1)
	} else {
		require.Empty(t, d.sentinels)
	}
	w.add("b", "old@x", "free again")
	w.sound()
}

func TestRace_TwoDeletesLeaveOneCopy(t *testing.T) {
	t.Parallel()
	in[Bin](t, deleteMeetsDelete)
	in[Free](t, deleteMeetsDelete)
	in[Reserve](t, deleteMeetsDelete)
}

func deleteMeetsDelete[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	err := w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, func() { w.remove("a") })
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, err, entity.ErrDeleted)
	require.Len(t, w.copies("a"), 1)
	w.sound()
}

// Between the read and the write of a delete the item is deleted, and another item takes its address: the sentinel is
// not the item's any more.
func TestRace_DeleteDoesNotFreeWhatSomebodyElseHas(t *testing.T) {
	t.Parallel()
	in[Plain](t, deleteMeetsHeir)
	in[Kept](t, deleteMeetsHeir)
	in[Free](t, deleteMeetsHeir)
}

func deleteMeetsHeir[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	err := w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, func() {
		w.remove("a")
		w.add("heir", "a@x", "2")
	})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Len(t, w.sound().sentinels, 1)

	// The same with an update that frees the address: now there is something left to delete.
	w.add("b", "b@x", "1")
	require.NoError(t, w.overtake(func() error { return w.Delete(w.Ctx, w.key("b")) }, func() {
		w.update("b", w.email("b2@x"))
		w.add("heir2", "b@x", "2")
	}))
	require.Len(t, w.sound().sentinels, 2)
}

// The claim had an end and another item has the value, while the item still holds it.
func TestRace_StolenEmailIsNotGivenUpByDelete(t *testing.T) {
	t.Parallel()
	in[Leased](t, deleteMeetsThief)
	in[LeasedReserve](t, deleteMeetsThief)
}

func deleteMeetsThief[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	require.NoError(t, w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, func() {
		w.Clock.Move(2 * time.Hour)
		w.add("thief", "a@x", "t")
	}))
	d := w.sound()
	require.Len(t, d.sentinels, 1)
	for _, s := range d.sentinels {
		require.Contains(t, text(s, "_entity_pk"), "#thief")
	}
	require.Len(t, w.copies("a"), 1)
}
