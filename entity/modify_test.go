package entity_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
)

// Ledger has a role of every kind that a rewrite must respect.
type Ledger struct {
	_         entity.Key        `name:"Ledger" pk:"$#{id}" sk:"$"`
	_         entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{kind}#{id}"`
	ID        string            `dynamodbav:"id"`
	Owner     string            `dynamodbav:"owner,omitempty"`
	Kind      string            `dynamodbav:"kind,omitempty"`
	Title     string            `dynamodbav:"title" entity:"required"`
	Tenant    string            `dynamodbav:"tenant,omitempty" entity:"immutable"`
	First     string            `dynamodbav:"first,omitempty" entity:"set_once"`
	Balance   int               `dynamodbav:"balance"`
	Labels    map[string]string `dynamodbav:"labels,omitempty"`
	SeenAt    time.Time         `dynamodbav:"seenAt,omitempty"`
	Version   int64             `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time         `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time         `dynamodbav:"updatedAt" entity:"updated_at"`
}

type ledgers struct {
	*entity.Store[Ledger]
	now   *time.Time
	cost  *entity.Report
	quiet func() *entity.Store[Ledger] // the same table, for many callers at once: nothing is shared with the test
}

func newLedgers(t *testing.T) ledgers {
	t.Parallel()
	client, table := localdb.Test(t)
	now, cost := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), entity.Report{}
	db := entity.Must(entity.Open(client, entity.Config{Table: table, Clock: func() time.Time { return now }, Observe: func(_ contextT, r entity.Report) { cost = r }}))
	store := entity.Must(entity.New[Ledger](db))
	require.NoError(t, db.CreateTables(t.Context()))
	return ledgers{store, &now, &cost, func() *entity.Store[Ledger] {
		return entity.Must(entity.New[Ledger](entity.Must(entity.Open(client, entity.Config{Table: table}))))
	}}
}

func TestPut_ReplacesWhatTheStructKnowsAndKeepsTheRest(t *testing.T) {
	l := newLedgers(t)
	ctx := t.Context()
	created, err := l.Put(ctx, Ledger{ID: "a", Owner: "o", Kind: "k", Title: "t", Tenant: "x", First: "f", Labels: map[string]string{"a": "b"}})
	require.NoError(t, err)
	require.EqualValues(t, 1, created.Version)
	require.Equal(t, created.CreatedAt, created.UpdatedAt)
	require.Equal(t, 1, l.cost.Requests)

	*l.now = l.now.Add(time.Hour)
	got, err := l.Put(ctx, Ledger{ID: "a", Title: "new", First: "second", Version: 77, CreatedAt: *l.now})
	require.NoError(t, err)
	require.Equal(t, Ledger{ID: "a", Title: "new", Tenant: "x", First: "f", Version: 2, CreatedAt: created.CreatedAt, UpdatedAt: *l.now}, got,
		"absent attributes go; tenant, first and created_at survive; the version goes up by one")
	require.Equal(t, 1, l.cost.Requests)
	found, err := entity.Must(l.Index("byOwner")).Query(Ledger{Owner: "o"}).Collect(ctx)
	require.NoError(t, err)
	require.Empty(t, found, "it left the index with its owner")

	_, err = l.Put(ctx, Ledger{ID: "a", Title: "new", Tenant: "y"})
	var condition *entity.ConditionError
	require.ErrorAs(t, err, &condition)
	require.Equal(t, "tenant", condition.Attr)
}

func TestModify_WritesWhatFChangedAndNothingElse(t *testing.T) {
	l := newLedgers(t)
	ctx := t.Context()
	_, err := l.Create(ctx, Ledger{ID: "a", Owner: "o", Kind: "k", Title: "t", Labels: map[string]string{"a": "b"}})
	require.NoError(t, err)
	*l.now = l.now.Add(time.Hour)
	got, err := l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error {
		v.Kind, v.Balance = "z", v.Balance+5
		v.Labels["c"] = "d"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, l.cost.Requests)
	require.EqualValues(t, 2, got.Version)
	require.Equal(t, *l.now, got.UpdatedAt)
	require.Equal(t, map[string]string{"a": "b", "c": "d"}, got.Labels)
	stored, err := l.Get(ctx, Ledger{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, got, stored)
	found, err := entity.Must(l.Index("byOwner")).Query(Ledger{Owner: "o", Kind: "z"}).One(ctx)
	require.NoError(t, err)
	require.Equal(t, got, found)
}

func TestModify_WithoutAChangeWritesNothing(t *testing.T) {
	l := newLedgers(t)
	ctx, f := t.Context(), entity.Fields[Ledger]()
	before, err := l.Create(ctx, Ledger{ID: "a", Title: "t"})
	require.NoError(t, err)
	got, err := l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil })
	require.NoError(t, err)
	require.Equal(t, before, got)
	require.Equal(t, 1, l.cost.Requests)
	_, err = l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil }, entity.If(entity.Eq(&f.Title, "other")))
	require.ErrorIs(t, err, entity.ErrConditionFailed, "a condition is checked all the same")
	_, err = l.Modify(ctx, Ledger{ID: "a"}, func(*Ledger) error { return nil }, entity.If(entity.Eq(&f.Title, "t")))
	require.NoError(t, err)
}

func TestModify_RunsAgainWhenAnotherWriteCameBetween(t *testing.T) {
	l := newLedgers(t)
	ctx := t.Context()
	_, err := l.Create(ctx, Ledger{ID: "a", Title: "t"})
	require.NoError(t, err)
	runs := 0
	got, err := l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error {
		if runs++; runs == 1 {
			_, err := l.Update(ctx, Ledger{ID: "a"}, entity.Add(&entity.Fields[Ledger]().Balance, 100))
			require.NoError(t, err)
		}
		v.Balance++
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
	require.Equal(t, 101, got.Balance, "neither change is lost")
}

func TestModify_RefusesWhatItMayNotChange(t *testing.T) {
	l := newLedgers(t)
	ctx := t.Context()
	before, err := l.Create(ctx, Ledger{ID: "a", Title: "t", Tenant: "x", First: "f"})
	require.NoError(t, err)
	var input *entity.InputError
	for field, change := range map[string]func(*Ledger){
		"ID":        func(v *Ledger) { v.ID = "b" },
		"Version":   func(v *Ledger) { v.Version = 9 },
		"CreatedAt": func(v *Ledger) { v.CreatedAt = time.Now() },
		"First":     func(v *Ledger) { v.First = "g" },
		"Title":     func(v *Ledger) { v.Title = "" },
	} {
		_, err := l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { change(v); return nil })
		require.ErrorAs(t, err, &input, field)
		require.Equal(t, field, input.Field)
	}
	_, err = l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { v.Tenant = "y"; return nil })
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	mine := errors.New("mine")
	_, err = l.Modify(ctx, Ledger{ID: "a"}, func(v *Ledger) error { v.Balance = 1; return mine })
	require.ErrorIs(t, err, mine)
	_, err = l.Modify(ctx, Ledger{ID: "none"}, func(v *Ledger) error { return nil })
	require.ErrorIs(t, err, entity.ErrNotFound)
	after, err := l.Get(ctx, Ledger{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, before, after)
}

func TestTouch_WritesAtMostOncePerInterval(t *testing.T) {
	l := newLedgers(t)
	ctx, f := t.Context(), entity.Fields[Ledger]()
	before, err := l.Create(ctx, Ledger{ID: "a", Title: "t"})
	require.NoError(t, err)
	touch := func(after time.Duration) bool {
		*l.now = l.now.Add(after)
		due, err := l.Touch(ctx, Ledger{ID: "a"}, &f.SeenAt, time.Minute)
		require.NoError(t, err)
		require.Equal(t, 1, l.cost.Requests)
		return due
	}
	require.True(t, touch(time.Hour), "it was never touched")
	require.False(t, touch(time.Minute-1))
	require.True(t, touch(1))
	got, err := l.Get(ctx, Ledger{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, *l.now, got.SeenAt)
	require.Equal(t, before.Version, got.Version)
	require.Equal(t, before.UpdatedAt, got.UpdatedAt)
	_, err = l.Touch(ctx, Ledger{ID: "none"}, &f.SeenAt, 0)
	require.ErrorIs(t, err, entity.ErrNotFound)
	var input *entity.InputError
	for _, field := range []*time.Time{&f.UpdatedAt, &f.CreatedAt, nil, new(time.Time)} {
		_, err = l.Touch(ctx, Ledger{ID: "a"}, field, 0)
		require.ErrorAs(t, err, &input)
	}
	_, err = l.Touch(ctx, Ledger{ID: "a"}, &f.SeenAt, -1)
	require.ErrorAs(t, err, &input)
}

func TestTouch_OfManyCallersAtOnceHappensOnce(t *testing.T) {
	l := newLedgers(t)
	ctx, f := t.Context(), entity.Fields[Ledger]()
	_, err := l.Create(ctx, Ledger{ID: "a", Title: "t"})
	require.NoError(t, err)
	quiet := l.quiet()
	results := make(chan bool, 100)
	for range cap(results) {
		go func() {
			due, err := quiet.Touch(ctx, Ledger{ID: "a"}, &f.SeenAt, time.Minute)
			results <- due && err == nil
		}()
	}
	touched := 0
	for range cap(results) {
		if <-results {
			touched++
		}
	}
	require.Equal(t, 1, touched)
}
