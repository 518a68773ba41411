package timeseries_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestAppend_FirstEventIsApplied(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	r := w.append(tick(0, 1))
	require.True(t, r.Applied)
	require.Empty(t, r.Reason)
	require.Nil(t, r.Existing)
	require.Equal(t, w.current(device), currentOf(t, r))
	require.Equal(t, at(0), currentOf(t, r).Timestamp)
	require.Equal(t, 1, *currentOf(t, r).GPIO)
	require.False(t, currentOf(t, r).CreatedAt.IsZero())
}

func TestAppend_NewerEventIsAppliedAndTheCurrentItemIsTheNewest(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	r := w.append(tick(1, 2))
	require.True(t, r.Applied)
	require.Equal(t, at(1), currentOf(t, r).Timestamp)
	require.Equal(t, 2, *currentOf(t, r).GPIO)
	require.Len(t, w.history(device), 2)
}

func TestAppend_OlderEventIsDroppedAsOutcome(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(5, 1))
	before := w.partition(devicePK)
	r := w.append(tick(4, 2))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.Older, r.Reason)
	require.Equal(t, w.current(device), currentOf(t, r), "the winner")
	require.Nil(t, r.Existing)
	require.Equal(t, before, w.partition(devicePK), "nothing is written")
}

func TestAppend_SameEventAgainIsADuplicate(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	before := w.partition(devicePK)
	r := w.append(tick(0, 1))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(0), currentOf(t, r).Timestamp)
	require.Equal(t, w.history(device)[0], *r.Existing)
	require.Equal(t, before, w.partition(devicePK), "nothing is written")
}

func TestAppend_OldEventThatIsStoredIsADuplicateAndNotOlder(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(1, 2))
	r := w.append(tick(0, 1))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(1), currentOf(t, r).Timestamp)
	require.Equal(t, at(0), r.Existing.Timestamp)
}

func TestAppend_DuplicateIsDecidedByAppendFieldsAlone(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	again := tick(0, 1)
	again.AccountID, again.CreatedAt = "somebody", at(9)
	again.Timestamp = again.Timestamp.In(time.FixedZone("", 2*60*60)) // the same instant
	require.Equal(t, timeseries.Duplicate, w.append(again).Reason)
}

func TestAppend_AnotherEventAtTheSameTimeIsACollision(t *testing.T) {
	t.Parallel()
	for name, other := range map[string]Telemetry{
		"other value":   tick(0, 3),
		"field missing": bare(0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t)
			w.seed(tick(0, 1), tick(1, 2))
			before := w.partition(devicePK)
			r := w.append(other)
			require.False(t, r.Applied)
			require.Equal(t, timeseries.Collision, r.Reason)
			require.Equal(t, at(1), currentOf(t, r).Timestamp)
			require.Equal(t, 1, *r.Existing.GPIO)
			require.Equal(t, before, w.partition(devicePK), "events are immutable")
		})
	}
}

func TestAppend_EventWithMoreFieldsThanTheStoredOneIsACollision(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(bare(0))
	r := w.append(tick(0, 1))
	require.Equal(t, timeseries.Collision, r.Reason)
	require.Nil(t, r.Existing.GPIO)
}

func TestAppend_LateEventIsRecordedWhereTheDeclarationSaysSo(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(10, 100))
	current := w.partition("$app#v1#meter#m-1")["$app#v1#meter"]
	r := w.append(reading(4, 40))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.LateRecorded, r.Reason)
	require.Equal(t, reading(10, 100), currentOf(t, r))
	require.Nil(t, r.Existing)
	require.Equal(t, []Meter{reading(4, 40), reading(10, 100)}, w.history(reading(0, 0)))
	require.Equal(t, current, w.partition("$app#v1#meter#m-1")["$app#v1#meter"], "current is as it was")

	require.Equal(t, timeseries.Duplicate, w.append(reading(4, 40)).Reason)
	collision := w.append(reading(4, 41))
	require.Equal(t, timeseries.Collision, collision.Reason)
	require.Equal(t, reading(4, 40), *collision.Existing)
	require.Equal(t, reading(10, 100), currentOf(t, collision))
}

func TestAppend_FailedConditionOnANewerEventIsNotOlder(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	f := entity.Fields[Telemetry]()
	w.seed(tick(0, 1))
	before := w.partition(devicePK)
	r := w.append(tick(1, 2), entity.If(entity.Eq(f.GPIO, 7)))
	require.False(t, r.Applied)
	require.Equal(t, timeseries.ConditionFailed, r.Reason)
	require.Equal(t, at(0), currentOf(t, r).Timestamp)
	require.Equal(t, before, w.partition(devicePK), "nothing is written")

	require.True(t, w.append(tick(1, 2), entity.If(entity.Eq(f.GPIO, 1))).Applied)
}

func TestAppend_ConditionNeverReplacesTheOrder(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	f := entity.Fields[Telemetry]()
	w.seed(tick(5, 1))
	holds, fails := entity.If(entity.Eq(f.GPIO, 1)), entity.If(entity.Eq(f.GPIO, 2))
	require.Equal(t, timeseries.Older, w.append(tick(4, 2), holds).Reason)
	require.Equal(t, timeseries.Older, w.append(tick(4, 2), fails).Reason, "older whatever the condition says")
	require.Equal(t, timeseries.Older, w.append(tick(4, 2), entity.If(entity.Or(entity.Eq(f.GPIO, 1), entity.Eq(f.GPIO, 2)))).Reason,
		"the condition stands in parentheses")
}

func TestAppend_ConditionWithoutACurrentItemIsRefused(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	r := w.append(tick(0, 1), entity.If(entity.Exists(&entity.Fields[Telemetry]().AccountID)))
	require.Equal(t, timeseries.ConditionFailed, r.Reason)
	require.Zero(t, currentOf(t, r))
	require.Empty(t, w.Items())
	require.Equal(t, []string{"TransactWriteItems", "GetItem"}, w.operations(), "after a failure without an item, the item is read")
}

func TestAppend_DuplicateAndCollisionComeBeforeConditionFailed(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	never := entity.If(entity.Eq(&entity.Fields[Telemetry]().AccountID, "nobody"))
	w.seed(tick(0, 1))
	require.Equal(t, timeseries.Duplicate, w.append(tick(0, 1), never).Reason)
	require.Equal(t, timeseries.Collision, w.append(tick(0, 2), never).Reason)
}

func TestAppend_TheEventOfTheCallerIsNotChanged(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	ev := tick(0, 1)
	ev.AccountID = "acct"
	w.seed(ev)
	want := tick(0, 1)
	want.AccountID = "acct"
	require.Equal(t, want, ev)
}

func TestAppend_LateEventOfAnItemThatIsGoneMeanwhileIsNotLost(t *testing.T) {
	t.Parallel()
	w := open[Meter](t)
	w.seed(reading(50, 500))
	arrived, release := w.Wire.Hold(func(r faults.Request) bool { return r.Operation == transact && r.Index == 1 })
	defer release()
	go func() {
		defer release()
		<-arrived
		w.RemoveItem(w.Key("$app#v1#meter#m-1", "$app#v1#meter"))
	}()
	require.True(t, w.append(reading(10, 100)).Applied, "it was planned again")
	require.Len(t, w.history(reading(0, 0)), 2)
}

func TestExpiredEvent_StillMakesDuplicateAndCollision(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(1, 2))
	w.Clock.Move(30 * 24 * time.Hour)
	require.Empty(t, w.history(device), "expired")
	before := w.partition(devicePK)

	duplicate := w.append(tick(0, 1))
	require.Equal(t, timeseries.Duplicate, duplicate.Reason)
	require.Equal(t, 1, *duplicate.Existing.GPIO)
	require.Equal(t, timeseries.Collision, w.append(tick(0, 2)).Reason)

	rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(0, 2), tick(1, 2)})
	require.NoError(t, err)
	require.Equal(t, []timeseries.Reason{timeseries.Collision, timeseries.Duplicate}, reasons(rs))
	require.Equal(t, before, w.partition(devicePK))
}

func TestAmbiguous_ALateOrStoredEventIsCertainAfterALostAttempt(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(5, 1))
	before := w.partition(devicePK)
	for ev, want := range map[int]timeseries.Reason{4: timeseries.Older, 5: timeseries.Duplicate} {
		w.Wire.Inject(nthOf(1, faults.Late))
		r, err := w.Append(w.Ctx, tick(ev, 1))
		require.NoError(t, err)
		require.Equal(t, want, r.Reason)
		w.Wire.Inject(nthOf(1, faults.Late))
		rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(ev, 1)})
		require.NoError(t, err)
		require.Equal(t, want, rs[0].Reason)
	}
	n, err := w.Wire.Deliver()
	require.NoError(t, err)
	require.Equal(t, 4, n)
	require.Equal(t, before, w.partition(devicePK), "orderBy never goes back")
}

func TestAmbiguous_ARefusedEventMayStillBeAppliedByAnEarlierAttempt(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	f := entity.Fields[Telemetry]()
	condition := entity.If(entity.Eq(&f.AccountID, "a"))
	account := func(id string) {
		_, err := w.Update(w.Ctx, device, entity.Set(&f.AccountID, id))
		require.NoError(t, err)
	}
	for i, write := range []func() ([]timeseries.Result[Telemetry], error){
		func() ([]timeseries.Result[Telemetry], error) {
			r, err := w.Append(w.Ctx, tick(1, 1), condition)
			return []timeseries.Result[Telemetry]{r}, err
		},
		func() ([]timeseries.Result[Telemetry], error) {
			return w.AppendAll(w.Ctx, []Telemetry{tick(2, 1)}, condition)
		},
	} {
		account("b")
		w.Wire.Inject(nthOf(1, faults.Late))
		rs, err := write()
		w.Wire.Inject(nil)
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.True(t, entity.IsAmbiguous(err))
		require.Zero(t, rs[0], "nothing is decided")
		account("a")
		_, err = w.Wire.Deliver()
		require.NoError(t, err)
		require.Equal(t, at(i+1), w.current(device).Timestamp, "it was applied after all")
	}
}

// Probe has a clock that is not trusted.
type Probe struct {
	_ entity.Key        `name:"Probe" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" maxAhead:"1h"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at"`
	V  int       `dynamodbav:"v" entity:"append"`
}

func TestMaxAhead_RefusesAnEventTooFarInTheFutureBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w := open[Probe](t)
	now := w.Clock.Now()
	limit := now.Add(time.Hour)
	tooFar := Probe{ID: "p", At: limit.Add(time.Nanosecond)}

	_, err := w.Append(w.Ctx, tooFar)
	require.Equal(t, "EDD-9113", dbtest.InputCode(err))
	rs, err := w.AppendAll(w.Ctx, []Probe{{ID: "p", At: now}, tooFar})
	require.Equal(t, "EDD-9113", dbtest.InputCode(err))
	require.Zero(t, rs[0], "one mistake stops the batch")
	op := w.Op().Append(tooFar)
	err = w.DB.Transact(w.Ctx, op)
	require.Equal(t, "EDD-9113", dbtest.InputCode(entity.FailureOf(err, op)))
	require.Empty(t, w.Wire.Requests())

	require.True(t, w.append(Probe{ID: "p", At: now}).Applied)
	require.True(t, w.append(Probe{ID: "p", At: limit}).Applied)
}

func TestMaxAhead_FollowsTheClock(t *testing.T) {
	t.Parallel()
	w := open[Probe](t)
	ev := Probe{ID: "p", At: w.Clock.Now().Add(2 * time.Hour)}
	op := w.Op().Append(ev)
	require.Error(t, w.DB.Transact(w.Ctx, op))
	w.Clock.Move(time.Hour)
	require.NoError(t, w.DB.Transact(w.Ctx, op), "an op is planned when it runs")
}

func TestMaxAhead_IsNoLimitWithoutTheDeclaration(t *testing.T) {
	t.Parallel()
	w := open[nanoClock](t)
	require.True(t, w.append(nanoClock{sample: sample{"x", w.Clock.Now().AddDate(1000, 0, 0), 1}}).Applied)
}

// Climate is what a device reports, by rules.
type Climate struct {
	_       entity.Key         `name:"Climate" pk:"$#{device}" sk:"$"`
	_       timeseries.Events  `orderBy:"at"`
	Device  Address            `dynamodbav:"device"`
	At      int64              `dynamodbav:"at"`
	Boot    Text               `dynamodbav:"boot" entity:"append,required"`
	Site    string             `dynamodbav:"site" entity:"append,required"`
	Sensors map[string]Celsius `dynamodbav:"sensors,omitempty" entity:"append"`
	Owner   Text               `dynamodbav:"owner,omitempty"`
}

// Celsius is a temperature on earth.
type Celsius float64

// Validate refuses values that no sensor measures.
func (c Celsius) Validate() error {
	if c < -90 || c > 85 {
		return errOutside
	}
	return nil
}

// Text is plain ASCII.
type Text string

// Validate refuses other characters.
func (t Text) Validate() error {
	for _, c := range t {
		if c > 0x7e {
			return errOutside
		}
	}
	return nil
}

// Address is a hardware address.
type Address string

// Validate refuses other lengths.
func (a Address) Validate() error {
	if len(a) != len("AA:BB:CC:00:11:22") {
		return errOutside
	}
	return nil
}

var errOutside = errors.New("outside the rule")

func TestValidate_AppendReportsEveryInvalidFieldOfTheEvent(t *testing.T) {
	t.Parallel()
	series := entity.Must(timeseries.New[Climate](entity.Must(entity.Open(nil, entity.Config{Table: "t"}))))
	ev := Climate{Device: "aa", At: 1, Sensors: map[string]Celsius{"in": 20, "out": 1000, "top": -91}, Owner: "Grün"}
	_, err := series.Append(t.Context(), ev)
	require.Equal(t, []string{"EDD-9103 timeseries_test.Climate.Boot", "EDD-9103 timeseries_test.Climate.Site",
		"EDD-9116 timeseries_test.Climate.Device", `EDD-9116 timeseries_test.Climate.Sensors["out"]`, `EDD-9116 timeseries_test.Climate.Sensors["top"]`}, mistakes(err))
	ev = Climate{Device: "AA:BB:CC:00:11:22", At: 1, Boot: "550e8400-e29b-41d4-a716-446655440000", Site: "roof", Owner: "Grün"}
	_, err = series.Append(t.Context(), ev)
	require.ErrorIs(t, err, entity.ErrNoClient, "an append does not carry the owner")
	c := entity.Fields[Climate]()
	_, err = series.Update(t.Context(), ev, entity.Set(&c.Owner, "Grün"))
	require.Equal(t, []string{"EDD-9116 timeseries_test.Climate.Owner"}, mistakes(err))
}

// mistakes are the codes and places in err, in order.
func mistakes(err error) []string {
	var input *entity.InputError
	var invalid *entity.ValidationError
	switch e := err.(type) {
	case *entity.InputError:
		return []string{e.Code + " " + e.Type + "." + e.Field}
	case *entity.ValidationError:
		return []string{e.Code + " " + e.Type + "." + e.Field}
	case interface{ Unwrap() []error }:
		var all []string
		for _, inner := range e.Unwrap() {
			all = append(all, mistakes(inner)...)
		}
		return all
	}
	if errors.As(err, &input) || errors.As(err, &invalid) {
		return mistakes(errors.Unwrap(err))
	}
	return nil
}
