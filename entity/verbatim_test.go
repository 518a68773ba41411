package entity_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Gadget is an item of a table whose form other programs rely on: nothing may be in it that is not here.
type Gadget struct {
	_ entity.Key `name:"Gadget" pk:"hardware_id"`
	_ entity.GSI `name:"all" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`

	HardwareID   string          `dynamodbav:"hardware_id"`
	Confirmation string          `dynamodbav:"confirmation_id" entity:"set_once"`
	Sensors      []string        `dynamodbav:"sensors" entity:"notnull"`
	Features     map[string]bool `dynamodbav:"features" entity:"notnull"`
	FirstSeen    time.Time       `dynamodbav:"first_seen_at" entity:"set_once,time=s"`
	LastSeen     time.Time       `dynamodbav:"last_seen_at" entity:"time=s"`
	LastUsed     time.Time       `dynamodbav:"last_used_at,omitempty" entity:"time=s"`
	Booted       time.Time       `dynamodbav:"booted_ms,omitempty" entity:"time=unixms"`
	Ends         time.Time       `dynamodbav:"ends,omitempty" entity:"time=unix"`
	Name         string          `dynamodbav:"friendly_name,omitempty"`
}

const gadgetID = "AA:BB:CC:00:11:22"

func gadget() Gadget {
	at := dawn.Truncate(time.Second).In(time.FixedZone("", 3600)) // what is in a key is not truncated in silence
	return Gadget{HardwareID: gadgetID, Confirmation: "550e8400-e29b-41d4-a716-446655440000", FirstSeen: at, LastSeen: at}
}

func gadgetKey() map[string]types.AttributeValue { return keys("hardware_id", gadgetID) }

func TestVerbatim_AnItemHasTheAttributesOfTheStructAndNoOther(t *testing.T) {
	t.Parallel()
	l, s := open[Gadget](t)
	v, at := gadget(), "2024-05-06T07:08:09Z"
	l.OK(s.Create(t.Context(), v))
	want := raw{
		"hardware_id": `S"` + gadgetID + `"`, "confirmation_id": `S"550e8400-e29b-41d4-a716-446655440000"`, "sensors": "L[]", "features": "M{}",
		"first_seen_at": `S"` + at + `"`, "last_seen_at": `S"` + at + `"`, "gsi1pk": `S"devices"`, "gsi1sk": `S"` + at + `"`,
	}
	require.Equal(t, want, l.stored(gadgetKey()), "what is optional is absent, and nil is neither NULL nor absent")
	v.Sensors, v.Features, v.Name, v.LastUsed, v.Booted, v.Ends = []string{"b", "a"}, map[string]bool{"led": false}, "dock 4", dawn.In(time.FixedZone("", -3600)), dawn, dawn
	l.OK(s.Put(t.Context(), v))
	want["sensors"], want["features"], want["friendly_name"] = `L[S"b" S"a"]`, `M{led=false}`, `S"dock 4"`
	want["last_used_at"], want["booted_ms"], want["ends"] = `S"`+at+`"`, "N1714979289123", "N1714979289"
	require.Equal(t, want, l.stored(gadgetKey()), "lists keep their order and are no sets")
	v.LastSeen = dawn
	_, err := s.Put(t.Context(), v)
	var finer *entity.InputError
	require.ErrorAs(t, err, &finer)
	require.Equal(t, "LastSeen", finer.Field, "a key is not truncated")
	got := entity.Must(s.Get(t.Context(), v))
	whole := dawn.Truncate(time.Second)
	require.Equal(t, []time.Time{whole, whole, whole, dawn.Truncate(time.Millisecond), whole}, []time.Time{got.FirstSeen, got.LastSeen, got.LastUsed, got.Booted, got.Ends}, "in UTC")
}

func TestVerbatim_NilIsAnEmptyMapOrListOnEveryPath(t *testing.T) {
	t.Parallel()
	l, s := open[Gadget](t)
	g := entity.Fields[Gadget]()
	full := gadget()
	full.Sensors, full.Features = []string{"a"}, map[string]bool{"led": true}
	for name, write := range map[string]func() error{
		"put":    func() error { return dbtest.ErrorOf(s.Put(t.Context(), gadget())) },
		"upsert": func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), gadget())) },
		"batch": func() error {
			return dbtest.ErrorOf(s.PutMany(t.Context(), []Gadget{gadget()}, entity.Unconditional()))
		},
		"update": func() error {
			return dbtest.ErrorOf(s.Update(t.Context(), full, entity.Set(&g.Sensors, nil), entity.Set(&g.Features, nil)))
		},
		"modify": func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), full, func(g *Gadget) error { g.Sensors, g.Features = nil, nil; return nil }))
		},
		"transact": func() error { return l.DB.Transact(t.Context(), s.Op().Put(gadget())) },
	} {
		l.OK(s.Put(t.Context(), full))
		require.Equal(t, `L[S"a"]`, l.stored(gadgetKey())["sensors"])
		require.NoError(t, write(), name)
		it := l.stored(gadgetKey())
		require.Equal(t, []string{"L[]", "M{}"}, []string{it["sensors"], it["features"]}, name)
	}
	updated, err := s.Update(t.Context(), full, entity.ListAppend(&g.Sensors, "x"), entity.MapEntry(&g.Features, "led").Set(true))
	require.NoError(t, err, "there is a list to append to, and a map to set an entry in")
	require.Equal(t, []string{"x"}, updated.Sensors)
	got := entity.Must(s.Get(t.Context(), full, entity.Consistent()))
	require.Equal(t, map[string]bool{"led": true}, got.Features)
}

// Other programs have written times in other spellings, and without the copy.
func TestVerbatim_TimesOfOtherProgramsAreReadAndWrittenInOneForm(t *testing.T) {
	t.Parallel()
	l, s := open[Gadget](t)
	g := entity.Fields[Gadget]()
	for stored, want := range map[string]time.Time{
		"2024-05-06T07:08:09+00:00":           time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
		"2024-05-06T07:08:09.123456789+00:00": dawn,
		"2024-05-06T07:08:09.5Z":              time.Date(2024, 5, 6, 7, 8, 9, 5e8, time.UTC),
		"2024-05-06T09:38:09+02:30":           time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
		"2024-05-06t07:08:09z":                time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC),
	} {
		it := keys("hardware_id", gadgetID, "gsi1pk", "devices", "first_seen_at", stored, "last_seen_at", stored, "gsi1sk", stored,
			"confirmation_id", "550e8400-e29b-41d4-a716-446655440000")
		l.OK(l.Raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.Table, Item: it}))
		got := entity.Must(s.Get(t.Context(), gadget(), entity.Consistent()))
		require.Equal(t, []time.Time{want, want}, []time.Time{got.FirstSeen, got.LastSeen}, stored)

		l.OK(s.Modify(t.Context(), got, func(g *Gadget) error { g.Name = "n"; return nil }))
		after := l.stored(gadgetKey())
		text := `S"2024-05-06T07:08:09Z"`
		copied := text
		if !want.Truncate(time.Second).Equal(want) {
			copied = `S"` + stored + `"`
		}
		require.Equal(t, []string{`S"` + stored + `"`, copied}, []string{after["last_seen_at"], after["gsi1sk"]}, "what did not change stays as it is; its copy gets the form that has an order, if nothing is lost")
		_, err := s.Modify(t.Context(), got, func(g *Gadget) error { g.LastSeen = g.LastSeen.Add(time.Nanosecond); return nil })
		var finer *entity.InputError
		require.ErrorAs(t, err, &finer, "a change must fit")
		l.OK(s.Update(t.Context(), got, entity.Set(&g.LastSeen, got.LastSeen.Truncate(time.Second))))
		after = l.stored(gadgetKey())
		require.Equal(t, []string{text, text, `S"` + stored + `"`}, []string{after["last_seen_at"], after["gsi1sk"], after["first_seen_at"]})
	}
	l.OK(l.Raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.Table, Item: keys("hardware_id", gadgetID, "last_seen_at", "yesterday")}))
	_, err := s.Get(t.Context(), gadget(), entity.Consistent())
	requireMisfit(t, err, "last_seen_at")
}

// Reading13 has a composed key of another program, and numbers in several places.
type Reading13 struct {
	_ entity.Key `name:"Reading13" pk:"hardware_id" sk:"ts_batch={timestamp_ms:013}#{batch_id}"`

	HardwareID string             `dynamodbav:"hardware_id"`
	Timestamp  int64              `dynamodbav:"timestamp_ms"`
	BatchID    string             `dynamodbav:"batch_id"`
	Sensors    map[string]float64 `dynamodbav:"sensors" entity:"notnull"`
	Set        []float64          `dynamodbav:"set,omitempty,numberset"`
	Count      float64            `dynamodbav:"count"`
}

// internal/item refuses them wherever they are in a whole value.
func TestVerbatim_ChangesToNoNumberAreRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Reading13](t)
	f, key := entity.Fields[Reading13](), Reading13{HardwareID: "h", Timestamp: 1, BatchID: "b"}
	for _, x := range []float64{math.NaN(), math.Inf(-1), math.MaxFloat64} {
		for field, change := range map[string]entity.UpdateOption{
			"Count": entity.Add(&f.Count, x), "Set": entity.AddToSet(&f.Set, 1, x), "Sensors": entity.MapEntry(&f.Sensors, "t").Set(x),
		} {
			_, err := s.Update(t.Context(), key, change)
			l.requireRefused(t, err, "EDD-9102", field)
		}
		_, err := s.Update(t.Context(), key, entity.DeleteFromSet(&f.Set, x))
		l.requireRefused(t, err, "EDD-9102", "Set")
	}
}

func TestVerbatim_APaddedKeyRefusesWhatWouldBreakItsOrder(t *testing.T) {
	t.Parallel()
	l, s := open[Reading13](t)
	f := entity.Fields[Reading13]()
	for at, text := range map[int64]string{1: "0000000000001#b", 1704067800000: "1704067800000#b", 9999999999999: "9999999999999#b"} {
		v := Reading13{HardwareID: "h", Timestamp: at, BatchID: "b"}
		l.OK(s.Create(t.Context(), v))
		require.Equal(t, fmt.Sprintf("N%d", at), l.stored(keys("hardware_id", "h", "ts_batch", text))["timestamp_ms"])
	}
	l.Sent()
	for _, at := range []int64{-1, math.MinInt64, 10000000000000, math.MaxInt64} {
		v := Reading13{HardwareID: "h", Timestamp: at, BatchID: "b"}
		_, err := s.Create(t.Context(), v)
		l.requireRefused(t, err, "EDD-9102", "Timestamp")
		_, err = s.Get(t.Context(), v)
		l.requireRefused(t, err, "EDD-9102", "Timestamp")
	}
	_, err := s.Create(t.Context(), Reading13{HardwareID: "h", BatchID: "b"})
	l.requireRefused(t, err, "EDD-9101", "Timestamp")
	key := Reading13{HardwareID: "h", Timestamp: 1, BatchID: "b"}
	for field, change := range map[string]entity.UpdateOption{
		"Timestamp": entity.Set(&f.Timestamp, 2), "BatchID": entity.Set(&f.BatchID, "c"), "HardwareID": entity.Set(&f.HardwareID, strings.ToUpper("h")),
	} {
		_, err := s.Update(t.Context(), key, change)
		l.requireRefused(t, err, "EDD-9104", field)
	}
	_, err = s.Update(t.Context(), key, entity.Add(&f.Timestamp, 1))
	l.requireRefused(t, err, "EDD-9104", "Timestamp")
	_, err = s.Update(t.Context(), key, entity.Attr[string]("ts_batch").Set("x"))
	l.requireRefused(t, err, "EDD-9105", "")
	_, err = s.Modify(t.Context(), key, func(s *Reading13) error { s.Timestamp = 2; return nil })
	require.Equal(t, "EDD-9104", dbtest.InputCode(err))
}
