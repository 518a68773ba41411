package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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

	// A refusal leaves neither, whatever comes after.
	l.disturb(faults.Throttle, "TransactWriteItems")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := l.ingest(ctx, macA, []submission{sample(macA, 1)})
	require.Error(t, err)
	l.wire.Inject(nil)
	require.Len(t, l.raw(l.cfg.Batches), 1)
	require.Len(t, l.raw(l.cfg.Readings), 1)
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

	// DynamoDB says so in the reasons of a cancelled transaction, and in no other way.
	err := l.db.Transact(t.Context(), l.batches.Op().Create(ProcessedBatch{BatchID: sample(macA, 0).BatchID, HardwareID: macA}),
		l.devices.Op().CheckExists(Device{HardwareID: macA}))
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, err, &cancelled)
	require.Equal(t, "ConditionalCheckFailed", *cancelled.CancellationReasons[0].Code)
}

func TestAnotherDevicesBatchIsACollision(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.registered(macB)
	l.ingested(macA, samples(macA, 1))
	l.wire.Reset()
	_, err := l.device().call(t.Context(), "POST", readingsOf(macB), map[string]any{
		"readings": []submission{sample(macB, 0), sample(macA, 0), sample(macB, 1)},
	}, nil)
	var details interrupted
	answer := refusedBy(t, err, http.StatusConflict, "BATCH_COLLISION")
	require.NotContains(t, answer.Message, string(macA))
	require.NoError(t, json.Unmarshal(answer.Details, &details))
	require.Equal(t, []int{0}, indexes(details.Acknowledged))
	require.Equal(t, place{1, sample(macA, 0).BatchID}, details.Failed)
	require.Equal(t, []int{2}, indexes(details.NotAttempted))
	page, err := l.between(t.Context(), macB, span{firstMS, firstMS + 10_000_000}, 10, "")
	require.NoError(t, err)
	require.Len(t, page.Items, 1, "nothing of another device's batch is stored")
}

// The third of five readings fails. The first two stay, the others are not tried, and the whole request is sent again:
// nothing is lost, and nothing doubled.
func TestAnInterruptedRequestIsSentAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	device := l.device()
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
	l.timeout = 2 * time.Second
	_, err := device.call(t.Context(), "POST", path, body, nil)
	refused := new(apiError)
	require.ErrorAs(t, err, &refused)
	require.Equal(t, http.StatusServiceUnavailable, refused.Status)
	require.Positive(t, refused.RetryAfter)
	var details interrupted
	require.NoError(t, json.Unmarshal(refused.Details, &details))
	require.Equal(t, []int{0, 1}, indexes(details.Acknowledged))
	require.Equal(t, 2, details.Failed.Index)
	require.Equal(t, []int{3, 4}, indexes(details.NotAttempted))
	require.Len(t, l.raw(l.cfg.Readings), 2)

	l.wire.Inject(nil)
	var got receipt
	device.succeeds(t, "POST", path, body, &got)
	require.Equal(t, []int{2, 3, 4}, indexes(got.Acknowledged))
	require.Equal(t, []int{0, 1}, indexes(got.Duplicates))
	require.Len(t, l.raw(l.cfg.Readings), 5)
	require.Len(t, l.raw(l.cfg.Batches), 5)
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

func TestTheListsOfAnAnswerShareOutTheRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.ingested(macA, []submission{sample(macA, 3)})
	twice := sample(macA, 1)
	twice.TimestampMS++ // under one name, what came first counts
	all := []submission{sample(macA, 0), sample(macA, 1), twice, sample(macA, 3), sample(macA, 0)}
	got := l.ingested(macA, all)
	require.Equal(t, []int{0, 1}, indexes(got.Acknowledged))
	require.Equal(t, []int{2, 3, 4}, indexes(got.Duplicates))
	require.Equal(t, []int{0, 1, 2, 3, 4}, slices.Sorted(slices.Values(append(indexes(got.Acknowledged), indexes(got.Duplicates)...))))
	for _, p := range append(got.Acknowledged, got.Duplicates...) {
		require.Equal(t, all[p.Index].BatchID, p.BatchID)
	}
	require.Len(t, l.raw(l.cfg.Readings), 3)
}

// The library's window is exact: from the end of the thirty days on, a proof that DynamoDB has not removed yet proves
// nothing. The locked condition alone would let it stand for as long as it lingers.
func TestAnExpiredProofProvesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	ingest := func() receipt {
		t.Helper()
		got := l.ingested(macA, samples(macA, 1))
		return got
	}
	ingest()
	l.clock.Set(epoch.Truncate(time.Second).Add(30*day-time.Second), 0)
	require.Len(t, ingest().Duplicates, 1)
	l.clock.Move(time.Second)
	require.Len(t, l.raw(l.cfg.Batches), 1, "it is still there")
	require.Len(t, ingest().Acknowledged, 1)
	require.Len(t, ingest().Duplicates, 1, "the new proof")
}

func TestAReplayAfterTheProofIsHarmless(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.ingested(macA, samples(macA, 1))
	before := l.texts(l.cfg.Readings)
	for _, later := range []time.Duration{31 * day, 100 * day} { // the reading is there; the reading has expired, too
		l.clock.Move(later)
		got := l.ingested(macA, samples(macA, 1))
		require.Len(t, got.Acknowledged, 1)
		require.Equal(t, before, l.texts(l.cfg.Readings))
	}
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
		require.Len(t, l.raw(l.cfg.Readings), i+1)
	}
}

// A lost answer is distinguished from a failure, and the request can be sent again.
func TestAnOutcomeThatStaysUnknownIsSaidToBe(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	device := l.device()
	l.disturb(faults.Lost, "TransactWriteItems")
	l.timeout = 2 * time.Second
	path, body := readingsOf(macA), map[string]any{"readings": samples(macA, 1)}
	require.Positive(t, device.refused(t, "POST", path, body, http.StatusServiceUnavailable, "OUTCOME_UNKNOWN").RetryAfter)
	l.wire.Inject(nil)
	var got receipt
	device.succeeds(t, "POST", path, body, &got)
	require.Len(t, got.Duplicates, 1, "it had been stored")
}

func TestAReadingCostsFourWriteUnits(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.written.Store(0)
	l.ingested(macA, samples(macA, 10))
	require.Equal(t, int64(4000), l.written.Load(), "hundredths of units for ten readings")
	l.written.Store(0)
	var verbs []string
	l.seen = func(r entity.Report) { verbs = append(verbs, fmt.Sprint(r.Verb, " ", r.Requests)) }
	l.ingested(macA, []submission{sample(macA, 11)})
	require.Equal(t, "Get 1, Transact 1", strings.Join(verbs, ", "))
}
