package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithymiddleware "github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

const mostRequestIDs = 16

// meter adds up the requests of one call, which may be concurrent.
type meter struct {
	mu     sync.Mutex
	report Report
	tables []string // of the requests, each once
	outer  *meter   // of the call that this is a part of; nil if that is not measured
}

type meterKey struct{}

// add adds a request.
func (m *meter) add(a *entitytype.Attempt) {
	if m.outer != nil {
		m.outer.add(a)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &m.report
	if r.Requests++; r.Decisions > 0 {
		a.Decision = r.Decisions
	}
	switch a.Class {
	case entitytype.ClassOK:
		r.Attempts.OK++
	case entitytype.ClassThrottled:
		r.Attempts.Throttled++
	case entitytype.ClassConflict:
		r.Attempts.Conflict++
	case entitytype.ClassLost:
		r.Attempts.Lost++
	case entitytype.ClassRefused:
		r.Attempts.Refused++
	default:
		r.Attempts.Failed++
	}
	r.ReadUnits += a.ReadUnits
	r.WriteUnits += a.WriteUnits
	r.Returned += a.Returned
	r.Evaluated += a.Evaluated
	for _, t := range a.Throttles {
		i := slices.IndexFunc(r.Throttles, func(x entitytype.Throttle) bool { x.Count = 0; return x == t })
		if i < 0 {
			i, r.Throttles = len(r.Throttles), append(r.Throttles, t)
		}
		r.Throttles[i].Count++
	}
	if a.RequestID != "" {
		if len(r.RequestIDs) == mostRequestIDs {
			r.RequestIDs = slices.Delete(r.RequestIDs, 0, 1)
		}
		r.RequestIDs = append(r.RequestIDs, a.RequestID)
	}
	for _, t := range a.Tables {
		if !slices.Contains(m.tables, t) {
			m.tables = append(m.tables, t)
		}
	}
}

// decides notes the number of a function's decision, to which the requests that follow belong, and the entities of its operations.
func (m *meter) decides(n int, ops []*plan.Op) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.report.Decisions, m.report.Entities = n, nil
	for _, op := range ops {
		m.report.Entities = append(m.report.Entities, op.Schema.Name)
	}
	slices.Sort(m.report.Entities)
	m.report.Entities = slices.Compact(m.report.Entities)
}

func (m *meter) end(begun time.Time, err error) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.report
	r.Duration = time.Since(begun)
	if r.Table == "" && len(m.tables) == 1 {
		r.Table = m.tables[0]
	}
	if err != nil {
		r.Outcome = ""
	}
	return r
}

// Outcome notes the result of a write, if the call is about it. Writes that a call makes itself have other verbs.
func Outcome(ctx context.Context, verb string, o entitytype.Outcome) {
	m, _ := ctx.Value(meterKey{}).(*meter)
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.report.Verb == verb {
		m.report.Outcome = o
	}
}

// OutcomeOf returns what the result of a write says.
func OutcomeOf(result plan.Result) entitytype.Outcome {
	switch {
	case result.Reason != "":
		return entitytype.Outcome(result.Reason)
	case result.Skipped:
		return entitytype.OutcomeUnchanged
	case result.Created:
		return entitytype.OutcomeCreated
	}
	return entitytype.OutcomeApplied
}

type nameKey struct{}

// Named returns a context whose calls have a name for tracers.
func Named(ctx context.Context, name string) context.Context {
	if ctx == nil { // which no call accepts; the call says so
		return nil
	}
	return context.WithValue(ctx, nameKey{}, name)
}

// errPanicked is the error of a call whose function did not return.
var errPanicked = errors.New("a function of the program panicked")

// Measure runs f as one call. Calls inside a call are part of it.
func (r *Runner) Measure(ctx context.Context, call entitytype.Call, f func(context.Context) error) error {
	if ctx != nil && (r.Tracer == nil || ctx.Value(meterKey{}) != nil) {
		return f(ctx)
	}
	return r.trace(ctx, call, f)
}

// trace runs f between Start and End of the tracer, and reports its cost. It refuses a nil context.
func (r *Runner) trace(ctx context.Context, call entitytype.Call, f func(context.Context) error) error {
	if ctx == nil {
		return &entitytype.Error{Verb: call.Verb, Entity: call.Entity, Err: CheckContext(ctx)}
	}
	call.Name, _ = ctx.Value(nameKey{}).(string)
	m := &meter{report: Report{Verb: call.Verb, Entity: call.Entity, Entities: call.Entities, Name: call.Name, Table: call.Table, Index: call.Index}}
	begun := time.Now()
	if started := r.Tracer.Start(ctx, call); started != nil {
		ctx = started
	}
	err := errPanicked // unless f returns
	defer func() {
		report := m.end(begun, err)
		report.Err = failureOf(err)
		r.Tracer.End(ctx, report)
	}()
	err = f(context.WithValue(ctx, meterKey{}, m))
	return err
}

// Metered runs f as a part of a call, whether or not that is measured, and returns what its requests cost.
func Metered(ctx context.Context, f func(context.Context) error) (Report, error) {
	outer, _ := ctx.Value(meterKey{}).(*meter)
	m, begun := &meter{outer: outer}, time.Now()
	err := f(context.WithValue(ctx, meterKey{}, m))
	return m.end(begun, err), err
}

// answered notes an answer, and adds what it says was consumed, in one table or in several, to units.
func (q *request) answered(md smithymiddleware.Metadata, units *float64, one *types.ConsumedCapacity, several ...types.ConsumedCapacity) {
	q.RequestID, _ = middleware.GetRequestIDMetadata(md)
	if one != nil && one.CapacityUnits != nil {
		*units += *one.CapacityUnits
	}
	for _, u := range several {
		if u.CapacityUnits != nil {
			*units += *u.CapacityUnits
		}
	}
}

// begin makes the request one that is observed: the n-th of its kind.
func (q *request) begin(operation string, tables []string, n int) {
	q.Attempt = entitytype.Attempt{Operation: operation, Tables: slices.Compact(slices.Sorted(slices.Values(tables))), Number: n, Start: time.Now()}
	q.capacity = types.ReturnConsumedCapacityTotal
}

// observe charges an observed request that ended to budgets, and adds it to m, which may be nil.
func (r *Runner) observe(ctx context.Context, q *request, m *meter, budgets []*bind.Pace) {
	for _, b := range budgets {
		b.Spend(time.Now(), q.ReadUnits, q.WriteUnits)
	}
	if m == nil {
		return
	}
	m.add(&q.Attempt)
	if r.Tracer != nil {
		r.Tracer.Request(ctx, q.Attempt)
	}
}

// end notes how the request ended.
func (q *request) end(k class, err error) {
	q.Duration = time.Since(q.Start)
	if k == success {
		q.Class, q.Status = entitytype.ClassOK, 200
		return
	}
	var answer *awshttp.ResponseError
	if errors.As(err, &answer) && answer.ResponseError != nil {
		q.Status, q.RequestID = answer.HTTPStatusCode(), answer.ServiceRequestID()
	}
	q.Code = codeOf(err)
	switch k {
	case conflicted:
		q.Class = entitytype.ClassConflict
	case refused:
		q.Class = entitytype.ClassRefused
	case unknown:
		q.Class = entitytype.ClassLost
	case transient:
		if q.Throttles = throttlesOf(err); q.Throttles != nil {
			q.Class = entitytype.ClassThrottled
			return
		}
		fallthrough
	default:
		q.Class = entitytype.ClassFailed
	}
}

// codeOf returns the code of DynamoDB's error, "" without one.
func codeOf(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// throttlesOf returns why a request was throttled, nil if it was not.
func throttlesOf(err error) (all []entitytype.Throttle) {
	var (
		provisioned *types.ProvisionedThroughputExceededException
		throttling  *types.ThrottlingException
		limit       *types.RequestLimitExceeded
		cancelled   *types.TransactionCanceledException
		reasons     []types.ThrottlingReason
	)
	once := func(t entitytype.Throttle) {
		if !slices.Contains(all, t) {
			all = append(all, t)
		}
	}
	switch {
	case errors.As(err, &provisioned):
		reasons = provisioned.ThrottlingReasons
	case errors.As(err, &throttling):
		reasons = throttling.ThrottlingReasons
	case errors.As(err, &limit):
		reasons = limit.ThrottlingReasons
	case errors.As(err, &cancelled):
		for _, c := range cancelled.CancellationReasons {
			if code := aws.ToString(c.Code); cancellation([]types.CancellationReason{c}) == transient {
				once(entitytype.Throttle{Limit: code})
			}
		}
		return all
	}
	for _, x := range reasons {
		if x.Reason != nil {
			once(throttleOf(*x.Reason, aws.ToString(x.Resource)))
		}
	}
	if code := codeOf(err); all == nil && throttles(code) {
		all = []entitytype.Throttle{{Limit: code}}
	}
	return all
}

// throttleOf returns the reason that DynamoDB gives as a text such as TableReadKeyRangeThroughputExceeded.
func throttleOf(reason, resource string) entitytype.Throttle {
	t := entitytype.Throttle{Resource: resource}
	rest := reason
	cut := func(to *string, names ...string) {
		for _, name := range names {
			if after, ok := strings.CutPrefix(rest, name); ok {
				*to, rest = name, after
				return
			}
		}
	}
	cut(&t.Kind, "Table", "Index")
	cut(&t.Operation, "Read", "Write")
	if t.Limit = rest; rest == "" {
		t.Limit, t.Kind, t.Operation = reason, "", ""
	}
	return t
}

// classes are the classes of errors by name, those that say more before those that they wrap.
var classes = []struct {
	name     string
	err      error
	expected bool // by programs
}{
	{"ErrRetryBudget", sentinel.ErrRetryBudget, false},
	{"ErrItemHidden", sentinel.ErrItemHidden, false},
	{"ErrReadBack", sentinel.ErrReadBack, false},
	{"ErrTaken", sentinel.ErrTaken, true},
	{"ErrNotFound", sentinel.ErrNotFound, true},
	{"ErrDeleted", sentinel.ErrDeleted, true},
	{"ErrNotDeleted", sentinel.ErrNotDeleted, true},
	{"ErrExists", sentinel.ErrExists, true},
	{"ErrConditionFailed", sentinel.ErrConditionFailed, true},
	{"ErrConflict", sentinel.ErrConflict, false},
	{"ErrTooLarge", sentinel.ErrTooLarge, true},
	{"ErrUndecodable", sentinel.ErrUndecodable, false},
	{"ErrOmitted", sentinel.ErrOmitted, true},
	{"ErrInvalidCursor", sentinel.ErrInvalidCursor, true},
	{"ErrMultipleItems", sentinel.ErrMultipleItems, false},
	{"ErrKeyCase", sentinel.ErrKeyCase, true},
	{"ErrNoTable", sentinel.ErrNoTable, false},
	{"ErrNoIndex", sentinel.ErrNoIndex, false},
	{"ErrTokenReused", sentinel.ErrTokenReused, false},
	{"ErrNoClient", sentinel.ErrNoClient, false},
	{"context.Canceled", context.Canceled, true},
	{"context.DeadlineExceeded", context.DeadlineExceeded, false},
}

// failureOf returns the error of a call as a tracer gets it, nil for nil.
func failureOf(err error) error {
	if err == nil {
		return nil
	}
	f := &entitytype.Failure{}
	var (
		ambiguous *plan.Ambiguous
		input     *entitytype.InputError
		schema    *entitytype.SchemaError
		invalid   *entitytype.ValidationError
		version   *entitytype.ConflictError
		broken    *smithyhttp.RequestSendError
		unread    *smithy.DeserializationError
	)
	f.Ambiguous = errors.As(err, &ambiguous)
	f.Expected = errors.As(err, &version)
	failed := false // in a way that no program expects
	for _, c := range classes {
		if errors.Is(err, c.err) {
			f.Classes = append(f.Classes, c.err)
			f.Expected = f.Expected || c.expected
			failed = failed || !c.expected && c.err != sentinel.ErrConflict
			if f.Type == "" {
				f.Type = c.name
			}
		}
	}
	switch {
	case errors.As(err, &input):
		f.Type, f.Expected = input.Code, true
	case errors.As(err, &schema):
		f.Type = schema.Code
	case errors.As(err, &invalid):
		f.Type, f.Expected = invalid.Code, true
	case errors.Is(err, errPanicked):
		f.Type = "panic"
	case f.Type == "":
		f.Type = codeOf(err)
	}
	switch {
	case f.Type != "":
	case neverDialled(err):
		f.Type = "no connection"
	case errors.As(err, &unread):
		f.Type = "unreadable answer"
	case errors.As(err, &broken):
		f.Type = "connection broken"
	default:
		f.Type = "_OTHER"
	}
	f.Expected = f.Expected && !failed && !f.Ambiguous
	return f
}
