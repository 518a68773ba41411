package timeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// broken is a fold of devices whose handler counts wrongly, and then fails at the readings of d-3.
func (l *lab) broken(err error) timeline.Projection[string, totals] {
	return l.devices(func(f *timeline.Projection[string, totals]) {
		f.Handlers[0] = timeline.On("reading.appended", byDevice, func(s *totals, e timeline.Event[reading]) error {
			if e.Payload.Device == "d-3" {
				return err
			}
			s.Sum += 1000
			return sum(s, e)
		})
	})
}

// TestResume_NeverKeepsRowsOfABuildThatFailedAtAnEvent mends a handler without raising Version, which Resume cannot see.
func TestResume_NeverKeepsRowsOfABuildThatFailedAtAnEvent(t *testing.T) {
	t.Parallel()
	poison := errors.New("poison")
	for _, failing := range []error{poison, fmt.Errorf("%w: %w", poison, context.Canceled)} {
		for name, between := range map[string]func(l *lab, mended *timeline.View[string, totals]) error{
			"nothing":  func(*lab, *timeline.View[string, totals]) error { return nil },
			"catch-up": func(l *lab, v *timeline.View[string, totals]) error { _, err := v.CatchUp(l.ctx); return err },
			"sweep":    func(l *lab, v *timeline.View[string, totals]) error { return v.Sweep(l.ctx) },
			"catch-up that is cut off": func(l *lab, v *timeline.View[string, totals]) error {
				l.sent.Inject(func(r faults.Request) faults.Fault {
					if r.Operation == "Scan" {
						return faults.Drop
					}
					return faults.None
				})
				_, err := v.CatchUp(l.ctx)
				l.sent.Inject(nil)
				if !errors.Is(err, faults.ErrInjected) {
					return fmt.Errorf("it is to fail by the network, not with %w", err)
				}
				return nil
			},
			"build that did not begin": func(l *lab, v *timeline.View[string, totals]) error {
				ctx, cancel := context.WithCancel(l.ctx)
				cancel()
				if _, err := v.Rebuild(ctx, timeline.Resume()); !errors.Is(err, context.Canceled) {
					return fmt.Errorf("it is not to begin: %w", err)
				}
				return nil
			},
		} {
			t.Run(fmt.Sprintf("%s, %v", name, failing), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				mended := view(l, l.devices())
				for i := range 7 {
					l.append(fmt.Sprintf("d-%d", i), "s", 1, 2)
				}
				rebuild(l, mended)
				wrong := view(l.connect(), l.broken(failing))
				_, err := wrong.Rebuild(l.ctx, timeline.Segments(1), timeline.CheckpointEvery(1))
				require.ErrorIs(t, err, poison)
				meta, err := wrong.Meta(l.ctx)
				require.NoError(t, err)
				require.Equal(t, timeline.Failed, meta.RebuildStatus)
				mended = view(l.connect(once), l.devices())
				require.NoError(t, between(l, mended))
				rebuild(l, mended, timeline.Segments(1), timeline.CheckpointEvery(1), timeline.Resume())
				assert.Equal(t, rows(l, mended, timeline.AsOf(at(100))), rows(l, mended))
			})
		}
	}
}

func TestFailure_IsStoredWhateverItsMessageAndTheLeaseGivenUp(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{
		"a rune at the cut": strings.Repeat("x", 800) + strings.Repeat("𝄞", 100),
		"another one":       strings.Repeat("x", 801) + strings.Repeat("𝄞", 100),
		"no UTF-8":          "before \xff\xfe after",
		"endless":           strings.Repeat("endless ", 1<<17),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-3", "s", 1)
			v := view(l, l.broken(errors.New(message)))
			for range 2 {
				_, err := v.Rebuild(l.ctx)
				var wrong *timeline.EventError
				require.ErrorAs(t, err, &wrong)
				require.NotErrorIs(t, err, timeline.ErrBuilding, "the lease was given up")
				meta, err := v.Meta(l.ctx)
				require.NoError(t, err)
				require.NotNil(t, meta.Failure)
				assert.True(t, utf8.ValidString(meta.Failure.Message))
				assert.LessOrEqual(t, len(meta.Failure.Message), 1000)
				assert.Equal(t, timeline.Handling, meta.Failure.Stage)
			}
		})
	}
}

func TestRebuild_GivesItsLeaseUpWhenAHandlerPanics(t *testing.T) {
	t.Parallel()
	for _, within := range []bool{false, true} {
		t.Run(fmt.Sprint("within ", within), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			for i := range 7 {
				l.append(fmt.Sprintf("d-%d", i), "s", 1)
			}
			fold := l.sites()
			if within {
				fold = l.devices()
			}
			good := fold.Handlers[0]
			fold.Handlers = []timeline.Handler[string, totals]{timeline.On("reading.appended", byDevice, func(s *totals, e timeline.Event[reading]) error {
				if s.Count = 1000; e.Payload.Device == "d-3" {
					panic("no")
				}
				return nil
			})}
			v := view(l, fold)
			for range 2 {
				require.PanicsWithValue(t, "no", func() { _, _ = v.Rebuild(l.ctx, timeline.CheckpointEvery(1), timeline.Segments(1), timeline.Resume()) })
				m, err := v.Meta(l.ctx)
				require.NoError(t, err)
				assert.Equal(t, timeline.Failed, m.RebuildStatus)
			}
			fold.Handlers[0] = good
			v = view(l.connect(), fold)
			rebuild(l, v, timeline.Resume())
			assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v), "no row of the handler that panicked is left")
		})
	}
}

func TestMeta_TellsABuildThatWasCutOffFromOneAtWorkByItsLease(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	status := func() timeline.Status {
		t.Helper()
		m, err := v.Meta(l.ctx)
		require.NoError(t, err)
		return m.RebuildStatus
	}
	held := false
	arrived, release := l.sent.Hold(func(r faults.Request) bool {
		row := !held && bytes.Contains(r.Body, []byte(`"state"`))
		held = held || row
		return row
	})
	done := make(chan error, 1)
	go func() {
		_, err := v.Rebuild(l.ctx)
		done <- err
	}()
	<-arrived
	assert.Equal(t, timeline.InProgress, status())
	l.clock.forward(time.Minute)
	assert.Equal(t, timeline.Interrupted, status(), "its lease has ended")
	release()
	<-done

	ctx, cancel := context.WithCancel(l.ctx)
	_, err := v.Rebuild(ctx, timeline.OnProgress(func(timeline.Meta) { cancel() }))
	require.ErrorIs(t, err, context.Canceled)
	assert.Equal(t, timeline.Interrupted, status(), "it gave its lease up")
	var while []timeline.Status
	_, err = v.CatchUp(l.ctx, timeline.OnProgress(func(m timeline.Meta) { while = append(while, m.RebuildStatus) }))
	require.NoError(t, err)
	require.NotEmpty(t, while)
	assert.NotContains(t, while, timeline.InProgress, "the lease is that of a catch-up")
	rebuild(l, v, timeline.Resume(), timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus != timeline.Complete {
			assert.Equal(t, timeline.InProgress, m.RebuildStatus)
		}
	}))
	assert.Equal(t, timeline.Complete, status())
}
