package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestBatchIDsArePrintableASCII(t *testing.T) {
	t.Parallel()
	for _, good := range []BatchID{lockedReading().BatchID, "x", "a b~!", BatchID(strings.Repeat("x", 256))} {
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

func TestReadingsAndProofsExpireAfterTheirRetention(t *testing.T) {
	t.Parallel()
	require.Contains(t, planner(t).Readings.Op().Put(lockedReading()).String(), "expiration_time = 1711843800\n")
	late := lockedReading()
	late.TimestampMS = 1704067800999 // rounded down
	require.Contains(t, planner(t).Readings.Op().Put(late).String(), "expiration_time = 1711843800\n")
	forever := labOf(t, testConfig("x"), epoch)
	forever.cfg.Retention = 0
	plan := forever.open(nil).Readings.Op().Put(lockedReading()).String()
	require.Contains(t, plan, "REMOVE expiration_time")
	require.NotContains(t, plan, "expiration_time =")
	// The sample expiration_time of the schema, 1707235320, is the result of neither formula.
	batch := planner(t).Batches.Op().Create(ProcessedBatch{BatchID: "b", HardwareID: macA}).String()
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
	require.Equal(t, []string{"Query"}, dbtest.Operations(l.wire.Requests()))
	require.Contains(t, string(l.wire.Requests()[0].Body), `"Limit":1,`)
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
