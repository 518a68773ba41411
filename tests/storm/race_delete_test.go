package storm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestRace_DeleteKeepsWhatAnUpdateWrote(t *testing.T) {
	t.Parallel()
	t.Run("bin", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asReserve) })
	t.Run("kept", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asKept) })
	t.Run("plain", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asPlain) })
	t.Run("locked", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asLocked) })
}

func deleteMeetsUpdate[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
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
	t.Run("bin", func(t *testing.T) { t.Parallel(); deleteMeetsDelete(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); deleteMeetsDelete(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); deleteMeetsDelete(t, asReserve) })
}

func deleteMeetsDelete[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	err := w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, func() { w.remove("a") })
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, err, entity.ErrDeleted)
	require.Len(t, w.copies("a"), 1)
	w.sound()
}

// Between the read and the write of a delete the item is deleted, and somebody else takes its address: the sentinel is
// not the item's any more.
func TestRace_DeleteDoesNotFreeWhatSomebodyElseHas(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); deleteMeetsHeir(t, asPlain) })
	t.Run("kept", func(t *testing.T) { t.Parallel(); deleteMeetsHeir(t, asKept) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); deleteMeetsHeir(t, asFree) })
}

func deleteMeetsHeir[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
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

// The claim had an end and somebody else has the value, while the item still holds it.
func TestRace_StolenEmailIsNotGivenUpByDelete(t *testing.T) {
	t.Parallel()
	t.Run("free", func(t *testing.T) { t.Parallel(); deleteMeetsThief(t, asLeased) })
	t.Run("reserve", func(t *testing.T) { t.Parallel(); deleteMeetsThief(t, asLeasedReserve) })
}

func deleteMeetsThief[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
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
