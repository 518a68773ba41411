package faults_test

import (
	"encoding/json"
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
	client *dynamodb.Client // retries what the SDK does by default, without its pauses
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

// value reads n.
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

func TestRequestsAreRecorded(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(func(r faults.Request) faults.Fault {
		if r.Index == 0 && transport.Count("UpdateItem") == 1 { // the transport may be asked from within
			return faults.Throttle
		}
		return faults.None
	})
	require.NoError(t, c.add(t, 3))
	transport.Inject(nil)
	assert.Equal(t, "1", c.value(t))

	requests := transport.Requests()
	require.Len(t, requests, 3)
	for i, operation := range []string{"UpdateItem", "UpdateItem", "GetItem"} {
		assert.Equal(t, i, requests[i].Index)
		assert.Equal(t, operation, requests[i].Operation)
		var body struct{ TableName string }
		require.NoError(t, json.Unmarshal(requests[i].Body, &body))
		assert.Equal(t, c.table, body.TableName)
	}
	assert.Equal(t, requests[0].Body, requests[1].Body, "a repetition")
	assert.Equal(t, 2, transport.Count("UpdateItem"))
	assert.Zero(t, transport.Count("PutItem"))

	transport.Reset()
	assert.Empty(t, transport.Requests())
}
