package lifecycle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Cased has lower-case keys, a history and soft delete.
type Cased struct {
	_       entity.Key           `name:"Cased" pk:"$#{id}" sk:"$"`
	_       versioned.Retain     `ttl:"90d"`
	_       lifecycle.SoftDelete `ttl:"30d"`
	ID      string               `dynamodbav:"id"`
	Name    string               `dynamodbav:"name"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

func TestKeyCase_NothingOfADeletedItemIsTakenForThatOfAnother(t *testing.T) {
	h, store := lower[Cased](t)
	deleted, history := entity.Must(lifecycle.Of(store)), entity.Must(versioned.Of(store))
	ctx, own, other := t.Context(), Cased{ID: "C-1"}, Cased{ID: "c-1"}
	refused := func(errs map[string]error) {
		t.Helper()
		for name, err := range errs {
			require.ErrorIs(t, err, entity.ErrKeyCase, name)
		}
	}
	past := func() map[string]error {
		return map[string]error{"history.Get": dbtest.ErrorOf(history.Get(ctx, other, 1)), "history.List": dbtest.ErrorOf(history.List(other).Collect(ctx))}
	}
	entity.Must(store.Create(ctx, Cased{ID: "C-1", Name: "x"}))
	refused(map[string]error{
		"Update": dbtest.ErrorOf(store.Update(ctx, other, entity.Set(&entity.Fields[Cased]().Name, "y"))), "Delete": store.Delete(ctx, other),
	})
	require.NoError(t, store.Delete(ctx, own))
	refused(past())
	refused(map[string]error{
		"Restore": dbtest.ErrorOf(deleted.Restore(ctx, other)), "deleted.Get": dbtest.ErrorOf(deleted.Get(ctx, other)), "Purge": store.Purge(ctx, other),
	})
	require.Equal(t, Cased{ID: "C-1", Name: "x", Version: 3}, entity.Must(deleted.Restore(ctx, own)))
	refused(past())
	require.NoError(t, store.Delete(ctx, own))
	copied := entity.Must(deleted.Get(ctx, own))
	h.RemoveItem(h.Key("$app#v1#cased#c-1", "$app#v1#cased#deleted#"+copied.DeletedAt.Format("2006-01-02T15:04:05.000000000Z")))
	refused(past()) // of snapshots alone
	require.NoError(t, store.Purge(ctx, own))
	entity.Must(store.Create(ctx, other))
}

// Reserved has lower-case keys, and copies that keep their value.
type Reserved struct {
	_     entity.Key           `name:"Reserved" pk:"$#{id}" sk:"$"`
	_     lifecycle.SoftDelete `unique:"reserve"`
	_     unique.Constraint    `name:"email" fields:"email"`
	ID    string               `dynamodbav:"id"`
	Email string               `dynamodbav:"email,omitempty"`
}

// Chronicle has lower-case keys, a history and no soft delete.
type Chronicle struct {
	_       entity.Key       `name:"Chronicle" pk:"$#{id}" sk:"$"`
	_       versioned.Retain ``
	ID      string           `dynamodbav:"id"`
	Version int64            `dynamodbav:"version" entity:"version"`
}

// Forgetful is a Chronicle of a program that keeps no history.
type Forgetful struct {
	_  entity.Key `name:"Chronicle" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// lower opens a store of T whose keys are in lower case.
func lower[T any](t *testing.T) (*lab, *entity.Store[T]) {
	t.Helper()
	h := newLab(t, func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond })
	s := dbtest.Declare[T](t, h.DB)
	h.CreateTables()
	return h, s
}

// refusedBirths creates the item in every way; each must fail with all classes and write nothing.
func refusedBirths[T any](t *testing.T, h *lab, s *entity.Store[T], v T, classes ...error) {
	t.Helper()
	before := h.Items()
	for name, err := range map[string]error{
		"create": dbtest.ErrorOf(s.Create(t.Context(), v)), "put": dbtest.ErrorOf(s.Put(t.Context(), v)), "upsert": dbtest.ErrorOf(s.Upsert(t.Context(), v)),
		"transaction": h.DB.Transact(t.Context(), s.Op().Create(v)),
	} {
		for _, class := range classes {
			require.ErrorIs(t, err, class, name)
		}
	}
	require.Equal(t, before, h.Items())
}

// Whatever a struct keeps, a write that meets an item of another spelling returns it, and a create says that it exists.
func TestKeyCase_EveryWriteReturnsTheItemOfTheOtherSpelling(t *testing.T) {
	otherSpelling(t, Cased{ID: "C-1", Name: "x"}, Cased{ID: "c-1", Name: "y"}, func(v Cased) string { return v.ID })
	otherSpelling(t, Chronicle{ID: "C-1"}, Chronicle{ID: "c-1"}, func(v Chronicle) string { return v.ID })
	otherSpelling(t, Reserved{ID: "C-1", Email: "x"}, Reserved{ID: "c-1", Email: "y"}, func(v Reserved) string { return v.ID })
}

func otherSpelling[T any](t *testing.T, own, other T, id func(T) string) {
	t.Helper()
	h, s := lower[T](t)
	entity.Must(s.Create(t.Context(), own))
	before := h.Items()
	for name, err := range map[string]error{
		"Create": dbtest.ErrorOf(s.Create(t.Context(), other)), "Put": dbtest.ErrorOf(s.Put(t.Context(), other)),
		"Upsert": dbtest.ErrorOf(s.Upsert(t.Context(), other)), "Modify": dbtest.ErrorOf(s.Modify(t.Context(), other, func(*T) error { return nil })),
		"Delete": s.Delete(t.Context(), other), "Purge": s.Purge(t.Context(), other),
		"NotExists":  h.DB.Transact(t.Context(), s.Op().CheckNotExists(other)),
		"Exists":     h.DB.Transact(t.Context(), s.Op().CheckExists(other)),
		"two checks": h.DB.Transact(t.Context(), s.Op().CheckNotExists(other), s.Op().CheckNotExists(other)),
	} {
		what := fmt.Sprintf("%T %s: %v", own, name, err)
		require.ErrorIs(t, err, entity.ErrKeyCase, what)
		require.Equal(t, name == "Create" || name == "NotExists" || name == "two checks", errors.Is(err, entity.ErrExists), what)
		stored, ok := entity.StoredItem[T](err)
		require.True(t, ok, what)
		require.Equal(t, "C-1", id(stored), what)
	}
	require.Equal(t, before, h.Items())
}

func TestKeyCase_NoLifeBeginsAfterThatOfAnotherSpelling(t *testing.T) {
	t.Parallel()
	deleted := []error{entity.ErrKeyCase, entity.ErrExists, entity.ErrDeleted}
	restore := func(ctx context.Context, s *entity.Store[Cased]) error {
		require.Len(t, entity.Must(entity.Must(versioned.Of(s)).List(Cased{ID: "C-1"}).Collect(ctx)), 2)
		return dbtest.ErrorOf(entity.Must(lifecycle.Of(s)).Restore(ctx, Cased{ID: "C-1"}))
	}
	t.Run("history and soft delete", func(t *testing.T) { ended(t, Cased{ID: "C-1"}, Cased{ID: "c-1"}, restore, deleted...) })
	t.Run("reserving soft delete", func(t *testing.T) {
		ended(t, Reserved{ID: "C-1", Email: "x"}, Reserved{ID: "c-1"}, func(ctx context.Context, s *entity.Store[Reserved]) error {
			return dbtest.ErrorOf(entity.Must(lifecycle.Of(s)).Restore(ctx, Reserved{ID: "C-1"}))
		}, deleted...)
	})
	t.Run("history", func(t *testing.T) {
		own, other := Chronicle{ID: "C-1"}, Chronicle{ID: "c-1"}
		ended(t, own, other, func(ctx context.Context, s *entity.Store[Chronicle]) error {
			entity.Must(s.Create(ctx, own))
			require.Len(t, entity.Must(entity.Must(versioned.Of(s)).List(own).Collect(ctx)), 2)
			return errors.Join(s.Delete(ctx, own), s.Purge(ctx, own), dbtest.ErrorOf(s.Create(ctx, other)))
		}, entity.ErrKeyCase)
	})
}

// ended creates and deletes an item. One of another spelling must be refused with all classes, and leave no trace.
func ended[T any](t *testing.T, own, other T, then func(context.Context, *entity.Store[T]) error, classes ...error) {
	t.Helper()
	h, s := lower[T](t)
	entity.Must(s.Create(t.Context(), own))
	require.NoError(t, s.Delete(t.Context(), own))
	refusedBirths(t, h, s, other, classes...)
	require.NoError(t, then(t.Context(), s))
}

// Where nothing of earlier lives is read, items of two spellings can share a key one after the other. Each has copies of
// its own, and a purge of either takes all.
func TestKeyCase_EachSpellingHasItsOwnCopies(t *testing.T) {
	h, s := lower[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	ctx, upper, low := t.Context(), Page{ID: "C-1"}, Page{ID: "c-1"}
	for _, v := range []Page{upper, low, low} {
		entity.Must(s.Create(ctx, v))
		require.NoError(t, s.Delete(ctx, v))
	}
	for v, n := range map[Page]int{upper: 1, low: 2} {
		require.Len(t, entity.Must(deleted.List(v).Collect(ctx)), n)
		got := entity.Must(deleted.Get(ctx, v))
		require.Equal(t, v.ID, got.Item.ID)
	}
	require.Equal(t, "C-1", entity.Must(deleted.Restore(ctx, upper)).ID)
	require.ErrorIs(t, dbtest.ErrorOf(deleted.Get(ctx, upper)), entity.ErrKeyCase, "there are copies of another spelling alone")
	require.ErrorIs(t, dbtest.ErrorOf(deleted.Restore(ctx, low)), entity.ErrNotDeleted, "the item exists, in another case")
	require.ErrorIs(t, s.Purge(ctx, low), entity.ErrKeyCase, "the item has the other spelling")
	require.Len(t, h.Items(), 3)
	require.NoError(t, s.Delete(ctx, upper))
	require.NoError(t, s.Purge(ctx, low))
	require.Empty(t, h.Items())
}

// A program without history has created an item whose key differs in case. Then a purge helps, by either
// spelling, and also when it was stopped halfway.
func TestKeyCase_PurgeTakesWhatHasSharedTheKey(t *testing.T) {
	t.Parallel()
	for _, spelling := range []string{"C-1", "c-1"} {
		t.Run(spelling, func(t *testing.T) {
			h, s := lower[Chronicle](t)
			ctx := t.Context()
			entity.Must(s.Create(ctx, Chronicle{ID: "C-1"}))
			require.NoError(t, s.Delete(ctx, Chronicle{ID: "C-1"}))
			plain := dbtest.Declare[Forgetful](t, h.Open(h.Raw))
			entity.Must(plain.Create(ctx, Forgetful{ID: "c-1"}))
			require.NoError(t, s.Delete(ctx, Chronicle{ID: "c-1"}))
			require.Greater(t, len(h.Items()), 2)
			require.NoError(t, s.Purge(ctx, Chronicle{ID: spelling}))
			require.Empty(t, h.Items())
		})
	}
}
