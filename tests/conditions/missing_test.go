package conditions_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
)

// invoice must be in its index, and need not be in the other one.
type invoice struct {
	_        entity.Key `name:"Invoice" pk:"$#{id}" sk:"$"`
	_        entity.GSI `name:"byCustomer" index:"gsi1" pk:"$#{customer}" sk:"$#{due}" missing:"error"`
	_        entity.GSI `name:"byMark" index:"gsi2" pk:"mark" sk:"gsi2sk={id}"`
	ID       string     `dynamodbav:"id"`
	Customer string     `dynamodbav:"customer"`
	Due      *time.Time `dynamodbav:"due,omitempty"`
	Mark     string     `dynamodbav:"mark"`
	Note     string     `dynamodbav:"note,omitempty"`
}

func TestMissing_AnItemThatAnIndexWouldLeaveOutIsRefused(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	s, f := declare[invoice](t, b), entity.Fields[invoice]()
	ctx := t.Context()
	whole := invoice{ID: "x", Customer: "c", Due: &b.now}
	noCustomer, noDue := whole, whole
	noCustomer.Customer, noDue.Due = "", nil
	for field, v := range map[string]invoice{"Customer": noCustomer, "Due": noDue} {
		_, err := s.Create(ctx, v)
		requireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.Put(ctx, v)
		requireInput(t, err, "EDD-9103", field, "byCustomer")
		_, _, err = s.Upsert(ctx, v)
		requireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.PutMany(ctx, []invoice{v})
		requireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	for field, change := range map[string]entity.UpdateOption{"Customer": entity.Set(&f.Customer, ""), "Due": entity.Set(&f.Due, nil)} {
		_, err := s.Update(ctx, whole, change)
		requireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	_, err := s.Update(ctx, whole, entity.Remove(&f.Due))
	requireInput(t, err, "EDD-9103", "Due", "byCustomer")
	require.Zero(t, b.sent())

	_, _, err = s.Upsert(ctx, noCustomer, entity.Set(&f.Customer, "c"))
	require.NoError(t, err, "a change beside the value gives it")
	_, err = s.Modify(ctx, whole, func(v *invoice) error { v.Customer = ""; return nil })
	requireInput(t, err, "EDD-9103", "Customer", "byCustomer")
	got, err := entity.Must(s.Index("byCustomer")).Query(invoice{Customer: "c"}).Collect(ctx)
	require.NoError(t, err)
	require.Equal(t, []invoice{whole}, got)
	got, err = s.Scan(entity.Filter(entity.Eq(&f.Mark, ""))).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, got, 1, "an index without missing leaves items out, and an empty key of it is not stored")
}

func TestMissing_IsRefusedWhereItCannotBeKept(t *testing.T) {
	t.Parallel()
	type other struct {
		_    entity.Key `name:"Other" pk:"$#{id}" sk:"$"`
		_    entity.GSI `name:"byMark" index:"gsi2" pk:"mark" missing:"none"`
		ID   string     `dynamodbav:"id"`
		Mark string     `dynamodbav:"mark,omitempty"`
	}
	type series struct {
		_       entity.Key        `name:"Series" pk:"$#{id}" sk:"$"`
		_       entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{account}" sk:"$#{at}" missing:"error"`
		_       timeseries.Events `orderBy:"at"`
		ID      string            `dynamodbav:"id"`
		At      time.Time         `dynamodbav:"at"`
		V       int               `dynamodbav:"v" entity:"append"`
		Account string            `dynamodbav:"account,omitempty"`
	}
	type buried struct {
		_    entity.Key           `name:"Buried" pk:"$#{id}" sk:"$"`
		_    entity.GSI           `name:"byEnd" index:"gsi1" pk:"$#{id}" sk:"$#{gone}" missing:"error"`
		_    lifecycle.SoftDelete `ttl:"1d"`
		ID   string               `dynamodbav:"id"`
		Gone time.Time            `dynamodbav:"gone,omitempty" entity:"deleted_at"`
	}
	type expiring struct {
		_    entity.Key    `name:"Expiring" pk:"$#{id}" sk:"$"`
		_    entity.GSI    `name:"byEnd" index:"gsi1" pk:"$#{id}" sk:"gsi1sk={ends}" missing:"error"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int64         `dynamodbav:"ends,omitempty"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	_, none := entity.New[other](db)
	_, enrichment := timeseries.New[series](db)
	_, deletedAt := entity.New[buried](db)
	_, expiry := entity.New[expiring](db)
	for i, err := range []error{none, enrichment, deletedAt, expiry} {
		var mistake *entity.SchemaError
		require.ErrorAs(t, err, &mistake, i)
		require.Equal(t, []string{"EDD-9003", "EDD-9064", "EDD-9064", "EDD-9064"}[i], mistake.Code, mistake.Problem)
	}
}
