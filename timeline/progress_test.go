package timeline_test

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

func TestMeta_TellsOthersHowFarASortingBuildIs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	l.append("d-2", "south", 1, 2)
	v := view(l, l.sites())
	arrived, release := l.sent.Hold(func(r faults.Request) bool {
		return (r.Operation == "PutItem" || r.Operation == "UpdateItem") && bytes.Contains(r.Body, []byte(`"state"`))
	})
	done := make(chan error, 1)
	go func() {
		moved := false
		_, err := v.Rebuild(l.ctx, timeline.Segments(1), timeline.OnProgress(func(timeline.Meta) {
			if !moved { // a sign of life is due when the page has been read
				l.clock.forward(25 * time.Second)
			}
			moved = true
		}))
		done <- err
	}()
	<-arrived
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, timeline.InProgress, meta.RebuildStatus)
	require.NotNil(t, meta.RebuildProgress)
	assert.Equal(t, 0.99, *meta.RebuildProgress, "everything was read, and rows are not there yet")
	release()
	require.NoError(t, <-done)
}

func TestMeta_KeepsHowFarASortingBuildWasWhenItWasCutOff(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	ctx, cancel := context.WithCancel(l.ctx)
	defer cancel()
	_, err := v.Rebuild(ctx, timeline.Segments(1), timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildProgress != nil && *m.RebuildProgress > 0 {
			cancel()
		}
	}))
	require.ErrorIs(t, err, context.Canceled)
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, timeline.Interrupted, meta.RebuildStatus)
	require.NotNil(t, meta.RebuildProgress)
	assert.Equal(t, 0.99, *meta.RebuildProgress)
}
