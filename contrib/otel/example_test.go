package otel_test

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/dynastrata/dynastrata/contrib/otel"
	"github.com/dynastrata/dynastrata/entity"
)

// empty stands for *dynamodb.Client and finds no item.
type empty struct{ entity.Client }

func (empty) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

// A call is a span, and each of its requests is a span below it.
func ExampleNew() {
	spans := tracetest.NewInMemoryExporter() // in production: an exporter of OTLP
	provider := trace.NewTracerProvider(trace.WithSyncer(spans))
	db := entity.Must(entity.Open(empty{}, entity.Config{Table: "app", Tracer: otel.New(otel.Options{TracerProvider: provider})}))
	orders := entity.Must(entity.New[Order](db))

	_, err := orders.Get(context.Background(), Order{Customer: "c-1", Number: 7})
	fmt.Println(err)
	for _, s := range spans.GetSpans() {
		fmt.Println(s.SpanKind, "span:", s.Name)
	}
	// Output:
	// Get Order (pk="$app#v1#order#c-1" sk="$app#v1#order#0000000000000000007"): item not found
	// client span: GetItem app
	// internal span: Get Order
}
