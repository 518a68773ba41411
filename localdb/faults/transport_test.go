package faults_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// counter is a table with one item {pk: "a", n: 0}, behind a transport.
type counter struct {
	client *dynamodb.Client // retries what the SDK retries by default, without its pauses
	table  string
}

func newCounter(t *testing.T) (counter, *faults.Transport) {
	t.Helper()
	transport := faults.New(nil)
	client, table := localdb.Test(t, func(o *dynamodb.Options) {
		o.HTTPClient = transport
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	})
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	transport.Reset()
	return counter{client, table}, transport
}

// add adds 1 to n, in up to attempts requests.
func (c counter) add(t *testing.T, attempts int) error {
	_, err := c.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &c.table, Key: key, UpdateExpression: aws.String("ADD n :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}, func(o *dynamodb.Options) { o.RetryMaxAttempts = attempts })
	return err
}

// value returns n.
func (c counter) value(t *testing.T) string {
	t.Helper()
	got, err := c.client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &c.table, Key: key})
	require.NoError(t, err)
	n, ok := got.Item["n"].(*types.AttributeValueMemberN)
	if !ok {
		return "absent"
	}
	return n.Value
}

func TestWhatFaultsDoToTheDatabase(t *testing.T) {
	t.Parallel()
	tests := []struct {
		fault faults.Fault
		once  string // n after one attempt
		twice string // n when the SDK repeats it
	}{
		{faults.None, "1", "1"},
		{faults.Throttle, "absent", "1"},
		{faults.Internal, "absent", "1"},
		{faults.Drop, "absent", "1"},
		{faults.InternalApplied, "1", "2"},
		{faults.Lost, "1", "2"},
		{faults.Cut, "1", "2"},
		{faults.Twice, "2", "2"},
		{faults.Late, "absent", "1"},
	}
	for _, test := range tests {
		t.Run(test.fault.String(), func(t *testing.T) {
			t.Parallel()
			once, transport := newCounter(t)
			transport.Inject(faults.Nth(1, test.fault, "UpdateItem"))
			assert.Equal(t, test.fault == faults.None || test.fault == faults.Twice, once.add(t, 1) == nil)
			assert.Equal(t, test.once, once.value(t))
			assert.Equal(t, 1, transport.Count("UpdateItem"))

			twice, transport := newCounter(t)
			transport.Inject(faults.Nth(1, test.fault, "UpdateItem"))
			require.NoError(t, twice.add(t, 2))
			assert.Equal(t, test.twice, twice.value(t))
		})
	}
}

func TestDeliver_LetsWhatWasLateThroughOnce(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(faults.Nth(1, faults.Late, "UpdateItem"))
	require.NoError(t, c.add(t, 2))
	for _, want := range []int{1, 0} {
		n, err := transport.Deliver()
		require.NoError(t, err)
		require.Equal(t, want, n)
		require.Equal(t, "2", c.value(t))
	}
}

func TestHold(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	held := 0
	arrived, release := transport.Hold(func(r faults.Request) bool {
		if r.Operation != "UpdateItem" {
			return false
		}
		held++
		return held == 1 // only the first
	})
	var slow sync.WaitGroup
	slow.Go(func() { assert.NoError(t, c.add(t, 1)) })
	assert.Equal(t, "UpdateItem", (<-arrived).Operation)
	assert.Equal(t, "absent", c.value(t), "not sent yet")
	require.NoError(t, c.add(t, 1), "the second one overtakes it")
	assert.Equal(t, "1", c.value(t))

	release()
	release()
	slow.Wait()
	assert.Equal(t, "2", c.value(t))
	require.NoError(t, c.add(t, 1), "nothing is held any more")
}

func TestHoldEndsWithTheContext(t *testing.T) {
	t.Parallel()
	transport, client := faults.New(nowhere{t}), refused(t, faults.None)
	arrived, release := transport.Hold(func(faults.Request) bool { return true })
	defer release()
	for _, receive := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() {
			done <- put(ctx, dynamodb.New(client.Options(), func(o *dynamodb.Options) { o.HTTPClient = transport }))
		}()
		if receive {
			<-arrived
		}
		cancel()
		require.ErrorIs(t, <-done, context.Canceled)
	}
}

// A request whose context has ended is still on its way, and its writer has seen it leave.
func TestLate_RequestIsWrittenAndSurvivesItsContext(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(faults.Nth(1, faults.Late))
	written := 0
	ctx, cancel := context.WithCancel(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		WroteRequest: func(httptrace.WroteRequestInfo) { written++ },
	}))
	_, err := c.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.table, Key: key, UpdateExpression: aws.String("SET n = :one"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
	}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
	require.ErrorIs(t, err, faults.ErrInjected)
	cancel()
	_, err = transport.Deliver()
	require.NoError(t, err)
	assert.Equal(t, "1", c.value(t))
	assert.Equal(t, 1, written)
}

func TestUnsent_IsSeenByATrace(t *testing.T) {
	t.Parallel()
	var seen []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		GetConn: func(string) { seen = append(seen, "asked") },
		GotConn: func(httptrace.GotConnInfo) { seen = append(seen, "got") },
		WroteRequest: func(w httptrace.WroteRequestInfo) {
			assert.ErrorIs(t, w.Err, faults.ErrInjected)
			seen = append(seen, "cut")
		},
	})
	require.ErrorIs(t, put(ctx, refused(t, faults.Unsent)), faults.ErrInjected)
	assert.Equal(t, []string{"asked", "got", "cut"}, seen)
	require.ErrorIs(t, put(t.Context(), refused(t, faults.Unsent)), faults.ErrInjected)
}

func TestNth(t *testing.T) {
	t.Parallel()
	f := faults.Nth(2, faults.Lost, "PutItem", "UpdateItem")
	var got []faults.Fault
	for _, operation := range []string{"GetItem", "PutItem", "GetItem", "UpdateItem", "PutItem", "PutItem"} {
		got = append(got, f(faults.Request{Operation: operation}))
	}
	assert.Equal(t, []faults.Fault{0, 0, 0, faults.Lost, 0, 0}, got)

	any := faults.Nth(1, faults.Drop)
	assert.Equal(t, faults.Drop, any(faults.Request{Operation: "ListTables"}))
	assert.Equal(t, faults.None, any(faults.Request{Operation: "ListTables"}))
}

func TestRandom(t *testing.T) {
	t.Parallel()
	draw := func(seed uint64, rate float64, list ...faults.Fault) map[faults.Fault]int {
		f, counts := faults.Random(seed, rate, list...), map[faults.Fault]int{}
		for range 1000 {
			counts[f(faults.Request{})]++
		}
		return counts
	}
	assert.Equal(t, draw(1, .3, faults.Drop, faults.Lost), draw(1, .3, faults.Drop, faults.Lost), "the same seed, the same faults")
	assert.NotEqual(t, draw(1, .3, faults.Drop, faults.Lost), draw(2, .3, faults.Drop, faults.Lost))

	counts := draw(7, .3, faults.Drop, faults.Lost)
	assert.InDelta(t, 700, counts[faults.None], 60)
	assert.InDelta(t, counts[faults.Drop], counts[faults.Lost], 60)
	assert.Equal(t, map[faults.Fault]int{faults.None: 1000}, draw(1, 0, faults.Drop))
	assert.Equal(t, map[faults.Fault]int{faults.Drop: 1000}, draw(1, 1, faults.Drop))
	assert.Equal(t, map[faults.Fault]int{faults.None: 1000}, draw(1, 1))
}

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
	return dbtest.ErrorOf(c.PutItem(ctx, &dynamodb.PutItemInput{TableName: table, Item: key}))
}

func update(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.UpdateItem(ctx, &dynamodb.UpdateItemInput{TableName: table, Key: key}))
}

func remove(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: table, Key: key}))
}

func get(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.GetItem(ctx, &dynamodb.GetItemInput{TableName: table, Key: key}))
}

func query(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.Query(ctx, &dynamodb.QueryInput{TableName: table, KeyConditionExpression: aws.String("pk = :a")}))
}

func batchWrite(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: writes()}))
}

func writes() map[string][]types.WriteRequest {
	return map[string][]types.WriteRequest{"t": {{PutRequest: &types.PutRequest{Item: key}}, {DeleteRequest: &types.DeleteRequest{Key: key}}}}
}

func describe(ctx context.Context, c *dynamodb.Client) error {
	return dbtest.ErrorOf(c.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: table}))
}

func transactWrite(actions int) func(context.Context, *dynamodb.Client) error {
	return func(ctx context.Context, c *dynamodb.Client) error {
		items := make([]types.TransactWriteItem, actions)
		for i := range items {
			items[i].Put = &types.Put{TableName: table, Item: key}
		}
		return dbtest.ErrorOf(c.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: items}))
	}
}

func transactGet(ctx context.Context, c *dynamodb.Client) error {
	item := types.TransactGetItem{Get: &types.Get{TableName: table, Key: key}}
	return dbtest.ErrorOf(c.TransactGetItems(ctx, &dynamodb.TransactGetItemsInput{TransactItems: []types.TransactGetItem{item, item}}))
}

func executeTransaction(ctx context.Context, c *dynamodb.Client) error {
	statement := types.ParameterizedStatement{Statement: aws.String(`DELETE FROM t WHERE pk = 'a'`)}
	return dbtest.ErrorOf(c.ExecuteTransaction(ctx, &dynamodb.ExecuteTransactionInput{TransactStatements: []types.ParameterizedStatement{statement}}))
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
	err := put(t.Context(), dynamodb.New(client.Options(), func(o *dynamodb.Options) {
		o.HTTPClient, o.RetryMaxAttempts = transport, 2
		o.Retryer = retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	}))
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
