package storm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
)

func TestRace_RestoreNeverOverwritesALiveItem(t *testing.T) {
	t.Parallel()
	w := open(t, asBin)
	w.add("a", "old@x", "old")
	w.remove("a")
	err := w.overtake(func() error { _, err := w.bin.Restore(w.Ctx, w.key("a")); return err }, func() { w.add("a", "new@x", "new") })
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "new", got.Name)
	require.Len(t, w.copies("a"), 1, "the copy is still there")
	w.sound()
}

func TestRace_TwoRestoresMakeOneItem(t *testing.T) {
	t.Parallel()
	t.Run("bin", func(t *testing.T) { t.Parallel(); restoreMeetsRestore(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); restoreMeetsRestore(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); restoreMeetsRestore(t, asReserve) })
}

func restoreMeetsRestore[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	for name, restore := range map[string]func() error{
		"newest": func() error { _, err := w.bin.Restore(w.Ctx, w.key("a")); return err },
		"chosen": func() error {
			c, err := w.look.bin.Get(w.Ctx, w.key("a"))
			require.NoError(t, err)
			_, err = w.bin.RestoreCopy(w.Ctx, c)
			return err
		},
	} {
		w.remove("a")
		err := w.overtake(restore, func() {
			w.done(w.look.bin.Restore(w.Ctx, w.key("a")))
			w.update("a", w.name("after "+name), w.email(name+"@x"))
		})
		require.ErrorIs(t, err, entity.ErrNotDeleted)
		got, _ := w.current("a")
		require.Equal(t, "after "+name, got.Name, "what was written after the other restore is still there")
		require.Empty(t, w.copies("a"))
		require.Len(t, w.sound().sentinels, 1)
	}
}

// Between the read and the write of a restore the item is restored, changed and deleted again: there is a copy, but not
// the one that was read.
func TestRace_RestoreTakesTheCopyThatIsThere(t *testing.T) {
	t.Parallel()
	t.Run("bin", func(t *testing.T) { t.Parallel(); restoreMeetsAnotherCopy(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); restoreMeetsAnotherCopy(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); restoreMeetsAnotherCopy(t, asReserve) })
}

func restoreMeetsAnotherCopy[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	w.remove("a")
	err := w.overtake(w.saving(func() (T, error) { return w.bin.Restore(w.Ctx, w.key("a")) }), func() {
		w.done(w.look.bin.Restore(w.Ctx, w.key("a")))
		w.update("a", w.name("2"), w.email("b@x"))
		w.remove("a")
	})
	require.NoError(t, err)
	got, _ := w.current("a")
	require.Equal(t, []string{"b@x", "2"}, []string{got.Email, got.Name})
	require.Empty(t, w.copies("a"))
	w.sound()
}

// The deleted item gave its address up; between the read and the write of the restore somebody takes it.
func TestRace_RestoreIsRefusedWhenTheEmailWasTaken(t *testing.T) {
	t.Parallel()
	t.Run("bin", func(t *testing.T) { t.Parallel(); restoreMeetsHeir(t, asBin, 0) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); restoreMeetsHeir(t, asFree, 0) })
	t.Run("leased", func(t *testing.T) { t.Parallel(); restoreMeetsHeir(t, asLeased, 0) })
	t.Run("reserved and expired", func(t *testing.T) { t.Parallel(); restoreMeetsHeir(t, asReserve, 31*24*time.Hour) })
}

func restoreMeetsHeir[T any](t *testing.T, k kind[T], pass time.Duration) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	w.remove("a")
	before := len(w.Items())
	err := w.overtake(func() error { _, err := w.bin.Restore(w.Ctx, w.key("a")); return err }, func() {
		w.Clock.Move(pass)
		w.add("heir", "a@x", "heir")
	})
	var taken *unique.ViolationError
	require.ErrorAs(t, err, &taken)
	require.Contains(t, taken.Owner.PK, "#heir")
	_, there := w.current("a")
	require.False(t, there)
	if pass > 0 {
		return // the expired copy cannot claim anything any more
	}
	d := w.sound()
	require.Len(t, d.beings[address{taken.Owner.PK[:len(taken.Owner.PK)-len("heir")] + "a", taken.Owner.SK}].copies, 1, "the copy is still there")
	require.Len(t, d.sentinels, 1)
	require.Greater(t, len(w.Items()), before)
}
