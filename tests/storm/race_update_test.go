package storm_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestRace_UpdateOfTheEmailKeepsWhatAnotherUpdateWrote(t *testing.T) {
	t.Parallel()
	in[Plain](t, emailMeetsName)
	in[Locked](t, emailMeetsName)
	in[Free](t, emailMeetsName)
	in[Reserve](t, emailMeetsName)
}

func emailMeetsName[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	err := w.overtake(w.saving(func() (T, error) { return w.Update(w.Ctx, w.key("a"), w.email("new@x")) }), func() {
		w.update("a", w.name("2"))
	})
	require.NoError(t, err)
	got, _ := w.current("a")
	require.Equal(t, []string{"new@x", "2"}, []string{got.Email, got.Name})
	w.sound()
}

func TestRace_UpdateDoesNotBringBackADeletedItem(t *testing.T) {
	t.Parallel()
	in[Plain](t, updateMeetsDelete)
	in[Locked](t, updateMeetsDelete)
	in[Kept](t, updateMeetsDelete)
	in[Bin](t, updateMeetsDelete)
	in[Free](t, updateMeetsDelete)
	in[Reserve](t, updateMeetsDelete)
}

func updateMeetsDelete[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	for _, write := range []func() error{
		func() error { _, err := w.Update(w.Ctx, w.key("a"), w.email("new@x")); return err },
		func() error { _, err := w.Update(w.Ctx, w.key("a"), w.name("new")); return err },
		func() error {
			_, err := w.Modify(w.Ctx, w.key("a"), func(v *T) error { w.at(v).Name = "new"; return nil })
			return err
		},
	} {
		err := w.overtake(write, func() { w.remove("a") })
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.Equal(t, w.soft, errors.Is(err, entity.ErrDeleted))
		_, there := w.current("a")
		require.False(t, there)
		d := w.sound()
		if !w.reserve {
			require.Empty(t, d.sentinels)
		}
		if w.soft {
			_, err := w.look.bin.Restore(w.Ctx, w.key("a"))
			require.NoError(t, err)
		} else {
			w.add("a", "old@x", "1")
		}
	}
}

// Two updates that were planned from one state leave two versions, and both states are kept.
func TestRace_TwoUpdatesLeaveTwoVersions(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	w.add("a", "a@x", "1")
	err := w.overtake(w.saving(func() (Free, error) { return w.Update(w.Ctx, w.key("a"), w.name("2")) }), func() {
		w.update("a", w.name("3"))
	})
	require.NoError(t, err)
	d := w.sound()
	require.Len(t, d.beings[address{"$app#v1#free#a", "$app#v1#free"}].snapshots, 2)
	v, err := w.look.Get(w.Ctx, w.key("a"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, int64(3), v.Version)
}

// An expected version is never planned again: the caller has decided from the state that it saw.
func TestRace_ExpectedVersionIsNotPlannedAnew(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	w.add("a", "a@x", "1")
	err := w.overtake(func() error {
		_, err := w.Update(w.Ctx, w.key("a"), w.email("b@x"), versioned.Expect(1))
		return err
	}, func() { w.update("a", w.name("2")) })
	var conflict *versioned.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 2}, *conflict)
	w.sound()
}

// A touch writes the item without a version of its own, wherever it comes in between.
func TestRace_TouchBesideUpdatesKeepsTheHistoryWhole(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	touch := func() {
		due, err := w.look.Touch(w.Ctx, w.key("a"), &w.f.Seen, 0)
		require.NoError(t, err)
		require.True(t, due)
	}
	w.add("a", "a@x", "1")
	touch() // between create and update: snapshot 1 was put by another write than the item
	w.update("a", w.name("2"))
	w.sound()
	require.NoError(t, w.overtake(w.saving(func() (Free, error) { return w.Update(w.Ctx, w.key("a"), w.email("b@x")) }), touch))
	w.sound()
	require.NoError(t, w.overtake(func() error { return w.Delete(w.Ctx, w.key("a")) }, touch))
	w.sound()
	v, err := w.look.bin.Restore(w.Ctx, w.key("a"))
	w.done(v, err)
	touch()
	w.update("a", w.name("5"))
	d := w.sound()
	require.Equal(t, "b@x", text(d.beings[address{"$app#v1#free#a", "$app#v1#free"}].current, "email"))
}

// The value was claimed for an hour; later another item has it. The item cannot give up what is not its own.
func TestRace_StolenEmailIsNotGivenUpByUpdate(t *testing.T) {
	t.Parallel()
	w := open[Leased](t)
	w.add("a", "old@x", "1")
	err := w.overtake(w.saving(func() (Leased, error) { return w.Update(w.Ctx, w.key("a"), w.email("new@x")) }), func() {
		w.Clock.Move(2 * time.Hour)
		w.add("thief", "old@x", "t")
	})
	require.NoError(t, err)
	d := w.sound()
	require.Len(t, d.sentinels, 2)
	require.Equal(t, "$app#v1#leased#thief", text(d.sentinels[address{"$app#v1#leased.email#old@x", "$app#v1#leased.email"}], "_entity_pk"))
}

// The other way round: the value that an update wants is taken just before.
func TestRace_TakenEmailIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	in[Plain](t, emailIsTaken)
	in[Locked](t, emailIsTaken)
	in[Free](t, emailIsTaken)
	in[Reserve](t, emailIsTaken)
}

func emailIsTaken[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	for _, write := range []func() error{
		func() error { _, err := w.Update(w.Ctx, w.key("a"), w.email("wanted@x")); return err },
		func() error { _, err := w.Put(w.Ctx, w.make(Person{ID: "a", Email: "wanted@x"})); return err },
		func() error {
			_, _, err := w.Upsert(w.Ctx, w.make(Person{ID: "a", Email: "wanted@x"}))
			return err
		},
		func() error { _, err := w.Create(w.Ctx, w.make(Person{ID: "new", Email: "wanted@x"})); return err },
	} {
		w.update("a", w.email("a@x"))
		v, _, err := w.look.Upsert(w.Ctx, w.make(Person{ID: "thief", Email: "thief@x"}))
		w.done(v, err)
		err = w.overtake(write, func() { w.update("thief", w.email("wanted@x")) })
		var taken *unique.ViolationError
		require.ErrorAs(t, err, &taken)
		require.Equal(t, "email", taken.Constraint)
		require.Contains(t, taken.Owner.PK, "#thief")
		got, _ := w.current("a")
		require.Equal(t, "a@x", got.Email)
		_, there := w.current("new")
		require.False(t, there)
		w.sound()
	}
}
