package localdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

// must returns v, and panics if the call that gave it failed.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

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
	assert.True(t, filepath.IsAbs(cfg.cache))
	read := []any{cfg.endpoint, cfg.kind, filepath.Base(cfg.cache), cfg.noFetch, cfg.allowAWS, cfg.javaHome}
	assert.Equal(t, []any{"http://localhost:1", "docker", "here", true, true, "/java"}, read)

	cfg = must(readSettings(env{"LOCALDB_NO_FETCH": "0"}.get, io.Discard))
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
		page := must(pages.NextPage(t.Context()))
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
	got := must(client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item}))
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
			temporary := t.TempDir()
			if kind == KindDDBLocal {
				cfg.launch = func(in string, argv ...string) (*child, error) {
					return launch(in, slices.Insert(argv, 1, "-Djava.io.tmpdir="+temporary)...)
				}
			}
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
			left := must(os.ReadDir(temporary))
			assert.Empty(t, left, "DynamoDB Local would copy the library of SQLite there, and leave it when it is killed")

			require.NoError(t, server.Close())
			require.NoError(t, server.Close(), "a second time is fine")
			u := must(url.Parse(server.Endpoint()))
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

func TestStart_TakesTheFirstAvailableKind(t *testing.T) {
	t.Parallel()
	var tried []string
	with := func(kind string, err error) candidate {
		return candidate{kind, func(context.Context, settings) (*Server, error) {
			tried = append(tried, kind)
			return &Server{kind: kind}, err
		}}
	}
	list := []candidate{with("one", errors.New("no luck")), with("two", nil), with("three", nil)}

	var said bytes.Buffer
	server := must(start(t.Context(), settings{notify: &said}, list))
	assert.Equal(t, "two", server.Kind())
	assert.Equal(t, "localdb: using two, for want of a better one:\n  - one: no luck\n", said.String())
	assert.Equal(t, []string{"one", "two"}, tried)

	tried = nil
	server = must(start(t.Context(), settings{kind: "three"}, list))
	assert.Equal(t, "three", server.Kind())
	assert.Equal(t, []string{"three"}, tried)

	_, err := start(t.Context(), settings{kind: "four"}, list)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, `LOCALDB_KIND="four": want one of one, two, three`)
}

func TestStart_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	list := []candidate{
		{"one", func(context.Context, settings) (*Server, error) { cancel(); return nil, ctx.Err() }},
		{"two", func(context.Context, settings) (*Server, error) { panic("not to be tried") }},
	}
	_, err := start(ctx, settings{}, list)
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, ErrUnavailable, "that a start was interrupted says nothing about the set-up")
}

func TestCheckEndpoint(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"http://127.0.0.1:8000", "http://localhost:8000/", "https://dynamodb.example.com", "http://[::1]:8000", "http://notamazonaws.com",
		"http://amazonaws.com.example.org",
	} {
		assert.NoError(t, checkEndpoint(good, false), good)
	}
	for _, bad := range []string{"", "localhost:8000", "127.0.0.1:8000", "ftp://localhost", "http://", "http://a b"} {
		assert.Error(t, checkEndpoint(bad, true), bad)
	}
	for _, aws := range []string{
		"https://dynamodb.us-east-1.amazonaws.com", "https://dynamodb.cn-north-1.amazonaws.com.cn", "https://DynamoDB.eu-west-1.AmazonAWS.com.:443/",
		"https://dynamodb.us-east-1.api.aws", "http://amazonaws.com",
	} {
		assert.ErrorContains(t, checkEndpoint(aws, false), "LOCALDB_ALLOW_AWS=1", aws)
		assert.NoError(t, checkEndpoint(aws, true), aws)
	}
}

// answering returns the URL of a server that gives the same answer to every request.
func answering(t *testing.T, status int, body string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestAttach(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"open":             answering(t, http.StatusOK, `{"TableNames":[]}`),
		"with credentials": answering(t, http.StatusBadRequest, `{"__type":"x#UnrecognizedClientException"}`),
	} {
		server := must(start(t.Context(), settings{endpoint: url + "/", kind: KindDocker}, nil))
		assert.Equal(t, KindEndpoint, server.Kind(), name)
		assert.Equal(t, url, server.Endpoint())
		require.NoError(t, server.Close())
		require.NoError(t, server.Close())
	}
}

func TestAttach_Fails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
	defer cancel()
	_, err := start(ctx, settings{endpoint: answering(t, http.StatusOK, "<html>welcome</html>")}, candidates)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "DYNAMODB_ENDPOINT")
	require.ErrorContains(t, err, "what answers is not DynamoDB")

	_, err = start(ctx, settings{endpoint: "https://dynamodb.us-east-1.amazonaws.com"}, candidates)
	require.ErrorIs(t, err, ErrUnavailable)
	require.ErrorContains(t, err, "LOCALDB_ALLOW_AWS=1")
}

func TestJavaVersion(t *testing.T) {
	t.Parallel()
	for output, want := range map[string]int{
		"openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment":                 17,
		"java version \"1.8.0_392\"":                                                          8,
		"openjdk version \"21-ea\" 2023-09-19":                                                21,
		"openjdk version \"25\" 2025-09-16":                                                   25,
		"Picked up JAVA_TOOL_OPTIONS: -Dx=\"9\"\nopenjdk version \"17.0.1\" 2021-10-19\nmore": 17,
	} {
		version, ok := javaVersion(output)
		assert.True(t, ok, output)
		assert.Equal(t, want, version, output)
	}
	_, ok := javaVersion("The operation couldn't be completed. Unable to locate a Java Runtime.")
	assert.False(t, ok)
}

// fakeTB records what Test does to a test.
type fakeTB struct {
	name     string
	said     string
	cleanups []func()
}

func (f *fakeTB) Helper()                     {}
func (f *fakeTB) Name() string                { return f.name }
func (f *fakeTB) Cleanup(c func())            { f.cleanups = append(f.cleanups, c) }
func (f *fakeTB) Skipf(text string, a ...any) { f.said += "skip: " + fmt.Sprintf(text, a...); panic(f) }
func (f *fakeTB) Fatalf(text string, a ...any) {
	f.said += "fatal: " + fmt.Sprintf(text, a...)
	panic(f)
}

var _ TB = (*testing.T)(nil)

func TestTest_WithoutADatabase(t *testing.T) {
	t.Parallel()
	none := func() (*Server, error) { return nil, errors.New("no 100% luck") }

	skipped := &fakeTB{}
	assert.PanicsWithValue(t, skipped, func() { testOn(skipped, none, false, nil) })
	assert.Equal(t, "skip: no 100% luck", skipped.said)

	failed := &fakeTB{}
	assert.PanicsWithValue(t, failed, func() { testOn(failed, none, true, nil) })
	assert.Equal(t, "fatal: no 100% luck", failed.said)
}

func TestSkipOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind     string
		required bool
		want     string
	}{
		{KindDDBLocal, false, ""},
		{KindEndpoint, true, ""},
		{KindDynoxide, false, "skip: the database is dynoxide: 50% of it"},
		{KindDynoxide, true, "fatal: the database is dynoxide: 50% of it"},
	} {
		fake := &fakeTB{}
		call := func() {
			skipOn(fake, func() (*Server, error) { return &Server{kind: test.kind}, nil }, test.required, KindDynoxide, "50% of it")
		}
		if test.want == "" {
			call()
		} else {
			assert.PanicsWithValue(t, fake, call)
		}
		assert.Equal(t, test.want, fake.said)
	}
}

func TestTableName(t *testing.T) {
	t.Parallel()
	valid := regexp.MustCompile(`^[a-zA-Z0-9_.-]{3,175}$`)
	for _, test := range []string{"", "TestA", "TestA/with_spaces#01", "TestÄ/…/x", strings.Repeat("long/", 100)} {
		name := tableName(test)
		assert.Regexp(t, valid, name)
		assert.NotEqual(t, name, tableName(test))
	}
	assert.True(t, strings.HasPrefix(tableName("TestA/b c"), "TestA_b_c-"))
}
