package exec_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/versioned"
)

// Order has no version: a write of it that reads nothing has no guard of its own.
type Order struct {
	_         entity.Key `name:"Order" pk:"$#{id}" sk:"$"`
	ID        string     `dynamodbav:"id"`
	Status    string     `dynamodbav:"status,omitempty"`
	Note      string     `dynamodbav:"note,omitempty"`
	Count     int        `dynamodbav:"count,omitempty"`
	Seen      time.Time  `dynamodbav:"seen,omitempty"`
	CreatedAt time.Time  `dynamodbav:"createdAt" entity:"created_at"`
}

// Counted counts its states.
type Counted struct {
	_       entity.Key `name:"Counted" pk:"$#{id}" sk:"$"`
	ID      string     `dynamodbav:"id"`
	Name    string     `dynamodbav:"name,omitempty"`
	Version int64      `dynamodbav:"version" entity:"version"`
}

// Kept keeps its states, so that each write of it reads first and goes out as a transaction.
type Kept struct {
	_       entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Name    string `dynamodbav:"name,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// shop has the entities twice on one table: as a program under test sees them, and as everybody else does.
type shop struct {
	t       *testing.T
	wire    *faults.Transport
	db      *entity.DB
	orders  *entity.Store[Order]
	counted *entity.Store[Counted]
	kept    *entity.Store[Kept]
	others  struct {
		orders  *entity.Store[Order]
		counted *entity.Store[Counted]
		kept    *entity.Store[Kept]
	}
	f *Order
}

var noon = time.Date(2026, 4, 22, 12, 0, 0, 0, time.UTC)

func newShop(t *testing.T, wrap func(entity.Client) entity.Client, change ...func(*entity.Config)) *shop {
	t.Helper()
	t.Parallel()
	s := &shop{t: t, wire: faults.New(nil), f: entity.Fields[Order]()}
	client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = s.wire })
	// The clock stands: equal readings prove nothing.
	cfg := entity.Config{Table: table, Clock: func() time.Time { return noon }}
	quiet := dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{} })
	all := entity.Must(entity.Open(quiet, cfg))
	s.others.orders, s.others.counted, s.others.kept = entity.Must(entity.New[Order](all)), entity.Must(entity.New[Counted](all)), entity.Must(entity.New[Kept](all))
	require.NoError(t, all.CreateTables(t.Context()))
	for _, f := range change {
		f(&cfg)
	}
	var ours entity.Client = client
	if wrap != nil {
		ours = wrap(client)
	}
	s.db = entity.Must(entity.Open(ours, cfg))
	s.orders, s.counted, s.kept = entity.Must(entity.New[Order](s.db)), entity.Must(entity.New[Counted](s.db)), entity.Must(entity.New[Kept](s.db))
	return s
}

// between runs others when the operation is sent for the n-th time, before it is.
func (s *shop) between(n int, operation string, others func()) {
	var once sync.Once
	seen := 0
	_, release := s.wire.Hold(func(r faults.Request) bool {
		if r.Operation == operation {
			if seen++; seen == n {
				once.Do(others)
			}
		}
		return false
	})
	s.t.Cleanup(release)
}

func (s *shop) create(v Order) {
	s.t.Helper()
	_, err := s.others.orders.Create(s.t.Context(), v)
	require.NoError(s.t, err)
}

func (s *shop) stored(id string) (Order, bool) {
	s.t.Helper()
	v, err := s.others.orders.Get(s.t.Context(), Order{ID: id}, entity.Consistent())
	if err != nil {
		require.ErrorIs(s.t, err, entity.ErrNotFound)
	}
	return v, err == nil
}

func (s *shop) sent(operations ...string) int {
	n := 0
	for _, op := range operations {
		n += s.wire.Count(op)
	}
	return n
}

// blind are the writes that read nothing first, each of which pays an order.
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
			_, err := o.Put(ctx, Order{ID: "o", Status: "paid"})
			return err
		},
		"Upsert": func(ctx context.Context, o *entity.Store[Order]) error {
			_, _, err := o.Upsert(ctx, Order{ID: "o", Status: "paid"})
			return err
		},
	}
}

func TestLost_ABlindWriteIsNotSentAgainOverTheWritesOfOthers(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Update", "Add", "Put", "Upsert"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			s.create(Order{ID: "o", Status: "open", Note: "n"})
			s.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
			ship := func() {
				_, err := s.others.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Status, "shipped"), entity.If(entity.Eq(&s.f.Status, "paid")))
				require.NoError(t, err)
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
				s.wire.Inject(faults.Nth(1, fault, "UpdateItem"))
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
			s.wire.Inject(faults.Nth(1, faults.Late, "UpdateItem", "PutItem"))
			err := write(t.Context(), s.orders)
			require.True(t, entity.IsAmbiguous(err), "%v", err)
			before, _ := s.stored("o")
			n, err := s.wire.Deliver()
			require.NoError(t, err)
			require.Equal(t, 1, n)
			after, there := s.stored("o")
			require.True(t, there)
			require.NotEqual(t, before, after, "it arrived")
		})
	}
}

func TestLost_ACreateIsNotSentAgainAfterADelete(t *testing.T) {
	s := newShop(t, nil)
	s.wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
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
	s.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "GetItem" {
			return faults.Throttle
		}
		return faults.Lost
	})
	_, err := s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
	require.True(t, entity.IsAmbiguous(err))
	require.ErrorIs(t, err, faults.ErrInjected)
	var throttled *types.ProvisionedThroughputExceededException
	require.ErrorAs(t, err, &throttled)
	require.Equal(t, 1, s.sent("UpdateItem"))
	require.Equal(t, 2, s.sent("GetItem"), "MaxAttempts")
}

func TestLost_ACancelledContextReadsNoMore(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o"})
	ctx, cancel := context.WithCancel(t.Context())
	s.wire.Inject(func(faults.Request) faults.Fault { cancel(); return faults.Lost })
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
			s.wire.Inject(faults.Nth(1, fault, "PutItem"))
			got, err := s.orders.Modify(t.Context(), Order{ID: "o"}, func(o *Order) error { o.Count++; return nil })
			require.NoError(t, err)
			require.Equal(t, 2, got.Count)
			_, err = s.wire.Deliver()
			require.NoError(t, err)
			got, _ = s.stored("o")
			require.Equal(t, 2, got.Count)
		})
	}
}

func TestLost_ARefusedRewriteIsCertainWhileTheItemIsUnchanged(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Count: 1, Status: "open"})
	count := func(o *Order) error { o.Count++; return nil }
	s.wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	_, err := s.orders.Modify(t.Context(), Order{ID: "o"}, count, entity.If(entity.Eq(&s.f.Status, "paid")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.False(t, entity.IsAmbiguous(err), "neither attempt could have been applied")

	s.wire.Inject(faults.Nth(1, faults.Drop, "PutItem"))
	s.between(2, "PutItem", func() {
		_, err := s.others.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Note, "n"))
		require.NoError(t, err)
	})
	_, err = s.orders.Modify(t.Context(), Order{ID: "o"}, count)
	require.ErrorIs(t, err, entity.ErrConflict)
	require.True(t, entity.IsAmbiguous(err), "the other write may have followed the first attempt")
}

func TestTwice_ARequestThatIsDeliveredTwiceIsASuccess(t *testing.T) {
	s := newShop(t, nil)
	s.wire.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	_, err := s.orders.Create(t.Context(), Order{ID: "o", Status: "open"})
	require.NoError(t, err, "the second delivery met the first")
	s.wire.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	got, err := s.orders.Modify(t.Context(), Order{ID: "o"}, func(o *Order) error { o.Count++; return nil })
	require.NoError(t, err)
	require.Equal(t, 1, got.Count)
	s.wire.Inject(faults.Nth(1, faults.Twice, "UpdateItem"))
	got, err = s.orders.Update(t.Context(), Order{ID: "o"}, entity.Set(&s.f.Status, "paid"), entity.If(entity.Eq(&s.f.Status, "open")))
	require.NoError(t, err)
	require.Equal(t, "paid", got.Status)
	s.wire.Inject(faults.Nth(1, faults.Twice, "UpdateItem"))
	due, err := s.orders.Touch(t.Context(), Order{ID: "o"}, &s.f.Seen, time.Hour)
	require.NoError(t, err)
	require.True(t, due)
	stored, _ := s.stored("o")
	require.Equal(t, 1, stored.Count)
	require.Zero(t, strings.Count(strings.Join(s.operations(), " "), "GetItem")-1, "Modify reads, and nothing else does")

	s.wire.Inject(faults.Nth(1, faults.Twice, "TransactWriteItems"))
	kept, err := s.kept.Create(t.Context(), Kept{ID: "k"})
	require.NoError(t, err)
	require.EqualValues(t, 1, kept.Version)
}

func (s *shop) operations() []string {
	var names []string
	for _, r := range s.wire.Requests() {
		names = append(names, r.Operation)
	}
	return names
}
