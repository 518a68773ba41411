package timeseries_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Weather is what a weather station reports, and where it stands.
type Weather struct {
	_ entity.Key        `name:"Weather" pk:"$#{station}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"30d"`

	Station string    `dynamodbav:"station"`
	At      time.Time `dynamodbav:"at" entity:"time=s"`

	Celsius float64 `dynamodbav:"celsius" entity:"append"`
	Rain    *int    `dynamodbav:"rain,omitempty" entity:"append"` // not every station has a gauge

	Region    string    `dynamodbav:"region,omitempty"` // set by a background job; an append never touches it
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at,time=s"`
}

// printer is a database that prints plans: it has no client, and its clock stands still.
func printer() *entity.DB {
	return entity.Must(entity.Open(nil, entity.Config{
		Table: "app",
		Clock: func() time.Time { return time.Date(2026, 4, 22, 10, 0, 5, 0, time.UTC) },
		NewID: func() string { return "w-1" },
	}))
}

// An append advances the current item, if the event is newer, and keeps the event, in one transaction.
func ExampleOps_Append() {
	weather := entity.Must(timeseries.New[Weather](printer()))
	ten := time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

	fmt.Println(weather.Op().Append(Weather{Station: "s-1", At: ten, Celsius: 17.5}))
	// Output:
	// Append Weather on app
	//   update pk="$app#v1#weather#s-1" sk="$app#v1#weather"
	//          SET station = "s-1", at = "2026-04-22T10:00:00Z", celsius = 17.5, createdAt = if_not_exists(createdAt, "2026-04-22T10:00:05Z"), __edd_e__ = "Weather", _w = "w-1"
	//          if (attribute_not_exists(at) OR at < "2026-04-22T10:00:00Z") AND attribute_not_exists(_pv)
	//   put    pk="$app#v1#weather#s-1" sk="$app#v1#weather#e#2026-04-22T10:00:00Z"
	//          {__edd_e__="Weather", _at="2026-04-22T10:00:05.000000000Z", _k="e", _ttl=1779444005, _w="w-1", at="2026-04-22T10:00:00Z", celsius=17.5, station="s-1"}
	//          if attribute_not_exists(pk) OR _ttl <= 1776852005
}

// Payment is an event that has an id: two payments of one second are two events.
type Payment struct {
	_ entity.Key        `name:"Payment" pk:"$#{account}" sk:"$"`
	_ timeseries.Events `orderBy:"at" id:"payment" late:"record"`

	Account string    `dynamodbav:"account"`
	At      time.Time `dynamodbav:"at" entity:"time=s"`
	Payment string    `dynamodbav:"payment"`
	Cents   int       `dynamodbav:"cents" entity:"append"`
}

// The current item is compared by time, and by id where the times are equal.
func ExampleOps_Append_id() {
	payments := entity.Must(timeseries.New[Payment](printer()))
	ten := time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

	fmt.Println(payments.Op().Append(Payment{Account: "a-1", At: ten, Payment: "p-7", Cents: 1250}))
	// Output:
	// Append Payment on app
	//   update pk="$app#v1#payment#a-1" sk="$app#v1#payment"
	//          SET account = "a-1", at = "2026-04-22T10:00:00Z", payment = "p-7", cents = 1250, __edd_e__ = "Payment", _w = "w-1"
	//          if (attribute_not_exists(at) OR at < "2026-04-22T10:00:00Z" OR (at = "2026-04-22T10:00:00Z" AND (attribute_not_exists(payment) OR payment < "p-7"))) AND attribute_not_exists(_pv)
	//   put    pk="$app#v1#payment#a-1" sk="$app#v1#payment#e#2026-04-22T10:00:00Z#p-7"
	//          {__edd_e__="Payment", _at="2026-04-22T10:00:05.000000000Z", _k="e", _w="w-1", account="a-1", at="2026-04-22T10:00:00Z", cents=1250, payment="p-7"}
	//          if attribute_not_exists(pk)
}

// A condition of the caller is joined to the comparison of the clocks.
func ExampleOps_Append_condition() {
	weather := entity.Must(timeseries.New[Weather](printer()))
	w := entity.Fields[Weather]()
	ten := time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

	fmt.Println(weather.Op().Append(Weather{Station: "s-1", At: ten, Celsius: 17.5}, entity.If(entity.Eq(&w.Region, "alps"))))
	// Output:
	// Append Weather on app
	//   update pk="$app#v1#weather#s-1" sk="$app#v1#weather"
	//          SET station = "s-1", at = "2026-04-22T10:00:00Z", celsius = 17.5, createdAt = if_not_exists(createdAt, "2026-04-22T10:00:05Z"), __edd_e__ = "Weather", _w = "w-1"
	//          if (attribute_not_exists(at) OR at < "2026-04-22T10:00:00Z") AND region = "alps" AND attribute_not_exists(_pv)
	//   put    pk="$app#v1#weather#s-1" sk="$app#v1#weather#e#2026-04-22T10:00:00Z"
	//          {__edd_e__="Weather", _at="2026-04-22T10:00:05.000000000Z", _k="e", _ttl=1779444005, _w="w-1", at="2026-04-22T10:00:00Z", celsius=17.5, station="s-1"}
	//          if attribute_not_exists(pk) OR _ttl <= 1776852005
}

// A history is a range of events, newest first with Desc. Conditions on other fields are filters.
func ExampleSeries_History() {
	weather := entity.Must(timeseries.New[Weather](printer()))
	w := entity.Fields[Weather]()
	day := time.Date(2026, 4, 22, 0, 0, 0, 0, time.UTC)

	fmt.Println(weather.History(Weather{Station: "s-1"},
		entity.Between(&w.At, day, day.AddDate(0, 0, 1)), entity.Filter(entity.Gt(w.Rain, 0)), entity.Desc()))
	// Output:
	// History Weather on app
	//   key    pk = "$app#v1#weather#s-1" AND sk BETWEEN "$app#v1#weather#e#2026-04-22T00:00:00Z" AND "$app#v1#weather#e#2026-04-23T00:00:00Z"
	//   filter (attribute_not_exists(_ttl) OR _ttl > 1776852005) AND rain > 0
	//   order  descending
}

// Enrichment is written by Update and Upsert; what events carry is not theirs to change.
func ExampleSeries_Update() {
	weather := entity.Must(timeseries.New[Weather](printer()))
	w := entity.Fields[Weather]()

	fmt.Println(weather.Op().Update(Weather{Station: "s-1"}, entity.Set(&w.Region, "alps")))
	// Output:
	// Update Weather on app
	//   update pk="$app#v1#weather#s-1" sk="$app#v1#weather"
	//          SET region = "alps", _w = "w-1"
	//          if attribute_exists(pk) AND attribute_not_exists(_pv)
}

// Enrichment may come before the first event: what events carry is left out of an upsert.
func ExampleSeries_Upsert() {
	weather := entity.Must(timeseries.New[Weather](printer()))

	fmt.Println(weather.Op().Upsert(Weather{Station: "s-1", Region: "alps"}))
	// Output:
	// Upsert Weather on app
	//   update pk="$app#v1#weather#s-1" sk="$app#v1#weather"
	//          SET station = "s-1", region = "alps", createdAt = if_not_exists(createdAt, "2026-04-22T10:00:05Z"), __edd_e__ = "Weather", _w = "w-1"
	//          if attribute_not_exists(_pv)
}

// A log of all servers of a service takes more events than one partition of DynamoDB. It has no current item, so that an
// append is one plain write, and its events are in sixteen partitions.
func ExampleEvents() {
	type Audit struct {
		_ entity.Key        `name:"Audit" pk:"$#{service}" sk:"$"`
		_ timeseries.Events `orderBy:"at" ttl:"90d" shards:"16" current:"none"`

		Service string    `dynamodbav:"service"`
		At      time.Time `dynamodbav:"at"` // in nanoseconds, so that no two events have one time
		Actor   string    `dynamodbav:"actor" entity:"append"`
		Action  string    `dynamodbav:"action" entity:"append"`
	}
	audit := entity.Must(timeseries.New[Audit](printer()))
	ten := time.Date(2026, 4, 22, 10, 0, 0, 0, time.UTC)

	fmt.Println(audit.Op().Append(Audit{Service: "billing", At: ten, Actor: "ann", Action: "refund"}))
	fmt.Println(audit.Op().Append(Audit{Service: "billing", At: ten.Add(time.Second), Actor: "bob", Action: "login"}))
	history := audit.History(Audit{Service: "billing"}, entity.Desc(), entity.Limit(50)).String()
	fmt.Println(strings.Count(history, "\n  key "), "queries")
	_, err := audit.Get(context.Background(), Audit{Service: "billing"})
	fmt.Println(err)
	// Output:
	// Append Audit on app
	//   put    pk="$app#v1#audit#billing#e#12" sk="$app#v1#audit#e#2026-04-22T10:00:00.000000000Z"
	//          {__edd_e__="Audit", _at="2026-04-22T10:00:05.000000000Z", _k="e", _ttl=1784628005, _w="w-1", action="refund", actor="ann", at="2026-04-22T10:00:00.000000000Z", service="billing"}
	//          if attribute_not_exists(pk) OR _ttl <= 1776852005
	// Append Audit on app
	//   put    pk="$app#v1#audit#billing#e#12" sk="$app#v1#audit#e#2026-04-22T10:00:01.000000000Z"
	//          {__edd_e__="Audit", _at="2026-04-22T10:00:05.000000000Z", _k="e", _ttl=1784628005, _w="w-1", action="login", actor="bob", at="2026-04-22T10:00:01.000000000Z", service="billing"}
	//          if attribute_not_exists(pk) OR _ttl <= 1776852005
	// 16 queries
	// Get Audit: EDD-9190 timeseries_test.Audit: the series has no current item: it is declared with current:"none"
}

// List reads one item of each series, without the events that follow it.
func ExampleSeries_List() {
	weather := entity.Must(timeseries.New[Weather](printer()))

	fmt.Println(weather.List())
	// Output:
	// List Weather on app
	//   filter begins_with(sk, "$app#v1#weather") AND attribute_not_exists(_k) AND __edd_e__ = "Weather"
}

// Mistakes in a declaration are found when the program starts.
func ExampleNew() {
	type broken struct {
		_ entity.Key        `name:"Broken" pk:"$#{id}" sk:"$"`
		_ timeseries.Events `orderBy:"when"`

		ID   string    `dynamodbav:"id"`
		When time.Time `dynamodbav:"at"`
		V    int       `dynamodbav:"v" entity:"append"`
	}
	_, err := timeseries.New[broken](printer())
	var mistake *entity.SchemaError
	fmt.Println(errors.As(err, &mistake), mistake.Code)
	// Output: true EDD-9010
}

// That an event is late or a duplicate is an outcome and not an error.
func ExampleSeries_Append() {
	var ctx context.Context
	var weather *timeseries.Series[Weather] // of timeseries.New
	var ev Weather

	res, err := weather.Append(ctx, ev)
	switch {
	case err != nil:
		fmt.Println("not decided:", err)
	case res.Applied:
		fmt.Println("stored")
	case res.Reason == timeseries.Collision:
		fmt.Println("another event has this time:", res.Existing.Celsius)
	default: // the answer has the current item: no request
		current, err := res.Current(ctx)
		fmt.Println(res.Reason, "current is at", current.At, err)
	}
}

// A station's clock was far ahead, so that all later reports were late.
func ExampleSeries_Remove() {
	var ctx context.Context
	var weather *timeseries.Series[Weather] // of timeseries.New

	current, err := weather.Get(ctx, Weather{Station: "s-1"}, entity.Consistent())
	if err == nil && current.At.After(time.Now().Add(time.Hour)) {
		err = weather.Remove(ctx, current) // the report before it is current again
	}
	fmt.Println(err)
}

// In a transaction an event that is not applied fails the whole, with the item that won.
func ExampleNotAppliedError() {
	var ctx context.Context
	var db *entity.DB
	var weather *timeseries.Series[Weather]
	var ev Weather

	tick := weather.Op().Append(ev)
	err := db.Transact(ctx, tick, weather.Op().CheckExists(Weather{Station: "s-2"}))
	var stale *timeseries.NotAppliedError
	if errors.As(entity.FailureOf(err, tick), &stale) {
		winner, _ := entity.StoredItem[Weather](err)
		fmt.Println(stale.Reason, winner.At)
	}
}
