package timeline_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

func TestRebuild_FoldsEventsInTimeOrder(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, projection timeline.Projection[string, totals]) {
		v := view(l, projection)
		l.Clock.Move(10 * time.Minute)
		l.append("d-1", "d-1", 5, 1, 3) // two come late
		l.append("d-2", "d-2", 2)
		meta := rebuild(l, v)
		assert.Equal(t, timeline.Complete, meta.RebuildStatus)
		assert.True(t, meta.HistoryComplete)
		assert.EqualValues(t, 2, meta.Rows)
		assert.EqualValues(t, 4, meta.Counters.Folded)
		got := rows(l, v)
		require.Len(t, got, 2)
		assert.Equal(t, []int{10, 30, 50}, got["d-1"].State.Order)
		assert.Equal(t, at(5), *got["d-1"].State.Last)
		assert.EqualValues(t, 3, got["d-1"].Events)
		assert.Equal(t, at(1), got["d-1"].First)
		assert.Equal(t, 20, got["d-2"].State.Sum)
		assert.Equal(t, got, rows(l, v, timeline.AsOf(at(10))), "a replay gives what rows hold")
		past := rows(l, v, timeline.AsOf(at(3)))
		assert.Equal(t, []int{10, 30}, past["d-1"].State.Order, "as of a moment, which counts")
		assert.Equal(t, 20, past["d-2"].State.Sum)
		row, meta, err := v.Get(l.Ctx, "d-1", timeline.FullReplay(), timeline.AsOf(at(1)))
		require.NoError(t, err)
		assert.Equal(t, []int{10}, row.State.Order)
		assert.True(t, meta.HistoryComplete)
	})
}

// TestResume_AfterACrashAtAnyRequestEqualsOneBuild ends a program before, and right after, each request of a build, and lets another one go on.
func TestResume_AfterACrashAtAnyRequestEqualsOneBuild(t *testing.T) {
	t.Parallel()
	for name, projection := range map[string]func(*lab, string) timeline.Projection[string, totals]{
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
				clean := view(l, projection(l, "clean"))
				rebuild(l, clean)
				want := rows(l, clean)
				for n, crashes := 1, 1; ; n, crashes = n+testsize.Pick(5, 1), crashes+1 {
					l.connect(once)
					name := fmt.Sprintf("crash-%d", n)
					v := view(l, projection(l, name))
					l.Wire.Reset()
					l.Wire.Inject(from(n, round.At(n)))
					_, err := v.Rebuild(l.Ctx, timeline.Segments(2), timeline.CheckpointEvery(1))
					l.Wire.Inject(nil)
					if err == nil {
						assert.Greater(t, n, 8, "a build takes more requests than that")
						return
					}
					began := l.Clock.Now()
					l.Clock.Move(time.Minute) // the lease ends
					l.append("x", "x", float64(n))
					l.connect()
					v = view(l, projection(l, name))
					before := metaOf(l, v)
					meta := rebuild(l, v, timeline.Segments(2), timeline.Resume())
					got := rows(l, v)
					accepted := crashes                                                                          // events of the group x
					if before.RebuildStatus == timeline.Interrupted || before.RebuildStatus == timeline.Failed { // otherwise the build had not started, or had finished without an answer
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

func TestRebuild_WithoutTheLeaseWritesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	slow := func() error { _, err := v.Rebuild(l.Ctx); return err }
	require.ErrorIs(t, l.Overtake(dbtest.First(isRow), slow, func() {
		_, err := v.Rebuild(l.Ctx)
		var busy *timeline.BuildingError
		require.ErrorAs(t, err, &busy)
		assert.ErrorIs(t, err, timeline.ErrBuilding)
		l.Clock.Move(time.Minute)
		l.append("d-2", "south", 3)
		rebuild(l, v)
	}), timeline.ErrLeaseLost)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
	meta := metaOf(l, v)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus)
	assert.EqualValues(t, 2, meta.Rows)
}

func TestRebuild_ByConcurrentBuildersEqualsOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill(20, 1, 2)
	v := view(l, l.devices())
	errs := make(chan error)
	for range 4 {
		go func() {
			_, err := v.Rebuild(l.Ctx, timeline.Resume())
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

// TestRebuild_RetriesWritesWithUnknownOutcome loses the first attempt at rows and at a page, or its answer. A single row is
// written alone, several in a transaction.
func TestRebuild_RetriesWritesWithUnknownOutcome(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{1, 3} {
		for _, fault := range []faults.Fault{faults.Lost, faults.Drop} {
			t.Run(fmt.Sprint(rows, " ", fault), func(t *testing.T) {
				t.Parallel()
				retriesUnknown(t, rows, fault)
			})
		}
	}
}

func retriesUnknown(t *testing.T, n int, fault faults.Fault) {
	l := newLab(t, once)
	for i := range n {
		l.append(fmt.Sprintf("d-%d", i), "s", -1)
	}
	v := view(l, l.devices())
	lost := map[string]bool{}
	var mu sync.Mutex
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		kind := ""
		for _, what := range []string{`"state"`, "timelinepages"} {
			if isPut(r) && bytes.Contains(r.Body, []byte(what)) {
				kind = what
			}
		}
		if kind == "" || lost[kind] {
			return faults.None
		}
		lost[kind] = true
		return fault
	})
	rebuild(l, v)
	assert.Len(t, lost, 2)
	assert.Equal(t, rows(l, v, timeline.AsOf(l.Clock.Now())), rows(l, v))
	for i := range n {
		l.append(fmt.Sprintf("d-%d", i), "s", 1)
	}
	lost = map[string]bool{"timelinepages": true}
	catchUp(l, v)
	assert.Len(t, lost, 2)
	assert.Equal(t, rows(l, v, timeline.AsOf(l.Clock.Now())), rows(l, v))
}

// TestResume_DropsBuildsThatFailedAtAnEvent mends a handler without raising Version, which Resume cannot see.
func TestResume_DropsBuildsThatFailedAtAnEvent(t *testing.T) {
	t.Parallel()
	poison := errors.New("poison")
	for _, failing := range []error{poison, fmt.Errorf("%w: %w", poison, context.Canceled)} {
		for name, between := range map[string]func(l *lab, mended *timeline.View[string, totals]) error{
			"nothing":  func(*lab, *timeline.View[string, totals]) error { return nil },
			"catch-up": func(l *lab, v *timeline.View[string, totals]) error { _, err := v.CatchUp(l.Ctx); return err },
			"sweep":    func(l *lab, v *timeline.View[string, totals]) error { return v.Sweep(l.Ctx) },
			"build that did not begin": func(l *lab, v *timeline.View[string, totals]) error {
				ctx, cancel := context.WithCancel(l.Ctx)
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
				l.fill(5, 1, 2)
				rebuild(l, mended)
				wrong := view(l.connect(), l.broken(failing))
				_, err := wrong.Rebuild(l.Ctx, timeline.Segments(1), timeline.CheckpointEvery(1))
				require.ErrorIs(t, err, poison)
				meta := metaOf(l, wrong)
				require.Equal(t, timeline.Failed, meta.RebuildStatus)
				mended = view(l.connect(once), l.devices())
				require.NoError(t, between(l, mended))
				rebuild(l, mended, timeline.Segments(1), timeline.CheckpointEvery(1), timeline.Resume())
				assert.Equal(t, rows(l, mended, timeline.AsOf(at(100))), rows(l, mended))
			})
		}
	}
}

func TestRebuild_StoresAnyFailureAndReleasesTheLease(t *testing.T) {
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
				_, err := v.Rebuild(l.Ctx)
				var wrong *timeline.EventError
				require.ErrorAs(t, err, &wrong)
				require.NotErrorIs(t, err, timeline.ErrBuilding, "the lease was given up")
				meta := metaOf(l, v)
				require.NotNil(t, meta.Failure)
				assert.True(t, utf8.ValidString(meta.Failure.Message))
				assert.LessOrEqual(t, len(meta.Failure.Message), 1000)
				assert.Equal(t, timeline.Handling, meta.Failure.Stage)
			}
		})
	}
}

// A builder owns what it writes: one request that fails, whatever became of it, ends neither a build, a job nor a catch-up.
func TestRebuild_SurvivesTheFailureOfAnyRequest(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost, faults.Late) {
		t.Run(round.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-0", "s-0", 1, 2)
			l.append("d-1", "s-1", 1)
			for n := 1; ; n += testsize.Pick(4, 1) {
				v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Name = fmt.Sprintf("healed-%d", n) }))
				l.Wire.Reset()
				l.Wire.Inject(faults.Nth(n, round.At(n)))
				_, err := v.Rebuild(l.Ctx, timeline.Segments(1))
				require.NoError(t, err, "request %d", n)
				_, err = finished(l, v)
				require.NoError(t, err, "request %d", n)
				l.append("d-0", "s-0", float64(10+n))
				_, err = v.CatchUp(l.Ctx, timeline.Segments(1))
				require.NoError(t, err, "request %d", n)
				l.Wire.Inject(nil)
				_, err = l.Wire.Deliver()
				require.NoError(t, err)
				require.Equal(t, rows(l, v, timeline.AsOf(at(1000))), rows(l, v), "request %d", n)
				if n > len(l.Wire.Requests()) {
					return
				}
			}
		})
	}
}

func TestRebuild_ByAClockBehindKeepsServedEvents(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	right, slow := view(l, l.sites()), l.ahead(-20*time.Minute)
	l.append("d-1", "north", 1)
	l.append("d-2", "south", 2)
	before := rebuild(l, right)
	served := rows(l, right)
	meta := rebuild(l, slow)
	assert.Equal(t, served, rows(l, right))
	assert.False(t, meta.Through.Before(before.Through))
}

func TestRebuild_LateRenewalDoesNotUndoTheSwap(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	_, err := v.Rebuild(l.Ctx)
	require.NoError(t, err)
	l.append("d-1", "north", 2)
	l.Wire.Reset()
	rebuild(l, v)
	want, saves := rows(l, v), 0
	for _, r := range l.Wire.Requests() { // each save is delayed, and sent again after the build
		if isManifest(r) {
			saves++
			l.resend(r)
		}
	}
	assert.GreaterOrEqual(t, saves, 3)
	assert.Equal(t, want, rows(l, v))
	meta := metaOf(l, v)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus)
	require.Equal(t, 2, want["north"].State.Count)
}

// many appends one event to each of n groups, and forgets the requests.
func (l *lab) many(n int) {
	l.T.Helper()
	evs := make([]reading, n)
	for i := range evs {
		device := fmt.Sprintf("d-%03d", i)
		evs[i] = reading{Device: device, Site: device, At: at(1), Value: 1}
	}
	l.load(evs)
	l.Wire.Reset()
}

func TestBuilders_ReadAndWriteAHundredRowsWithARequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.many(250)
	v := view(l, l.devices())
	rebuild(l, v, timeline.Segments(1))
	assert.Equal(t, 3, l.Wire.Count("TransactWriteItems"), "100 rows in each")
	assert.Less(t, len(l.Wire.Requests()), 25)
	l.Wire.Reset()
	_, err := v.CatchUp(l.Ctx)
	require.NoError(t, err)
	assert.Equal(t, 3, l.Wire.Count("BatchGetItem"))
	assert.Less(t, len(l.Wire.Requests()), 12, "nothing new: no request for a group")

	l.append("d-000", "d-000", 2)
	l.Wire.Reset()
	_, err = v.CatchUp(l.Ctx)
	require.NoError(t, err)
	assert.Zero(t, l.Wire.Count("TransactWriteItems"), "one row is a plain write, for half the units")
	assert.Less(t, len(l.Wire.Requests()), 15)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
}

// long is a state of which a transaction takes ten.
type long struct {
	Text string `dynamodbav:"text"`
}

func TestRebuild_RowsThatOneTransactionDoesNotTakeAreWrittenAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.many(15)
	p := timeline.Projection[string, long]{
		Name: "long", Version: 1, Source: timeline.Series(l.readings),
		Handlers: []timeline.Handler[string, long]{
			timeline.On("reading.appended", func(r reading) string { return r.Device }, func(s *long, _ timeline.Event[reading]) error {
				s.Text = strings.Repeat("x", 350_000)
				return nil
			}),
		},
	}
	v, err := timeline.New(l.DB, p)
	require.NoError(t, err)
	l.CreateTables()
	meta, err := v.Rebuild(l.Ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 15, meta.Rows)
	assert.Zero(t, l.Wire.Count("TransactWriteItems"))
}
