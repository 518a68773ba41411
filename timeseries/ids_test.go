package timeseries_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Charge is a series whose events have an id.
type Charge struct {
	_       entity.Key        `name:"Charge" pk:"$#{account}" sk:"$"`
	_       entity.GSI        `name:"latest" index:"gsi1" pk:"$" sk:"$#{at}#{event}"`
	_       timeseries.Events `orderBy:"at" id:"event" late:"record"`
	Account string            `dynamodbav:"account"`
	At      time.Time         `dynamodbav:"at" entity:"time=s"`
	Event   string            `dynamodbav:"event"`
	Cents   int               `dynamodbav:"cents" entity:"append"`
	Note    *string           `dynamodbav:"note,omitempty" entity:"append"`
	Owner   string            `dynamodbav:"owner,omitempty"`
}

// Step is a series in several partitions, ordered by a text and a number.
type Step struct {
	_     entity.Key        `name:"Step" pk:"$#{run}" sk:"$#{part}"`
	_     timeseries.Events `orderBy:"phase" id:"n" late:"record" shards:"3"`
	Run   string            `dynamodbav:"run"`
	Part  string            `dynamodbav:"part"`
	Phase string            `dynamodbav:"phase"`
	N     int               `dynamodbav:"n" entity:"zero"`
	Value int               `dynamodbav:"value" entity:"append"`
	Note  *string           `dynamodbav:"note,omitempty" entity:"append"`
}

// chargeIDs are in order, and have what separates the parts of keys.
var chargeIDs = []string{"#e#", "a", "a#b%"}

// charge is the event of a fact; three facts in a row have one time.
func charge(account string, f fact) Charge {
	return Charge{Account: account, At: at(f.at / 3), Event: chargeIDs[f.at%3], Cents: f.a, Note: noted(f)}
}

var asCharge = mapping[Charge]{
	record: true, pk: "$app#v1#charge#%s", sk: "$app#v1#charge", event: charge,
	fact: func(ev Charge) fact {
		return factOf(3*int(ev.At.Sub(start).Minutes())+slices.Index(chargeIDs, ev.Event), ev.Cents, ev.Note)
	},
}

// asStep has phases of one to three letters e, one of which is what marks events in keys.
var asStep = mapping[Step]{
	record: true, pk: "$app#v1#step#%s", sk: "$app#v1#step#e",
	event: func(run string, f fact) Step {
		return Step{Run: run, Part: "e", Phase: strings.Repeat("e", f.at/4+1), N: f.at % 4, Value: f.a, Note: noted(f)}
	},
	fact: func(ev Step) fact { return factOf(4*(len(ev.Phase)-1)+ev.N, ev.Value, ev.Note) },
}

func TestIDs_AppendsAgreeWithTheModel(t *testing.T) {
	t.Parallel()
	t.Run("time and text", func(t *testing.T) { agree(t, asCharge) })
	t.Run("text and number, in partitions", func(t *testing.T) { agree(t, asStep) })
}

func TestIDs_OfOneTimeTheGreatestIsCurrentInAnyOrder(t *testing.T) {
	w := open[Charge](t)
	for i, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		account := fmt.Sprint(i)
		for n, id := range order {
			r := w.append(charge(account, fact{at: 3 + id, a: id}))
			newest := id == slices.Max(order[:n+1])
			require.Equal(t, newest, r.Applied, "%v", order)
			if !newest {
				require.Equal(t, timeseries.LateRecorded, r.Reason)
			}
			require.Equal(t, slices.Max(order[:n+1]), entity.Must(r.Current(w.Ctx)).Cents)
		}
		key := Charge{Account: account}
		require.Equal(t, charge(account, fact{at: 5, a: 2}), w.current(key))
		require.Equal(t, []Charge{charge(account, fact{at: 3}), charge(account, fact{at: 4, a: 1}), charge(account, fact{at: 5, a: 2})}, w.history(key))

		require.Equal(t, timeseries.Duplicate, w.append(charge(account, fact{at: 4, a: 1})).Reason)
		r := w.append(charge(account, fact{at: 4, a: 9}))
		require.Equal(t, timeseries.Collision, r.Reason)
		require.Equal(t, charge(account, fact{at: 4, a: 1}), *r.Existing)
		latest := entity.Must(entity.Must(w.series.Index("latest")).Query(Charge{}).Collect(w.Ctx))
		require.Contains(t, latest, charge(account, fact{at: 5, a: 2}), "the index follows")
	}
}

// An item without an id is before every event of its time: its event was stored when the series had none.
func TestIDs_ACurrentItemWithoutOneIsBeforeTheEventsOfItsTime(t *testing.T) {
	w := open[Charge](t)
	w.seed(charge("x", fact{at: 4, a: 1}))
	image := w.Item("$app#v1#charge#x", "$app#v1#charge")
	delete(image, "event")
	w.PutItem(image)
	require.Equal(t, timeseries.LateRecorded, w.append(charge("x", fact{at: 2})).Reason)
	require.True(t, w.append(charge("x", fact{at: 3, a: 3})).Applied)
	require.Equal(t, timeseries.LateRecorded, w.appendAll([]Charge{charge("x", fact{at: 1})})[0].Reason)

	image["event"] = dbtest.N("1")
	w.PutItem(image)
	_, err := w.series.Append(w.Ctx, charge("x", fact{at: 5, a: 7}))
	require.Equal(t, "event", dbtest.As[*entity.DecodeError](t, err).Attr)
}

func TestIDs_RangesOfTimesHaveEveryEventOfTheirEnds(t *testing.T) {
	got, f := ranges(t, open[Charge](t)), entity.Fields[Charge]()
	all := []int{0, 1, 2, 3, 4, 5, 6, 7, 8}
	require.Equal(t, all, got())
	require.Equal(t, all[3:], got(entity.Ge(&f.At, at(1))))
	require.Equal(t, all[6:], got(entity.Gt(&f.At, at(1))))
	require.Equal(t, all[:6], got(entity.Le(&f.At, at(1))))
	require.Equal(t, all[:3], got(entity.Lt(&f.At, at(1))))
	require.Equal(t, all[3:6], got(entity.Eq(&f.At, at(1))))
	require.Equal(t, all[:6], got(entity.Between(&f.At, at(0), at(1))))
	require.Equal(t, all[3:6], got(entity.Ge(&f.At, at(1)), entity.Lt(&f.At, at(2))))
	require.Equal(t, all[3:6], got(entity.Gt(&f.At, at(0)), entity.Le(&f.At, at(1))))
	require.Equal(t, all[4:6], got(entity.Eq(&f.At, at(1)), entity.Ge(&f.Event, "a")))
	require.Equal(t, all[5:6], got(entity.Eq(&f.At, at(1)), entity.Gt(&f.Event, "a")))
	require.Equal(t, all[3:5], got(entity.Eq(&f.At, at(1)), entity.Le(&f.Event, "a")))
	require.Equal(t, all[3:4], got(entity.Eq(&f.At, at(1)), entity.Lt(&f.Event, "a")))
	require.Equal(t, all[3:4], got(entity.Eq(&f.At, at(1)), entity.Eq(&f.Event, "#e#")))
	require.Equal(t, all[4:6], got(entity.Eq(&f.At, at(1)), entity.BeginsWith(&f.Event, "a")))
	down := slices.Clone(all[:6])
	slices.Reverse(down)
	require.Equal(t, down, got(entity.Le(&f.At, at(1)), entity.Desc()))
}

// ranges appends nine charges of three times, and returns a history of their numbers, read page by page too.
func ranges(t *testing.T, w *lab[Charge]) func(opts ...entity.QueryOption) []int {
	for n := range 9 {
		w.append(charge("x", fact{at: n, a: n}))
	}
	w.append(charge("y", fact{at: 3}))
	for _, m := range []int{0, 1, 2} {
		require.Equal(t, charge("x", fact{at: 3*m + 2, a: 3*m + 2}), entity.Must(w.series.At(w.Ctx, Charge{Account: "x"}, at(m))))
	}
	require.ErrorIs(t, dbtest.ErrorOf(w.series.At(w.Ctx, Charge{Account: "x"}, at(-1))), entity.ErrNotFound)
	return func(opts ...entity.QueryOption) (numbers []int) {
		t.Helper()
		query := w.series.History(Charge{Account: "x", Event: "ignored", At: at(7)}, append(opts, entity.Limit(2))...)
		for _, ev := range slices.Concat(dbtest.Pages(t, query)...) {
			numbers = append(numbers, ev.Cents)
		}
		whole := entity.Must(w.series.History(Charge{Account: "x"}, opts...).Collect(w.Ctx))
		require.Len(t, numbers, len(whole))
		for i, ev := range whole {
			require.Equal(t, numbers[i], ev.Cents)
		}
		return numbers
	}
}

func TestIDs_MistakesAreErrorsBeforeAnyRequest(t *testing.T) {
	w := open[Charge](t)
	f := entity.Fields[Charge]()
	for name, err := range map[string]error{
		"EDD-9101 Event":             dbtest.ErrorOf(w.series.Append(w.Ctx, Charge{Account: "x", At: start})),
		"EDD-9101 Event, of several": dbtest.ErrorOf(w.series.AppendAll(w.Ctx, []Charge{charge("x", fact{at: 1}), {Account: "x", At: start}})),
		"EDD-9104 Event":             dbtest.ErrorOf(w.series.Update(w.Ctx, Charge{Account: "x"}, entity.Set(&f.Event, "y"))),
		"EDD-9004 Event":             dbtest.ErrorOf(w.series.History(Charge{Account: "x"}, entity.Eq(&f.Event, "y")).Collect(w.Ctx)),
		"EDD-9115 Cents":             dbtest.ErrorOf(w.series.History(Charge{Account: "x"}, entity.Eq(&f.Cents, 1)).Collect(w.Ctx)),
	} {
		input := dbtest.As[*entity.InputError](t, err, name)
		require.True(t, strings.HasPrefix(name, input.Code+" "+input.Field), "%s: %v", name, input)
	}
	long := charge("x", fact{at: 1})
	long.Event = strings.Repeat("#", 340)
	require.ErrorIs(t, dbtest.ErrorOf(w.series.Append(w.Ctx, long)), entity.ErrTooLarge)
	require.Empty(t, w.Wire.Requests())
}

func TestIDs_UpsertLeavesTheIDToAppends(t *testing.T) {
	w := open[Charge](t)
	enriched := charge("x", fact{at: 8})
	enriched.Owner = "ann"
	b, created, err := w.series.Upsert(w.Ctx, enriched)
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, Charge{Account: "x", Owner: "ann"}, b)
	require.True(t, w.append(charge("x", fact{at: 1})).Applied)
}

func TestIDs_PurgeLeavesNothing(t *testing.T) {
	w := open[Step](t)
	for n := range 9 {
		w.append(asStep.event("r", fact{at: n}))
	}
	other := asStep.event("r", fact{at: 1})
	other.Part = "e#e"
	w.append(other)
	require.NoError(t, w.series.Purge(w.Ctx, asStep.event("r", fact{})))
	require.Len(t, w.Items(), 2, "another series, whose key begins with the same text")
	require.Equal(t, []Step{other}, w.history(other))
}

func TestIDs_AppendsOfOneTransactionAdvanceTheItemToTheGreatest(t *testing.T) {
	w := open[Charge](t)
	w.seed(charge("x", fact{at: 3}))
	ops := w.series.Op()
	w.OK(w.DB.Transact(w.Ctx, ops.Append(charge("x", fact{at: 5, a: 5})), ops.Append(charge("x", fact{at: 4, a: 4}))))
	require.Equal(t, charge("x", fact{at: 5, a: 5}), w.current(Charge{Account: "x"}))
	err := w.DB.Transact(w.Ctx, ops.Append(charge("y", fact{at: 5})), ops.Append(charge("x", fact{at: 2})))
	require.Equal(t, timeseries.Older, dbtest.As[*timeseries.NotAppliedError](t, err).Reason)
}

// Every fault is given to every request of an append with an id; what is stored and said must be as without it.
func TestIDs_EveryFaultOfEveryRequest(t *testing.T) {
	w := open[Charge](t, dbtest.Attempts(6))
	outcomes := map[string]fact{"applied": {at: 5, a: 5}, "recorded": {at: 3, a: 3}, "duplicate": {at: 4, a: 4}, "collision": {at: 4, a: 9}}
	for name, f := range outcomes {
		for _, fault := range everyFault {
			for n := 1; n <= 2; n++ {
				account := fmt.Sprint(name, fault, n)
				w.append(charge(account, fact{at: 4, a: 4}))
				w.Wire.Reset()
				w.Wire.Inject(faults.Nth(n, fault))
				r, err := w.series.Append(w.Ctx, charge(account, f))
				w.Wire.Inject(nil)
				if err != nil {
					require.True(t, entity.IsAmbiguous(err), "%s: %v", account, err)
					r = w.append(charge(account, f))
				}
				reason := string(r.Reason)
				if r.Applied {
					reason = "applied"
				}
				if lost := fault == faults.Lost || fault == faults.InternalApplied || fault == faults.Drop; !lost || reason != "duplicate" {
					require.Equal(t, name, reason, account)
				}
				want := map[string][]int{"applied": {4, 5}, "recorded": {3, 4}, "duplicate": {4}, "collision": {4}}[name]
				var got []int
				for _, ev := range w.history(Charge{Account: account}) {
					got = append(got, ev.Cents)
				}
				require.Equal(t, want, got, account)
				require.Equal(t, slices.Max(want), w.current(Charge{Account: account}).Cents, account)
			}
		}
	}
}
