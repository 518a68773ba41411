package otel_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/dynastrata/dynastrata/contrib/otel"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

var update = flag.Bool("update", false, "write the golden files again")

type Order struct {
	_ entity.Key `name:"Order" pk:"$#{customer}" sk:"$#{number}"`
	_ entity.GSI `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{number}"`

	Customer string `dynamodbav:"customer"`
	Number   int    `dynamodbav:"number"`
	State    string `dynamodbav:"state"`
}

type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"7d"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Value  float64   `dynamodbav:"value" entity:"append"`
}

// lab is a table whose calls are exported to memory.
type lab struct {
	*dbtest.Bench
	spans   *tracetest.InMemoryExporter
	metrics *metric.ManualReader
}

func open(t *testing.T) *lab {
	t.Helper()
	l := &lab{spans: tracetest.NewInMemoryExporter(), metrics: metric.NewManualReader()}
	l.Bench = dbtest.Open(t, func(c *entity.Config) {
		c.Tracer = otel.New(otel.Options{
			TracerProvider: trace.NewTracerProvider(trace.WithSyncer(l.spans)),
			MeterProvider:  metric.NewMeterProvider(metric.WithReader(l.metrics)),
			Attributes:     []attribute.KeyValue{semconv.CloudRegion("local")},
		})
	})
	return l
}

// names returns attributes as text, sorted, without what differs from run to run.
func names(attrs []attribute.KeyValue) string {
	var all []string
	for _, a := range attrs {
		value := a.Value.String()
		if a.Key == semconv.AWSRequestIDKey {
			value = "REQUEST"
		}
		all = append(all, fmt.Sprintf("%s=%s", a.Key, value))
	}
	slices.Sort(all)
	return strings.Join(all, "\n    ")
}

// exported returns the spans since the last call, each call followed by its requests.
func (l *lab) exported() string {
	l.T.Helper()
	var b strings.Builder
	all := l.spans.GetSpans()
	l.spans.Reset()
	write := func(x tracetest.SpanStub, indent string) {
		require.False(l.T, x.EndTime.Before(x.StartTime))
		fmt.Fprintf(&b, "%s%s (%s)", indent, x.Name, x.SpanKind)
		if x.Status.Code != codes.Unset {
			fmt.Fprintf(&b, " %s: %s", x.Status.Code, x.Status.Description)
		}
		fmt.Fprintf(&b, "\n    %s\n", names(x.Attributes))
		for _, e := range x.Events {
			fmt.Fprintf(&b, "    %s: %s\n", e.Name, strings.ReplaceAll(names(e.Attributes), "\n    ", " "))
		}
	}
	for _, call := range all {
		if call.Parent.IsValid() {
			continue
		}
		write(call, "")
		for _, x := range all {
			if x.Parent.SpanID() == call.SpanContext.SpanID() {
				write(x, "  ")
			}
		}
	}
	return strings.ReplaceAll(b.String(), l.Table, "TABLE")
}

// golden compares text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestSpans_OfCallsAndTheirRequests(t *testing.T) {
	t.Parallel()
	l := open(t)
	orders, readings := dbtest.Declare[Order](t, l.DB), entity.Must(timeseries.New[Reading](l.DB))
	l.CreateTables()
	l.spans.Reset()

	_, err := readings.Append(l.Ctx, Reading{Device: "d-1", At: dbtest.Start, Value: 21.5})
	require.NoError(t, err)
	golden(t, "append", l.exported())

	l.Wire.Inject(faults.Nth(1, faults.Conflict))
	require.NoError(t, l.DB.Transact(l.Ctx, orders.Op().Create(Order{Customer: "c-1", Number: 1, State: "open"}), orders.Op().Create(Order{Customer: "c-1", Number: 2, State: "open"})))
	golden(t, "transact-conflict", l.exported())

	l.Wire.Inject(faults.Nth(1, faults.HotPartition))
	_, err = entity.Must(orders.Index("byState")).Query(Order{State: "open"}, entity.Desc(), entity.Limit(5)).Collect(l.Ctx)
	require.NoError(t, err)
	golden(t, "query-throttled", l.exported())
	l.Wire.Inject(nil)

	_, err = orders.Create(l.Ctx, Order{Customer: "c-1", Number: 1})
	require.ErrorIs(t, err, entity.ErrExists)
	golden(t, "create-refused", l.exported())
}

func TestMetrics_OfCallsAndTheirRequests(t *testing.T) {
	t.Parallel()
	l := open(t)
	orders := dbtest.Declare[Order](t, l.DB)
	l.CreateTables()
	_, err := orders.Create(l.Ctx, Order{Customer: "c-1", Number: 1, State: "open"})
	require.NoError(t, err)
	l.Wire.Inject(faults.Nth(1, faults.HotPartition))
	_, err = orders.Get(l.Ctx, Order{Customer: "c-1", Number: 1})
	require.NoError(t, err)

	var all metricdata.ResourceMetrics
	require.NoError(t, l.metrics.Collect(context.Background(), &all))
	var lines []string
	point := func(m metricdata.Metrics, attrs attribute.Set, value string) {
		verb, _ := attrs.Value("dynastrata.verb")
		operation, _ := attrs.Value(semconv.DBOperationNameKey)
		if s := verb.AsString() + operation.AsString(); s != "CreateTables" && s != "CreateTable" && s != "DescribeTable" {
			lines = append(lines, fmt.Sprintf("%s [%s] %s\n    %s", m.Name, m.Unit, value, names(attrs.ToSlice())))
		}
	}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					require.Positive(t, p.Sum)
					point(m, p.Attributes, fmt.Sprintf("%d measured", p.Count))
				}
			case metricdata.Sum[float64]:
				for _, p := range data.DataPoints {
					point(m, p.Attributes, fmt.Sprint(p.Value))
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					point(m, p.Attributes, fmt.Sprint(p.Value))
				}
			}
		}
	}
	slices.Sort(lines)
	golden(t, "metrics", strings.ReplaceAll(strings.Join(lines, "\n")+"\n", l.Table, "TABLE"))
}

// Calls of several goroutines are recorded at the same time, each request below its own call.
func TestSpans_OfParallelCalls(t *testing.T) {
	t.Parallel()
	l := open(t)
	orders := dbtest.Declare[Order](t, l.DB)
	l.CreateTables()
	l.spans.Reset()
	done := make(chan error)
	for i := range 20 {
		go func() {
			_, err := orders.Create(l.Ctx, Order{Customer: "c-1", Number: i + 1, State: "open"})
			done <- err
		}()
	}
	for range 20 {
		require.NoError(t, <-done)
	}
	_, err := orders.Scan(entity.Segments(4)).Collect(l.Ctx)
	require.NoError(t, err)
	requests := map[string]int{}
	calls := map[string]string{}
	for _, s := range l.spans.GetSpans() {
		if !s.Parent.IsValid() {
			calls[s.SpanContext.SpanID().String()] = s.Name
		}
	}
	for _, s := range l.spans.GetSpans() {
		if s.Parent.IsValid() {
			requests[calls[s.Parent.SpanID().String()]]++
		}
	}
	require.Equal(t, map[string]int{"Create Order": 20, "Scan Order": 4}, requests)
}
