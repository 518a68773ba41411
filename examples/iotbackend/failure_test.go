package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"
)

// canceller answers transactions with an error of its own, and lets everything else through.
type canceller struct {
	next aws.HTTPClient

	mu    sync.Mutex
	body  string
	times int // how many transactions it answers, < 0: all
	seen  int // transactions
}

func (c *canceller) Do(req *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".TransactWriteItems") {
		return c.next.Do(req)
	}
	c.mu.Lock()
	c.seen++
	mine := c.body != "" && c.times != 0
	if mine {
		c.times--
	}
	body := c.body
	c.mu.Unlock()
	if !mine {
		return c.next.Do(req)
	}
	return &http.Response{
		StatusCode: http.StatusBadRequest, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Body: io.NopCloser(bytes.NewReader([]byte(body))),
	}, nil
}

// reason is one of a cancelled transaction's; owner is the device whose proof is stored.
type reason struct {
	code  string
	owner MAC
}

// cancelled is DynamoDB's answer to a transaction with these reasons.
func cancelled(reasons ...reason) string {
	var all []map[string]any
	for _, r := range reasons {
		it := map[string]any{"Code": r.code}
		if r.owner != "" {
			it["Item"] = map[string]any{
				"batch_id": map[string]string{"S": "b"}, "hardware_id": map[string]string{"S": string(r.owner)},
				"received_at": map[string]string{"S": "2099-06-01T09:00:00Z"}, "expiration_time": map[string]string{"N": "4090000000"},
			}
		}
		all = append(all, it)
	}
	return failed("TransactionCanceledException", map[string]any{"CancellationReasons": all})
}

func failed(code string, more map[string]any) string {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "Transaction cancelled [ConditionalCheckFailed]"}
	for name, v := range more {
		body[name] = v
	}
	text, _ := json.Marshal(body)
	return string(text)
}

// Every reason for which DynamoDB cancels a transaction leads to the one right answer. Only the proof of the same device
// makes a duplicate: the messages all speak of a failed condition, and that must not count.
func TestEveryReasonLeadsToItsOutcome(t *testing.T) {
	t.Parallel()
	const (
		stored    = "stored"
		duplicate = "duplicate"
		collision = "409 BATCH_COLLISION"
		conflict  = "503 CONFLICT"
		traffic   = "503 THROTTLED"
		unknown   = "503 OUTCOME_UNKNOWN"
		broken    = "500 INTERNAL"
		ever      = -1
	)
	const (
		none      = "None"
		condition = "ConditionalCheckFailed"
		conflicts = "TransactionConflict"
		throttle  = "ThrottlingError"
		size      = "ItemCollectionSizeLimitExceeded"
		invalid   = "ValidationError"
	)
	pair := func(a, b reason) string { return cancelled(a, b) }
	mine, others := reason{condition, macA}, reason{condition, macB}
	l := newLab(t)
	l.registered(macA)
	n := 0
	for name, c := range map[string]struct {
		body     string
		times    int
		want     string
		requests int // 0: it does not matter
	}{
		"condition":                   {pair(mine, reason{none, ""}), ever, duplicate, 1},
		"condition and conflict":      {pair(mine, reason{conflicts, ""}), ever, duplicate, 1},
		"condition and size":          {pair(mine, reason{size, ""}), ever, broken, 1},
		"another's":                   {pair(others, reason{none, ""}), ever, collision, 1},
		"condition of the reading":    {pair(reason{none, ""}, reason{condition, ""}), ever, broken, 0},
		"conflict once":               {pair(reason{conflicts, ""}, reason{none, ""}), 1, stored, 2},
		"conflict for ever":           {pair(reason{conflicts, ""}, reason{none, ""}), ever, conflict, l.attempts},
		"throttling once":             {pair(reason{throttle, ""}, reason{none, ""}), 1, stored, 2},
		"throttling for ever":         {pair(reason{throttle, ""}, reason{none, ""}), ever, traffic, l.attempts},
		"conflict and throttling":     {pair(reason{conflicts, ""}, reason{throttle, ""}), ever, traffic, l.attempts},
		"validation and throttling":   {pair(reason{invalid, ""}, reason{throttle, ""}), ever, broken, 1},
		"an unknown reason":           {pair(reason{"Moonshine", ""}, reason{none, ""}), ever, broken, 1},
		"a request too fast for ever": {failed("ThrottlingException", nil), ever, traffic, l.attempts},
		"still in progress for ever":  {failed("TransactionInProgressException", nil), ever, unknown, l.attempts},
	} {
		n++
		s := sample(macA, n) // a batch for each case
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wire := &canceller{next: l.wire, body: c.body, times: c.times}
			options := l.raw.Options()
			options.HTTPClient = wire
			b := l.open(dynamodb.New(options))
			got, err := b.ingest(t.Context(), macA, []submission{s})
			outcome := stored
			switch {
			case err != nil:
				p := explain(err)
				outcome = fmt.Sprint(p.Status, " ", p.Code)
				require.Equal(t, p.Status == http.StatusServiceUnavailable, p.RetryAfter > 0)
				require.Empty(t, append(got.Acknowledged, got.Duplicates...))
			case len(got.Duplicates) == 1:
				outcome = duplicate
			}
			require.Equal(t, c.want, outcome, "%v", err)
			if c.requests > 0 {
				require.Equal(t, c.requests, wire.seen)
			}
			readings, err := l.between(t.Context(), macA, s.TimestampMS, s.TimestampMS, 10, "")
			require.NoError(t, err)
			require.Len(t, readings.Items, map[string]int{stored: 1}[outcome], "it is stored when it was acknowledged")
			_, err = l.Batches.Get(t.Context(), ProcessedBatch{BatchID: s.BatchID})
			require.Equal(t, outcome == stored, err == nil)
		})
	}
}
