package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestAppend_FirstEventIsApplied(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	r := w.append(tick(0, 1))
	require.True(t, r.Applied)
	require.Empty(t, r.Reason)
	require.Nil(t, r.Existing)
	require.Equal(t, w.current(device), r.Current)
	require.Equal(t, at(0), r.Current.Timestamp)
	require.Equal(t, 1, *r.Current.GPIO)
	require.False(t, r.Current.CreatedAt.IsZero())
}

func TestAppend_NewerEventIsAppliedAndTheCurrentItemIsTheNewest(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	r := w.append(tick(1, 2))
	require.True(t, r.Applied)
	require.Equal(t, at(1), r.Current.Timestamp)
	require.Equal(t, 2, *r.Current.GPIO)
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
	require.Equal(t, w.current(device), r.Current, "the winner")
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
	require.Equal(t, at(0), r.Current.Timestamp)
	require.Equal(t, w.history(device)[0], *r.Existing)
	require.Equal(t, before, w.partition(devicePK), "nothing is written")
}

func TestAppend_OldEventThatIsStoredIsADuplicateAndNotOlder(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1), tick(1, 2))
	r := w.append(tick(0, 1))
	require.Equal(t, timeseries.Duplicate, r.Reason)
	require.Equal(t, at(1), r.Current.Timestamp)
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
			require.Equal(t, at(1), r.Current.Timestamp)
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
	require.Equal(t, reading(10, 100), r.Current)
	require.Nil(t, r.Existing)
	require.Equal(t, []Meter{reading(4, 40), reading(10, 100)}, w.history(reading(0, 0)))
	require.Equal(t, current, w.partition("$app#v1#meter#m-1")["$app#v1#meter"], "current is as it was")

	require.Equal(t, timeseries.Duplicate, w.append(reading(4, 40)).Reason)
	collision := w.append(reading(4, 41))
	require.Equal(t, timeseries.Collision, collision.Reason)
	require.Equal(t, reading(4, 40), *collision.Existing)
	require.Equal(t, reading(10, 100), collision.Current)
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
	require.Equal(t, at(0), r.Current.Timestamp)
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
	require.Zero(t, r.Current)
	require.Empty(t, w.scan())
	require.Equal(t, []string{"TransactWriteItems", "GetItem"}, w.operations(), "the first refusal without an item is looked into")
}

func TestAppend_DuplicateAndCollisionComeBeforeRefused(t *testing.T) {
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
