package docs_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeseries"
)

// storedInterop makes the examples of a table that is shared with effect-dynamodb.
func storedInterop(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	shared := func(table string) entity.Config {
		cfg := config(table)
		cfg.Interop, cfg.TimePrecision, cfg.NewID = true, time.Millisecond, nil
		cfg.Namespace = entity.Namespace{Name: "timeseries-demo", Version: 1}
		return cfg
	}
	db := entity.Must(entity.Open(client, shared(table)))
	readings := entity.Must(timeseries.New[interopTelemetry](db))
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "_ttl")

	ev := interopTelemetry{Channel: "C-1", DeviceID: "D-7", Timestamp: event, Location: ptr("dock 4")}
	result, err := readings.Append(t.Context(), ev)
	require.NoError(t, err)
	require.True(t, result.Applied)
	_, err = readings.Update(t.Context(), ev, entity.Set(&entity.Fields[interopTelemetry]().AccountID, "Acct-1"))
	require.NoError(t, err)
	made["interop-series"] = dump(t, client, table, "pk", "sk")

	paper := entity.Must(entity.Open(nil, shared("timeseries")))
	printed := entity.Must(timeseries.New[interopTelemetry](paper))
	made["interop-plan"] = printed.Op().Append(ev).String()
}
