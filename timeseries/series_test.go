package timeseries_test

import (
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

func TestEnrichment_ByUpsertBeforeTheFirstAppendBlocksNothing(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(*lab[Telemetry]) timeseries.Result[Telemetry]{
		"one": func(w *lab[Telemetry]) timeseries.Result[Telemetry] { return w.append(tick(0, 1)) },
		"bulk": func(w *lab[Telemetry]) timeseries.Result[Telemetry] {
			return w.appendAll([]Telemetry{tick(1, 1), tick(0, 1)})[0]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, enriched := open[Telemetry](t), device
			enriched.AccountID = "acct-1"
			got, created, err := w.series.Upsert(w.Ctx, enriched)
			require.NoError(t, err)
			require.True(t, created)
			require.Equal(t, "acct-1", got.AccountID)
			require.True(t, got.Timestamp.IsZero())
			require.NotContains(t, w.partition(devicePK)[deviceSK], "timestamp")
			require.Empty(t, w.history(device))
			r := w.append(tick(0, 1), entity.If(entity.Eq(&entity.Fields[Telemetry]().AccountID, "acct-2")))
			require.Equal(t, timeseries.ConditionFailed, r.Reason, "a condition holds for an item without events too")
			require.Equal(t, "acct-1", currentOf(t, r).AccountID)

			w.Clock.Move(time.Hour)
			r = send(w)
			require.True(t, r.Applied)
			require.Equal(t, "acct-1", currentOf(t, r).AccountID)
			require.Equal(t, got.CreatedAt, currentOf(t, r).CreatedAt, "created_at is the first write's")
		})
	}
}

func TestEnrichment_UpsertLeavesOutWhatAppendWrites(t *testing.T) {
	w, v := open[Telemetry](t), tick(9, 9)
	v.AccountID = "acct-1"
	op := w.series.Op().Upsert(v)
	require.NoError(t, w.DB.Transact(w.Ctx, op))
	require.Equal(t, "acct-1", op.Result().AccountID)
	require.Nil(t, op.Result().GPIO)
	require.NotContains(t, w.partition(devicePK)[deviceSK], "gpio")

	w.seed(tick(5, 1))
	v.AccountID = "acct-2"
	got, created, err := w.series.Upsert(w.Ctx, v)
	require.NoError(t, err)
	require.False(t, created)
	want := tick(5, 1)
	want.AccountID, want.CreatedAt = "acct-2", got.CreatedAt
	require.Equal(t, want, got)
	require.Equal(t, want, w.current(device))
	require.Len(t, w.history(device), 1, "an upsert makes no event")
	require.True(t, w.append(tick(6, 2)).Applied, "the clock did not move")
}

func TestEnrichment_UpdateOfAnAppendFieldIsRefused(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	f := entity.Fields[Telemetry]()
	for name, change := range map[string]entity.UpdateOption{
		"orderBy":     entity.Set(&f.Timestamp, at(9)),
		"no orderBy":  entity.Remove(&f.Timestamp),
		"once":        entity.SetIfNotExists(&f.Timestamp, at(9)),
		"append":      entity.Set(f.GPIO, 9),
		"pointer":     entity.Set(&f.GPIO, ptr(9)),
		"remove":      entity.Remove(&f.Location),
		"add":         entity.Add(f.GPIO, 1),
		"path":        entity.Attr[string]("location").Set("x"),
		"key":         entity.Set(&f.Channel, "c"),
		"created_at":  entity.Set(&f.CreatedAt, at(0)),
		"clock, path": entity.Attr[string]("timestamp").Remove(),
	} {
		require.Equal(t, "EDD-9104", dbtest.InputCode(dbtest.ErrorOf(w.series.Update(w.Ctx, device, change))), name)
		require.Equal(t, "EDD-9104", dbtest.InputCode(w.DB.Transact(w.Ctx, w.series.Op().Update(device, change))), name)
	}
	require.Empty(t, w.Wire.Requests())
}

// TestPurge_StopsAtTheFirstErrorAndGoesOnLater breaks the connection for good in the middle of a purge.
func TestPurge_StopsAtTheFirstErrorAndGoesOnLater(t *testing.T) {
	w := open[Meter](t, dbtest.Attempts(1))
	const events = 1100 // in 11 transactions, 8 at once
	evs := make([]Meter, events)
	for i := range evs {
		evs[i] = Meter{MeterID: "m", Seq: int64(i + 1), Value: i}
	}
	require.NoError(t, dbtest.ErrorOf(w.series.AppendAll(w.Ctx, evs)))
	key := Meter{MeterID: "m"}
	var mu sync.Mutex
	writes, reported := 0, 0
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if r.Operation == "DeleteItem" || r.Operation == "TransactWriteItems" {
			writes++
		}
		if writes > 4 {
			return faults.Drop
		}
		return faults.None
	})
	err := w.series.Purge(w.Ctx, key, entity.OnProgress(func(n int) { reported = n }))
	w.Wire.Inject(nil)
	require.ErrorIs(t, err, faults.ErrInjected)
	left := len(w.history(key))
	assert.Less(t, writes, 11, "it does not try all the others")
	assert.Equal(t, events, left+reported-1, "the reported count is that of the removed items: the current item, and events")
	require.NoError(t, w.series.Purge(w.Ctx, key))
	assert.Empty(t, w.history(key))
}

// Station has an append field of every kind.
type Station struct {
	_     entity.Key         `name:"Station" pk:"$#{id}" sk:"$"`
	_     timeseries.Events  `orderBy:"n"`
	ID    string             `dynamodbav:"id"`
	N     uint64             `dynamodbav:"n"`
	Text  string             `dynamodbav:"text"  entity:"append"`
	Count int                `dynamodbav:"count" entity:"append"`
	Ratio float64            `dynamodbav:"ratio" entity:"append"`
	On    bool               `dynamodbav:"on"    entity:"append"`
	Seen  time.Time          `dynamodbav:"seen"  entity:"append,time=s"`
	List  []string           `dynamodbav:"list"  entity:"append"`
	Tags  []string           `dynamodbav:"tags,stringset,omitempty" entity:"append"`
	Map   map[string]int     `dynamodbav:"map,omitempty" entity:"append"`
	Blob  []byte             `dynamodbav:"blob"  entity:"append"`
	Pair  struct{ A, B int } `dynamodbav:"pair" entity:"append"`
	Load
	*Gauge
	Note string `dynamodbav:"note,omitempty"`
}

// Load is embedded: its fields are the station's.
type Load struct {
	Volts *int `dynamodbav:"volts,omitempty" entity:"append"`
}

func TestFields_ZeroOfNonPointersIsAlwaysWritten(t *testing.T) {
	w := open[Station](t)
	w.seed(Station{ID: "s", N: 1, Text: "x", Count: 1, Ratio: 1.5, On: true, Seen: start, Pair: struct{ A, B int }{1, 2}})
	r := w.append(Station{ID: "s", N: 2})
	require.True(t, r.Applied)
	items := w.partition("$app#v1#station#s")
	for _, sk := range []string{"$app#v1#station", "$app#v1#station#e#00000000000000000002"} {
		it := items[sk]
		require.Equal(t, "S ", it["text"], sk)
		require.Equal(t, "N 0", it["count"], sk)
		require.Equal(t, "N 0", it["ratio"], sk)
		require.Equal(t, "BOOL false", it["on"], sk)
		require.Equal(t, "S 0001-01-01T00:00:00Z", it["seen"], sk)
		require.Contains(t, it, "pair", sk)
		for _, name := range []string{"list", "tags", "map", "blob", "volts", "note"} {
			require.NotContains(t, it, name, sk)
		}
	}
	require.Zero(t, currentOf(t, r).Pair)
}

func TestFields_NilSliceMapAndEmbeddedPointerKeepTheirValues(t *testing.T) {
	w := open[Station](t)
	full := Station{
		ID: "s", N: 1, List: []string{"a", "b"}, Tags: []string{"t"}, Map: map[string]int{"k": 1}, Blob: []byte("bin"), Load: Load{ptr(230)},
	}
	w.seed(full)
	require.Equal(t, full, w.history(Station{ID: "s"})[0])
	r, want := w.append(Station{ID: "s", N: 2}), full
	want.N = 2
	require.Equal(t, want, currentOf(t, r))
	require.Equal(t, Station{ID: "s", N: 2}, w.history(Station{ID: "s"})[1])
}

func TestFields_EmptySliceOfAListIsAReport(t *testing.T) {
	w := open[Station](t)
	w.seed(Station{ID: "s", N: 1, List: []string{"a"}})
	r := w.append(Station{ID: "s", N: 2, List: []string{}})
	require.Empty(t, currentOf(t, r).List)
	require.NotNil(t, currentOf(t, r).List)
}

func TestFields_DuplicateComparesContentsAndNotSpelling(t *testing.T) {
	w := open[Station](t)
	ev := Station{ID: "s", N: 1, Ratio: 100, Tags: []string{"a", "b"}, Map: map[string]int{"x": 1, "y": 2}}
	w.seed(ev)
	w.ChangeItem("$app#v1#station#s", "$app#v1#station#e#00000000000000000001", item{"ratio": dbtest.N("1E2")})
	ev.Tags = []string{"b", "a"}
	require.Equal(t, timeseries.Duplicate, w.append(ev).Reason)
	ev.Tags = []string{"b", "c"}
	require.Equal(t, timeseries.Collision, w.append(ev).Reason)
}

// Vote is a series whose events must say for whom.
type Vote struct {
	_   entity.Key        `name:"Vote" pk:"$#{id}" sk:"$"`
	_   timeseries.Events `orderBy:"n"`
	ID  string            `dynamodbav:"id"`
	N   int               `dynamodbav:"n"`
	For *string           `dynamodbav:"for,omitempty" entity:"append,required"`
}

func TestFields_RequiredAppendFieldMustBeReportedInEveryEvent(t *testing.T) {
	w := open[Vote](t)
	require.Equal(t, "EDD-9103", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, Vote{ID: "v", N: 1}))))
	require.Equal(t, "EDD-9103", dbtest.InputCode(dbtest.ErrorOf(w.series.Append(w.Ctx, Vote{ID: "v", N: 1, For: ptr("")}))))
	require.Empty(t, w.Wire.Requests())
	require.True(t, w.append(Vote{ID: "v", N: 1, For: ptr("me")}).Applied)
}

// Gauge is embedded by pointer: without it, none of its fields is reported.
type Gauge struct {
	Bar  float64 `dynamodbav:"bar" entity:"append"`
	Unit string  `dynamodbav:"unit,omitempty"`
}

func TestFields_NilEmbeddedPointerReportsNothing(t *testing.T) {
	w := open[Station](t)
	w.seed(Station{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5, Unit: "never an append's"}})
	r := w.append(Station{ID: "b", N: 2, On: true})
	require.Equal(t, Station{ID: "b", N: 2, On: true, Gauge: &Gauge{Bar: 2.5}}, currentOf(t, r))
	require.Equal(t, []Station{{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5}}, {ID: "b", N: 2, On: true}}, w.history(Station{ID: "b"}))
	require.Equal(t, timeseries.Duplicate, w.append(Station{ID: "b", N: 1, Gauge: &Gauge{Bar: 2.5}}).Reason)
	require.Equal(t, timeseries.Collision, w.append(Station{ID: "b", N: 1}).Reason)
}

// Tracker has index keys of every kind that a series can have.
type Tracker struct {
	_         entity.Key        `name:"Tracker" pk:"$#{id}" sk:"$"`
	_         entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{tenant}#{owner}" sk:"$#{id}"`
	_         entity.GSI        `name:"byZone"  index:"gsi2" pk:"$#{zone}#{floor}" sk:"$#{at}#{id}"`
	_         entity.GSI        `name:"byBeacon" index:"gsi3" pk:"$#{beacon}" sk:"gsi3sk={createdAt}"`
	_         timeseries.Events `orderBy:"at"`
	ID        string            `dynamodbav:"id"`
	At        time.Time         `dynamodbav:"at" entity:"time=s"`
	Zone      string            `dynamodbav:"zone" entity:"append"`
	Floor     int               `dynamodbav:"floor" entity:"append"`
	Beacon    *string           `dynamodbav:"beacon,omitempty" entity:"append"`
	Tenant    string            `dynamodbav:"tenant,omitempty"`
	Owner     string            `dynamodbav:"owner,omitempty"`
	CreatedAt time.Time         `dynamodbav:"createdAt" entity:"created_at,time=s"`
}

const (
	trackerPK = "$app#v1#tracker#t"
	trackerSK = "$app#v1#tracker"
)

func TestIndex_KeysAreRightAfterEveryAppendAndEnrichment(t *testing.T) {
	w, f := open[Tracker](t), entity.Fields[Tracker]()
	w.seed(Tracker{ID: "t", At: at(0), Zone: "hall", Floor: 1})
	want := map[string]string{
		"gsi1sk": "$app#v1#tracker#t",
		"gsi2pk": "$app#v1#tracker#hall#0000000000000000001", "gsi2sk": "$app#v1#tracker#2026-04-22T10:00:00Z#t",
		"gsi3sk": "2101-01-01T00:00:00Z",
	}
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the first append")

	w.Clock.Move(time.Hour)
	w.seed(Tracker{ID: "t", At: at(1), Zone: "yard", Floor: 2, Beacon: ptr("b1")})
	want["gsi2pk"], want["gsi2sk"], want["gsi3pk"] = "$app#v1#tracker#yard#0000000000000000002", "$app#v1#tracker#2026-04-22T10:01:00Z#t", "$app#v1#tracker#b1"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "a later append; the copy of created_at stays")

	w.seed(Tracker{ID: "t", At: at(2), Zone: "yard", Floor: 3})
	want["gsi2pk"], want["gsi2sk"] = "$app#v1#tracker#yard#0000000000000000003", "$app#v1#tracker#2026-04-22T10:02:00Z#t"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "a field that was not reported keeps its key")

	entity.Must(w.series.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Tenant, "acme")))
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "one of two parts is no key")
	entity.Must(w.series.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Owner, "ann")))
	want["gsi1pk"] = "$app#v1#tracker#acme#ann"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the other part was read")
	entity.Must(w.series.Update(w.Ctx, Tracker{ID: "t"}, entity.Set(&f.Tenant, "zeta")))
	want["gsi1pk"] = "$app#v1#tracker#zeta#ann"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "no old key remains")
	entity.Must(w.series.Update(w.Ctx, Tracker{ID: "t"}, entity.Remove(&f.Owner)))
	delete(want, "gsi1pk")
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "the key is removed with its part")

	w.seed(Tracker{ID: "t", At: at(3), Zone: "", Floor: 3, Beacon: ptr("")})
	delete(want, "gsi2pk")
	delete(want, "gsi3pk")
	want["gsi2sk"] = "$app#v1#tracker#2026-04-22T10:03:00Z#t"
	require.Equal(t, want, w.indexKeys(trackerPK, trackerSK), "an empty string is no key")
}

// Stamps is embedded by all entities of a program.
type Stamps struct {
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Stamped is a series with the fields of other entities, and a clock that is not trusted.
type Stamped struct {
	_ entity.Key        `name:"Stamped" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" late:"record" maxAhead:"1h"`
	Stamps
	ID    string    `dynamodbav:"id"`
	At    time.Time `dynamodbav:"at"`
	Value int       `dynamodbav:"value" entity:"append"`
	Note  string    `dynamodbav:"note,omitempty"`
}

// orderBy is the clock of a series, so a field with the role updated_at is nowhere stored, and no verb takes it from a given value.
func TestSeries_UpdatedAtIsNotStored(t *testing.T) {
	w := open[Stamped](t)
	given := func(n int) Stamped {
		return Stamped{ID: "a", At: at(n), Value: n, Stamps: Stamps{CreatedAt: at(99), UpdatedAt: at(99)}}
	}
	w.seed(given(2))
	require.Equal(t, timeseries.LateRecorded, w.append(given(1)).Reason)
	w.appendAll([]Stamped{given(3), given(4)})
	enriched := given(0)
	enriched.Note = "x"
	_, _, err := w.series.Upsert(w.Ctx, enriched)
	require.NoError(t, err)
	f := entity.Fields[Stamped]()
	got := entity.Must(w.series.Update(w.Ctx, Stamped{ID: "a"}, entity.Set(&f.Note, "y")))
	require.Equal(t, Stamped{ID: "a", At: at(4), Value: 4, Note: "y", Stamps: Stamps{CreatedAt: got.CreatedAt}}, got)
	require.NotEqual(t, at(99), got.CreatedAt)
	require.Equal(t, got, w.current(Stamped{ID: "a"}))
	require.Len(t, w.history(Stamped{ID: "a"}), 4)
	for _, it := range w.Items() {
		require.NotContains(t, it, "updatedAt")
	}
	require.Equal(t, "EDD-9104", dbtest.InputCode(dbtest.ErrorOf(w.series.Update(w.Ctx, Stamped{ID: "a"}, entity.Set(&f.UpdatedAt, at(5))))))
	_, _, err = w.series.Upsert(w.Ctx, given(0), entity.Set(&f.UpdatedAt, at(5)))
	require.Equal(t, "EDD-9104", dbtest.InputCode(err))
}

// Account is stored in the same table and takes part in transactions.
type Account struct {
	_         entity.Key `name:"Account" pk:"$#{accountId}" sk:"$"`
	AccountID string     `dynamodbav:"accountId"`
	Plan      string     `dynamodbav:"plan"`
}

func withAccounts(t *testing.T) (*lab[Telemetry], *entity.Store[Account]) {
	w := open[Telemetry](t)
	accounts := entity.Must(entity.New[Account](w.DB))
	return w, accounts
}

func TestTransact_AppendIsAppliedTogetherWithOtherOps(t *testing.T) {
	w, accounts := withAccounts(t)
	entity.Must(accounts.Create(w.Ctx, Account{AccountID: "a", Plan: "gold"}))
	w.Wire.Reset()

	create, tick := accounts.Op().Create(Account{AccountID: "b"}), w.series.Op().Append(tick(0, 1))
	gold := accounts.Op().CheckExists(Account{AccountID: "a"}, entity.Eq(&entity.Fields[Account]().Plan, "gold"))
	require.Zero(t, tick.Result())
	require.NoError(t, w.DB.Transact(w.Ctx, create, tick, gold))
	require.Equal(t, []string{transact}, w.operations(), "no follow-up read")
	require.Equal(t, []string{"Put", "Update", "Put", "ConditionCheck"}, w.kinds(0))

	r := tick.Result()
	require.True(t, r.Applied)
	require.Equal(t, at(0), currentOf(t, r).Timestamp, "what the event determines")
	require.Equal(t, 1, *currentOf(t, r).GPIO)
	require.Equal(t, "b", create.Result().AccountID)
	require.Equal(t, at(0), w.current(device).Timestamp)
	require.Len(t, w.history(device), 1)
}

func TestTransact_WritesOfOneSeriesThatDoNotMergeAreRefused(t *testing.T) {
	w, f := open[Telemetry](t), entity.Fields[Telemetry]()
	one := w.series.Op().Append(tick(0, 1))
	for name, other := range map[string]entity.Op{
		"itself": one,
		"update": w.series.Op().Update(device, entity.Set(&f.AccountID, "a")),
		"upsert": w.series.Op().Upsert(device),
		"remove": w.series.Op().Remove(tick(5, 1)),
	} {
		require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, one, other)), name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestTransact_AppendCountsAsTwoActions(t *testing.T) {
	w := open[Meter](t)
	var ops []entity.Op
	for i := range 51 {
		ops = append(ops, w.series.Op().Append(Meter{MeterID: string(rune('A' + i)), Seq: 1}))
	}
	require.Equal(t, "EDD-9110", dbtest.InputCode(w.DB.Transact(w.Ctx, ops...)))
	require.Empty(t, w.Wire.Requests())
	require.NoError(t, w.DB.Transact(w.Ctx, ops[:50]...))
}

func TestMerge_AppendsOfOneSeriesAdvanceTheCurrentItemOnce(t *testing.T) {
	w := open[Meter](t)
	at := func(seq, value int) entity.Write[timeseries.Result[Meter]] {
		return w.series.Op().Append(Meter{MeterID: "a", Seq: int64(seq), Value: value})
	}
	require.NoError(t, w.DB.Transact(w.Ctx, at(2, 20), at(1, 10), at(3, 30)))
	require.Len(t, w.Wire.Requests(), 1)
	require.Equal(t, Meter{MeterID: "a", Seq: 3, Value: 30}, entity.Must(w.series.Get(w.Ctx, Meter{MeterID: "a"}, entity.Consistent())))
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)

	stale, fresh := at(3, 31), at(4, 40)
	err := w.DB.Transact(w.Ctx, fresh, stale)
	require.Equal(t, timeseries.Collision, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, stale)).Reason)
	require.NoError(t, entity.FailureOf(err, fresh), "alone it would have been applied")
	require.Len(t, w.history(Meter{MeterID: "a"}), 3)
}

func TestMerge_ConditionsOfMergedAppendsStayApart(t *testing.T) {
	w, f := open[Meter](t), entity.Fields[Meter]()
	entity.Must(w.series.Append(w.Ctx, Meter{MeterID: "a", Seq: 1, Value: 10}))
	fine := w.series.Op().Append(Meter{MeterID: "a", Seq: 2, Value: 20}, entity.If(entity.Eq(&f.Value, 10)))
	refused := w.series.Op().Append(Meter{MeterID: "a", Seq: 3, Value: 30}, entity.If(entity.Eq(&f.Value, 20)))
	checked := w.series.Op().CheckExists(Meter{MeterID: "a"}, entity.Eq(&f.Value, 10))
	err := w.DB.Transact(w.Ctx, fine, refused, checked)
	require.Equal(t, timeseries.ConditionFailed, dbtest.As[*timeseries.NotAppliedError](t, entity.FailureOf(err, refused)).Reason)
	require.NoError(t, entity.FailureOf(err, fine))
	require.NoError(t, entity.FailureOf(err, checked))
	require.NoError(t, w.DB.Transact(w.Ctx, fine, checked))
}

const (
	transact = "TransactWriteItems"
	getItem  = "GetItem"
)

func TestCost_NothingIsSentForBadInput(t *testing.T) {
	w := open[Telemetry](t)
	for name, c := range map[string]struct {
		ev   Telemetry
		opts []timeseries.AppendOption
		code string
	}{
		"no key part":     {Telemetry{Channel: "c", Timestamp: at(0)}, nil, "EDD-9101"},
		"no orderBy":      {device, nil, "EDD-9101"},
		"nil option":      {tick(0, 1), []timeseries.AppendOption{nil}, "EDD-9108"},
		"foreign pointer": {tick(0, 1), []timeseries.AppendOption{entity.If(entity.Eq(new(string), "x"))}, "EDD-9105"},
		"empty condition": {tick(0, 1), []timeseries.AppendOption{entity.If(entity.And())}, "EDD-9111"},
	} {
		r, err := w.series.Append(w.Ctx, c.ev, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Zero(t, r, name)
		e := dbtest.As[*entity.Error](t, err, name)
		require.Equal(t, []string{"Append", "Telemetry"}, []string{e.Verb, e.Entity}, name)
		rs, err := w.series.AppendAll(w.Ctx, []Telemetry{tick(3, 3), c.ev}, c.opts...)
		require.Equal(t, c.code, dbtest.InputCode(err), name)
		require.Equal(t, make([]timeseries.Result[Telemetry], 2), rs, name)
	}
	require.Empty(t, w.Wire.Requests())
}

func TestCost_ObserverHearsWhatEachVerbCost(t *testing.T) {
	var reports []entity.Report
	w := open[Telemetry](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	reports = nil // of CreateTables
	last := w.append(tick(5, 1))
	w.append(tick(4, 1))
	entity.Must(w.series.AppendAll(w.Ctx, []Telemetry{tick(6, 1), tick(7, 2)}))
	entity.Must(w.series.At(w.Ctx, device, at(6)))
	entity.Must(last.Current(w.Ctx))

	require.Len(t, reports, 5)
	for i, verb := range []string{"Append", "Append", "AppendAll", "At", "Current"} {
		require.Equal(t, []any{verb, "Telemetry", 1}, []any{reports[i].Verb, reports[i].Entity, reports[i].Requests})
		require.NoError(t, reports[i].Err)
	}
	require.Positive(t, reports[0].WriteUnits)
	require.Positive(t, reports[4].ReadUnits)
}

func TestCost_CurrentIsReadOnceAndOnlyWhereTheAnswerLacksIt(t *testing.T) {
	w := open[Telemetry](t)
	applied := w.append(tick(5, 1))
	require.True(t, applied.Applied)
	older := w.append(tick(4, 1))
	require.Equal(t, timeseries.Older, older.Reason)
	w.Wire.Reset()
	require.Equal(t, at(5), currentOf(t, older).Timestamp)
	require.Empty(t, w.Wire.Requests(), "the refusal had it")
	for range 2 {
		require.Equal(t, at(5), currentOf(t, applied).Timestamp)
	}
	require.Equal(t, []string{getItem}, w.operations())
	require.Contains(t, string(w.Wire.Requests()[0].Body), `"ConsistentRead":true`)
}

func TestCurrent_OfAnItemThatIsGone(t *testing.T) {
	w := open[Telemetry](t)
	r := w.append(tick(0, 1))
	w.RemoveItem(w.Key(devicePK, deviceSK))
	require.ErrorIs(t, dbtest.ErrorOf(r.Current(w.Ctx)), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(timeseries.Result[Telemetry]{}.Current(w.Ctx)), entity.ErrNotFound, "of an append that an error left undecided")
}

func TestCurrent_ItemThatDoesNotFitTheStructIsADecodeError(t *testing.T) {
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	w.ChangeItem(devicePK, deviceSK, item{"diagnostics": &types.AttributeValueMemberM{}})
	r := w.append(tick(1, 2))
	require.True(t, r.Applied)
	_, err := r.Current(w.Ctx)
	dbtest.As[*entity.DecodeError](t, err)
	older := w.append(tick(-1, 2))
	require.Equal(t, timeseries.Older, older.Reason)
	dbtest.As[*entity.DecodeError](t, dbtest.ErrorOf(older.Current(w.Ctx)))
}
