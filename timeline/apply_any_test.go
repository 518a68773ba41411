package timeline_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// Changes come late, twice and in any order, to two consumers, with builds, jobs and catch-ups between and at the same time,
// and requests fail. Each is delivered at last. Then the rows are those of the history.
func TestApply_OfAnyDeliveryEqualsARebuild(t *testing.T) {
	t.Parallel()
	l, cases := newLab(t), 0
	testsize.Check(t, testsize.Pick(2, 30), func(rt *rapid.T) {
		l.apart(&cases)
		p := l.devices()
		if rapid.Bool().Draw(rt, "sorted") {
			p = l.sites()
		}
		p.Partitions = rapid.SampledFrom([]int{0, 3}).Draw(rt, "partitions")
		v := view(l, p)
		drawn := 0
		some := func(label string) (batch []timeline.Change) { // any changes, some of them twice
			all := l.arrivals()
			if len(all) == 0 {
				return nil
			}
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 1, 12).Draw(rt, label) {
				batch = append(batch, all[i])
			}
			return batch
		}
		deliver := func(batch []timeline.Change) { _, _ = v.Apply(l.Ctx, batch...) } // what fails comes again
		steps := map[string]func(){
			"append": func() {
				for range rapid.IntRange(1, 5).Draw(rt, "events") {
					drawn++
					behind := time.Duration(rapid.SampledFrom([]int{0, 0, 0, 5, 40}).Draw(rt, "slow clock")) * time.Minute
					l.Clock.Move(-behind)
					device := rapid.IntRange(0, 2).Draw(rt, "device")
					l.append(fmt.Sprintf("d-%d", device), fmt.Sprintf("s-%d", device%2), float64(rapid.IntRange(0, 9).Draw(rt, "minute"))+float64(drawn)/1000)
					l.Clock.Move(behind)
				}
			},
			"deliver": func() { deliver(some("batch")) },
			"replay":  func() { deliver(l.arrivals()) },
			"two consumers": func() {
				var both sync.WaitGroup
				for _, batch := range [][]timeline.Change{some("one"), some("other")} {
					both.Go(func() { deliver(batch) })
				}
				both.Wait()
			},
			"build and consumer": func() {
				batch := some("batch")
				var both sync.WaitGroup
				both.Go(func() { _, _ = v.Rebuild(l.Ctx, timeline.Segments(1)) })
				both.Go(func() { deliver(batch) })
				both.Wait()
			},
			"catch-up and consumer": func() {
				batch := some("batch")
				var both sync.WaitGroup
				both.Go(func() { _, _ = v.CatchUp(l.Ctx, timeline.Segments(1)) })
				both.Go(func() { deliver(batch) })
				both.Wait()
			},
			"job and consumer": func() {
				batch, opts := some("batch"), []timeline.BuildOption(nil)
				if rapid.Bool().Draw(rt, "resume") {
					opts = append(opts, timeline.Resume())
				}
				var both sync.WaitGroup
				both.Go(func() { _, _ = finished(l, v, opts...) })
				both.Go(func() { deliver(batch) })
				both.Wait()
			},
			"resume": func() { _, _ = v.Rebuild(l.Ctx, timeline.Resume(), timeline.Segments(1)) },
			"wait":   func() { l.Clock.Move(time.Duration(rapid.IntRange(1, 30).Draw(rt, "minutes")) * time.Minute) },
		}
		names := []string{"append", "append", "deliver", "deliver", "replay", "two consumers", "build and consumer", "job and consumer", "catch-up and consumer", "resume", "wait"}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 5, 20).Draw(rt, "steps") {
			if rapid.IntRange(0, 2).Draw(rt, "faults") == 0 && name != "append" {
				l.Wire.Inject(faults.Random(rapid.Uint64().Draw(rt, "seed"), 0.15, faults.Drop, faults.Lost, faults.Throttle))
			}
			steps[name]()
			l.Wire.Inject(nil)
		}
		l.Clock.Move(time.Minute) // leases end
		if metaOf(l, v).Generation == "" {
			rebuild(l, v)
		}
		for _, c := range some("last order") { // one by one
			apply(l, v, c)
		}
		apply(l, v, l.arrivals()...)
		if p.Name == "sites" { // late events wait for it
			catchUp(l, v)
		}
		want := rows(l, v, timeline.AsOf(at(1e6)))
		require.Equal(rt, want, rows(l, v), "delivered")
		if p.Name == "devices" {
			catchUp(l, v)
			require.Equal(rt, want, rows(l, v), "caught up")
		}
		require.Len(rt, pageWalk(l, v, 2), len(want), "listed")
		rebuild(l, v)
		require.Equal(rt, want, rows(l, v), "rebuilt")
	})
}

// overtakeAt runs slow, and fast when the n-th request of slow is about to be sent. It reports whether slow had so many.
func (l *lab) overtakeAt(n int, slow func() error, fast func()) (bool, error) {
	l.T.Helper()
	var mu sync.Mutex
	seen := 0
	arrived, release := l.Wire.Hold(func(faults.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		seen++
		return seen == n
	})
	defer release()
	done := make(chan error, 1)
	go func() { done <- slow() }()
	select {
	case <-arrived:
	case err := <-done:
		return false, err
	}
	fast()
	release()
	return true, <-done
}

// A build or catch-up that is held before any of its requests, while events come and are applied, loses none of them: whether
// it is the first Apply of the view or not, and with a clock of the events' writer that is ahead or behind.
func TestApply_DuringABuildLosesNothing(t *testing.T) {
	for name, slow := range map[string]func(l *lab, v *timeline.View[string, totals]) error{
		"rebuild": func(l *lab, v *timeline.View[string, totals]) error {
			_, err := v.Rebuild(l.Ctx, timeline.Segments(1))
			return err
		},
		"catch-up": func(l *lab, v *timeline.View[string, totals]) error {
			_, err := v.CatchUp(l.Ctx, timeline.Segments(1))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
				sorted := p.Name == "sites"
				l.append("d-0", "s-0", 100)
				for n := 1; ; n += testsize.Pick(4, 1) {
					p.Name = fmt.Sprintf("held-%d", n)
					v := view(l, p)
					rebuild(l, v)
					if n%3 > 0 {
						apply(l, v, l.arrivals()...)
					}
					l.Clock.Move(time.Minute)
					l.append("d-0", "s-0", 100+float64(n)/100) // not delivered before
					held, err := l.overtakeAt(n, func() error { return slow(l, v) }, func() {
						old := l.arrivals()
						skew := []time.Duration{0, -40 * time.Minute, 10 * time.Minute}[n%3]
						l.Clock.Move(skew)
						l.append("d-0", "s-0", float64(n)/100, 200+float64(n)/100) // a late one and a new one
						l.append(fmt.Sprintf("new-%d", n), fmt.Sprintf("new-%d", n), 1)
						l.Clock.Move(-skew)
						apply(l, v, l.since(old)...)
					})
					require.NoError(t, err, "held at request %d", n)
					if !held {
						assert.Greater(t, n, 5)
						return
					}
					if sorted { // late events wait for it
						catchUp(l, v)
					}
					replayed(l, v, "held at request", n)
					catchUp(l, v)
					replayed(l, v, "caught up; held at request", n)
				}
			})
		})
	}
}

// Two consumers read a group's row, which is missing at first. The second to write does not undo the first.
func TestApply_DoesNotUndoAnotherConsumersWrite(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-0", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	for _, minute := range []float64{1, 3, 5} {
		old := l.arrivals()
		l.append("d-1", "north", minute)
		first := l.since(old)
		require.NoError(t, l.Overtake(dbtest.First(isRow), func() error { _, err := v.Apply(l.Ctx, first...); return err }, func() {
			l.append("d-1", "north", minute+1)
			apply(l, v, l.since(old)...)
		}))
		replayed(l, v, "both applied events after minute", minute)
	}
}

// The first write of a row by a build, on its way for long, does not undo what Apply has written.
func TestApply_IsNotUndoneByALateWriteOfABuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	apply(l, v, l.arrivals()...) // the view is changed by Apply from now on
	rebuild(l, v)
	var late []faults.Request
	for _, r := range l.Wire.Requests() {
		if isRow(r) {
			late = append(late, r)
		}
	}
	require.Len(t, late, 1)
	old := l.arrivals()
	l.append("d-1", "north", 2)
	apply(l, v, l.since(old)...)
	l.resend(late[0])
	replayed(l, v, "a late write came")
}

// A builder that takes the lease while the first Apply of the view comes does not overwrite its mark.
func TestApply_IsSeenByABuilderThatBegins(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	var fresh []timeline.Change
	require.NoError(t, l.Overtake(dbtest.First(isManifest), func() error { _, err := v.Rebuild(l.Ctx, timeline.Segments(1)); return err }, func() {
		old := l.arrivals()
		l.Clock.Move(10 * time.Minute)
		l.append("d-1", "north", 2) // by a clock that is ahead
		l.Clock.Move(-10 * time.Minute)
		fresh = l.since(old)
		apply(l, v, fresh...)
	}))
	replayed(l, v, "rebuilt")
}

// An Apply that is held before it writes the manifest, while a build swaps, does not undo the swap.
func TestApply_DoesNotUndoASwap(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	l.append("d-1", "north", 2)
	building, build := l.Wire.Hold(dbtest.First(isRow))
	errs := make(chan error, 2)
	go func() { _, err := v.Rebuild(l.Ctx, timeline.Segments(1)); errs <- err }()
	<-building
	applying, proceed := l.Wire.Hold(dbtest.First(isManifest))
	go func() { _, err := v.Apply(l.Ctx, l.arrivals()...); errs <- err }()
	<-applying
	build()
	require.NoError(t, <-errs)
	generation := metaOf(l, v).Generation
	proceed()
	require.NoError(t, <-errs)
	assert.Equal(t, generation, metaOf(l, v).Generation)
	assert.Equal(t, timeline.Complete, metaOf(l, v).RebuildStatus)
	replayed(l, v, "swapped")
}
