package storm_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// rounds are the rounds of what can happen to one request, before or after it was applied.
func rounds() []testsize.Round[faults.Fault] {
	return testsize.Rounds(faults.Lost, faults.Conflict, faults.Drop, faults.InternalApplied, faults.Throttle, faults.Internal)
}

// deed is one write on an item that has been prepared for it.
type deed[T any] struct {
	before func(w *world[T], id string)
	do     func(w *world[T], d handles[T], id string) error
	again  error // what doing it once more may say when it is done already
	after  func(w *world[T], id string)
	pieces bool // it is no single transaction: a failure may leave it half done
}

func prepared[T any](w *world[T], id string) {
	w.add(id, id+"@x", "1")
	w.update(id, w.email(id+"@y"), w.name("2"))
}

func buried[T any](w *world[T], id string) {
	prepared(w, id)
	w.remove(id)
}

// shows requires the current item to have a name, an address and a version.
func shows(name, host string, version int64) func(w *world[Reserve], id string) {
	return func(w *world[Reserve], id string) {
		v, err := w.look.Get(w.Ctx, w.key(id), entity.Consistent())
		require.NoError(w.T, err)
		require.Equal(w.T, []any{name, id + host, version}, []any{v.Name, v.Email, v.Version})
	}
}

var deeds = map[string]deed[Reserve]{
	"create": {
		before: func(*world[Reserve], string) {},
		do: func(w *world[Reserve], d handles[Reserve], id string) error {
			_, err := d.Create(w.Ctx, w.make(Person{ID: id, Email: id + "@x", Name: "1"}))
			return err
		},
		again: entity.ErrExists, after: shows("1", "@x", 1),
	},
	"put": {
		before: prepared[Reserve],
		do: func(w *world[Reserve], d handles[Reserve], id string) error {
			_, err := d.Put(w.Ctx, w.make(Person{ID: id, Email: id + "@z", Name: "3"}))
			return err
		},
		after: func(w *world[Reserve], id string) {
			got, _ := w.current(id)
			require.Equal(w.T, []string{id + "@z", "3"}, []string{got.Email, got.Name})
		},
	},
	"update": {
		before: prepared[Reserve],
		do: func(w *world[Reserve], d handles[Reserve], id string) error {
			_, err := d.Update(w.Ctx, w.key(id), w.email(id+"@z"), entity.If(entity.Eq(&w.f.Email, id+"@y")))
			return err
		},
		again: entity.ErrConditionFailed, after: shows("2", "@z", 3),
	},
	"delete": {
		before: prepared[Reserve],
		do:     func(w *world[Reserve], d handles[Reserve], id string) error { return d.Delete(w.Ctx, w.key(id)) },
		again:  entity.ErrDeleted,
		after: func(w *world[Reserve], id string) {
			_, there := w.current(id)
			require.False(w.T, there)
			require.Len(w.T, w.copies(id), 1)
		},
	},
	"restore": {
		before: buried[Reserve],
		do: func(w *world[Reserve], d handles[Reserve], id string) error {
			_, err := d.bin.Restore(w.Ctx, w.key(id))
			return err
		},
		again: entity.ErrNotDeleted, after: shows("2", "@y", 4),
	},
	"revert": {
		before: prepared[Reserve],
		do: func(w *world[Reserve], d handles[Reserve], id string) error {
			_, err := d.past.Revert(w.Ctx, w.key(id), 1, entity.If(entity.Eq(&w.f.Name, "2")))
			return err
		},
		again: entity.ErrConditionFailed, after: shows("1", "@x", 3),
	},
	"purge":           {before: prepared[Reserve], do: purgeIt[Reserve], after: nothingLeft[Reserve], pieces: true},
	"purge of a copy": {before: buried[Reserve], do: purgeIt[Reserve], after: nothingLeft[Reserve], pieces: true},
}

var hardDeeds = map[string]deed[Kept]{
	"hard delete": {
		before: prepared[Kept],
		do:     func(w *world[Kept], d handles[Kept], id string) error { return d.Delete(w.Ctx, w.key(id)) },
		again:  entity.ErrNotFound,
		after: func(w *world[Kept], id string) {
			_, there := w.current(id)
			require.False(w.T, there)
		},
	},
	"purge of a history": {before: buried[Kept], do: purgeIt[Kept], after: nothingLeft[Kept], pieces: true},
}

func purgeIt[T any](w *world[T], d handles[T], id string) error {
	w.written = slices.DeleteFunc(w.written, func(x written) bool { return x.ID == id })
	return d.Purge(w.Ctx, w.key(id))
}

// of are the stored items that belong to an item, its sentinels among them.
func (w *world[T]) of(id string) (items []item) {
	for _, it := range w.Items() {
		if owner := text(it, "_entity_pk"); owner == w.pk(id) || text(it, "pk") == w.pk(id) {
			items = append(items, it)
		}
	}
	return items
}

func nothingLeft[T any](w *world[T], id string) { require.Empty(w.T, w.of(id)) }

// eachFault runs f for request 1, 2, … of a deed until it ends without having met the fault.
func eachFault[T any](t *testing.T, all map[string]deed[T], f func(w *world[T], a deed[T], id string, n int, fault faults.Fault) (met bool), change ...func(*entity.Config)) {
	t.Helper()
	for name, a := range all {
		for _, round := range rounds() {
			t.Run(name+"/"+round.String(), func(t *testing.T) {
				t.Parallel()
				w := open[T](t, change...)
				for n := 1; ; n++ {
					id := "i" + string(rune('a'+n))
					a.before(w, id)
					w.Wire.Reset()
					if met := f(w, a, id, n, round.At(n+len(name))); !met {
						return
					}
					require.Less(t, n, 25, "it never ends")
				}
			})
		}
	}
}

func TestFaults_OfOneRequestAreHealedAndNeverShow(t *testing.T) {
	t.Parallel()
	eachFault(t, deeds, healed[Reserve])
	eachFault(t, hardDeeds, healed[Kept])
}

func healed[T any](w *world[T], a deed[T], id string, n int, fault faults.Fault) bool {
	w.Wire.Inject(faults.Nth(n, fault))
	require.NoError(w.T, a.do(w, w.handles, id), "request %d", n)
	w.Wire.Inject(nil)
	w.sound()
	a.after(w, id)
	return n <= len(w.Wire.Requests())
}

func TestFaults_WithoutRepetitionAreHonestAndASecondCallFinishes(t *testing.T) {
	t.Parallel()
	eachFault(t, deeds, honest[Reserve], dbtest.Attempts(1))
	eachFault(t, hardDeeds, honest[Kept], dbtest.Attempts(1))
}

func honest[T any](w *world[T], a deed[T], id string, n int, fault faults.Fault) bool {
	before := w.of(id)
	w.Wire.Inject(faults.Nth(n, fault))
	err := a.do(w, w.handles, id)
	w.Wire.Inject(nil)
	met := n <= len(w.Wire.Requests())
	require.Equal(w.T, met, err != nil, "request %d", n)
	w.intact(a, id)
	if met && !a.pieces {
		write := isWrite(w.Wire.Requests()[n-1])
		applied := fault == faults.Lost || fault == faults.InternalApplied
		unknown := applied || fault == faults.Drop || fault == faults.Internal
		require.Equal(w.T, write && unknown, entity.IsAmbiguous(err), "request %d: %v", n, err)
		if write && applied {
			a.after(w, id)
		} else {
			require.Equal(w.T, before, w.of(id), "request %d: nothing was written", n)
		}
	}
	if !met {
		a.after(w, id)
		return false
	}
	w.finish(a, id)
	return true
}

// A program that dies, or a connection that does not come back, at any request.
func TestFaults_FromOneRequestOnLeaveNothingBroken(t *testing.T) {
	t.Parallel()
	eachFault(t, deeds, stopped[Reserve], dbtest.Attempts(2))
	eachFault(t, hardDeeds, stopped[Kept], dbtest.Attempts(2))
}

func stopped[T any](w *world[T], a deed[T], id string, n int, fault faults.Fault) bool {
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Index+1 >= n {
			return fault
		}
		return faults.None
	})
	err := a.do(w, w.handles, id)
	w.Wire.Inject(nil)
	w.intact(a, id)
	if err == nil {
		a.after(w, id)
		return n <= len(w.Wire.Requests())
	}
	w.finish(a, id)
	return true
}

// intact checks the table; an item that is half purged is left out.
func (w *world[T]) intact(a deed[T], id string) {
	w.T.Helper()
	if !a.pieces {
		w.sound()
		return
	}
	d, err := sorted(w.Items())
	require.NoError(w.T, err)
	require.Empty(w.T, d.ownership(w.traits))
	for at, b := range d.beings {
		if at.pk == w.pk(id) {
			if b.current == nil {
				continue
			}
		}
		require.Empty(w.T, append(b.versions(w.traits), b.shape(w.traits)...))
	}
}

// finish does the deed again, undisturbed.
func (w *world[T]) finish(a deed[T], id string) {
	w.T.Helper()
	if err := a.do(w, w.look, id); err != nil {
		require.True(w.T, a.again != nil && errors.Is(err, a.again), "%v", err)
	}
	w.intact(a, id)
	a.after(w, id)
}
