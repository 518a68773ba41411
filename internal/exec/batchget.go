package exec

import (
	"context"
	"errors"
	"fmt"
	"maps"
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

// GetMany reads the items with the given keys, which must differ and can be of several tables, and hands each to found.
// Absent ones are left out.
func (r *Runner) GetMany(ctx context.Context, keys []Key, consistent bool, found func(table string, it item.Item)) error {
	for chunk := range slices.Chunk(keys, mostKeys) {
		if err := r.getChunk(ctx, byTable(chunk, consistent), consistent, found); err != nil {
			return err
		}
	}
	return nil
}

// errOtherTable is an answer under another name of the table than it was asked under: which keys it is about is unknown.
var errOtherTable = errors.New("the database answered for a table that was not asked for")

type asked = map[string]types.KeysAndAttributes

// byTable is what a request asks for.
func byTable(keys []Key, consistent bool) asked {
	wanted := asked{}
	for _, k := range keys {
		wanted[k.Table] = types.KeysAndAttributes{Keys: append(wanted[k.Table].Keys, k.Key), ConsistentRead: &consistent}
	}
	return wanted
}

// getChunk asks for what was not processed again, and gives up after MaxAttempts answers in a row without any item.
func (r *Runner) getChunk(ctx context.Context, wanted asked, consistent bool, found func(string, item.Item)) error {
	for idle := 0; ; {
		var out *dynamodb.BatchGetItemOutput
		err := r.read(ctx, slices.Collect(maps.Keys(wanted)), func() (err error) {
			out, err = r.Client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: wanted, ReturnConsumedCapacity: r.capacity()}, once)
			return err
		})
		if err != nil {
			return err
		}
		for i := range out.ConsumedCapacity {
			meterOf(ctx).reads(&out.ConsumedCapacity[i])
		}
		for _, table := range slices.Sorted(maps.Keys(out.Responses)) {
			if _, ok := wanted[table]; !ok && len(out.Responses[table]) > 0 {
				return errOtherTable
			}
			for _, it := range out.Responses[table] {
				found(table, it)
			}
		}
		rest, left := asked{}, 0
		for table, keys := range out.UnprocessedKeys {
			if n := len(keys.Keys); n > 0 {
				rest[table] = types.KeysAndAttributes{Keys: keys.Keys, ConsistentRead: &consistent}
				left += n
			}
		}
		if left == 0 {
			return nil
		}
		if left < count(wanted) {
			idle = 0
		} else if idle++; idle >= r.MaxAttempts {
			return &UnprocessedError{left}
		}
		wanted = rest
		if err := r.pause(ctx, idle); err != nil {
			return err
		}
	}
}

func count(wanted asked) (n int) {
	for _, keys := range wanted {
		n += len(keys.Keys)
	}
	return n
}
