package engine_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
)

// careless is a tracer that returns no context.
type careless struct{ entitytype.Tracer }

func (careless) Start(context.Context, entitytype.Call) context.Context { return nil }
func (careless) End(context.Context, entitytype.Report)                 {}

func TestMeasure_KeepsTheContextIfATracerReturnsNone(t *testing.T) {
	t.Parallel()
	r := &engine.Runner{Tracer: careless{}}
	require.NoError(t, r.Measure(t.Context(), entitytype.Call{Verb: "Get"}, func(ctx context.Context) error { return ctx.Err() }))
}
