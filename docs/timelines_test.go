package docs_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// The declarations of the timeline that timelines.md quotes.

type place struct {
	Channel  string `dynamodbav:"channel"`
	DeviceID string `dynamodbav:"deviceId"`
}

type whereabouts struct {
	Reports  int    `dynamodbav:"reports"`
	Location string `dynamodbav:"location"`
}

// storedTimeline makes the example of a row, and compares the attributes of it, of pages and of the manifest with those that the page names.
func storedTimeline(t *testing.T, made map[string]string) {
	t.Helper()
	client, table := localdb.Test(t)
	cfg, at := config(table), noon
	cfg.Clock = func() time.Time { return at }
	cfg.Tables = map[string]string{"views": table + "-views"}
	id := cfg.NewID
	cfg.NewID = func() string { return id() + run + "-t" } // not the tokens of others
	db := entity.Must(entity.Open(client, cfg))
	readings := entity.Must(timeseries.New[telemetry](db))
	view, err := timeline.New(db, timeline.Projection[place, whereabouts]{
		Name: "places", Version: 1,
		Source: timeline.Series(readings, timeline.PartitionKey(func(p place) telemetry {
			return telemetry{Channel: p.Channel, DeviceID: p.DeviceID}
		})),
		Handlers: []timeline.Handler[place, whereabouts]{timeline.On("telemetry.appended",
			func(r telemetry) place { return place{r.Channel, r.DeviceID} },
			func(w *whereabouts, e timeline.Event[telemetry]) error {
				w.Reports++
				if e.Payload.Location != nil {
					w.Location = *e.Payload.Location
				}
				return nil
			})},
		Retention: 7 * 24 * time.Hour, Table: "views",
	})
	require.NoError(t, err)
	require.NoError(t, tables.Create(t.Context(), db))
	keepExpired(t, client, table, "_ttl")
	keepExpired(t, client, table+"-views", "_ttl")
	for i, location := range []string{"dock 4", "dock 5"} {
		r := telemetry{Channel: "c-1", DeviceID: "d-7", Timestamp: event.Add(time.Duration(i) * time.Second), Location: &location}
		_, err = readings.Append(t.Context(), r)
		require.NoError(t, err)
	}
	at = at.Add(time.Hour)
	_, err = view.Rebuild(t.Context(), timeline.Segments(1))
	require.NoError(t, err)

	// The table of an example has another name in every run, and the fingerprint depends on it.
	text := strings.NewReplacer(run+"-t", "", table, "app", view.Fingerprint(), "<fingerprint>").Replace(dump(t, client, table+"-views", "pk", "sk"))
	text = regexp.MustCompile(`(?m)^(tally\S+ +N +)\d+$`).ReplaceAllString(text, "$1<sum>") // of marks with the ids of the run
	made["timeline-row"] = having(text, "#c-1%01d-7")
	for _, item := range []string{made["timeline-row"], having(text, "timelinepages-places#0000000000000000000"), having(text, "timelinemanifest-places")} {
		require.NotEmpty(t, item)
		namesAttributes(t, "timelines.md", item)
	}
}
