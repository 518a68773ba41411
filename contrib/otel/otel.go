// Package otel makes OpenTelemetry spans and metrics of the calls of a database. It follows the semantic conventions for
// databases and for DynamoDB:
//
//	db, err := entity.Open(client, entity.Config{Table: "app", Tracer: otel.New(otel.Options{})})
//
// A call of a verb is a span of kind INTERNAL, named after the verb and the entity. Each of its requests is a span of kind
// CLIENT below it, named after DynamoDB's operation and the table. What an instrumentation of the SDK's client records is
// below the call too. No key and no value of an item is in a span or a metric.
//
// The metrics:
//
//	db.client.operation.duration  histogram, s  of each request, by operation, table and error
//	dynastrata.call.duration      histogram, s  of each call, by verb, entity, outcome and error
//	dynastrata.capacity.units     counter       of consumed units, by operation, table and kind: read or write
//	dynastrata.attempts           counter       of requests, by operation, table and class
//	dynastrata.throttles          counter       of throttled requests, by reason, resource kind, operation and table
//
// The package is experimental: its API may change with every minor version.
package otel

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
)

// name is the instrumentation scope.
const name = "github.com/dynastrata/dynastrata/contrib/otel"

// Attributes that the conventions do not have.
const (
	entityKey    = attribute.Key("dynastrata.entity")
	verbKey      = attribute.Key("dynastrata.verb")
	outcomeKey   = attribute.Key("dynastrata.outcome")
	ambiguousKey = attribute.Key("dynastrata.ambiguous")
	requestsKey  = attribute.Key("dynastrata.requests")
	attemptKey   = attribute.Key("dynastrata.attempt")
	decisionKey  = attribute.Key("dynastrata.decision")
	classKey     = attribute.Key("dynastrata.class")
	kindKey      = attribute.Key("dynastrata.capacity.kind")
	reasonKey    = attribute.Key("dynastrata.throttle.reason")
	resourceKey  = attribute.Key("dynastrata.throttle.resource")
	trafficKey   = attribute.Key("dynastrata.throttle.operation")
)

// Options configures a tracer. Its zero value uses the global providers.
type Options struct {
	TracerProvider trace.TracerProvider // default otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider // default otel.GetMeterProvider()
	Attributes     []attribute.KeyValue // of every span and metric, such as server.address and cloud.region
}

// New returns a tracer for entity.Config. An instrument that the meter provider refuses is reported to the global error
// handler of OpenTelemetry and left out.
func New(o Options) entity.Tracer {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	meter := o.MeterProvider.Meter(name, metric.WithSchemaURL(semconv.SchemaURL))
	return &tracer{
		spans:  o.TracerProvider.Tracer(name, trace.WithSchemaURL(semconv.SchemaURL)),
		always: append([]attribute.KeyValue{semconv.DBSystemNameAWSDynamoDB}, o.Attributes...),
		request: known(meter.Float64Histogram("db.client.operation.duration", metric.WithUnit("s"), seconds,
			metric.WithDescription("Duration of database client operations."))),
		call: known(meter.Float64Histogram("dynastrata.call.duration", metric.WithUnit("s"), seconds,
			metric.WithDescription("Duration of calls, with all their requests."))),
		units: known(meter.Float64Counter("dynastrata.capacity.units", metric.WithUnit("{unit}"),
			metric.WithDescription("Capacity units consumed."))),
		attempts: known(meter.Int64Counter("dynastrata.attempts", metric.WithUnit("{request}"),
			metric.WithDescription("Requests by the class of their answers."))),
		throttles: known(meter.Int64Counter("dynastrata.throttles", metric.WithUnit("{request}"),
			metric.WithDescription("Reasons why requests were throttled."))),
	}
}

// seconds are the bounds that the conventions recommend.
var seconds = metric.WithExplicitBucketBoundaries(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10)

// known returns an instrument, and reports the error of making it. It works with an error too.
func known[I any](instrument I, err error) I {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}

type tracer struct {
	spans               trace.Tracer
	always              []attribute.KeyValue
	request, call       metric.Float64Histogram
	units               metric.Float64Counter
	attempts, throttles metric.Int64Counter
}

// spanKey is the key of the span of a call in its context. Several tracers may be joined, each with its own.
type spanKey struct{ t *tracer }

// list collects attributes that say something.
type list []attribute.KeyValue

func (l *list) text(k attribute.Key, v string) {
	if v != "" {
		*l = append(*l, k.String(v))
	}
}

func (l *list) number(k attribute.Key, v int) {
	if v != 0 {
		*l = append(*l, k.Int(v))
	}
}

// with returns new attributes after those of every span and metric.
func (t *tracer) with(more ...attribute.KeyValue) list {
	return append(t.always[:len(t.always):len(t.always)], more...)
}

// Start begins the span of a call.
func (t *tracer) Start(ctx context.Context, c entity.Call) context.Context {
	attrs := t.with(semconv.DBOperationName(c.Verb))
	attrs.text(entityKey, c.Entity)
	attrs.text(semconv.DBCollectionNameKey, c.Table)
	attrs.text(semconv.AWSDynamoDBIndexNameKey, c.Index)
	attrs.number(semconv.DBOperationBatchSizeKey, c.Batch)
	title := c.Verb
	if c.Entity != "" {
		title += " " + c.Entity
	}
	ctx, span := t.spans.Start(ctx, title, trace.WithSpanKind(trace.SpanKindInternal), trace.WithAttributes(attrs...))
	return context.WithValue(ctx, spanKey{t}, span)
}

// Request records the span and the metrics of a request.
func (t *tracer) Request(ctx context.Context, a entity.Attempt) {
	common := t.with(semconv.DBOperationName(a.Operation))
	title := a.Operation
	if len(a.Tables) == 1 {
		common.text(semconv.DBCollectionNameKey, a.Tables[0])
		title += " " + a.Tables[0]
	}
	t.count(ctx, a, common)
	common.text(semconv.ErrorTypeKey, errorOf(a))
	t.request.Record(ctx, a.Duration.Seconds(), metric.WithAttributes(common...))
	_, span := t.spans.Start(ctx, title, trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(a.Start), trace.WithAttributes(common...))
	defer span.End(trace.WithTimestamp(a.Start.Add(a.Duration)))
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(details(a)...)
	for _, x := range a.Throttles {
		var why list
		why.throttle(x)
		span.AddEvent("throttled", trace.WithTimestamp(a.Start.Add(a.Duration)), trace.WithAttributes(why...))
	}
	if a.Class != entitytype.ClassOK && a.Class != entitytype.ClassRefused { // a condition that does not hold is an answer
		span.SetStatus(codes.Error, errorOf(a))
	}
}

// count adds a request to the counters.
func (t *tracer) count(ctx context.Context, a entity.Attempt, common list) {
	add := func(more ...attribute.KeyValue) metric.MeasurementOption {
		return metric.WithAttributes(append(common[:len(common):len(common)], more...)...)
	}
	t.attempts.Add(ctx, 1, add(classKey.String(string(a.Class))))
	if a.ReadUnits > 0 {
		t.units.Add(ctx, a.ReadUnits, add(kindKey.String("read")))
	}
	if a.WriteUnits > 0 {
		t.units.Add(ctx, a.WriteUnits, add(kindKey.String("write")))
	}
	for _, x := range a.Throttles {
		var why list
		why.throttle(x)
		t.throttles.Add(ctx, 1, add(why...))
	}
}

func (l *list) throttle(x entitytype.Throttle) {
	l.text(reasonKey, x.Limit)
	l.text(resourceKey, x.Kind)
	l.text(trafficKey, x.Operation)
}

// errorOf returns the code of DynamoDB's error or the class of the request, "" if it succeeded.
func errorOf(a entity.Attempt) string {
	switch {
	case a.Class == entitytype.ClassOK:
		return ""
	case a.Code != "":
		return a.Code
	}
	return string(a.Class)
}

// details returns the attributes of a request that only its span has.
func details(a entity.Attempt) []attribute.KeyValue {
	attrs := list{semconv.AWSDynamoDBTableNames(a.Tables...), classKey.String(string(a.Class))}
	attrs.text(semconv.AWSDynamoDBIndexNameKey, a.Index)
	attrs.text(semconv.AWSRequestIDKey, a.RequestID)
	attrs.text(semconv.DBResponseStatusCodeKey, a.Code)
	attrs.number(semconv.HTTPResponseStatusCodeKey, a.Status)
	attrs.number(semconv.DBOperationBatchSizeKey, a.Batch)
	if a.Number > 1 {
		attrs.number(attemptKey, a.Number)
	}
	attrs.number(decisionKey, a.Decision)
	switch a.Operation {
	case "Query", "Scan":
		attrs = append(attrs, semconv.AWSDynamoDBConsistentRead(a.Consistent))
		attrs.number(semconv.AWSDynamoDBLimitKey, a.Limit)
		if a.Operation == "Query" {
			attrs = append(attrs, semconv.AWSDynamoDBScanForward(!a.Descending))
		}
		if a.Segments > 0 {
			attrs = append(attrs, semconv.AWSDynamoDBSegment(a.Segment), semconv.AWSDynamoDBTotalSegments(a.Segments))
		}
		if a.Class == entitytype.ClassOK {
			attrs = append(attrs, semconv.AWSDynamoDBCount(a.Returned), semconv.AWSDynamoDBScannedCount(a.Evaluated))
		}
	case "GetItem":
		attrs = append(attrs, semconv.AWSDynamoDBConsistentRead(a.Consistent))
	}
	switch a.Operation {
	case "Query", "Scan", "GetItem", "BatchGetItem", "TransactGetItems":
		if a.Class == entitytype.ClassOK {
			attrs = append(attrs, semconv.DBResponseReturnedRows(a.Returned))
		}
	}
	return attrs
}

// End ends the span of a call and records its duration.
func (t *tracer) End(ctx context.Context, r entity.Report) {
	failed := ""
	failure, _ := r.Err.(*entity.Failure)
	if failure != nil {
		failed = failure.Type
	}
	attrs := t.with(verbKey.String(r.Verb))
	attrs.text(entityKey, r.Entity)
	attrs.text(outcomeKey, string(r.Outcome))
	attrs.text(semconv.ErrorTypeKey, failed)
	t.call.Record(ctx, r.Duration.Seconds(), metric.WithAttributes(attrs...))
	span, _ := ctx.Value(spanKey{t}).(trace.Span)
	if span == nil {
		return
	}
	defer span.End()
	more := list{requestsKey.Int(r.Requests)}
	more.text(semconv.DBCollectionNameKey, r.Table)
	more.text(outcomeKey, string(r.Outcome))
	more.text(semconv.ErrorTypeKey, failed)
	more.number(semconv.DBResponseReturnedRowsKey, r.Returned)
	if failure != nil {
		if failure.Ambiguous {
			more = append(more, ambiguousKey.Bool(true))
		}
		span.SetStatus(codes.Error, failed)
	}
	span.SetAttributes(more...)
}
