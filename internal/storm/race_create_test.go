package storm_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A new life begins above the highest version of the earlier ones. What is read for that can be outdated when it is
// used.
func TestRace_TwoCreatesAfterADeleteGiveNoVersionTwice(t *testing.T) {
	t.Parallel()
	w := open(t, asKept)
	w.add("a", "a@x", "1")
	w.remove("a")
	create := func() (Kept, error) { return w.Create(w.ctx, w.make(Person{ID: "a", Email: "a@x", Name: "slow"})) }

	err := w.overtake(w.saving(create), func() { w.add("a", "b@x", "fast") })
	require.ErrorIs(t, err, entity.ErrExists)
	w.sound()

	w.remove("a")
	require.NoError(t, w.overtake(w.saving(create), func() { // a whole life goes by in between
		w.add("a", "b@x", "fast")
		w.update("a", w.name("faster"))
		w.remove("a")
	}))
	d := w.sound()
	b := d.beings[address{"$app#v1#kept#a", "$app#v1#kept"}]
	require.Equal(t, int64(8), number(b.current, "version"))
	require.Len(t, b.snapshots, 8)
}

func TestRace_CreateMeetsCreate(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); createMeetsCreate(t, asPlain) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); createMeetsCreate(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); createMeetsCreate(t, asReserve) })
}

func createMeetsCreate[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	err := w.overtake(func() error {
		_, err := w.Create(w.ctx, w.make(Person{ID: "a", Email: "slow@x", Name: "slow"}))
		return err
	}, func() { w.add("a", "fast@x", "fast") })
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "fast", got.Name)
	require.Len(t, w.sound().sentinels, 1)
}

// What a create has read about earlier lives is outdated: there is a deleted copy by now, which a new life would hide.
func TestRace_CreateMeetsALifeThatWasDeletedMeanwhile(t *testing.T) {
	t.Parallel()
	w := open(t, asFree)
	err := w.overtake(func() error {
		_, err := w.Create(w.ctx, w.make(Person{ID: "a", Email: "slow@x", Name: "slow"}))
		return err
	}, func() {
		w.add("a", "fast@x", "fast")
		w.remove("a")
	})
	require.ErrorIs(t, err, entity.ErrExists)
	require.ErrorIs(t, err, entity.ErrDeleted)
	w.sound()
	require.Len(t, w.copies("a"), 1)
}

// The same where the copy keeps the value of its item.
func TestRace_CreateMeetsAReservedValue(t *testing.T) {
	t.Parallel()
	w := open(t, asReserve)
	w.add("a", "fast@x", "fast")
	require.NoError(t, w.look.Purge(w.ctx, w.key("a")))
	w.told = nil
	err := w.overtake(func() error {
		_, err := w.Create(w.ctx, w.make(Person{ID: "a", Email: "slow@x", Name: "slow"}))
		return err
	}, func() {
		w.add("a", "fast@x", "fast")
		w.remove("a")
	})
	require.ErrorIs(t, err, entity.ErrDeleted)
	require.Contains(t, w.sound().sentinels, address{"$app#v1#reserve.email#fast@x", "$app#v1#reserve.email"})
}

func TestRace_PutAndUpsertMeetADelete(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asPlain) })
	t.Run("locked", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asLocked) })
	t.Run("kept", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asKept) })
	t.Run("bin", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); wholeMeetsDelete(t, asReserve) })
}

func wholeMeetsDelete[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	for id, write := range map[string]func(T) (T, error){
		"p": func(v T) (T, error) { return w.Put(w.ctx, v) },
		"u": func(v T) (T, error) { v, _, err := w.Upsert(w.ctx, v); return v, err },
	} {
		w.add(id, id+"@old", "old")
		err := w.overtake(w.saving(func() (T, error) { return write(w.make(Person{ID: id, Email: id + "@new"})) }), func() { w.remove(id) })
		got, there := w.current(id)
		if w.soft && w.retain || w.reserve { // it can be restored
			require.ErrorIs(t, err, entity.ErrExists)
			require.ErrorIs(t, err, entity.ErrDeleted)
			require.False(t, there)
		} else {
			require.NoError(t, err)
			require.Equal(t, Person{ID: id, Email: id + "@new", CreatedAt: got.CreatedAt, UpdatedAt: got.CreatedAt}, got, "nothing of the old life is left")
		}
		w.sound()
	}
}
