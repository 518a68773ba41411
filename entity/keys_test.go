package entity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Pair has two free texts in each part of its key.
type Pair struct {
	_ entity.Key `name:"Pair" pk:"$#{a}#{b}" sk:"$#{c}#{d}"`

	A string `dynamodbav:"a"`
	B string `dynamodbav:"b"`
	C string `dynamodbav:"c"`
	D string `dynamodbav:"d"`
	N int    `dynamodbav:"n,omitempty"`
}

// No value imitates a separator, and letters keep their case.
func TestKeys_DifferentValuesNeverMeet(t *testing.T) {
	t.Parallel()
	l, s := open[Pair](t)
	texts := []string{"x", "X", "x#y", "x%23y", "x#", "#x", "%", "%25", "$", "x$", " ", "x ", "#", "##", "é", "e\u0301", "\u0001", "İ", "i"}
	want := map[Pair]int{}
	for i, a := range texts {
		for j, c := range []string{"x", a, "#" + a, a + "#"} {
			v := Pair{A: a, B: texts[len(texts)-1-i], C: c, D: "d"}
			if want[v] != 0 {
				continue // the texts made the same pair twice
			}
			want[v] = 4*i + j + 1
			v.N = want[v]
			_, err := s.Create(t.Context(), v)
			require.NoError(t, err, "%+v meets another", v)
		}
	}
	require.Len(t, l.everything(t), len(want))
	for key, n := range want {
		got, err := s.Get(t.Context(), key)
		require.NoError(t, err)
		require.Equal(t, n, got.N)
	}
	for _, twins := range [][2]Pair{{{A: "a#b", B: "c"}, {A: "a", B: "b#c"}}, {{A: "a", B: "#"}, {A: "a#", B: "x"}}, {{A: "a%23", B: "b"}, {A: "a#", B: "b"}}} {
		for i, v := range twins {
			v.C, v.D = "c", "d"
			_, err := s.Create(t.Context(), v)
			require.NoError(t, err, "%d %+v", i, v)
		}
	}
}

func TestKeys_ExactText(t *testing.T) {
	t.Parallel()
	l, s := open[Pair](t)
	_, err := s.Create(t.Context(), Pair{A: "a#b", B: "100% $", C: "\x00\x1f!\"", D: "&'~é"})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#pair#a%23b#100%25%20%24" S"$app#v1#pair#%00%1F%21%22#&'~é"`)
}

// Moment is keyed by a time, Tally by an integer.
type Moment struct {
	_ entity.Key `name:"Moment" pk:"$#{sensor}" sk:"$#{at}"`

	Sensor string    `dynamodbav:"sensor"`
	At     time.Time `dynamodbav:"at"`
	Note   string    `dynamodbav:"note,omitempty"`
}

type Tally struct {
	_ entity.Key `name:"Tally" pk:"$#{sensor}" sk:"$#{n}#{u:03}"`

	Sensor string `dynamodbav:"sensor"`
	N      int64  `dynamodbav:"n"`
	U      uint8  `dynamodbav:"u"`
}

// The struct that wrote an item finds it, in whatever zone its time is given.
func TestKeys_TimesAreOneInstantInEveryZone(t *testing.T) {
	t.Parallel()
	l, s := open[Moment](t)
	f := entity.Fields[Moment]()
	kathmandu := time.FixedZone("", 5*3600+45*60)
	at := time.Date(2024, 3, 31, 2, 30, 0, 1, kathmandu)
	made, err := s.Create(t.Context(), Moment{Sensor: "s", At: at})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#moment#s" S"$app#v1#moment#2024-03-30T20:45:00.000000001Z"`)
	for _, same := range []time.Time{at, at.UTC(), at.In(time.FixedZone("", -11*3600)), made.At, time.Unix(0, at.UnixNano())} {
		_, err := s.Create(t.Context(), Moment{Sensor: "s", At: same})
		require.ErrorIs(t, err, entity.ErrExists)
		got, err := s.Get(t.Context(), Moment{Sensor: "s", At: same})
		require.NoError(t, err)
		require.True(t, got.At.Equal(at))
		_, err = s.Update(t.Context(), Moment{Sensor: "s", At: same}, entity.Set(&f.Note, "x"))
		require.NoError(t, err)
		one, err := s.Query(Moment{Sensor: "s"}, entity.Between(&f.At, same, same)).One(t.Context())
		require.NoError(t, err)
		require.True(t, one.At.Equal(at))
	}
	require.NoError(t, s.Delete(t.Context(), made))
	require.Empty(t, l.everything(t))

	now := time.Now() // with a monotonic reading
	_, err = s.Create(t.Context(), Moment{Sensor: "s", At: now})
	require.NoError(t, err)
	_, err = s.Get(t.Context(), Moment{Sensor: "s", At: now})
	require.NoError(t, err)
}

// Fixed width: .1s is not after .12s, nor before .0s.
func TestKeys_TimesAreInTheirOrder(t *testing.T) {
	t.Parallel()
	_, s := open[Moment](t)
	f := entity.Fields[Moment]()
	var want []time.Time
	for _, d := range []time.Duration{0, 1, 100, 10 * time.Millisecond, 100 * time.Millisecond, 120 * time.Millisecond, time.Second, time.Hour} {
		want = append(want, dawn.Truncate(time.Second).Add(d))
	}
	for _, at := range slices.Backward(want) {
		_, err := s.Create(t.Context(), Moment{Sensor: "s", At: at})
		require.NoError(t, err)
	}
	times := func(opts ...entity.QueryOption) (out []time.Time) {
		got, err := s.Query(Moment{Sensor: "s"}, opts...).Collect(t.Context())
		require.NoError(t, err)
		for _, m := range got {
			out = append(out, m.At)
		}
		return out
	}
	require.Equal(t, want, times())
	require.Equal(t, want[2:6], times(entity.Between(&f.At, want[2], want[5].In(time.FixedZone("", 3600)))))
	require.Equal(t, want[5:], times(entity.Gt(&f.At, want[4])))
}

// Texts of integers are ordered as the integers are.
func TestKeys_IntegersAreInTheirOrder(t *testing.T) {
	t.Parallel()
	_, s := open[Tally](t)
	f := entity.Fields[Tally]()
	want := []int64{1, 2, 9, 10, 11, 99, 100, 1000, 1<<31 - 1, 1 << 31, 1 << 53, 1<<53 + 1, 1 << 62, 1<<63 - 1}
	for _, i := range []int{7, 2, 13, 0, 9, 4, 11, 1, 6, 12, 3, 10, 5, 8} {
		_, err := s.Create(t.Context(), Tally{Sensor: "s", N: want[i], U: 7})
		require.NoError(t, err)
	}
	got := func(opts ...entity.QueryOption) (out []int64) {
		for v, err := range s.Query(Tally{Sensor: "s"}, opts...).All(t.Context()) {
			require.NoError(t, err)
			out = append(out, v.N)
		}
		return out
	}
	require.Equal(t, want, got())
	for i, n := range want {
		require.Equal(t, want[i:], got(entity.Ge(&f.N, n)))
		require.Equal(t, want[:i+1], got(entity.Le(&f.N, n)))
	}
}

func TestKeys_WidthsAreChecked(t *testing.T) {
	t.Parallel()
	l, s := open[Tally](t)
	_, err := s.Create(t.Context(), Tally{Sensor: "s", N: 1<<63 - 1, U: 255})
	require.NoError(t, err)
	require.Contains(t, l.everything(t), `S"$app#v1#tally#s" S"$app#v1#tally#9223372036854775807#255"`)
	l.sent()
	_, err = s.Create(t.Context(), Tally{Sensor: "s", N: -1, U: 1})
	l.requireRefused(t, err, "EDD-9102", "N")

	b, batches := open[Batch](t)
	_, err = batches.Create(t.Context(), Batch{DeviceID: "d", Timestamp: 1e13, BatchID: "b"})
	b.requireRefused(t, err, "EDD-9102", "Timestamp")
}

// A verbatim template writes values as they are; one that could be read in two ways is refused.
func TestKeys_VerbatimValueMayNotHoldWhatFollowsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Pallet](t)
	_, err := s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north/west", Row: 1})
	l.requireRefused(t, err, "EDD-9102", "Hall")
	_, err = s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&entity.Fields[Pallet]().Hall, "a/b"), entity.Set(&entity.Fields[Pallet]().Row, 2))
	l.requireRefused(t, err, "EDD-9102", "Hall")
	_, err = s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north west", Row: 1})
	require.NoError(t, err)
}

// Folded keys fold the case of their values, and of nothing else.
type Folded struct {
	_ entity.Key `name:"Folded" pk:"$#{host|lower}" sk:"$"`

	Host string `dynamodbav:"host"`
}

func TestKeys_LowerFoldsTheKeyAndKeepsTheAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Folded](t)
	_, err := s.Create(t.Context(), Folded{Host: "Web#1"})
	require.NoError(t, err)
	require.Equal(t, `S"Web#1"`, l.stored(t, keys("pk", "$app#v1#folded#web%231", "sk", "$app#v1#folded"))["host"])
	_, err = s.Create(t.Context(), Folded{Host: "WEB#1"})
	require.ErrorIs(t, err, entity.ErrExists)
}

// The tests named after a W are about defects that effect-dynamodb has: one each, the sentence says what is proved.

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
	_, err := s.Create(t.Context(), made)
	require.NoError(t, err)
	at := `S"$app#v1#wired#0000000001714979289#0000000000000000042" S"$app#v1#wired#2024-05-06T07:08:09.123Z#web%231"`
	require.Contains(t, l.everything(t), at)

	read, err := s.Get(t.Context(), made)
	require.NoError(t, err)
	for what, key := range map[string]Wired{"as written": made, "as read": read, "key parts only": {Day: read.Day.Local(), Serial: 42, At: read.At.Local(), Host: "WEB#1"}} {
		_, err = s.Create(t.Context(), key)
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
		require.NoError(t, l.db.TransactGet(t.Context(), s.Op().GetInto(&loaded)), what)
		require.NoError(t, l.db.Transact(t.Context(), s.Op().CheckExists(key, entity.Eq(&f.Serial, 42), entity.Eq(&f.At, key.At), entity.Eq(&f.Day, key.Day))), what)
		one, err := s.Query(Wired{Day: key.Day, Serial: 42}, entity.Eq(&f.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
		bySerial, err := s.Index("bySerial")
		require.NoError(t, err)
		one, err = bySerial.Query(Wired{Serial: 42}, entity.Between(&f.At, key.At, key.At)).One(t.Context())
		require.NoError(t, err, what)
		require.Equal(t, what+"!", one.Note)
	}
	require.Len(t, l.everything(t), 1)
	require.NoError(t, s.Delete(t.Context(), read))
	require.Empty(t, l.everything(t))
}

// A condition on an index compares what is stored, and a value does not match longer ones that begin with it.
func TestKeys_ConditionsOnAnIndexMatchWholeStoredParts(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	f := entity.Fields[Employee]()
	byTenant, err := s.Index("byTenant")
	require.NoError(t, err)
	for id, department := range map[string]string{"1": "open", "2": "opened", "3": "Open", "4": "open#1", "5": "ope", "10": "open"} {
		_, err := s.Create(t.Context(), Employee{EmployeeID: id, TenantID: "u1", Department: department, DisplayName: "x"})
		require.NoError(t, err)
	}
	_, err = s.Create(t.Context(), Employee{EmployeeID: "99", TenantID: "u10", Department: "open", DisplayName: "x"})
	require.NoError(t, err)
	for name, c := range map[string]struct {
		key  Employee
		opts []entity.QueryOption
		want []string
	}{
		"partition":         {Employee{TenantID: "u1"}, nil, []string{"3", "5", "1", "10", "4", "2"}},
		"filled in":         {Employee{TenantID: "u1", Department: "open"}, nil, []string{"1", "10"}},
		"Eq":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Eq(&f.Department, "open")}, []string{"1", "10"}},
		"Eq of both":        {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Eq(&f.Department, "open"), entity.Eq(&f.EmployeeID, "1")}, []string{"1"}},
		"Gt":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Gt(&f.Department, "open")}, []string{"4", "2"}},
		"Le":                {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Le(&f.Department, "open")}, []string{"3", "5", "1", "10"}},
		"Between":           {Employee{TenantID: "u1"}, []entity.QueryOption{entity.Between(&f.Department, "ope", "open")}, []string{"5", "1", "10"}},
		"BeginsWith is one": {Employee{TenantID: "u1"}, []entity.QueryOption{entity.BeginsWith(&f.Department, "open")}, []string{"1", "10", "4", "2"}},
	} {
		l.sent()
		got, err := byTenant.Query(c.key, c.opts...).Collect(t.Context())
		require.NoError(t, err, name)
		var ids []string
		for _, v := range got {
			ids = append(ids, v.EmployeeID)
		}
		require.Equal(t, c.want, ids, name)
		require.Equal(t, []string{"Query"}, l.sent(), name)
	}
}

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

// What is stored as a number is found by the time that it represents.
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
