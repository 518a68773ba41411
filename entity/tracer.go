package entity

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// A Report has the fields Verb, Name, Entity, Entities, Table, Index, Requests, Decisions, Attempts, Throttles, RequestIDs, ReadUnits,
// WriteUnits, Returned, Evaluated, Outcome, Duration and Err: what one call did and cost; see [Tracer]. Attempts are counted by
// class, Throttles by reason, Returned and Evaluated items; the Outcome is that of a write.
type Report = entitytype.Report

// Tracer has the methods Start, Request and End, which are called at the start of every call, for every request, and at the end; see
// [Config].Tracer. It gets no key and no value of an item. [SlogTracer] logs, package contrib/otel makes spans and metrics, and
// [Tracers] joins several.
type Tracer = entitytype.Tracer

// Call has the fields Verb, Name, Entity, Entities, Table, Index and Batch: the start of a call, for a [Tracer]. Batch is the number of keys, values or operations.
type Call = entitytype.Call

// Attempt has the fields Operation, Tables, Index, Number, Decision, Start, Duration, Class, Code, Throttles, RequestID, Status, Consistent,
// Batch, Limit, Descending, Segment, Segments, Returned, Evaluated, ReadUnits and WriteUnits: one request of a call, for a [Tracer].
// Number counts its repetitions, Start and Duration say when it was sent and how long it took, Class how it ended.
type Attempt = entitytype.Attempt

// Failure has the fields Type, Ambiguous, Expected and Classes: the error of a call as a [Tracer] gets it, without keys
// and values. Type is that of the error, Ambiguous of a write whose outcome is unknown, Classes what errors.Is finds.
type Failure = entitytype.Failure

// Tracers returns a Tracer that calls several, in order. Each gets the context that the one before returned. nil is left
// out; without any other, the result is nil.
func Tracers(all ...Tracer) Tracer {
	all = slices.DeleteFunc(slices.Clone(all), func(t Tracer) bool { return t == nil })
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return tracers(all)
}

// WithCallName returns a context that gives the calls made with it a name, such as "checkout": a [Tracer] gets it in each [Call] and
// [Report], and [SlogTracer] logs it. The name goes to logs and metrics, so it must have no value of an item in it. It costs no request.
func WithCallName(ctx context.Context, name string) context.Context { return engine.Named(ctx, name) }

type tracers []Tracer

func (all tracers) Start(ctx context.Context, c Call) context.Context {
	for _, t := range all {
		ctx = t.Start(ctx, c)
	}
	return ctx
}

func (all tracers) Request(ctx context.Context, a Attempt) {
	for _, t := range all {
		t.Request(ctx, a)
	}
}

func (all tracers) End(ctx context.Context, r Report) {
	for _, t := range all {
		t.End(ctx, r)
	}
}

// SlogOptions says which calls a [SlogTracer] logs.
type SlogOptions struct {
	Slow time.Duration // calls that take at least this long are logged as slow; 0 logs none as slow
}

// SlogTracer returns a Tracer that logs calls which are slow or fail, each when it ends. A slow call is logged at level warn,
// a failed one at level error. Definite failures that programs expect are logged at level info: [ErrNotFound], [ErrExists],
// [ErrConditionFailed], [ErrDeleted], [ErrNotDeleted], [ErrKeyCase], [ErrTooLarge], [ErrInvalidCursor], a version that is not
// the expected one, a unique value that is taken, an *[InputError], a *[ValidationError] and a cancelled context. The
// attributes have the fields of the [Report]; no key and no value is among them. A nil logger is slog.Default().
func SlogTracer(logger *slog.Logger, options SlogOptions) Tracer { return &slogTracer{logger, options} }

type slogTracer struct {
	logger  *slog.Logger
	options SlogOptions
}

func (t *slogTracer) Start(ctx context.Context, _ Call) context.Context { return ctx }

func (t *slogTracer) Request(context.Context, Attempt) {}

func (t *slogTracer) End(ctx context.Context, r Report) {
	level, message := slog.LevelWarn, "slow call"
	switch {
	case r.Err != nil:
		level, message = slog.LevelError, "failed call"
		var failure *Failure
		if errors.As(r.Err, &failure) && failure.Expected {
			level = slog.LevelInfo
		}
	case t.options.Slow <= 0 || r.Duration < t.options.Slow:
		return
	}
	logger := t.logger
	if logger == nil {
		logger = slog.Default()
	}
	if logger.Enabled(ctx, level) {
		logger.LogAttrs(ctx, level, message, attributes(r)...)
	}
}

// attributes returns the fields of a report that say something.
func attributes(r Report) []slog.Attr {
	attrs := []slog.Attr{slog.String("verb", r.Verb)}
	add := func(name string, value any) {
		if !reflect.ValueOf(value).IsZero() {
			attrs = append(attrs, slog.Any(name, value))
		}
	}
	add("call", r.Name)
	add("entity", r.Entity)
	add("entities", strings.Join(r.Entities, " "))
	add("table", r.Table)
	add("index", r.Index)
	attrs = append(attrs, slog.Duration("duration", r.Duration), slog.Int("requests", r.Requests))
	add("decisions", r.Decisions)
	add("throttled", r.Attempts.Throttled)
	add("conflicts", r.Attempts.Conflict)
	add("lost", r.Attempts.Lost)
	add("refused", r.Attempts.Refused)
	add("failed", r.Attempts.Failed)
	for _, x := range r.Throttles {
		add("throttled by "+x.Kind+x.Operation+x.Limit, x.Count)
	}
	add("read units", r.ReadUnits)
	add("write units", r.WriteUnits)
	add("returned", r.Returned)
	add("evaluated", r.Evaluated)
	add("outcome", string(r.Outcome))
	var failure *Failure
	if errors.As(r.Err, &failure) {
		add("error", failure.Type)
		add("ambiguous", failure.Ambiguous)
	}
	add("request ids", r.RequestIDs)
	return attrs
}

// UnitBudget is the capacity units per second that calls may consume together, made by [Budget]. It is an option of every
// read, of PutMany, DeleteMany, BatchPut, BatchDelete and Purge, of Verify and Repair of package unique, and of the runs of
// package migrate; timeline.Budget and timeline.ReadBudget take it too. Calls that get the same UnitBudget share it, also while they run.
type UnitBudget = bind.UnitBudget

// Budget bounds what calls consume, in read and write units per second; 0 is unlimited. The answer to each request says what it consumed,
// and the next request of any of the calls waits until that is paid for. So a single request may consume more, and parallel segments of a
// scan send a request each before the first answer. Units of up to one second can be saved. A wait ends at once when the context ends.
// Units that are negative, infinite or no numbers, and no units at all, are an *[InputError] of the verbs.
func Budget(readUnits, writeUnits float64) *UnitBudget {
	return bind.NewUnitBudget(readUnits, writeUnits)
}
