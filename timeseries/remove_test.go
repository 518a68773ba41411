package timeseries_test

import (
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// The current item falls back to what the other events make of it, and enrichment stays.
func TestRemove_TheCurrentItemIsWhatTheOtherEventsMakeOfIt(t *testing.T) {
	w := open[Telemetry](t)
	w.OK(w.series.Update(w.Ctx, w.enriched(), entity.Set(&entity.Fields[Telemetry]().Diagnostics, "fine")))
	w.seed(tick(0, 1), bare(1), tick(5, 9))
	future := tick(60*24*365*50, 7)
	w.seed(future)
	require.Equal(t, timeseries.Older, w.append(tick(6, 6)).Reason, "blocked")
	require.Equal(t, future, entity.Must(w.series.At(w.Ctx, device, future.Timestamp)))

	require.NoError(t, w.series.Remove(w.Ctx, future))
	require.Equal(t, tick(5, 9), entity.Must(w.series.At(w.Ctx, device, future.Timestamp)))
	was := w.current(device)
	require.Equal(t, at(5), was.Timestamp)
	require.Equal(t, []any{9, "acct-1", "fine"}, []any{*was.GPIO, was.AccountID, was.Diagnostics})
	require.True(t, w.append(tick(6, 6)).Applied)

	require.NoError(t, w.series.Remove(w.Ctx, tick(6, 6)))
	require.NoError(t, w.series.Remove(w.Ctx, Telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: at(5)}), "the key and the time count")
	was = w.current(device)
	require.Equal(t, at(1), was.Timestamp, "of the event that reported nothing")
	require.Equal(t, 1, *was.GPIO, "of the one before")
	require.NoError(t, w.series.Remove(w.Ctx, tick(0, 1)))
	was = w.current(device)
	require.Equal(t, at(1), was.Timestamp)
	require.Nil(t, was.GPIO)
	require.NoError(t, w.series.Remove(w.Ctx, bare(1)))
	it := w.partition(devicePK)
	require.Len(t, it, 1, "the enrichment")
	require.NotContains(t, it[deviceSK], "timestamp")
	require.Equal(t, "S acct-1", it[deviceSK]["accountId"])
	require.Equal(t, "S $app#v1#telemetry#acct-1", it[deviceSK]["gsi1pk"], "the index follows")
	require.ErrorIs(t, w.series.Remove(w.Ctx, bare(1)), entity.ErrNotFound)
	require.True(t, w.append(tick(-9, 1)).Applied)
}

// enriched stores enrichment, and returns the key.
func (w *lab[T]) enriched() T {
	var v any = Telemetry{Channel: "c-1", DeviceID: "d-7", AccountID: "acct-1"}
	w.OK(w.series.Upsert(w.Ctx, v.(T)))
	return v.(T)
}

func TestRemove_TheLastEventOfAnItemWithoutEnrichmentTakesIt(t *testing.T) {
	w := open[Charge](t)
	w.seed(charge("x", fact{at: 4}))
	require.NoError(t, w.series.Remove(w.Ctx, charge("x", fact{at: 4})))
	require.Empty(t, w.Items())
}

func TestRemove_OfASeriesWithoutACurrentItem(t *testing.T) {
	log := open[Log](t)
	log.seed(Log(singleOf("g", fact{at: 1})), Log(singleOf("g", fact{at: 2})))
	require.NoError(t, log.series.Remove(log.Ctx, Log(singleOf("g", fact{at: 1}))))
	require.ErrorIs(t, log.series.Remove(log.Ctx, Log(singleOf("g", fact{at: 1}))), entity.ErrNotFound)
	require.Len(t, log.Items(), 1)

	both := func() error { return log.series.Remove(log.Ctx, Log(singleOf("g", fact{at: 2}))) }
	err := log.Overtake(func(r faults.Request) bool { return r.Operation == transact || r.Operation == "DeleteItem" }, both, func() {
		require.NoError(t, log.look.Remove(log.Ctx, Log(singleOf("g", fact{at: 2}))))
	})
	require.ErrorIs(t, err, entity.ErrNotFound, "another one has removed it")
}

// With late:"record" a clock far ahead makes all events late; without its event the newest of them is current.
func TestRemove_OfAnEventFarAheadWithLateEvents(t *testing.T) {
	w := open[Charge](t)
	ahead := charge("x", fact{at: 3 * 60 * 24 * 365 * 50, a: 7})
	w.seed(charge("x", fact{at: 3, a: 3}), ahead)
	for n := 4; n < 7; n++ {
		require.Equal(t, timeseries.LateRecorded, w.append(charge("x", fact{at: n, a: n})).Reason)
	}
	require.NoError(t, w.series.Remove(w.Ctx, ahead))
	require.Equal(t, charge("x", fact{at: 6, a: 6}), w.current(Charge{Account: "x"}))
	require.Equal(t, charge("x", fact{at: 6, a: 6}), entity.Must(w.series.At(w.Ctx, Charge{Account: "x"}, ahead.At)))
	require.True(t, w.append(charge("x", fact{at: 8, a: 8})).Applied)
}

// An event that has expired, and that DynamoDB has not removed, does not become current.
func TestRemove_PassesOverEventsThatHaveExpired(t *testing.T) {
	w := open[Telemetry](t)
	w.OK(w.series.Update(w.Ctx, w.enriched(), entity.Set(&entity.Fields[Telemetry]().Diagnostics, "fine")))
	w.seed(tick(0, 1), tick(5, 2))
	w.Clock.Move(7*24*time.Hour - time.Second)
	w.seed(bare(9))
	w.Clock.Move(time.Second)
	require.ErrorIs(t, w.series.Remove(w.Ctx, tick(5, 2)), entity.ErrNotFound)
	require.NoError(t, w.series.Remove(w.Ctx, bare(9)))
	was := w.current(device)
	require.True(t, was.Timestamp.IsZero() && was.GPIO == nil && was.Location == nil, "%+v", was)
	require.Equal(t, "fine", was.Diagnostics)
}

func TestRemove_InATransaction(t *testing.T) {
	w, accounts := withAccounts(t)
	w.seed(tick(0, 1), tick(5, 2))
	gone, create := w.series.Op().Remove(tick(5, 0)), accounts.Op().Create(Account{AccountID: "b"})
	require.NoError(t, w.DB.Transact(w.Ctx, gone, create))
	require.Zero(t, gone.Result())
	require.Equal(t, tick(0, 1), entity.Must(w.series.At(w.Ctx, device, at(9))))
	require.Equal(t, 1, *w.current(device).GPIO)
	require.ErrorIs(t, w.DB.Transact(w.Ctx, w.series.Op().Remove(tick(5, 0)), accounts.Op().Create(Account{AccountID: "c"})), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(accounts.Get(w.Ctx, Account{AccountID: "c"})), entity.ErrNotFound, "nothing is written")
	require.Contains(t, (*timeseries.Ops[Telemetry])(nil).Remove(tick(5, 0)).String(), "EDD-9160")
}

func TestRemove_OfAnEventThatHasExpired(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(60, 2))
	for _, it := range w.Items() {
		if dbtest.Text(it["sk"]) == eventSK("2026-04-22T11:00:00.000000000Z") {
			w.RemoveItem(it) // as DynamoDB does
		}
	}
	require.ErrorIs(t, w.series.Remove(w.Ctx, tick(30, 1)), entity.ErrNotFound)
	require.NoError(t, w.series.Remove(w.Ctx, tick(60, 2)))
	require.Equal(t, []any{at(0), 1}, []any{w.current(device).Timestamp, *w.current(device).GPIO})
}

func TestRemove_MistakesSendNothing(t *testing.T) {
	w := open[Charge](t)
	require.ErrorContains(t, w.series.Remove(w.Ctx, Charge{Account: "x", At: start}), "EDD-9101")
	require.ErrorContains(t, w.series.Remove(w.Ctx, Charge{Account: "x", Event: "a"}), "EDD-9101")
	require.ErrorContains(t, w.series.Remove(w.Ctx, Charge{At: start, Event: "a"}), "EDD-9101")
	require.Empty(t, w.Wire.Requests())
	require.ErrorContains(t, (*timeseries.Series[Charge])(nil).Remove(w.Ctx, Charge{}), "EDD-9160")
}

func TestRemove_IsRefusedInASharedTable(t *testing.T) {
	w := open[Pulse](t, sharedTable)
	require.ErrorContains(t, w.series.Remove(w.Ctx, pulse(1, 1)), "EDD-9192")
	require.Empty(t, w.Wire.Requests())
}

// What an expired event has left on the current item goes with it, whether DynamoDB has removed the event or not.
func TestRemove_OfAnExpiredEventThatIsStillStored(t *testing.T) {
	w := open[Sharded](t)
	event := func(at, a int, b string) Sharded {
		return asSharded.event("s", fact{at: at, a: a, b: b, hasB: b != ""})
	}
	w.seed(event(1, 1, "x"), event(5, 5, ""))
	w.Clock.Move(asSharded.ttl - time.Second)
	require.Equal(t, timeseries.LateRecorded, w.append(event(2, 2, "")).Reason)
	w.Clock.Move(time.Second)
	require.NoError(t, w.series.Remove(w.Ctx, event(5, 0, "")))
	require.Equal(t, event(2, 2, ""), w.current(event(0, 0, "")))
}

// remove takes an event out of the model: the current item takes over what it has of the event from the newest others.
func (m *model) remove(at int) bool {
	f, stored := m.history[at]
	if !stored && m.current.at != at {
		return false
	}
	delete(m.history, at)
	delete(m.ends, at)
	shown, others := m.current.at == at, m.events()
	if shown {
		m.current.at = 0
	}
	a, b := f.hasA && m.current.hasA && m.current.a == f.a && (shown || !m.record), f.hasB && m.current.hasB && m.current.b == f.b
	if !stored { // it has expired, and what it reported is not known: all is what the others report
		a, b = true, true
	}
	if a {
		m.current.a, m.current.hasA = 0, false
	}
	if b {
		m.current.b, m.current.hasB = "", false
	}
	for _, o := range others {
		if shown {
			m.current.at = o.at
		}
		if a && o.hasA {
			m.current.a, m.current.hasA = o.a, true
		}
		if b && o.hasB {
			m.current.b, m.current.hasB = o.b, true
		}
	}
	if m.current.at == 0 {
		m.current = fact{}
	}
	return true
}

func TestRemove_AgreesWithTheModel(t *testing.T) {
	t.Parallel()
	t.Run("drop", func(t *testing.T) { removes(t, asTelemetry) })
	t.Run("record", func(t *testing.T) { removes(t, asMeter) })
	t.Run("ids", func(t *testing.T) { removes(t, asCharge) })
	t.Run("ids, in partitions", func(t *testing.T) { removes(t, asStep) })
	t.Run("partitions, expiry", func(t *testing.T) { removes(t, asSharded) })
	t.Run("upgrades, partitions, expiry", func(t *testing.T) {
		w, earlier := invoices(t)
		removesIn(t, w, asInvoice, earlier)
	})
}

// invoices opens the series of Invoice, and that of the declaration before it on the same table.
func invoices(t *testing.T) (w *lab[Invoice], earlier *timeseries.Series[Invoice1]) {
	w = &lab[Invoice]{Bench: dbtest.Open(t)}
	w.Clock.Set(time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC), 0)
	upgrade := entity.Upgrade(1, func(old Invoice1) (Invoice, error) {
		return Invoice{Account: old.Account, At: old.At, Event: old.Event, Amount: fmt.Sprint(old.Cents), Remark: old.Note, Owner: old.Owner}, nil
	})
	w.series = entity.Must(timeseries.New[Invoice](w.DB, upgrade))
	w.look = entity.Must(timeseries.New[Invoice](w.Open(w.Raw, dbtest.Attempts(0)), upgrade))
	w.CreateTables()
	return w, declare[Invoice1](t, w.Open(w.Raw))
}

// What an append returns without reading it is of today's declaration: there is nothing to upgrade.
func TestAppend_ResultsThatAreNotReadNeedNoUpgrade(t *testing.T) {
	w, _ := invoices(t)
	ev := asInvoice.event("x", fact{at: 4, a: 7, b: "y", hasB: true})
	rs := w.appendAll([]Invoice{ev, ev})
	require.Equal(t, timeseries.Duplicate, rs[1].Reason)
	require.Equal(t, ev, *rs[1].Existing)
	later := w.series.Op().Append(asInvoice.event("x", fact{at: 5, a: 8}))
	require.NoError(t, w.DB.Transact(w.Ctx, later))
	require.Equal(t, asInvoice.event("x", fact{at: 5, a: 8}), currentOf(t, later.Result()))
}

// Invoice is a series whose events have an id, in several partitions, with an amount that was a number in Invoice1.
type Invoice struct {
	_       entity.Key        `name:"Invoice" pk:"$#{account}" sk:"$" payload:"2"`
	_       entity.GSI        `name:"byAmount" index:"gsi1" pk:"$#{amount}" sk:"$#{account}"`
	_       timeseries.Events `orderBy:"at" id:"event" late:"record" shards:"2" ttl:"30d"`
	Account string            `dynamodbav:"account"`
	At      time.Time         `dynamodbav:"at" entity:"time=s"`
	Event   string            `dynamodbav:"event"`
	Amount  string            `dynamodbav:"amount" entity:"append"`
	Remark  *string           `dynamodbav:"remark,omitempty" entity:"append"`
	Owner   string            `dynamodbav:"owner,omitempty"`
}

type Invoice1 struct {
	_       entity.Key        `name:"Invoice" pk:"$#{account}" sk:"$"`
	_       timeseries.Events `orderBy:"at" id:"event" late:"record" shards:"2" ttl:"30d"`
	Account string            `dynamodbav:"account"`
	At      time.Time         `dynamodbav:"at" entity:"time=s"`
	Event   string            `dynamodbav:"event"`
	Cents   int               `dynamodbav:"cents" entity:"append"`
	Note    *string           `dynamodbav:"note,omitempty" entity:"append"`
	Owner   string            `dynamodbav:"owner,omitempty"`
}

func invoice1(account string, f fact) Invoice1 {
	ev := charge(account, f)
	return Invoice1{Account: account, At: ev.At, Event: ev.Event, Cents: ev.Cents, Note: ev.Note}
}

var asInvoice = mapping[Invoice]{
	record: true, ttl: 30 * 24 * time.Hour, pk: "$app#v1#invoice#%s", sk: "$app#v1#invoice",
	event: func(account string, f fact) Invoice {
		ev := charge(account, f)
		return Invoice{Account: account, At: ev.At, Event: ev.Event, Amount: fmt.Sprint(f.a), Remark: ev.Note}
	},
	fact: func(ev Invoice) fact {
		cents, _ := strconv.Atoi(ev.Amount)
		return asCharge.fact(Charge{At: ev.At, Event: ev.Event, Cents: cents, Note: ev.Remark})
	},
}

var asSharded = mapping[Sharded]{
	record: true, ttl: 30 * 24 * time.Hour, pk: "$app#v1#sharded#%s", sk: "$app#v1#sharded#s%231",
	event: func(id string, f fact) Sharded { return Sharded(singleOf(id, f)) },
	fact:  func(ev Sharded) fact { return factOf(int(ev.At.Sub(start).Minutes()), ev.Value, ev.Note) },
}

func removes[T any](t *testing.T, as mapping[T]) { removesIn[T](t, open[T](t), as, nil) }

// removesIn compares random appends and removals with the model. The first appends to a series are those of a program with an earlier
// declaration, if there is one.
func removesIn[T any](t *testing.T, w *lab[T], as mapping[T], earlier *timeseries.Series[Invoice1]) {
	var series atomic.Int64
	testsize.Check(t, testsize.Pick(3, 30), func(rt *rapid.T) {
		id, m := fmt.Sprint(series.Add(1)), newModel(as.record, as.ttl)
		upgraded := 0
		if earlier != nil {
			upgraded = rapid.IntRange(0, 3).Draw(rt, "upgraded")
		}
		for n := range 4 {
			w.Clock.Move(rapid.SampledFrom([]time.Duration{0, 0, time.Second, max(0, as.ttl-time.Second), as.ttl}).Draw(rt, "move"))
			m.age(w.Clock.Now())
			w.lapse(rt, id)
			batch := facts(6, 12, as.record).Draw(rt, "batch")
			if n < upgraded {
				evs := each(batch, func(f fact) Invoice1 { return invoice1(id, f) })
				m.appendAll(batch)
				require.NoError(rt, dbtest.ErrorOf(earlier.AppendAll(w.Ctx, evs)))
				if same(rt, w, as, id, m); n+1 < upgraded {
					continue
				}
			} else {
				compare(rt, w, as, id, m.appendAll(batch), batch)
			}
			for _, at := range rapid.SliceOfN(rapid.IntRange(1, 12), 0, 5).Draw(rt, "removed") {
				err := w.series.Remove(w.Ctx, as.event(id, fact{at: at}))
				if m.remove(at) {
					require.NoError(rt, err)
				} else {
					require.ErrorIs(rt, err, entity.ErrNotFound)
				}
				same(rt, w, as, id, m)
			}
		}
	})
}

// What is written between the reads of a removal and its transaction is never lost.
func TestRemove_PlansAgainAfterEveryWriteInBetween(t *testing.T) {
	t.Parallel()
	for name, write := range map[string]func(w *lab[Charge]) error{
		"a newer event": func(w *lab[Charge]) error {
			return dbtest.ErrorOf(w.look.Append(w.Ctx, charge("x", fact{at: 9, a: 9})))
		},
		"a late event": func(w *lab[Charge]) error {
			return dbtest.ErrorOf(w.look.Append(w.Ctx, charge("x", fact{at: 5, a: 5})))
		},
		"late events": func(w *lab[Charge]) error {
			return dbtest.ErrorOf(w.look.AppendAll(w.Ctx, []Charge{charge("x", fact{at: 5, a: 5}), charge("x", fact{at: 4, a: 4})}))
		},
		"enrichment": func(w *lab[Charge]) error {
			return dbtest.ErrorOf(w.look.Update(w.Ctx, Charge{Account: "x"}, entity.Set(&entity.Fields[Charge]().Owner, "ann")))
		},
		"a removal":        func(w *lab[Charge]) error { return w.look.Remove(w.Ctx, charge("x", fact{at: 3})) },
		"the same removal": func(w *lab[Charge]) error { return w.look.Remove(w.Ctx, charge("x", fact{at: 8})) },
		"a purge":          func(w *lab[Charge]) error { return w.look.Purge(w.Ctx, Charge{Account: "x"}) },
		"an event that is it": func(w *lab[Charge]) error {
			return dbtest.ErrorOf(w.look.Append(w.Ctx, charge("x", fact{at: 8, a: 8})))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := open[Charge](t)
			w.seed(charge("x", fact{at: 1, a: 1}), charge("x", fact{at: 3, a: 3}), charge("x", fact{at: 8, a: 8}))
			transaction := func(r faults.Request) bool { return r.Operation == transact }
			err := w.Overtake(transaction, func() error { return w.series.Remove(w.Ctx, charge("x", fact{at: 8})) }, func() { require.NoError(t, write(w), name) })
			switch name {
			case "the same removal", "a purge":
				require.ErrorIs(t, err, entity.ErrNotFound, name)
			default:
				require.NoError(t, err, name)
			}
			evs := w.history(Charge{Account: "x"})
			if name == "a purge" {
				require.Empty(t, w.Items())
				return
			}
			newest := evs[len(evs)-1]
			require.NotEqual(t, 8, newest.Cents, name)
			current := w.current(Charge{Account: "x"})
			require.Equal(t, []any{newest.At, newest.Event, newest.Cents}, []any{current.At, current.Event, current.Cents}, name)
			require.Equal(t, name == "enrichment", current.Owner == "ann", name)
		})
	}
}

// An event that was late before a removal, and is the newest after it, becomes the current item.
func TestRemove_ALateEventThatIsNewerAfterARemoval(t *testing.T) {
	t.Parallel()
	for name, evs := range map[string][]Charge{"one": {charge("x", fact{at: 5, a: 5})}, "of one time": {charge("x", fact{at: 7, a: 5})}, "two": {charge("x", fact{at: 2, a: 2}), charge("x", fact{at: 5, a: 5})}} {
		t.Run(name, func(t *testing.T) {
			w := open[Charge](t)
			w.seed(charge("x", fact{at: 1, a: 1}), charge("x", fact{at: 3, a: 3}))
			if name == "of one time" {
				w.seed(charge("x", fact{at: 6, a: 6}))
			}
			w.seed(charge("x", fact{at: 8, a: 8}))
			before, seen := len(w.history(Charge{Account: "x"})), 0
			recording := func(r faults.Request) bool {
				if r.Operation == transact {
					seen++
				}
				return r.Operation == transact && seen == 2
			}
			require.NoError(t, w.Overtake(recording, func() error {
				if len(evs) == 1 {
					return dbtest.ErrorOf(w.series.Append(w.Ctx, evs[0]))
				}
				return dbtest.ErrorOf(w.series.AppendAll(w.Ctx, evs))
			}, func() { require.NoError(t, w.look.Remove(w.Ctx, charge("x", fact{at: 8}))) }))
			require.Equal(t, 5, w.current(Charge{Account: "x"}).Cents)
			require.Len(t, w.history(Charge{Account: "x"}), before-1+len(evs))
		})
	}
}

func TestRemove_EveryFaultOfEveryRequest(t *testing.T) {
	w := open[Charge](t, dbtest.Attempts(6))
	for n := 1; n <= 4; n++ {
		for _, fault := range everyFault {
			account := fmt.Sprint(n, fault)
			w.seed(charge(account, fact{at: 3, a: 3}), charge(account, fact{at: 8, a: 8}))
			w.Wire.Inject(faults.Nth(n, fault))
			err := w.series.Remove(w.Ctx, charge(account, fact{at: 8}))
			w.Wire.Inject(nil)
			if err != nil {
				require.True(t, entity.IsAmbiguous(err), "%s: %v", account, err)
				_ = w.series.Remove(w.Ctx, charge(account, fact{at: 8}))
			}
			require.Equal(t, charge(account, fact{at: 3, a: 3}), w.current(Charge{Account: account}), account)
			require.Len(t, w.history(Charge{Account: account}), 1)
		}
	}
}
