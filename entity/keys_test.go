package entity_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// A verbatim template writes values as they are; one that could be read in two ways is refused.
func TestKeys_VerbatimValueMayNotHoldWhatFollowsIt(t *testing.T) {
	l, s := open[Pallet](t)
	l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north/west", Row: 1})), "EDD-9102", "Hall")
	_, err := s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&entity.Fields[Pallet]().Hall, "a/b"), entity.Set(&entity.Fields[Pallet]().Row, 2))
	l.requireRefused(t, err, "EDD-9102", "Hall")
	l.OK(s.Create(t.Context(), Pallet{ID: "a#/b", Hall: "north west", Row: 1}))
}

// Wired has key parts whose stored form is not their Go form: an epoch, a fraction, a folded text.
type Wired struct {
	_      entity.Key `name:"Wired" pk:"$#{day}#{serial}" sk:"$#{at}#{host|lower}"`
	_      entity.GSI `name:"bySerial" index:"gsi1" pk:"$#{serial}" sk:"$#{at}"`
	Day    time.Time  `dynamodbav:"day" entity:"time=unix"`
	Serial int64      `dynamodbav:"serial"`
	At     time.Time  `dynamodbav:"at" entity:"time=ms"`
	Host   string     `dynamodbav:"host"`
	Note   string     `dynamodbav:"note,omitempty"`
}

// Whatever form a key part has on disk, the struct that wrote the item reads, changes, lists and deletes it.
func TestKeys_TheStructThatWroteAnItemFindsItByEveryVerb(t *testing.T) {
	l, s := open[Wired](t)
	f, east := entity.Fields[Wired](), time.FixedZone("", 5*3600+1800)
	made := Wired{Day: dawn.Truncate(time.Second).In(east), Serial: 42, At: dawn.Truncate(time.Millisecond).In(east), Host: "Web#1"}
	l.OK(s.Create(t.Context(), made))
	at := `$app#v1#wired#0000000001714979289#0000000000000000042 $app#v1#wired#2024-05-06T07:08:09.123Z#web%231`
	require.Contains(t, l.everything(), at)

	read := entity.Must(s.Get(t.Context(), made))
	for what, key := range map[string]Wired{"as written": made, "as read": read, "key parts only": {Day: read.Day.Local(), Serial: 42, At: read.At.Local(), Host: "WEB#1"}} {
		require.ErrorIs(t, dbtest.ErrorOf(s.Create(t.Context(), key)), entity.ErrExists, what)
		require.NoError(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Note, what))), what)
		require.NoError(t, dbtest.ErrorOf(s.Modify(t.Context(), key, func(v *Wired) error { v.Note += "!"; return nil })), what)
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
	_      entity.Key `name:"Epoch" pk:"$#{id}" sk:"$#{at}"`
	_      entity.GSI `name:"bySecond" index:"gsi1" pk:"id" sk:"second"`
	_      entity.GSI `name:"byMilli" index:"gsi2" pk:"gsi2pk={id}" sk:"gsi2sk={at:013}"`
	ID     string     `dynamodbav:"id"`
	At     time.Time  `dynamodbav:"at" entity:"time=unixms"`
	Second time.Time  `dynamodbav:"second,omitempty" entity:"time=unix"`
	Note   string     `dynamodbav:"note,omitempty"`
}

// What is stored as a number is found by the time that it represents.
func TestKeys_TimesStoredAsNumbersAreFoundByTheirTime(t *testing.T) {
	l, s := open[Epoch](t)
	f, milli := entity.Fields[Epoch](), dawn.Truncate(time.Millisecond)
	for i := range 3 {
		at := milli.Add(time.Duration(i) * time.Millisecond).In(time.FixedZone("", -3600))
		l.OK(s.Create(t.Context(), Epoch{ID: "a", At: at, Second: milli.Truncate(time.Second).Add(time.Duration(i) * time.Second)}))
	}
	it := l.everything()[`$app#v1#epoch#a $app#v1#epoch#0000001714979289123`]
	require.Equal(t, []string{"N1714979289123", "N1714979289", `S"1714979289123"`}, []string{it["at"], it["second"], it["gsi2sk"]})
	key := Epoch{ID: "a", At: milli}
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Note, "x")))
	require.Equal(t, milli, entity.Must(s.Get(t.Context(), key)).At)
	bySecond, byMilli := entity.Must(s.Index("bySecond")), entity.Must(s.Index("byMilli"))
	for name, q := range map[string]entity.Query[Epoch]{
		"template": s.Query(Epoch{ID: "a"}, entity.Gt(&f.At, milli.Add(1))),
		"verbatim": byMilli.Query(Epoch{ID: "a"}, entity.Between(&f.At, milli.Add(1), milli.Add(time.Hour))),
		"native":   bySecond.Query(Epoch{ID: "a"}, entity.Gt(&f.Second, milli)),
	} {
		require.Equal(t, 2, entity.Must(q.Count(t.Context())), "%s: a finer bound is rounded inward", name)
	}
	l.Sent()
	l.requireRefused(t, dbtest.ErrorOf(s.Get(t.Context(), Epoch{ID: "a", At: milli.Add(1)})), "EDD-9102", "At")
	l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Epoch{ID: "a", At: time.Unix(-1, 0)})), "EDD-9102", "At")
}

// Zero is a key part where the field says so. A condition fixes such a part; in the struct it would mean "not given".
func TestKeys_ZeroPartsAreQueriedByEq(t *testing.T) {
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

// Block has a binary partition key and a number as sort key, a local index on a binary, and an index with four
// attributes a side, of all types that a key can have.
type Block struct {
	_      entity.Key `name:"Block" pk:"hash" sk:"height"`
	_      entity.LSI `name:"byRoot" index:"root-index" sk:"root"`
	_      entity.GSI `name:"wide" index:"wide-index" pk:"a+b+c+d" sk:"w+x+y+z"`
	_      entity.GSI `name:"byPrice" index:"price-index" pk:"c" sk:"price"`
	Hash   []byte     `dynamodbav:"hash"`
	Height uint64     `dynamodbav:"height" entity:"zero"`
	Root   []byte     `dynamodbav:"root,omitempty"`
	A      string     `dynamodbav:"a,omitempty"`
	B      int        `dynamodbav:"b,omitempty"`
	C      []byte     `dynamodbav:"c,omitempty"`
	D      string     `dynamodbav:"d,omitempty"`
	W      int        `dynamodbav:"w,omitempty"`
	X      string     `dynamodbav:"x,omitempty"`
	Y      []byte     `dynamodbav:"y,omitempty"`
	Z      int        `dynamodbav:"z,omitempty"`
	Price  float64    `dynamodbav:"price,omitempty"`
	Note   string     `dynamodbav:"note,omitempty"`
}

func heights(blocks []Block) []int { return each(blocks, func(b Block) int { return int(b.Height) }) }

func blocks(t *testing.T) (*lab, *entity.Store[Block]) {
	t.Helper()
	l, s := open[Block](t)
	hash := []byte{0, 255, '#'}
	for i := range 6 {
		v := Block{Hash: hash, Height: uint64(i), Root: []byte{byte(255 - i)}, A: "a", B: 1, C: []byte{0, 1}, D: "d", W: 1 + i/3, X: "x", Y: []byte{byte(i % 3)}, Z: i + 1, Price: float64(i) / 8}
		if i == 5 {
			v.Y = nil
		}
		l.OK(s.Create(t.Context(), v))
	}
	l.Sent()
	return l, s
}

// requireHeights checks what a query of an index gives in both directions and by pages.
func requireHeights(t *testing.T, index *entity.Index[Block], key Block, opts []entity.QueryOption, want []int, name string) {
	t.Helper()
	require.Equal(t, want, heights(entity.Must(index.Query(key, opts...).Collect(t.Context()))), name)
	down := entity.Must(index.Query(key, append(opts, entity.Desc())...).Collect(t.Context()))
	slices.Reverse(down)
	require.Equal(t, want, heights(down), name)
	require.Equal(t, want, heights(slices.Concat(dbtest.Pages(t, index.Query(key, append(opts, entity.Limit(2))...))...)), name)
}

// An index with four attributes a side: equal from the left, a range on the next, in both directions, by pages.
func TestMultiAttributeIndex_FourAttributesASide(t *testing.T) {
	l, s := blocks(t)
	f, wide := entity.Fields[Block](), entity.Must(s.Index("wide"))
	key := Block{A: "a", B: 1, C: []byte{0, 1}, D: "d"}
	with := func(w int, x string, y []byte, z int) Block {
		v := key
		v.W, v.X, v.Y, v.Z = w, x, y, z
		return v
	}
	for name, c := range map[string]struct {
		key  Block
		opts []entity.QueryOption
		want []int
	}{
		"partition":           {key, nil, []int{0, 1, 2, 3, 4}},
		"first filled in":     {with(2, "", nil, 0), nil, []int{3, 4}},
		"range on the first":  {key, []entity.QueryOption{entity.Le(&f.W, 1)}, []int{0, 1, 2}},
		"range on the third":  {with(1, "x", nil, 0), []entity.QueryOption{entity.Gt(&f.Y, []byte{0})}, []int{1, 2}},
		"range on the fourth": {with(1, "x", []byte{1}, 0), []entity.QueryOption{entity.Between(&f.Z, 1, 9)}, []int{1}},
		"prefix":              {with(1, "", nil, 0), []entity.QueryOption{entity.BeginsWith(&f.X, "x")}, []int{0, 1, 2}},
		"all eight":           {with(2, "x", []byte{1}, 5), nil, []int{4}},
		"with a filter":       {key, []entity.QueryOption{entity.Filter(entity.Gt(&f.Price, 0.25))}, []int{3, 4}},
	} {
		requireHeights(t, wide, c.key, c.opts, c.want, name)
	}
	l.Sent()
	for field, c := range map[string]struct {
		query entity.Query[Block]
		code  string
	}{
		"D": {wide.Query(Block{A: "a", B: 1, C: []byte{0, 1}}), "EDD-9101"}, "Y": {wide.Query(with(1, "", []byte{1}, 0)), "EDD-9004"},
		"Z": {wide.Query(with(1, "x", nil, 0), entity.Gt(&f.Z, 1)), "EDD-9004"},
	} {
		dbtest.RequireInput(t, dbtest.ErrorOf(c.query.Collect(t.Context())), c.code, field)
	}
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Block{Hash: []byte{}, Height: 1})), "EDD-9101", "Hash")
	require.Empty(t, l.Operations())
}

func numbers(orders []Order) []int { return each(orders, func(o Order) int { return o.Number }) }

func orders(t *testing.T) (*lab, *entity.Store[Order]) {
	t.Helper()
	l, s := open[Order](t)
	for i, n := range []int{-10, -2, 3, 20, 100} {
		l.OK(s.Create(t.Context(), Order{Customer: "c", Number: n, Status: "open", Placed: int64(n * 5), Amount: 50 - i*10, Note: "n"}))
	}
	l.OK(s.Create(t.Context(), Order{Customer: "d", Number: 4, Status: "opened", Placed: 4}))
	l.Sent()
	return l, s
}

// DynamoDB does not filter by the key that it queries; the answer must say so before a request does.
func TestQuery_FilterOnANativeKeyAttributeNamesTheField(t *testing.T) {
	l, s := orders(t)
	f, byStatus := entity.Fields[Order](), entity.Must(s.Index("byStatus"))
	for field, q := range map[string]entity.Query[Order]{
		"Number":   s.Query(Order{Customer: "c"}, entity.Filter(entity.Gt(&f.Number, 1))),
		"Customer": s.Query(Order{Customer: "c"}, entity.Filter(entity.Or(entity.Eq(&f.Note, "n"), entity.Not(entity.Eq(&f.Customer, "c"))))),
		"Placed":   byStatus.Query(Order{Status: "open"}, entity.Filter(entity.Gt(&f.Placed, 1))),
		"Status":   byStatus.Query(Order{Status: "open"}, entity.Filter(entity.And(entity.Eq(&f.Status, "open"), entity.Eq(&f.Note, "n")))),
	} {
		l.requireRefused(t, dbtest.ErrorOf(q.Collect(t.Context())), "EDD-9112", field)
	}
	got, err := s.Query(Order{Customer: "c"}, entity.Filter(entity.Eq(&f.Amount, 50))).Collect(t.Context())
	require.NoError(t, err, "the key of an index that is not queried is filtered like any attribute")
	require.Equal(t, []int{-10}, numbers(got))
	got, err = byStatus.Query(Order{Status: "open"}, entity.Filter(entity.Eq(&f.Number, 3))).Collect(t.Context())
	require.NoError(t, err, "and so is the table's key in a query of an index")
	require.Equal(t, []int{3}, numbers(got))
}

func TestQuery_TextsAreOrderedAsBytes(t *testing.T) {
	t.Parallel()
	t.Run("native", func(t *testing.T) {
		cat := func(name string) Cat { return Cat{Owner: "o", Name: name} }
		_, s := opened(t, cat("a"), cat("a#"), cat("ab"), cat("b"))
		query := func(c entity.Cond) entity.Query[Cat] { return s.Query(Cat{Owner: "o"}, c) }
		textRanges(t, &entity.Fields[Cat]().Name, query, func(c Cat) string { return c.Name })
	})
	t.Run("verbatim", func(t *testing.T) {
		notice := func(title string) Notice { return Notice{ID: title, Tenant: "t", Title: title} }
		_, s := opened(t, notice("a"), notice("a#"), notice("ab"), notice("b"))
		query := func(c entity.Cond) entity.Query[Notice] {
			return entity.Must(s.Index("byTenant")).Query(Notice{Tenant: "t"}, c)
		}
		textRanges(t, &entity.Fields[Notice]().Title, query, func(n Notice) string { return n.Title })
	})
}

func textRanges[T any](t *testing.T, field *string, query func(entity.Cond) entity.Query[T], text func(T) string) {
	for name, c := range map[string]struct {
		cond entity.Cond
		want []string
	}{
		"BeginsWith empty": {entity.BeginsWith(field, ""), []string{"a", "a#", "ab", "b"}},
		"Le":               {entity.Le(field, "a#"), []string{"a", "a#"}},
		"Gt empty":         {entity.Gt(field, ""), []string{"a", "a#", "ab", "b"}},
		"Lt empty":         {entity.Lt(field, ""), []string{}},
	} {
		require.Equal(t, c.want, each(entity.Must(query(c.cond).Collect(t.Context())), text), name)
	}
}

// Gadget is an item of a table whose form other programs rely on: nothing may be in it that is not here.
type Gadget struct {
	_            entity.Key      `name:"Gadget" pk:"hardware_id"`
	_            entity.GSI      `name:"all" index:"gsi1" pk:"gsi1pk=devices" sk:"gsi1sk={last_seen_at}"`
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
	require.Equal(t, "LastSeen", dbtest.As[*entity.InputError](t, err).Field, "a key is not truncated")
	got, whole := entity.Must(s.Get(t.Context(), v)), dawn.Truncate(time.Second)
	require.Equal(t, []time.Time{whole, whole, whole, dawn.Truncate(time.Millisecond), whole}, []time.Time{got.FirstSeen, got.LastSeen, got.LastUsed, got.Booted, got.Ends}, "in UTC")
}

func TestVerbatim_NilIsAnEmptyMapOrListOnEveryPath(t *testing.T) {
	l, s := open[Gadget](t)
	g, full := entity.Fields[Gadget](), gadget()
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
	require.Equal(t, map[string]bool{"led": true}, entity.Must(s.Get(t.Context(), full, entity.Consistent())).Features)
}

// Other programs have written times in other spellings, and without the copy.
func TestVerbatim_TimesOfOtherProgramsAreReadAndWrittenInOneForm(t *testing.T) {
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
		after, text := l.stored(gadgetKey()), `S"2024-05-06T07:08:09Z"`
		copied := text
		if !want.Truncate(time.Second).Equal(want) {
			copied = `S"` + stored + `"`
		}
		require.Equal(t, []string{`S"` + stored + `"`, copied}, []string{after["last_seen_at"], after["gsi1sk"]}, "what did not change stays as it is; its copy gets the form that has an order, if nothing is lost")
		_, err := s.Modify(t.Context(), got, func(g *Gadget) error { g.LastSeen = g.LastSeen.Add(time.Nanosecond); return nil })
		dbtest.As[*entity.InputError](t, err, "a change must fit")
		l.OK(s.Update(t.Context(), got, entity.Set(&g.LastSeen, got.LastSeen.Truncate(time.Second))))
		after = l.stored(gadgetKey())
		require.Equal(t, []string{text, text, `S"` + stored + `"`}, []string{after["last_seen_at"], after["gsi1sk"], after["first_seen_at"]})
	}
	l.OK(l.Raw.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &l.Table, Item: keys("hardware_id", gadgetID, "last_seen_at", "yesterday")}))
	requireMisfit(t, dbtest.ErrorOf(s.Get(t.Context(), gadget(), entity.Consistent())), "last_seen_at")
}

// internal/item refuses them wherever they are in a whole value.
func TestVerbatim_ChangesToNoNumberAreRefused(t *testing.T) {
	l, s := open[Batch](t)
	f, key := entity.Fields[Batch](), Batch{DeviceID: "h", Timestamp: 1, BatchID: "b"}
	for _, x := range []float64{math.NaN(), math.Inf(-1), math.MaxFloat64} {
		for field, change := range map[string]entity.UpdateOption{
			"Count": entity.Add(&f.Count, x), "Set": entity.AddToSet(&f.Set, 1, x), "Sensors": entity.MapEntry(&f.Sensors, "t").Set(x),
		} {
			l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, change)), "EDD-9102", field)
		}
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.DeleteFromSet(&f.Set, x))), "EDD-9102", "Set")
	}
}

func TestVerbatim_APaddedKeyRefusesWhatWouldBreakItsOrder(t *testing.T) {
	l, s := open[Batch](t)
	f := entity.Fields[Batch]()
	for at, text := range map[int64]string{1: "0000000000001#b", 1704067800000: "1704067800000#b", 9999999999999: "9999999999999#b"} {
		v := Batch{DeviceID: "h", Timestamp: at, BatchID: "b"}
		l.OK(s.Create(t.Context(), v))
		require.Equal(t, fmt.Sprintf("N%d", at), l.stored(keys("device_id", "h", "ts_batch", text))["timestamp_ms"])
	}
	l.Sent()
	for _, at := range []int64{-1, math.MinInt64, 10000000000000, math.MaxInt64} {
		v := Batch{DeviceID: "h", Timestamp: at, BatchID: "b"}
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), v)), "EDD-9102", "Timestamp")
		l.requireRefused(t, dbtest.ErrorOf(s.Get(t.Context(), v)), "EDD-9102", "Timestamp")
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Batch{DeviceID: "h", BatchID: "b"})), "EDD-9101", "Timestamp")
	key := Batch{DeviceID: "h", Timestamp: 1, BatchID: "b"}
	for field, change := range map[string]entity.UpdateOption{
		"Timestamp": entity.Set(&f.Timestamp, 2), "BatchID": entity.Set(&f.BatchID, "c"), "DeviceID": entity.Set(&f.DeviceID, strings.ToUpper("h")),
	} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, change)), "EDD-9104", field)
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Add(&f.Timestamp, 1))), "EDD-9104", "Timestamp")
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Attr[string]("ts_batch").Set("x"))), "EDD-9105", "")
	_, err := s.Modify(t.Context(), key, func(s *Batch) error { s.Timestamp = 2; return nil })
	require.Equal(t, "EDD-9104", dbtest.InputCode(err))
}
