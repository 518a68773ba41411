package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Named types are keyed like what they are made of, and pointers like what they lead to.
type (
	deviceID string
	level    int8
	count    uint16
	onOff    bool
	moment   time.Time
)

// Gauge has a key part of every kind.
type Gauge struct {
	_ entity.Key `name:"Gauge" pk:"$#dev_{device}#{on}" sk:"$#{level}#{count:03}#{at}#end"`

	Device deviceID `dynamodbav:"device"`
	On     onOff    `dynamodbav:"on" entity:"zero"`
	Level  level    `dynamodbav:"level"`
	Count  *count   `dynamodbav:"count"`
	At     moment   `dynamodbav:"at" entity:"time=us"`
	Note   string   `dynamodbav:"note,omitempty"`
}

func TestKeys_NamedTypesAndPointers(t *testing.T) {
	t.Parallel()
	l, s := open[Gauge](t)
	f := entity.Fields[Gauge]()
	seven := count(7)
	at := moment(dawn.Truncate(time.Microsecond).In(time.FixedZone("", 7200)))
	key := Gauge{Device: "d#1", Level: 3, Count: &seven, At: at}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#gauge#dev_d%231#false" S"$app#v1#gauge#0000000000000000003#007#2024-05-06T07:08:09.123456Z#end"`)
	got, err := s.Update(t.Context(), key, entity.Set(&f.Note, "x"), entity.If(entity.Eq(&f.Level, 3), entity.Eq(f.Count, 7), entity.Eq(&f.At, at)))
	require.NoError(t, err)
	require.True(t, time.Time(got.At).Equal(time.Time(at)))
	require.EqualValues(t, 7, *got.Count)
	for name, opts := range map[string][]entity.QueryOption{
		"number":  {entity.Between(&f.Level, 3, 4)},
		"pointee": {entity.Eq(&f.Level, 3), entity.Ge(f.Count, 7)},
		"pointer": {entity.Eq(&f.Level, 3), entity.Eq(&f.Count, &seven)},
		"time":    {entity.Eq(&f.Level, 3), entity.Eq(f.Count, 7), entity.Le(&f.At, at)},
		"whole":   {entity.Eq(&f.Level, 3), entity.Eq(f.Count, 7), entity.Eq(&f.At, at)},
	} {
		one, err := s.Query(Gauge{Device: "d#1"}, opts...).One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, "x", one.Note, name)
	}
	n, err := s.Query(Gauge{Device: "d#1"}, entity.Eq(&f.Level, 3), entity.Gt(f.Count, 7)).Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	l.sent()
	_, err = s.Get(t.Context(), Gauge{Device: "d#1", Level: 3, At: at})
	l.requireRefused(t, err, "EDD-9101", "Count")
	wide := count(1000)
	_, err = s.Get(t.Context(), Gauge{Device: "d#1", Level: 3, Count: &wide, At: at})
	l.requireRefused(t, err, "EDD-9102", "Count")
	require.NoError(t, s.Delete(t.Context(), got))
}

// Epoch is keyed by times that are stored as numbers, in templates and natively.
type Epoch struct {
	_ entity.Key `name:"Epoch" pk:"$#{id}" sk:"$#{at}"`
	_ entity.GSI `name:"bySecond" index:"gsi1" pk:"id" sk:"second"`
	_ entity.GSI `name:"byMilli" index:"gsi2" pk:"gsi2pk={id}" sk:"gsi2sk={at:013}"`

	ID     string    `dynamodbav:"id"`
	At     time.Time `dynamodbav:"at" entity:"time=unixms"`
	Second time.Time `dynamodbav:"second,omitempty" entity:"time=unix"`
	Note   string    `dynamodbav:"note,omitempty"`
}

// What is stored as a number is found by the time that it stands for.
func TestKeys_TimesStoredAsNumbersAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	l, s := open[Epoch](t)
	f := entity.Fields[Epoch]()
	milli := dawn.Truncate(time.Millisecond)
	for i := range 3 {
		at := milli.Add(time.Duration(i) * time.Millisecond).In(time.FixedZone("", -3600))
		_, err := s.Create(t.Context(), Epoch{ID: "a", At: at, Second: milli.Truncate(time.Second).Add(time.Duration(i) * time.Second)})
		require.NoError(t, err)
	}
	it := l.everything(t)[`S"$app#v1#epoch#a" S"$app#v1#epoch#0000001714979289123"`]
	require.Equal(t, []string{"N1714979289123", "N1714979289", `S"1714979289123"`}, []string{it["at"], it["second"], it["gsi2sk"]})
	key := Epoch{ID: "a", At: milli}
	_, err := s.Update(t.Context(), key, entity.Set(&f.Note, "x"))
	require.NoError(t, err)
	got, err := s.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, milli, got.At)
	bySecond, err := s.Index("bySecond")
	require.NoError(t, err)
	byMilli, err := s.Index("byMilli")
	require.NoError(t, err)
	for name, q := range map[string]entity.Query[Epoch]{
		"template": s.Query(Epoch{ID: "a"}, entity.Gt(&f.At, milli.Add(1))),
		"verbatim": byMilli.Query(Epoch{ID: "a"}, entity.Between(&f.At, milli.Add(1), milli.Add(time.Hour))),
		"native":   bySecond.Query(Epoch{ID: "a"}, entity.Gt(&f.Second, milli)),
	} {
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, "%s: a finer bound is rounded inward", name)
	}
	l.sent()
	_, err = s.Get(t.Context(), Epoch{ID: "a", At: milli.Add(1)})
	l.requireRefused(t, err, "EDD-9102", "At")
	_, err = s.Create(t.Context(), Epoch{ID: "a", At: time.Unix(-1, 0)})
	l.requireRefused(t, err, "EDD-9102", "At")
}

func TestKeys_WithoutASortKey(t *testing.T) {
	t.Parallel()
	l, s := open[Clocked](t)
	_, err := s.Create(t.Context(), Clocked{ID: "a"})
	require.NoError(t, err)
	_, err = s.Create(t.Context(), Clocked{ID: "a"})
	require.ErrorIs(t, err, entity.ErrExists)
	one, err := s.Query(Clocked{ID: "a"}).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, "a", one.ID)
	_, err = s.Query(Clocked{ID: "a"}, entity.Eq(&entity.Fields[Clocked]().Unix, dawn)).Collect(t.Context())
	requireInput(t, err, "EDD-9006", "Unix")
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Delete(Clocked{ID: "a"}), s.Op().Create(Clocked{ID: "b"})))
}

// A part whose zero is real can be fixed by a condition; in the struct it would mean "not given".
func TestKeys_ZeroPartsAreQueriedByEq(t *testing.T) {
	t.Parallel()
	_, s := open[Counter](t)
	f := entity.Fields[Counter]()
	for i := range 3 {
		_, err := s.Create(t.Context(), Counter{N: uint64(i), Hits: i + 1})
		require.NoError(t, err)
	}
	one, err := s.Query(Counter{}, entity.Eq(&f.At, time.Time{}), entity.Eq(&f.N, 0)).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, one.Hits)
	n, err := s.Query(Counter{}, entity.Eq(&f.At, time.Time{}), entity.Gt(&f.N, 0)).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = s.Query(Counter{}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)
}
