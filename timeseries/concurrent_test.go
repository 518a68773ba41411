package timeseries_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestConcurrent_OneOfManyEqualAppendsIsApplied(t *testing.T) {
	t.Parallel()
	t.Run("one event, late ones are dropped", func(t *testing.T) {
		t.Parallel()
		equalAppends(open[Telemetry](t, dbtest.Attempts(40)), 1, 16, tick)
	})
	t.Run("several, late ones are recorded", func(t *testing.T) {
		t.Parallel()
		equalAppends(open[Pulse](t, sharedTable, dbtest.Attempts(40)), 6, 3, pulse)
	})
}

// equalAppends sends some events several times each, all at once.
func equalAppends[T any](w *lab[T], events, senders int, event func(at, level int) T) {
	accepted := make([]atomic.Int64, events)
	var wg sync.WaitGroup
	for range senders {
		for i := range events {
			wg.Go(func() {
				r, err := w.Append(w.Ctx, event(i+1, i+1))
				switch {
				case err != nil:
					w.T.Error(err)
				case r.Applied || r.Reason == timeseries.LateRecorded:
					accepted[i].Add(1)
				case r.Reason != timeseries.Duplicate:
					w.T.Error(r.Reason)
				}
			})
		}
	}
	wg.Wait()
	for i := range accepted {
		require.EqualValues(w.T, 1, accepted[i].Load(), "event %d", i+1)
	}
	require.Len(w.T, w.history(event(0, 0)), events)
	cur := w.current(event(0, 0))
	require.Equal(w.T, currentOf(w.T, w.append(event(events, events))), cur)
}

func TestConcurrent_EqualBatchesAreAppliedOnce(t *testing.T) {
	t.Parallel()
	w := open[Meter](t, dbtest.Attempts(40))
	evs := readings("m-1", 1, 150)
	results, errs := make([][]timeseries.Result[Meter], 4), make([]error, 4)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i], errs[i] = w.AppendAll(w.Ctx, evs) })
	}
	wg.Wait()
	for _, err := range errs {
		require.NoError(t, err)
	}
	for k, ev := range evs {
		applied := 0
		for _, rs := range results {
			if rs[k].Applied {
				applied++
				continue
			}
			require.Equal(t, timeseries.Duplicate, rs[k].Reason, "%v", ev)
		}
		require.Equal(t, 1, applied, "%v", ev)
	}
	require.Equal(t, evs, w.history(reading(0, 0)))
	require.Equal(t, evs[149], w.current(reading(0, 0)))
}

// The older event arrives first at the service, but its sender gets the answer last.
func TestConcurrent_OlderIsDecidedByTheServiceAndNotByAClock(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 0))
	var r timeseries.Result[Telemetry]
	send := func() (err error) { r, err = w.Append(w.Ctx, tick(1, 1)); return err }
	require.NoError(t, w.Overtake(dbtest.First(dbtest.Is(transact)), send, func() { w.append(tick(2, 2)) }))
	require.Equal(t, timeseries.Older, r.Reason)
	require.Equal(t, at(2), currentOf(t, r).Timestamp)
}

// An item is taken away between the check and the put of an event that is being repaired.
func TestConcurrent_ADuplicateWhoseEventGoesAwayIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error){
		"one": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) { return w.Append(w.Ctx, tick(5, 5)) },
		"bulk": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) {
			rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(5, 5)})
			return rs[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lag(t)
			var r timeseries.Result[Telemetry]
			repair := func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 }
			require.NoError(t, w.Overtake(repair, func() (err error) { r, err = send(w); return err }, func() {
				w.RemoveItem(w.Key(devicePK, eventSK("2026-04-22T10:05:00.000000000Z")))
			}))
			require.True(t, r.Applied)
			require.Equal(t, at(5), w.current(device).Timestamp)
			require.Len(t, w.history(device), 2)
		})
	}
}

func TestConcurrent_EnrichmentAndAppendsOfOneItemBothSurvive(t *testing.T) {
	t.Parallel()
	t.Run("Telemetry", func(t *testing.T) {
		t.Parallel()
		w := open[Telemetry](t, dbtest.Attempts(60))
		account := &entity.Fields[Telemetry]().AccountID
		enrichWhileAppending(w, tick, account)
		want, cur := tick(15, 15), w.current(device)
		want.AccountID, want.CreatedAt = "e", cur.CreatedAt
		require.Equal(t, want, cur)
		require.Equal(t, "S $app#v1#telemetry#e", w.partition(devicePK)[deviceSK]["gsi1pk"])
	})
	t.Run("shared table", func(t *testing.T) { // the removal reads, and is guarded by what it read
		t.Parallel()
		w := open[Pulse](t, sharedTable, dbtest.Attempts(60))
		enrichWhileAppending(w, pulse, &entity.Fields[Pulse]().AccountID)
		require.Equal(t, 15, *w.current(pulse(0, 0)).Level)
		require.Equal(t, "e", w.current(pulse(0, 0)).AccountID)
	})
}

// enrichWhileAppending appends 15 events while the account is set and removed; it is "e" in the end.
func enrichWhileAppending[T any](w *lab[T], event func(at, level int) T, account *string) {
	w.seed(event(0, 0))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 1; i <= 15; i++ {
			if _, err := w.Append(w.Ctx, event(i, i)); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Go(func() {
		for _, change := range []entity.UpdateOption{entity.Set(account, "a"), entity.Remove(account), entity.Set(account, "b"), entity.Remove(account), entity.Set(account, "e")} {
			if _, err := w.Update(w.Ctx, event(0, 0), change); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Wait()
	require.Len(w.T, w.history(event(0, 0)), 16)
}

const stormSeries = 8

// stormWorkers is how many append at the same time.
func stormWorkers() int { return testsize.Pick(12, 64) }

// stormEvents is how many events each series gets, before duplicates.
func stormEvents() int { return testsize.Pick(4, 60) }

// report is one event and the result that its sender got.
type report struct {
	series int
	fact   fact
	reason timeseries.Reason
	unsure bool // an attempt before the last one may have been applied
}

// storm makes many goroutines append to few series over a bad line.
type storm[T any] struct {
	*lab[T]
	as      mapping[T]
	rng     *rand.Rand
	queue   chan []*report
	news    [stormSeries]chan struct{} // of an answer about a series
	reports []*report
	errs    []error
	errOnce sync.Mutex
}

func TestStorm_OfWritersOverABadLineLeavesSoundSeries(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	t.Run("drop", func(t *testing.T) {
		t.Parallel()
		f := entity.Fields[Telemetry]()
		rage(t, seed, asTelemetry, func(v *Telemetry, text string) { v.AccountID = text }, &f.AccountID)
	})
	t.Run("record", func(t *testing.T) {
		t.Parallel()
		f := entity.Fields[Meter]()
		rage(t, seed, asMeter, func(v *Meter, text string) { v.Site = text }, &f.Site)
	})
}

func rage[T any](t *testing.T, seed uint64, as mapping[T], enrich func(*T, string), field *string) {
	// A patient sender: with some of 20 requests failing, giving up is out of the question.
	s := &storm[T]{lab: open[T](t, dbtest.Attempts(60)), as: as, rng: rand.New(rand.NewPCG(seed, 1))}
	for i := range s.news {
		s.news[i] = make(chan struct{}, 1)
	}
	s.plan()
	s.Wire.Inject(faults.Random(seed, 0.05, faults.Conflict, faults.Throttle, faults.Lost))
	var writers, watchers sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for range stormWorkers() {
		writers.Go(s.work)
	}
	last := make([]string, stormSeries)
	for i := range stormSeries {
		writers.Go(func() { last[i] = s.enrich(i, enrich, field) })
		watchers.Go(func() { s.watch(ctx, i) })
	}
	writers.Wait()
	stop()
	watchers.Wait()
	s.Wire.Inject(nil)
	t.Logf("%d transactions, %d reads", s.Wire.Count(transact), s.Wire.Count(getItem))
	require.Empty(t, s.errs)
	for i := range stormSeries {
		s.check(i, enrich, last[i])
	}
}

// plan makes the events, with duplicates and collisions among them, roughly in order as fleets send them.
func (s *storm[T]) plan() {
	type placed struct {
		*report
		when float64
	}
	var all []placed
	add := func(series int, f fact) {
		r := &report{series: series, fact: f}
		s.reports = append(s.reports, r)
		all = append(all, placed{r, float64(f.at) + 12*s.rng.Float64()})
	}
	for series := range stormSeries {
		for at := 1; at <= stormEvents(); at++ {
			f := fact{at: at, a: s.rng.IntN(100), hasA: s.as.record || s.rng.IntN(2) == 0}
			if !f.hasA {
				f.a = 0
			}
			if s.rng.IntN(3) == 0 {
				f.b, f.hasB = fmt.Sprint(at), true
			}
			add(series, f)
			switch s.rng.IntN(10) {
			case 0, 1:
				add(series, f)
			case 2:
				other := f
				other.b, other.hasB = "other", true
				add(series, other)
			}
		}
	}
	slices.SortFunc(all, func(a, b placed) int {
		if a.when < b.when {
			return -1
		}
		return 1
	})
	s.queue = make(chan []*report, len(all))
	for len(all) > 0 {
		n := 1
		if s.rng.IntN(8) == 0 {
			n = min(1+s.rng.IntN(6), len(all)) // some are sent in bulk
		}
		var batch []*report
		for _, p := range all[:n] {
			batch = append(batch, p.report)
		}
		all = all[n:]
		s.queue <- batch
	}
	close(s.queue)
}

func (s *storm[T]) fail(err error) {
	s.errOnce.Lock()
	defer s.errOnce.Unlock()
	s.errs = append(s.errs, err)
}

// work sends batches until there are no more. An error is no outcome: the batch is sent again.
func (s *storm[T]) work() {
	for batch := range s.queue {
		for round := 0; ; round++ {
			err := s.send(batch)
			if err == nil {
				break
			}
			if round > 20 || !errors.Is(err, entity.ErrConflict) && !entity.IsAmbiguous(err) {
				s.fail(err)
				break
			}
			for _, r := range batch {
				r.unsure = true
			}
		}
	}
}

func (s *storm[T]) send(batch []*report) error {
	evs := make([]T, len(batch))
	for i, r := range batch {
		evs[i] = s.as.event(fmt.Sprint(r.series), r.fact)
	}
	var rs []timeseries.Result[T]
	var err error
	if len(evs) > 1 {
		rs, err = s.AppendAll(s.Ctx, evs)
	} else {
		rs = make([]timeseries.Result[T], 1)
		rs[0], err = s.Append(s.Ctx, evs[0])
	}
	if err != nil {
		return err
	}
	for i, r := range rs {
		select {
		case s.news[batch[i].series] <- struct{}{}:
		default: // there is a result that is not checked yet
		}
		batch[i].reason = r.Reason
		if r.Applied != (r.Reason == "") {
			s.fail(fmt.Errorf("applied %t with reason %q", r.Applied, r.Reason))
		}
		current, err := r.Current(s.Ctx)
		if err != nil {
			return err
		}
		if cur := s.as.fact(current).at; cur < batch[i].fact.at && r.Reason != timeseries.Collision {
			s.fail(fmt.Errorf("event %+v is %q although current was at %d", batch[i].fact, r.Reason, cur))
		}
	}
	return nil
}

// enrich decorates the item all the while and returns what it wrote last.
func (s *storm[T]) enrich(series int, set func(*T, string), field *string) string {
	last := ""
	for i := range 12 {
		text := fmt.Sprintf("enrichment-%d-%d", series, i)
		key := s.as.event(fmt.Sprint(series), fact{})
		if i%2 == 0 {
			set(&key, text)
		}
		write := func() (err error) {
			if i%2 == 0 {
				_, _, err = s.Upsert(s.Ctx, key, entity.Idempotent()) // a lost answer could not say whether it created
			} else {
				_, err = s.Update(s.Ctx, key, entity.Set(field, text))
			}
			return err
		}
		err := write()
		for entity.IsAmbiguous(err) { // an append came between an attempt without an answer and the look for it
			err = write()
		}
		if err != nil {
			s.fail(err)
			return last
		}
		last = text
	}
	return last
}

// watch sees to it that the current item never goes back in time.
func (s *storm[T]) watch(ctx context.Context, series int) {
	newest := 0
	for ctx.Err() == nil {
		v, err := s.look.Get(s.Ctx, s.as.event(fmt.Sprint(series), fact{}), entity.Consistent())
		switch f := s.as.fact(v); {
		case errors.Is(err, entity.ErrNotFound):
		case err != nil:
			s.fail(err)
			return
		case f.at > 0 && f.at < newest:
			s.fail(fmt.Errorf("series %d went back from %d to %d", series, newest, f.at))
			return
		default:
			newest = max(newest, f.at)
		}
		select {
		case <-s.news[series]:
		case <-ctx.Done():
		}
	}
}

// check compares a series after the storm with the results that the senders got.
func (s *storm[T]) check(series int, enrich func(*T, string), last string) {
	known := newModel(s.as.record)
	var applied []fact
	outcomes := map[timeseries.Reason]int{}
	for _, r := range s.reports {
		if r.series != series {
			continue
		}
		outcomes[r.reason]++
		switch {
		case r.reason == "" || r.reason == timeseries.LateRecorded, r.reason == timeseries.Duplicate && r.unsure:
			if _, twice := known.history[r.fact.at]; twice && !r.unsure {
				s.T.Errorf("series %d: two events were accepted at %d", series, r.fact.at)
			}
			known.history[r.fact.at] = r.fact
			if r.reason != timeseries.LateRecorded {
				applied = append(applied, r.fact)
			}
		}
	}
	s.T.Logf("series %d: %v", series, outcomes)

	id := fmt.Sprint(series)
	var stored []fact
	for _, ev := range s.history(s.as.event(id, fact{})) {
		stored = append(stored, s.as.fact(ev))
	}
	require.Equal(s.T, known.events(), stored, "series %d: the history is exactly what was accepted", series)

	for _, r := range s.reports {
		if r.series != series {
			continue
		}
		accepted, ok := known.history[r.fact.at]
		switch r.reason {
		case timeseries.Older:
			require.False(s.T, s.as.record, "late events are recorded")
			require.Less(s.T, r.fact.at, stormEvents()+1)
		case timeseries.Duplicate:
			require.True(s.T, ok)
			require.Equal(s.T, accepted, r.fact)
		case timeseries.Collision:
			require.True(s.T, ok)
			require.NotEqual(s.T, accepted, r.fact)
		}
	}

	// Events are applied in the order of their clock, so folding them in that order gives the current item.
	sorted := newModel(false)
	for _, f := range applied {
		sorted.history[f.at] = f
	}
	for _, f := range sorted.events() {
		sorted.fold(f)
	}
	require.Equal(s.T, stormEvents(), sorted.current.at, "the newest event is never older than anything")
	cur := s.current(s.as.event(id, fact{}))
	require.Equal(s.T, sorted.current, s.as.fact(cur), "series %d: the newest event with the fields folded", series)
	decorated := cur
	enrich(&decorated, last)
	require.Equal(s.T, decorated, cur, "series %d: enrichment survived", series)
}
