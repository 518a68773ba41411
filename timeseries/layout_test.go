package timeseries_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// ids numbers write ids and tokens, so that items can be compared byte by byte. The beginning is random: the database
// remembers tokens for longer than a test run.
func ids() (change func(*entity.Config), first string) {
	n, run := 0, rand.Text()
	id := func() string { n++; return fmt.Sprintf("%s-%d", run, n) }
	return func(c *entity.Config) { c.NewID = id }, run + "-1"
}

func TestLayout_CurrentAndEventByteForByte(t *testing.T) {
	t.Parallel()
	numbered, id := ids()
	w := open[Telemetry](t, numbered)
	ev := tick(0, 1)
	ev.AccountID, ev.Diagnostics, ev.CreatedAt = "acct", "diag", at(5) // none of them is an append's to write
	require.True(t, w.append(ev).Applied)

	require.Equal(t, map[string]map[string]string{
		deviceSK: {
			"pk": "S " + devicePK, "sk": "S " + deviceSK, "gsi1sk": "S $app#v1#telemetry#d-7",
			"channel": "S c-1", "deviceId": "S d-7", "timestamp": "S 2026-04-22T10:00:00.000000000Z",
			"location": "S cabinet-A", "alert": "BOOL false", "gpio": "N 1",
			"createdAt": "S 2101-01-01T00:00:00.987654321Z", "__edd_e__": "S Telemetry", "_w": "S " + id,
		},
		eventSK("2026-04-22T10:00:00.000000000Z"): {
			"pk": "S " + devicePK, "sk": "S $app#v1#telemetry#e#2026-04-22T10:00:00.000000000Z",
			"channel": "S c-1", "deviceId": "S d-7", "timestamp": "S 2026-04-22T10:00:00.000000000Z",
			"location": "S cabinet-A", "alert": "BOOL false", "gpio": "N 1",
			"__edd_e__": "S Telemetry", "_k": "S e", "_at": "S 2101-01-01T00:00:00.987654321Z", "_w": "S " + id, "_ttl": "N 4134585600",
		},
	}, w.partition(devicePK))
}

func TestLayout_TTLInWholeSecondsIsOnlyOnEventsAndCreatedAtOnlyOnCurrent(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.Clock.Move(13 * time.Millisecond) // over the end of the second: …987 ms + 13 ms
	w.appendAll([]Telemetry{tick(1, 2)})

	first := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC).Add(7 * 24 * time.Hour).Unix()
	items := w.partition(devicePK)
	require.Equal(t, fmt.Sprintf("N %d", first), items[eventSK("2026-04-22T10:00:00.000000000Z")]["_ttl"])
	require.Equal(t, fmt.Sprintf("N %d", first+1), items[eventSK("2026-04-22T10:01:00.000000000Z")]["_ttl"])
	require.NotContains(t, items[deviceSK], "_ttl")
	for sk, it := range items {
		if sk == deviceSK {
			require.Equal(t, "S 2101-01-01T00:00:00.987654321Z", it["createdAt"], "that of the first append")
		} else {
			require.NotContains(t, it, "createdAt")
		}
	}
}

// Scale has a payload version, names of its own for keys, and a partition key that is the attribute itself.
type Scale struct {
	_ entity.Key        `name:"Scale" pk:"scaleId" sk:"$" payload:"3"`
	_ timeseries.Events `orderBy:"ms" ttl:"1h30m"`

	ScaleID string    `dynamodbav:"scaleId"`
	Time    time.Time `dynamodbav:"ms" entity:"time=unixms"`
	Grams   int       `dynamodbav:"grams" entity:"append"`
	Owner   string    `dynamodbav:"owner,omitempty"`
}

func TestLayout_NamesPayloadVersionAndNativePartitionKey(t *testing.T) {
	t.Parallel()
	numbered, id := ids()
	w := open[Scale](t, numbered, func(c *entity.Config) {
		c.SK, c.TTL, c.TimePrecision = "range", "expires", time.Millisecond
		c.Namespace = entity.Namespace{Name: "Shop", Version: 4}
	})
	require.True(t, w.append(Scale{ScaleID: "s#1", Time: time.UnixMilli(1700000000123), Grams: 12}).Applied)

	got := map[string]map[string]string{}
	for _, it := range w.Items() {
		got[text(it["range"])] = plain(it)
	}
	require.Equal(t, map[string]map[string]string{
		"S $Shop#v4#scale": {
			"scaleId": "S s#1", "range": "S $Shop#v4#scale", "ms": "N 1700000000123", "grams": "N 12",
			"__edd_e__": "S Scale", "_w": "S " + id, "_pv": "N 3",
		},
		"S $Shop#v4#scale#e#0000001700000000123": {
			"scaleId": "S s#1", "range": "S $Shop#v4#scale#e#0000001700000000123", "ms": "N 1700000000123", "grams": "N 12",
			"__edd_e__": "S Scale", "_k": "S e", "_at": "S 2101-01-01T00:00:00.987Z", "_w": "S " + id, "_pv": "N 3", "expires": "N 4133986200",
		},
	}, got)

	entity.Must(w.Update(w.Ctx, Scale{ScaleID: "s#1"}, entity.Set(&entity.Fields[Scale]().Owner, "me")))
	require.Equal(t, 12, w.current(Scale{ScaleID: "s#1"}).Grams)
	require.Len(t, w.history(Scale{ScaleID: "s#1"}), 1)
}

func state(stream string, minutes int, state string) Channel {
	return Channel{Channel: "c-1", Stream: stream, Timestamp: at(minutes), State: state}
}
