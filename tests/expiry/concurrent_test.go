package expiry_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/unique"
)

// Programs with clocks that differ by up to two seconds claim, extend and take over two codes, all at the same time. Items live for
// some seconds, and every call takes one. At the end no two live items have a code, and nothing stays for ever.
func TestStorm_OfConcurrentPrograms(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	l := open[Pass](t, dbtest.Attempts(30))
	calls := testsize.Pick(20, 300)
	var done sync.WaitGroup
	var mu sync.Mutex
	outcomes := map[string]int{}
	for n := range 6 {
		store := l.other(time.Duration(n%3) * time.Second)
		behind := time.Duration(n%3) * time.Second
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		done.Go(func() {
			for range calls {
				now := l.Clock.Move(time.Second).Add(-behind).Unix()
				v := Pass{ID: ids[r.IntN(3)], Code: codes[r.IntN(3)], Ends: now + 1 + r.Int64N(12)}
				var err error
				verb := []string{"Create", "Put", "extend", "for ever", "code", "Delete"}[r.IntN(6)]
				switch verb {
				case "Create":
					err = dbtest.ErrorOf(store.Create(l.Ctx, v))
				case "Put":
					err = dbtest.ErrorOf(store.Put(l.Ctx, v))
				case "extend":
					err = dbtest.ErrorOf(store.Update(l.Ctx, Pass{ID: v.ID}, entity.Set(&l.f.Ends, v.Ends)))
				case "for ever":
					if r.IntN(4) == 0 {
						err = dbtest.ErrorOf(store.Update(l.Ctx, Pass{ID: v.ID}, entity.Remove(&l.f.Ends)))
					}
				case "code":
					err = dbtest.ErrorOf(store.Update(l.Ctx, Pass{ID: v.ID}, entity.Set(&l.f.Code, v.Code), entity.Set(&l.f.Ends, v.Ends)))
				case "Delete":
					err = store.Delete(l.Ctx, Pass{ID: v.ID})
				}
				outcome := "applied"
				switch {
				case err == nil:
				case errors.As(err, new(*unique.ViolationError)):
					outcome = "taken"
				case errors.Is(err, entity.ErrNotFound), errors.Is(err, entity.ErrExists):
					outcome = "not there"
				default:
					assert.ErrorIs(t, err, entity.ErrConflict, verb)
					outcome = "lost"
				}
				mu.Lock()
				outcomes[verb+" "+outcome]++
				mu.Unlock()
			}
		})
	}
	done.Wait()
	t.Log(fmt.Sprint(outcomes))
	m := stored(l.Items())
	require.Empty(t, m.problems(l.Clock.Now().Unix()))
	for id, states := range m.states { // of a life that goes on
		r, live := m.live(id, l.Clock.Now().Unix())
		require.True(t, !live || states[r.version].row == r, "%s: the state of version %d is not %v", id, r.version, r)
	}
}
