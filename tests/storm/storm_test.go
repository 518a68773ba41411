package storm_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// Sizes of the storm. In the long run there are ten seeds, and the first one has 10,000 operations on the four kinds together.
// DYNASTRATA_STORM_OPS sets another number of operations on each kind for every seed: with 10000 it takes minutes.
const (
	stormSeeds   = 10
	longStorm    = 2500
	stormOps     = 100
	stormWorkers = 32
	stormKeys    = 20
	stormEmails  = 10
	purgedKeys   = 4 // only these are purged, so that the others keep all of their history
)

// TestStorm_OfWritersOverABadLineBreaksNoPromise lets many goroutines write few items and fewer e-mail addresses while
// requests fail and answers are lost, and then compares the table with their results.
func TestStorm_OfWritersOverABadLineBreaksNoPromise(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	for i := range uint64(testsize.Pick(1, stormSeeds)) {
		usual := stormOps
		if i == 0 {
			usual = testsize.Pick(stormOps, longStorm)
		}
		ops := int(testsize.Number(t, "DYNASTRATA_STORM_OPS", uint64(usual)))
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Run("retain, free", func(t *testing.T) { t.Parallel(); rage[Free](t, seed+i, ops) })
			t.Run("retain, reserve", func(t *testing.T) { t.Parallel(); rage[Reserve](t, seed+i, ops) })
			t.Run("lock", func(t *testing.T) { t.Parallel(); rage[Locked](t, seed+i, ops) })
			t.Run("plain", func(t *testing.T) { t.Parallel(); rage[Plain](t, seed+i, ops) })
		})
	}
}

// storm is a world in which many write, and the results that they got.
type storm[T any] struct {
	*world[T]
	lives    [stormKeys]sync.RWMutex // see begun
	mu       sync.Mutex
	ticks    int // order of beginnings and ends
	acks     []*ack
	outcomes map[string]int
	errs     []error
}

// ack is a write that succeeded, or may have.
type ack struct {
	verb         string
	id           string
	began, ended int
	unsure       bool    // the error said that the write may have been applied
	state        written // what it says it wrote; of a delete or purge, nothing
	email, name  bool    // which fields it changed; with neither, it may have changed all
}

func rage[T any](t *testing.T, seed uint64, ops int) {
	s := &storm[T]{world: open[T](t, dbtest.Attempts(60)), outcomes: map[string]int{}}
	s.Wire.Inject(faults.Random(seed, 0.05, faults.Conflict, faults.Throttle, faults.Lost))
	var workers sync.WaitGroup
	for worker := range stormWorkers {
		workers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			for i := worker; i < ops; i += stormWorkers {
				s.act(rng, i)
			}
		})
	}
	workers.Wait()
	s.Wire.Inject(nil)
	t.Logf("seed %d: %d requests, %v", seed, len(s.Wire.Requests()), s.outcomes)
	require.Empty(t, s.errs)
	d := s.sound()
	require.Empty(t, s.denied(d))
	require.Positive(t, len(s.acks))
}

// begin opens an entry for a write.
func (s *storm[T]) begin(verb, id string) *ack {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks++
	return &ack{verb: verb, id: id, began: s.ticks}
}

// expected are the errors that a storm of correct writers meets.
func expected(err error) string {
	var taken *unique.ViolationError
	for _, class := range []struct {
		name string
		err  error
	}{
		{"deleted", entity.ErrDeleted}, {"not found", entity.ErrNotFound}, {"not deleted", entity.ErrNotDeleted}, {"exists", entity.ErrExists},
		{"condition", entity.ErrConditionFailed},
	} {
		if errors.Is(err, class.err) {
			return class.name
		}
	}
	if errors.As(err, &taken) {
		return "taken"
	}
	return ""
}

// end closes an entry with the result of the call.
func (s *storm[T]) end(a *ack, v T, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ticks++
	a.ended = s.ticks
	outcome := "ok"
	switch {
	case entity.IsAmbiguous(err):
		a.unsure, outcome = true, "unsure"
	case err != nil:
		if outcome = expected(err); outcome == "" {
			s.errs = append(s.errs, fmt.Errorf("%s %s: %w", a.verb, a.id, err))
		}
	default:
		a.state = written{*s.at(&v), s.version(v)}
	}
	s.outcomes[a.verb+": "+outcome]++
	if outcome == "ok" || a.unsure {
		s.acks = append(s.acks, a)
	}
}
