package timeseries_test

import (
	"crypto/rand"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/goldentest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// paper is a database without a client, whose clock stands still.
func paper(t testing.TB) *entity.DB {
	db := entity.Must(entity.Open(nil, entity.Config{
		Table: "app",
		Clock: func() time.Time { return time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC) },
		NewID: func() string { return "write-id" },
	}))
	return db
}

func on[T any](t testing.TB) *timeseries.Series[T] { return entity.Must(timeseries.New[T](paper(t))) }

// Vault has secrets among what events carry, and in their key.
type Vault struct {
	_      entity.Key        `name:"Vault" pk:"$#{id}" sk:"$"`
	_      entity.GSI        `name:"byHolder" index:"gsi1" pk:"$#{holder}"`
	_      timeseries.Events `orderBy:"ticket" ttl:"90d"`
	ID     string            `dynamodbav:"id"`
	Ticket string            `dynamodbav:"ticket" entity:"secret"`
	Holder string            `dynamodbav:"holder" entity:"append,secret"`
	Note   string            `dynamodbav:"note,omitempty" entity:"secret"`
}

func TestPlan_OfEveryVerb(t *testing.T) {
	t.Parallel()
	telemetry, meters, singles, vaults := on[Telemetry](t), on[Meter](t), on[Single](t), on[Vault](t)
	trackers, scales := on[Tracker](t), on[Scale](t)
	sharded, alone, log, charges := on[Sharded](t), on[Alone](t), on[Log](t), on[Charge](t)
	c := entity.Fields[Charge]()
	f, v, enriched := entity.Fields[Telemetry](), entity.Fields[Vault](), tick(3, 3)
	enriched.AccountID, enriched.Diagnostics = "acct-1", "fine"
	for name, plan := range map[string]fmt.Stringer{
		"append":              telemetry.Op().Append(tick(0, 1)),
		"append-bare":         telemetry.Op().Append(bare(0)),
		"append-if":           telemetry.Op().Append(tick(0, 1), entity.If(entity.Or(entity.Eq(f.GPIO, 1), entity.NotExists(&f.AccountID)))),
		"append-without-ttl":  meters.Op().Append(reading(7, 70)),
		"append-stream":       singles.Op().Append(singleOf("g-1", fact{at: 1})),
		"append-native-key":   scales.Op().Append(Scale{ScaleID: "s-1", Time: start, Grams: 5}),
		"append-index-halves": trackers.Op().Append(Tracker{ID: "t", At: start, Zone: "hall", Floor: 2, Beacon: ptr("b")}),
		"append-secret":       vaults.Op().Append(Vault{ID: "v", Ticket: "T#1", Holder: "ann", Note: "n"}),
		"append-shards":       sharded.Op().Append(Sharded(singleOf("g-1", fact{at: 1}))),
		"append-alone":        alone.Op().Append(Alone(singleOf("g-1", fact{at: 1}))),
		"append-alone-shards": log.Op().Append(Log(singleOf("g-1", fact{at: 1}))),
		"append-id":           charges.Op().Append(charge("a", fact{at: 3, a: 7})),
		"remove":              telemetry.Op().Remove(tick(3, 3)),
		"remove-id":           charges.Op().Remove(charge("a", fact{at: 3, a: 7})),
		"remove-alone-shards": log.Op().Remove(Log(singleOf("g-1", fact{at: 1}))),
		"history-id":          charges.History(Charge{Account: "a"}, entity.Gt(&c.At, at(1)), entity.Le(&c.At, at(2))),
		"history-id-of":       charges.History(Charge{Account: "a"}, entity.Eq(&c.At, at(1)), entity.Ge(&c.Event, "a#b%")),
		"history-id-one":      charges.History(Charge{Account: "a"}, entity.Eq(&c.At, at(1)), entity.Eq(&c.Event, "#e#")),
		"history-shards":      log.History(Log(singleOf("g-1", fact{})), entity.Ge(&entity.Fields[Log]().At, at(0)), entity.Desc(), entity.Limit(3)),
		"history-alone":       alone.History(Alone(singleOf("g-1", fact{}))),
		"update":              telemetry.Op().Update(device, entity.Set(&f.AccountID, "acct-1"), entity.Remove(&f.Diagnostics)),
		"update-read":         trackers.Op().Update(Tracker{ID: "t"}, entity.Set(&entity.Fields[Tracker]().Owner, "ann")),
		"upsert":              telemetry.Op().Upsert(enriched),
		"checkexists":         telemetry.Op().CheckExists(device, entity.Ge(&f.Timestamp, at(0))),
		"history":             telemetry.History(device),
		"history-between":     telemetry.History(device, entity.Between(&f.Timestamp, at(0), at(10)), entity.Filter(entity.Eq(f.Alert, true)), entity.Desc()),
		"history-ge":          telemetry.History(device, entity.Ge(&f.Timestamp, at(0)), entity.IncludeExpired()),
		"history-gt":          telemetry.History(device, entity.Gt(&f.Timestamp, at(0))),
		"history-lt":          telemetry.History(device, entity.Lt(&f.Timestamp, at(0))),
		"history-le":          telemetry.History(device, entity.Le(&f.Timestamp, at(0))),
		"history-eq":          telemetry.History(device, entity.Eq(&f.Timestamp, at(0))),
		"history-empty":       telemetry.History(device, entity.Between(&f.Timestamp, at(1), at(0))),
		"history-stream":      singles.History(singleOf("g-1", fact{})),
		"history-secret":      vaults.History(Vault{ID: "v"}, entity.Gt(&v.Ticket, "T#1"), entity.Filter(entity.Eq(&v.Holder, "ann"))),
		"query-current":       singles.Query(Single{Gauged: Gauged{ID: "g-1"}}),
		"query-index":         entity.Must(telemetry.Index("byAccount")).Query(Telemetry{AccountID: "acct-1"}),
	} {
		goldentest.Check(t, "plans/"+name+".txt", plan.String()+"\n")
	}
}

func TestPlan_OfAMistakeIsItsCode(t *testing.T) {
	t.Parallel()
	telemetry, stamped, log := on[Telemetry](t), on[Stamped](t), on[Log](t)
	f := entity.Fields[Telemetry]()
	for code, plan := range map[string]fmt.Stringer{
		"EDD-9101": telemetry.Op().Append(Telemetry{Channel: "c-1", Timestamp: start}),
		"EDD-9113": stamped.Op().Append(Stamped{ID: "p", At: start.AddDate(1, 0, 0)}),
		"EDD-9104": telemetry.Op().Update(device, entity.Set(f.GPIO, 1)),
		"EDD-9190": log.Op().Upsert(Log(singleOf("g-1", fact{}))),
		"EDD-9191": log.Op().Append(Log(singleOf("g-1", fact{at: 1})), entity.If(entity.Eq(&entity.Fields[Log]().Value, 1))),
		"EDD-9166": log.History(Log(singleOf("g-1", fact{})), entity.MaxRequests(2)),
		"EDD-9115": telemetry.History(device, entity.Eq(f.Alert, true)),
	} {
		require.Contains(t, plan.String(), code)
	}
}

// ids numbers write ids and tokens, so that items can be compared byte by byte. The beginning is random: the database
// remembers tokens for longer than a test run.
func ids() (change func(*entity.Config), first string) {
	n, run := 0, rand.Text()
	id := func() string { n++; return fmt.Sprintf("%s-%d", run, n) }
	return func(c *entity.Config) { c.NewID = id }, run + "-1"
}

func TestLayout_CurrentAndEventByteForByte(t *testing.T) {
	numbered, id := ids()
	w, ev := open[Telemetry](t, numbered), tick(0, 1)
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

// Scale has a payload version, names of its own for keys, and a partition key that is the attribute itself.
type Scale struct {
	_       entity.Key        `name:"Scale" pk:"scaleId" sk:"$" payload:"3"`
	_       timeseries.Events `orderBy:"ms" ttl:"1h30m"`
	ScaleID string            `dynamodbav:"scaleId"`
	Time    time.Time         `dynamodbav:"ms" entity:"time=unixms"`
	Grams   int               `dynamodbav:"grams" entity:"append"`
	Owner   string            `dynamodbav:"owner,omitempty"`
}

func TestLayout_NamesPayloadVersionAndNativePartitionKey(t *testing.T) {
	numbered, id := ids()
	w := open[Scale](t, numbered, func(c *entity.Config) {
		c.SK, c.TTL, c.TimePrecision = "range", "expires", time.Millisecond
		c.Namespace = entity.Namespace{Name: "Shop", Version: 4}
	})
	require.True(t, w.append(Scale{ScaleID: "s#1", Time: time.UnixMilli(1700000000123), Grams: 12}).Applied)

	got := map[string]map[string]string{}
	for _, it := range w.Items() {
		got[dbtest.Text(it["range"])] = plain(it)
	}
	require.Equal(t, map[string]map[string]string{
		"$Shop#v4#scale": {
			"scaleId": "S s#1", "range": "S $Shop#v4#scale", "ms": "N 1700000000123", "grams": "N 12",
			"__edd_e__": "S Scale", "_w": "S " + id, "_pv": "N 3",
		},
		"$Shop#v4#scale#e#0000001700000000123": {
			"scaleId": "S s#1", "range": "S $Shop#v4#scale#e#0000001700000000123", "ms": "N 1700000000123", "grams": "N 12",
			"__edd_e__": "S Scale", "_k": "S e", "_at": "S 2101-01-01T00:00:00.987Z", "_w": "S " + id, "_pv": "N 3", "expires": "N 4133986200",
		},
	}, got)

	entity.Must(w.series.Update(w.Ctx, Scale{ScaleID: "s#1"}, entity.Set(&entity.Fields[Scale]().Owner, "me")))
	require.Equal(t, 12, w.current(Scale{ScaleID: "s#1"}).Grams)
	require.Len(t, w.history(Scale{ScaleID: "s#1"}), 1)
}

// Pulse is a series in a table that is shared with effect-dynamodb.
type Pulse struct {
	_         entity.Key        `name:"Pulse" pk:"$#channel_{channel}#deviceid_{deviceId}" sk:"$"`
	_         entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#accountid_{accountId}" sk:"$#deviceid_{deviceId}"`
	_         entity.GSI        `name:"byState" index:"gsi2" pk:"$#state_{state}" sk:"$#at_{at}"`
	_         entity.GSI        `name:"bySite" index:"gsi3" pk:"$#site_{site}" sk:"$#at_{at}"`
	_         timeseries.Events `orderBy:"at" ttl:"7d" late:"record"`
	Channel   string            `dynamodbav:"channel"`
	DeviceID  string            `dynamodbav:"deviceId"`
	At        time.Time         `dynamodbav:"at"`
	State     *string           `dynamodbav:"state,omitempty" entity:"append"`
	Level     *int              `dynamodbav:"level,omitempty" entity:"append"`
	AccountID string            `dynamodbav:"accountId,omitempty"`
	Site      string            `dynamodbav:"site,omitempty"`
	CreatedAt time.Time         `dynamodbav:"createdAt" entity:"created_at"`
}

func sharedTable(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }

// pulse is an event of device C-1 D-7, minute minutes after noon of a day when nothing has expired yet.
func pulse(minute, level int) Pulse {
	return Pulse{Channel: "C-1", DeviceID: "D-7", At: time.Date(2100, 12, 31, 12, minute, 0, 0, time.UTC), Level: &level}
}

const pulsePK, pulseSK = "$app#v1#pulse#channel_c-1#deviceid_d-7", "$app#v1#pulse"

func TestInterop_EnrichmentAndAppendsKeepTheIndexesRight(t *testing.T) {
	w, f := open[Pulse](t, sharedTable), entity.Fields[Pulse]()
	find := func(name string, partition Pulse) int {
		x := entity.Must(w.look.Index(name))
		found := entity.Must(x.Query(partition).Collect(t.Context()))
		return len(found)
	}
	_, created, err := w.series.Upsert(w.Ctx, Pulse{Channel: "C-1", DeviceID: "D-7", Site: "Ulm"})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, 0, find("bySite", Pulse{Site: "ulm"}), "there is no orderBy yet")
	require.Equal(t, 0, find("byAccount", Pulse{AccountID: "a"}))
	require.True(t, w.append(pulse(1, 5)).Applied)
	require.Equal(t, 1, find("bySite", Pulse{Site: "ulm"}), "the append wrote the other key")
	w.Wire.Reset()
	entity.Must(w.series.Update(w.Ctx, pulse(0, 0), entity.Set(&f.AccountID, "A"), entity.Set(&f.Site, "Bonn")))
	require.Equal(t, []string{"UpdateItem"}, w.operations(), "a key that appends write needs no read")
	require.Equal(t, 1, find("bySite", Pulse{Site: "bonn"}))
	require.Equal(t, 1, find("byAccount", Pulse{AccountID: "a"}))
	red := pulse(2, 6)
	red.State = new(string)
	*red.State = "RED"
	require.True(t, w.append(red).Applied)
	require.Equal(t, 1, find("byState", Pulse{State: red.State}))
	require.True(t, w.append(pulse(3, 7)).Applied)
	require.Equal(t, 1, find("byState", Pulse{State: red.State}), "not reported is not changed")
	entity.Must(w.series.Update(w.Ctx, pulse(0, 0), entity.Remove(&f.AccountID), entity.Remove(&f.Site)))
	require.Equal(t, 0, find("byAccount", Pulse{AccountID: "a"}))
	require.Equal(t, 0, find("bySite", Pulse{Site: "bonn"}))
	cur := w.partition(pulsePK)[pulseSK]
	require.NotContains(t, cur, "gsi1sk")
	require.Equal(t, "S $app#v1#pulse#at_2100-12-31t12:03:00.000z", cur["gsi3sk"], "appends keep this one alone")
	require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.series.Update(w.Ctx, pulse(0, 0), entity.Set(&f.Site, "Köln")))))
	entity.Must(w.series.Update(w.Ctx, pulse(0, 0), entity.Set(&f.Site, "Kiel")))
	require.Equal(t, 1, find("bySite", Pulse{Site: "kiel"}))
}

// pulseKey has the key parts only.
func pulseKey(channel string) Pulse { return Pulse{Channel: channel, DeviceID: "D-7"} }

func TestInterop_ALostAnswerOfAnAppendIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, f := range everyFault {
		t.Run(f.String(), func(t *testing.T) {
			w := open[Pulse](t, sharedTable)
			w.seed(pulse(1, 1))
			w.Wire.Inject(faults.Nth(1, f))
			require.True(t, w.append(pulse(2, 2)).Applied)
			w.Wire.Inject(faults.Nth(1, f))
			require.Equal(t, timeseries.Duplicate, w.append(pulse(2, 2)).Reason)
			require.Len(t, w.history(pulse(0, 0)), 2)
			require.Equal(t, 2, *w.current(pulse(0, 0)).Level)
		})
	}
}

func TestKeyCase_NoEventGoesIntoASeriesWhoseKeyDiffersInCase(t *testing.T) {
	w := open[Pulse](t, sharedTable)
	w.seed(pulse(5, 1))
	before := w.partition(pulsePK)
	for what, minute := range map[string]int{"newer": 9, "older": 3, "same": 5} {
		other := pulse(minute, 1)
		other.Channel = "c-1"
		require.ErrorIs(t, dbtest.ErrorOf(w.series.Append(w.Ctx, other)), entity.ErrKeyCase, what)
		results, err := w.series.AppendAll(w.Ctx, []Pulse{other})
		require.ErrorIs(t, err, entity.ErrKeyCase, what)
		require.False(t, results[0].Applied || results[0].Reason != "", what)
		require.ErrorIs(t, w.DB.Transact(w.Ctx, w.series.Op().Append(other)), entity.ErrKeyCase, what)
		require.ErrorIs(t, dbtest.ErrorOf(w.series.Update(w.Ctx, other, entity.Set(&entity.Fields[Pulse]().Site, "x"))), entity.ErrKeyCase, what)
		require.Equal(t, before, w.partition(pulsePK), what)
	}
	key, evening := pulseKey("c-1"), time.Date(2100, 12, 31, 23, 0, 0, 0, time.UTC)
	for what, read := range map[string]func() error{
		"Collect": func() error { _, err := w.series.History(key).Collect(w.Ctx); return err },
		"Count":   func() error { _, err := w.series.History(key).Count(w.Ctx); return err },
		"At":      func() error { _, err := w.series.At(w.Ctx, key, evening); return err },
		"Get":     func() error { _, err := w.series.Get(w.Ctx, key); return err },
	} {
		require.ErrorIs(t, read(), entity.ErrKeyCase, what)
	}
	got := entity.Must(w.series.At(w.Ctx, pulseKey("C-1"), time.Date(2100, 12, 31, 23, 0, 0, 0, time.UTC)))
	require.Equal(t, 1, *got.Level)
}

// Events remain after another program has deleted the current item. They keep the case of the series' key.
func TestKeyCase_EventsAloneKeepTheSpelling(t *testing.T) {
	w := open[Pulse](t, sharedTable)
	w.seed(pulse(5, 1))
	w.RemoveItem(w.Key(pulsePK, pulseSK))
	other := pulse(5, 1)
	other.Channel = "c-1"
	require.ErrorIs(t, dbtest.ErrorOf(w.series.Append(w.Ctx, other)), entity.ErrKeyCase)
	require.ErrorIs(t, w.series.Purge(w.Ctx, pulseKey("c-1")), entity.ErrKeyCase)
	require.Len(t, w.partition(pulsePK), 1)
	require.NoError(t, w.series.Purge(w.Ctx, pulseKey("C-1")))
	require.Empty(t, w.partition(pulsePK))
}

func TestKeyCase_TwoSpellingsInOneCallAreRefusedBeforeAWrite(t *testing.T) {
	w, other := open[Pulse](t, sharedTable), pulse(2, 2)
	other.DeviceID = "d-7"
	w.Wire.Reset()
	require.ErrorIs(t, dbtest.ErrorOf(w.series.AppendAll(w.Ctx, []Pulse{pulse(1, 1), other})), entity.ErrKeyCase)
	require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, w.series.Op().Append(pulse(1, 1)), w.series.Op().Append(other))))
	require.Empty(t, w.operations())
	require.Empty(t, w.Items())
	require.NoError(t, w.DB.Transact(w.Ctx, w.series.Op().Append(pulse(1, 1)), w.series.Op().Append(pulse(2, 2))))
	require.Equal(t, 2, *w.current(pulse(0, 0)).Level)
}
