package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Pulse is a series in a table that is shared with effect-dynamodb.
type Pulse struct {
	_ entity.Key        `name:"Pulse" pk:"$#channel_{channel}#deviceid_{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#accountid_{accountId}" sk:"$#deviceid_{deviceId}"`
	_ entity.GSI        `name:"byState" index:"gsi2" pk:"$#state_{state}" sk:"$#at_{at}"`
	_ entity.GSI        `name:"bySite" index:"gsi3" pk:"$#site_{site}" sk:"$#at_{at}"`
	_ timeseries.Events `orderBy:"at" ttl:"7d" late:"record"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	At        time.Time `dynamodbav:"at"`
	State     *string   `dynamodbav:"state,omitempty" entity:"append"`
	Level     *int      `dynamodbav:"level,omitempty" entity:"append"`
	AccountID string    `dynamodbav:"accountId,omitempty"`
	Site      string    `dynamodbav:"site,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

func sharedTable(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }

// pulse is an event of device C-1 D-7, minute minutes after noon of a day when nothing has expired yet.
func pulse(minute, level int) Pulse {
	return Pulse{Channel: "C-1", DeviceID: "D-7", At: time.Date(2100, 12, 31, 12, minute, 0, 0, time.UTC), Level: &level}
}

const pulsePK, pulseSK = "$app#v1#pulse#channel_c-1#deviceid_d-7", "$app#v1#pulse"

func TestInterop_AnEventIsWhatEffectDynamoDBWrites(t *testing.T) {
	t.Parallel()
	w := open[Pulse](t, sharedTable, func(c *entity.Config) { c.TTL = "expiresAt" })
	require.True(t, w.append(pulse(1, 5)).Applied)
	stored := w.partition(pulsePK)
	require.Equal(t, map[string]map[string]string{
		pulseSK: {
			"pk": "S " + pulsePK, "sk": "S " + pulseSK, "__edd_e__": "S Pulse", "channel": "S C-1", "deviceId": "S D-7",
			"at": "S 2100-12-31T12:01:00.000Z", "level": "N 5", "createdAt": "S 2101-01-01T00:00:00.987Z",
			"gsi2sk": "S $app#v1#pulse#at_2100-12-31t12:01:00.000z", "gsi3sk": "S $app#v1#pulse#at_2100-12-31t12:01:00.000z",
		},
		pulseSK + "#e#2100-12-31t12:01:00.000z": {
			"pk": "S " + pulsePK, "sk": "S " + pulseSK + "#e#2100-12-31t12:01:00.000z", "__edd_e__": "S Pulse", "channel": "S C-1", "deviceId": "S D-7",
			"at": "S 2100-12-31T12:01:00.000Z", "level": "N 5", "expiresAt": "N 4134585600",
		},
	}, stored)
}

func TestInterop_EnrichmentAndAppendsKeepTheIndexesRight(t *testing.T) {
	t.Parallel()
	w, f := open[Pulse](t, sharedTable), entity.Fields[Pulse]()
	find := func(name string, partition Pulse) int {
		x := entity.Must(w.look.Index(name))
		found := entity.Must(x.Query(partition).Collect(t.Context()))
		return len(found)
	}
	_, created, err := w.Upsert(w.Ctx, Pulse{Channel: "C-1", DeviceID: "D-7", Site: "Ulm"})
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, 0, find("bySite", Pulse{Site: "ulm"}), "there is no orderBy yet")
	require.Equal(t, 0, find("byAccount", Pulse{AccountID: "a"}))
	require.True(t, w.append(pulse(1, 5)).Applied)
	require.Equal(t, 1, find("bySite", Pulse{Site: "ulm"}), "the append wrote the other key")
	w.Wire.Reset()
	entity.Must(w.Update(w.Ctx, pulse(0, 0), entity.Set(&f.AccountID, "A"), entity.Set(&f.Site, "Bonn")))
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
	entity.Must(w.Update(w.Ctx, pulse(0, 0), entity.Remove(&f.AccountID), entity.Remove(&f.Site)))
	require.Equal(t, 0, find("byAccount", Pulse{AccountID: "a"}))
	require.Equal(t, 0, find("bySite", Pulse{Site: "bonn"}))
	cur := w.partition(pulsePK)[pulseSK]
	require.NotContains(t, cur, "gsi1sk")
	require.Equal(t, "S $app#v1#pulse#at_2100-12-31t12:03:00.000z", cur["gsi3sk"], "appends keep this one alone")
	require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(w.Update(w.Ctx, pulse(0, 0), entity.Set(&f.Site, "Köln")))))
	entity.Must(w.Update(w.Ctx, pulse(0, 0), entity.Set(&f.Site, "Kiel")))
	require.Equal(t, 1, find("bySite", Pulse{Site: "kiel"}))
}

// pulseKey has the key parts only.
func pulseKey(channel string) Pulse { return Pulse{Channel: channel, DeviceID: "D-7"} }

func TestInterop_ALostAnswerOfAnAppendIsAskedForAgain(t *testing.T) {
	t.Parallel()
	for _, f := range everyFault {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			w := open[Pulse](t, sharedTable)
			w.seed(pulse(1, 1))
			w.Wire.Inject(nthOf(1, f))
			require.True(t, w.append(pulse(2, 2)).Applied)
			w.Wire.Inject(nthOf(1, f))
			require.Equal(t, timeseries.Duplicate, w.append(pulse(2, 2)).Reason)
			require.Len(t, w.history(pulse(0, 0)), 2)
			require.Equal(t, 2, *w.current(pulse(0, 0)).Level)
		})
	}
}

func TestKeyCase_NoEventGoesIntoASeriesWhoseKeyDiffersInCase(t *testing.T) {
	t.Parallel()
	w := open[Pulse](t, sharedTable)
	w.seed(pulse(5, 1))
	before := w.partition(pulsePK)
	for what, minute := range map[string]int{"newer": 9, "older": 3, "same": 5} {
		other := pulse(minute, 1)
		other.Channel = "c-1"
		require.ErrorIs(t, dbtest.ErrorOf(w.Append(w.Ctx, other)), entity.ErrKeyCase, what)
		results, err := w.AppendAll(w.Ctx, []Pulse{other})
		require.ErrorIs(t, err, entity.ErrKeyCase, what)
		require.False(t, results[0].Applied || results[0].Reason != "", what)
		require.ErrorIs(t, w.DB.Transact(w.Ctx, w.Op().Append(other)), entity.ErrKeyCase, what)
		require.ErrorIs(t, dbtest.ErrorOf(w.Update(w.Ctx, other, entity.Set(&entity.Fields[Pulse]().Site, "x"))), entity.ErrKeyCase, what)
		require.Equal(t, before, w.partition(pulsePK), what)
	}
	key, evening := pulseKey("c-1"), time.Date(2100, 12, 31, 23, 0, 0, 0, time.UTC)
	for what, read := range map[string]func() error{
		"Collect": func() error { _, err := w.History(key).Collect(w.Ctx); return err },
		"Count":   func() error { _, err := w.History(key).Count(w.Ctx); return err },
		"At":      func() error { _, err := w.At(w.Ctx, key, evening); return err },
		"Get":     func() error { _, err := w.Get(w.Ctx, key); return err },
	} {
		require.ErrorIs(t, read(), entity.ErrKeyCase, what)
	}
	got := entity.Must(w.At(w.Ctx, pulseKey("C-1"), time.Date(2100, 12, 31, 23, 0, 0, 0, time.UTC)))
	require.Equal(t, 1, *got.Level)
}

// Events remain after another program has deleted the current item. They keep the case of the series' key.
func TestKeyCase_EventsAloneKeepTheSpelling(t *testing.T) {
	t.Parallel()
	w := open[Pulse](t, sharedTable)
	w.seed(pulse(5, 1))
	w.RemoveItem(w.Key(pulsePK, pulseSK))
	other := pulse(5, 1)
	other.Channel = "c-1"
	require.ErrorIs(t, dbtest.ErrorOf(w.Append(w.Ctx, other)), entity.ErrKeyCase)
	require.ErrorIs(t, w.Purge(w.Ctx, pulseKey("c-1")), entity.ErrKeyCase)
	require.Len(t, w.partition(pulsePK), 1)
	require.NoError(t, w.Purge(w.Ctx, pulseKey("C-1")))
	require.Empty(t, w.partition(pulsePK))
}

func TestKeyCase_TwoSpellingsInOneCallAreRefusedBeforeAWrite(t *testing.T) {
	t.Parallel()
	w, other := open[Pulse](t, sharedTable), pulse(2, 2)
	other.DeviceID = "d-7"
	w.Wire.Reset()
	require.ErrorIs(t, dbtest.ErrorOf(w.AppendAll(w.Ctx, []Pulse{pulse(1, 1), other})), entity.ErrKeyCase)
	require.Equal(t, "EDD-9109", dbtest.InputCode(w.DB.Transact(w.Ctx, w.Op().Append(pulse(1, 1)), w.Op().Append(other))))
	require.Empty(t, w.operations())
	require.Empty(t, w.Items())
	require.NoError(t, w.DB.Transact(w.Ctx, w.Op().Append(pulse(1, 1)), w.Op().Append(pulse(2, 2))))
	require.Equal(t, 2, *w.current(pulse(0, 0)).Level)
}
