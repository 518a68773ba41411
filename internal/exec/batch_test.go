package exec

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
)

// renamer answers batches under another name of the table, such as its ARN.
type renamer struct {
	Client
	name string
}

func (r renamer) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	for _, writes := range in.RequestItems {
		out.UnprocessedItems[r.name] = append(out.UnprocessedItems[r.name], writes...)
	}
	return out, nil
}

func (r renamer) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for _, keys := range in.RequestItems {
		out.Responses[r.name] = append(out.Responses[r.name], keys.Keys...)
	}
	return out, nil
}

func TestBatch_AnswerThatCannotBeMatchedIsNoSuccess(t *testing.T) {
	t.Parallel()
	r := runner(&script{})
	r.Client = renamer{name: "t"}
	key := item.Item{"pk": item.S("a")}
	unwritten, err := r.WriteMany(t.Context(), []BatchWrite{{Table: "arn:t", Key: key, Put: key}})
	require.Error(t, err)
	require.Equal(t, []int{0}, unwritten)

	err = r.GetMany(t.Context(), []Key{{Table: "arn:t", Key: key}}, true, func(string, item.Item) { t.Error("nothing was found") })
	require.ErrorIs(t, err, errOtherTable)
}
