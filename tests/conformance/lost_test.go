package conformance_test

import (
	"context"
	"crypto/rand"
	"strings"
	"sync"
	"testing"
	"time"

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
