package timeseries_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// outcome is what becomes of one event, appended to a series in which the events of seed are stored.
type outcome struct {
	seed     []Telemetry
	event    Telemetry
	opts     []timeseries.AppendOption
	reason   timeseries.Reason // "": applied
	existing *Telemetry        // in the result
	current  int               // minute of the current item in the result; -1: it has none
	requests []string
}

// TestAppend_Outcomes appends each event alone, as a batch of one, and in a transaction.
func TestAppend_Outcomes(t *testing.T) {
	t.Parallel()
	f := entity.Fields[Telemetry]()
	when := func(c entity.Cond) []timeseries.AppendOption { return []timeseries.AppendOption{entity.If(c)} }
	one, zero := []string{transact}, bare(0)
	zero.Alert = ptr(false)
	again := tick(0, 1)
	again.AccountID, again.CreatedAt = "no append writes it", at(9)
	again.Timestamp = again.Timestamp.In(time.FixedZone("", 2*60*60)) // the same instant
	stored, without := tick(0, 1), bare(0)
	first, two := []Telemetry{stored}, []Telemetry{stored, tick(1, 2)}
	for name, o := range map[string]outcome{
		"first":                                {event: again, requests: one},
		"newer":                                {seed: first, event: tick(1, 2), current: 1, requests: one},
		"newer, condition holds":               {seed: first, event: tick(1, 2), opts: when(entity.Eq(f.GPIO, 1)), current: 1, requests: one},
		"newer, condition fails":               {seed: first, event: tick(1, 2), opts: when(entity.Eq(f.GPIO, 7)), reason: timeseries.ConditionFailed, requests: one},
		"first, condition fails":               {event: stored, opts: when(entity.Exists(&f.AccountID)), reason: timeseries.ConditionFailed, current: -1, requests: []string{transact, getItem}},
		"older":                                {seed: []Telemetry{tick(5, 1)}, event: tick(4, 2), reason: timeseries.Older, current: 5, requests: one},
		"older, condition holds":               {seed: []Telemetry{tick(5, 1)}, event: tick(4, 2), opts: when(entity.Eq(f.GPIO, 1)), reason: timeseries.Older, current: 5, requests: one},
		"older, condition fails":               {seed: []Telemetry{tick(5, 1)}, event: tick(4, 2), opts: when(entity.Eq(f.GPIO, 2)), reason: timeseries.Older, current: 5, requests: one},
		"older, alternatives in the condition": {seed: []Telemetry{tick(5, 1)}, event: tick(4, 2), opts: when(entity.Or(entity.Eq(f.GPIO, 1), entity.Eq(f.GPIO, 2))), reason: timeseries.Older, current: 5, requests: one},
		"duplicate of the newest":              {seed: first, event: stored, reason: timeseries.Duplicate, existing: &stored, requests: one},
		"duplicate of an older one":            {seed: two, event: stored, reason: timeseries.Duplicate, existing: &stored, current: 1, requests: one},
		"duplicate in what appends write":      {seed: first, event: again, reason: timeseries.Duplicate, existing: &stored, requests: one},
		"duplicate, condition fails":           {seed: first, event: stored, opts: when(entity.Exists(&f.AccountID)), reason: timeseries.Duplicate, existing: &stored, requests: one},
		"collision with the newest":            {seed: first, event: tick(0, 3), reason: timeseries.Collision, existing: &stored, requests: one},
		"collision with an older one":          {seed: two, event: tick(0, 3), reason: timeseries.Collision, existing: &stored, current: 1, requests: one},
		"collision, fewer fields":              {seed: two, event: without, reason: timeseries.Collision, existing: &stored, current: 1, requests: one},
		"collision, more fields":               {seed: []Telemetry{without}, event: stored, reason: timeseries.Collision, existing: &without, requests: one},
		"collision, zero and not reported":     {seed: []Telemetry{without}, event: zero, reason: timeseries.Collision, existing: &without, requests: one},
		"collision, condition fails":           {seed: first, event: tick(0, 2), opts: when(entity.Exists(&f.AccountID)), reason: timeseries.Collision, existing: &stored, requests: one},
	} {
		t.Run(name, func(t *testing.T) {
			for way, send := range map[string]func(*lab[Telemetry], Telemetry) timeseries.Result[Telemetry]{
				"Append": func(w *lab[Telemetry], ev Telemetry) timeseries.Result[Telemetry] { return w.append(ev, o.opts...) },
				"AppendAll": func(w *lab[Telemetry], ev Telemetry) timeseries.Result[Telemetry] {
					return w.appendAll([]Telemetry{ev}, o.opts...)[0]
				},
			} {
				if !testsize.Long() && (len(name)+len(way))%2 > 0 {
					continue // each event goes one of the two, and in a transaction
				}
				w := open[Telemetry](t)
				w.seed(o.seed...)
				before, event := w.partition(devicePK), o.event
				r := send(w, event)
				require.Equal(t, o.event, event, "%s: the caller's event is not changed", way)
				require.Equal(t, o.reason, r.Reason, way)
				require.Equal(t, o.reason == "", r.Applied, way)
				require.Equal(t, o.existing, r.Existing, way)
				require.Equal(t, o.requests, w.operations(), way)
				if o.current < 0 {
					require.Zero(t, currentOf(t, r), way)
				} else {
					require.Equal(t, w.current(device), currentOf(t, r), way)
					require.Equal(t, at(o.current), currentOf(t, r).Timestamp, way)
				}
				if r.Applied {
					require.Len(t, w.history(device), len(o.seed)+1, way)
				} else {
					require.Equal(t, before, w.partition(devicePK), "%s: nothing is written", way)
				}
			}
			w := open[Telemetry](t)
			w.seed(o.seed...)
			op := w.series.Op().Append(o.event, o.opts...)
			err := w.DB.Transact(w.Ctx, op)
			require.Equal(t, o.reason == "", op.Result().Applied)
			if o.reason == "" {
				require.NoError(t, err)
				return
			}
			not := dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, op))
			require.Equal(t, o.reason, not.Reason)
			stored := o.reason == timeseries.Duplicate || o.reason == timeseries.Collision
			require.Equal(t, stored, errors.Is(err, entity.ErrExists))
			require.Equal(t, !stored, errors.Is(err, entity.ErrConditionFailed))
			require.Contains(t, not.Error(), map[timeseries.Reason]string{
				timeseries.Older: "same or a later orderBy", timeseries.Duplicate: "an equal event", timeseries.Collision: "another event", timeseries.ConditionFailed: "a condition given",
			}[o.reason])
			winner, found := entity.StoredItem[Telemetry](err)
			require.Equal(t, o.current >= 0, found)
			if found {
				require.Equal(t, w.current(device), winner)
			}
		})
	}
}

func TestAppend_LateEventsMeetWhatAnotherWriterDoesMeanwhile(t *testing.T) {
	t.Parallel()
	same, other, stored := reading(10, 100), reading(11, 9), []Meter{reading(10, 100), reading(11, 110), reading(50, 500)}
	gone := func(w *lab[Meter]) { w.RemoveItem(w.Key(meterPK, meterSK)) }
	records := func(w *lab[Meter]) { w.append(stored[0]); w.append(stored[1]) }
	for name, c := range map[string]struct {
		late      []Meter
		meanwhile func(*lab[Meter])
		want      []timeseries.Reason
		history   []Meter
	}{
		"gone":         {[]Meter{same}, gone, []timeseries.Reason{""}, []Meter{same, stored[2]}},
		"gone, of two": {[]Meter{same, other}, gone, []timeseries.Reason{"", ""}, []Meter{same, other, stored[2]}},
		"the same":     {[]Meter{same}, records, []timeseries.Reason{timeseries.Duplicate}, stored},
		"different":    {[]Meter{other}, records, []timeseries.Reason{timeseries.Collision}, stored},
		"both":         {[]Meter{same, other}, records, []timeseries.Reason{timeseries.Duplicate, timeseries.Collision}, stored},
	} {
		t.Run(name, func(t *testing.T) {
			w := open[Meter](t)
			w.seed(reading(50, 500))
			var rs []timeseries.Result[Meter]
			recording := func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 }
			require.NoError(t, w.Overtake(recording, func() (err error) { rs, err = send(w, c.late); return err }, func() { c.meanwhile(w) }))
			require.Equal(t, c.want, reasons(rs))
			require.Equal(t, c.history, w.history(reading(0, 0)))
		})
	}
}

func TestAmbiguous_ALateOrStoredEventIsCertainAfterALostAttempt(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(5, 1))
	before := w.partition(devicePK)
	for ev, want := range map[int]timeseries.Reason{4: timeseries.Older, 5: timeseries.Duplicate} {
		w.Wire.Inject(faults.Nth(1, faults.Late))
		require.Equal(t, want, entity.Must(w.series.Append(w.Ctx, tick(ev, 1))).Reason)
		w.Wire.Inject(faults.Nth(1, faults.Late))
		rs := entity.Must(w.series.AppendAll(w.Ctx, []Telemetry{tick(ev, 1)}))
		require.Equal(t, want, rs[0].Reason)
	}
	require.Equal(t, 4, entity.Must(w.Wire.Deliver()))
	require.Equal(t, before, w.partition(devicePK), "orderBy never goes back")
}

func TestAmbiguous_ARefusedEventMayStillBeAppliedByAnEarlierAttempt(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	f := entity.Fields[Telemetry]()
	condition := entity.If(entity.Eq(&f.AccountID, "a"))
	account := func(id string) { entity.Must(w.series.Update(w.Ctx, device, entity.Set(&f.AccountID, id))) }
	for i, write := range []func() ([]timeseries.Result[Telemetry], error){
		func() ([]timeseries.Result[Telemetry], error) {
			r, err := w.series.Append(w.Ctx, tick(1, 1), condition)
			return []timeseries.Result[Telemetry]{r}, err
		},
		func() ([]timeseries.Result[Telemetry], error) {
			return w.series.AppendAll(w.Ctx, []Telemetry{tick(2, 1)}, condition)
		},
	} {
		account("b")
		w.Wire.Inject(faults.Nth(1, faults.Late))
		rs, err := write()
		w.Wire.Inject(nil)
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.True(t, entity.IsAmbiguous(err))
		require.Zero(t, rs[0], "nothing is decided")
		account("a")
		entity.Must(w.Wire.Deliver())
		require.Equal(t, at(i+1), w.current(device).Timestamp, "it was applied after all")
	}
}

func TestMaxAhead_RefusesAnEventTooFarInTheFutureBeforeAnyRequest(t *testing.T) {
	w := open[Stamped](t)
	now := w.Clock.Now()
	limit := now.Add(time.Hour)
	tooFar := Stamped{ID: "p", At: limit.Add(time.Nanosecond)}

	require.Equal(t, "EDD-9113", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, tooFar))))
	rs, err := w.series.AppendAll(w.Ctx, []Stamped{{ID: "p", At: now}, tooFar})
	require.Equal(t, "EDD-9113", dbtest.InputCode(err))
	require.Zero(t, rs[0], "one mistake stops the batch")
	op := w.series.Op().Append(tooFar)
	require.Equal(t, "EDD-9113", dbtest.InputCode(entity.FailureOf(w.DB.Transact(w.Ctx, op), op)))
	require.Empty(t, w.Wire.Requests())

	require.True(t, w.append(Stamped{ID: "p", At: now}).Applied)
	require.True(t, w.append(Stamped{ID: "p", At: limit}).Applied)
}

// lag makes a stored event newer than the current item, which no append does: the event was written by hand, or current
// was restored from a backup.
func lag(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	old := w.Item(devicePK, deviceSK)
	w.seed(tick(5, 5))
	w.restore(devicePK, deviceSK, old)
	require.Equal(t, at(0), w.current(device).Timestamp)
	w.Wire.Reset()
	return w
}

func TestLagging_AConditionThatFailsRepairsNothing(t *testing.T) {
	w := lag(t)
	before, fails := w.partition(devicePK), entity.If(entity.Eq(&entity.Fields[Telemetry]().GPIO, ptr(9)))
	require.Equal(t, timeseries.Duplicate, w.append(tick(5, 5), fails).Reason)
	require.Equal(t, timeseries.Duplicate, w.appendAll([]Telemetry{tick(5, 5)}, fails)[0].Reason)
	require.Equal(t, before, w.partition(devicePK))
}

// A repetition of an event that another one of the batch collided with has the current item after the batch, not the one before.
func TestLagging_ARepetitionHasTheCurrentItem(t *testing.T) {
	w := lag(t)
	rs := w.appendAll([]Telemetry{tick(0, 1), tick(5, 6), tick(5, 5), tick(5, 5)})
	require.Equal(t, []timeseries.Reason{timeseries.Duplicate, timeseries.Collision, timeseries.Duplicate, timeseries.Duplicate}, reasons(rs))
	for _, r := range rs[2:] {
		require.Equal(t, at(5), currentOf(t, r).Timestamp)
	}
}

func TestAppendAll_SendsOneTransactionForEach99Events(t *testing.T) {
	empty := open[Meter](t)
	require.Empty(t, empty.appendAll(nil))
	require.Empty(t, empty.Wire.Requests())
	for n, transactions := range map[int]int{1: 1, 99: 1, 100: 2, 199: 3} {
		w := open[Meter](t)
		w.appendAll(shuffled(readings("m-1", 1, n)))
		require.Equal(t, transactions, w.Wire.Count(transact), "%d events", n)
		require.Len(t, w.Wire.Requests(), transactions)
		require.Len(t, w.kinds(0), min(n, 99)+1)
	}
}

func TestAppendAll_ChunksByBytesToo(t *testing.T) {
	w := open[Telemetry](t)
	var evs []Telemetry
	for i := range 20 {
		ev := bare(i)
		ev.Location = ptr(strings.Repeat(string(rune('a'+i)), 300*1024))
		evs = append(evs, ev)
	}
	for _, r := range w.appendAll(evs) {
		require.True(t, r.Applied)
	}
	for _, r := range w.Wire.Requests() {
		require.Less(t, len(r.Body), 4*1024*1024)
	}
	require.Greater(t, w.Wire.Count(transact), 1)
	require.Len(t, w.history(device), 20)
	require.True(t, strings.HasPrefix(*w.current(device).Location, "t"))
}

func TestAppendAll_AFailedChunkLeavesTheResultsOfTheEarlierOnes(t *testing.T) {
	w := open[Telemetry](t, dbtest.Attempts(2))
	var evs []Telemetry
	for i := range 250 {
		evs = append(evs, tick(i, i))
	}
	order := shuffled(evs)
	w.Wire.Inject(from(2, faults.Throttle, transact))
	rs, err := w.series.AppendAll(w.Ctx, order)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Len(t, rs, 250)
	w.Wire.Inject(nil)
	for i, r := range rs {
		if order[i].Timestamp.Before(at(99)) {
			require.True(t, r.Applied, "%v", order[i].Timestamp)
			require.Equal(t, at(98), currentOf(t, r).Timestamp)
		} else {
			require.Zero(t, r, "%v: undecided", order[i].Timestamp)
		}
	}
	require.Len(t, w.history(device), 99)
	require.Equal(t, at(98), w.current(device).Timestamp)

	for i, r := range w.appendAll(order) {
		require.Equal(t, order[i].Timestamp.Before(at(99)), r.Reason == timeseries.Duplicate)
	}
	require.Equal(t, evs, w.history(device))
}

// A caller that repeats what is undecided must not lose what was late: it was not dropped, but not recorded yet either.
func TestAppendAll_LateEventsThatFailedAreUndecidedAndNotOlder(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(faults.Request) faults.Fault{
		"the chunk after failed":  from(3, faults.Throttle, transact), // 1: refused, 2: newer ones, 3: second chunk
		"the recording failed":    from(4, faults.Throttle, transact),
		"the first repeat failed": from(2, faults.Throttle, transact),
	} {
		t.Run(name, func(t *testing.T) {
			w := open[Meter](t, dbtest.Attempts(2))
			w.seed(reading(50, 500))
			evs := readings("m-1", 1, 150)
			w.Wire.Inject(fault)
			rs, err := w.series.AppendAll(w.Ctx, evs)
			require.Error(t, err)
			w.Wire.Inject(nil)
			var undecided []Meter
			for i, r := range rs {
				require.NotEqual(t, timeseries.Older, r.Reason, "%v: the series keeps late events", evs[i])
				if !r.Applied && r.Reason == "" {
					undecided = append(undecided, evs[i])
				}
			}
			w.appendAll(undecided)
			require.Len(t, w.history(reading(0, 0)), 150)
		})
	}
}

// everyFault is what can happen to one request, before or after it was applied. TestFaults of tests/proof gives each to every request of
// appends and removals.
var everyFault = []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost}

const (
	meterPK = "$app#v1#meter#m-1"
	meterSK = "$app#v1#meter"
)

// send appends events: one by Append, several by AppendAll.
func send(w *lab[Meter], evs []Meter) ([]timeseries.Result[Meter], error) {
	if len(evs) > 1 {
		return w.series.AppendAll(w.Ctx, evs)
	}
	r, err := w.series.Append(w.Ctx, evs[0])
	return []timeseries.Result[Meter]{r}, err
}

func TestFaults_AConditionBesideAConflictDecidesNothing(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	// The compare-and-set failed, but whether the event is stored was not heard: it may be a duplicate.
	for _, disturbed := range [][]string{
		{"ConditionalCheckFailed", "TransactionConflict"},
		{"ConditionalCheckFailed", "ThrottlingError"},
		{"TransactionConflict", "ConditionalCheckFailed"},
		{"ProvisionedThroughputExceeded", "ConditionalCheckFailed"},
	} {
		series, c := w.scripted(disturbed, disturbed)
		require.Equal(t, timeseries.Duplicate, entity.Must(series.Append(w.Ctx, tick(0, 1))).Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)

		series, c = w.scripted(disturbed, disturbed)
		rs := entity.Must(series.AppendAll(w.Ctx, []Telemetry{tick(0, 1)}))
		require.Equal(t, timeseries.Duplicate, rs[0].Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)
	}
	refused := []string{"ConditionalCheckFailed", "TransactionConflict"}
	series, c := w.scripted(refused, refused, refused, refused)
	r, err := series.Append(w.Ctx, tick(-1, 1))
	require.ErrorIs(t, err, entity.ErrConflict, "what lasts is no older event")
	require.Zero(t, r)
	require.Equal(t, 4, c.calls)
}

// An item is taken away between the check and the put of an event that is being repaired.
func TestConcurrent_ADuplicateWhoseEventGoesAwayIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error){
		"one": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) {
			return w.series.Append(w.Ctx, tick(5, 5))
		},
		"bulk": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) {
			rs, err := w.series.AppendAll(w.Ctx, []Telemetry{tick(5, 5)})
			return rs[0], err
		},
	} {
		t.Run(name, func(t *testing.T) {
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
		w, account := open[Telemetry](t, dbtest.Attempts(60)), &entity.Fields[Telemetry]().AccountID
		enrichWhileAppending(w, tick, account)
		want, cur := tick(15, 15), w.current(device)
		want.AccountID, want.CreatedAt = "e", cur.CreatedAt
		require.Equal(t, want, cur)
		require.Equal(t, "S $app#v1#telemetry#e", w.partition(devicePK)[deviceSK]["gsi1pk"])
	})
	t.Run("shared table", func(t *testing.T) { // the removal reads, and is guarded by what it read
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
			if _, err := w.series.Append(w.Ctx, event(i, i)); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Go(func() {
		for _, change := range []entity.UpdateOption{entity.Set(account, "a"), entity.Remove(account), entity.Set(account, "b"), entity.Remove(account), entity.Set(account, "e")} {
			if _, err := w.series.Update(w.Ctx, event(0, 0), change); err != nil {
				w.T.Error(err)
			}
		}
	})
	wg.Wait()
	require.Len(w.T, w.history(event(0, 0)), 16)
}
