package timeline_test

import (
	"bytes"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

func once(c *entity.Config) { c.MaxAttempts = 1 }

// from makes every request fail from the n-th on, as the end of a program does.
func from(n int, f faults.Fault) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Index >= n-1 {
			return f
		}
		return faults.None
	}
}

// TestResume_AfterAnEndAtAnyRequest ends a program before, and right after, each request of a build, and lets another one go on.
func TestResume_AfterAnEndAtAnyRequest(t *testing.T) {
	t.Parallel()
	for name, fold := range map[string]func(*lab, string) timeline.Projection[string, totals]{
		"sorted": func(l *lab, name string) timeline.Projection[string, totals] {
			return l.sites(func(f *timeline.Projection[string, totals]) { f.Name = name })
		},
		"partition": func(l *lab, name string) timeline.Projection[string, totals] {
			return l.devices(func(f *timeline.Projection[string, totals]) { f.Name = name })
		},
	} {
		for _, round := range testsize.Rounds(faults.Drop, faults.Lost) {
			t.Run(fmt.Sprintf("%s %s", name, round), func(t *testing.T) {
				t.Parallel()
				l := newLab(t)
				for i := range testsize.Pick(4, 7) {
					l.append(fmt.Sprintf("d-%d", i), fmt.Sprintf("s-%d", i%3), 1, 3, 2)
				}
				clean := view(l, fold(l, "clean"))
				rebuild(l, clean)
				want := rows(l, clean)
				for n := 1; ; n++ {
					l.connect(once)
					name := fmt.Sprintf("crash-%d", n)
					v := view(l, fold(l, name))
					l.sent.Reset()
					l.sent.Inject(from(n, round.At(n)))
					_, err := v.Rebuild(l.ctx, timeline.Segments(2), timeline.CheckpointEvery(1))
					l.sent.Inject(nil)
					if err == nil {
						assert.Greater(t, n, 8, "a build takes more requests than that")
						return
					}
					began := l.clock.Now()
					l.clock.forward(time.Minute) // the lease ends
					l.append("x", "x", float64(n))
					l.connect()
					v = view(l, fold(l, name))
					before, err := v.Meta(l.ctx)
					require.NoError(t, err)
					meta := rebuild(l, v, timeline.Segments(2), timeline.Resume())
					got := rows(l, v)
					accepted := n                                                                                // events of the group x
					if before.RebuildStatus == timeline.Interrupted || before.RebuildStatus == timeline.Failed { // else it had not begun, or had come to its end unheard
						assert.True(t, meta.Through.Before(began), "it goes on with what was there when it began")
						accepted--
					}
					require.Equal(t, accepted, got["x"].State.Count, "ended at request %d", n)
					delete(got, "x")
					require.Equal(t, want, got, "ended at request %d", n)
					assert.Equal(t, timeline.Complete, meta.RebuildStatus)
				}
			})
		}
	}
}

func TestRebuild_BuilderThatWasTakenForDeadWritesNoMore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	held := false
	arrived, release := l.sent.Hold(func(r faults.Request) bool {
		row := (r.Operation == "PutItem" || r.Operation == "UpdateItem") && bytes.Contains(r.Body, []byte(`"state"`))
		first := row && !held
		held = held || row
		return first
	})
	done := make(chan error, 1)
	go func() {
		_, err := v.Rebuild(l.ctx)
		done <- err
	}()
	<-arrived
	_, err := v.Rebuild(l.ctx)
	var busy *timeline.BuildingError
	require.ErrorAs(t, err, &busy)
	assert.ErrorIs(t, err, timeline.ErrBuilding)
	l.clock.forward(time.Minute)
	l.append("d-2", "south", 3)
	rebuild(l, v)
	release()
	require.ErrorIs(t, <-done, timeline.ErrLeaseLost)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus)
	assert.EqualValues(t, 2, meta.Rows)
}

func TestRebuild_BySeveralAtOnceEqualsOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 20 {
		l.append(fmt.Sprintf("d-%d", i), fmt.Sprintf("s-%d", i%3), 1, 2)
	}
	v := view(l, l.devices())
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := v.Rebuild(l.ctx, timeline.Resume())
			errs <- err
		}()
	}
	built := 0
	for range 4 {
		if err := <-errs; err == nil {
			built++
		} else {
			assert.ErrorIs(t, err, timeline.ErrBuilding)
		}
	}
	assert.Positive(t, built)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
}

func TestRebuild_ServesTheOldRowsUntilTheNewOnesAreThere(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	rebuild(l, v)
	want := rows(l, v)
	l.append("d-1", "north", 3)
	swaps := 0
	_, err := v.Rebuild(l.ctx, timeline.OnProgress(func(m timeline.Meta) {
		if m.RebuildStatus != timeline.InProgress {
			swaps++
			return
		}
		assert.Equal(t, want, rows(l, v), "at %v", m.RebuildProgress)
	}))
	require.NoError(t, err)
	assert.Equal(t, 1, swaps)
	assert.Equal(t, 3, rows(l, v)["north"].State.Count)
}

func TestSweep_RemovesReplacedRowsAfterTheirReadersHadTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 30 {
		l.append(fmt.Sprintf("d-%d", i), "north", 1)
	}
	v := view(l, l.devices())
	rebuild(l, v)
	first, err := v.After(l.ctx, "", 10)
	require.NoError(t, err)
	rebuild(l, v)
	second, err := v.After(l.ctx, first.Next, 10)
	require.NoError(t, err, "the listing goes on with its own rows")
	assert.Equal(t, first.Meta.Generation, second.Meta.Generation)
	l.clock.forward(16 * time.Minute)
	require.NoError(t, v.Sweep(l.ctx))
	_, err = v.After(l.ctx, first.Next, 10)
	assert.ErrorIs(t, err, entity.ErrInvalidCursor)
	assert.Len(t, rows(l, v), 30)
	assert.Equal(t, 30, l.count("state"), "one generation is left")
}

// count is how many items of the table have an attribute.
func (l *lab) count(attr string) (n int) {
	l.t.Helper()
	for _, it := range l.scan() {
		if _, ok := it[attr]; ok {
			n++
		}
	}
	return n
}

func TestSweep_EarlierGenerationsLeaveTheManifest(t *testing.T) {
	t.Parallel()
	retired := func(l *lab) (n int) {
		for _, it := range l.scan() {
			if list, ok := it["retired"].(*types.AttributeValueMemberL); ok {
				n = len(list.Value)
			}
		}
		return n
	}
	t.Run("of builds that follow each other fast", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.append("d-1", "north", -1)
		v := view(l, l.sites())
		for range 55 {
			rebuild(l, v, timeline.Segments(1))
		}
		assert.LessOrEqual(t, retired(l), 51)
		assert.LessOrEqual(t, l.count("state"), 52)
	})
	t.Run("of a clock that was ahead", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.append("d-1", "north", -1)
		fast := l.ahead(10 * 365 * day)
		rebuild(l, fast)
		rebuild(l, fast)
		v := view(l, l.sites())
		require.NoError(t, v.Sweep(l.ctx))
		assert.Equal(t, 1, retired(l))
		l.clock.forward(16 * time.Minute)
		require.NoError(t, v.Sweep(l.ctx))
		assert.Zero(t, retired(l))
		assert.Equal(t, 1, l.count("state"))
	})
}

// TestRebuild_RepeatsWritesOfUnknownOutcome loses the answer to the first attempt at each row and page.
func TestRebuild_RepeatsWritesOfUnknownOutcome(t *testing.T) {
	t.Parallel()
	l := newLab(t, once)
	for i := range 3 {
		l.append(fmt.Sprintf("d-%d", i), "s", -1)
	}
	v := view(l, l.devices())
	lost := map[string]bool{}
	var mu sync.Mutex
	l.sent.Inject(func(r faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		kind := ""
		for _, what := range []string{`"state"`, "timelinepages"} {
			if (r.Operation == "PutItem" || r.Operation == "UpdateItem") && bytes.Contains(r.Body, []byte(what)) {
				kind = what
			}
		}
		if kind == "" || lost[kind] {
			return faults.None
		}
		lost[kind] = true
		return faults.Lost
	})
	rebuild(l, v)
	assert.Len(t, lost, 2)
	assert.Equal(t, rows(l, v, timeline.AsOf(l.clock.Now())), rows(l, v))
}
