package unique_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
)

// between runs Repair, and write just before the first transaction of it arrives.
func between[T any](t *testing.T, b *bed, l *unique.Lookup[T], write func(*entity.Store[T])) unique.Repaired {
	t.Helper()
	beside, err := entity.New[T](b.open(t, faults.New(b.raw.Options().HTTPClient), 0))
	require.NoError(t, err)
	arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
	type result struct {
		done unique.Repaired
		err  error
	}
	results := make(chan result, 1)
	go func() {
		done, err := l.Repair(t.Context())
		results <- result{done, err}
	}()
	select {
	case <-arrived:
	case r := <-results:
		require.FailNow(t, "nothing was to be repaired", "error: %v", r.err)
	}
	write(beside)
	release()
	r := <-results
	require.NoError(t, r.err)
	return r.done
}

func TestRepair_DoesNotTakeAValueFromAnItemThatClaimsItMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBed(t, "pk", "sk")
	s, l := prepare[Person](t, b, "email")
	_, err := s.Create(t.Context(), Person{ID: "p", Email: "x"})
	require.NoError(t, err)
	b.remove(t, b.sentinel(t, "x"))
	done := between(t, b, l, func(s *entity.Store[Person]) {
		_, err := s.Create(t.Context(), Person{ID: "q", Email: "x"})
		require.NoError(t, err, "nobody claims it")
	})
	require.Empty(t, done.Fixed)
	require.Equal(t, []string{"conflict of 2 items"}, kinds(done.Remaining))
	require.Equal(t, "$app#v1#person#q", str(b.sentinel(t, "x")["_entity_pk"]))
}

func TestRepair_LeavesAValueThatADeletedCopyHasReservedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newBed(t, "pk", "sk")
	s, l := prepare[Member](t, b, "handle")
	_, err := s.Create(t.Context(), Member{ID: "m", Handle: "x"})
	require.NoError(t, err)
	b.remove(t, b.item(t, "m")) // without a copy
	done := between(t, b, l, func(s *entity.Store[Member]) {
		_, err := s.Create(t.Context(), Member{ID: "m", Handle: "x"})
		require.NoError(t, err)
		require.NoError(t, s.Delete(t.Context(), Member{ID: "m"}))
	})
	require.Empty(t, done.Fixed)
	require.NotNil(t, b.sentinel(t, "x"))
	r, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, unique.Report{Items: 1, Sentinels: 1}, r)
}
