package timeseries_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// lag makes a stored event newer than the current item, which no append does: the event was written by hand, or current
// was restored from a backup.
func lag(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	old := w.Item(devicePK, deviceSK)
	w.seed(tick(5, 5))
	w.restore(devicePK, deviceSK, old)
	require.Equal(t, at(0), w.current(device).Timestamp)
	w.Wire.Reset()
	return w
}

func TestLagging_Outcomes(t *testing.T) {
	t.Parallel()
	const duplicate, collision = timeseries.Duplicate, timeseries.Collision
	for name, c := range map[string]struct {
		events  []Telemetry // appended by Append, several by AppendAll
		without bool        // there is no current item
		opts    []timeseries.AppendOption
		reasons []timeseries.Reason
		current int // minute of the current item afterwards; -1: no item
		history int
	}{
		"duplicate":                        {events: []Telemetry{tick(5, 5)}, reasons: []timeseries.Reason{duplicate}, current: 5, history: 2},
		"duplicate without a current item": {events: []Telemetry{tick(5, 5)}, without: true, reasons: []timeseries.Reason{duplicate}, current: 5, history: 2},
		"duplicate, condition fails": {
			events: []Telemetry{tick(5, 5)}, opts: []timeseries.AppendOption{entity.If(entity.Eq(&entity.Fields[Telemetry]().GPIO, ptr(9)))},
			reasons: []timeseries.Reason{duplicate}, current: 0, history: 2,
		},
		"collision":                        {events: []Telemetry{tick(5, 6)}, reasons: []timeseries.Reason{collision}, current: 0, history: 2},
		"collision without a current item": {events: []Telemetry{tick(5, 6)}, without: true, reasons: []timeseries.Reason{collision}, current: -1, history: 2},
		"several": {
			events:  []Telemetry{tick(6, 6), tick(5, 5), tick(3, 3), tick(0, 1)},
			reasons: []timeseries.Reason{"", duplicate, "", duplicate}, current: 6, history: 4,
		},
		"equal to an event, after one that collided with it": {
			events:  []Telemetry{tick(5, 6), tick(5, 5), tick(5, 5), tick(5, 7)},
			reasons: []timeseries.Reason{collision, duplicate, duplicate, collision}, current: 5, history: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			send := map[string]func(*lab[Telemetry]) []timeseries.Result[Telemetry]{
				"AppendAll": func(w *lab[Telemetry]) []timeseries.Result[Telemetry] { return w.appendAll(c.events, c.opts...) },
			}
			if len(c.events) == 1 {
				send["Append"] = func(w *lab[Telemetry]) []timeseries.Result[Telemetry] {
					return []timeseries.Result[Telemetry]{w.append(c.events[0], c.opts...)}
				}
			}
			for way, send := range send {
				w := lag(t)
				if c.without {
					w.RemoveItem(w.Key(devicePK, deviceSK))
				}
				before := w.partition(devicePK)
				rs := send(w)
				require.Equal(t, c.reasons, reasons(rs), way)
				require.Len(t, w.history(device), c.history, way)
				if c.current < 0 {
					require.Zero(t, currentOf(t, rs[0]), way)
				} else {
					require.Equal(t, at(c.current), w.current(device).Timestamp, way)
					require.Equal(t, at(c.current), currentOf(t, rs[0]).Timestamp, way)
				}
				if c.current <= 0 {
					require.Equal(t, before, w.partition(devicePK), "%s: nothing is written", way)
				}
				if c.reasons[0] != "" {
					require.Equal(t, 5, *rs[0].Existing.GPIO, way)
				}
			}
		})
	}
}
