package storm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
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
	require.NoError(t, w.overtake(w.deleting("a"), func() {
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

// The claim had an end and another item has the value, while the item still holds it.
func TestRace_StolenEmailIsNotGivenUpByDelete(t *testing.T) {
	t.Parallel()
	in[Leased](t, deleteMeetsThief)
	in[LeasedReserve](t, deleteMeetsThief)
}

func deleteMeetsThief[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	require.NoError(t, w.overtake(w.deleting("a"), func() {
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

// The item gets its address back after a write found that another item has it. The write must give it up now.
func TestRace_StolenEmailThatComesBackIsGivenUp(t *testing.T) {
	t.Parallel()
	in[Leased](t, writesMeetAReturnedEmail)
	in[LeasedReserve](t, writesMeetAReturnedEmail)
}

func writesMeetAReturnedEmail[T any](t *testing.T, w *world[T]) {
	for id, c := range map[string]struct {
		write func() error
		kept  bool // the address stays with the item
	}{
		"u": {w.updating("u", w.email("new@x")), false},
		"d": {w.deleting("d"), w.reserve},
	} {
		old := id + "@x"
		w.add(id, old, "1")
		w.Clock.Move(2 * time.Hour)
		w.add("thief"+id, old, "t")
		writes := 0
		afterRefusal := func(r faults.Request) bool {
			if isWrite(r) {
				writes++
			}
			return writes == 1 && !isWrite(r)
		}
		require.NoError(t, w.Overtake(dbtest.First(afterRefusal), c.write, func() {
			w.update("thief"+id, w.email("thief"+old))
			w.update(id, w.email("between@x"))
			w.update(id, w.email(old))
		}))
		w.sound()
		_, err := w.look.Create(w.Ctx, w.make(Person{ID: id + "heir", Email: old}))
		if c.kept {
			var taken *unique.ViolationError
			require.ErrorAs(t, err, &taken)
			require.Equal(t, w.pk(id), taken.Owner.PK)
		} else {
			require.NoError(t, err)
		}
	}
}

func TestRace_RestoreNeverOverwritesALiveItem(t *testing.T) {
	t.Parallel()
	w := open[Bin](t)
	w.add("a", "old@x", "old")
	w.remove("a")
	err := w.overtake(w.restoring("a"), func() { w.add("a", "new@x", "new") })
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "new", got.Name)
	require.Len(t, w.copies("a"), 1, "the copy is still there")
	w.sound()
}

func TestRace_TwoRestoresMakeOneItem(t *testing.T) {
	t.Parallel()
	in[Bin](t, restoreMeetsRestore)
	in[Free](t, restoreMeetsRestore)
	in[Reserve](t, restoreMeetsRestore)
}

func restoreMeetsRestore[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	for name, restore := range map[string]func() error{
		"newest": w.restoring("a"),
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
		_, err = w.look.bin.Get(w.Ctx, w.key("a"))
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.Len(t, w.sound().sentinels, 1)
	}
}
