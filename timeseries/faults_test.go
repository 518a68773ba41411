package timeseries_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// everyFault is what can happen to one request, before or after it was applied.
var everyFault = []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost}

func nthOf(n int, f faults.Fault) func(faults.Request) faults.Fault { return faults.Nth(n, f) }

// scenario is something done to a series on which no fault must show.
type scenario struct {
	seed []Meter
	lag  bool // the current item is put back to the first of seed
	run  []Meter
	want []timeseries.Reason
	// state at the end
	seqs    []int64
	current Meter
}

// many are 111 events, two chunks, of which the first 20 are late, one of them is stored and one collides.
func many() scenario {
	sc := scenario{seed: []Meter{reading(5, 50), reading(20, 7)}, run: shuffled(readings("m-1", 1, 111))}
	sc.want = make([]timeseries.Reason, len(sc.run))
	for i, ev := range sc.run {
		switch {
		case ev.Seq == 5:
			sc.want[i] = timeseries.Duplicate
		case ev.Seq == 20:
			sc.want[i] = timeseries.Collision
		case ev.Seq < 20:
			sc.want[i] = timeseries.LateRecorded
		}
	}
	for seq := range int64(111) {
		sc.seqs = append(sc.seqs, seq+1)
	}
	sc.current = readings("m-1", 111, 1)[0]
	return sc
}

var scenarios = map[string]scenario{
	"append": {
		seed: []Meter{reading(1, 1)}, run: []Meter{reading(2, 2)}, want: []timeseries.Reason{""},
		seqs: []int64{1, 2}, current: reading(2, 2),
	},
	"first append": {
		run: []Meter{reading(2, 2)}, want: []timeseries.Reason{""}, seqs: []int64{2}, current: reading(2, 2),
	},
	"duplicate append": {
		seed: []Meter{reading(1, 1), reading(2, 2)}, run: []Meter{reading(2, 2)}, want: []timeseries.Reason{timeseries.Duplicate},
		seqs: []int64{1, 2}, current: reading(2, 2),
	},
	"collision": {
		seed: []Meter{reading(1, 1), reading(2, 2)}, run: []Meter{reading(1, 9)}, want: []timeseries.Reason{timeseries.Collision},
		seqs: []int64{1, 2}, current: reading(2, 2),
	},
	"recorded append": {
		seed: []Meter{reading(5, 5)}, run: []Meter{reading(2, 2)}, want: []timeseries.Reason{timeseries.LateRecorded},
		seqs: []int64{2, 5}, current: reading(5, 5),
	},
	"repaired append": {
		seed: []Meter{reading(1, 1), reading(5, 5)}, lag: true, run: []Meter{reading(5, 5)}, want: []timeseries.Reason{timeseries.Duplicate},
		seqs: []int64{1, 5}, current: reading(5, 5),
	},
	"many": many(),
}

func (sc scenario) prepare(t *testing.T, change ...func(*entity.Config)) *lab[Meter] {
	w := open[Meter](t, change...)
	for i, ev := range sc.seed {
		w.seed(ev)
		if i == 0 && sc.lag {
			first := w.Item(meterPK, meterSK)
			defer func() { w.restore(meterPK, meterSK, first) }()
		}
	}
	return w
}

const (
	meterPK = "$app#v1#meter#m-1"
	meterSK = "$app#v1#meter"
)

// play appends the events of the scenario: one by Append, several by AppendAll.
func (sc scenario) play(w *lab[Meter]) ([]timeseries.Result[Meter], error) {
	if len(sc.run) > 1 {
		return w.AppendAll(w.Ctx, sc.run)
	}
	r, err := w.Append(w.Ctx, sc.run[0])
	return []timeseries.Result[Meter]{r}, err
}

// sound checks what must hold at every moment: the current item is the newest of the events that were not recorded late
// and has an event; no event is stored with other content than was sent first.
func (sc scenario) sound(t *testing.T, w *lab[Meter]) {
	sent := map[int64]Meter{}
	for _, ev := range append(append([]Meter(nil), sc.run...), sc.seed...) {
		sent[ev.Seq] = ev // seed wins: it was there first
	}
	newest := int64(0)
	for _, ev := range w.history(reading(0, 0)) {
		require.Equal(t, sent[ev.Seq], ev)
		newest = max(newest, ev.Seq)
	}
	cur, err := w.look.Get(w.Ctx, reading(0, 0), entity.Consistent())
	if newest == 0 {
		require.ErrorIs(t, err, entity.ErrNotFound)
		return
	}
	require.NoError(t, err)
	if sc.lag && cur.Seq == sc.seed[0].Seq {
		return
	}
	require.Equal(t, newest, cur.Seq)
	require.Equal(t, sent[newest].Value, cur.Value)
}

func (sc scenario) finished(t *testing.T, w *lab[Meter]) {
	var seqs []int64
	for _, ev := range w.history(reading(0, 0)) {
		seqs = append(seqs, ev.Seq)
	}
	require.Equal(t, sc.seqs, seqs)
	require.Equal(t, sc.current, w.current(reading(0, 0)))
	sc.sound(t, w)
}

// each runs f for request 1, 2, … of the scenario until it ends without having met the fault. Rounds run in parallel, since f opens a lab.
func each(t *testing.T, name string, f func(t *testing.T, sc scenario, n int, fault faults.Fault) (met bool)) {
	sc := scenarios[name]
	for _, round := range testsize.Rounds(everyFault...) {
		t.Run(fmt.Sprintf("%s/%s", name, round), func(t *testing.T) {
			for n := 1; f(t, sc, n, round.At(n+len(name))); n++ {
				require.Less(t, n, 50, "it never ends")
			}
		})
	}
}

func TestFaults_OfOneRequestAreHealedAndNeverShow(t *testing.T) {
	t.Parallel()
	for name := range scenarios {
		each(t, name, func(t *testing.T, sc scenario, n int, fault faults.Fault) bool {
			w := sc.prepare(t)
			w.Wire.Inject(nthOf(n, fault))
			rs, err := sc.play(w)
			require.NoError(t, err, "request %d", n)
			require.Equal(t, sc.want, reasons(rs), "request %d", n)
			for i, r := range rs {
				require.Equal(t, r.Reason == "", r.Applied)
				require.Equal(t, sc.run[i].MeterID, currentOf(t, r).MeterID)
			}
			sc.finished(t, w)
			return n <= len(w.Wire.Requests())
		})
	}
}

func TestFaults_AreErrorsAndARepetitionByTheCallerFinishes(t *testing.T) {
	t.Parallel()
	for name := range scenarios {
		each(t, name, func(t *testing.T, sc scenario, n int, fault faults.Fault) bool {
			w := sc.prepare(t, dbtest.Attempts(1))
			w.Wire.Inject(nthOf(n, fault))
			rs, err := sc.play(w)
			met := n <= len(w.Wire.Requests())
			require.Equal(t, met, err != nil, "request %d", n)
			sc.sound(t, w)
			if met && w.Wire.Requests()[n-1].Operation == transact {
				// Only the SDK's answer shows whether the write may have happened.
				lost := fault == faults.Internal || fault == faults.InternalApplied || fault == faults.Drop || fault == faults.Lost
				require.Equal(t, lost, entity.IsAmbiguous(err), "request %d", n)
				require.Equal(t, fault == faults.Conflict, errors.Is(err, entity.ErrConflict))
			}
			for i, r := range rs {
				if r.Applied || r.Reason != "" {
					require.Equal(t, sc.want[i], r.Reason, "request %d: what was decided is right", n)
				}
			}
			w.Wire.Inject(nil)
			rs = entity.Must(sc.play(w))
			for i, r := range rs {
				require.Contains(t, []timeseries.Reason{sc.want[i], timeseries.Duplicate}, r.Reason)
			}
			sc.finished(t, w)
			return met
		})
	}
}

func TestFaults_CurrentItemThatWouldGrowTooLargeIsAnError(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	require.NoError(t, dbtest.ErrorOf(w.Update(w.Ctx, device, entity.Set(&entity.Fields[Telemetry]().Diagnostics, strings.Repeat("d", 250*1024)))))
	before := w.partition(devicePK)

	ev := bare(1)
	ev.Location = ptr(strings.Repeat("x", 250*1024))
	w.Wire.Reset()
	r, err := w.Append(w.Ctx, ev)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Zero(t, r)
	require.Equal(t, 1, w.Wire.Count(transact), "repeating it would not help")
	rs, err := w.AppendAll(w.Ctx, []Telemetry{ev})
	require.Error(t, err)
	require.Zero(t, rs[0])
	require.Equal(t, before, w.partition(devicePK))
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
		"one": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) { return w.Append(w.Ctx, tick(5, 5)) },
		"bulk": func(w *lab[Telemetry]) (timeseries.Result[Telemetry], error) {
			rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(5, 5)})
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
