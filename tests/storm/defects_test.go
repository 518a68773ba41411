package storm_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The tests of these files are named after defects that a comparable library has. Each fails on the defect's behaviour.

// Shelf is an entity whose items share partitions.
type Shelf struct {
	_ entity.Key `name:"Shelf" pk:"$#{root}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

var asShelf = kind[Shelf]{traits{retain: true, soft: true}, func(v *Shelf) *Person { return &v.Person }, func(v Shelf) int64 { return v.Version }}

// moment is a door through which time does not pass.
func (w *world[T]) moment() door[T] {
	at := w.Clock.Now()
	return w.enter(w.Raw, func(c *entity.Config) { c.Clock = func() time.Time { return at } })
}

func TestSatellitesOfItemsInOnePartitionAreTheirOwn(t *testing.T) {
	t.Parallel()
	w := open(t, asShelf)
	d := w.moment()
	ids := []string{"a", "ab", "a#v#0000001", "a#deleted#2101-01-01T00:00:00.000000000Z", "A"}
	for i, id := range ids {
		_, err := d.Create(w.Ctx, w.make(Person{Root: "r", ID: id, Name: id, Email: fmt.Sprintf("e%d@x", i)}))
		require.NoError(t, err)
	}
	for _, id := range ids {
		key := w.make(Person{Root: "r", ID: id})
		_, err := d.Update(w.Ctx, key, w.name(id+" 2"))
		require.NoError(t, err)
		require.NoError(t, d.Delete(w.Ctx, key))
	}
	for _, id := range ids {
		key := w.make(Person{Root: "r", ID: id})
		v, err := d.past.Get(w.Ctx, key, 1)
		require.NoError(t, err)
		require.Equal(t, id, v.Item.Name)
		c, err := d.bin.Get(w.Ctx, key)
		require.NoError(t, err)
		require.Equal(t, id+" 2", c.Item.Name)
		all, err := d.past.List(key).Collect(w.Ctx)
		require.NoError(t, err)
		require.Len(t, all, 3)
		back, err := d.bin.Restore(w.Ctx, key)
		require.NoError(t, err)
		require.Equal(t, []string{id, id + " 2"}, []string{back.ID, back.Name})
	}
	w.sound()
}

// Two deletes of one item in one moment keep both copies.
func TestTwoDeletesInOneMomentLeaveTwoCopies(t *testing.T) {
	t.Parallel()
	w := open(t, asBin)
	d := w.moment()
	for _, name := range []string{"1", "2", "3"} {
		_, err := d.Create(w.Ctx, w.make(Person{ID: "a", Name: name, Email: name + "@x"}))
		require.NoError(t, err)
		require.NoError(t, d.Delete(w.Ctx, w.key("a")))
	}
	var names []string
	for _, c := range w.copies("a") {
		names = append(names, c.Item.Name)
	}
	require.Equal(t, []string{"3", "2", "1"}, names)
	w.sound()
}

func TestUpdateOfAUniqueFieldLosesNothingAndRevivesNothing(t *testing.T) {
	t.Parallel()
	t.Run("update", func(t *testing.T) { t.Parallel(); emailMeetsName(t, asPlain) })
	t.Run("delete", func(t *testing.T) { t.Parallel(); updateMeetsDelete(t, asPlain) })
}

func TestAConditionIsAddedToTheGuardAndNeverReplacesIt(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); guardStays(t, asPlain) })
	t.Run("locked", func(t *testing.T) { t.Parallel(); guardStays(t, asLocked) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); guardStays(t, asFree) })
}

func guardStays[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	holds := entity.If(entity.Or(entity.Eq(&w.f.Name, "1"), entity.NotExists(&w.f.Name)))
	_, err := w.Create(w.Ctx, w.make(Person{ID: "a", Email: "b@x"}), holds)
	require.ErrorIs(t, err, entity.ErrExists)
	_, err = w.Update(w.Ctx, w.key("none"), w.name("2"), holds)
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = w.Update(w.Ctx, w.key("none"), w.email("2@x"), holds)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, w.Delete(w.Ctx, w.key("none"), holds), entity.ErrNotFound)
	got, _ := w.current("a")
	require.Equal(t, "a@x", got.Email)
	d := w.sound()
	require.Len(t, d.beings, 1, "no stub was written")
	require.Len(t, d.sentinels, 1)
}

func TestPutOverAnItemGoesOnWithItsHistory(t *testing.T) {
	t.Parallel()
	w := open(t, asFree)
	first := w.add("a", "a@x", "1")
	put := func(email, name string) Free {
		v, err := w.Put(w.Ctx, w.make(Person{ID: "a", Email: email, Name: name}))
		return w.done(v, err)
	}
	second := put("b@x", "2")
	require.Equal(t, int64(2), second.Version)
	require.Equal(t, first.CreatedAt, second.CreatedAt)
	again := put("b@x", "2") // equal content meets its own sentinel
	require.Equal(t, int64(3), again.Version)
	w.add("b", "a@x", "the address of the first state is free")
	w.remove("a")
	_, err := w.Put(w.Ctx, w.make(Person{ID: "a", Email: "c@x"}))
	require.ErrorIs(t, err, entity.ErrDeleted)
	w.sound()

	k := open(t, asKept) // where the item is gone for good, a new life goes on with the numbers
	k.add("a", "a@x", "1")
	k.remove("a")
	v, err := k.Put(k.Ctx, k.make(Person{ID: "a", Email: "a@x", Name: "new"}))
	require.Equal(t, int64(3), k.done(v, err).Version)
	k.sound()
}

func TestNoVerbWritesAUniqueFieldWithoutItsClaim(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); noBypass(t, asPlain) })
	t.Run("locked", func(t *testing.T) { t.Parallel(); noBypass(t, asLocked) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); noBypass(t, asFree) })
}

func noBypass[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("owner", "taken@x", "1")
	w.add("a", "a@x", "1")
	p := Person{ID: "a", Email: "taken@x"}
	for name, write := range map[string]func() error{
		"path": func() error {
			_, err := w.Update(w.Ctx, w.key("a"), entity.Attr[string]("email").Set("taken@x"))
			return err
		},
		"put":    func() error { _, err := w.Put(w.Ctx, w.make(p)); return err },
		"upsert": func() error { _, _, err := w.Upsert(w.Ctx, w.make(p)); return err },
		"modify": func() error {
			_, err := w.Modify(w.Ctx, w.key("a"), func(v *T) error { w.at(v).Email = "taken@x"; return nil })
			return err
		},
		"transact": func() error { return w.db.Transact(w.Ctx, w.Op().Update(w.key("a"), w.email("taken@x"))) },
		"two": func() error {
			return w.db.Transact(w.Ctx, w.Op().CheckExists(w.key("owner")), w.Op().Put(w.make(p)))
		},
		"new": func() error {
			return w.db.Transact(w.Ctx, w.Op().Create(w.make(Person{ID: "new", Email: "taken@x"})), w.Op().Update(w.key("a"), w.name("2")))
		},
	} {
		var taken *unique.ViolationError
		require.ErrorAs(t, write(), &taken, name)
		w.sound()
	}
	w.Wire.Reset()
	var refused *entity.InputError
	_, err := w.PutMany(w.Ctx, []T{w.make(p)}, entity.Unconditional())
	require.ErrorAs(t, err, &refused)
	_, err = w.DeleteMany(w.Ctx, []T{w.key("a")}, entity.Unconditional())
	require.ErrorAs(t, err, &refused)
	require.Empty(t, w.Wire.Requests(), "what claims nothing is refused before any request")

	w.update("a", entity.Attr[string]("email").Set("b@x")) // and what they write is claimed, what they replace is free
	_, _, err = w.look.Upsert(w.Ctx, w.make(Person{ID: "b", Email: "a@x"}))
	require.NoError(t, err)
	_, err = w.look.Put(w.Ctx, w.make(Person{ID: "b", Name: "without"}))
	require.NoError(t, err)
	require.Len(t, w.sound().sentinels, 2)
	w.add("c", "a@x", "c")
	w.update("c", entity.Remove(&w.f.Email))
	require.Len(t, w.sound().sentinels, 2)
}
