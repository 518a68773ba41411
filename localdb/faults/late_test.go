package faults_test

import (
	"context"
	"net/http/httptrace"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestLate_ReachesTheDatabaseWhenItIsDelivered(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(faults.Nth(1, faults.Late, "UpdateItem"))
	require.ErrorIs(t, c.add(t, 1), faults.ErrInjected)
	assert.Equal(t, "absent", c.value(t))
	require.NoError(t, c.add(t, 1), "a later request overtakes it")
	assert.Equal(t, 1, transport.Kept())

	n, err := transport.Deliver()
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, "2", c.value(t))
	assert.Zero(t, transport.Kept())
}

// A request whose context has ended is on its way all the same, and its writer has seen it leave.
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

func TestTwice_GivesTheSecondAnswer(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(faults.Nth(1, faults.Twice, "PutItem"))
	_, err := c.client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &c.table, Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "new"}},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	var refused *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &refused, "the second answer")
}

func TestCut_LeavesAnAnswerThatCannotBeRead(t *testing.T) {
	t.Parallel()
	c, transport := newCounter(t)
	transport.Inject(faults.Nth(1, faults.Cut))
	require.ErrorIs(t, c.add(t, 1), faults.ErrInjected)
	assert.Equal(t, "1", c.value(t))
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
