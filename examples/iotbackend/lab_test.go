package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// epoch is where the clocks of tests begin: DynamoDB Local removes what has expired in real time, so it is far ahead.
var epoch = time.Date(2099, 6, 1, 10, 0, 0, 123456789, time.UTC)

const (
	macA  MAC   = "AA:BB:CC:DD:EE:FF"
	macB  MAC   = "AA:BB:CC:DD:EE:00"
	boot1 UUID4 = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
	boot2 UUID4 = "7c9e6679-7425-40de-944b-e07fc1f90ae8"
)

const adminToken = "admin-token-of-the-tests"

// lab is a service of a test's own, with a clock that stands still, on tables of its own.
type lab struct {
	*service
	t        *testing.T
	cfg      config
	client   *dynamodb.Client
	wire     *faults.Transport
	attempts int // of a request; fewer than usual, so that a failure for ever takes no time
	logs     *journal
	api      *httptest.Server

	clock *dbtest.Clock
	ids   atomic.Int64

	written atomic.Int64          // write units, in hundredths
	seen    func(r entity.Report) // more that a test wants to know of each call
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
		Devices: prefix + "-devices", Readings: prefix + "-device_readings", Batches: prefix + "-processed_batches", Keys: prefix + "-api_keys",
		Retention: 90 * day, Pepper: Pepper{"pepper-of-the-tests"}, AdminToken: secret{adminToken},
	}
}

// newLab opens a service; configure changes its configuration.
func newLab(t *testing.T, configure ...func(*config)) *lab {
	t.Helper()
	wire := faults.New(nil)
	client, prefix := localdb.Test(t, func(o *dynamodb.Options) { o.HTTPClient = wire })
	l := labOf(t, testConfig(prefix), epoch)
	l.client, l.wire, l.attempts = client, wire, 4
	for _, f := range configure {
		f(&l.cfg)
	}
	l.service = newService(l.open(client), l.cfg)
	require.NoError(t, l.db.CreateTables(t.Context()))
	l.wire.Reset()
	l.api = httptest.NewServer(l.routes())
	t.Cleanup(l.api.Close)
	return l
}

// labOf returns a lab without a service, with a clock that begins at a time.
func labOf(t *testing.T, cfg config, at time.Time) *lab {
	t.Helper()
	l := &lab{t: t, cfg: cfg, logs: &journal{}, clock: &dbtest.Clock{}}
	l.clock.Set(at, 0)
	return l
}

// planner is a backend without a database: plans can be printed. Its clock is that of the schema's examples.
func planner(t *testing.T) *backend {
	t.Helper()
	return labOf(t, testConfig("x"), time.Date(2024, 1, 15, 14, 22, 0, 0, time.UTC)).open(nil)
}

// open opens a backend with the lab's clock and ids on any client.
func (l *lab) open(c entity.Client) *backend {
	l.t.Helper()
	b, err := open(c, l.cfg, slog.New(slog.NewJSONHandler(l.logs, nil)), options{now: l.clock.Now, newUUID: l.uuid, newKey: l.rawKey, observe: l.observe, attempts: l.attempts})
	require.NoError(l.t, err)
	return b
}

func (l *lab) uuid() UUID4 {
	return UUID4(fmt.Sprintf("00000000-0000-4000-8000-%012x", l.ids.Add(1)))
}
func (l *lab) rawKey() RawKey { return RawKey{fmt.Sprintf("%064x", 0xabc000+l.ids.Add(1))} }

func (l *lab) observe(_ context.Context, r entity.Report) {
	l.written.Add(int64(r.WriteUnits * 100))
	if l.seen != nil {
		l.seen(r)
	}
}

// raw returns all items of a table.
func (l *lab) raw(table string) []item {
	l.t.Helper()
	all, err := readRaw(context.Background(), l.client, table)
	require.NoError(l.t, err)
	return all
}

// texts are all items of a table, in DynamoDB's own JSON.
func (l *lab) texts(table string) []string {
	l.t.Helper()
	all := []string{}
	for _, it := range l.raw(table) {
		all = append(all, text(it))
	}
	return all
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

// newAPIKey creates an API key.
func (l *lab) newAPIKey(d Description) (RawKey, APIKey) {
	l.t.Helper()
	raw, key, err := l.createKey(l.t.Context(), d)
	require.NoError(l.t, err)
	return raw, key
}

// disturb gives a fault to every request of an operation.
func (l *lab) disturb(f faults.Fault, operation string) {
	l.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			return f
		}
		return faults.None
	})
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

// as is a client of the lab's API that sends each request once.
func (l *lab) as(token string) *client {
	return &client{base: l.api.URL, token: token, http: l.api.Client(), attempts: 1}
}

func (l *lab) admin() *client { return l.as(adminToken) }

// device is a client with an API key of its own.
func (l *lab) device() *client {
	l.t.Helper()
	raw, _ := l.newAPIKey("")
	return l.as(raw.text)
}

// readingsOf is the path of a device's readings.
func readingsOf(id MAC) string { return "/v1/devices/" + string(id) + "/readings" }

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
	return refusedBy(t, err, status, code)
}

// refusedBy checks that a call was answered with a status and code, and returns the answer.
func refusedBy(t *testing.T, err error, status int, code string) *apiError {
	t.Helper()
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

// together runs f n times at the same time and returns the errors.
func together(n int, f func(i int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	wg.Wait()
	return errors.Join(errs...)
}
