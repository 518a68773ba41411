package main

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
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
	for _, table := range tables.Of(l.db).Tables {
		ttl[table.Logical[0]] = table.TTL
		if table.Stream != "" {
			streams[table.Logical[0]] = table.Stream
		}
		require.Equal(t, types.BillingModePayPerRequest, table.Billing)
	}
	require.Equal(t, map[string]string{"devices": "", "device_readings": "expiration_time", "processed_batches": "expiration_time"}, ttl)
	require.Equal(t, map[string]types.StreamViewType{"device_readings": types.StreamViewTypeNewImage}, streams)
	require.Contains(t, tables.Of(l.db).String(), "hardware_id (S) HASH\n  gsi      gsi1: gsi1pk (S) HASH, gsi1sk (S) RANGE; ALL\n")
	require.NoError(t, tables.Verify(t.Context(), l.db), "the tables are what the declarations say")
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
	for _, f := range []float64{0, 1e-130, math.Nextafter(1e126, 0)} {
		require.NoError(t, rules.Struct(Sensors{PressureHPA: &f}))
	}
}

// What the three tables hold on disk, fact by fact: a change that items do not survive fails here.
func TestTheSchemaIsLocked(t *testing.T) {
	t.Parallel()
	schemalock.Check(t, planner(t).db, "testdata/iotbackend.lock")
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
