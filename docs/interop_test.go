package docs_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// plannedInterop prints an append to a table that is shared with effect-dynamodb.
func plannedInterop(t *testing.T, made map[string]string) {
	t.Helper()
	cfg := config("timeseries")
	cfg.Interop, cfg.TimePrecision, cfg.NewID = true, time.Millisecond, nil
	cfg.Namespace = entity.Namespace{Name: "timeseries-demo", Version: 1}
	readings := entity.Must(timeseries.New[interopTelemetry](entity.Must(entity.Open(nil, cfg))))
	ev := interopTelemetry{Channel: "C-1", DeviceID: "D-7", Timestamp: event, Location: ptr("dock 4")}
	made["interop-plan"] = readings.Op().Append(ev).String()
}
