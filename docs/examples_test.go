package docs_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// noon is the clock of all examples, event the time of their events.
var (
	noon  = time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC)
	event = time.Date(2026, 4, 22, 11, 59, 30, 0, time.UTC)
)

func ptr[V any](v V) *V { return &v }

// run makes the ids of each run different: a database remembers them as tokens for ten minutes. The examples are shown
// without it.
var run = "-" + rand.Text()[:10]

// config has a fixed clock, and write ids that count.
func config(table string) entity.Config {
	n := 0
	return entity.Config{
		Table: table,
		Clock: func() time.Time { return noon },
		NewID: func() string { n++; return fmt.Sprintf("write-%d%s", n, run) },
	}
}

// examples returns every example that a document shows, by name.
func examples(t *testing.T) map[string]string {
	t.Helper()
	made := map[string]string{"keys": keyTexts(t)}
	planExamples(t, made)
	itemPlans(t, made)
	storedSeries(t, made)
	storedShards(t, made)
	storedLease(t, made)
	plannedInterop(t, made)
	storedKept(t, made)
	storedTimeline(t, made)
	tableExamples(t, made)
	for name, text := range made {
		made[name] = strings.ReplaceAll(text, run, "")
	}
	return made
}

// keyTexts lists how a value of each type is written in a key.
func keyTexts(t *testing.T) string {
	t.Helper()
	whole := time.Date(2026, 4, 22, 12, 0, 0, 0, time.FixedZone("", 2*3600))
	lines := []string{
		keyText(t, "{v}", "its bytes up to 0x25", part[string]{V: "a#b $5 100%\n"}),
		keyText(t, "id_{v}#end", "x", literalPart{V: "x"}),
		keyText(t, "{v}", "int64 42", part[int64]{V: 42}),
		keyText(t, "{v}", "time, time=ns", part[time.Time]{V: noon}),
		keyText(t, "{v}", "time=unixms", unixMilliPart{V: whole}),
		keyText(t, "pk=order-{v}-x", "a#b", verbatimPart{V: "a#b"}),
	}
	return strings.Join(lines, "\n")
}

var printedKey = regexp.MustCompile(`pk=("(?:[^"\\]|\\.)*")`)

// keyText composes the partition key of v, a value of an entity named Part.
func keyText[T any](t *testing.T, template, what string, v T) string {
	t.Helper()
	db := entity.Must(entity.Open(nil, config("app")))
	store := entity.Must(entity.New[T](db))
	plan := store.Op().CheckExists(v).String()
	found := printedKey.FindStringSubmatch(plan)
	require.NotNil(t, found, plan)
	text, err := strconv.Unquote(found[1])
	require.NoError(t, err)
	return fmt.Sprintf("%-15s %-24s %s", template, what, text)
}

// planExamples prints plans and queries; nothing is sent.
func planExamples(t *testing.T, made map[string]string) {
	t.Helper()
	db := entity.Must(entity.Open(nil, config("app")))
	readings := entity.Must(timeseries.New[telemetry](db))
	made["plan-readme"] = plannedCreate(t)
	made["plan-append"] = readings.Op().Append(telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: event, Location: ptr("dock 4")}).String()
}

// plannedCreate prints the plan of a create, with the README's declaration.
func plannedCreate(t *testing.T) string {
	t.Helper()
	db := entity.Must(entity.Open(nil, config("app")))
	customers := entity.Must(entity.New[readmeCustomer](db))
	return customers.Op().Create(readmeCustomer{ID: "c-1", Email: "ada@example.org"}).String()
}

// keepExpired turns time to live off: for the database's clock, the events of the examples have expired.
func keepExpired(t *testing.T, client *dynamodb.Client, table, attribute string) {
	t.Helper()
	enabled := false
	_, err := client.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	})
	require.NoError(t, err)
}

// storedSeries makes the examples of time series.
func storedSeries(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, config(table)))
	readings := entity.Must(timeseries.New[telemetry](db))
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "_ttl")

	_, _, err := readings.Upsert(t.Context(), telemetry{Channel: "c-1", DeviceID: "d-7", AccountID: "acct-1"})
	require.NoError(t, err)
	ev := telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: event, Location: ptr("dock 4")}
	result, err := readings.Append(t.Context(), ev)
	require.NoError(t, err)
	require.True(t, result.Applied)
}

// job is in an index with shards.
type job struct {
	_ entity.Key `name:"Job" pk:"$#{jobId}" sk:"$"`
	_ entity.GSI `name:"byQueue" index:"gsi1" pk:"$#{queue}" shards:"4"`

	JobID string `dynamodbav:"jobId"`
	Queue string `dynamodbav:"queue"`
}

// storedShards makes the example of indexes with shards: the keys of items.
func storedShards(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, config(table)))
	jobs := entity.Must(entity.New[job](db))
	require.NoError(t, tables.Create(t.Context(), db))
	for _, id := range []string{"j-1", "j-2"} {
		_, err := jobs.Create(t.Context(), job{JobID: id, Queue: "mail"})
		require.NoError(t, err)
	}
	made["index-shards"] = strings.Join(slices.DeleteFunc(strings.Split(dump(t, client, table, "pk", "sk"), "\n"), func(line string) bool {
		return !strings.Contains(line, "pk ")
	}), "\n")
}

// What a reader of a shard stores when it is stopped has the attributes that streams.md names.
func TestReader_IsStoredAsDocumented(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	cfg := config(table)
	cfg.NewID = rand.Text
	db := entity.Must(entity.Open(client, cfg))
	employees := entity.Must(entity.New[employee](db))
	o := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	ctx, stop := context.WithCancel(t.Context())
	r := stream.NewReader(streams, db, stream.ReaderOptions{Name: "search"})
	require.NoError(t, tables.Create(ctx, db))
	_, err := dbtest.OpenStream(ctx, client, table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)
	_, err = employees.Create(ctx, employee{EmployeeID: "e-1", TenantID: "t-1"})
	require.NoError(t, err)
	require.NoError(t, r.Run(ctx, stream.On(employees, func(context.Context, stream.Change[employee]) error { stop(); return nil })))
	require.NoError(t, employees.Delete(t.Context(), employee{EmployeeID: "e-1"}))
	text := dump(t, client, table, "pk", "sk")
	for _, x := range [][2]string{{`arn:\S+?/stream/[^\s#]+`, "<stream>"}, {`shardId-\S+`, "<shard>"}, {`(_w +S +)\S+`, "${1}write-1"}, {`(sequence +S +)\S+`, "${1}<sequence>"}, {`(source +S +)\S+`, "${1}<table>"}} {
		text = regexp.MustCompile(x[0]).ReplaceAllString(text, x[1])
	}
	require.Contains(t, text, "$app#v1#streamreader#<stream>#<shard>\n")
	namesAttributes(t, "streams.md", text)
}

// storedLease makes the example of a lease that is held for the second time.
func storedLease(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, config(table)))
	leases := entity.Must(lease.New(db, lease.Options{Holder: "host-1/4711"}))
	require.NoError(t, tables.Create(t.Context(), db))
	held, err := leases.Acquire(t.Context(), "nightly")
	require.NoError(t, err)
	require.NoError(t, held.Release(t.Context()))
	held, err = leases.Acquire(t.Context(), "nightly")
	require.NoError(t, err)
	made["plan-lease"] = steady(held.Op().String(), table)
	made["lease-held"] = dump(t, client, table, "pk", "sk")
}
