package localdb

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
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

// An answer without records is not the end of a shard that has ended, the shards may be listed in any order and over several
// pages, and the records that a reading was about to return may be trimmed.
func TestRecords_FollowShardsToTheirEnds(t *testing.T) {
	t.Parallel()
	record := func(key string) string { return `{"dynamodb":{"Keys":{"pk":{"S":"` + key + `"}}}}` }
	trimmed := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, err := io.ReadAll(r.Body)
		assert.NoError(t, err)
		asks := func(what string) bool { return strings.Contains(string(text), what) }
		answer := ""
		switch _, verb, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); {
		case verb == "DescribeTable":
			answer = `{"Table":{"LatestStreamArn":"arn"}}`
		case verb == "DescribeStream" && !asks("ExclusiveStartShardId"):
			answer = `{"StreamDescription":{"Shards":[{"ShardId":"s-2","ParentShardId":"s-1","SequenceNumberRange":{}}],"LastEvaluatedShardId":"s-2"}}`
		case verb == "DescribeStream":
			answer = `{"StreamDescription":{"Shards":[{"ShardId":"s-1","SequenceNumberRange":{"EndingSequenceNumber":"9"}}]}}`
		case verb == "GetShardIterator" && asks("s-1"):
			answer = `{"ShardIterator":"1a"}`
		case verb == "GetShardIterator":
			answer = `{"ShardIterator":"2a"}`
		case asks("1a"):
			answer = `{"Records":[` + record("a") + `],"NextShardIterator":"1b"}`
		case asks("1b") && !trimmed:
			trimmed = true
			w.WriteHeader(http.StatusBadRequest)
			answer = `{"__type":"com.amazonaws.dynamodb.v20120810#TrimmedDataAccessException"}`
		case asks("1b"):
			answer = `{"Records":[],"NextShardIterator":"1c"}`
		case asks("1c"):
			answer = `{"Records":[` + record("b") + `]}`
		case asks("2a"):
			answer = `{"Records":[` + record("c") + `],"NextShardIterator":"2b"}`
		default:
			answer = `{"Records":[],"NextShardIterator":"2c"}`
		}
		_, _ = fmt.Fprint(w, answer)
	}))
	defer server.Close()
	arn, records := Records(t, (&Server{endpoint: server.URL, http: newHTTPClient()}).Client(), "x")
	assert.Equal(t, "arn", arn)
	assert.Equal(t, []string{"a", "b", "c"}, keysOf(records))
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
