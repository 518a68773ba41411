package conformance_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Order has no version, so a write that reads nothing has no guard. It has a secret that can also occur as data.
type Order struct {
	_         entity.Key        `name:"Order" pk:"$#{id}" sk:"$"`
	ID        string            `dynamodbav:"id"`
	Status    string            `dynamodbav:"status,omitempty"`
	Note      string            `dynamodbav:"note,omitempty"`
	Count     int               `dynamodbav:"count,omitempty"`
	Seen      time.Time         `dynamodbav:"seen,omitempty"`
	Secret    map[string]string `dynamodbav:"secret,omitempty" entity:"secret"`
	CreatedAt time.Time         `dynamodbav:"createdAt" entity:"created_at"`
}

// Counted has a version.
type Counted struct {
	_       entity.Key `name:"Counted" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	Name    string     `dynamodbav:"name,omitempty"`
	Version int64      `dynamodbav:"version" entity:"version"`
}

// Filed keeps its states, so that each write reads first and is a transaction.
type Filed struct {
	_       entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Name    string `dynamodbav:"name,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// shop has the entities twice on one table: for the program under test, and for everyone else.
type shop struct {
	*dbtest.Bench
	stores
	others stores
	f      *Order
}

type stores struct {
	orders  *entity.Store[Order]
	counted *entity.Store[Counted]
	kept    *entity.Store[Filed]
}

func storesOn(db *entity.DB) stores {
	return stores{entity.Must(entity.New[Order](db)), entity.Must(entity.New[Counted](db)), entity.Must(entity.New[Filed](db))}
}

var noon = time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)

// newShop opens a shop, whose clock stands still: with a fixed clock, equal times prove nothing.
func newShop(t *testing.T, wrap func(entity.Client) entity.Client, change ...func(*entity.Config)) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{Bench: dbtest.Open(t), f: entity.Fields[Order]()}
	s.Clock.Set(noon, 0)
	all := s.Open(s.Raw)
	s.others = storesOn(all)
	require.NoError(t, tables.Create(t.Context(), all))
	var client entity.Client = s.Client
	if wrap != nil {
		client = wrap(s.Client)
	}
	s.DB = s.Open(client, change...)
	s.stores = storesOn(s.DB)
	return s
}

// between runs others before the n-th request of the operation is sent.
func (s *shop) between(n int, operation string, others func()) {
	var once sync.Once
	seen := 0
	_, release := s.Wire.Hold(func(r faults.Request) bool {
		if r.Operation == operation {
			if seen++; seen == n {
				once.Do(others)
			}
		}
		return false
	})
	s.T.Cleanup(release)
}

func (s *shop) create(v Order) { s.T.Helper(); entity.Must(s.others.orders.Create(s.Ctx, v)) }

func (s *shop) stored(id string) (Order, bool) {
	s.T.Helper()
	v, err := s.others.orders.Get(s.Ctx, Order{ID: id}, entity.Consistent())
	if err != nil {
		require.ErrorIs(s.T, err, entity.ErrNotFound)
	}
	return v, err == nil
}

func (s *shop) sent(operations ...string) int {
	n := 0
	for _, op := range operations {
		n += s.Wire.Count(op)
	}
	return n
}

// blind returns the writes that do not read first, each of which pays an order.
func (s *shop) blind() map[string]func(context.Context, *entity.Store[Order]) error {
	return map[string]func(context.Context, *entity.Store[Order]) error{
		"Update": func(ctx context.Context, o *entity.Store[Order]) error {
			_, err := o.Update(ctx, Order{ID: "o"}, entity.Set(&s.f.Status, "paid"))
			return err
		},
		"Add": func(ctx context.Context, o *entity.Store[Order]) error {
			_, err := o.Update(ctx, Order{ID: "o"}, entity.Set(&s.f.Status, "paid"), entity.Add(&s.f.Count, 1))
			return err
		},
		"Put": func(ctx context.Context, o *entity.Store[Order]) error {
			return dbtest.ErrorOf(o.Put(ctx, Order{ID: "o", Status: "paid"}))
		},
		"Upsert": func(ctx context.Context, o *entity.Store[Order]) error {
			return dbtest.ErrorOf(o.Upsert(ctx, Order{ID: "o", Status: "paid"}))
		},
	}
}

func TestLost_ABlindWriteIsNotSentAgainOverTheWritesOfOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Update", "Add", "Put", "Upsert"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			s.create(Order{ID: "o", Status: "open", Note: "n"})
			s.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
			ship := func() {
				entity.Must(s.others.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Status, "shipped"), entity.If(entity.Eq(&s.f.Status, "paid"))))
			}
			s.between(1, "GetItem", ship)
			s.between(2, "UpdateItem", ship)
			err := s.blind()[name](t.Context(), s.orders)
			require.True(t, entity.IsAmbiguous(err), "%v", err)
			require.ErrorIs(t, err, faults.ErrInjected, "the cause is the lost answer")
			got, _ := s.stored("o")
			require.Equal(t, "shipped", got.Status)
			require.Equal(t, 1, s.sent("UpdateItem"))
		})
	}
}

func TestLost_ABlindWriteIsProvenByAReadOfItsWriteID(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Update", "Add", "Put", "Upsert"} {
		for _, fault := range []faults.Fault{faults.Lost, faults.InternalApplied} {
			t.Run(name+"/"+fault.String(), func(t *testing.T) {
				s := newShop(t, nil, func(c *entity.Config) { c.MaxAttempts = 1 })
				s.create(Order{ID: "o", Status: "open", Note: "n", Count: 1})
				s.Wire.Inject(faults.Nth(1, fault, "UpdateItem"))
				require.NoError(t, s.blind()[name](t.Context(), s.orders))
				got, _ := s.stored("o")
				require.Equal(t, "paid", got.Status)
				require.Equal(t, map[string]int{"Update": 1, "Add": 2, "Put": 0, "Upsert": 1}[name], got.Count)
				require.Equal(t, 1, s.sent("UpdateItem"))
				require.Equal(t, 1, s.sent("GetItem"))
			})
		}
	}
}

func TestLost_WhatMayStillArriveIsNotSaidToBeRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Update", "Add", "Put", "Upsert", "Create", "Touch"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			write := s.blind()[name]
			switch name {
			case "Create":
				write = func(ctx context.Context, o *entity.Store[Order]) error {
					_, err := o.Create(ctx, Order{ID: "o", Status: "paid"})
					return err
				}
			case "Touch":
				write = func(ctx context.Context, o *entity.Store[Order]) error {
					_, err := o.Touch(ctx, Order{ID: "o"}, &s.f.Seen, time.Hour)
					return err
				}
			}
			if name != "Create" {
				s.create(Order{ID: "o", Status: "open"})
			}
			s.Wire.Inject(faults.Nth(1, faults.Late, "UpdateItem", "PutItem"))
			err := write(t.Context(), s.orders)
			require.True(t, entity.IsAmbiguous(err), "%v", err)
			before, _ := s.stored("o")
			require.Equal(t, 1, entity.Must(s.Wire.Deliver()))
			after, there := s.stored("o")
			require.True(t, there)
			require.NotEqual(t, before, after, "it arrived")
		})
	}
}

func TestLost_ACreateIsNotSentAgainAfterADelete(t *testing.T) {
	s := newShop(t, nil)
	s.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	remove := func() { require.NoError(t, s.others.orders.Delete(t.Context(), Order{ID: "o"})) }
	s.between(1, "GetItem", remove)
	s.between(2, "PutItem", remove)
	_, err := s.orders.Create(t.Context(), Order{ID: "o"})
	require.True(t, entity.IsAmbiguous(err), "%v", err)
	_, there := s.stored("o")
	require.False(t, there, "what was created and deleted must not come back")
}

func TestLost_AProofThatCannotBeReadLeavesBothCauses(t *testing.T) {
	s := newShop(t, nil, func(c *entity.Config) { c.MaxAttempts = 2 })
	s.create(Order{ID: "o"})
	s.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "GetItem" {
			return faults.Throttle
		}
		return faults.Lost
	})
	_, err := s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
	require.True(t, entity.IsAmbiguous(err))
	require.ErrorIs(t, err, faults.ErrInjected)
	dbtest.As[*types.ProvisionedThroughputExceededException](t, err)
	require.Equal(t, 1, s.sent("UpdateItem"))
	require.Equal(t, 2, s.sent("GetItem"), "MaxAttempts")
}

func TestLost_ACancelledContextReadsNoMore(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o"})
	ctx, cancel := context.WithCancel(t.Context())
	s.Wire.Inject(func(faults.Request) faults.Fault { cancel(); return faults.Lost })
	_, err := s.orders.Update(ctx, Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
	require.True(t, entity.IsAmbiguous(err))
	require.ErrorIs(t, err, context.Canceled)
	require.Zero(t, s.sent("GetItem"))
}

func TestLost_ARewriteIsSentAgainUnderWhatWasRead(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Drop, faults.Lost, faults.Late} {
		t.Run(fault.String(), func(t *testing.T) {
			s := newShop(t, nil)
			s.create(Order{ID: "o", Count: 1})
			s.Wire.Inject(faults.Nth(1, fault, "PutItem"))
			got := entity.Must(s.orders.Modify(t.Context(), Order{ID: "o"}, func(o *Order) error { o.Count++; return nil }))
			require.Equal(t, 2, got.Count)
			entity.Must(s.Wire.Deliver())
			got, _ = s.stored("o")
			require.Equal(t, 2, got.Count)
		})
	}
}

func TestLost_ARefusedRewriteIsCertainWhileTheItemIsUnchanged(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Count: 1, Status: "open"})
	count := func(o *Order) error { o.Count++; return nil }
	s.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	_, err := s.orders.Modify(t.Context(), Order{ID: "o"}, count, entity.If(entity.Eq(&s.f.Status, "paid")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.False(t, entity.IsAmbiguous(err), "neither attempt could have been applied")

	s.Wire.Inject(faults.Nth(1, faults.Drop, "PutItem"))
	s.between(2, "PutItem", func() { entity.Must(s.others.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))) })
	_, err = s.orders.Modify(t.Context(), Order{ID: "o"}, count)
	require.ErrorIs(t, err, entity.ErrConflict)
	require.True(t, entity.IsAmbiguous(err), "the other write may have followed the first attempt")
}

func TestTwice_ARequestThatIsDeliveredTwiceIsASuccess(t *testing.T) {
	s := newShop(t, nil)
	s.Wire.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	require.NoError(t, dbtest.ErrorOf(s.orders.Create(t.Context(), Order{ID: "o", Status: "open"})), "the second delivery met the first")
	s.Wire.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	got := entity.Must(s.orders.Modify(t.Context(), Order{ID: "o"}, func(o *Order) error { o.Count++; return nil }))
	require.Equal(t, 1, got.Count)
	s.Wire.Inject(faults.Nth(1, faults.Twice, "UpdateItem"))
	got = entity.Must(s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Status, "paid"), entity.If(entity.Eq(&s.f.Status, "open"))))
	require.Equal(t, "paid", got.Status)
	s.Wire.Inject(faults.Nth(1, faults.Twice, "UpdateItem"))
	require.True(t, entity.Must(s.orders.Touch(t.Context(), Order{ID: "o"}, &s.f.Seen, time.Hour)))
	stored, _ := s.stored("o")
	require.Equal(t, 1, stored.Count)
	require.Zero(t, strings.Count(strings.Join(dbtest.Operations(s.Wire.Requests()), " "), "GetItem")-1, "Modify reads, and nothing else does")

	s.Wire.Inject(faults.Nth(1, faults.Twice, "TransactWriteItems"))
	require.EqualValues(t, 1, entity.Must(s.kept.Create(t.Context(), Filed{ID: "k"})).Version)
}

func TestLost_AnUpsertDoesNotTakeAnEqualClockReadingForItsOwn(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Status: "paid"}) // at the upsert's clock reading
	s.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err := s.orders.Upsert(t.Context(), Order{ID: "o", Status: "paid"})
	require.True(t, entity.IsAmbiguous(err), "who created the item is unknown")
}

func TestLost_AnUpsertIsProvenToHaveMergedByWhatItDidNotWrite(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Status: "open", Note: "n"})
	s.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, created, err := s.orders.Upsert(t.Context(), Order{ID: "o", Status: "paid"})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, "n", got.Note)
	require.Equal(t, "paid", got.Status)
}

func TestLost_AnUpsertOfAVersionedItemKnowsWhetherItCreated(t *testing.T) {
	s := newShop(t, nil)
	for version, want := range []bool{true, false} {
		s.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
		got, created, err := s.counted.Upsert(t.Context(), Counted{ID: "c", Name: "x"})
		require.NoError(t, err)
		require.Equal(t, want, created)
		require.EqualValues(t, version+1, got.Version)
	}
}

func TestLostTransaction_ARefusalAfterALostAttemptIsAmbiguous(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Transact", "TransactWithToken"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			s.Wire.Inject(faults.Nth(1, faults.Late, "TransactWriteItems"))
			s.between(2, "TransactWriteItems", func() { s.create(Order{ID: "o", Note: "theirs"}) })
			one, two := s.orders.Op().Create(Order{ID: "o", Note: "ours"}), s.counted.Op().Create(Counted{ID: "c"})
			var err error
			if name == "Transact" {
				err = s.DB.Transact(t.Context(), one, two)
			} else {
				err = s.DB.TransactWithToken(t.Context(), entity.Token{ID: rand.Text(), At: noon}, one, two)
			}
			require.ErrorIs(t, err, entity.ErrExists)
			require.True(t, entity.IsAmbiguous(err), "%v", err)
			require.True(t, entity.IsAmbiguous(entity.FailureOf(err, one)))
			require.NoError(t, s.others.orders.Delete(t.Context(), Order{ID: "o"}))
			entity.Must(s.Wire.Deliver())
			got, _ := s.stored("o")
			require.Equal(t, "ours", got.Note, "the first attempt was applied after all")
		})
	}
}

func TestLostTransaction_AConditionGoneForGoodIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Drop, faults.Late} {
		t.Run(fault.String(), func(t *testing.T) {
			s, f := newShop(t, nil), entity.Fields[Filed]()
			entity.Must(s.others.kept.Create(t.Context(), Filed{ID: "k", Name: "1"}))
			s.Wire.Inject(faults.Nth(1, fault, "TransactWriteItems"))
			s.between(2, "TransactWriteItems", func() { entity.Must(s.others.kept.Update(t.Context(), Filed{ID: "k"}, entity.Set(&f.Name, "2"))) })
			got, err := s.kept.Update(t.Context(), Filed{ID: "k"}, entity.Set(&f.Name, "3"))
			require.NoError(t, err, "the first attempt can never pass")
			require.EqualValues(t, 3, got.Version)
			entity.Must(s.Wire.Deliver())
			all := entity.Must(entity.Must(versioned.Of(s.others.kept)).List(Filed{ID: "k"}, versioned.WithCurrent()).Collect(t.Context()))
			require.Len(t, all, 3)
		})
	}
}

func TestLostTransaction_TheCallersConditionOnAReadItemIsCertain(t *testing.T) {
	s, f := newShop(t, nil), entity.Fields[Filed]()
	entity.Must(s.others.kept.Create(t.Context(), Filed{ID: "k", Name: "1"}))
	s.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	_, err := s.kept.Update(t.Context(), Filed{ID: "k"}, entity.Set(&f.Name, "3"), entity.If(entity.Eq(&f.Name, "2")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.False(t, entity.IsAmbiguous(err))
}

func TestLostTransaction_ACheckThatWritesNothingIsNeverAmbiguous(t *testing.T) {
	s := newShop(t, nil, func(c *entity.Config) { c.MaxAttempts = 2 })
	s.Wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	err := s.DB.Transact(t.Context(), s.orders.Op().CheckNotExists(Order{ID: "o"}), s.counted.Op().CheckNotExists(Counted{ID: "c"}))
	require.ErrorIs(t, err, faults.ErrInjected)
	require.False(t, entity.IsAmbiguous(err))
}

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
