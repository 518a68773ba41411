package reading_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type (
	retained struct {
		_       entity.Key       `name:"Retained" pk:"$#{id}" sk:"$"`
		_       versioned.Retain ``
		ID      string           `dynamodbav:"id"`
		Version int64            `dynamodbav:"version" entity:"version"`
	}
	deletable struct {
		_  entity.Key           `name:"Deletable" pk:"$#{id}" sk:"$"`
		_  lifecycle.SoftDelete ``
		ID string               `dynamodbav:"id"`
	}
	claimed struct {
		_    entity.Key        `name:"Claimed" pk:"$#{id}" sk:"$"`
		_    unique.Constraint `name:"mail" fields:"mail"`
		ID   string            `dynamodbav:"id"`
		Mail string            `dynamodbav:"mail,omitempty"`
	}
	expiring struct {
		_  entity.Key    `name:"Expiring" pk:"$#{id}" sk:"$"`
		_  entity.LSI    `name:"byState" index:"lsi1" sk:"state"`
		_  lifecycle.TTL `attr:"_ttl" after:"1h"`
		ID string        `dynamodbav:"id"`

		State string `dynamodbav:"state,omitempty"`
	}
	locked struct {
		_       entity.Key     `name:"Locked" pk:"$#{id}" sk:"$"`
		_       entity.GSI     `name:"byState" index:"gsi1" pk:"$#{state}"`
		_       versioned.Lock ``
		ID      string         `dynamodbav:"id"`
		State   string         `dynamodbav:"state,omitempty"`
		Count   int            `dynamodbav:"count"`
		Version int64          `dynamodbav:"version" entity:"version"`
	}
)

// codes returns the codes of the schema errors in err.
func codes(err error) (all []string) {
	var one *entity.SchemaError
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			all = append(all, codes(e)...)
		}
	} else if errors.As(err, &one) {
		all = append(all, one.Code)
	}
	return all
}

func TestMultiRegion_NewRefusesWhatStrongTablesCannotHave(t *testing.T) {
	t.Parallel()
	for region, want := range map[entity.MultiRegion]map[string][]string{
		entity.SingleRegion: {}, entity.MREC: {},
		entity.MRSC: {
			"retained": {"EDD-9089"}, "deletable": {"EDD-9089"}, "claimed": {"EDD-9089"}, "series": {"EDD-9089", "EDD-9090"}, "expiring": {"EDD-9090", "EDD-9090"},
		},
	} {
		db := entity.Must(entity.Open(nil, entity.Config{Table: "t", MultiRegion: region}))
		for name, declare := range map[string]func() error{
			"retained":  func() error { return dbtest.ErrorOf(entity.New[retained](db)) },
			"deletable": func() error { return dbtest.ErrorOf(entity.New[deletable](db)) },
			"claimed":   func() error { return dbtest.ErrorOf(entity.New[claimed](db)) },
			"expiring":  func() error { return dbtest.ErrorOf(entity.New[expiring](db)) },
			"series":    func() error { return dbtest.ErrorOf(timeseries.New[reading](db)) },
			"locked":    func() error { return dbtest.ErrorOf(entity.New[locked](db)) },
		} {
			require.Equal(t, want[name], codes(declare()), "%d %s", region, name)
		}
		if region == entity.MRSC {
			require.Equal(t, []string{"Locked"}, tables.Of(db).Tables[0].Entities, "what is refused is not declared")
		}
	}
	require.Equal(t, "EDD-9050", dbtest.SchemaCode(dbtest.ErrorOf(entity.Open(nil, entity.Config{Table: "t", MultiRegion: 7}))))
}

// A transaction is refused before any request, and everything else works.
func TestMultiRegion_TransactionsAreRefused(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[locked](t, func(c *entity.Config) { c.MultiRegion = entity.MRSC })
	ctx, key, f := b.Ctx, locked{ID: "a"}, entity.Fields[locked]()
	for name, call := range map[string]func() error{
		"Transact":          func() error { return b.DB.Transact(ctx, s.Op().Create(key)) },
		"TransactWithToken": func() error { return b.DB.TransactWithToken(ctx, entity.Token{ID: "t"}, s.Op().Create(key)) },
		"TransactGet":       func() error { return b.DB.TransactGet(ctx, s.Op().GetInto(&locked{ID: "a"})) },
		"Create":            func() error { return dbtest.ErrorOf(s.Create(ctx, key, entity.Idempotent())) },
		"Update":            func() error { return dbtest.ErrorOf(s.Update(ctx, key, entity.Add(&f.Count, 1), entity.Idempotent())) },
		"Put":               func() error { return dbtest.ErrorOf(s.Put(ctx, key, entity.Idempotent())) },
		"Delete":            func() error { return s.Delete(ctx, key, entity.Idempotent()) },
	} {
		require.Equal(t, "EDD-9167", dbtest.InputCode(call()), name)
	}
	other := b.DB.WithClient(b.Client)
	require.Equal(t, "EDD-9167", dbtest.InputCode(other.Transact(ctx, entity.Must(entity.New[locked](other)).Op().Create(key))))
	require.Empty(t, b.Operations())

	v := entity.Must(s.Create(ctx, locked{ID: "a", State: "on"}))
	b.OK(s.Update(ctx, v, entity.Set(&f.State, "off")))
	v = entity.Must(s.Modify(ctx, key, func(v *locked) error { v.Count++; return nil }))
	require.ErrorIs(t, dbtest.ErrorOf(s.Update(ctx, locked{ID: "a", Version: 1}, entity.Add(&f.Count, 1))), entity.ErrConflict)
	v.Count++
	b.OK(s.Put(ctx, v))
	b.OK(s.PutMany(ctx, []locked{{ID: "b"}}, entity.Unconditional()))
	b.OK(s.Delete(ctx, locked{ID: "b"}))
	b.OK(entity.Must(s.Index("byState")).Query(locked{State: "off"}).One(ctx))
	b.OK(s.Purge(ctx, key))
	for _, operation := range b.Operations() {
		require.NotContains(t, operation, "Transact")
	}
}
