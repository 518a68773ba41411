package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// One item with every optional attribute and one without any, in each of the four tables.
func TestGolden_TheTablesHoldExactlyWhatTheSchemaSays(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	ctx := t.Context()
	raw, _ := l.newAPIKey("Production devices - greenhouse cluster")
	l.clock.Move(time.Minute)
	_, unused := l.newAPIKey("")
	_, err := l.revokeKey(ctx, unused.KeyID)
	require.NoError(t, err)
	_, touched, err := l.authenticate(ctx, raw)
	require.NoError(t, err)
	require.True(t, touched)

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

	golden(t, "devices", l.raw(l.cfg.Devices))
	golden(t, "device_readings", l.raw(l.cfg.Readings))
	golden(t, "processed_batches", l.raw(l.cfg.Batches))
	golden(t, "api_keys", l.raw(l.cfg.Keys))
}
