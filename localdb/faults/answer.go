package faults

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// reason is one of CancellationReasons.
type reason struct {
	Code    string
	Message string `json:",omitempty"`
}

// throttling is one of ThrottlingReasons.
type throttling struct {
	Reason   string `json:"reason"`
	Resource string `json:"resource"`
}

// failure is the body of an error answer.
type failure struct {
	Type    string   `json:"__type"`
	Message string   `json:"message"`
	Reasons []reason `json:"CancellationReasons,omitempty"`

	Throttling []throttling `json:"ThrottlingReasons,omitempty"`
}

// answer returns the response that a fault gives to a request.
func answer(req *http.Request, r Request, fault Fault) *http.Response {
	switch fault {
	case Internal, InternalApplied:
		return reply(req, http.StatusInternalServerError, failed("InternalServerError", "Internal server error"))
	case Unprocessed:
		if body, ok := unprocessed(r); ok {
			return reply(req, http.StatusOK, body)
		}
	case HotPartition:
		f := throttled(r)
		f.Throttling = hotPartition(r)
		return reply(req, http.StatusBadRequest, f)
	case Conflict:
		if n := actions(r); n > 0 {
			reasons := noReasons(n)
			reasons[0] = reason{"TransactionConflict", "Transaction is ongoing for the item"}
			return reply(req, http.StatusBadRequest, canceled(reasons))
		}
		switch r.Operation {
		case "PutItem", "UpdateItem", "DeleteItem", "ExecuteStatement":
			return reply(req, http.StatusBadRequest, failed("TransactionConflictException", "Transaction is ongoing for the item"))
		}
	}
	return reply(req, http.StatusBadRequest, throttled(r))
}

// throttled returns the error body for too much traffic.
func throttled(r Request) failure {
	if n := actions(r); n > 0 {
		reasons := noReasons(n)
		reasons[n-1] = reason{"ProvisionedThroughputExceeded", "The level of configured provisioned throughput for the table was exceeded"}
		reasons[0] = reason{"ThrottlingError", "Throughput exceeds the current capacity of your table or index"}
		return canceled(reasons)
	}
	switch r.Operation {
	case "GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "Scan", "BatchGetItem", "BatchWriteItem",
		"ExecuteStatement", "BatchExecuteStatement":
		return failed("ProvisionedThroughputExceededException", "The level of configured provisioned throughput for the table was exceeded")
	}
	return failed("ThrottlingException", "Rate of requests exceeds the allowed throughput")
}

// hotPartition returns the reason for too much traffic on one partition, nil unless the request names one table.
func hotPartition(r Request) []throttling {
	var body struct{ TableName, IndexName string }
	if json.Unmarshal(r.Body, &body) != nil || body.TableName == "" {
		return nil
	}
	kind, resource, operation := "Table", "arn:aws:dynamodb:local:000000000000:table/"+body.TableName, "Read"
	if body.IndexName != "" {
		kind, resource = "Index", resource+"/index/"+body.IndexName
	}
	switch r.Operation {
	case "PutItem", "UpdateItem", "DeleteItem":
		operation = "Write"
	}
	return []throttling{{kind + operation + "KeyRangeThroughputExceeded", resource}}
}

// failed returns the body of a plain error.
func failed(code, message string) failure {
	return failure{Type: "com.amazonaws.dynamodb.v20120810#" + code, Message: message}
}

// canceled returns the body for a refused transaction.
func canceled(reasons []reason) failure {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	f := failed("TransactionCanceledException", "Transaction cancelled, please refer cancellation reasons for specific reasons ["+
		strings.Join(codes, ", ")+"]")
	f.Reasons = reasons
	return f
}

func noReasons(n int) []reason {
	reasons := make([]reason, n)
	for i := range reasons {
		reasons[i].Code = "None"
	}
	return reasons
}

// actions returns how many actions a transaction has, and 0 for other requests.
func actions(r Request) int {
	var body struct{ TransactItems, TransactStatements []json.RawMessage }
	switch r.Operation {
	case "TransactWriteItems", "TransactGetItems", "ExecuteTransaction":
		_ = json.Unmarshal(r.Body, &body) // the SDK made it; 0 is fine for other content
	}
	return len(body.TransactItems) + len(body.TransactStatements)
}

// unprocessed returns the body of a batch that did nothing: it repeats the request's items.
func unprocessed(r Request) (any, bool) {
	var body struct{ RequestItems json.RawMessage }
	if json.Unmarshal(r.Body, &body) != nil || body.RequestItems == nil {
		return nil, false
	}
	switch r.Operation {
	case "BatchWriteItem":
		return map[string]any{"UnprocessedItems": body.RequestItems}, true
	case "BatchGetItem":
		return map[string]any{"Responses": struct{}{}, "UnprocessedKeys": body.RequestItems}, true
	}
	return nil, false
}

// cut breaks off the body of an answer in the middle.
func cut(resp *http.Response, err error) (*http.Response, error) {
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	if closeErr := resp.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, err
	}
	broken := failing{fmt.Errorf("%w in the middle of the answer", ErrInjected)}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), broken))
	return resp, nil
}

// failing is a reader that always fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// reply makes an HTTP response. Without the checksum the SDK would reject it as damaged.
func reply(req *http.Request, status int, content any) *http.Response {
	body, err := json.Marshal(content)
	if err != nil {
		panic(fmt.Sprintf("faults: %v", err)) // the bodies above can always be marshaled
	}
	header := http.Header{}
	header.Set("Content-Type", "application/x-amz-json-1.0")
	header.Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10))
	header.Set("X-Amzn-Requestid", "FAULTS0000000000000000000000000000000000000000000000")
	return &http.Response{
		Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), StatusCode: status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: header, Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)), Request: req,
	}
}
