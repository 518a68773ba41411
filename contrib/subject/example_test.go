package subject_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/subject"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/versioned"
)

// The database of the examples: none, or a local one while a test runs them.
var (
	client entity.Client
	table  = "app"
)

// Customer is whose data it is.
type Customer struct {
	_ entity.Key `name:"Customer" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id" entity:"subject"`
	Name string `dynamodbav:"name"`
}

// Invoice names its customer, and keeps its history.
type Invoice struct {
	_ entity.Key `name:"Invoice" pk:"$#{number}" sk:"$"`
	_ versioned.Retain

	Number   string `dynamodbav:"number"`
	Customer string `dynamodbav:"customer" entity:"subject"`
	Version  int64  `dynamodbav:"version" entity:"version"`
}

type Tables struct {
	Customers *entity.Store[Customer]
	Invoices  *entity.Store[Invoice]
}

// A dry run says what an erasure would do; a kept entity stays, with the reason in the report.
func ExampleSubjects_Erase() {
	ctx := context.Background()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	app := entity.Must(entity.Bind[Tables](db))
	_ = entity.Must(app.Customers.Put(ctx, Customer{ID: "c-1", Name: "Ada"}))
	_ = entity.Must(app.Invoices.Put(ctx, Invoice{Number: "i-1", Customer: "c-1"}))

	subjects := entity.Must(subject.New(db, subject.Options{
		Keep: []subject.Keep{{Entity: "Invoice", Reason: "tax law: ten years"}},
	}))
	request := subject.Request{ID: "c-1", Reference: "request 17", DryRun: true}
	report, err := subjects.Erase(ctx, request)
	fmt.Println(report, err)
	request.DryRun = false
	report, err = subjects.Erase(ctx, request)
	fmt.Println(report, err)
	for _, left := range report.Entities[1].Left {
		fmt.Println(left.Count, left.Kind, left.Reason)
	}
	// prints
	// dry run: 1 items erased or emptied, 2 left <nil>
	// erase: 1 items erased or emptied, 2 left <nil>
	// 1 current tax law: ten years
	// 1 version tax law: ten years
}

// An export has a line for each item.
func ExampleSubjects_Export() {
	ctx := context.Background()
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	app := entity.Must(entity.Bind[Tables](db))
	_ = entity.Must(app.Customers.Put(ctx, Customer{ID: "c-2", Name: "Bob"}))

	subjects := entity.Must(subject.New(db, subject.Options{}))
	report, err := subjects.Export(ctx, subject.Request{ID: "c-2", Reference: "request 18"}, os.Stdout)
	fmt.Println(report, err)
	// prints
	// {"entity":"Customer","kind":"current","key":{"pk":"$app#v1#customer#c-2","sk":"$app#v1#customer"},"value":{"id":"c-2","name":"Bob"}}
	// export: 1 items exported <nil>
}

// The examples need a database, so go test does not compare their output. This test does.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := entity.Must(entity.Open(client, entity.Config{Table: table}))
	_ = entity.Must(entity.Bind[Tables](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleSubjects_Erase, ExampleSubjects_Export))
}
