package timeseries_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Telemetry is what most tests append: a clock in nanoseconds, a time to live, and fields that an event may leave out.
type Telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp"`

	Location *string `dynamodbav:"location,omitempty" entity:"append"`
	Alert    *bool   `dynamodbav:"alert,omitempty"    entity:"append"`
	GPIO     *int    `dynamodbav:"gpio,omitempty"     entity:"append"`

	AccountID   string    `dynamodbav:"accountId,omitempty"`
	Diagnostics string    `dynamodbav:"diagnostics,omitempty"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

// Meter records late events, keeps events forever, and is ordered by a counter.
type Meter struct {
	_ entity.Key        `name:"Meter" pk:"$#{meterId}" sk:"$"`
	_ timeseries.Events `orderBy:"seq" late:"record"`

	MeterID string  `dynamodbav:"meterId"`
	Seq     int64   `dynamodbav:"seq"`
	Value   int     `dynamodbav:"value" entity:"append"`
	Note    *string `dynamodbav:"note,omitempty" entity:"append"`
	Site    string  `dynamodbav:"site,omitempty"`
}

// Channel has several streams in one partition.
type Channel struct {
	_ entity.Key        `name:"Channel" pk:"$#{channel}" sk:"$#{stream}"`
	_ timeseries.Events `orderBy:"timestamp"`

	Channel   string    `dynamodbav:"channel"`
	Stream    string    `dynamodbav:"stream"`
	Timestamp time.Time `dynamodbav:"timestamp"`
	State     string    `dynamodbav:"state" entity:"append"`
}

// Journal is ordered by a text.
type Journal struct {
	_ entity.Key        `name:"Journal" pk:"$#{book}" sk:"$"`
	_ timeseries.Events `orderBy:"mark"`

	Book string `dynamodbav:"book"`
	Mark string `dynamodbav:"mark"`
	Text string `dynamodbav:"text" entity:"append"`
	Page *int   `dynamodbav:"page,omitempty" entity:"append"`
}

// start is when the first event of most tests happened. The test's clock is far ahead of it, and of the real one, so
// that the database does not remove events whose time to live is over by the test's clock.
var start = time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

func at(minutes int) time.Time { return start.Add(time.Duration(minutes) * time.Minute) }

// device is the key of the series that most tests use.
var device = Telemetry{Channel: "c-1", DeviceID: "d-7"}

// tick is an event of device, with everything that a device reports.
func tick(minutes, gpio int) Telemetry {
	ev := device
	location, alert := "cabinet-A", gpio%2 == 0
	ev.Timestamp, ev.Location, ev.Alert, ev.GPIO = at(minutes), &location, &alert, &gpio
	return ev
}

// bare is an event of device that reports nothing but that it happened.
func bare(minutes int) Telemetry {
	ev := device
	ev.Timestamp = at(minutes)
	return ev
}

func reading(seq int64, value int) Meter { return Meter{MeterID: "m-1", Seq: seq, Value: value} }

func entry(mark, text string) Journal { return Journal{Book: "b", Mark: mark, Text: text} }

func ptr[V any](v V) *V { return &v }

// shuffled is in another order, the same one each time.
func shuffled[V any](vs []V) []V {
	out := append([]V(nil), vs...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// readings are n meter events from a sequence number on, each with a value and every third one with a note.
func readings(meter string, from int64, n int) []Meter {
	evs := make([]Meter, n)
	for i := range evs {
		seq := from + int64(i)
		evs[i] = Meter{MeterID: meter, Seq: seq, Value: int(seq * 10)}
		if seq%3 == 0 {
			evs[i].Note = ptr(strings.Repeat("n", int(seq%7)))
		}
	}
	return evs
}

// minutes are the times of events of [device], in minutes after the start.
func minutes(evs []Telemetry) []int {
	out := []int{}
	for _, ev := range evs {
		out = append(out, int(ev.Timestamp.Sub(start).Minutes()))
	}
	return out
}

func fiveTicks(t *testing.T) *lab[Telemetry] {
	w := open[Telemetry](t)
	w.seed(tick(0, 0), tick(5, 5), tick(10, 10), tick(15, 15), tick(20, 20))
	return w
}

func reasons[T any](rs []timeseries.Result[T]) []timeseries.Reason {
	out := make([]timeseries.Reason, len(rs))
	for i, r := range rs {
		out[i] = r.Reason
	}
	return out
}
