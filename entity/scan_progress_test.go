package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// marked gives the goroutine a mark that those which it starts inherit, and returns a function that lists, of all goroutines
// with the mark, those inside the library. Tests that run at the same time have marks of their own.
func marked(t *testing.T) (inside func() []string) {
	t.Helper()
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("test", t.Name())))
	return func() (stacks []string) {
		var all strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		for _, stack := range strings.Split(all.String(), "\n\n") {
			if strings.Contains(stack, fmt.Sprintf("%q:%q", "test", t.Name())) && strings.Contains(stack, "internal/query.(*Plan)") {
				stacks = append(stacks, stack)
			}
		}
		return stacks
	}
}

// The checks for leaks below must see what they are for.
func TestSegments_GoroutinesThatReadCanBeSeen(t *testing.T) {
	b := newBench(t, 0)
	b.faults.Inject(func(faults.Request) faults.Fault { return faults.Hang })
	inside := marked(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := b.plain.Scan(entity.Segments(2)).Collect(ctx)
		done <- err
	}()
	require.Eventually(t, func() bool { return len(inside()) > 0 }, 2*time.Minute, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Eventually(t, func() bool { return len(inside()) == 0 }, 2*time.Minute, time.Millisecond, "goroutines outlive the scan")
}

// grows checks that p is further than what came before it.
func grows(t *testing.T, before, p entity.ScanProgress) {
	t.Helper()
	require.Equal(t, before.Pages+1, p.Pages)
	require.GreaterOrEqual(t, p.Evaluated, before.Evaluated)
	require.GreaterOrEqual(t, p.Found, before.Found)
	require.GreaterOrEqual(t, p.SegmentsDone, before.SegmentsDone)
	require.LessOrEqual(t, p.SegmentsDone, p.Segments)
	require.GreaterOrEqual(t, p.ReadUnits, before.ReadUnits)
}

func TestOnPage_CountsWhatEachRunReads(t *testing.T) {
	t.Parallel()
	var reports []entity.Report // of calls that come one after the other
	o := newOffice(t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	o.staff(t, rand.New(rand.NewPCG(3, 4)), "a", 20, 60_000) // 3.6 MB, with four strays beside
	f := entity.Fields[Member]()
	half := entity.Filter(entity.Lt(&f.ID, "a-010"))
	inIndex := entity.Must(o.member.Index("byTenant"))
	count := func(q entity.Query[Member]) (n int, err error) {
		return q.Count(t.Context())
	}
	collect := func(q entity.Query[Member]) (n int, err error) {
		all, err := q.Collect(t.Context())
		return len(slices.Compact(slices.Sorted(func(yield func(string) bool) {
			for _, v := range all {
				if !yield(v.ID) {
					return
				}
			}
		}))), err
	}
	for name, c := range map[string]struct {
		scan  func(...entity.ScanOption) entity.Query[Member]
		opts  []entity.ScanOption
		run   func(entity.Query[Member]) (int, error)
		parts int
		found int
	}{
		"table":             {o.member.Scan, nil, collect, 1, 20},
		"filter":            {o.member.Scan, []entity.ScanOption{half}, collect, 1, 10},
		"count":             {o.member.Scan, nil, count, 1, 20},
		"segments":          {o.member.Scan, []entity.ScanOption{entity.Segments(5)}, collect, 5, 20},
		"segments, filter":  {o.member.Scan, []entity.ScanOption{entity.Segments(3), half}, collect, 3, 10},
		"index":             {inIndex.Scan, nil, collect, 1, 20},
		"index by segments": {inIndex.Scan, []entity.ScanOption{entity.Segments(4)}, collect, 4, 20},
	} {
		var last entity.ScanProgress
		reports = nil
		o.sent()
		n, err := c.run(c.scan(append(c.opts, entity.OnPage(func(p entity.ScanProgress) {
			grows(t, last, p)
			last = p
		}))...))
		require.NoError(t, err, name)
		require.Equal(t, c.found, n, name)
		require.Equal(t, c.found, last.Found, name)
		require.Equal(t, 64, last.Evaluated, name)
		require.Equal(t, len(o.sent()), last.Pages, name)
		require.Equal(t, [2]int{c.parts, c.parts}, [2]int{last.Segments, last.SegmentsDone}, name)
		require.Len(t, reports, 1, name)
		require.Positive(t, last.ReadUnits, name)
		require.InDelta(t, reports[0].ReadUnits, last.ReadUnits, 0.001, name)
	}
}

func TestOnPage_IsToldOfUnitsWithoutAnObserver(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 4, 10)
	var last entity.ScanProgress
	page, err := b.plain.Scan(entity.OnPage(func(p entity.ScanProgress) { last = p }), entity.Limit(1)).Page(t.Context(), "")
	require.NoError(t, err)
	require.Len(t, page.Items, 1)
	require.Positive(t, last.ReadUnits)
	require.Equal(t, 1, last.Pages)
}

// The calls are made by the goroutine of the loop, before the items they count come, and end with it.
func TestOnPage_TheCallsBelongToTheLoop(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 20, 60_000)
	inside := marked(t)
	for _, segments := range []int{1, 8} {
		calls, inBody := 0, false
		var last entity.ScanProgress
		seen := 0
		scan := b.plain.Scan(entity.Segments(segments), entity.OnPage(func(p entity.ScanProgress) {
			require.False(t, inBody, "while the loop's body runs")
			calls++
			last = p
		}))
		for _, err := range scan.All(t.Context()) {
			require.NoError(t, err)
			inBody = true
			seen++
			require.LessOrEqual(t, seen, last.Found)
			if seen == 3 {
				break
			}
			time.Sleep(50 * time.Millisecond) // other parts have their answers ready meanwhile
			inBody = false
		}
		require.Equal(t, 3, seen)
		at := calls
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, at, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.plain.Scan(entity.Segments(4), entity.OnPage(func(entity.ScanProgress) { cancel() })).Collect(ctx)
	require.ErrorIs(t, err, context.Canceled, "a listener can end the scan")
	require.Eventually(t, func() bool { return len(inside()) == 0 }, 2*time.Minute, time.Millisecond, "goroutines outlive the scan")
}

// What has been read ahead is bounded: one answer for each part, whatever time the loop takes.
func TestSegments_ReadNoMoreThanOneAnswerAhead(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 20, 180_000) // 7.2 MB
	inside := marked(t)
	for _, err := range b.plain.Scan(entity.Segments(3)).All(t.Context()) {
		require.NoError(t, err)
		time.Sleep(50 * time.Millisecond) // longer than an answer takes; on a slow machine the test finds less
		require.LessOrEqual(t, b.faults.Count("Scan"), 4, "three parts, and the answer that the loop is at")
		break
	}
	require.Eventually(t, func() bool { return len(inside()) == 0 }, 2*time.Minute, time.Millisecond, "goroutines outlive the scan")
}

// One part fails while all others wait for answers that will never come.
func TestSegments_AnErrorOfOneEndsAll(t *testing.T) {
	b := newBench(t, 1)
	stock(t, b, 10, 10)
	inside := marked(t)
	b.faults.Inject(func(r faults.Request) faults.Fault {
		if r.Index == 0 {
			return faults.Internal
		}
		return faults.Hang
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	failures := 0
	for _, err := range b.plain.Scan(entity.Segments(6)).All(ctx) {
		require.Error(t, err)
		require.NotErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		failures++
	}
	require.Equal(t, 1, failures)
	require.NoError(t, ctx.Err(), "the others were given up")
	require.Eventually(t, func() bool { return len(inside()) == 0 }, 2*time.Minute, time.Millisecond, "goroutines outlive the scan")
}

func TestSegments_FaultsNeitherLoseNorRepeatItems(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 30, 60_000)
	seed := rand.Uint64()
	t.Logf("faults of seed %d", seed)
	b.faults.Inject(faults.Random(seed, 0.3, faults.Throttle, faults.Lost, faults.Internal, faults.Drop))
	var last entity.ScanProgress
	got, err := b.plain.Scan(entity.Segments(4), entity.OnPage(func(p entity.ScanProgress) { grows(t, last, p); last = p })).Collect(t.Context())
	require.NoError(t, err)
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("%04d", i))
	}
	require.Equal(t, want, idsOf(got))
	require.Equal(t, []int{60, 30, 4}, []int{last.Evaluated, last.Found, last.SegmentsDone})
}

func TestOnPage_NeedsAFunction(t *testing.T) {
	b := newBench(t, 0)
	_, err := b.plain.Scan(entity.OnPage(nil)).Collect(t.Context())
	var input *entity.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9108", input.Code)
	require.Empty(t, b.faults.Requests())
}
