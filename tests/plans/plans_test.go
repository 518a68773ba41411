// Package plans_test shows as text what every verb is compiled to for every feature: its printed plan, and the requests
// that it sends to a client which answers reads with what was put. A change of either is a difference in testdata.
package plans_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/goldentest"
	"github.com/dynastrata/dynastrata/versioned"
)

var dawn = time.Date(2101, 5, 6, 7, 8, 9, 123456789, time.UTC)

// stage is a database whose requests are recorded; its clock stands still during a verb, and all its ids are the same.
type stage struct {
	db   *entity.DB
	wire *recorder
	at   time.Time
	id   string
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{wire: &recorder{items: map[string]attributes{}}, at: dawn, id: "before"}
	db := entity.Must(entity.Open(s.wire, entity.Config{
		Table: "app",
		Clock: func() time.Time { return s.at },
		NewID: func() string { return s.id },
	}))
	s.db = db
	return s
}

// state of the item before a verb.
type state int

const (
	none    state = iota
	live          // created
	changed       // created and updated
	deleted       // created and deleted
)

// verb is one write: as a value, which prints its plan, and as a call.
type verb struct {
	name string
	from state
	op   fmt.Stringer // nil: the verb has no value
	run  func(context.Context) error
}

// sections perform each verb on a stage of its own, in the state that it begins from.
func sections[S any](t *testing.T, enter func(*stage) S, prepare func(*stage, S, state) error, verbs func(*stage, S) []verb) string {
	t.Helper()
	var b strings.Builder
	for i := range verbs(newStage(t), enter(newStage(t))) {
		st := newStage(t)
		store := enter(st)
		v := verbs(st, store)[i]
		require.NoError(t, prepare(st, store, v.from), v.name)
		st.wire.take()
		st.at, st.id = dawn.Add(time.Minute), "id"
		fmt.Fprintf(&b, "== %s\n", v.name)
		if v.op != nil {
			fmt.Fprintf(&b, "%s\n", v.op)
			require.Equal(t, v.op.String(), v.op.String(), v.name)
			require.Empty(t, st.wire.take(), "printing a plan sends nothing")
		}
		err := v.run(t.Context())
		fmt.Fprintf(&b, "-- sent\n%s\n", st.wire.take())
		if errors.Is(err, entity.ErrExists) { // a deleted item whose unique values are reserved
			b.WriteString("-- fails with ErrExists\n")
			err = nil
		}
		require.NoError(t, err, v.name)
		b.WriteByte('\n')
	}
	return b.String()
}

var full = Body{ID: "a", Team: "red", Rank: 3, Email: "a@x", Name: "Ada", Count: 1, Log: []string{"one"}, Owner: "ann", Seen: dawn.Add(-time.Hour)}

// features say which verbs a type has besides those of every entity.
type features struct{ version, history, bin, batch bool }

// ofEntity writes the plans of all verbs of T.
func ofEntity[T any](t *testing.T, name string, has features) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		enter := func(st *stage) *entity.Store[T] { return entity.Must(entity.New[T](st.db)) }
		goldentest.Check(t, name+".txt", sections(t, enter,
			func(_ *stage, s *entity.Store[T], from state) error { return prepare(t.Context(), s, from) },
			func(st *stage, s *entity.Store[T]) []verb {
				list := append(verbsOf(st, s, has), transaction(st, s))
				if has.history {
					list = append(list, revert(s))
				}
				if has.bin {
					list = append(list, restore(s))
				}
				if has.batch {
					list = append(list, batch(st, s))
				}
				return list
			}))
	})
}

func prepare[T any](ctx context.Context, s *entity.Store[T], from state) error {
	if from == none {
		return nil
	}
	if _, err := s.Create(ctx, as[T](full)); err != nil {
		return err
	}
	key := as[T](Body{ID: "a"})
	switch from {
	case changed:
		_, err := s.Update(ctx, key, entity.Set(&body(entity.Fields[T]()).Name, "Ada L"))
		return err
	case deleted:
		return s.Delete(ctx, key)
	}
	return nil
}

// write is a verb of an entity, whatever its type.
type write struct {
	verb, name string
	from       state
	of         Body
	opts       []entity.UpdateOption
}

// writes are those of every entity, and those of its features. old asks for the item as it was.
func writes(f *Body, old entity.UpdateOption, locked bool, has features) []write {
	key, other := Body{ID: "a"}, full
	other.Team, other.Email, other.Name, other.Log = "blue", "b@x", "", nil
	guard := entity.If(entity.Or(entity.Eq(&f.Name, "Ada"), entity.NotExists(&f.Count)))
	of := func(verb, name string, from state, v Body, opts ...entity.UpdateOption) write {
		return write{verb, name, from, v, opts}
	}
	over := func(name string, opts ...entity.UpdateOption) write {
		if locked {
			opts = append(opts, versioned.AnyVersion())
		}
		return of("put", name, live, other, opts...)
	}
	change := func(name string, opts ...entity.UpdateOption) write { return of("update", name, live, key, opts...) }
	list := []write{
		of("create", "create", none, full),
		of("create", "create under a condition", none, full, guard),
		of("create", "create idempotent", none, full, entity.Idempotent()),
		of("put", "put of a new item", none, full),
		over("put over another"),
		over("put under a condition", guard),
		of("upsert", "upsert of a new item", none, full),
		of("upsert", "upsert over another", live, other),
		of("upsert", "upsert with changes", live, key, entity.Add(&f.Count, 2), guard),
		change("update", entity.Set(&f.Name, "Ada L")),
		change("update of nothing"),
		change("update of nothing under a condition", guard),
		change("update of every kind", entity.SetIfNotExists(&f.Name, "n"), entity.Add(&f.Count, 1), entity.ListAppend(&f.Log, "two"), entity.Remove(&f.Seen)),
		change("update of a part of an index key", entity.Set(&f.Team, "blue")),
		change("update of a unique value", entity.Set(&f.Email, "b@x")),
		change("update that removes parts of unique values", entity.Remove(&f.Email), entity.Remove(&f.Name)),
		change("update of an immutable attribute", entity.Set(&f.Owner, "ann")),
		change("update under a condition", entity.Set(&f.Name, "Ada L"), guard),
		change("update idempotent", entity.Add(&f.Count, 1), entity.Idempotent()),
		change("update that returns the old item", entity.Set(&f.Name, "Ada L"), old),
		of("delete", "delete", live, key),
		of("delete", "delete under a condition", live, key, guard),
		of("delete", "delete idempotent", live, key, entity.Idempotent()),
		of("modify", "modify", live, key),
		of("touch", "touch", live, key),
		of("check", "check exists", live, key),
		of("check", "check not exists", none, key),
	}
	if has.version {
		list = append(list, change("update that expects a version", entity.Set(&f.Name, "Ada L"), versioned.Expect(1)),
			of("delete", "delete that expects a version", live, key, versioned.Expect(1)))
	}
	if has.bin || has.history {
		list = append(list, of("create", "create after a delete", deleted, full), of("put", "put after a delete", deleted, other), of("upsert", "upsert after a delete", deleted, other))
	}
	return list
}

// accepted are options of a verb that takes options of type O.
func accepted[O any](opts []entity.UpdateOption) (all []O) {
	for _, o := range opts {
		all = append(all, o.(O))
	}
	return all
}

func verbsOf[T any](st *stage, s *entity.Store[T], has features) (list []verb) {
	var old T
	f, o := body(entity.Fields[T]()), s.Op()
	for _, w := range writes(f, entity.Returning(&old), len(dbtest.Declarations[versioned.Lock, T]()) > 0, has) {
		v, x := as[T](w.of), verb{name: w.name, from: w.from}
		switch w.verb {
		case "create":
			opts := accepted[entity.CreateOption](w.opts)
			x.op, x.run = o.Create(v, opts...), func(ctx context.Context) error { _, err := s.Create(ctx, v, opts...); return err }
		case "put":
			opts := accepted[entity.WriteOption](w.opts)
			x.op, x.run = o.Put(v, opts...), func(ctx context.Context) error { _, err := s.Put(ctx, v, opts...); return err }
		case "upsert":
			x.op, x.run = o.Upsert(v, w.opts...), func(ctx context.Context) error { _, _, err := s.Upsert(ctx, v, w.opts...); return err }
		case "update":
			x.op, x.run = o.Update(v, w.opts...), func(ctx context.Context) error { _, err := s.Update(ctx, v, w.opts...); return err }
		case "delete":
			opts := accepted[entity.DeleteOption](w.opts)
			x.op, x.run = o.Delete(v, opts...), func(ctx context.Context) error { return s.Delete(ctx, v, opts...) }
		case "modify":
			x.run = func(ctx context.Context) error {
				_, err := s.Modify(ctx, v, func(v *T) error { b := body(v); b.Name, b.Count, b.Team = "", 7, "blue"; return nil })
				return err
			}
		case "touch":
			x.run = func(ctx context.Context) error { _, err := s.Touch(ctx, v, &f.Seen, time.Minute); return err }
		default:
			op := o.CheckNotExists(v)
			if w.from == live {
				op = o.CheckExists(v, entity.Eq(&f.Name, "Ada"))
			}
			x.op, x.run = op, func(ctx context.Context) error { return st.db.Transact(ctx, op) }
		}
		list = append(list, x)
	}
	return list
}

// transaction has several operations, two of which meet in one item.
func transaction[T any](st *stage, s *entity.Store[T]) verb {
	f, o, second := body(entity.Fields[T]()), s.Op(), full
	second.ID, second.Email, second.Rank = "b", "b@x", 4
	bystander := entity.Must(entity.New[Bystander](st.db)).Op()
	return verb{"transaction", live, nil, func(ctx context.Context) error {
		key := as[T](Body{ID: "a"})
		return st.db.Transact(ctx, o.Create(as[T](second)), o.Update(key, entity.Add(&f.Count, 1)), o.CheckExists(key, entity.Eq(&f.Name, "Ada")),
			bystander.Create(Bystander{ID: "x"}), bystander.CheckNotExists(Bystander{ID: "y"}))
	}}
}

func revert[T any](s *entity.Store[T]) verb {
	h, key := entity.Must(versioned.Of(s)), as[T](Body{ID: "a"})
	return verb{"revert", changed, h.Op().Revert(key, 1), func(ctx context.Context) error { _, err := h.Revert(ctx, key, 1); return err }}
}

func restore[T any](s *entity.Store[T]) verb {
	bin, key := entity.Must(lifecycle.Of(s)), as[T](Body{ID: "a"})
	return verb{"restore", deleted, bin.Op().Restore(key), func(ctx context.Context) error { _, err := bin.Restore(ctx, key); return err }}
}

func batch[T any](st *stage, s *entity.Store[T]) verb {
	second := full
	second.ID = "b"
	put, remove := s.Op().BatchPut(as[T](second), entity.Unconditional()), s.Op().BatchDelete(as[T](Body{ID: "a"}), entity.Unconditional())
	return verb{"batch", live, put, func(ctx context.Context) error { _, err := st.db.BatchWrite(ctx, put, remove); return err }}
}

func TestPlans_OfEveryVerbAndFeature(t *testing.T) {
	t.Parallel()
	ofEntity[Plain](t, "plain", features{batch: true})
	ofEntity[Spread](t, "spread", features{batch: true})
	ofEntity[Verbatim](t, "verbatim", features{batch: true})
	ofEntity[Locked](t, "locked", features{version: true})
	ofEntity[Retained](t, "retained", features{version: true, history: true})
	ofEntity[Deletable](t, "deletable", features{bin: true})
	ofEntity[Expiring](t, "expiring", features{batch: true})
	ofEntity[Leased](t, "leased", features{version: true, history: true})
	ofEntity[Unique](t, "unique", features{})
	ofEntity[Freed](t, "freed", features{version: true, history: true, bin: true})
	ofEntity[Reserving](t, "reserving", features{version: true, bin: true})
	ofEntity[Everything](t, "everything", features{version: true, history: true, bin: true})
}

func TestPlans_OfAConditionalIndex(t *testing.T) {
	t.Parallel()
	f, key := &entity.Fields[Conditional]().Body, Conditional{Body: Body{ID: "a"}}
	unseen := as[Conditional](Body{ID: "a", Team: "red", Rank: 3, Name: "Ada", Count: 1})
	goldentest.Check(t, "conditional.txt", sections(t,
		func(st *stage) *entity.Store[Conditional] { return entity.Must(entity.New[Conditional](st.db)) },
		func(_ *stage, s *entity.Store[Conditional], from state) error { return prepare(t.Context(), s, from) },
		func(_ *stage, s *entity.Store[Conditional]) []verb {
			o := s.Op()
			change := func(name string, opts ...entity.UpdateOption) verb {
				return verb{name, live, o.Update(key, opts...), func(ctx context.Context) error { _, err := s.Update(ctx, key, opts...); return err }}
			}
			return []verb{
				{"create of an item in the index", none, o.Create(unseen), func(ctx context.Context) error { _, err := s.Create(ctx, unseen); return err }},
				{"put over an item outside", live, o.Put(unseen), func(ctx context.Context) error { _, err := s.Put(ctx, unseen); return err }},
				{"upsert that does not say whether it was seen", live, o.Upsert(unseen), func(ctx context.Context) error { _, _, err := s.Upsert(ctx, unseen); return err }},
				change("update that decides", entity.Set(&f.Team, "blue"), entity.Remove(&f.Seen)),
				change("update that excludes", entity.Set(&f.Team, "green")),
				change("update that does not decide", entity.Set(&f.Team, "blue")),
				change("update of a part outside the condition", entity.Set(&f.Rank, 4)),
				change("update that decides and lacks a part", entity.Set(&f.Count, 1)),
				change("update that excludes whatever the part is", entity.Set(&f.Count, 2)),
				change("update that counts", entity.Add(&f.Count, 1)),
				{"touch", live, nil, func(ctx context.Context) error { _, err := s.Touch(ctx, key, &f.Seen, time.Minute); return err }},
			}
		}))
}
