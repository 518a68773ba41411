package exec

import (
	"context"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// mostKeys is how many keys BatchGetItem takes.
const mostKeys = 100

// UnprocessedError says that DynamoDB left part of a batch undone, however often it was asked.
type UnprocessedError struct{ Count int }

func (e *UnprocessedError) Error() string {
	return fmt.Sprintf("%d items of the batch stayed unprocessed", e.Count)
}

// GetMany reads the items with the given keys, which must differ, and hands each to found. Absent ones are left out.
func (r *Runner) GetMany(ctx context.Context, table string, keys []item.Item, consistent bool, found func(item.Item)) error {
	for chunk := range slices.Chunk(keys, mostKeys) {
		if err := r.getChunk(ctx, table, chunk, consistent, found); err != nil {
			return err
		}
	}
	return nil
}

// getChunk asks for what was not processed again, and gives up after MaxAttempts answers in a row without any item.
func (r *Runner) getChunk(ctx context.Context, table string, keys []item.Item, consistent bool, found func(item.Item)) error {
	for idle := 0; ; {
		var out *dynamodb.BatchGetItemOutput
		err := r.read(ctx, func() (err error) {
			out, err = r.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{
				RequestItems:           map[string]types.KeysAndAttributes{table: {Keys: keys, ConsistentRead: &consistent}},
				ReturnConsumedCapacity: r.capacity(),
			}, once)
			return err
		})
		if err != nil {
			return err
		}
		for i := range out.ConsumedCapacity {
			meterOf(ctx).reads(&out.ConsumedCapacity[i])
		}
		for _, it := range out.Responses[table] {
			found(it)
		}
		rest := out.UnprocessedKeys[table].Keys
		if len(rest) == 0 {
			return nil
		}
		if len(rest) < len(keys) {
			idle = 0
		} else if idle++; idle >= r.MaxAttempts {
			return &UnprocessedError{len(rest)}
		}
		keys = rest
		if err := r.pause(ctx, idle); err != nil {
			return err
		}
	}
}
