package timeline_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// A builder owns what it writes: one request that fails, whatever became of it, ends neither a build nor a catch-up.
func TestBuild_IsNotEndedByTheFailureOfOneRequest(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost, faults.Late) {
		t.Run(round.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-0", "s-0", 1, 2)
			l.append("d-1", "s-1", 1)
			for n := 1; ; n++ {
				v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = fmt.Sprintf("healed-%d", n) }))
				l.sent.Reset()
				l.sent.Inject(faults.Nth(n, round.At(n)))
				_, err := v.Rebuild(l.ctx, timeline.Segments(1))
				require.NoError(t, err, "request %d", n)
				l.append("d-0", "s-0", float64(10+n))
				_, err = v.CatchUp(l.ctx, timeline.Segments(1))
				require.NoError(t, err, "request %d", n)
				l.sent.Inject(nil)
				_, err = l.sent.Deliver()
				require.NoError(t, err)
				require.Equal(t, rows(l, v, timeline.AsOf(at(1000))), rows(l, v), "request %d", n)
				if n > len(l.sent.Requests()) {
					return
				}
			}
		})
	}
}
