package entity_test

import (
	"bytes"
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
)

// timeless is a logger that writes no times.
func timeless(level slog.Level) (*bytes.Buffer, *slog.Logger) {
	var b bytes.Buffer
	return &b, slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: level, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey && groups == nil {
			return slog.Attr{}
		}
		return a
	}}))
}

func TestSlogTracer_LogsSlowAndFailedCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		r    entity.Report
		want string
	}{
		{"quick", entity.Report{Verb: "Get", Duration: 99 * time.Millisecond}, ""},
		{"slow", entity.Report{
			Verb: "Query", Entity: "Order", Table: "app", Index: "gsi1", Duration: 100 * time.Millisecond, Requests: 3, Attempts: entitytype.Attempts{OK: 1, Throttled: 2},
			Throttles: []entitytype.Throttles{{Throttle: entitytype.NewThrottle("IndexReadKeyRangeThroughputExceeded", "arn"), Count: 2}},
			ReadUnits: .5, Returned: 2, Evaluated: 7, RequestIDs: []string{"a", "b"},
		}, `level=WARN msg="slow call" verb=Query entity=Order table=app index=gsi1 duration=100ms requests=3 throttled=2 "throttled by IndexReadKeyRangeThroughputExceeded"=2 "read units"=0.5 returned=2 evaluated=7 "request ids"="[a b]"` + "\n"},
		{"failed", entity.Report{
			Verb: "Append", Duration: time.Second, Requests: 2, Attempts: entitytype.Attempts{Lost: 1, Conflict: 1, Refused: 1, Failed: 1}, WriteUnits: 4,
			Err: &entity.Failure{Type: "ErrRetryBudget", Ambiguous: true, Classes: []error{entity.ErrRetryBudget}},
		}, `level=ERROR msg="failed call" verb=Append duration=1s requests=2 conflicts=1 lost=1 refused=1 failed=1 "write units"=4 error=ErrRetryBudget ambiguous=true` + "\n"},
		{"expected", entity.Report{Verb: "Get", Err: &entity.Failure{Type: "ErrNotFound", Classes: []error{entity.ErrNotFound}, Expected: true}}, `level=INFO msg="failed call" verb=Get duration=0s requests=0 error=ErrNotFound` + "\n"},
	} {
		b, logger := timeless(slog.LevelInfo)
		tracer := entity.SlogTracer(logger, entity.SlogOptions{Slow: 100 * time.Millisecond})
		tracer.End(tracer.Start(t.Context(), entity.Call{}), c.r)
		require.Equal(t, c.want, b.String(), c.name)
	}
	b, logger := timeless(slog.LevelWarn)
	entity.SlogTracer(logger, entity.SlogOptions{}).End(t.Context(), entity.Report{Verb: "Get", Duration: time.Hour})
	require.Empty(t, b.String(), "without a threshold no call is slow")
}

func TestSlogTracer_CostsNothingUnlessItLogs(t *testing.T) {
	_, logger := timeless(slog.LevelError)
	tracer, ctx := entity.SlogTracer(logger, entity.SlogOptions{Slow: time.Second}), context.Background()
	require.Zero(t, testing.AllocsPerRun(100, func() {
		started := tracer.Start(ctx, entity.Call{Verb: "Get"})
		tracer.Request(started, entity.Attempt{})
		tracer.End(started, entity.Report{Verb: "Get"})
		tracer.End(started, entity.Report{Verb: "Get", Duration: time.Minute}) // below the level of the logger
	}))
}

func TestThrottle_OfItsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entitytype.Throttle{
		"TableReadKeyRangeThroughputExceeded":     {Limit: "KeyRangeThroughputExceeded", Kind: "Table", Operation: "Read"},
		"IndexWriteMaxOnDemandThroughputExceeded": {Limit: "MaxOnDemandThroughputExceeded", Kind: "Index", Operation: "Write"},
		"TableWriteProvisionedThroughputExceeded": {Limit: "ProvisionedThroughputExceeded", Kind: "Table", Operation: "Write"},
		"SomethingNew": {Limit: "SomethingNew"},
		"TableRead":    {Limit: "TableRead"},
		"":             {},
	} {
		require.Equal(t, want, entitytype.NewThrottle(text, ""), text)
	}
}
