package versioned_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

type account struct {
	_ entity.Key `name:"Account" pk:"$#{id}" sk:"$"`
	_ versioned.Lock

	ID      string `dynamodbav:"id"`
	Owner   string `dynamodbav:"owner"`
	Balance int    `dynamodbav:"balance"`
	Version uint32 `dynamodbav:"version" entity:"version"`
}

// keptAccount has a history too.
type keptAccount struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	_ versioned.Retain

	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// writes are the verbs that overwrite an item which they have not seen.
func writes(s *entity.Store[account], opts ...entity.WriteOption) map[string]func(context.Context, account) error {
	f := entity.Fields[account]()
	var changes []entity.UpdateOption // every option of a write is one of an update, and of a delete
	var removes []entity.DeleteOption
	for _, o := range opts {
		changes, removes = append(changes, o), append(removes, o)
	}
	return map[string]func(context.Context, account) error{
		"Put":    func(ctx context.Context, v account) error { _, err := s.Put(ctx, v, opts...); return err },
		"Upsert": func(ctx context.Context, v account) error { _, _, err := s.Upsert(ctx, v, changes...); return err },
		"Update": func(ctx context.Context, v account) error {
			_, err := s.Update(ctx, v, append(changes[:len(changes):len(changes)], entity.Set(&f.Balance, v.Balance))...)
			return err
		},
		"Delete": func(ctx context.Context, v account) error { return s.Delete(ctx, v, removes...) },
	}
}

func TestLock_OfTwoReadersOfOneVersionOneWins(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	ctx := t.Context()
	for verb, write := range writes(s) {
		first := entity.Must(s.Create(ctx, account{ID: verb, Balance: 1}))
		second := first
		first.Balance, second.Balance = 10, 20
		_, err := s.Put(ctx, first)
		require.NoError(t, err, verb)

		err = write(ctx, second)
		var conflict *versioned.ConflictError
		require.ErrorAs(t, err, &conflict, verb)
		require.ErrorIs(t, err, entity.ErrConflict)
		require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 2}, *conflict)
		require.False(t, entity.IsAmbiguous(err))
		got := entity.Must(s.Get(ctx, account{ID: verb}, entity.Consistent()))
		require.Equal(t, account{ID: verb, Balance: 10, Version: 2}, got, verb)
		require.NoError(t, write(ctx, got), verb)
	}
}

func TestLock_AnItemThatWasReadAndIsGoneIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	for verb, write := range writes(s) {
		err := write(t.Context(), account{ID: verb, Version: 3})
		require.ErrorIs(t, err, entity.ErrNotFound, verb)
		require.ErrorIs(t, err, entity.ErrConflict, verb)
	}
}

func TestLock_Version0AndAnyVersionExpectNothingAndExpectDecidesOverTheStruct(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		version uint32 // in the given struct; it is 1
		opts    []entity.WriteOption
	}{
		"version 0":  {0, nil},
		"AnyVersion": {77, []entity.WriteOption{versioned.AnyVersion()}},
		"Expect":     {77, []entity.WriteOption{versioned.Expect(1)}},
	} {
		_, s := dbtest.OpenStore[account](t)
		for verb, write := range writes(s, c.opts...) {
			entity.Must(s.Create(t.Context(), account{ID: verb}))
			require.NoError(t, write(t.Context(), account{ID: verb, Balance: 5, Version: c.version}), "%s, %s", verb, name)
		}
	}
}

func TestLock_HoldsInATransaction(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[account](t)
	ctx := t.Context()
	a := entity.Must(s.Create(ctx, account{ID: "a"}))
	entity.Must(s.Put(ctx, a))
	op := s.Op().Put(a)
	err := b.DB.Transact(ctx, op, s.Op().Create(account{ID: "b"}))
	var conflict *versioned.ConflictError
	require.ErrorAs(t, entity.FailureOf(err, op), &conflict)
	_, err = s.Get(ctx, account{ID: "b"})
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestLock_ModifySeesTheItemAndDoesNotLookAtTheVersionOfTheKey(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[account](t)
	entity.Must(s.Create(t.Context(), account{ID: "a", Balance: 1}))
	got := entity.Must(s.Modify(t.Context(), account{ID: "a", Version: 9}, func(a *account) error { a.Balance++; return nil }))
	require.Equal(t, account{ID: "a", Balance: 2, Version: 2}, got)
}

func TestLock_WithRetain(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[keptAccount](t)
	h := entity.Must(versioned.Of(s))
	ctx := t.Context()
	first := entity.Must(s.Create(ctx, keptAccount{ID: "a", Balance: 1}))
	entity.Must(s.Put(ctx, first))
	var conflict *versioned.ConflictError
	_, err := s.Put(ctx, first)
	require.ErrorAs(t, err, &conflict)
	_, err = h.Revert(ctx, first, 1)
	require.ErrorAs(t, err, &conflict)
	entity.Must(h.Revert(ctx, first, 1, versioned.AnyVersion()))
	require.ErrorAs(t, s.Delete(ctx, first), &conflict)
}

func TestLock_RetainAloneExpectsNothing(t *testing.T) {
	t.Parallel()
	_, s := dbtest.OpenStore[kept](t)
	v := entity.Must(s.Create(t.Context(), kept{ID: "a"}))
	for range 2 {
		entity.Must(s.Put(t.Context(), v))
	}
}

func TestLock_MistakesAreFoundBeforeARequest(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	counted := entity.Must(entity.New[countedOnly](db))
	type negative struct {
		_       entity.Key `name:"Negative" pk:"$#{id}" sk:"$"`
		_       versioned.Lock
		ID      string `dynamodbav:"id"`
		Version int    `dynamodbav:"version" entity:"version"`
	}
	below := entity.Must(entity.New[negative](db))
	var input *entity.InputError
	_, err := counted.Put(t.Context(), countedOnly{ID: "a"}, versioned.AnyVersion())
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9108", input.Code)
	_, err = below.Put(t.Context(), negative{ID: "a"}, versioned.AnyVersion(), versioned.Expect(1))
	require.ErrorAs(t, err, &input)
	_, err = below.Put(t.Context(), negative{ID: "a", Version: -1})
	require.ErrorAs(t, err, &input)
	require.Equal(t, "Version", input.Field)
	_, err = below.Put(t.Context(), negative{ID: "a", Version: -1}, versioned.AnyVersion())
	require.ErrorIs(t, err, entity.ErrNoClient)
}
