package faults_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

// nowhere is a database that no request may reach.
type nowhere struct{ t *testing.T }

func (n nowhere) Do(*http.Request) (*http.Response, error) {
	n.t.Error("a refused request was sent")
	return nil, errors.New("nowhere")
}

// refused returns a client that tries once, checks checksums as the SDK does by default, and gets fault for every request.
func refused(t *testing.T, fault faults.Fault) *dynamodb.Client {
	t.Helper()
	transport := faults.New(nowhere{t})
	transport.Inject(func(faults.Request) faults.Fault { return fault })
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: transport, RetryMaxAttempts: 1,
		Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
}

var (
	table = aws.String("t")
	key   = map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
)

// The calls of these tests.
func put(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key})
	return err
}

func update(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key})
	return err
}

func remove(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key})
	return err
}

func get(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key})
	return err
}

func query(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String("pk = :a")})
	return err
}

func batchWrite(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: writes()})
	return err
}

func writes() map[string][]types.WriteRequest {
	return map[string][]types.WriteRequest{"t": {{PutRequest: &types.PutRequest{Item: key}}, {DeleteRequest: &types.DeleteRequest{Key: key}}}}
}

func describe(ctx context.Context, c *dynamodb.Client) error {
	_, err := c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table})
	return err
}

func transactWrite(actions int) func(context.Context, *dynamodb.Client) error {
	return func(ctx context.Context, c *dynamodb.Client) error {
		items := make([]types.TransactWriteItem, actions)
		for i := range items {
			items[i].Put = &types.Put{TableName: table, Item: key}
		}
		_, err := c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items})
		return err
	}
}

func transactGet(ctx context.Context, c *dynamodb.Client) error {
	item := types.TransactGetItem{Get: &types.Get{TableName: table, Key: key}}
	_, err := c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{item, item}})
	return err
}

func executeTransaction(ctx context.Context, c *dynamodb.Client) error {
	statement := types.ParameterizedStatement{Statement: aws.String(`DELETE FROM t WHERE pk = 'a'`)}
	_, err := c.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{statement}})
	return err
}

func TestSingleCallsGetTypedErrors(t *testing.T) {
	t.Parallel()
	var (
		throughput *types.ProvisionedThroughputExceededException
		conflict   *types.TransactionConflictException
		internal   *types.InternalServerError
		throttling *types.ThrottlingException
	)
	tests := []struct {
		fault faults.Fault
		calls []func(context.Context, *dynamodb.Client) error
		want  any
	}{
		{faults.Throttle, []func(context.Context, *dynamodb.Client) error{put, update, remove, get, query, batchWrite}, &throughput},
		{faults.Throttle, []func(context.Context, *dynamodb.Client) error{describe}, &throttling},
		{faults.Conflict, []func(context.Context, *dynamodb.Client) error{put, update, remove}, &conflict},
		{faults.Conflict, []func(context.Context, *dynamodb.Client) error{get, query, batchWrite}, &throughput},
		{faults.Unprocessed, []func(context.Context, *dynamodb.Client) error{put, get}, &throughput},
		{faults.Internal, []func(context.Context, *dynamodb.Client) error{put, get, query, batchWrite, transactGet, transactWrite(2)}, &internal},
	}
	for _, test := range tests {
		for i, call := range test.calls {
			err := call(t.Context(), refused(t, test.fault))
			require.ErrorAs(t, err, test.want, "%v %d", test.fault, i)
			var api smithy.APIError
			require.ErrorAs(t, err, &api)
			assert.NotEmpty(t, api.ErrorMessage())
		}
	}
}

func TestTransactionsGetReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		fault faults.Fault
		call  func(context.Context, *dynamodb.Client) error
		want  []string
	}{
		{"write", faults.Conflict, transactWrite(3), []string{"TransactionConflict", "None", "None"}},
		{"read", faults.Conflict, transactGet, []string{"TransactionConflict", "None"}},
		{"PartiQL", faults.Conflict, executeTransaction, []string{"TransactionConflict"}},
		{"write", faults.Throttle, transactWrite(3), []string{"ThrottlingError", "None", "ProvisionedThroughputExceeded"}},
		{"single", faults.Throttle, transactWrite(1), []string{"ThrottlingError"}},
		{"read", faults.Throttle, transactGet, []string{"ThrottlingError", "ProvisionedThroughputExceeded"}},
		{"write", faults.Unprocessed, transactWrite(2), []string{"ThrottlingError", "ProvisionedThroughputExceeded"}},
	}
	for _, test := range tests {
		t.Run(test.name+" "+test.fault.String(), func(t *testing.T) {
			t.Parallel()
			err := test.call(t.Context(), refused(t, test.fault))
			var canceled *types.TransactionCanceledException
			require.ErrorAs(t, err, &canceled)
			var codes []string
			for _, reason := range canceled.CancellationReasons {
				codes = append(codes, aws.ToString(reason.Code))
				assert.Equal(t, aws.ToString(reason.Code) == "None", reason.Message == nil)
			}
			assert.Equal(t, test.want, codes)
			assert.Contains(t, canceled.ErrorMessage(), "please refer cancellation reasons")
		})
	}
}

func TestUnprocessedGivesBackTheBatch(t *testing.T) {
	t.Parallel()
	client := refused(t, faults.Unprocessed)
	written, err := client.BatchWriteItem(t.Context(), &dynamodb.BatchWriteItemInput{RequestItems: writes()})
	require.NoError(t, err)
	assert.Equal(t, writes(), written.UnprocessedItems)

	keys := map[string]types.KeysAndAttributes{"t": {Keys: []map[string]types.AttributeValue{key}, ConsistentRead: aws.Bool(true)}}
	read, err := client.BatchGetItem(t.Context(), &dynamodb.BatchGetItemInput{RequestItems: keys})
	require.NoError(t, err)
	assert.Empty(t, read.Responses)
	assert.Equal(t, keys, read.UnprocessedKeys)
}

func TestDropIsAConnectionErrorThatTheSDKRepeats(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, put(t.Context(), refused(t, faults.Drop)), faults.ErrInjected)

	transport := faults.New(nowhere{t})
	transport.Inject(func(faults.Request) faults.Fault { return faults.Drop })
	client := refused(t, faults.None)
	err := put(t.Context(), dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient, o.RetryMaxAttempts = transport, 2 }))
	require.ErrorIs(t, err, faults.ErrInjected)
	assert.Equal(t, 2, transport.Count("PutItem"))
}

func TestHotPartitionNamesItsReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		call   func(context.Context, *dynamodb.Client) error
		reason string
	}{{put, "TableWriteKeyRangeThroughputExceeded"}, {get, "TableReadKeyRangeThroughputExceeded"}} {
		var throttled *types.ProvisionedThroughputExceededException
		require.ErrorAs(t, c.call(t.Context(), refused(t, faults.HotPartition)), &throttled)
		require.Len(t, throttled.ThrottlingReasons, 1)
		assert.Equal(t, c.reason, *throttled.ThrottlingReasons[0].Reason)
		assert.Contains(t, *throttled.ThrottlingReasons[0].Resource, ":table/")
	}
	var cancelled *types.TransactionCanceledException
	require.ErrorAs(t, transactWrite(2)(t.Context(), refused(t, faults.HotPartition)), &cancelled)
}

func TestHangEndsWithTheContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, put(ctx, refused(t, faults.Hang)), context.DeadlineExceeded)
}
