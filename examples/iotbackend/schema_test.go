package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/schemalock"
	"github.com/stretchr/testify/require"
)

func TestTableNamesComeFromTheEnvironment(t *testing.T) {
	t.Parallel()
	env := environment{envToken: "t"}
	cfg, err := readConfig(env.get)
	require.NoError(t, err)
	require.Equal(t, []string{"devices", "device_readings", "processed_batches"}, []string{cfg.Devices, cfg.Readings, cfg.Batches})
	env[envDevices], env[envReadings], env[envBatches] = "d", "r", "b"
	cfg, err = readConfig(env.get)
	require.NoError(t, err)
	require.Equal(t, []string{"d", "r", "b"}, []string{cfg.Devices, cfg.Readings, cfg.Batches})
	for _, days := range []string{"0", "-1", "1.5", "36501", "9223372036854775807"} {
		_, err = readConfig(environment{envRetention: days}.get)
		require.ErrorContains(t, err, envRetention, days)
		require.ErrorContains(t, err, envToken, "all that is wrong")
	}
}

// environment has the variables of a program.
type environment map[string]string

func (e environment) get(name string) string { return e[name] }

func TestTablesAreOnDemandAndTwoOfThemExpire(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ttl, streams := map[string]string{}, map[string]types.StreamViewType{}
	for _, table := range l.db.Spec().Tables {
		ttl[table.Logical[0]] = table.TTL
		if table.Stream != "" {
			streams[table.Logical[0]] = table.Stream
		}
		require.Equal(t, types.BillingModePayPerRequest, table.Billing)
	}
	require.Equal(t, map[string]string{"devices": "", "device_readings": "expiration_time", "processed_batches": "expiration_time"}, ttl)
	require.Equal(t, map[string]types.StreamViewType{"device_readings": types.StreamViewTypeNewImage}, streams)
	require.Equal(t, "hardware_id (S) HASH", l.db.Spec().Tables[0].Key.String())
	require.Equal(t, "gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL", l.db.Spec().Tables[0].GSIs[0].String())
	require.NoError(t, l.db.Verify(t.Context()), "the tables are what the declarations say")
}

func TestTimesAreUTCInWholeSeconds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.clock.Set(time.Date(2099, 6, 1, 12, 30, 45, 999_999_999, time.FixedZone("CEST", 3600)), 0)
	l.registered(macA)
	l.ingested(macA, samples(macA, 1))
	const want = "2099-06-01T11:30:45Z"
	for table, names := range map[string][]string{
		l.cfg.Devices: {"first_registered_at", "last_seen_at", "gsi1sk"},
		l.cfg.Batches: {"received_at"},
	} {
		for _, name := range names {
			require.Equal(t, want, dbtest.Text(l.stored(table)[0][name]), name)
		}
	}
}

// What another program wrote in another spelling of RFC 3339 is read; what is written is always of one.
func TestReadingIsLenient(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	stored := l.stored(l.cfg.Devices)[0]
	stored["first_registered_at"] = dbtest.S("2024-01-15T10:30:00.123456789+00:00")
	_, err := l.raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.cfg.Devices, Item: stored})
	require.NoError(t, err)
	d, err := l.devices.Get(t.Context(), Device{HardwareID: macA})
	require.NoError(t, err)
	require.Equal(t, time.Date(2024, 1, 15, 10, 30, 0, 123456789, time.UTC), d.FirstRegisteredAt.UTC())
}

// lockedReading is the example of the schema.
func lockedReading() Reading {
	a, b, c, d, e := 22.5, 21.8, 45.2, 1013.25, 62.3
	return Reading{
		HardwareID: "AA:BB:CC:DD:EE:FF", TimestampMS: 1704067800000,
		BatchID: "AA:BB:CC:DD:EE:FF_7c9e6679-7425-40de-944b-e07fc1f90ae7_1704067200000_1704067800000",
		BootID:  "7c9e6679-7425-40de-944b-e07fc1f90ae7", FirmwareVersion: "1.0.16", FriendlyName: "greenhouse-sensor-01",
		Sensors: Sensors{&a, &b, &c, &d, &e}, SensorStatus: SensorStatus{ptr(Health("ok")), ptr(Health("ok")), ptr(Health("ok"))},
	}
}

// A count of milliseconds would keep the item for ever, so it is refused before it is sent.
func TestExpirationIsInSeconds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.wire.Reset()
	inMillis := lockedReading()
	inMillis.ExpirationTime = 1711843800000
	_, err := l.readings.Put(t.Context(), inMillis)
	var bad *entity.ValidationError
	require.ErrorAs(t, err, &bad)
	_, err = l.batches.Create(t.Context(), ProcessedBatch{BatchID: "b", HardwareID: macA, ExpirationTime: 100_000_000_000})
	require.ErrorAs(t, err, &bad)
	require.Empty(t, l.wire.Requests())
}

// nil would be stored as NULL.
func TestListsAndMapsAreNotNull(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, c := range []Capabilities{{}, {Sensors: []string{}}, {Features: map[string]bool{}}} {
		r := boots(macB, boot1)
		r.Capabilities = c
		_, _, err := l.register(t.Context(), r)
		require.Equal(t, []string{"capabilities"}, fields(t, err))
		var bad *entity.ValidationError
		_, err = l.devices.Put(t.Context(), Device{HardwareID: macB, ConfirmationID: boot1, LastBootID: boot1, FirmwareVersion: "1", Capabilities: c})
		require.ErrorAs(t, err, &bad)
	}
	require.Empty(t, l.wire.Requests())
}

// A number that DynamoDB does not have is found before anything of its request is written, and is the sender's mistake.
func TestNumbersAreStorable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.wire.Reset()
	for _, f := range []float64{math.NaN(), math.Inf(-1), 1e126, -1e-131, math.Nextafter(1e-130, 0), math.MaxFloat64} {
		batch := samples(macA, 2)
		batch[1].Sensors = &Sensors{PressureHPA: &f}
		require.Equal(t, []string{"readings[1].sensors"}, fields(t, second(l.ingest(t.Context(), macA, batch))), f)
	}
	require.Empty(t, l.wire.Requests())
	for i, f := range []float64{0, 1e-130, math.Nextafter(1e126, 0)} {
		s := sample(macA, i)
		s.Sensors = &Sensors{PressureHPA: &f}
		l.ingested(macA, []submission{s})
		got, err := l.latest(t.Context(), macA)
		require.NoError(t, err)
		require.InDelta(t, f, *got.Sensors.PressureHPA, 0)
	}
}

// lockedReadingV2 is Reading with one more optional attribute, as a later version of the schema may have it.
type lockedReadingV2 struct {
	_ entity.Key `name:"Reading" table:"device_readings" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`

	HardwareID  string `dynamodbav:"hardware_id"`
	TimestampMS int64  `dynamodbav:"timestamp_ms"`
	BatchID     string `dynamodbav:"batch_id"`
	Battery     *int   `dynamodbav:"battery_pct,omitempty"`
}

// What the three tables hold on disk, fact by fact: a change that items do not survive fails here.
func TestTheSchemaIsLocked(t *testing.T) {
	t.Parallel()
	schemalock.Check(t, planner(t).db, "testdata/iotbackend.lock")
}

func TestAttributesCanBeAddedLater(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.registered(macA)
	l.ingested(macA, samples(macA, 1))
	before := l.stored(l.cfg.Readings)[0]

	db, err := entity.Open(l.raw, entity.Config{Tables: l.cfg.tables()})
	require.NoError(t, err)
	later, err := entity.New[lockedReadingV2](db)
	require.NoError(t, err)
	f := entity.Fields[lockedReadingV2]()
	key := lockedReadingV2{HardwareID: string(macA), TimestampMS: int64(firstMS), BatchID: string(sample(macA, 0).BatchID)}
	old, err := later.Get(t.Context(), key)
	require.NoError(t, err)
	require.Nil(t, old.Battery)
	full := 100
	_, err = later.Update(t.Context(), key, entity.Set(&f.Battery, &full))
	require.NoError(t, err)

	// The earlier program still reads the item, and the update left everything else as it was.
	_, err = l.latest(t.Context(), macA)
	require.NoError(t, err)
	before["battery_pct"] = dbtest.N("100")
	require.Equal(t, []string{text(before)}, l.texts(l.cfg.Readings))
}

var update = flag.Bool("update", false, "rewrite the golden files; read the difference before you keep it")

// golden compares items with a file, attribute by attribute: nothing may be missing, and nothing more be there.
func golden(t *testing.T, name string, items []item) {
	t.Helper()
	all := []any{}
	for _, it := range items {
		all = append(all, typed(it))
	}
	got, err := json.MarshalIndent(all, "", "  ")
	require.NoError(t, err)
	file := filepath.Join("testdata", "golden", name+".json")
	if *update {
		require.NoError(t, os.WriteFile(file, append(got, '\n'), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(got)+"\n")
}

// One item with every optional attribute and one without any, in each of the three tables.
func TestGolden_TheTablesHoldExactlyWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.clock.Move(time.Minute)
	l.ids.Store(4) // as many ids as the program made when the files were written first
	named := boots(macA, boot1)
	named.FriendlyName = "greenhouse-sensor-01"
	l.registers(named)
	l.clock.Move(time.Hour)
	l.registers(boots(macA, boot2))
	bare := boots(macB, boot1)
	bare.Capabilities = Capabilities{[]string{}, map[string]bool{}}
	l.registers(bare)

	full := sample(macA, 0)
	a, b, c, d, e := 22.5, 21.8, 45.2, 1013.25, 62.3
	full.Sensors = &Sensors{&a, &b, &c, &d, &e}
	full.SensorStatus = &SensorStatus{ptr(Health("ok")), ptr(Health("ok")), ptr(Health("error"))}
	l.ingested(macA, []submission{full})
	empty := sample(macB, 1)
	empty.Sensors, empty.SensorStatus = &Sensors{}, &SensorStatus{}
	l.ingested(macB, []submission{empty})

	golden(t, "devices", l.stored(l.cfg.Devices))
	golden(t, "device_readings", l.stored(l.cfg.Readings))
	golden(t, "processed_batches", l.stored(l.cfg.Batches))
}
