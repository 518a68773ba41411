package migrate_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// The charges got an id: before, and since.
type (
	timed struct {
		_ entity.Key        `name:"Charge" pk:"$#{account}" sk:"$"`
		_ timeseries.Events `orderBy:"at" late:"record" ttl:"30d" shards:"3"`
		chargeFields
	}
	identified struct {
		_ entity.Key        `name:"Charge" pk:"$#{account}" sk:"$"`
		_ timeseries.Events `orderBy:"at" id:"event" late:"record" ttl:"30d" shards:"3"`
		chargeFields
	}
	chargeFields struct {
		Account string    `dynamodbav:"account"`
		At      time.Time `dynamodbav:"at"`
		Event   string    `dynamodbav:"event" entity:"append"`
		Cents   int       `dynamodbav:"cents" entity:"append"`
	}
)

func chargeAt(second int, event string, cents int) chargeFields {
	return chargeFields{Account: "x", At: dbtest.Start.Add(time.Duration(second) * time.Second), Event: event, Cents: cents}
}

// charges opens the series as it is declared since, with three events and a current item of before.
func charges(t *testing.T) (*dbtest.Bench, *timeseries.Series[identified]) {
	t.Helper()
	b := dbtest.Open(t)
	before := entity.Must(timeseries.New[timed](b.Open(b.Raw)))
	series := entity.Must(timeseries.New[identified](b.DB))
	b.CreateTables()
	for i, event := range []string{"a", "#e#", "c"} {
		b.OK(before.Append(b.Ctx, timed{chargeFields: chargeAt(i, event, i)}))
	}
	b.Wire.Reset()
	return b, series
}

// eventsOf returns the stored events by their sort key.
func eventsOf(b *dbtest.Bench) map[string]dbtest.Item {
	all := map[string]dbtest.Item{}
	for _, it := range b.Items() {
		if it["_k"] != nil {
			all[dbtest.Text(it["sk"])] = it
		}
	}
	return all
}

func cents(t *testing.T, b *dbtest.Bench, series *timeseries.Series[identified], opts ...entity.QueryOption) (all []int) {
	t.Helper()
	for _, ev := range entity.Must(series.History(identified{chargeFields: chargeFields{Account: "x"}}, opts...).Collect(b.Ctx)) {
		all = append(all, ev.Cents)
	}
	return all
}

func TestEventIDs_ARewriteMovesTheEventsOfBefore(t *testing.T) {
	t.Parallel()
	b, series := charges(t)
	f, key := entity.Fields[identified](), identified{chargeFields: chargeFields{Account: "x"}}
	at1 := dbtest.Start.Add(time.Second)
	require.Equal(t, []int{0, 1, 2}, cents(t, b, series), "a history has the events of before")
	require.Equal(t, []int{1, 2}, cents(t, b, series, entity.Ge(&f.At, at1)))
	require.Equal(t, []int{2}, cents(t, b, series, entity.Gt(&f.At, at1)))
	require.Equal(t, []int{0, 1}, cents(t, b, series, entity.Le(&f.At, at1)))
	require.Equal(t, []int{0}, cents(t, b, series, entity.Lt(&f.At, at1)))
	require.Empty(t, cents(t, b, series, entity.Eq(&f.At, at1)), "except by Eq")
	require.Equal(t, 1, entity.Must(series.At(b.Ctx, key, at1)).Cents)

	was := eventsOf(b)
	dry := entity.Must(migrate.Rewrite(b.Ctx, series, migrate.DryRun()))
	require.Equal(t, map[migrate.Reason]int{migrate.EventKeys: 3}, dry.Reasons)
	require.Equal(t, migrate.Cost{Requests: 1 + 3*2, ReadUnits: 1 + 3, WriteUnits: 12}, dry.Estimate, "a scan; a read and a transaction for each")
	require.Equal(t, was, eventsOf(b))
	r := entity.Must(migrate.Rewrite(b.Ctx, series))
	require.Equal(t, 3, r.Rewritten)
	require.Zero(t, r.Skipped())
	is := eventsOf(b)
	require.Len(t, is, 3)
	for sk, it := range was {
		moved := is[sk+"#"+strings.ReplaceAll(dbtest.Text(it["event"]), "#", "%23")]
		require.NotNil(t, moved, sk)
		require.Equal(t, without(it, "pk", "sk"), without(moved, "pk", "sk"), "its write id, accept time and end stay")
	}
	require.Equal(t, []int{0, 1, 2}, cents(t, b, series))
	require.Equal(t, []int{1}, cents(t, b, series, entity.Eq(&f.At, at1)))
	require.Zero(t, entity.Must(migrate.Rewrite(b.Ctx, series)).Rewritten)
	b.OK(migrate.Check(b.Ctx, series, func(f migrate.Finding) error { t.Error(f); return nil }))
	require.NoError(t, series.Purge(b.Ctx, key))
	require.Empty(t, b.Items())
}

func TestEventIDs_WhatARewriteDoesNotMove(t *testing.T) {
	t.Parallel()
	b, series := charges(t)
	was := eventsOf(b)
	again := func(second int, event string, cents int) timeseries.Reason {
		return entity.Must(series.Append(b.Ctx, identified{chargeFields: chargeAt(second, event, cents)})).Reason
	}
	require.Equal(t, timeseries.LateRecorded, again(0, "a", 0), "the same event, by a program of since")
	require.Equal(t, timeseries.LateRecorded, again(1, "#e#", 7), "another one with the id")
	for _, it := range was {
		if dbtest.Text(it["event"]) == "c" {
			b.PutItem(without(it, "event"))
		}
	}
	var orphan dbtest.Item
	for sk := range was {
		orphan = without(was[sk])
	}
	orphan["pk"], orphan["account"] = dbtest.S(strings.Replace(dbtest.Text(orphan["pk"]), "#x#", "#gone#", 1)), dbtest.S("gone")
	orphan["event"] = dbtest.S("o")
	b.PutItem(orphan)

	r := entity.Must(migrate.Rewrite(b.Ctx, series))
	require.Equal(t, map[migrate.Problem]int{migrate.EventTaken: 1, migrate.NoEventID: 1}, r.Problems)
	require.Equal(t, 2, r.Rewritten, "the event that is under both keys stays under the new one, and one without a current item is moved")
	require.Equal(t, []int{0, 1, 7, 2}, cents(t, b, series))
}

// A purge that runs meanwhile leaves nothing of what is moved; an event that is gone stays so.
func TestEventIDs_APurgeDuringAMove(t *testing.T) {
	t.Parallel()
	for n := range 6 {
		b, series := charges(t)
		other := entity.Must(timeseries.New[identified](b.Open(b.Raw)))
		seen := 0
		move := func(r faults.Request) bool { // the read and the transaction of each event
			seen++
			return seen == n+2
		}
		err := b.Overtake(move, func() error { return dbtest.ErrorOf(migrate.Rewrite(b.Ctx, series)) }, func() {
			require.NoError(t, other.Purge(b.Ctx, identified{chargeFields: chargeFields{Account: "x"}}))
		})
		require.NoError(t, err)
		require.Empty(t, b.Items())
	}
}

func TestEventIDs_AMoveDuringAPurge(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 8; n++ {
		b, series := charges(t)
		other, seen := entity.Must(timeseries.New[identified](b.Open(b.Raw))), 0
		nth := func(r faults.Request) bool {
			seen++
			return seen == n
		}
		require.NoError(t, b.Overtake(nth, func() error { return series.Purge(b.Ctx, identified{chargeFields: chargeFields{Account: "x"}}) }, func() {
			b.OK(migrate.Rewrite(b.Ctx, other))
		}))
		require.Empty(t, b.Items(), "request %d", n)
	}
}

// Another program appends the event that is being moved, or another event with its time and id.
func TestEventIDs_AnAppendDuringAMove(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"the same event": 0, "another one": 7} {
		b, series := charges(t)
		other := entity.Must(timeseries.New[identified](b.Open(b.Raw)))
		moving := func(r faults.Request) bool {
			return r.Operation == "TransactWriteItems" && strings.Contains(string(r.Body), `Z#a"`)
		}
		var r migrate.Report
		require.NoError(t, b.Overtake(moving, func() (err error) { r, err = migrate.Rewrite(b.Ctx, series); return err }, func() {
			b.OK(other.Append(b.Ctx, identified{chargeFields: chargeAt(0, "a", n)}))
		}), name)
		if n == 0 {
			require.Equal(t, []int{0, 1, 2}, cents(t, b, series), name)
		} else {
			require.Equal(t, map[migrate.Problem]int{migrate.EventTaken: 1}, r.Problems)
			require.Equal(t, []int{0, 7, 1, 2}, cents(t, b, series), name)
		}
	}
}

// phased is a series whose times are texts.
type phased struct {
	_ entity.Key        `name:"Phased" pk:"$#{run}" sk:"$#{part}"`
	_ timeseries.Events `orderBy:"phase" id:"n" late:"record"`

	Run   string `dynamodbav:"run"`
	Part  string `dynamodbav:"part"`
	Phase string `dynamodbav:"phase"`
	N     int    `dynamodbav:"n"`
	Value int    `dynamodbav:"value" entity:"append"`
}

// A time, or a part of the key, can be the text that marks events in keys.
func TestEventIDs_TheTextOfAMarkInATime(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	series := entity.Must(timeseries.New[phased](b.DB))
	b.CreateTables()
	for n, phase := range []string{"e", "d", "e", "e#e"} {
		b.OK(series.Append(b.Ctx, phased{Run: "e", Part: "e", Phase: phase, N: n + 1}))
	}
	b.OK(migrate.Check(b.Ctx, series, func(f migrate.Finding) error { t.Error(f); return nil }))
	r := entity.Must(migrate.Rewrite(b.Ctx, series))
	require.Equal(t, []int{5, 0, 0}, []int{r.Items, r.Rewritten, r.Skipped()})
}

func TestEventIDs_EveryFaultOfEveryRequestOfAMove(t *testing.T) {
	t.Parallel()
	b, series := charges(t)
	was := b.Items()
	b.OK(migrate.Rewrite(b.Ctx, series))
	is, requests := b.ItemsByKey(), len(b.Wire.Requests())
	for n := 1; n <= requests; n++ {
		for _, f := range []faults.Fault{faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost} {
			for _, it := range b.Items() {
				b.RemoveItem(it)
			}
			for _, it := range was {
				b.PutItem(it)
			}
			b.Wire.Inject(faults.Nth(n, f))
			_, err := migrate.Rewrite(b.Ctx, series)
			b.Wire.Inject(nil)
			if err != nil {
				b.OK(migrate.Rewrite(b.Ctx, series))
			}
			require.Equal(t, is, b.ItemsByKey(), "request %d, fault %v", n, f)
		}
	}
}
