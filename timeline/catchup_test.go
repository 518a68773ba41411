package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestCatchUp_AfterAnEndAtAnyRequestIsExact(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost) {
		t.Run(round.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			v := view(l, l.sites())
			l.append("d-0", "s-0", 50)
			rebuild(l, v)
			for n := 1; ; n++ {
				for i := range 3 { // a new group, one with a late event, one that goes on
					l.append(fmt.Sprintf("d-%d-%d", n, i), fmt.Sprintf("s-%d", []int{n, 0, 0}[i]), []float64{1, float64(n), 50 + float64(n)}[i])
				}
				l.connect(once)
				v = view(l, l.sites())
				l.sent.Reset()
				l.sent.Inject(from(n, round.At(n)))
				_, err := v.CatchUp(l.ctx, timeline.Segments(1))
				l.sent.Inject(nil)
				if err == nil {
					assert.Greater(t, n, 6)
					break
				}
				l.clock.forward(time.Duration(1+20*(n%2)) * time.Minute) // the lease ends; now and then writes are no longer on their way
				l.connect()
				v = view(l, l.sites())
				meta, err := v.CatchUp(l.ctx)
				require.NoError(t, err)
				want := rows(l, v, timeline.AsOf(at(1000)))
				require.Equal(t, want, rows(l, v), "ended at request %d", n)
				require.EqualValues(t, len(want), meta.Rows, "ended at request %d", n)
				page, err := v.Page(l.ctx, 1, 100)
				require.NoError(t, err)
				require.Len(t, page.Rows, len(want))
			}
		})
	}
}

// seed is that of DYNASTRATA_TEST_SEED, or a new one, and is printed.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("DYNASTRATA_TEST_SEED"); text != "" {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err)
	}
	t.Logf("seed %d (DYNASTRATA_TEST_SEED)", n)
	return n
}

func TestCatchUp_WhileEventsComeInLosesNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	random := rand.New(rand.NewPCG(seed(t), 0))
	sites, devices := view(l, l.sites()), view(l, l.devices())
	rebuild(l, sites)
	rebuild(l, devices)
	var writers, builders sync.WaitGroup
	events := testsize.Pick(24, 60)
	for w := range 4 {
		minutes := random.Perm(events)
		writers.Go(func() {
			for _, m := range minutes { // in no order: most come late
				ev := reading{Device: fmt.Sprintf("d-%d", m%5), Site: fmt.Sprintf("s-%d", m%3), At: at(float64(m) + float64(w)/10), Value: m}
				if _, err := l.readings.Append(l.ctx, ev, timeseries.WithoutCurrent()); err != nil {
					assert.NoError(t, err)
				}
			}
		})
	}
	done := make(chan struct{})
	for i, v := range []*timeline.View[string, totals]{sites, devices} {
		builders.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				var err error
				if n%5 == 4 && i == 1 {
					_, err = v.Rebuild(l.ctx)
				} else {
					_, err = v.CatchUp(l.ctx)
				}
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	close(done)
	builders.Wait()
	for _, v := range []*timeline.View[string, totals]{sites, devices} {
		_, err := v.CatchUp(l.ctx)
		require.NoError(t, err)
		got := rows(l, v)
		total := 0
		for _, r := range got {
			total += r.State.Count
		}
		assert.Equal(t, 4*events, total)
		assert.Equal(t, rows(l, v, timeline.AsOf(at(1000))), got)
	}
}
