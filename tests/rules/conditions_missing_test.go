package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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
	b := standing(t)
	s, f := declare[invoice](b), entity.Fields[invoice]()
	ctx := t.Context()
	whole := invoice{ID: "x", Customer: "c", Due: &now}
	noCustomer, noDue := whole, whole
	noCustomer.Customer, noDue.Due = "", nil
	for field, v := range map[string]invoice{"Customer": noCustomer, "Due": noDue} {
		_, err := s.Create(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.Put(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, _, err = s.Upsert(ctx, v)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
		_, err = s.PutMany(ctx, []invoice{v})
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	for field, change := range map[string]entity.UpdateOption{"Customer": entity.Set(&f.Customer, ""), "Due": entity.Set(&f.Due, nil)} {
		_, err := s.Update(ctx, whole, change)
		dbtest.RequireInput(t, err, "EDD-9103", field, "byCustomer")
	}
	_, err := s.Update(ctx, whole, entity.Remove(&f.Due))
	dbtest.RequireInput(t, err, "EDD-9103", "Due", "byCustomer")
	require.Empty(t, b.Sent())

	_, _, err = s.Upsert(ctx, noCustomer, entity.Set(&f.Customer, "c"))
	require.NoError(t, err, "a change together with the value gives it")
	_, err = s.Modify(ctx, whole, func(v *invoice) error { v.Customer = ""; return nil })
	dbtest.RequireInput(t, err, "EDD-9103", "Customer", "byCustomer")
	got := entity.Must(entity.Must(s.Index("byCustomer")).Query(invoice{Customer: "c"}).Collect(ctx))
	require.Equal(t, []invoice{whole}, got)
	got = entity.Must(s.Scan(entity.Filter(entity.Eq(&f.Mark, ""))).Collect(ctx))
	require.Len(t, got, 1, "an index without missing leaves items out, and an empty key of it is not stored")
}
