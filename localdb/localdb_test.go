package localdb

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	streamtypes "github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// env is an environment for readSettings.
type env map[string]string

func (e env) get(name string) string { return e[name] }

func TestReadSettings(t *testing.T) {
	t.Parallel()
	cfg, err := readSettings(env{
		"DYNAMODB_ENDPOINT": "http://localhost:1", "LOCALDB_KIND": "docker", "LOCALDB_CACHE": "here", "LOCALDB_NO_FETCH": "1",
		"LOCALDB_ALLOW_AWS": "true", "JAVA_HOME": "/java",
	}.get, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, "http://localhost:1", cfg.endpoint)
	assert.Equal(t, "docker", cfg.kind)
	assert.True(t, filepath.IsAbs(cfg.cache))
	assert.Equal(t, "here", filepath.Base(cfg.cache))
	assert.True(t, cfg.noFetch)
	assert.True(t, cfg.allowAWS)
	assert.Equal(t, "/java", cfg.javaHome)

	cfg, err = readSettings(env{"LOCALDB_NO_FETCH": "0"}.get, io.Discard)
	require.NoError(t, err)
	assert.False(t, cfg.noFetch)
	assert.False(t, cfg.allowAWS)
}

func TestRequired(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"": false, "0": false, "false": false, "1": true, "true": true, "yes": true} {
		assert.Equal(t, want, required(env{"DYNASTRATA_REQUIRE_DB": text}.get), text)
	}
}

// keyOnly returns the description of a table with one string key.
func keyOnly(table string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName:            aws.String(table),
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: types.KeyTypeHash}},
	}
}

// tables returns the tables of a database.
func tables(t *testing.T, client *dynamodb.Client) []string {
	t.Helper()
	var names []string
	pages := dynamodb.NewListTablesPaginator(client, &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		names = append(names, page.TableNames...)
	}
	return names
}

func TestTest_GivesAWorkingTable(t *testing.T) {
	t.Parallel()
	client, table := Test(t)
	_, err := client.CreateTable(t.Context(), keyOnly(table))
	require.NoError(t, err)
	item := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	require.NoError(t, err)
	got, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item})
	require.NoError(t, err)
	assert.Equal(t, item, got.Item)

	var refused *types.ConditionalCheckFailedException
	_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName: &table, Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})
	require.ErrorAs(t, err, &refused)
}

func TestTest_DeletesItsTables(t *testing.T) {
	t.Parallel()
	client, other := Test(t)
	_, err := client.CreateTable(t.Context(), keyOnly(other))
	require.NoError(t, err)

	var table string
	t.Run("inner", func(t *testing.T) {
		var inner *dynamodb.Client
		inner, table = Test(t)
		for _, suffix := range []string{"", "-audit", ".more"} {
			_, err := inner.CreateTable(t.Context(), keyOnly(table+suffix))
			require.NoError(t, err)
		}
		assert.Contains(t, tables(t, inner), table+"-audit")
	})
	left := tables(t, client)
	assert.Contains(t, left, other)
	assert.False(t, slices.ContainsFunc(left, func(name string) bool { return len(name) >= len(table) && name[:len(table)] == table }))
}

// TestEachKind starts and closes every kind of database that is available on this machine.
func TestEachKind(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{KindDDBLocal, KindDynoxide, KindDocker} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			cfg, err := readSettings(func(name string) string {
				switch name {
				case "DYNAMODB_ENDPOINT":
					return ""
				case "LOCALDB_KIND":
					return kind
				}
				return os.Getenv(name)
			}, os.Stderr)
			require.NoError(t, err)
			server, err := start(t.Context(), cfg, candidates)
			if err != nil {
				require.ErrorIs(t, err, ErrUnavailable)
				t.Skip(err)
			}
			defer func() { assert.NoError(t, server.Close()) }()
			assert.Equal(t, kind, server.Kind())

			client := server.Client()
			_, err = client.CreateTable(t.Context(), keyOnly("first"))
			require.NoError(t, err)
			assert.Equal(t, []string{"first"}, tables(t, client), "it is empty at the start, and our own")

			require.NoError(t, server.Close())
			require.NoError(t, server.Close(), "a second time is fine")
			u, err := url.Parse(server.Endpoint())
			require.NoError(t, err)
			_, err = net.DialTimeout("tcp", u.Host, time.Second)
			require.Error(t, err, "nothing listens any more")
		})
	}
}

// Without turns DynamoDB Local answers some of these requests with an InternalFailure. It may refuse others, because a table
// is still being changed or too many are.
func TestTest_TablesCanBeChangedInParallel(t *testing.T) {
	t.Parallel()
	client, table := Test(t, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	answered := func(err error) {
		var api smithy.APIError
		if err != nil && (!errors.As(err, &api) || api.ErrorCode() == "InternalFailure") {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for _, suffix := range strings.Fields("a b c d e f g h i j k l m n o p") {
		all.Go(func() {
			in := keyOnly(table + "-" + suffix)
			_, err := client.CreateTable(t.Context(), in)
			answered(err)
			_, err = client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
				TableName: in.TableName, AttributeDefinitions: in.AttributeDefinitions,
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String("gsi1"), KeySchema: in.KeySchema, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
				}}},
			})
			answered(err)
			_, err = client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: in.TableName})
			answered(err)
			_, err = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: in.TableName})
			answered(err)
		})
	}
	all.Wait()
}

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
