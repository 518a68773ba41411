package entitytype

import (
	"context"
	"time"
)

// Tracer is called at the start and the end of every call, and for every request in between. No value of an item and no
// key is in what it gets. Requests of one call may be sent in parallel, so Request must be safe for concurrent use. A call
// that another one makes is part of it and has no Start of its own.
type Tracer interface {
	// Start is called before a verb does anything else. The requests of the call get the context that it returns, so a span
	// in it is the parent of what the SDK's client records. If it is nil, they get ctx.
	Start(ctx context.Context, call Call) context.Context
	// Request is called after each request of a call, with the context of Start.
	Request(ctx context.Context, attempt Attempt)
	// End is called once for each Start, with its context. The Err of the report is nil or a *Failure.
	End(ctx context.Context, report Report)
}

// Call is the start of one call of a verb.
type Call struct {
	Verb   string // Create, Append, Query …
	Entity string // entity name, of a timeline that of its manifest; "" for a call about several
	Table  string // physical name, "" for a call about several
	Index  string // name in DynamoDB, "" for the table itself
	Batch  int    // number of keys, values or operations given; 0 for a call about one item

	Entities []string // of a transaction the names of its operations' entities, sorted, each once
	Name     string   // that entity.WithCallName gave it, "" without one
}

// A Report says what one call cost, including the calls that it makes itself.
type Report struct {
	Verb       string        // Create, Append, Query …
	Entity     string        // entity name, of a timeline that of its manifest; "" for a call about several
	Entities   []string      // of a transaction the names of its operations' entities, sorted, each once
	Name       string        // that entity.WithCallName gave the call, "" without one
	Table      string        // physical name, "" if the requests were about several
	Index      string        // name in DynamoDB, "" for the table itself
	Requests   int           // requests sent, repeats included
	Decisions  int           // how often the function of a TransactFunc was called; 0 for other verbs
	Attempts   Attempts      // the requests by the class of their answers
	Throttles  []Throttle    // why requests were throttled, in the order in which each reason came first
	RequestIDs []string      // of AWS, the newest 16
	ReadUnits  float64       // read capacity units consumed
	WriteUnits float64       // write capacity units consumed
	Returned   int           // items in the answers of reads
	Evaluated  int           // items that queries and scans read and were charged for
	Outcome    Outcome       // what the result of a write says; "" for reads and after an error
	Duration   time.Duration // from the call to its end
	Err        error         // nil if it succeeded; for a Tracer a *Failure
}

// Class says how a request ended.
type Class string

// The classes of requests.
const (
	ClassOK        Class = "ok"        // it succeeded
	ClassThrottled Class = "throttled" // refused because of too much traffic
	ClassConflict  Class = "conflict"  // refused because of another write at the same time
	ClassLost      Class = "lost"      // no answer, or an error of the server: a write may have been applied
	ClassRefused   Class = "refused"   // a condition did not hold
	ClassFailed    Class = "failed"    // not applied for another reason: a mistake, no connection
)

// Attempts counts requests by class.
type Attempts struct{ OK, Throttled, Conflict, Lost, Refused, Failed int }

// Attempt is one request after it was answered, or after waiting for its answer ended.
type Attempt struct {
	Operation  string        // of DynamoDB: GetItem, TransactWriteItems …
	Tables     []string      // physical names, sorted; never empty
	Index      string        // name in DynamoDB, "" for the table itself
	Number     int           // 1 for the first request, 2 for its first repetition …
	Decision   int           // of a TransactFunc, to which the request belongs, counted from 1; 0 for other verbs
	Start      time.Time     // when it was sent
	Duration   time.Duration // until its answer or error
	Class      Class
	Code       string     // of DynamoDB's error, such as ConditionalCheckFailedException; "" without one
	Throttles  []Throttle // why a throttled request was throttled
	RequestID  string     // of AWS, "" if no answer had one
	Status     int        // of HTTP, 0 without an answer
	Consistent bool       // a strongly consistent read of an item, a query or a scan
	Batch      int        // keys, writes or actions in the request; 0 for operations on one item
	Limit      int        // most items that a query or scan evaluates, 0 without a limit
	Descending bool       // a query from the end
	Segment    int        // of a parallel scan, counted from 0
	Segments   int        // of a parallel scan, 0 for others
	Returned   int        // items in the answer of a read
	Evaluated  int        // items that a query or scan read and was charged for
	ReadUnits  float64    // read capacity units consumed
	WriteUnits float64    // write capacity units consumed
}

// Throttle is a reason why DynamoDB throttled a request.
type Throttle struct {
	// Limit names what was exceeded: ProvisionedThroughputExceeded, KeyRangeThroughputExceeded (one partition gets too much
	// traffic), AccountLimitExceeded, MaxOnDemandThroughputExceeded, or a text that this release does not know. If DynamoDB
	// gives no reason, it is the code of the error.
	Limit     string
	Kind      string // of the resource: Table, Index, or "" if unknown
	Operation string // Read, Write, or "" if unknown
	Resource  string // ARN of the table or index, "" if unknown
	Count     int    // in a [Report]: for how many requests DynamoDB gave this reason
}

// An Outcome sums up the result of a write.
type Outcome string

// The outcomes of writes. Those of appends are the reasons of package timeseries.
const (
	OutcomeApplied   Outcome = "applied"   // it was written
	OutcomeCreated   Outcome = "created"   // an upsert created the item
	OutcomeUnchanged Outcome = "unchanged" // nothing had to be written
	OutcomeMixed     Outcome = "mixed"     // the events of an AppendAll had different outcomes
	OutcomeOlder     Outcome = "older"     // the current item is newer, and the event was dropped
	OutcomeRecorded  Outcome = "recorded"  // the current item is newer, and the event was stored in the history
	OutcomeDuplicate Outcome = "duplicate" // an equal event is in the history
	OutcomeCollision Outcome = "collision" // another event with the same orderBy is in the history
	OutcomeRefused   Outcome = "refused"   // the event is newer, but a condition did not hold
)

// Failure is the error of a call as a Tracer gets it: without the key, and without anything that the original error may
// quote. errors.Is finds the classes of the original error.
type Failure struct {
	// Type is a constant text: the name of a class such as ErrConflict, the code of a mistake such as EDD-9101,
	// context.Canceled or context.DeadlineExceeded, panic, the code of DynamoDB's error, or _OTHER. Without any of these it is
	// "no connection", if it was refused or the host was not found, "connection broken", or "unreadable answer".
	Type      string
	Ambiguous bool    // the write may have been applied
	Expected  bool    // a definite failure that programs expect: of the item, of an argument, of a cancelled context
	Classes   []error // the classes that errors.Is finds
}

func (f *Failure) Error() string { return f.Type }

// Unwrap returns the classes.
func (f *Failure) Unwrap() []error { return f.Classes }
