package exec

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Get reads one item, nil if absent.
func (r *Runner) Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error) {
	var found item.Item
	err := r.read(ctx, []string{table}, func() error {
		in := &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &consistent, ReturnConsumedCapacity: r.capacity()}
		out, err := r.Client.GetItem(ctx, in, once)
		if err != nil {
			return err
		}
		meterOf(ctx).reads(out.ConsumedCapacity)
		if found = out.Item; len(found) == 0 {
			found = nil
		}
		return nil
	})
	return found, err
}

// Query fetches one page. Where the index is missing, the error is an *IndexError, which costs a request more.
func (r *Runner) Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error) {
	var page *dynamodb.QueryOutput
	in.ReturnConsumedCapacity = r.capacity()
	err := r.read(ctx, []string{*in.TableName}, func() error {
		out, err := r.Client.Query(ctx, in, once)
		if err != nil {
			return err
		}
		meterOf(ctx).reads(out.ConsumedCapacity)
		page = out
		return nil
	})
	return page, r.indexError(ctx, *in.TableName, in.IndexName, err)
}

// Scan fetches one page of a table or index. The caller may ask for the capacity that it consumes.
// Where the index is missing, the error is as for Query.
func (r *Runner) Scan(ctx context.Context, in *dynamodb.ScanInput) (*dynamodb.ScanOutput, error) {
	var page *dynamodb.ScanOutput
	if in.ReturnConsumedCapacity == "" {
		in.ReturnConsumedCapacity = r.capacity()
	}
	err := r.read(ctx, []string{*in.TableName}, func() error {
		out, err := r.Client.Scan(ctx, in, once)
		if err != nil {
			return err
		}
		meterOf(ctx).reads(out.ConsumedCapacity)
		page = out
		return nil
	})
	return page, r.indexError(ctx, *in.TableName, in.IndexName, err)
}

// DescribeTable returns the description of a table.
func (r *Runner) DescribeTable(ctx context.Context, name string) (*types.TableDescription, error) {
	var found *types.TableDescription
	err := r.read(ctx, []string{name}, func() error {
		out, err := r.Client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name}, once)
		if err == nil {
			found = out.Table
		}
		return err
	})
	return found, err
}

// Manage sends a request about table, which does no harm when it arrives twice, and repeats it as a read. send is given
// what turns the SDK's own retries off.
func (r *Runner) Manage(ctx context.Context, table string, send func(once func(*dynamodb.Options)) error) error {
	return r.read(ctx, []string{table}, func() error { return send(once) })
}
