package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// epoch is where the clocks of tests begin: DynamoDB Local removes what has expired in real time, so it is far ahead.
var epoch = time.Date(2099, 6, 1, 10, 0, 0, 123456789, time.UTC)

const (
	macA  MAC   = "AA:BB:CC:DD:EE:FF"
	macB  MAC   = "AA:BB:CC:DD:EE:00"
	boot1 UUID4 = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	boot2 UUID4 = "7c9e6679-7425-40de-944b-e07fc1f90ae8"
)

const apiToken = "api-token-of-the-tests"

// lab is a service of a test's own, with a clock that stands still, on tables of its own.
type lab struct {
	*service
	*client  // of its API
	t        *testing.T
	cfg      config
	raw      *dynamodb.Client
	wire     *faults.Transport
	attempts int // of a request; fewer than usual, so that a failure for ever takes no time
	logs     *journal
	api      *httptest.Server
	clock    *dbtest.Clock
	ids      atomic.Int64
	written  atomic.Int64 // tenths of write units
}

// journal collects what is logged.
type journal struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.Write(p)
}

func (j *journal) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.b.String()
}

func testConfig(prefix string) config {
	return config{
		Devices: prefix + "-devices", Readings: prefix + "-device_readings", Batches: prefix + "-processed_batches",
		Retention: 90 * day, Token: secret{apiToken},
	}
}

// newLab opens a service.
func newLab(t *testing.T) *lab {
	t.Helper()
	wire := faults.New(nil)
	client, prefix := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = wire })
	l := labOf(t, testConfig(prefix), epoch)
	l.raw, l.wire, l.attempts = client, wire, 4
	l.service = newService(l.open(client), l.cfg)
	require.NoError(t, tables.Create(t.Context(), l.db))
	l.wire.Reset()
	l.api = httptest.NewServer(l.routes())
	t.Cleanup(l.api.Close)
	l.client = newAPIClient(l.api.URL)
	return l
}

// labOf returns a lab without a service, with a clock that begins at a time.
func labOf(t *testing.T, cfg config, at time.Time) *lab {
	t.Helper()
	l := &lab{t: t, cfg: cfg, logs: &journal{}, clock: &dbtest.Clock{}}
	l.clock.Set(at, 0)
	return l
}

// newAPIClient returns a client with the token.
func newAPIClient(base string) *client { return &client{base, apiToken} }

// planner is a backend without a database: plans can be printed. Its clock is that of the schema's examples.
func planner(t *testing.T) *backend {
	t.Helper()
	return labOf(t, testConfig("x"), time.Date(2024, 1, 15, 14, 22, 0, 0, time.UTC)).open(nil)
}

// open opens a backend with the lab's clock and ids on any client.
func (l *lab) open(c entity.Client) *backend {
	l.t.Helper()
	b, err := open(c, l.cfg, slog.New(slog.NewJSONHandler(l.logs, nil)), options{now: l.clock.Now, newUUID: l.uuid, tracer: dbtest.Observer(l.observe), attempts: l.attempts})
	require.NoError(l.t, err)
	return b
}

func (l *lab) uuid() UUID4 {
	return UUID4(fmt.Sprintf("00000000-0000-4000-8000-%012x", l.ids.Add(1)))
}

// observe adds up the write units of transactions.
func (l *lab) observe(r entity.Report) {
	if r.Verb == "Transact" {
		l.written.Add(int64(10 * r.WriteUnits))
	}
}

// stored returns all items of a table, sorted by their text.
func (l *lab) stored(table string) []item {
	l.t.Helper()
	all, err := readRaw(context.Background(), l.raw, table)
	require.NoError(l.t, err)
	slices.SortFunc(all, func(a, b item) int { return strings.Compare(text(a), text(b)) })
	return all
}

// texts are all items of a table.
func (l *lab) texts(table string) []string {
	all := []string{}
	for _, it := range l.stored(table) {
		all = append(all, text(it))
	}
	return all
}

func text(it item) string {
	text, _ := json.Marshal(typed(it)) // maps, lists and texts can always be encoded
	return string(text)
}

// typed returns an item with the types of its values, as DynamoDB's own JSON has them.
func typed(it item) map[string]any {
	all := map[string]any{}
	for name, av := range it {
		all[name] = typedValue(av)
	}
	return all
}

func typedValue(av types.AttributeValue) any {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return map[string]any{"S": v.Value}
	case *types.AttributeValueMemberN:
		return map[string]any{"N": v.Value}
	case *types.AttributeValueMemberBOOL:
		return map[string]any{"BOOL": v.Value}
	case *types.AttributeValueMemberM:
		return map[string]any{"M": typed(v.Value)}
	case *types.AttributeValueMemberL:
		list := make([]any, len(v.Value))
		for i, e := range v.Value {
			list[i] = typedValue(e)
		}
		return map[string]any{"L": list}
	}
	return fmt.Sprintf("%T", av) // of no type that the schema has
}

// boots is the registration of a device.
func boots(id MAC, boot UUID4) registration {
	return registration{
		HardwareID: id, BootID: boot, FirmwareVersion: "1.0.16",
		Capabilities: Capabilities{[]string{"bme280", "ds18b20", "soil_moisture"}, map[string]bool{"tft_display": true, "offline_buffering": true}},
	}
}

// registered registers a device.
func (l *lab) registered(id MAC) Device { return l.registers(boots(id, boot1)) }

func (l *lab) registers(r registration) Device {
	l.t.Helper()
	d, _, err := l.register(l.t.Context(), r)
	require.NoError(l.t, err)
	return d
}

// ingested stores readings.
func (l *lab) ingested(id MAC, all []submission) receipt {
	l.t.Helper()
	got, err := l.ingest(l.t.Context(), id, all)
	require.NoError(l.t, err)
	return got
}

// firstMS is the time of the first reading of the tests.
const firstMS Millis = 4084000000000 // 2099-06-01T12:26:40Z

// sample is a reading of a device's nth window.
func sample(id MAC, n int) submission {
	end := firstMS + Millis(n)*300_000
	temperature := 22.5
	return submission{
		BatchID:     BatchID(fmt.Sprintf("%s_%s_%d_%d", id, boot1, end-300_000, end)),
		TimestampMS: end, BootID: boot1, FirmwareVersion: "1.0.16",
		Sensors: &Sensors{BME280TempC: &temperature}, SensorStatus: &SensorStatus{BME280: ptr(Health("ok"))},
	}
}

func samples(id MAC, n int) (all []submission) {
	for i := range n {
		all = append(all, sample(id, i))
	}
	return all
}

func ptr[T any](v T) *T { return &v }

func second[T any](_ T, err error) error { return err }

// succeeds makes a call that must succeed, and returns its status.
func (c *client) succeeds(t *testing.T, method, path string, body, into any) int {
	t.Helper()
	status, err := c.call(t.Context(), method, path, body, into)
	require.NoError(t, err)
	return status
}

// refused makes a call that must be answered with a status and code, and returns the answer.
func (c *client) refused(t *testing.T, method, path string, body any, status int, code string) *apiError {
	t.Helper()
	_, err := c.call(t.Context(), method, path, body, nil)
	var refused *apiError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, fmt.Sprint(status, " ", code), fmt.Sprint(refused.Status, " ", refused.Code), refused.Message)
	return refused
}

// fields are those that a refusal names.
func fields(t *testing.T, err error) (all []string) {
	t.Helper()
	var bad *invalid
	require.ErrorAs(t, err, &bad)
	for _, v := range bad.violations {
		all = append(all, v.Field)
	}
	return all
}
