package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// stage is a shape on a table of its own, with T erased.
type stage struct {
	*lab
	layout
	cells  []cell
	seed   func(*testing.T)   // makes the item live
	beside func() entity.Op   // a write that always succeeds, of another item
	owned  []func() entity.Op // updates of what the library owns
	born   time.Time          // when the live item was made
}

// cell is a row of the verb table. Its error is nil for success.
type cell struct {
	verb         string
	alone        func(context.Context) error
	op           func() entity.Op                          // nil: the verb does not exist as a value
	result       func(entity.Op) Facts                     // of op after its transaction
	absent, live error                                     // on an item that is not there, and on one that is
	request      string                                    // what is sent
	reads        bool                                      // after a read, which is all that is sent when it finds nothing and absent says so
	after        func(before *Facts, now time.Time) *Facts // what the item is then; nil for none
	first        string                                    // what it gives for the attribute that is set once
	keeps        bool                                      // version and updated_at stay
	writes       bool
}

// The values that the verbs are tried with: first is created, second written over it.
var (
	firstFacts  = Facts{Title: "one", Note: "n", Count: 3}
	secondFacts = Facts{Title: "two"}
)

// open makes a table for the shape and the rows of its verb table.
func (sh shape[T]) open(t *testing.T) *stage {
	t.Helper()
	l, s := open[T](t)
	p := entity.Fields[T]()
	value := func(f Facts, first string) T {
		v := sh.key
		*sh.facts(&v) = f
		if sh.given != nil {
			sh.given(&v, first)
		}
		return v
	}
	st := &stage{lab: l, layout: sh.layout, beside: func() entity.Op { return s.Op().Put(sh.other) }}
	st.seed = func(t *testing.T) {
		t.Helper()
		_, err := s.Create(t.Context(), value(firstFacts, "f1"))
		require.NoError(t, err)
	}
	if sh.owned != nil {
		for _, c := range sh.owned(p) {
			st.owned = append(st.owned, func() entity.Op { return s.Op().Update(sh.key, c) })
		}
	}
	setTitle := func() entity.UpdateOption { return entity.Set(&sh.facts(p).Title, secondFacts.Title) }
	result := func(op entity.Op) Facts {
		v := op.(entity.Write[T]).Result()
		return *sh.facts(&v)
	}
	retitled := func(before *Facts, _ time.Time) *Facts {
		f := *before
		f.Title = secondFacts.Title
		return &f
	}
	st.cells = []cell{
		{
			verb: "Create", live: entity.ErrExists, request: "PutItem", writes: true, first: "f1", result: result,
			alone: func(ctx context.Context) error { _, err := s.Create(ctx, value(firstFacts, "f1")); return err },
			op:    func() entity.Op { return s.Op().Create(value(firstFacts, "f1")) },
			after: func(*Facts, time.Time) *Facts { return &firstFacts },
		}, {
			verb: "Put", request: "UpdateItem", writes: true, first: "f2", result: result,
			alone: func(ctx context.Context) error { _, err := s.Put(ctx, value(secondFacts, "f2")); return err },
			op:    func() entity.Op { return s.Op().Put(value(secondFacts, "f2")) },
			after: func(*Facts, time.Time) *Facts { return &secondFacts },
		}, {
			verb: "Upsert", request: "UpdateItem", writes: true, first: "f2", reads: sh.reads, result: result,
			alone: func(ctx context.Context) error { _, _, err := s.Upsert(ctx, value(secondFacts, "f2")); return err },
			op:    func() entity.Op { return s.Op().Upsert(value(secondFacts, "f2")) },
			after: func(before *Facts, now time.Time) *Facts {
				if before == nil {
					return &secondFacts
				}
				return retitled(before, now)
			},
		}, {
			verb: "Update", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, reads: sh.reads, result: result, after: retitled,
			alone: func(ctx context.Context) error { _, err := s.Update(ctx, sh.key, setTitle()); return err },
			op:    func() entity.Op { return s.Op().Update(sh.key, setTitle()) },
		}, {
			verb: "Modify", absent: entity.ErrNotFound, request: "PutItem", writes: true, reads: true, after: retitled,
			alone: func(ctx context.Context) error {
				_, err := s.Modify(ctx, sh.key, func(v *T) error { sh.facts(v).Title = secondFacts.Title; return nil })
				return err
			},
		}, {
			verb: "Delete", absent: entity.ErrNotFound, request: "DeleteItem", writes: true,
			alone: func(ctx context.Context) error { return s.Delete(ctx, sh.key) },
			op:    func() entity.Op { return s.Op().Delete(sh.key) },
			after: func(*Facts, time.Time) *Facts { return nil },
		}, {
			verb: "Touch", absent: entity.ErrNotFound, request: "UpdateItem", writes: true, keeps: true,
			alone: func(ctx context.Context) error {
				_, err := s.Touch(ctx, sh.key, &sh.facts(p).SeenAt, time.Minute)
				return err
			},
			after: func(before *Facts, now time.Time) *Facts {
				f := *before
				f.SeenAt = now.Truncate(time.Second)
				return &f
			},
		}, {
			verb: "Get", absent: entity.ErrNotFound, request: "GetItem", keeps: true, after: same,
			alone: func(ctx context.Context) error { _, err := s.Get(ctx, sh.key); return err },
		}, {
			verb: "GetMany", request: "BatchGetItem", keeps: true, after: same,
			alone: func(ctx context.Context) error { _, err := s.GetMany(ctx, []T{sh.key}); return err },
		}, {
			verb: "GetInto", absent: entity.ErrNotFound, request: "TransactGetItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { v := sh.key; return l.db.TransactGet(ctx, s.Op().GetInto(&v)) },
		}, {
			verb: "CheckExists", absent: entity.ErrNotFound, request: "TransactWriteItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { return l.db.Transact(ctx, s.Op().CheckExists(sh.key)) },
			op:    func() entity.Op { return s.Op().CheckExists(sh.key) },
		}, {
			verb: "CheckNotExists", live: entity.ErrExists, request: "TransactWriteItems", keeps: true, after: same,
			alone: func(ctx context.Context) error { return l.db.Transact(ctx, s.Op().CheckNotExists(sh.key)) },
			op:    func() entity.Op { return s.Op().CheckNotExists(sh.key) },
		},
	}
	return st
}

func same(before *Facts, _ time.Time) *Facts { return before }

// cell is the verb's row.
func (st *stage) cell(verb string) cell {
	for _, c := range st.cells {
		if c.verb == verb {
			return c
		}
	}
	panic("no such verb: " + verb)
}
