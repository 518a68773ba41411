package storm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// A new life begins above the highest version of the earlier ones. What is read for that can be outdated when it is
// used.
func TestRace_TwoCreatesAfterADeleteGiveNoVersionTwice(t *testing.T) {
	t.Parallel()
	w := open[Kept](t)
	w.add("a", "a@x", "1")
	w.remove("a")
	create := func() (Kept, error) { return w.Create(w.Ctx, w.make(Person{ID: "a", Email: "a@x", Name: "slow"})) }

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
	in[Plain](t, createMeetsCreate)
	in[Free](t, createMeetsCreate)
	in[Reserve](t, createMeetsCreate)
}

func createMeetsCreate[T any](t *testing.T, w *world[T]) {
	err := w.overtake(w.creating(Person{ID: "a", Email: "slow@x", Name: "slow"}), func() { w.add("a", "fast@x", "fast") })
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "fast", got.Name)
	require.Len(t, w.sound().sentinels, 1)
}

// The item was live, in the first state of its life, when the create read its history; it is deleted before the create
// writes. The state after the delete has the version that the create wanted to give, and only the copy holds it.
func TestRace_CreateMeetsTheDeleteOfANewItem(t *testing.T) {
	t.Parallel()
	t.Run("Free", createMeetsDelete[Free])
	t.Run("Leased", createMeetsDelete[Leased])
	t.Run("Reserve", createMeetsDelete[Reserve])
}

func createMeetsDelete[T any](t *testing.T) {
	t.Parallel()
	w := open[T](t)
	for name, write := range map[string]func(*world[T], T) error{
		"create": func(w *world[T], v T) error { _, err := w.Create(w.Ctx, v); return err },
		"put":    func(w *world[T], v T) error { _, err := w.Put(w.Ctx, v); return err },
		"upsert": func(w *world[T], v T) error { _, _, err := w.Upsert(w.Ctx, v); return err },
	} {
		for n := 1; n <= 4; n++ { // before each of its requests
			id := fmt.Sprint(name, n)
			if name == "create" {
				w.add(id, id+"@x", "1")
			}
			requests := 0
			arrived, release := w.Wire.Hold(func(faults.Request) bool { requests++; return requests == n })
			done := make(chan error, 1)
			go func() { done <- write(w, w.make(Person{ID: id, Email: id + "@new"})) }()
			select {
			case <-arrived:
				if name == "create" {
					w.remove(id)
				} else {
					w.add(id, id+"@x", "1") // it has read no item
				}
				release()
			case err := <-done:
				done <- err
			}
			err := <-done
			release()
			if name == "create" {
				require.ErrorIs(t, err, entity.ErrExists)
			} else {
				require.NoError(t, err)
				w.written = nil
			}
			w.sound()
		}
	}
}

// What time to live has taken away does not stand in the way of a new life.
func TestCreate_AfterTheCopyExpiredBeginsAboveTheHistory(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(item) bool{
		"the copy":             func(it item) bool { return text(it, "_k") == "d" },
		"all but one snapshot": func(it item) bool { return text(it, "_k") == "d" || text(it, "sk") == "$app#v1#reserve#v#0000002" },
	} {
		w := open[Reserve](t)
		w.add("a", "a@x", "1")
		w.remove("a")
		for _, it := range w.Items() {
			if gone(it) {
				w.RemoveItem(it)
			}
		}
		v, err := w.Create(w.Ctx, w.make(Person{ID: "a", Email: "new@x"}))
		require.NoError(t, err, name)
		require.Equal(t, map[string]int64{"the copy": 3, "all but one snapshot": 2}[name], v.Version)
	}
}

func TestRace_UpdateOfTheEmailKeepsWhatAnotherUpdateWrote(t *testing.T) {
	t.Parallel()
	in[Plain](t, emailMeetsName)
	in[Locked](t, emailMeetsName)
	in[Free](t, emailMeetsName)
	in[Reserve](t, emailMeetsName)
}

func emailMeetsName[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	err := w.overtake(w.updating("a", w.email("new@x")), func() {
		w.update("a", w.name("2"))
	})
	require.NoError(t, err)
	got, _ := w.current("a")
	require.Equal(t, []string{"new@x", "2"}, []string{got.Email, got.Name})
	w.sound()
}

// Two updates that were planned from one state leave two versions, and both states are kept.
func TestRace_TwoUpdatesLeaveTwoVersions(t *testing.T) {
	t.Parallel()
	w := open[Free](t)
	w.add("a", "a@x", "1")
	err := w.overtake(w.updating("a", w.name("2")), func() {
		w.update("a", w.name("3"))
	})
	require.NoError(t, err)
	d := w.sound()
	require.Len(t, d.beings[address{"$app#v1#free#a", "$app#v1#free"}].snapshots, 2)
	v, err := w.look.Get(w.Ctx, w.key("a"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, int64(3), v.Version)
}

// A touch writes the item without a version of its own, wherever it comes in between.
func TestRace_TouchBetweenUpdatesKeepsTheHistoryWhole(t *testing.T) {
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
	require.NoError(t, w.overtake(w.updating("a", w.email("b@x")), touch))
	w.sound()
	require.NoError(t, w.overtake(w.deleting("a"), touch))
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
	err := w.overtake(w.updating("a", w.email("new@x")), func() {
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
		w.updating("a", w.email("wanted@x")),
		func() error { _, err := w.Put(w.Ctx, w.make(Person{ID: "a", Email: "wanted@x"})); return err },
		func() error {
			_, _, err := w.Upsert(w.Ctx, w.make(Person{ID: "a", Email: "wanted@x"}))
			return err
		},
		w.creating(Person{ID: "new", Email: "wanted@x"}),
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
