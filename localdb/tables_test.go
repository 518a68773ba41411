package localdb

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
)

// Without turns DynamoDB Local answers some of these requests with an InternalFailure. It may refuse others, because a table
// is still being changed or too many are.
func TestTest_TablesCanBeChangedInParallel(t *testing.T) {
	t.Parallel()
	client, table := Test(t, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	answered := func(err error) {
		var api smithy.APIError
		if err != nil && (!errors.As(err, &api) || api.ErrorCode() == "InternalFailure") {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for _, suffix := range strings.Fields("a b c d e f g h i j k l m n o p") {
		all.Go(func() {
			in := keyOnly(table + "-" + suffix)
			_, err := client.CreateTable(t.Context(), in)
			answered(err)
			_, err = client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
				TableName: in.TableName, AttributeDefinitions: in.AttributeDefinitions,
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String("gsi1"), KeySchema: in.KeySchema, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
				}}},
			})
			answered(err)
			_, err = client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: in.TableName})
			answered(err)
			_, err = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: in.TableName})
			answered(err)
		})
	}
	all.Wait()
}
