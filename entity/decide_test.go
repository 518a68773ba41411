package entity_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Owner keeps its states, so that each write of it is a transaction.
type Owner struct {
	_       entity.Key `name:"Owner" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Active  int    `dynamodbav:"active"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// Subscription is of an owner, who has a number of them at most.
type Subscription struct {
	_     entity.Key `name:"Subscription" pk:"$#{owner}" sk:"$#{id}"`
	Owner string     `dynamodbav:"owner"`
	ID    string     `dynamodbav:"id"`
}

// subscriptions is a lab with an owner.
type subscriptions struct {
	*lab
	owners *entity.Store[Owner]
	all    *entity.Store[Subscription]
}

func newSubscriptions(t *testing.T, configure ...func(*entity.Config)) *subscriptions {
	t.Helper()
	l := newLab(t, configure...)
	s := &subscriptions{l, dbtest.Declare[Owner](t, l.DB), dbtest.Declare[Subscription](t, l.DB)}
	l.CreateTables()
	l.OK(s.owners.Create(l.Ctx, Owner{ID: "o"}))
	l.Sent()
	return s
}

// subscribe adds a subscription, if the owner has less than most.
func (s *subscriptions) subscribe(ctx context.Context, id string, most int, opts ...entity.DecideOption) error {
	f := entity.Fields[Owner]()
	return s.DB.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
		owner, err := s.owners.Get(ctx, Owner{ID: "o"})
		if err != nil {
			return nil, err
		}
		if owner.Active >= most {
			return nil, errFull
		}
		return []entity.Op{
			s.owners.Op().Update(owner, entity.Set(&f.Active, owner.Active+1), versioned.Expect(owner.Version)),
			s.all.Op().Create(Subscription{Owner: "o", ID: id}),
		}, nil
	}, opts...)
}

var errFull = fmt.Errorf("the owner has all subscriptions")

func TestTransactFunc_AHundredAtOnceAreAllApplied(t *testing.T) {
	var mu sync.Mutex
	most, longest := 0, time.Duration(0)
	requests := 0
	s := newSubscriptions(t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) {
			if r.Verb != "TransactFunc" {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			most, longest, requests = max(most, r.Decisions), max(longest, r.Duration), requests+r.Requests
		})
	})
	const n = 100
	begun, errs := time.Now(), [n]error{}
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = s.subscribe(t.Context(), fmt.Sprintf("%03d", i), n) })
	}
	calls.Wait()
	t.Logf("%v, %.0f a second, longest %v, at most %d decisions, %d requests", time.Since(begun), n/time.Since(begun).Seconds(), longest, most, requests)
	for _, err := range errs {
		require.NoError(t, err)
	}
	owner, err := s.owners.Get(t.Context(), Owner{ID: "o"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, n, owner.Active)
	require.Equal(t, 1+n+n, len(s.Items()), "the owner, its earlier states, and the subscriptions")
	require.ErrorIs(t, s.subscribe(t.Context(), "one more", n), errFull)
}
