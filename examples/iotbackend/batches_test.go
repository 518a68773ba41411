package main

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// indexes are the places of a list in its request.
func indexes(all []place) []int {
	got := []int{}
	for _, p := range all {
		got = append(got, p.Index)
	}
	return got
}

func TestProofAndReadingAreOneTransaction(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.wire.Reset()
	l.ingested(macA, samples(macA, 1))
	requests := l.wire.Requests()
	require.Len(t, requests, 2)
	require.Equal(t, "GetItem", requests[0].Operation)
	require.Equal(t, "TransactWriteItems", requests[1].Operation)
	var body struct {
		TransactItems []map[string]struct{ TableName, ConditionExpression, ReturnValuesOnConditionCheckFailure string }
	}
	require.NoError(t, json.Unmarshal(requests[1].Body, &body))
	require.Len(t, body.TransactItems, 2)
	require.Equal(t, l.cfg.Batches, body.TransactItems[0]["Put"].TableName)
	require.Contains(t, body.TransactItems[0]["Put"].ConditionExpression, "attribute_not_exists")
	require.Equal(t, "ALL_OLD", body.TransactItems[0]["Put"].ReturnValuesOnConditionCheckFailure)
	require.Equal(t, l.cfg.Readings, body.TransactItems[1]["Update"].TableName)
}

func TestWhatIsStoredAlreadyIsADuplicate(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	first := l.ingested(macA, samples(macA, 2))
	require.Equal(t, []int{0, 1}, indexes(first.Acknowledged))
	before := append(l.texts(l.cfg.Readings), l.texts(l.cfg.Batches)...)
	l.clock.Move(time.Hour)
	l.wire.Reset()
	again := l.ingested(macA, samples(macA, 2))
	require.Empty(t, again.Acknowledged)
	require.Equal(t, []int{0, 1}, indexes(again.Duplicates))
	require.Equal(t, 2, l.wire.Count("TransactWriteItems"), "a duplicate costs one request")
	require.Equal(t, before, append(l.texts(l.cfg.Readings), l.texts(l.cfg.Batches)...), "and changes nothing")
}

func TestAnotherDevicesBatchIsACollision(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.registered(macB)
	l.ingested(macA, samples(macA, 1))
	answer := l.refused(t, "POST", readingsOf(macB), map[string]any{
		"readings": []submission{sample(macB, 0), sample(macA, 0), sample(macB, 1)},
	}, http.StatusConflict, "BATCH_COLLISION")
	require.NotContains(t, answer.Message, string(macA))
	page, err := l.between(t.Context(), macB, firstMS, firstMS+10_000_000, 10, "")
	require.NoError(t, err)
	require.Len(t, page.Items, 1, "what came before it is stored, and nothing of another device's batch")
}

// The third of five readings fails. The first two stay, the others are not tried, and the whole request is sent again:
// nothing is lost, and nothing doubled.
func TestAnInterruptedRequestIsSentAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	transactions := 0
	l.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation != "TransactWriteItems" {
			return faults.None
		}
		if transactions++; transactions > 2 {
			return faults.Throttle
		}
		return faults.None
	})
	path, body := readingsOf(macA), map[string]any{"readings": samples(macA, 5)}
	require.Equal(t, "1", l.refused(t, "POST", path, body, http.StatusServiceUnavailable, "THROTTLED").RetryAfter)
	require.Len(t, l.stored(l.cfg.Readings), 2)
	l.wire.Inject(nil)
	var got receipt
	l.succeeds(t, "POST", path, body, &got)
	require.Equal(t, []int{2, 3, 4}, indexes(got.Acknowledged))
	require.Equal(t, []int{0, 1}, indexes(got.Duplicates))
	require.Len(t, l.stored(l.cfg.Readings), 5)
	require.Len(t, l.stored(l.cfg.Batches), 5)
}

func TestAllReadingsAreCheckedBeforeTheFirstIsWritten(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.wire.Reset()
	all := samples(macA, 3)
	all[2].TimestampMS, all[1].BatchID = 1, ""
	_, err := l.ingest(t.Context(), macA, all)
	require.Equal(t, []string{"readings[1].batch_id", "readings[2].timestamp_ms"}, fields(t, err))
	for _, ms := range []Millis{946684799999, 4102444800001, -1, 1704067800} { // of a clock that was never set
		require.Error(t, rules.Var(ms, "device_time"), ms)
	}
	for _, n := range []int{0, 101} {
		_, err = l.ingest(t.Context(), macA, samples(macA, n))
		require.Equal(t, []string{"readings"}, fields(t, err))
	}
	require.Empty(t, l.wire.Requests())
	_, err = l.ingest(t.Context(), macB, samples(macB, 1))
	require.ErrorIs(t, err, errDeviceNotFound)
	got := l.ingested(macA, samples(macA, 100))
	require.Len(t, got.Acknowledged, 100)
}

// The library's window is exact: from the end of the thirty days on, a proof that DynamoDB has not removed yet proves
// nothing. The locked condition alone would let it stand for as long as it lingers.
func TestAnExpiredProofProvesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	ingest := func() receipt { return l.ingested(macA, samples(macA, 1)) }
	ingest()
	l.clock.Set(epoch.Truncate(time.Second).Add(30*day-time.Second), 0)
	require.Len(t, ingest().Duplicates, 1)
	l.clock.Move(time.Second)
	require.Len(t, l.stored(l.cfg.Batches), 1, "it is still there")
	require.Len(t, ingest().Acknowledged, 1)
	require.Len(t, ingest().Duplicates, 1, "the new proof")
}

// The library sends a transaction again under its token and with the same bytes, so a lost answer is a success and not a
// duplicate; received_at is that of the first attempt.
func TestALostAnswerIsASuccess(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	for i, f := range []faults.Fault{faults.Lost, faults.InternalApplied} {
		l.wire.Reset()
		l.wire.Inject(faults.Nth(1, f, "TransactWriteItems"))
		got := l.ingested(macA, []submission{sample(macA, i)})
		require.Len(t, got.Acknowledged, 1, f)
		var bodies []string
		for _, r := range l.wire.Requests() {
			if r.Operation == "TransactWriteItems" {
				require.Contains(t, string(r.Body), "ClientRequestToken")
				bodies = append(bodies, string(r.Body))
			}
		}
		require.Len(t, bodies, 2)
		require.JSONEq(t, bodies[0], bodies[1])
		require.Len(t, l.stored(l.cfg.Readings), i+1)
	}
}

// A lost answer is distinguished from a failure, and the request can be sent again.
func TestAnOutcomeThatStaysUnknownIsSaidToBe(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			return faults.Lost
		}
		return faults.None
	})
	path, body := readingsOf(macA), map[string]any{"readings": samples(macA, 1)}
	l.refused(t, "POST", path, body, http.StatusServiceUnavailable, "OUTCOME_UNKNOWN")
	l.wire.Inject(nil)
	var got receipt
	l.succeeds(t, "POST", path, body, &got)
	require.Len(t, got.Duplicates, 1, "it had been stored")
}

func TestAReadingCostsFourWriteUnits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.ingested(macA, samples(macA, 10))
	require.EqualValues(t, 10*40, l.written.Load())
}
