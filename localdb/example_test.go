package localdb_test

import (
	"context"
	"fmt"
	"log"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/localdb"
)

// A test needs one line: no TestMain, no fixture, no cleanup.
func ExampleTest() {
	// in a file whose name ends in _test.go
	testOrders := func(t *testing.T) {
		t.Parallel()
		client, table := localdb.Test(t) // skips the test if no database is available
		_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName:            aws.String(table), // deleted when the test ends
			BillingMode:          types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	_ = testOrders
}

// A program starts a database and closes it. The timeout covers a first start, which fetches.
func ExampleStart() {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	server, err := localdb.Start(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = server.Close() }()
	fmt.Println(server.Kind(), "at", server.Endpoint())

	tables, err := server.Client().ListTables(ctx, &dynamodb.ListTablesInput{})
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Println(len(tables.TableNames), "tables")
}
