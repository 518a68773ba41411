package faults_test

import (
	"context"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
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
