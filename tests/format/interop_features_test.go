package format_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// person is the model of the employees.
type person struct {
	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Email       string    `dynamodbav:"email"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Department  string    `dynamodbav:"department"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type employee struct {
	_ entity.Key           `name:"Employee" pk:"$#employeeid_{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#tenantid_{tenantId}" sk:"$#department_{department}#employeeid_{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	person
}

type uniqueEmployee struct {
	_ entity.Key           `name:"Employee" pk:"$#employeeid_{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#tenantid_{tenantId}" sk:"$#department_{department}#employeeid_{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	person
}

func TestReplay_Lifecycle(t *testing.T) {
	replayLifecycle[employee](t, "lifecycle-no-unique")
	replayLifecycle[uniqueEmployee](t, "lifecycle-free-ttl")
}

// lifecycleDifferences are those of an employee who is deleted, restored and purged, and of another who is deleted and
// purged.
func lifecycleDifferences(t *testing.T, r *replay) []difference {
	t.Helper()
	const alice, bob = "_emp-alice", "_emp-bob"
	// state is the deleted state as the history has it.
	state := func(step, pk, last string) stored {
		gone, snapshot := deletedCopy(r.deletion(t, step, pk)), r.recorded(t, step, pk, "#v#"+last)
		sk := strings.TrimSuffix(snapshot.text("sk"), last) + gone.version()
		return gone.with("sk", "S", sk).with("_ttl", "N", snapshot["_ttl"]["N"]).with("_deleted", "BOOL", true)
	}
	last := r.deletion(t, "delete-alice", alice).version()
	before := r.recorded(t, "delete-alice", alice, "#v#"+last)
	copies := func(pk string) func([]stored) []stored {
		return func(items []stored) []stored {
			for i, it := range items {
				if strings.HasSuffix(it.text("pk"), pk) && strings.Contains(it.text("sk"), "#deleted#") {
					items[i] = deletedCopy(it)
				}
			}
			return items
		}
	}
	// The last steps before the restore, the second delete, and Alice's purge.
	const deleted, restored, end = "query-tenant-while-deleted", "query-tenant-after-restore", "restore-purged"
	lasting := func(it stored) stored { return it.with("_ttl", "", nil) }
	return []difference{
		{"put-alice", "put-bob", ttlLater, one(alice, "#v#0000001", lasting)},
		{"put-bob", restored, ttlLater, one(bob, "#v#0000001", lasting)},
		{"delete-alice", deleted, counted, copies(alice)},
		{"delete-alice", end, kept, plus(state("delete-alice", alice, last))},
		{"restore", end, counted, one(alice, "#employee", func(it stored) stored { return upped(it, "version") })},
		{"restore", end, unreplaced, one(alice, "#v#"+last, func(stored) stored { return before })},
		at("delete-bob", counted, copies(bob)),
		at("delete-bob", kept, plus(state("delete-bob", bob, "0000001"))),
	}
}

func replayLifecycle[T any](t *testing.T, name string) {
	t.Helper()
	p := newPlayer[T](t, name)
	p.differences = lifecycleDifferences(t, p.replay)
	restore := p.named(t, "restore").Step
	p.adjust = func(st step, want *T) {
		if e := dbtest.Embedded[person](want); st.Step >= restore && e.EmployeeID == "emp-alice" {
			e.Version++ // a delete was counted
		}
	}
	deleted := func(st step) { p.deleted(t, st) }
	versions := func(st step) { p.versions(t, st) }
	p.special = map[string]func(step){
		"deleted-get": deleted, "deleted-list": deleted,
		"versions-asc": versions, "versions-reverse-limit-1": versions, "get-version-1": versions, "get-version-99": versions,
	}
	p.ends = map[string]end{"restore-not-deleted": is(entity.ErrNotDeleted)} // where effect-dynamodb finds nothing
	p.play(t)
	require.Empty(t, p.dump(t))
}

// deleted compares the one deleted copy with that which was recorded.
func (p *player[T]) deleted(t *testing.T, st step) {
	t.Helper()
	key := keyOf[T](t, st)
	got, first := entity.Must(p.bin.List(key).Collect(p.Ctx)), entity.Must(p.bin.Get(p.Ctx, key))
	require.Equal(t, []lifecycle.DeletedItem[T]{first}, got)
	recorded := st.Outcome.OK
	if st.Op == "deleted.list" {
		recorded = argument[[]json.RawMessage](t, recorded)[0]
	}
	want := args[T](t, recorded)
	e := dbtest.Embedded[person](&want)
	e.Version++
	e.UpdatedAt = dbtest.Embedded[person](&first.Item).UpdatedAt
	require.Equal(t, want, first.Item)
	deletedAt := argument[struct{ DeletedAt time.Time }](t, recorded).DeletedAt
	require.Equal(t, deletedAt, first.DeletedAt)
	require.Equal(t, deletedAt.Add(30*24*time.Hour), first.ExpiresAt)
}

// versions compares versions with those that were recorded. The newest of them is a deleted state, which has no counterpart
// in the recorded history.
func (p *player[T]) versions(t *testing.T, st step) {
	t.Helper()
	key := keyOf[T](t, st)
	if st.Op == "getVersion" {
		got, err := p.history.Get(p.Ctx, key, st.Args.Version)
		if p.ended(t, st, err); err == nil {
			require.Equal(t, args[T](t, st.Outcome.OK), got.Item)
			require.False(t, got.Deleted)
		}
		return
	}
	list, opts := st.Outcome.OK, []versioned.ListOption{}
	if st.Args.Reverse { // by pages
		list, opts = argument[struct{ Items json.RawMessage }](t, list).Items, append(opts, entity.Desc())
	}
	got := entity.Must(p.history.List(key, opts...).Collect(p.Ctx))
	var live []T
	for i, v := range got {
		require.Equal(t, i == 0 && st.Args.Reverse || i == len(got)-1 && !st.Args.Reverse, v.Deleted)
		if !v.Deleted {
			live = append(live, v.Item)
		}
	}
	if st.Args.Limit > 0 {
		live = live[:st.Args.Limit]
	}
	require.Equal(t, args[[]T](t, list), live)
}

type note struct {
	_ entity.Key `name:"Note" pk:"$#id_{id}" sk:"$"`
	_ lifecycle.SoftDelete

	ID   string `dynamodbav:"id"`
	Text string `dynamodbav:"text"`
}

func TestReplay_SoftDeleteAlone(t *testing.T) {
	p := newPlayer[note](t, "lifecycle-soft-delete-only")
	p.through(t, "purge")
	p.differences = []difference{
		{"update-while-deleted", "deleted-get-with-phantom", absent, func(items []stored) []stored {
			return only(items, "Z") // the copies
		}},
	}
	deleted := func(st step) {
		got := entity.Must(p.bin.Get(p.Ctx, keyOf[note](t, st)))
		require.Equal(t, args[note](t, st.Outcome.OK), got.Item)
	}
	p.special = map[string]func(step){
		"deleted-get": deleted, "deleted-get-with-phantom": deleted,
		"delete-with-condition-ignored": func(st step) {
			documented(t, heeded)
			before := p.dump(t)
			require.ErrorIs(t, p.s.Delete(p.Ctx, keyOf[note](t, st), deletes(p.conditions(t, st))...), entity.ErrConditionFailed)
			require.Equal(t, asJSON(t, before), asJSON(t, p.dump(t)))
			require.NoError(t, p.s.Delete(p.Ctx, keyOf[note](t, st), entity.If(entity.Eq(&entity.Fields[note]().Text, "a"))))
		},
	}
	p.ends = map[string]end{"update-while-deleted": is(entity.ErrDeleted)}
	p.play(t)
}

type profile struct {
	_ entity.Key `name:"UserProfile" pk:"$#userid_{userId}" sk:"$#region_{Region}"`
	_ entity.GSI `name:"byEmail" index:"gsi1" pk:"$#email_{Email}" sk:"$#region_{Region}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"Email" fields:"Email"`

	UserID  string `dynamodbav:"userId"`
	Email   string `dynamodbav:"Email"`
	Region  string `dynamodbav:"Region"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestReplay_LowerCase(t *testing.T) {
	p := newPlayer[profile](t, "keys-casing-lowercase")
	const own = "$myapp#v1#userprofile"
	last := p.recorded(t, "delete", "", "#v#0000001")
	p.differences = []difference{
		at("delete", counted, one("", "Z", func(it stored) stored { return upped(it, "version") })),
		at("restore", counted, one("", "#region_eu-west", func(it stored) stored { return upped(it, "version") })),
		at("restore", unreplaced, one("", "#v#0000001", func(stored) stored { return last })),
		at("restore", kept, func(items []stored) []stored {
			gone := upped(p.deletion(t, "delete", ""), "version")
			return append(items, gone.with("sk", "S", own+"#v#0000002").with("_deleted", "BOOL", true))
		}),
		{"put", "restore", siblings, func(items []stored) []stored {
			for i, it := range items {
				for _, infix := range []string{"#v#", "#deleted#"} {
					if rest, ok := strings.CutPrefix(it.text("sk"), own+infix); ok {
						items[i] = it.with("sk", "S", own+"#region_eu-west"+infix+rest)
					}
				}
			}
			return items
		}},
	}
	p.adjust = func(st step, want *profile) {
		if st.Op == "restore" {
			want.Version++
		}
	}
	p.play(t)
}

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
