package tables_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// Book has one index.
type Book struct {
	_ entity.Key `name:"Book" pk:"$#{isbn}" sk:"$"`
	_ entity.GSI `name:"byAuthor" index:"gsi1" pk:"$#{author}" sk:"$#{isbn}"`

	ISBN   string `dynamodbav:"isbn"`
	Author string `dynamodbav:"author,omitempty"`
}

var shelves struct {
	client *dynamodb.Client
	table  string
}

func open() *entity.DB {
	return entity.Must(entity.Open(shelves.client, entity.Config{Table: shelves.table}))
}

// What the declarations need of DynamoDB, as a value: to read, to compare, or to write a template from.
func ExampleOf() {
	db := entity.Must(entity.Open(nil, entity.Config{Table: "library"}))
	entity.Must(entity.New[Book](db))
	fmt.Println(tables.Of(db))
	// Output:
	// table library
	//   logical  (default)
	//   entities Book
	//   key      pk (S) HASH, sk (S) RANGE
	//   gsi      gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL
	//   billing  PAY_PER_REQUEST
}

// Ticket is followed by a program that reads the table's stream and needs both images.
type Ticket struct {
	_ entity.Key `name:"Ticket" pk:"$#{id}" sk:"$" stream:"both"`

	ID string `dynamodbav:"id"`
}

// What a table lacks of the declarations, as data. Here it was created without the stream that tickets need, and
// with on demand billing.
func ExampleVerify() {
	db := entity.Must(entity.Open(shelves.client, entity.Config{
		Table:        shelves.table,
		TableOptions: map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 10, Write: 5}}},
	}))
	entity.Must(entity.New[Ticket](db))
	var found *tables.VerifyError
	if err := tables.Verify(context.Background(), db); !errors.As(err, &found) {
		fmt.Println(err)
		return
	}
	for _, table := range found.Tables {
		for _, d := range table.Differences {
			fmt.Println(d.Kind == tables.DifferentStream, d)
		}
	}
	// prints
	// true stream: needs NEW_AND_OLD_IMAGES, has none
	// false billing: needs PROVISIONED, has PAY_PER_REQUEST
}

// Volume is a later Book: it has another index, which a table that exists already lacks.
type Volume struct {
	_ entity.Key `name:"Volume" pk:"$#{isbn}" sk:"$"`
	_ entity.GSI `name:"byShelf" index:"gsi9" pk:"shelf" sk:"isbn"`

	ISBN  string `dynamodbav:"isbn"`
	Shelf string `dynamodbav:"shelf,omitempty"`
}

// A program creates what its declarations need when it starts. Tables that exist are left as they are, if they fit.
func ExampleCreate() {
	ctx, db := context.Background(), open()
	books := entity.Must(entity.New[Book](db))
	if err := tables.Create(ctx, db); err != nil {
		fmt.Println(err) // a *tables.VerifyError says in which way a table does not fit
		return
	}
	n, err := books.Scan().Count(ctx)
	fmt.Println(n, err)
	// prints
	// 0 <nil>
}

// A new release adds the index that it needs to the existing table, and waits until DynamoDB has built it.
func ExampleAddIndexes() {
	ctx, db := context.Background(), open()
	volumes := entity.Must(entity.New[Volume](db))
	var missing *tables.Error
	fmt.Println(errors.As(tables.Create(ctx, db), &missing))
	fmt.Println(tables.Create(ctx, db, tables.AddIndexes()))
	n, err := entity.Must(volumes.Index("byShelf")).Query(Volume{Shelf: "north"}).Count(ctx)
	fmt.Println(n, err)
	// prints
	// true
	// <nil>
	// 0 <nil>
}

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	shelves.client, shelves.table = localdb.Test(t)
	empty := open()
	entity.Must(entity.New[Book](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleCreate, ExampleVerify, ExampleAddIndexes))
}
