package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The order of sort keys is that of times, over everything that thirteen digits can say, and nothing else gets in.
func TestSortKeysAreInTheOrderOfTimes(t *testing.T) {
	t.Parallel()
	b := planner(t)
	db, err := entity.Open(nil, entity.Config{})
	require.NoError(t, err)
	unchecked, err := entity.New[lockedReadingV2](db) // whose times are not checked, so that the key has to be
	require.NoError(t, err)
	sortKey := func(ms int64) string {
		plan := unchecked.Op().Put(lockedReadingV2{HardwareID: "h", TimestampMS: ms, BatchID: "b"}).String()
		_, after, _ := strings.Cut(plan, `ts_batch="`)
		text, _, _ := strings.Cut(after, `"`)
		return text
	}
	rapid.Check(t, func(r *rapid.T) {
		x, y := rapid.Int64Range(1, 9_999_999_999_999).Draw(r, "x"), rapid.Int64Range(1, 9_999_999_999_999).Draw(r, "y")
		require.Equal(r, x < y, sortKey(x) < sortKey(y))
		require.Len(r, sortKey(x), len("0000000000000#b"))
	})
	for _, bad := range []int64{-1, -1704067800000, 10_000_000_000_000} {
		_, err := unchecked.Put(t.Context(), lockedReadingV2{HardwareID: "h", TimestampMS: bad, BatchID: "b"})
		var input *entity.InputError
		require.ErrorAs(t, err, &input, bad)
		err = second(b.readings.Put(t.Context(), withTime(bad)))
		require.Error(t, err, bad)
		require.NotErrorIs(t, err, entity.ErrNoClient, "%d would have been sent", bad)
	}
}

func withTime(ms int64) Reading {
	r := lockedReading()
	r.TimestampMS = Millis(ms)
	return r
}

func TestReadingTimesAreWithinReason(t *testing.T) {
	t.Parallel()
	for ms, ok := range map[Millis]bool{
		946684799999: false, 946684800000: true, 1704067800000: true, 4102444800000: true, 4102444800001: false, 0: false, -1: false, 1704067800: false,
	} {
		s := sample(macA, 0)
		s.TimestampMS = ms
		require.Equal(t, ok, validate(s) == nil, "%d", ms)
	}
}

func TestBatchIDsArePrintableASCII(t *testing.T) {
	t.Parallel()
	example := BatchID("AA:BB:CC:DD:EE:FF_7c9e6679-7425-40de-944b-e07fc1f90ae7_1704067200000_1704067800000")
	require.Len(t, example, 82)
	for _, good := range []BatchID{example, "x", "a b~!", BatchID(strings.Repeat("x", 256))} {
		require.NoError(t, rules.Var(good, "batch_id"))
	}
	for _, bad := range []BatchID{"", BatchID(strings.Repeat("x", 257)), "grün", "a\n", "\x7f", "😀"} {
		require.Error(t, rules.Var(bad, "batch_id"), "%q", bad)
	}
}

func TestReadingsKeepTheNameOfTheirTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.ingested(macA, []submission{sample(macA, 0)})
	named := boots(macA, boot1)
	named.FriendlyName = "roof"
	l.registers(named)
	l.ingested(macA, []submission{sample(macA, 1)})
	page, err := l.between(t.Context(), macA, firstMS, firstMS+300_000, 10, "")
	require.NoError(t, err)
	require.Equal(t, []FriendlyName{"roof", ""}, []FriendlyName{page.Items[0].FriendlyName, page.Items[1].FriendlyName})
}

func TestSensorsAreOptionalOneByOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	s := sample(macA, 0)
	zero := 0.0
	s.Sensors = &Sensors{PressureHPA: &zero} // a measured zero is there, what was not measured is not
	l.ingested(macA, []submission{s})
	require.Equal(t, &types.AttributeValueMemberM{Value: item{"pressure_hpa": dbtest.N("0")}}, l.stored(l.cfg.Readings)[0]["sensors"])
	s = sample(macA, 2)
	s.Sensors, s.SensorStatus = nil, nil
	_, err := l.ingest(t.Context(), macA, []submission{s})
	require.Equal(t, []string{"readings[0].sensors", "readings[0].sensor_status"}, fields(t, err))
}

func TestSensorsAreOkOrNot(t *testing.T) {
	t.Parallel()
	for _, status := range []SensorStatus{{BME280: ptr(Health("broken"))}, {DS18B20: ptr(Health("OK"))}, {SoilMoisture: ptr(Health("ok "))}, {BME280: ptr(Health(""))}} {
		s := sample(macA, 0)
		s.SensorStatus = &status
		require.Equal(t, []string{"sensor_status"}, fields(t, validate(s)))
		r := lockedReading()
		r.SensorStatus = status
		require.ErrorAs(t, second(planner(t).readings.Put(t.Context(), r)), new(*entity.ValidationError))
	}
	s := sample(macA, 0)
	s.SensorStatus = &SensorStatus{ptr(Health("ok")), ptr(Health("error")), nil}
	require.NoError(t, validate(s))
}

func TestReadingsAndProofsExpireAfterTheirRetention(t *testing.T) {
	t.Parallel()
	require.Contains(t, planner(t).readings.Op().Put(lockedReading()).String(), "expiration_time = 1711843800\n")
	late := lockedReading()
	late.TimestampMS = 1704067800999 // rounded down
	require.Contains(t, planner(t).readings.Op().Put(late).String(), "expiration_time = 1711843800\n")
	forever := labOf(t, testConfig("x"), epoch)
	forever.cfg.Retention = 0
	plan := forever.open(nil).readings.Op().Put(lockedReading()).String()
	require.Contains(t, plan, "REMOVE expiration_time")
	require.NotContains(t, plan, "expiration_time =")
	// The sample expiration_time of the schema, 1707235320, is the result of neither formula.
	batch := planner(t).batches.Op().Create(ProcessedBatch{BatchID: "b", HardwareID: macA}).String()
	require.Contains(t, batch, `received_at="2024-01-15T14:22:00Z"`)
	require.Contains(t, batch, "expiration_time=1707920520")
}

func TestLatestDistinguishesNoDeviceFromNoReadings(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	path := readingsOf(macA) + "/latest"
	l.refused(t, "GET", path, nil, http.StatusNotFound, "DEVICE_NOT_FOUND")
	l.registered(macA)
	l.refused(t, "GET", path, nil, http.StatusNotFound, "NO_READINGS")
	l.ingested(macA, []submission{sample(macA, 2), sample(macA, 0), sample(macA, 1)})
	l.wire.Reset()
	var got Reading
	l.succeeds(t, "GET", path, nil, &got)
	require.Equal(t, sample(macA, 2).BatchID, got.BatchID)
	last := l.wire.Requests()[len(l.wire.Requests())-1]
	require.Equal(t, "Query", last.Operation)
	require.Contains(t, string(last.Body), `"ScanIndexForward":false`)
	require.Contains(t, string(last.Body), `"Limit":1,`)
}

func TestRangesIncludeBothEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	for i, ms := range []Millis{firstMS - 1, firstMS, firstMS + 1, firstMS + 999, firstMS + 1000, firstMS + 1001} {
		s := sample(macA, 0)
		s.TimestampMS, s.BatchID = ms, BatchID(fmt.Sprintf("~batch-%d", i))
		l.ingested(macA, []submission{s})
	}
	page, err := l.between(t.Context(), macA, firstMS, firstMS+1000, 50, "")
	require.NoError(t, err)
	var got []Millis
	for _, r := range page.Items {
		got = append(got, r.TimestampMS-firstMS)
	}
	require.Equal(t, []Millis{1000, 999, 1, 0}, got)
	path, future := readingsOf(macA), epoch.AddDate(1, 0, 0).UnixMilli()
	for query, field := range map[string]string{
		"": "from", "?from=1": "to", "?from=x&to=1": "from", "?from=-1&to=5": "from", "?from=6&to=5": "to", fmt.Sprintf("?from=0&to=%d", future+1): "to",
	} {
		require.Contains(t, string(l.refused(t, "GET", path+query, nil, http.StatusBadRequest, "VALIDATION_FAILED").Details), `"field":"`+field+`"`, query)
	}
	l.succeeds(t, "GET", path+fmt.Sprintf("?from=0&to=%d", future), nil, nil)
	l.refused(t, "GET", readingsOf(macB)+"?from=0&to=5", nil, http.StatusNotFound, "DEVICE_NOT_FOUND")
}

// The bound in the schema ends with U+FFFF, which characters outside the basic plane sort behind. The library's bound is
// the text after everything that begins with the time and its separator.
func TestRangesEndBehindEveryBatchID(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	db, err := entity.Open(l.raw, entity.Config{Tables: l.cfg.tables()})
	require.NoError(t, err)
	unchecked, err := entity.New[lockedReadingV2](db)
	require.NoError(t, err)
	f := entity.Fields[lockedReadingV2]()
	emoji := lockedReadingV2{HardwareID: string(macA), TimestampMS: int64(firstMS), BatchID: "😀"}
	_, err = unchecked.Create(t.Context(), emoji)
	require.NoError(t, err)
	q := unchecked.Query(lockedReadingV2{HardwareID: string(macA)}, entity.Between(&f.TimestampMS, int64(firstMS), int64(firstMS)))
	n, err := q.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Contains(t, q.String(), `"4084000000000$"`)

	locked, err := l.raw.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &l.cfg.Readings, KeyConditionExpression: ptr("hardware_id = :h AND ts_batch BETWEEN :from AND :to"),
		ExpressionAttributeValues: item{
			":h":    dbtest.S(string(macA)),
			":from": dbtest.S("4084000000000#"),
			":to":   dbtest.S("4084000000000#\uffff"),
		},
	})
	require.NoError(t, err)
	require.Zero(t, locked.Count, "the locked bound misses it")
	require.Error(t, rules.Var(BatchID(emoji.BatchID), "batch_id"), "but no device can use such an id")
}

func TestPagesGoOnWhereTheyEnded(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.registered(macB)
	l.ingested(macA, samples(macA, 7))
	query := fmt.Sprintf("?from=0&to=%d&limit=3", firstMS+10_000_000)
	var got []Millis
	var page list[Reading]
	for first := true; first || page.Next != ""; first = false {
		path := readingsOf(macA) + query + "&cursor=" + page.Next
		page = list[Reading]{}
		l.succeeds(t, "GET", path, nil, &page)
		for _, r := range page.Items {
			got = append(got, (r.TimestampMS-firstMS)/300_000)
		}
	}
	require.Equal(t, []Millis{6, 5, 4, 3, 2, 1, 0}, got)

	// A cursor of one device, or of another list, is refused on another.
	l.succeeds(t, "GET", readingsOf(macA)+query, nil, &page)
	for _, foreign := range []string{page.Next, page.Next[:len(page.Next)-2], "x", "e30"} {
		l.refused(t, "GET", readingsOf(macB)+query+"&cursor="+foreign, nil, http.StatusBadRequest, "INVALID_CURSOR")
	}
	l.refused(t, "GET", "/v1/devices?cursor="+page.Next, nil, http.StatusBadRequest, "INVALID_CURSOR")
}

// How long a reading is kept was decided when it was written. A configuration that changes later does not hide it, whatever
// has expired before it.
func TestLatest_FindsWhatAnEarlierRetentionKeeps(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]time.Duration{"shortened": 90 * day, "turned on later": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.cfg.Retention = before
			l.service = newService(l.open(l.raw), l.cfg)
			l.registered(macA)
			ctx := t.Context()
			kept := samples(macA, 7)
			l.ingested(macA, kept[:1])
			l.cfg.Retention = day
			now := l.open(l.raw)
			_, err := now.ingest(ctx, macA, kept[1:])
			require.NoError(t, err)
			got, err := now.latest(ctx, macA)
			require.NoError(t, err)
			require.Equal(t, kept[6].BatchID, got.BatchID)
			l.clock.Move(30 * day)
			l.wire.Reset()
			got, err = now.latest(ctx, macA)
			require.NoError(t, err)
			require.Equal(t, kept[0].BatchID, got.BatchID, "the only one that has not expired")
			require.Less(t, len(l.wire.Requests()), 5, "not a request for each that has expired")
			l.clock.Move(90 * day)
			_, err = now.latest(ctx, macA)
			if before == 0 {
				require.NoError(t, err, "it is kept for ever")
			} else {
				require.ErrorIs(t, err, errNoReadings)
			}
		})
	}
}
