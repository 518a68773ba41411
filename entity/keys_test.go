package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A verbatim template writes values as they are; one that could be read in two ways is refused.
func TestKeys_VerbatimValueMayNotHoldWhatFollowsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Pallet](t)
	_, err := s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north/west", Row: 1})
	l.requireRefused(t, err, "EDD-9102", "Hall")
	_, err = s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&entity.Fields[Pallet]().Hall, "a/b"), entity.Set(&entity.Fields[Pallet]().Row, 2))
	l.requireRefused(t, err, "EDD-9102", "Hall")
	l.OK(s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north west", Row: 1}))
}

// Wired has key parts whose stored form is not their Go form: an epoch, a fraction, a folded text.
type Wired struct {
	_ entity.Key `name:"Wired" pk:"$#{day}#{serial}" sk:"$#{at}#{host|lower}"`
	_ entity.GSI `name:"bySerial" index:"gsi1" pk:"$#{serial}" sk:"$#{at}"`

	Day    time.Time `dynamodbav:"day" entity:"time=unix"`
	Serial int64     `dynamodbav:"serial"`
	At     time.Time `dynamodbav:"at" entity:"time=ms"`
	Host   string    `dynamodbav:"host"`
	Note   string    `dynamodbav:"note,omitempty"`
}

// Whatever form a key part has on disk, the struct that wrote the item reads, changes, lists and deletes it.
func TestKeys_TheStructThatWroteAnItemFindsItByEveryVerb(t *testing.T) {
	t.Parallel()
	l, s := open[Wired](t)
	f := entity.Fields[Wired]()
	east := time.FixedZone("", 5*3600+1800)
	made := Wired{Day: dawn.Truncate(time.Second).In(east), Serial: 42, At: dawn.Truncate(time.Millisecond).In(east), Host: "Web#1"}
	l.OK(s.Create(t.Context(), made))
	at := `$app#v1#wired#0000000001714979289#0000000000000000042 $app#v1#wired#2024-05-06T07:08:09.123Z#web%231`
	require.Contains(t, l.everything(), at)

	read := entity.Must(s.Get(t.Context(), made))
	for what, key := range map[string]Wired{"as written": made, "as read": read, "key parts only": {Day: read.Day.Local(), Serial: 42, At: read.At.Local(), Host: "WEB#1"}} {
		_, err := s.Create(t.Context(), key)
		require.ErrorIs(t, err, entity.ErrExists, what)
		_, err = s.Update(t.Context(), key, entity.Set(&f.Note, what))
		require.NoError(t, err, what)
		_, err = s.Modify(t.Context(), key, func(v *Wired) error { v.Note += "!"; return nil })
		require.NoError(t, err, what)
		many, err := s.GetMany(t.Context(), []Wired{key}, entity.Consistent())
		require.NoError(t, err, what)
		require.NotNil(t, many[0], what)
		require.Equal(t, what+"!", many[0].Note)
		loaded := key
		require.NoError(t, l.DB.TransactGet(t.Context(), s.Op().GetInto(&loaded)), what)
		require.NoError(t, l.DB.Transact(t.Context(), s.Op().CheckExists(key, entity.Eq(&f.Serial, 42), entity.Eq(&f.At, key.At), entity.Eq(&f.Day, key.Day))), what)
		one, err := s.Query(Wired{Day: key.Day, Serial: 42}, entity.Eq(&f.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
		bySerial := entity.Must(s.Index("bySerial"))
		one, err = bySerial.Query(Wired{Serial: 42}, entity.Between(&f.At, key.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
	}
	require.Len(t, l.everything(), 1)
	require.NoError(t, s.Delete(t.Context(), read))
	require.Empty(t, l.everything())
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

// What is stored as a number is found by the time that it represents.
func TestKeys_TimesStoredAsNumbersAreFoundByTheirTime(t *testing.T) {
	t.Parallel()
	l, s := open[Epoch](t)
	f := entity.Fields[Epoch]()
	milli := dawn.Truncate(time.Millisecond)
	for i := range 3 {
		at := milli.Add(time.Duration(i) * time.Millisecond).In(time.FixedZone("", -3600))
		l.OK(s.Create(t.Context(), Epoch{ID: "a", At: at, Second: milli.Truncate(time.Second).Add(time.Duration(i) * time.Second)}))
	}
	it := l.everything()[`$app#v1#epoch#a $app#v1#epoch#0000001714979289123`]
	require.Equal(t, []string{"N1714979289123", "N1714979289", `S"1714979289123"`}, []string{it["at"], it["second"], it["gsi2sk"]})
	key := Epoch{ID: "a", At: milli}
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Note, "x")))
	got := entity.Must(s.Get(t.Context(), key))
	require.Equal(t, milli, got.At)
	bySecond := entity.Must(s.Index("bySecond"))
	byMilli := entity.Must(s.Index("byMilli"))
	for name, q := range map[string]entity.Query[Epoch]{
		"template": s.Query(Epoch{ID: "a"}, entity.Gt(&f.At, milli.Add(1))),
		"verbatim": byMilli.Query(Epoch{ID: "a"}, entity.Between(&f.At, milli.Add(1), milli.Add(time.Hour))),
		"native":   bySecond.Query(Epoch{ID: "a"}, entity.Gt(&f.Second, milli)),
	} {
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, "%s: a finer bound is rounded inward", name)
	}
	l.Sent()
	_, err := s.Get(t.Context(), Epoch{ID: "a", At: milli.Add(1)})
	l.requireRefused(t, err, "EDD-9102", "At")
	_, err = s.Create(t.Context(), Epoch{ID: "a", At: time.Unix(-1, 0)})
	l.requireRefused(t, err, "EDD-9102", "At")
}

// Zero is a key part where the field says so. A condition fixes such a part; in the struct it would mean "not given".
func TestKeys_ZeroPartsAreQueriedByEq(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Counter{N: 0, Hits: 1}, Counter{N: 1, Hits: 2}, Counter{N: 2, Hits: 3})
	f := entity.Fields[Counter]()
	require.Contains(t, l.everything(), `$app#v1#counter#0000000000000000000#false $app#v1#counter#0001-01-01T00:00:00Z#00000000000000000000`)
	require.Equal(t, 1, entity.Must(s.Get(t.Context(), Counter{})).Hits)
	for n, opts := range map[int][]entity.QueryOption{
		1: {entity.Eq(&f.At, time.Time{}), entity.Eq(&f.N, 0)}, 2: {entity.Eq(&f.At, time.Time{}), entity.Gt(&f.N, 0)}, 3: nil,
	} {
		require.Equal(t, n, entity.Must(s.Query(Counter{}, opts...).Count(t.Context())))
	}
}
