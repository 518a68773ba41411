package entity_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Dial is an entity that a batch may write without being told that it is blind.
type Dial struct {
	_         entity.Key `name:"Dial" pk:"$#{id}" sk:"$"`
	_         entity.GSI `name:"bySite" index:"gsi1" pk:"$#{site}" sk:"$#{id}"`
	ID        string     `dynamodbav:"id"`
	Site      string     `dynamodbav:"site,omitempty"`
	Value     int        `dynamodbav:"value"`
	UpdatedAt time.Time  `dynamodbav:"updatedAt" entity:"updated_at"`
}

func dials(n int) []Dial {
	all := make([]Dial, n)
	for i := range all {
		all[i] = Dial{ID: fmt.Sprint("g-", i), Site: "s", Value: i}
	}
	return all
}

func TestBatch_PutsAndDeletesInChunksAndWritesWholeItems(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t)
	left, err := s.PutMany(t.Context(), dials(60))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Equal(t, []string{"BatchWriteItem", "BatchWriteItem", "BatchWriteItem"}, l.sent())
	require.Len(t, l.everything(t), 60)
	at := keys("pk", "$app#v1#dial#g-7", "sk", "$app#v1#dial")
	stored := l.stored(t, at)
	require.Equal(t, `S"Dial"`, stored["__edd_e__"])
	require.Equal(t, `S"$app#v1#dial#g-7"`, stored["gsi1sk"])
	require.NotEmpty(t, stored["_w"])
	l.patch(t, at, "unknown", str("goes"))
	_, err = s.PutMany(t.Context(), []Dial{{ID: "g-7", Value: 70}})
	require.NoError(t, err)
	again := l.stored(t, at)
	require.NotContains(t, again, "unknown", "a batch replaces the item whole")
	require.NotContains(t, again, "gsi1pk", "and its index keys")
	require.NotEqual(t, stored["_w"], again["_w"])

	left, err = s.DeleteMany(t.Context(), append(dials(60), Dial{ID: "never there"}))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Empty(t, l.everything(t))
}

func TestBatch_OfValuesWithOneKeyTheLastCounts(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t)
	_, err := s.PutMany(t.Context(), []Dial{{ID: "a", Value: 1}, {ID: "b", Value: 2}, {ID: "a", Value: 3}})
	require.NoError(t, err)
	require.Equal(t, []string{"BatchWriteItem"}, l.sent())
	got, err := s.GetMany(t.Context(), []Dial{{ID: "a"}, {ID: "b"}}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, []int{3, 2}, []int{got[0].Value, got[1].Value})
}

func TestBatch_UnprocessedWritesAreSentAgain(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t)
	l.wire.Inject(faults.Nth(1, faults.Unprocessed))
	left, err := s.PutMany(t.Context(), dials(25))
	require.NoError(t, err)
	require.Empty(t, left)
	require.Len(t, l.sent(), 2)
	require.Len(t, l.everything(t), 25)
}

func TestBatch_WhatStaysUnwrittenIsReturned(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t, func(c *entity.Config) { c.MaxAttempts = 3 })
	l.wire.Inject(func(faults.Request) faults.Fault { return faults.Unprocessed })
	vs := dials(30)
	left, err := s.PutMany(t.Context(), vs)
	var unprocessed *entity.UnprocessedError
	require.ErrorAs(t, err, &unprocessed)
	require.Equal(t, 30, unprocessed.Count)
	require.Equal(t, vs, left)
	l.wire.Inject(nil)
	require.Empty(t, l.everything(t))
}

func TestBatch_LostAnswersAndThrottlesLoseNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Lost, faults.Throttle, faults.Drop, faults.InternalApplied} {
		l, s := open[Dial](t)
		l.wire.Inject(faults.Nth(2, fault))
		left, err := s.PutMany(t.Context(), dials(60))
		require.NoError(t, err, fault)
		require.Empty(t, left)
		require.Len(t, l.everything(t), 60)
	}
}

func TestBatch_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	left, err := s.PutMany(ctx, dials(60))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, left, 60)
	require.Empty(t, l.everything(t))
}

func TestBatch_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Dial](t)
	left, err := s.PutMany(t.Context(), []Dial{{ID: "a"}, {}})
	requireInput(t, err, "EDD-9101", "ID")
	require.Len(t, left, 2)
	_, err = s.DeleteMany(t.Context(), []Dial{{ID: "a"}, {}})
	requireInput(t, err, "EDD-9101", "ID")
	_, err = s.PutMany(t.Context(), []Dial{{ID: "a"}}, nil)
	requireInput(t, err, "EDD-9108", "")
	require.Empty(t, l.sent())
}

func TestBatch_WhatIsStoredMattersUnlessTheCallerIsBlind(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	left, err := s.PutMany(t.Context(), []Employee{alice()})
	requireInput(t, err, "EDD-9117", "TenantID")
	require.Len(t, left, 1)
	_, err = s.DeleteMany(t.Context(), []Employee{alice()})
	requireInput(t, err, "EDD-9117", "TenantID")
	require.Empty(t, l.sent())
	_, err = s.PutMany(t.Context(), []Employee{alice()}, entity.Unconditional())
	require.NoError(t, err)
	got, err := s.Get(t.Context(), alice(), entity.Consistent())
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version)
	require.Equal(t, got.CreatedAt, got.UpdatedAt)
}
