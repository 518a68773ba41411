package console

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/internal/studio"
)

// meteredClient returns a client like another, whose requests ask the meter of their context, and are counted by it.
func meteredClient(client *dynamodb.Client) *dynamodb.Client {
	return dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.APIOptions = append(o.APIOptions[:len(o.APIOptions):len(o.APIOptions)], func(stack *middleware.Stack) error {
			return stack.Initialize.Add(metering{}, middleware.Before)
		})
	})
}

type metering struct{}

// ID implements middleware.InitializeMiddleware.
func (metering) ID() string { return "dynastrata.meter" }

// HandleInitialize implements middleware.InitializeMiddleware.
func (metering) HandleInitialize(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	m := studio.MeterOf(ctx)
	if err := m.Ask(ctx); err != nil {
		return middleware.InitializeOutput{}, middleware.Metadata{}, err
	}
	out, meta, err := next.HandleInitialize(ctx, in)
	m.Spend(unitsOf(out.Result))
	return out, meta, err
}

// unitsOf returns the read units of an answer.
func unitsOf(answer any) (units float64) {
	var all []types.ConsumedCapacity
	one := func(c *types.ConsumedCapacity) {
		if c != nil {
			all = append(all, *c)
		}
	}
	switch out := answer.(type) {
	case *dynamodb.GetItemOutput:
		one(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		one(out.ConsumedCapacity)
	case *dynamodb.ScanOutput:
		one(out.ConsumedCapacity)
	case *dynamodb.BatchGetItemOutput:
		all = out.ConsumedCapacity
	}
	for _, c := range all {
		if c.CapacityUnits != nil {
			units += *c.CapacityUnits
		}
	}
	return units
}
