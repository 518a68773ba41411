package engine

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
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

	_, err = r.GetMany(t.Context(), []Key{{Table: "arn:t", Key: key}})
	require.ErrorIs(t, err, errOtherTable)
}

// hesitant is a client that leaves every second batch unprocessed.
type hesitant struct {
	Client
	sent int
}

func (c *hesitant) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if c.sent++; c.sent%2 == 1 {
		return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
	}
	return &dynamodb.BatchWriteItemOutput{}, nil
}

func (c *hesitant) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if c.sent++; c.sent%2 == 1 {
		return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}, nil
	}
	return &dynamodb.BatchGetItemOutput{}, nil
}

// What the repetition of an unprocessed batch has cost comes back when nothing is left.
func TestBatch_ARepetitionThatProcessesAllGivesItsTokensBack(t *testing.T) {
	t.Parallel()
	r := runner(&script{})
	r.Client, r.Retries = &hesitant{}, ratelimit.NewTokenRateLimit(10)
	key := item.Item{"pk": item.S("a")}
	for range 10 {
		_, err := r.WriteMany(t.Context(), []BatchWrite{{Table: "t", Key: key, Put: key}})
		require.NoError(t, err)
		_, err = r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
		require.NoError(t, err)
	}
}

// leaving is a client that leaves a key unprocessed.
type leaving struct {
	Client
	left map[string]types.KeysAndAttributes
}

func (c leaving) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{UnprocessedKeys: c.left}, nil
}

func TestBatch_OtherKeysLeftUnprocessed(t *testing.T) {
	t.Parallel()
	r, key := runner(&script{}), item.Item{"pk": item.S("a"), "sk": item.S("b")}
	for name, left := range map[string]types.KeysAndAttributes{
		"of no attributes":      {Keys: []item.Item{{}}},
		"of one":                {Keys: []item.Item{{"pk": item.S("a")}}},
		"of three":              {Keys: []item.Item{{"pk": item.S("a"), "sk": item.S("b"), "z": item.S("c")}}},
		"with other attributes": {Keys: []item.Item{{"pk": item.S("a"), "z": item.S("b")}}},
	} {
		r.Client = leaving{left: map[string]types.KeysAndAttributes{"t": left}}
		_, err := r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
		require.ErrorIs(t, err, errOtherKey, name)
	}
	r.Client = leaving{left: map[string]types.KeysAndAttributes{"other": {Keys: []item.Item{key}}}}
	_, err := r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
	require.ErrorIs(t, err, errOtherKey)
}
