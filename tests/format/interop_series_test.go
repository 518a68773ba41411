package format_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

type telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#channel_{channel}#deviceid_{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#accountid_{accountId}" sk:"$#deviceid_{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel     string    `dynamodbav:"channel"`
	DeviceID    string    `dynamodbav:"deviceId"`
	Timestamp   time.Time `dynamodbav:"timestamp"`
	Location    *string   `dynamodbav:"location,omitempty" entity:"append"`
	Alert       *bool     `dynamodbav:"alert,omitempty" entity:"append"`
	GPIO        *int      `dynamodbav:"gpio,omitempty" entity:"append"`
	AccountID   string    `dynamodbav:"accountId,omitempty"`
	Diagnostics string    `dynamodbav:"diagnostics,omitempty"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

type device struct {
	_ entity.Key        `name:"Device" pk:"$#channel_{channel}#deviceid_{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAlert" index:"gsi1" pk:"$#alertstate_{alertState}" sk:"$#timestamp_{timestamp}"`
	_ entity.GSI        `name:"byTenant" index:"gsi2" pk:"$#tenantid_{tenantId}" sk:"$#timestamp_{timestamp}"`
	_ entity.GSI        `name:"byRegion" index:"gsi3" pk:"$#region_{region}" sk:"$#tenantid_{tenantId}#deviceid_{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp"`

	Channel    string    `dynamodbav:"channel"`
	DeviceID   string    `dynamodbav:"deviceId"`
	Timestamp  time.Time `dynamodbav:"timestamp"`
	AlertState *string   `dynamodbav:"alertState,omitempty" entity:"append"`
	Region     *string   `dynamodbav:"region,omitempty" entity:"append"`
	TenantID   string    `dynamodbav:"tenantId,omitempty"`
}

type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#sensorid_{sensorId}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	SensorID string    `dynamodbav:"sensorId"`
	At       time.Time `dynamodbav:"at"`
	Value    float64   `dynamodbav:"value" entity:"append"`
}

type ping struct {
	_ entity.Key        `name:"Ping" pk:"$#id_{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"90s"`

	ID   string    `dynamodbav:"id"`
	At   time.Time `dynamodbav:"at" entity:"time=unixms"`
	V    *int      `dynamodbav:"v,omitempty" entity:"append"`
	Born time.Time `dynamodbav:"born" entity:"created_at,time=unix"`
}

// series declares T on the replay's table and creates it.
func series[T any](t *testing.T, r *replay) *timeseries.Series[T] {
	t.Helper()
	s := entity.Must(timeseries.New[T](r.DB))
	r.create(t)
	return s
}

// appends runs an append and compares its outcome with what was recorded.
func appends[T any](t *testing.T, r *replay, s *timeseries.Series[T], st step, opts ...timeseries.AppendOption) {
	t.Helper()
	got, err := s.Append(r.Ctx, args[T](t, st.Args.Input), opts...)
	require.NoError(t, err, st.Name)
	switch st.Outcome.Error.Tag {
	case "":
		require.True(t, got.Applied, st.Name)
	case "StaleAppend":
		require.False(t, got.Applied, st.Name)
		require.Contains(t, []timeseries.Reason{timeseries.Older, timeseries.Collision}, got.Reason, st.Name)
	case "ConditionalCheckFailed":
		require.Equal(t, timeseries.ConditionFailed, got.Reason, st.Name)
	default:
		require.Fail(t, "an outcome that was not expected", "%s: %s", st.Name, st.Outcome.Error.Tag)
	}
}

// sameRows compares values with recorded ones, of which only the model's fields count.
func sameRows[T any](t *testing.T, st step, got []T) {
	t.Helper()
	require.Equal(t, args[[]T](t, st.Outcome.OK), got, st.Name)
}

func TestReplay_TimeSeriesGuide(t *testing.T) {
	r := newReplay(t, "timeseries-guide")
	s, f := series[telemetry](t, r), entity.Fields[telemetry]()
	r.steps(t, func(st step) {
		switch st.Name {
		case "enrich-update":
			_, err := s.Update(r.Ctx, keyOf[telemetry](t, st), entity.Set(&f.AccountID, "Acct-1"), entity.Set(&f.Diagnostics, "ok"))
			require.NoError(t, err)
		case "append-skip-follow-up", "append-skip-follow-up-stale":
			appends(t, r, s, st)
		case "append-condition-ok":
			appends(t, r, s, st, entity.If(entity.Eq(&f.AccountID, "Acct-1")))
		case "append-condition-fails", "append-condition-and-stale":
			appends(t, r, s, st, entity.If(entity.Eq(&f.AccountID, "other")))
		case "append-condition-ast":
			appends(t, r, s, st, entity.If(entity.Exists(&f.AccountID), entity.Lt(f.GPIO, 100)))
		default:
			require.Equal(t, "append", st.Op, st.Name)
			appends(t, r, s, st)
		}
	})
	guideReads(t, r, s)
}

// guideReads compares reads of the table that the steps left; the steps in between write nothing.
func guideReads(t *testing.T, r *replay, s *timeseries.Series[telemetry]) {
	t.Helper()
	f, key := entity.Fields[telemetry](), telemetry{Channel: "c-1", DeviceID: "d-7"}
	at := func(minute int) time.Time { return time.Date(2026, 4, 22, 10, minute, 0, 0, time.UTC) }
	history := map[string][]entity.QueryOption{
		"history-all":                 nil,
		"history-between":             {entity.Between(&f.Timestamp, at(0), at(10))},
		"history-between-date-values": {entity.Between(&f.Timestamp, at(0), at(10))},
		"history-gte":                 {entity.Ge(&f.Timestamp, at(11))},
		"history-gt":                  {entity.Gt(&f.Timestamp, at(11))},
		"history-eq":                  {entity.Eq(&f.Timestamp, at(1))},
		"history-filter":              {entity.Filter(entity.Eq(f.Alert, true))},
	}
	compared := 0
	for _, st := range r.Steps {
		if opts, ok := history[st.Name]; ok {
			got, err := s.History(key, opts...).Collect(r.Ctx)
			require.NoError(t, err, st.Name)
			sameRows(t, st, got)
			compared++
		}
		switch st.Name {
		case "get":
			got := entity.Must(s.Get(r.Ctx, args[telemetry](t, st.Args.Key)))
			require.Equal(t, args[telemetry](t, st.Outcome.OK), got)
			compared++
		case "query-by-account":
			byAccount := entity.Must(s.Index("byAccount"))
			got := entity.Must(byAccount.Query(telemetry{AccountID: "acct-1"}).Collect(r.Ctx))
			sameRows(t, st, got)
			compared++
		case "history-reverse-limit":
			var page struct{ Items json.RawMessage }
			require.NoError(t, json.Unmarshal(st.Outcome.OK, &page))
			got := entity.Must(s.History(key, entity.Desc(), entity.Limit(2)).Page(r.Ctx, ""))
			require.Equal(t, args[[]telemetry](t, page.Items), got.Items)
			compared++
		case "history-count":
			got := entity.Must(s.History(key).Count(r.Ctx))
			require.Equal(t, args[int](t, st.Outcome.OK), got)
			compared++
		}
	}
	require.Equal(t, len(history)+4, compared)
}

func TestReplay_TimeSeriesWithIndexes(t *testing.T) {
	r := newReplay(t, "timeseries-gsi")
	// There the policy "sparse" takes an item out of byAlert when an append does not report alertState.
	still := func(at string) func([]stored) []stored {
		return func(items []stored) []stored {
			current := only(items, "device")
			require.Len(t, current, 1)
			current[0]["gsi1pk"] = map[string]any{"S": "$app#v1#device#alertstate_red"}
			current[0]["gsi1sk"] = map[string]any{"S": "$app#v1#device#timestamp_" + at}
			return items
		}
	}
	const reason = "There are no index policies: an append that does not report a field keeps the field, and with it the index key."
	r.differences = []difference{
		at("append-without-alert", reason, still("2026-04-22t10:01:00.000z")),
		at("enrich-tenant", reason, still("2026-04-22t10:01:00.000z")),
	}
	s := series[device](t, r)
	r.steps(t, func(st step) {
		if st.Name == "enrich-tenant" {
			_, err := s.Update(r.Ctx, args[device](t, st.Args.Key), entity.Set(&entity.Fields[device]().TenantID, st.Args.Set["tenantId"].(string)))
			require.NoError(t, err)
			return
		}
		require.Equal(t, "append", st.Op, st.Name)
		appends(t, r, s, st)
	})
}

func TestReplay_TimeSeriesWithoutTTL(t *testing.T) {
	r := newReplay(t, "timeseries-no-ttl")
	s := series[reading](t, r)
	r.steps(t, func(st step) {
		if st.Op == "history" {
			got := entity.Must(s.History(args[reading](t, st.Args.Key)).Collect(r.Ctx))
			sameRows(t, st, got)
			return
		}
		appends(t, r, s, st)
	})
}

func TestReplay_TimeSeriesByANumber(t *testing.T) {
	r := newReplay(t, "timeseries-epoch-order-by")
	s := series[ping](t, r)
	r.steps(t, func(st step) {
		if st.Op == "history" {
			// By then the events have expired, and effect-dynamodb shows them all the same.
			got := entity.Must(s.History(args[ping](t, st.Args.Key)).Collect(r.Ctx))
			require.Empty(t, got)
			documented(t, "Reads hide expired items at once; there, reads show them until DynamoDB removes them.")
			got = entity.Must(s.History(args[ping](t, st.Args.Key), entity.IncludeExpired()).Collect(r.Ctx))
			sameRows(t, st, got)
			return
		}
		appends(t, r, s, st)
	})
}
