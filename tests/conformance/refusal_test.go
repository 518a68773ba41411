package conformance_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestCondition_TheErrorNamesWhatDidNotHoldAndNoValue(t *testing.T) {
	s := newShop(t, nil)
	ctx, f, k := t.Context(), s.f, entity.Fields[Filed]()
	s.create(Order{ID: "o", Status: "open", Note: "private"})
	entity.Must(s.others.kept.Create(ctx, Filed{ID: "k", Name: "private"}))
	wrong := entity.If(entity.Eq(&f.Status, "paid"), entity.Eq(&f.Note, "private"), entity.Gt(&f.Count, 7))
	check := func(err error, text string) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.ErrorContains(t, err, "condition failed: "+text)
		require.NotContains(t, err.Error(), "private")
		require.NotContains(t, err.Error(), "paid")
	}
	check(dbtest.ErrorOf(s.orders.Update(ctx, Order{ID: "o"}, entity.Set(&f.Count, 1), wrong)), "status = ? AND count > ?")
	check(dbtest.ErrorOf(s.orders.Modify(ctx, Order{ID: "o"}, func(o *Order) error { o.Count++; return nil }, wrong)), "status = ? AND count > ?")
	check(s.orders.Delete(ctx, Order{ID: "o"}, entity.If(entity.Or(entity.Eq(&f.Status, "paid"), entity.NotExists(&f.Note)))), "status = ? OR attribute_not_exists(note)")
	_, err := s.kept.Update(ctx, Filed{ID: "k"}, entity.Set(&k.Name, "2"), entity.If(entity.BeginsWith(&k.Name, "paid")))
	check(err, "begins_with(name, ?)")
	require.NoError(t, s.others.orders.Delete(ctx, Order{ID: "o"}))
	check(dbtest.ErrorOf(s.orders.Upsert(ctx, Order{ID: "o"}, wrong)), "status = ? AND note = ? AND count > ?")
	check(s.DB.Transact(ctx, s.orders.Op().Create(Order{ID: "p"}), s.kept.Op().CheckExists(Filed{ID: "k"}, entity.Eq(&k.Name, "paid"))), "name = ?")
}

func TestCondition_OfASecretHidesWhatIsInside(t *testing.T) {
	s := newShop(t, nil)
	entity.Must(s.orders.Create(t.Context(), Order{ID: "s", Secret: map[string]string{"alice": "1"}}))
	_, err := s.orders.Put(t.Context(), Order{ID: "s", Secret: map[string]string{}}, entity.If(entity.MapEntry(&s.f.Secret, "alice").Eq("2")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.ErrorContains(t, err, "condition failed: secret.<hidden> = ?")
	require.NotContains(t, err.Error(), "alice")
}

// hiding is a client that does not ask for the item that refused a write, like some caches in front of DynamoDB.
type hiding struct{ entity.Client }

const noItem = types.ReturnValuesOnConditionCheckFailureNone

func (c hiding) PutItem(ctx context.Context, in *dynamodb.PutItemInput, f ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = noItem
	return c.Client.PutItem(ctx, in, f...)
}

func (c hiding) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, f ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = noItem
	return c.Client.UpdateItem(ctx, in, f...)
}

func (c hiding) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, f ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	in.ReturnValuesOnConditionCheckFailure = noItem
	return c.Client.DeleteItem(ctx, in, f...)
}

func (c hiding) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, f ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, x := range in.TransactItems {
		switch {
		case x.Put != nil:
			x.Put.ReturnValuesOnConditionCheckFailure = noItem
		case x.Update != nil:
			x.Update.ReturnValuesOnConditionCheckFailure = noItem
		case x.Delete != nil:
			x.Delete.ReturnValuesOnConditionCheckFailure = noItem
		case x.ConditionCheck != nil:
			x.ConditionCheck.ReturnValuesOnConditionCheckFailure = noItem
		}
	}
	return c.Client.TransactWriteItems(ctx, in, f...)
}

func hide(c entity.Client) entity.Client { return hiding{c} }

// briefly gives up early.
func briefly(c *entity.Config) { c.MaxAttempts = 3 }

func TestHidden_ARefusalWithoutItsItemIsNeverTakenForAnAbsentItem(t *testing.T) {
	s := newShop(t, hide, briefly)
	ctx, f, k := t.Context(), s.f, entity.Fields[Filed]()
	s.create(Order{ID: "o", Status: "open"})
	entity.Must(s.others.kept.Create(ctx, Filed{ID: "k", Name: "1"}))
	before, _ := s.stored("o")
	never := entity.If(entity.Eq(&f.Status, "paid"))
	for name, write := range map[string]func() error{
		"Create": func() error { _, err := s.orders.Create(ctx, Order{ID: "o"}); return err },
		"Update": func() error {
			return dbtest.ErrorOf(s.orders.Update(ctx, Order{ID: "o"}, entity.Set(&f.Note, "n"), never))
		},
		"Put": func() error { _, err := s.orders.Put(ctx, Order{ID: "o"}, never); return err },
		"Modify": func() error {
			return dbtest.ErrorOf(s.orders.Modify(ctx, Order{ID: "o"}, func(o *Order) error { o.Count++; return nil }, never))
		},
		"Delete": func() error { return s.orders.Delete(ctx, Order{ID: "o"}, never) },
		"transaction": func() error {
			_, err := s.kept.Update(ctx, Filed{ID: "k"}, entity.Set(&k.Name, "2"), entity.If(entity.Eq(&k.Name, "3")))
			return err
		},
		"several": func() error {
			return s.DB.Transact(ctx, s.counted.Op().Create(Counted{ID: "c"}), s.orders.Op().CheckExists(Order{ID: "o"}, entity.Eq(&f.Status, "paid")))
		},
	} {
		err := write()
		require.ErrorIs(t, err, entity.ErrItemHidden, name)
		require.NotErrorIs(t, err, entity.ErrNotFound, name)
		require.False(t, entity.IsAmbiguous(err), name)
	}
	after, _ := s.stored("o")
	require.Equal(t, before, after, "nothing was written")
}

// sometimes hides the items of some refusals.
type sometimes struct {
	entity.Client
	hide bool
}

func (c *sometimes) PutItem(ctx context.Context, in *dynamodb.PutItemInput, f ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.hide {
		return hiding{c.Client}.PutItem(ctx, in, f...)
	}
	return c.Client.PutItem(ctx, in, f...)
}

func TestHidden_AConditionThatHoldsForAbsentItemsMeansHidden(t *testing.T) {
	some := &sometimes{}
	s := newShop(t, func(c entity.Client) entity.Client { some.Client = c; return some }, briefly)
	s.create(Order{ID: "o"})
	require.ErrorIs(t, dbtest.ErrorOf(s.orders.Create(t.Context(), Order{ID: "o"})), entity.ErrExists)
	some.hide = true
	require.ErrorIs(t, dbtest.ErrorOf(s.orders.Create(t.Context(), Order{ID: "o"})), entity.ErrItemHidden)
}

func TestHidden_WhatIsAbsentIsStillNotFound(t *testing.T) {
	s := newShop(t, hide, briefly)
	_, err := s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrItemHidden)
	require.ErrorIs(t, s.orders.Delete(t.Context(), Order{ID: "o"}), entity.ErrNotFound)
}

func TestHidden_OnesOwnWriteIsStillProven(t *testing.T) {
	s := newShop(t, hide, briefly)
	s.Wire.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	require.NoError(t, dbtest.ErrorOf(s.orders.Create(t.Context(), Order{ID: "o"})), "the item that refused the second delivery is this write's")
	s.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	require.Equal(t, 1, entity.Must(s.orders.Modify(t.Context(), Order{ID: "o"}, func(o *Order) error { o.Count++; return nil })).Count)
}

func TestHidden_AnItemThatCameAfterTheRefusalIsNotHidden(t *testing.T) {
	s := newShop(t, nil)
	s.between(1, "GetItem", func() { s.create(Order{ID: "o", Status: "open"}) })
	require.Equal(t, "open", entity.Must(s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))).Status)
	require.Equal(t, []string{"UpdateItem", "GetItem", "UpdateItem"}, dbtest.Operations(s.Wire.Requests()))
}

// missed lets something happen before each read of an item.
type missed struct {
	entity.Client
	before func()
}

func (c *missed) GetItem(ctx context.Context, in *dynamodb.GetItemInput, f ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.before()
	out, err := c.Client.GetItem(ctx, in, f...)
	_, _ = c.Client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: in.TableName, Key: in.Key}, f...)
	return out, err
}

// Another program makes the item after each refusal, and removes it before the next request.
func TestHidden_AnItemThatComesAfterEachRefusalIsAConflict(t *testing.T) {
	late := &missed{}
	s := newShop(t, func(c entity.Client) entity.Client { late.Client = c; return late }, briefly)
	late.before = func() { s.create(Order{ID: "o", Status: "open"}) }
	_, err := s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrItemHidden)
	require.False(t, entity.IsAmbiguous(err))
	err = s.DB.Transact(t.Context(), s.orders.Op().Update(Order{ID: "o"}, entity.Set(&s.f.Note, "n")), s.counted.Op().CheckNotExists(Counted{ID: "c"}))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrItemHidden)
}

func TestHidden_TheLookCostsNothingOnceAnItemWasSeen(t *testing.T) {
	s := newShop(t, nil)
	missing := func() error {
		return dbtest.ErrorOf(s.orders.Update(t.Context(), Order{ID: "x"}, entity.Set(&s.f.Note, "n")))
	}
	require.ErrorIs(t, missing(), entity.ErrNotFound)
	require.Equal(t, []string{"UpdateItem", "GetItem"}, dbtest.Operations(s.Wire.Requests()))
	s.create(Order{ID: "o"})
	s.Wire.Reset()
	require.ErrorIs(t, dbtest.ErrorOf(s.orders.Create(t.Context(), Order{ID: "o"})), entity.ErrExists)
	require.ErrorIs(t, missing(), entity.ErrNotFound)
	require.Equal(t, []string{"PutItem", "UpdateItem"}, dbtest.Operations(s.Wire.Requests()))
}
