package entity_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// The tests named Peers are about defects that other Go libraries for DynamoDB have: one each, the comment says what
// goes wrong there.

// Inner is nested, with names, options and a time of its own.
type Inner struct {
	Zero   int       `dynamodbav:"zero_value"`
	Empty  string    `dynamodbav:"empty_text"`
	Gone   string    `dynamodbav:"gone,omitempty"`
	Secret string    `dynamodbav:"-"`
	Born   time.Time `dynamodbav:"born"`
	Set    []string  `dynamodbav:"inner_set,stringset,omitempty"`
	Raw    []byte    `dynamodbav:"raw_bytes,omitempty"`
	Deep   *Inner    `dynamodbav:"deep,omitempty"`
}

type blob []byte

// Shelf has what other libraries store in another type than they should.
type Shelf struct {
	_  entity.Key `name:"Shelf" pk:"$#{id}" sk:"$"`
	_  entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}" sk:"$"`
	ID string     `dynamodbav:"id"`

	Team    string           `dynamodbav:"team,omitempty"`
	Rank    int              `dynamodbav:"rank,omitempty"`
	Words   []string         `dynamodbav:"words,stringset,omitempty"`
	Numbers []int            `dynamodbav:"numbers,numberset,omitempty"`
	Floats  []float64        `dynamodbav:"floats,numberset,omitempty"`
	Blobs   [][]byte         `dynamodbav:"blobs,binaryset,omitempty"`
	Bytes   []byte           `dynamodbav:"bytes,omitempty"`
	Named   blob             `dynamodbav:"named,omitempty"`
	Array   [2]byte          `dynamodbav:"array"`
	List    []string         `dynamodbav:"list,omitempty"`
	In      Inner            `dynamodbav:"in"`
	Ins     []Inner          `dynamodbav:"ins,omitempty"`
	Map     map[string]Inner `dynamodbav:"map,omitempty"`
	Any     any              `dynamodbav:"any,omitempty"`
	Seen    *time.Time       `dynamodbav:"seen,omitempty"`
	Plain   *time.Time       `dynamodbav:"plain"`
}

var shelfKey = keys("pk", "$app#v1#shelf#a", "sk", "$app#v1#shelf")

func shelf() Shelf {
	in := Inner{Born: dawn.Truncate(time.Second), Set: []string{"b", "a"}, Raw: []byte{1}, Secret: "no"}
	outer := in
	outer.Deep = &in
	return Shelf{
		ID: "a", Team: "t", Rank: 1, Words: []string{"b", "a"}, Numbers: []int{2, 1}, Floats: []float64{0.5}, Blobs: [][]byte{{2}, {1}},
		Bytes: []byte{1, 2}, Named: blob{3}, Array: [2]byte{4, 5}, List: []string{"", "x"}, In: outer, Ins: []Inner{in}, Map: map[string]Inner{"k": in}, Any: "any",
	}
}

const innerText = `M{born=S"2024-05-06T07:08:09.000000000Z" empty_text=S"" inner_set=SS[a b] raw_bytes=B01 zero_value=N0}`

// shelfText is shelf as it is stored, sets without order.
func shelfText() raw {
	return raw{
		"words": "SS[a b]", "numbers": "NS[1 2]", "floats": "NS[0.5]", "blobs": "BS[01 02]", "bytes": "B0102", "named": "B03", "array": "B0405",
		"list": `L[S"" S"x"]`, "ins": "L[" + innerText + "]", "map": "M{k=" + innerText + "}", "any": `S"any"`, "plain": "NULL",
		"in": `M{born=S"2024-05-06T07:08:09.000000000Z" deep=` + innerText + ` empty_text=S"" inner_set=SS[a b] raw_bytes=B01 zero_value=N0}`,
	}
}

// shelfRoutes write the whole of shelf over whatever is there, each in its own way.
func shelfRoutes(t *testing.T, l *lab, s *entity.Store[Shelf]) map[string]func() error {
	f, v := entity.Fields[Shelf](), shelf()
	sets := []entity.UpdateOption{
		entity.Set(&f.Words, v.Words), entity.Set(&f.Numbers, v.Numbers), entity.Set(&f.Floats, v.Floats), entity.Set(&f.Blobs, v.Blobs), entity.Set(&f.Bytes, v.Bytes),
		entity.Set(&f.Named, v.Named), entity.Set(&f.Array, v.Array), entity.Set(&f.List, v.List), entity.Set(&f.In, v.In), entity.Set(&f.Ins, v.Ins),
		entity.Set(&f.Map, v.Map), entity.Set(&f.Any, v.Any), entity.Set(&f.Plain, nil),
	}
	readFirst := append(sets[:len(sets):len(sets)], entity.Set(&f.Team, "u"))
	other := func() entity.Op { return s.Op().Put(Shelf{ID: "b"}) }
	key := Shelf{ID: "a"}
	return map[string]func() error{
		"Create": func() error {
			l.drop(t, shelfKey)
			_, err := s.Create(t.Context(), v)
			return err
		},
		"Put":                func() error { _, err := s.Put(t.Context(), v); return err },
		"Upsert":             func() error { _, _, err := s.Upsert(t.Context(), v); return err },
		"Upsert, exactly":    func() error { _, _, err := s.Upsert(t.Context(), v, entity.Idempotent()); return err },
		"Update":             func() error { _, err := s.Update(t.Context(), key, sets...); return err },
		"Update, read first": func() error { _, err := s.Update(t.Context(), key, readFirst...); return err },
		"Modify": func() error {
			_, err := s.Modify(t.Context(), key, func(stored *Shelf) error { *stored = v; return nil })
			return err
		},
		"Create in a transaction": func() error {
			l.drop(t, shelfKey)
			return l.db.Transact(t.Context(), s.Op().Create(v), other())
		},
		"Put in a transaction":    func() error { return l.db.Transact(t.Context(), s.Op().Put(v), other()) },
		"Upsert in a transaction": func() error { return l.db.Transact(t.Context(), s.Op().Upsert(v), other()) },
		"Update in a transaction": func() error { return l.db.Transact(t.Context(), s.Op().Update(key, sets...), other()) },
		"read first, transaction": func() error { return l.db.Transact(t.Context(), s.Op().Update(key, readFirst...), other()) },
	}
}

// Elsewhere a set becomes a list and bytes a list of numbers, on some routes or on all; nested structs lose their tags and
// their zero values.
func TestValues_SetsBytesAndNestedTagsAreTheSameOnEveryRoute(t *testing.T) {
	t.Parallel()
	l, s := open[Shelf](t)
	for name, write := range shelfRoutes(t, l, s) {
		t.Run(name, func(t *testing.T) {
			l.drop(t, shelfKey)
			_, err := s.Create(t.Context(), Shelf{ID: "a", Team: "t", Rank: 1, Words: []string{"old"}, Bytes: []byte("old"), In: Inner{Gone: "old"}})
			require.NoError(t, err)
			require.NoError(t, write())
			it := l.stored(t, shelfKey)
			for attr, want := range shelfText() {
				require.Equal(t, want, it[attr], attr)
			}
			got, err := s.Get(t.Context(), Shelf{ID: "a"}, entity.Consistent())
			require.NoError(t, err)
			want := shelf()
			require.ElementsMatch(t, want.Words, got.Words)
			require.ElementsMatch(t, want.Blobs, got.Blobs)
			require.Equal(t, want.In.Deep.Raw, got.In.Deep.Raw)
			require.Equal(t, want.Ins[0].Born, got.Ins[0].Born)
			require.Equal(t, want.Array, got.Array)
			require.Equal(t, want.Any, got.Any)
		})
	}
}

// Elsewhere an update of a set stores a list, and the next ADD or DELETE fails for ever.
func TestValues_ASetThatWasUpdatedCanStillBeAddedTo(t *testing.T) {
	t.Parallel()
	l, s := open[Shelf](t)
	f, key := entity.Fields[Shelf](), Shelf{ID: "a"}
	_, err := s.Create(t.Context(), shelf())
	require.NoError(t, err)
	for _, c := range []entity.UpdateOption{
		entity.Set(&f.Words, []string{"x"}), entity.AddToSet(&f.Words, "y"), entity.DeleteFromSet(&f.Words, "x"),
		entity.Set(&f.Numbers, []int{5}), entity.AddToSet(&f.Numbers, 6), entity.DeleteFromSet(&f.Numbers, 5),
		entity.Set(&f.Blobs, [][]byte{{7}}), entity.AddToSet(&f.Blobs, []byte{8}), entity.DeleteFromSet(&f.Blobs, []byte{7}),
		entity.AddToSet(&f.In.Set, "c"),
	} {
		_, err := s.Update(t.Context(), key, c)
		require.NoError(t, err)
	}
	it := l.stored(t, shelfKey)
	require.Equal(t, []string{"SS[y]", "NS[6]", "BS[08]"}, []string{it["words"], it["numbers"], it["blobs"]})
	require.Contains(t, it["in"], "inner_set=SS[a b c]")
	_, err = s.Update(t.Context(), key, entity.DeleteFromSet(&f.Words, "y"))
	require.NoError(t, err)
	require.NotContains(t, l.stored(t, shelfKey), "words")
}

// Small has numbers of every size.
type Small struct {
	_   entity.Key       `name:"Small" pk:"$#{id}" sk:"$"`
	ID  string           `dynamodbav:"id"`
	I8  int8             `dynamodbav:"i8"`
	I16 int16            `dynamodbav:"i16"`
	I32 int32            `dynamodbav:"i32"`
	I64 int64            `dynamodbav:"i64"`
	U8  uint8            `dynamodbav:"u8"`
	U16 uint16           `dynamodbav:"u16"`
	U32 uint32           `dynamodbav:"u32"`
	U64 uint64           `dynamodbav:"u64"`
	F32 float32          `dynamodbav:"f32"`
	Set []int8           `dynamodbav:"set,numberset,omitempty"`
	Map map[string]uint8 `dynamodbav:"map,omitempty"`
	Ptr *int8            `dynamodbav:"ptr,omitempty"`

	Note string `dynamodbav:"note,omitempty"`
}

// Elsewhere a stored 300 is read into an int8 as 44.
func TestValues_ANumberThatDoesNotFitIsADecodeError(t *testing.T) {
	t.Parallel()
	l, s := open[Small](t)
	at := keys("pk", "$app#v1#small#a", "sk", "$app#v1#small")
	list := func(n string) types.AttributeValue { return &types.AttributeValueMemberNS{Value: []string{"1", n}} }
	nested := func(n string) types.AttributeValue {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{"k": num(n)}}
	}
	for _, c := range []struct {
		attr  string
		value types.AttributeValue
	}{
		{"i8", num("300")}, {"i8", num("-129")}, {"i16", num("32768")}, {"i32", num("2147483648")}, {"i64", num("9223372036854775808")},
		{"u8", num("256")}, {"u8", num("-1")}, {"u16", num("65536")}, {"u32", num("4294967296")}, {"u64", num("18446744073709551616")}, {"u64", num("-1")},
		{"i64", num("1.5")}, {"f32", num("1e39")}, {"set", list("300")}, {"map", nested("256")}, {"ptr", num("128")},
	} {
		t.Run(fmt.Sprint(c.attr, " ", text(c.value)), func(t *testing.T) {
			l.drop(t, at)
			_, err := s.Create(t.Context(), Small{ID: "a"})
			require.NoError(t, err)
			l.patch(t, at, c.attr, c.value)
			loaded := Small{ID: "a"}
			load := l.db.TransactGet(t.Context(), s.Op().GetInto(&loaded))
			_, get := s.Get(t.Context(), Small{ID: "a"})
			_, many := s.GetMany(t.Context(), []Small{{ID: "a"}})
			_, query := s.Query(Small{ID: "a"}).Collect(t.Context())
			_, update := s.Update(t.Context(), Small{ID: "a"}, entity.Set(&entity.Fields[Small]().Note, "x"))
			for name, err := range map[string]error{"Get": get, "GetMany": many, "Query": query, "TransactGet": load, "Update": update} {
				var misfit *entity.DecodeError
				require.ErrorAs(t, err, &misfit, name)
				require.Equal(t, c.attr, misfit.Attr, name)
			}
			require.Equal(t, Small{ID: "a"}, loaded)
		})
	}
	l.drop(t, at)
	edge := int8(math.MinInt8)
	most := Small{ID: "a", I8: math.MinInt8, I16: math.MaxInt16, I32: math.MinInt32, I64: math.MinInt64, U8: 255, U16: 65535, U32: math.MaxUint32, U64: math.MaxUint64, F32: 3e38, Ptr: &edge}
	got, err := s.Create(t.Context(), most)
	require.NoError(t, err)
	require.Equal(t, most, got)
	require.Equal(t, most, entity.Must(s.Get(t.Context(), most, entity.Consistent())))
}

// Elsewhere times are stored in the zone of the process, with as many digits as they happen to have: they do not sort.
func TestValues_TimesAreStoredInUTCWithAFixedWidth(t *testing.T) {
	t.Parallel()
	ny := time.FixedZone("EST", -5*3600)
	l, s := open[Employee](t, func(c *entity.Config) {
		c.Clock = func() time.Time { return time.Date(2024, 1, 2, 3, 4, 5, 120_000_000, ny) }
	})
	v := alice()
	v.SeenAt = time.Date(2024, 1, 2, 23, 0, 0, 0, ny)
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(v, rename("B")), s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"})))
	it := l.stored(t, aliceKey)
	require.Equal(t, []string{`S"2024-01-02T08:04:05.120000000Z"`, `S"2024-01-02T08:04:05.120000000Z"`, `S"2024-01-03T04:00:00.000000000Z"`}, []string{it["createdAt"], it["updatedAt"], it["seenAt"]})
}

// Elsewhere an empty text is dropped, refused or removed depending on the call; inside lists it fails the request.
func TestValues_EmptyOnesFollowOneRule(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	routes := map[string]func() error{
		"Create": func() error {
			_, err := s.Create(t.Context(), Profile{ID: "a", Log: []string{"", "x"}, Tags: []string{}})
			return err
		},
		"Put": func() error { _, err := s.Put(t.Context(), Profile{ID: "a", Log: []string{"", "x"}}); return err },
		"Update": func() error {
			_, err := s.Update(t.Context(), key, entity.Set(&p.Plain, ""), entity.Set(&p.Note, ""), entity.Set(&p.Tags, nil), entity.Set(&p.Log, []string{"", "x"}))
			return err
		},
		"Modify": func() error {
			_, err := s.Modify(t.Context(), key, func(v *Profile) error {
				v.Plain, v.Note, v.Tags, v.Log = "", "", []string{}, []string{"", "x"}
				return nil
			})
			return err
		},
	}
	for name, write := range routes {
		l.drop(t, at)
		if name != "Create" {
			_, err := s.Create(t.Context(), Profile{ID: "a", Plain: "p", Note: "n", Tags: []string{"t"}})
			require.NoError(t, err)
		}
		require.NoError(t, write(), name)
		it := l.stored(t, at)
		require.Equal(t, []string{`S""`, "", "", `L[S"" S"x"]`}, []string{it["plain"], it["note"], it["tags"], it["log"]}, "%s: omitempty drops, nothing else does", name)
	}
}

// Elsewhere an empty set is stored as NULL, to which nothing can be added; with omitempty it is absent here.
func TestValues_AnEmptySetWithOmitemptyIsAbsentAndCanBeAddedTo(t *testing.T) {
	t.Parallel()
	l, s := open[Shelf](t)
	f, key := entity.Fields[Shelf](), Shelf{ID: "a"}
	empty := Shelf{ID: "a", Words: []string{}, Numbers: []int{}, Blobs: [][]byte{}}
	for name, write := range map[string]func() error{
		"Create": func() error { l.drop(t, shelfKey); _, err := s.Create(t.Context(), empty); return err },
		"Put":    func() error { _, err := s.Put(t.Context(), empty); return err },
		"Update": func() error {
			_, err := s.Update(t.Context(), key, entity.Set(&f.Words, []string{}), entity.Set(&f.Numbers, []int{}), entity.Set(&f.Blobs, [][]byte{}))
			return err
		},
		"Modify": func() error {
			_, err := s.Modify(t.Context(), key, func(v *Shelf) error { v.Words, v.Numbers, v.Blobs = []string{}, []int{}, [][]byte{}; return nil })
			return err
		},
	} {
		_, err := s.Put(t.Context(), shelf())
		require.NoError(t, err)
		require.NoError(t, write(), name)
		it := l.stored(t, shelfKey)
		for _, attr := range []string{"words", "numbers", "blobs"} {
			require.NotContains(t, it, attr, name)
		}
		got, err := s.Update(t.Context(), key, entity.AddToSet(&f.Words, "x"), entity.AddToSet(&f.Numbers, 1), entity.AddToSet(&f.Blobs, []byte{1}))
		require.NoError(t, err, name)
		require.Equal(t, []string{"x"}, got.Words)
	}
}

// Elsewhere a nil time pointer panics.
func TestValues_NilTimePointersAreAbsentOrNull(t *testing.T) {
	t.Parallel()
	l, s := open[Shelf](t)
	f, key := entity.Fields[Shelf](), Shelf{ID: "a"}
	got, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	require.Nil(t, got.Seen)
	it := l.stored(t, shelfKey)
	require.NotContains(t, it, "seen")
	require.Equal(t, "NULL", it["plain"])
	at := dawn
	got, err = s.Update(t.Context(), key, entity.Set(&f.Seen, &at), entity.Set(f.Plain, at))
	require.NoError(t, err)
	require.Equal(t, []time.Time{dawn, dawn}, []time.Time{*got.Seen, *got.Plain})
	got, err = s.Update(t.Context(), key, entity.Set(&f.Seen, nil), entity.Set(&f.Plain, nil), entity.If(entity.Le(f.Seen, dawn)))
	require.NoError(t, err)
	require.Nil(t, got.Seen)
	require.Nil(t, got.Plain)
	require.Equal(t, without(it, "_w"), without(l.stored(t, shelfKey), "_w"))
}

// Elsewhere a field of type any is written and cannot be read.
func TestValues_AFieldOfTypeAnyIsReadBack(t *testing.T) {
	t.Parallel()
	_, s := open[Shelf](t)
	for _, v := range []any{"text", 1.5, true, nil, []any{"x", 2.0}, map[string]any{"k": []any{false}}, []byte{1, 2}} {
		_, err := s.Put(t.Context(), Shelf{ID: "a", Any: v})
		require.NoError(t, err)
		got, err := s.Get(t.Context(), Shelf{ID: "a"}, entity.Consistent())
		require.NoError(t, err)
		require.Equal(t, v, got.Any)
	}
}

// Loose holds anything, and values whose Go types are narrower than what DynamoDB can store.
type Loose struct {
	_ entity.Key `name:"Loose" pk:"$#{id}" sk:"$"`

	ID     string         `dynamodbav:"id"`
	Any    any            `dynamodbav:"any,omitempty"`
	Map    map[string]any `dynamodbav:"map,omitempty"`
	Tags   []string       `dynamodbav:"tags,stringset,omitempty"`
	Text   string         `dynamodbav:"text,omitempty"`
	Tiny   int8           `dynamodbav:"tiny"`
	Count  uint           `dynamodbav:"count"`
	Hash   [4]byte        `dynamodbav:"hash"`
	Pair   [2]int         `dynamodbav:"pair"`
	Small  float32        `dynamodbav:"small"`
	Marks  map[slug]int   `dynamodbav:"marks,omitempty"`
	Levels map[int8]bool  `dynamodbav:"levels,omitempty"`
	Pk     string         `dynamodbav:"PK,omitempty"` // differs in case from the table's key
}

// slug is stored with a prefix as the key of a map.
type slug string

func (s slug) MarshalText() ([]byte, error)  { return []byte("s-" + string(s)), nil }
func (s *slug) UnmarshalText(b []byte) error { *s = slug(b[2:]); return nil }

// What the codec would leave out or change in silence is a mistake in the call, on every path, before any request.
func TestInput_ValuesThatWouldBeLost(t *testing.T) {
	t.Parallel()
	l, s := open[Loose](t)
	f := entity.Fields[Loose]()
	key := Loose{ID: "a"}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	l.sent()
	for field, c := range map[string]struct {
		v      Loose
		change entity.UpdateOption
		cond   entity.Cond
	}{
		"Map":  {Loose{ID: "b", Map: map[string]any{"ok": 1, "f": func() {}}}, entity.Set(&f.Map, map[string]any{"f": make(chan int)}), entity.Eq(&f.Map, map[string]any{"f": func() {}})},
		"Any":  {Loose{ID: "b", Any: func() {}}, entity.Set(&f.Any, any([]any{complex(1, 2)})), entity.Ne(&f.Any, any(func() {}))},
		"Tags": {Loose{ID: "b", Tags: []string{"x", "x"}}, entity.AddToSet(&f.Tags, "y", "y"), entity.Eq(&f.Tags, []string{"z", "z"})},
		"Text": {Loose{ID: "b", Text: "\xff"}, entity.Set(&f.Text, "a\xff"), entity.BeginsWith(&f.Text, "\xff")},
	} {
		_, err := s.Create(t.Context(), c.v)
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Put(t.Context(), c.v)
		l.requireRefused(t, err, "EDD-9102", field)
		_, _, err = s.Upsert(t.Context(), c.v)
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Update(t.Context(), key, c.change)
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Update(t.Context(), key, entity.Set(&f.Tiny, 1), entity.If(c.cond))
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Scan(entity.Filter(c.cond)).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9102", field)
		_, err = s.Modify(t.Context(), key, func(v *Loose) error {
			id := v.ID
			*v = c.v
			v.ID = id
			return nil
		})
		requireInput(t, err, "EDD-9102", field)
		require.Equal(t, []string{"GetItem"}, l.sent(), "nothing is written")
	}
	_, err = s.Update(t.Context(), key, entity.MapEntry(&f.Map, "f").Set(func() {}))
	l.requireRefused(t, err, "EDD-9102", "Map")
}

// A stored value that the field cannot hold is an error that names the attribute, never another value.
func TestDecode_WhatAFieldCannotHoldIsAnError(t *testing.T) {
	t.Parallel()
	l, s := open[Loose](t)
	key := keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose")
	created, err := s.Create(t.Context(), Loose{ID: "a"})
	require.NoError(t, err)
	good := l.values(t, key)
	boolean := &types.AttributeValueMemberBOOL{Value: true}
	for attr, values := range map[string][]av{
		"tiny":   {num("300"), num("128"), num("-129"), num("1.5"), num("1e30"), str("1"), boolean},
		"count":  {num("-1"), num("1.5"), num("18446744073709551616")},
		"hash":   {binary(make([]byte, 3)), binary(make([]byte, 5)), binary([]byte{}), str("abcd")},
		"pair":   {&types.AttributeValueMemberL{Value: []av{num("1"), num("2"), num("3")}}, &types.AttributeValueMemberL{Value: []av{num("1"), num("1.5")}}},
		"small":  {num("1e39"), num("-1e125"), str("1")},
		"levels": {document(map[string]av{"128": boolean}), document(map[string]av{"x": boolean}), document(map[string]av{"1.5": boolean})},
		"tags":   {str("x"), document(map[string]av{})},
	} {
		for _, v := range values {
			l.put(t, good)
			l.patch(t, key, attr, v)
			got, err := s.Get(t.Context(), Loose{ID: "a"})
			var misfit *entity.DecodeError
			require.ErrorAs(t, err, &misfit, "%s %s", attr, text(v))
			require.Equal(t, attr, misfit.Attr)
			require.Zero(t, got)
		}
	}
	l.put(t, good)
	l.patch(t, key, "ANY", num("1"))
	l.patch(t, key, "Tiny", str("another program's"))
	got, err := s.Get(t.Context(), Loose{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, created, got, "attributes that differ in case are others")
}

func TestEntry_KeysThatMarshalThemselvesAreFound(t *testing.T) {
	t.Parallel()
	l, s := open[Loose](t)
	f := entity.Fields[Loose]()
	_, err := s.Create(t.Context(), Loose{ID: "a", Marks: map[slug]int{"x": 1}, Pk: "own"})
	require.NoError(t, err)
	got, err := s.Update(t.Context(), Loose{ID: "a"}, entity.MapEntry(&f.Marks, "x").Set(2), entity.If(entity.MapEntry(&f.Marks, "x").Eq(1)))
	require.NoError(t, err)
	require.Equal(t, map[slug]int{"x": 2}, got.Marks)
	require.Equal(t, "own", got.Pk, "not the table's key")
	require.Equal(t, "M{s-x=N2}", l.stored(t, keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose"))["marks"])
}
