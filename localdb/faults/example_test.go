package faults_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// The answer to a write is lost: the write has happened, but the SDK does not know and repeats it.
func ExampleTransport() {
	testLostAnswer := func(t *testing.T) {
		transport := faults.New(nil)
		client, table := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = transport })
		// ... create the table ...
		transport.Inject(faults.Nth(1, faults.Lost, "PutItem"))
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
			TableName:           aws.String(table),
			Item:                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}},
			ConditionExpression: aws.String("attribute_not_exists(pk)"),
		})
		// err is a ConditionalCheckFailedException: the repetition met the item that the first attempt had written.
		if err == nil || transport.Count("PutItem") != 2 {
			t.Fatal("the loss went unnoticed")
		}
	}
	_ = testLostAnswer
}
