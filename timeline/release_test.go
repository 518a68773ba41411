package timeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestAsKnownAt_RowsLiveAsLongAsWasKnownThen(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Retention = time.Hour }))
	l.append("d-1", "north", -1)
	known := l.clock.Now()
	l.clock.forward(3 * time.Hour)
	assert.Contains(t, rows(l, v, timeline.AsKnownAt(known)), "north", "its retention had not ended")
	_, _, err := v.Get(l.ctx, "north", timeline.FullReplay(), timeline.AsKnownAt(known))
	require.NoError(t, err)
	assert.Empty(t, rows(l, v, timeline.AsKnownAt(l.clock.Now())))
	assert.Empty(t, rows(l, v, timeline.AsKnownAt(known), timeline.AsOf(at(-2))), "it had not happened")
	assert.Empty(t, rows(l, v, timeline.AsKnownAt(l.clock.Now()), timeline.AsOf(at(120))))
}

func TestSweep_GivesTheLeaseUpWhenItFails(t *testing.T) {
	t.Parallel()
	l := newLab(t, once)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	rebuild(l, v)
	rebuild(l, v)
	l.clock.forward(20 * time.Minute)
	l.sent.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "BatchWriteItem" || r.Operation == "DeleteItem" {
			return faults.Drop
		}
		return faults.None
	})
	require.ErrorIs(t, v.Sweep(l.ctx), faults.ErrInjected)
	l.sent.Inject(nil)
	meta, err := v.Rebuild(l.ctx)
	require.NoError(t, err, "nobody holds the lease")
	assert.Nil(t, meta.Failure, "what could not be removed is no fault of the rows")
}

func TestSweep_GivesTheLeaseUpWhenItIsCanceled(t *testing.T) {
	t.Parallel()
	l := newLab(t, once)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	rebuild(l, v)
	rebuild(l, v)
	l.clock.forward(20 * time.Minute)
	ctx, cancel := context.WithCancel(l.ctx)
	arrived, release := l.sent.Hold(func(r faults.Request) bool { return r.Operation == "BatchWriteItem" || r.Operation == "DeleteItem" })
	defer release()
	done := make(chan error, 1)
	go func() { done <- v.Sweep(ctx) }()
	<-arrived
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	release()
	_, err := v.Rebuild(l.ctx)
	require.NoError(t, err, "nobody holds the lease")
}

func TestHistoryFloor_IsBehindTheSecondThatIsPassing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	series, err := timeseries.New[short](l.db)
	require.NoError(t, err)
	v := view(l, timeline.Projection[string, totals]{
		Name: "short", Version: 1, Source: timeline.Series(series), Retention: 24 * time.Hour,
		Handlers: []timeline.Handler[string, totals]{timeline.Ensure[short, string, totals]("short.appended", func(s short) string { return s.ID })},
	})
	happened := noon.Add(800 * time.Millisecond)
	_, err = series.Append(l.ctx, short{ID: "s", At: happened})
	require.NoError(t, err)
	l.clock.forward(24*time.Hour + 500*time.Millisecond) // the event was there less than a day ago, and has ended
	require.Empty(t, rows(l, v, timeline.AsOf(l.clock.Now())))
	_, _, err = v.Get(l.ctx, "s", timeline.FullReplay(), timeline.AsOf(happened))
	var gap *timeline.HistoryExpiredError
	require.ErrorAs(t, err, &gap)
	assert.Equal(t, noon.Add(time.Second), gap.Floor)
	_, _, err = v.Get(l.ctx, "s", timeline.FullReplay(), timeline.AsOf(gap.Floor))
	require.ErrorIs(t, err, entity.ErrNotFound)
}
