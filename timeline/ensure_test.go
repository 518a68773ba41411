package timeline_test

import (
	"context"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/timeline"
)

func TestEnsure_BuildsWhatTheRowsAreNot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "d-1", 5, 1, 3)
	first := view(l, l.devices())
	built, err := first.Ensure(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, timeline.Complete, built.RebuildStatus)
	assert.Len(t, rows(l, first), 1)

	requests := len(l.Wire.Requests())
	again, err := first.Ensure(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, built.Generation, again.Generation)
	assert.Len(t, l.Wire.Requests()[requests:], 1, "one read")

	second := view(l.connect(), l.devices(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	changed, err := second.Ensure(l.Ctx)
	require.NoError(t, err)
	assert.NotEqual(t, built.Generation, changed.Generation)
	assert.Len(t, rows(l, second), 1)

	meta, err := first.Ensure(l.Ctx)
	require.ErrorIs(t, err, timeline.ErrRebuildRequired, "a program of an earlier release")
	assert.Equal(t, timeline.Stale, meta.RebuildStatus)
	assert.Equal(t, changed.Generation, metaOf(l, second).Generation)
}

// Of several processes, one builds. The others return its rows.
func TestEnsure_BuildsOnceAmongProcesses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill(30, 1, 2, 3)
	var all sync.WaitGroup
	metas := make([]timeline.Meta, 6)
	for i := range metas {
		v := view(l.connect(), l.devices())
		all.Go(func() {
			var err error
			metas[i], err = v.Ensure(l.Ctx)
			assert.NoError(t, err)
		})
	}
	all.Wait()
	for _, m := range metas {
		assert.Equal(t, metas[0].Generation, m.Generation)
		assert.EqualValues(t, 30, m.Rows)
	}
	assert.Equal(t, 4, l.rowWrites(), "the rows of each of four segments are written once")
}

func TestEnsure_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx, cancel := context.WithCancel(l.Ctx)
	cancel()
	_, err := view(l, l.devices()).Ensure(ctx)
	require.ErrorIs(t, err, context.Canceled)
}
