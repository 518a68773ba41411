package exec

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Key is the primary key of an item in a table.
type Key struct {
	Table string
	Key   item.Item
}

// TransactGet reads the items at one instant, in the order of keys; nil where absent.
func (r *Runner) TransactGet(ctx context.Context, keys []Key) ([]item.Item, error) {
	in := &dynamodb.TransactGetItemsInput{ReturnConsumedCapacity: r.capacity()}
	tables := make([]string, len(keys))
	for i := range keys {
		tables[i] = keys[i].Table
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: &keys[i].Table, Key: keys[i].Key}})
	}
	var items []item.Item
	err := r.read(ctx, tables, func() error {
		out, err := r.Client.TransactGetItems(ctx, in, once)
		if err != nil {
			return err
		}
		for i := range out.ConsumedCapacity {
			meterOf(ctx).reads(&out.ConsumedCapacity[i])
		}
		items = make([]item.Item, len(out.Responses))
		for i, response := range out.Responses {
			items[i] = response.Item
		}
		return nil
	})
	return items, err
}
