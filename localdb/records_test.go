package localdb

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestRecords_AreAllOfATable(t *testing.T) {
	t.Parallel()
	client, table := Test(t)
	in := keyOnly(table)
	in.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly}
	_, err := client.CreateTable(t.Context(), in)
	require.NoError(t, err)
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprint(i))
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: want[i]}, "text": &types.AttributeValueMemberS{Value: strings.Repeat("x", 100_000)},
		}})
		require.NoError(t, err)
	}
	for range 2 {
		arn, records := Records(t, client, table)
		assert.Contains(t, arn, table)
		assert.Equal(t, want, keysOf(records))
	}
}

func keysOf(records []streamtypes.Record) (keys []string) {
	for _, r := range records {
		keys = append(keys, r.Dynamodb.Keys["pk"].(*streamtypes.AttributeValueMemberS).Value)
	}
	return keys
}

func TestRecords_FailsATestWhoseTableHasNoStream(t *testing.T) {
	t.Parallel()
	client, table := Test(t)
	_, err := client.CreateTable(t.Context(), keyOnly(table))
	require.NoError(t, err)
	fake := &fakeTB{}
	assert.PanicsWithValue(t, fake, func() { Records(fake, client, table) })
	assert.Equal(t, "fatal: localdb: read the stream of "+table+": the table has none", fake.said)
}
