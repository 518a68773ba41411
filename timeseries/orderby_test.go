package timeseries_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// The series below differ in the format of their clock only.
type (
	nanoClock struct {
		_ entity.Key        `name:"Nano" pk:"$#{id}" sk:"$"`
		_ timeseries.Events `orderBy:"at"`
		sample
	}
	secondClock struct {
		_  entity.Key        `name:"Second" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at" entity:"time=s"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
	unixClock struct {
		_  entity.Key        `name:"Unix" pk:"$#{id}" sk:"$"`
		_  timeseries.Events `orderBy:"at"`
		ID string            `dynamodbav:"id"`
		At time.Time         `dynamodbav:"at" entity:"time=unix"`
		V  int               `dynamodbav:"v" entity:"append"`
	}
)

// sample is embedded: orderBy may be a field of an embedded struct.
type sample struct {
	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at"`
	V  int       `dynamodbav:"v" entity:"append"`
}

func TestOrderBy_TimesOfSeveralFormats(t *testing.T) {
	t.Parallel()
	t.Run("ns", func(t *testing.T) {
		t.Parallel()
		clockFormat(t, time.Nanosecond, "2026-04-22T10:00:00.000000000Z", func(at time.Time, v int) nanoClock { return nanoClock{sample: sample{"x", at, v}} })
	})
	t.Run("s", func(t *testing.T) {
		t.Parallel()
		clockFormat(t, time.Second, "2026-04-22T10:00:00Z", func(at time.Time, v int) secondClock { return secondClock{ID: "x", At: at, V: v} })
	})
	t.Run("unix", func(t *testing.T) {
		t.Parallel()
		clockFormat(t, time.Second, "0000000001776852000", func(at time.Time, v int) unixClock { return unixClock{ID: "x", At: at, V: v} })
	})
}

// clockFormat appends around a second's and a day's turn and checks order, key text, precision and the years.
func clockFormat[T any](t *testing.T, unit time.Duration, first string, make func(time.Time, int) T) {
	w := open[T](t)
	times := []time.Time{start, start.Add(unit), start.Add(time.Second), start.Add(14 * time.Hour), start.AddDate(1, 0, 0)}
	if unit == time.Second {
		times = append(times[:1], times[2:]...)
	}
	var want []T
	for i, at := range times {
		r := w.append(make(at.In(time.FixedZone("", -3600)), i))
		require.True(t, r.Applied, "%v", at)
		require.Equal(t, make(at, i), currentOf(t, r))
		want = append(want, make(at, i))
		require.Equal(t, timeseries.Duplicate, w.append(make(at, i)).Reason)
		require.Equal(t, timeseries.Collision, w.append(make(at, 99)).Reason)
	}
	require.Equal(t, want, w.history(make(start, 0)))
	require.Equal(t, timeseries.Older, w.append(make(start.Add(-unit), 7)).Reason)
	found := false
	for _, it := range w.Items() {
		found = found || strings.HasSuffix(text(it["sk"]), "#e#"+first)
	}
	require.True(t, found, "an event's key ends in %s", first)

	w.Wire.Reset()
	bad := []time.Time{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	if unit > time.Nanosecond {
		bad = append(bad, times[len(times)-1].Add(unit+1), times[len(times)-1].Add(unit/2))
	}
	for _, at := range bad {
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.Append(w.Ctx, make(at, 1)))), "%v", at)
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.AppendAll(w.Ctx, []T{make(at, 1)}))), "%v", at)
	}
	require.Equal(t, "EDD-9101", dbtest.InputCode(dbtest.ErrorOf(w.Append(w.Ctx, make(time.Time{}, 1)))), "a zero time is a forgotten one")
	require.Empty(t, w.Wire.Requests())
}

func TestOrderBy_StringTooLongForAKeyIsTooLargeBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w, room := open[Journal](t), 1024-len("$app#v1#journal#e#")
	long := make([]byte, room+1)
	for i := range long {
		long[i] = 'z'
	}
	require.ErrorIs(t, dbtest.ErrorOf(w.Append(w.Ctx, entry(string(long), "x"))), entity.ErrTooLarge)
	require.ErrorIs(t, dbtest.ErrorOf(w.AppendAll(w.Ctx, []Journal{entry("a", "x"), entry(string(long), "x")})), entity.ErrTooLarge)
	escaped := make([]byte, room/3+1) // each is three bytes in the key
	for i := range escaped {
		escaped[i] = '#'
	}
	require.ErrorIs(t, dbtest.ErrorOf(w.Append(w.Ctx, entry(string(escaped), "x"))), entity.ErrTooLarge)
	require.Empty(t, w.Wire.Requests())
	require.True(t, w.append(entry(string(long[1:]), "x")).Applied)
}

func TestOrderBy_StoredOrderByOfAnotherTypeIsATypedError(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]types.AttributeValue{
		"number": dbtest.N("1"), "null": &types.AttributeValueMemberNULL{Value: true}, "binary": &types.AttributeValueMemberB{Value: []byte("2")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t)
			w.seed(tick(0, 1))
			w.ChangeItem(devicePK, deviceSK, item{"timestamp": stored})
			before := w.partition(devicePK)

			var clockType *timeseries.OrderByTypeError
			r, err := w.Append(w.Ctx, tick(1, 1))
			require.ErrorAs(t, err, &clockType)
			require.Equal(t, "timestamp", clockType.Attr)
			require.Zero(t, r)
			rs, err := w.AppendAll(w.Ctx, []Telemetry{tick(1, 1), tick(2, 2)})
			require.ErrorAs(t, err, &clockType)
			require.Zero(t, rs[0])
			require.Zero(t, rs[1])
			require.ErrorAs(t, w.DB.Transact(w.Ctx, w.Op().Append(tick(1, 1))), &clockType)
			require.Equal(t, before, w.partition(devicePK))
		})
	}
}
