package timeseries_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
)

// fact is an event of the model: when it was, one field that it may report, and one more.
type fact struct {
	at   int
	a    int
	hasA bool
	b    string
	hasB bool
}

// model is what a series should do, without a database.
type model struct {
	record  bool
	ttl     time.Duration // 0: events stay
	now     time.Time
	history map[int]fact
	ends    map[int]time.Time // of events that expire
	current fact              // folded; at 0 before the first event
}

func newModel(record bool, ttl time.Duration) *model {
	return &model{record: record, ttl: ttl, history: map[int]fact{}, ends: map[int]time.Time{}}
}

// store stores an event.
func (m *model) store(f fact) {
	if m.history[f.at] = f; m.ttl > 0 {
		m.ends[f.at] = m.now.Add(m.ttl)
	}
}

// age moves the clock. What has expired is no event any more.
func (m *model) age(now time.Time) {
	m.now = now
	for at, end := range m.ends {
		if end.Unix() <= now.Unix() {
			delete(m.history, at)
			delete(m.ends, at)
		}
	}
}

// verdict is what the model says of an event.
type verdict struct {
	reason timeseries.Reason // "": applied
	stored fact              // of a duplicate or collision
}

// fold brings the current item up to f.
func (m *model) fold(f fact) {
	m.current.at = f.at
	if f.hasA {
		m.current.a, m.current.hasA = f.a, true
	}
	if f.hasB {
		m.current.b, m.current.hasB = f.b, true
	}
}

func (m *model) append(f fact) verdict {
	if stored, ok := m.history[f.at]; ok {
		if stored != f {
			return verdict{timeseries.Collision, stored}
		}
		if f.at > m.current.at {
			m.fold(f) // current lagged behind
		}
		return verdict{timeseries.Duplicate, stored}
	}
	switch {
	case f.at > m.current.at:
		m.store(f)
		m.fold(f)
		return verdict{}
	case m.record:
		m.store(f)
		return verdict{reason: timeseries.LateRecorded}
	}
	return verdict{reason: timeseries.Older}
}

// appendAll appends a batch as a set: in order of time, of equal times in the order given. Events behind one that
// collided with what is stored are looked at when the others are through, which makes a difference only where the
// current item lags.
func (m *model) appendAll(batch []fact) []verdict {
	order := make([]int, len(batch))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(batch[i].at, batch[j].at) })
	verdicts, collided, last := make([]verdict, len(batch)), map[int]bool{}, []int{}
	for _, i := range order {
		if collided[batch[i].at] {
			last = append(last, i)
			continue
		}
		verdicts[i] = m.append(batch[i])
		collided[batch[i].at] = verdicts[i].reason == timeseries.Collision
	}
	for _, i := range last {
		verdicts[i] = m.append(batch[i])
	}
	return verdicts
}

// events are the history in order.
func (m *model) events() []fact {
	var all []fact
	for _, f := range m.history {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b fact) int { return cmp.Compare(a.at, b.at) })
	return all
}

// mapping is how facts of the model are events of T.
type mapping[T any] struct {
	record bool
	ttl    time.Duration
	event  func(series string, f fact) T
	fact   func(T) fact
	pk, sk string // of the current item; pk takes the series
}

var asTelemetry = mapping[Telemetry]{
	ttl: 7 * 24 * time.Hour, pk: "$app#v1#telemetry#m#%s", sk: deviceSK,
	event: func(series string, f fact) Telemetry {
		ev := Telemetry{Channel: "m", DeviceID: series, Timestamp: at(f.at)}
		if f.hasA {
			ev.GPIO = ptr(f.a)
		}
		if f.hasB {
			ev.Location = ptr(f.b)
		}
		return ev
	},
	fact: func(ev Telemetry) fact {
		f := fact{at: int(ev.Timestamp.Sub(start).Minutes()), hasA: ev.GPIO != nil, hasB: ev.Location != nil}
		if f.hasA {
			f.a = *ev.GPIO
		}
		if f.hasB {
			f.b = *ev.Location
		}
		return f
	},
}

var asMeter = mapping[Meter]{
	record: true, pk: "$app#v1#meter#%s", sk: "$app#v1#meter",
	event: func(series string, f fact) Meter {
		return Meter{MeterID: series, Seq: int64(f.at), Value: f.a, Note: noted(f)}
	},
	fact: func(ev Meter) fact { return factOf(int(ev.Seq), ev.Value, ev.Note) },
}

// noted is the note of an event that has one, and factOf the fact of an event with a value and a note.
func noted(f fact) *string {
	if !f.hasB {
		return nil
	}
	return &f.b
}

func factOf(at, value int, note *string) fact {
	f := fact{at: at, a: value, hasA: true, hasB: note != nil}
	if f.hasB {
		f.b = *note
	}
	return f
}

// facts generates a batch. Few times and values make duplicates and collisions frequent.
func facts(longest, latest int, must bool) *rapid.Generator[[]fact] {
	one := rapid.Custom(func(t *rapid.T) fact {
		f := fact{at: rapid.IntRange(1, latest).Draw(t, "at"), hasA: must || rapid.Bool().Draw(t, "hasA"), hasB: rapid.Bool().Draw(t, "hasB")}
		if f.hasA {
			f.a = rapid.IntRange(0, 1).Draw(t, "a")
		}
		if f.hasB {
			f.b = rapid.SampledFrom([]string{"x", "y"}).Draw(t, "b")
		}
		return f
	})
	return rapid.SliceOfN(one, 0, longest)
}

func TestAppendAll_AgreesWithTheModelOnRandomBatches(t *testing.T) {
	t.Parallel()
	t.Run("drop", func(t *testing.T) { agree(t, asTelemetry) })
	t.Run("record", func(t *testing.T) { agree(t, asMeter) })
}

func agree[T any](t *testing.T, as mapping[T]) {
	w := open[T](t)
	var series atomic.Int64
	testsize.Check(t, testsize.Pick(6, 30), func(rt *rapid.T) {
		id, m := fmt.Sprint(series.Add(1)), newModel(as.record, as.ttl)
		send := func(label string, batch []fact) {
			w.Clock.Move(rapid.SampledFrom([]time.Duration{0, 0, time.Second, 5 * 24 * time.Hour, 7 * 24 * time.Hour}).Draw(rt, "move"))
			m.age(w.Clock.Now())
			w.lapse(rt, id)
			compare(rt, w, as, id, m.appendAll(batch), batch)
			same(rt, w, as, id, m)
		}
		send("first", facts(12, 12, as.record).Draw(rt, "first"))
		before, image := m.current, w.Item(fmt.Sprintf(as.pk, id), as.sk)
		send("second", facts(12, 20, as.record).Draw(rt, "second"))
		switch pk := fmt.Sprintf(as.pk, id); rapid.SampledFrom([]string{"as it is", "lags", "gone"}).Draw(rt, "current") {
		case "lags": // no append does that: it was restored from a backup, or an event was written by hand
			if image != nil {
				m.current = before
				w.restore(pk, as.sk, image)
			}
		case "gone":
			m.current = fact{}
			w.restore(pk, as.sk, nil)
		}
		for range 2 {
			send("one", facts(1, 20, as.record).Draw(rt, "one"))
		}
		latest := rapid.SampledFrom([]int{20, 30, 300}).Draw(rt, "latest")
		send("third", facts(rapid.SampledFrom([]int{5, 20, 260}).Draw(rt, "longest"), latest, as.record).Draw(rt, "third"))
	})
}

// lapse removes some of the events of a series that have expired, as DynamoDB does.
func (w *lab[T]) lapse(t *rapid.T, id string) {
	for _, it := range w.Items() {
		end, err := strconv.ParseInt(dbtest.Text(it["_ttl"]), 10, 64)
		if pk, _ := w.KeyOf(it); strings.Contains(pk, id) && err == nil && end <= w.Clock.Now().Unix() && rapid.Bool().Draw(t, "removed") {
			w.RemoveItem(it)
		}
	}
}

// compare appends a batch, or one event alone, and compares the results with the model's.
func compare[T any](t *rapid.T, w *lab[T], as mapping[T], id string, want []verdict, batch []fact) {
	evs := each(batch, func(f fact) T { return as.event(id, f) })
	var rs []timeseries.Result[T]
	var err error
	if len(evs) == 1 && rapid.Bool().Draw(t, "alone") {
		rs = make([]timeseries.Result[T], 1)
		rs[0], err = w.series.Append(w.Ctx, evs[0])
	} else {
		rs, err = w.series.AppendAll(w.Ctx, evs)
	}
	require.NoError(t, err)
	require.Len(t, rs, len(batch))
	for i, r := range rs {
		require.Equal(t, want[i].reason, r.Reason, "event %d: %+v", i, batch[i])
		require.Equal(t, want[i].reason == "", r.Applied)
		if want[i].stored.at == 0 {
			require.Nil(t, r.Existing)
		} else {
			require.Equal(t, want[i].stored, as.fact(*r.Existing), "event %d", i)
		}
		if r.Reason != timeseries.Collision {
			require.GreaterOrEqual(t, as.fact(currentOf(t, r)).at, batch[i].at, "current is at or after the event")
		}
	}
}

// same compares the stored history and current item with the model's.
func same[T any](t *rapid.T, w *lab[T], as mapping[T], id string, m *model) {
	key := as.event(id, fact{})
	evs, err := w.look.History(key).Collect(w.Ctx)
	require.NoError(t, err)
	var got []fact
	for _, ev := range evs {
		got = append(got, as.fact(ev))
	}
	require.Equal(t, m.events(), got)
	cur, err := w.look.Get(w.Ctx, key)
	if m.current.at == 0 {
		require.ErrorIs(t, err, entity.ErrNotFound)
		return
	}
	require.NoError(t, err)
	require.Equal(t, m.current, as.fact(cur))
}
