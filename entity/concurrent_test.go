package entity_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// at runs f on n goroutines at once.
func at(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

// Writers that read first never undo each other, and every half is that of the last writer's item.
func TestConcurrent_ReadModifyPutsLoseNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t, func(c *entity.Config) { c.MaxAttempts = 200 })
	p := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	const writers, rounds = 4, 3
	errs := make(chan error, writers*rounds)
	at(writers, func(i int) {
		for range rounds {
			changes := []entity.UpdateOption{entity.Add(&p.Count, 1), entity.Add(&p.Rank, 1)} // reads first
			if i%2 == 0 {
				changes = []entity.UpdateOption{entity.Add(&p.Count, 1), entity.ListAppend(&p.Log, "x")} // in place
			}
			_, err := s.Update(t.Context(), Profile{ID: "a"}, changes...)
			errs <- err
		}
	})
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	got, err := s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, writers*rounds, got.Count)
	require.Len(t, got.Log, writers*rounds/2)
	require.Equal(t, 1+writers*rounds/2, got.Rank)
	require.Equal(t, profileHalf("red", "7"), l.stored(t, profileKey)["gsi1pk"])
}

func TestConcurrent_OneOfManyCreatesWins(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	op := s.Op().Create(alice())
	errs := make(chan error, 8)
	at(cap(errs), func(i int) {
		if i%2 == 0 {
			errs <- l.db.Transact(t.Context(), op) // one op may run many times at once
		} else {
			_, err := s.Create(t.Context(), alice())
			errs <- err
		}
	})
	won := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			won++
		} else {
			require.ErrorIs(t, err, entity.ErrExists)
		}
	}
	require.Equal(t, 1, won)
}

func TestConcurrent_NewIsOneStore(t *testing.T) {
	t.Parallel()
	db := paper(t)
	stores := make([]*entity.Store[Employee], 8)
	at(len(stores), func(i int) {
		stores[i] = entity.Must(entity.New[Employee](db))
		_ = stores[i].Op().Update(employeeKey("a"), rename("x")).String()
		_ = stores[i].Query(employeeKey("a")).String()
	})
	for _, s := range stores {
		require.Same(t, stores[0], s)
	}
}
