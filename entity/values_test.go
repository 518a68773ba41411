package entity_test

import (
	"math"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Pouch has a set of each kind.
type Pouch struct {
	Set   []string `dynamodbav:"inner_set,stringset,omitempty"`
	Nums  []int    `dynamodbav:"inner_nums,numberset,omitempty"`
	Blobs [][]byte `dynamodbav:"inner_blobs,binaryset,omitempty"`
}

// Inner is nested, with names, options, sets and a time of its own.
type Inner struct {
	Zero   int       `dynamodbav:"zero_value"`
	Empty  string    `dynamodbav:"empty_text"`
	Gone   string    `dynamodbav:"gone,omitempty"`
	Secret string    `dynamodbav:"-"`
	Born   time.Time `dynamodbav:"born"`
	Raw    []byte    `dynamodbav:"raw_bytes,omitempty"`
	Deep   *Inner    `dynamodbav:"deep,omitempty"`
	Pouch
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
	Ptr     *Pouch           `dynamodbav:"ptr,omitempty"`
	Seen    *time.Time       `dynamodbav:"seen,omitempty"`
	Plain   *time.Time       `dynamodbav:"plain"`
}

var shelfKey = keys("pk", "$app#v1#shelf#a", "sk", "$app#v1#shelf")

func shelf() Shelf {
	pouch := Pouch{[]string{"b", "a"}, []int{2, 1}, [][]byte{{9}, {8}}}
	in := Inner{Born: dawn.Truncate(time.Second), Pouch: pouch, Raw: []byte{1}, Secret: "no"}
	outer := in
	outer.Deep = &in
	return Shelf{
		ID: "a", Team: "t", Rank: 1, Words: []string{"b", "a"}, Numbers: []int{2, 1}, Floats: []float64{0.5}, Blobs: [][]byte{{2}, {1}},
		Bytes: []byte{1, 2}, Named: blob{3}, Array: [2]byte{4, 5}, List: []string{"", "x"}, In: outer, Ins: []Inner{in}, Map: map[string]Inner{"k": in}, Any: "any", Ptr: &pouch,
	}
}

const innerText = `M{born=S"2024-05-06T07:08:09.000000000Z" empty_text=S"" inner_blobs=BS[08 09] inner_nums=NS[1 2] inner_set=SS[a b] raw_bytes=B01 zero_value=N0}`

// shelfText is shelf as it is stored, sets without order.
func shelfText() raw {
	return raw{
		"words": "SS[a b]", "numbers": "NS[1 2]", "floats": "NS[0.5]", "blobs": "BS[01 02]", "bytes": "B0102", "named": "B03", "array": "B0405",
		"list": `L[S"" S"x"]`, "ins": "L[" + innerText + "]", "map": "M{k=" + innerText + "}", "any": `S"any"`, "plain": "NULL", "ptr": "M{inner_blobs=BS[08 09] inner_nums=NS[1 2] inner_set=SS[a b]}",
		"in": `M{born=S"2024-05-06T07:08:09.000000000Z" deep=` + innerText + ` empty_text=S"" inner_blobs=BS[08 09] inner_nums=NS[1 2] inner_set=SS[a b] raw_bytes=B01 zero_value=N0}`,
	}
}

// shelfRoutes write the whole of shelf over whatever is there, each in its own way.
func shelfRoutes(t *testing.T, l *lab, s *entity.Store[Shelf]) map[string]func() error {
	f, v := entity.Fields[Shelf](), shelf()
	sets := []entity.UpdateOption{
		entity.Set(&f.Words, v.Words), entity.Set(&f.Numbers, v.Numbers), entity.Set(&f.Floats, v.Floats), entity.Set(&f.Blobs, v.Blobs), entity.Set(&f.Bytes, v.Bytes),
		entity.Set(&f.Named, v.Named), entity.Set(&f.Array, v.Array), entity.Set(&f.List, v.List), entity.Set(&f.In, v.In), entity.Set(&f.Ins, v.Ins),
		entity.Set(&f.Map, v.Map), entity.Set(&f.Any, v.Any), entity.Set(&f.Plain, nil), entity.Set(&f.Ptr, v.Ptr),
	}
	readFirst := append(sets[:len(sets):len(sets)], entity.Set(&f.Team, "u"))
	other := func() entity.Op { return s.Op().Put(Shelf{ID: "b"}) }
	key := Shelf{ID: "a"}
	return map[string]func() error{
		"Create": func() error {
			l.drop(shelfKey)
			_, err := s.Create(t.Context(), v)
			return err
		},
		"Put":                func() error { return dbtest.ErrorOf(s.Put(t.Context(), v)) },
		"Upsert":             func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), v)) },
		"Upsert, exactly":    func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), v, entity.Idempotent())) },
		"Update":             func() error { return dbtest.ErrorOf(s.Update(t.Context(), key, sets...)) },
		"Update, read first": func() error { return dbtest.ErrorOf(s.Update(t.Context(), key, readFirst...)) },
		"Modify": func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), key, func(stored *Shelf) error { *stored = v; return nil }))
		},
		"Create in a transaction": func() error {
			l.drop(shelfKey)
			return l.DB.Transact(t.Context(), s.Op().Create(v), other())
		},
		"Put in a transaction":    func() error { return l.DB.Transact(t.Context(), s.Op().Put(v), other()) },
		"Upsert in a transaction": func() error { return l.DB.Transact(t.Context(), s.Op().Upsert(v), other()) },
		"Update in a transaction": func() error { return l.DB.Transact(t.Context(), s.Op().Update(key, sets...), other()) },
		"read first, transaction": func() error { return l.DB.Transact(t.Context(), s.Op().Update(key, readFirst...), other()) },
	}
}

// No route turns a set into a list or bytes into numbers, and nested structs keep their tags and their zero values.
func TestValues_SetsBytesAndNestedTagsAreTheSameOnEveryRoute(t *testing.T) {
	t.Parallel()
	l, s := open[Shelf](t)
	for name, write := range shelfRoutes(t, l, s) {
		t.Run(name, func(t *testing.T) {
			l.drop(shelfKey)
			l.OK(s.Create(t.Context(), Shelf{ID: "a", Team: "t", Rank: 1, Words: []string{"old"}, Bytes: []byte("old"), In: Inner{Gone: "old"}, Ins: []Inner{{Pouch: Pouch{Nums: []int{2, 7}}}}}))
			require.NoError(t, write())
			it := l.stored(shelfKey)
			for attr, want := range shelfText() {
				require.Equal(t, want, it[attr], attr)
			}
			got := entity.Must(s.Get(t.Context(), Shelf{ID: "a"}, entity.Consistent()))
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

// Small has types that are narrower than what DynamoDB can store. internal/item tries all others.
type Small struct {
	_      entity.Key    `name:"Small" pk:"$#{id}" sk:"$"`
	ID     string        `dynamodbav:"id"`
	I8     int8          `dynamodbav:"i8"`
	F32    float32       `dynamodbav:"f32"`
	Hash   [4]byte       `dynamodbav:"hash"`
	Levels map[int8]bool `dynamodbav:"levels,omitempty"`
	Tags   []string      `dynamodbav:"tags,stringset,omitempty"`
	Note   string        `dynamodbav:"note,omitempty"`
}

// A stored value that the field cannot hold is an error that names the attribute, for every verb that reads, and never
// another value.
func TestDecode_WhatAFieldCannotHoldIsAnError(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Small{ID: "a"})
	at := keys("pk", "$app#v1#small#a", "sk", "$app#v1#small")
	good, created := l.values(at), entity.Must(s.Get(t.Context(), Small{ID: "a"}))
	for attr, values := range map[string][]av{
		"i8":     {num("300"), num("-129"), num("1.5"), str("1")},
		"f32":    {num("1e39"), str("1")},
		"hash":   {binary(make([]byte, 5)), str("abcd")},
		"levels": {document(map[string]av{"128": &types.AttributeValueMemberBOOL{Value: true}})},
		"tags":   {str("x"), document(map[string]av{})},
	} {
		for _, v := range values {
			l.PutItem(good)
			l.patch(at, attr, v)
			loaded := Small{ID: "a"}
			for verb, err := range map[string]error{
				"Get": dbtest.ErrorOf(s.Get(t.Context(), loaded)), "GetMany": dbtest.ErrorOf(s.GetMany(t.Context(), []Small{loaded})),
				"Query": dbtest.ErrorOf(s.Query(loaded).Collect(t.Context())), "TransactGet": l.DB.TransactGet(t.Context(), s.Op().GetInto(&loaded)),
				"Update": dbtest.ErrorOf(s.Update(t.Context(), Small{ID: "a"}, entity.Set(&entity.Fields[Small]().Note, "x"))),
			} {
				requireMisfit(t, err, attr, "%s of %s", verb, text(v))
			}
			require.Equal(t, Small{ID: "a"}, loaded)
		}
	}
	l.PutItem(good)
	l.patch(at, "Note", num("7"))
	require.Equal(t, created, entity.Must(s.Get(t.Context(), Small{ID: "a"})), "attributes that differ in case are others")
	most := Small{ID: "a", I8: math.MinInt8, F32: 3e38}
	require.Equal(t, most, entity.Must(s.Put(t.Context(), most)))
	require.Equal(t, most, entity.Must(s.Get(t.Context(), most, entity.Consistent())))
}

// Loose holds anything, and values whose Go types are narrower than what DynamoDB can store.
type Loose struct {
	_ entity.Key `name:"Loose" pk:"$#{id}" sk:"$"`

	ID    string         `dynamodbav:"id"`
	Any   any            `dynamodbav:"any,omitempty"`
	Map   map[string]any `dynamodbav:"map,omitempty"`
	Tags  []string       `dynamodbav:"tags,stringset,omitempty"`
	Text  string         `dynamodbav:"text,omitempty"`
	Tiny  int8           `dynamodbav:"tiny"`
	Marks map[slug]int   `dynamodbav:"marks,omitempty"`
	At    time.Time      `dynamodbav:"at,omitempty"`
	Pk    string         `dynamodbav:"PK,omitempty"` // differs in case from the table's key
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
	key, late := Loose{ID: "a"}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	l.OK(s.Create(t.Context(), key))
	l.Sent()
	for field, c := range map[string]struct {
		v      Loose
		change entity.UpdateOption
		cond   entity.Cond
	}{
		"Map":  {Loose{ID: "b", Map: map[string]any{"ok": 1, "f": func() {}}}, entity.Set(&f.Map, map[string]any{"f": make(chan int)}), entity.Eq(&f.Map, map[string]any{"f": func() {}})},
		"Any":  {Loose{ID: "b", Any: func() {}}, entity.Set(&f.Any, any([]any{complex(1, 2)})), entity.Ne(&f.Any, any(func() {}))},
		"Tags": {Loose{ID: "b", Tags: []string{"x", "x"}}, entity.AddToSet(&f.Tags, "y", "y"), entity.Eq(&f.Tags, []string{"z", "z"})},
		"At":   {Loose{ID: "b", At: late}, entity.Set(&f.At, late), entity.Lt(&f.At, late)},
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
		dbtest.RequireInput(t, err, "EDD-9102", field)
		require.Equal(t, []string{"GetItem"}, l.Operations(), "nothing is written")
	}
	_, err := s.Update(t.Context(), key, entity.MapEntry(&f.Map, "f").Set(func() {}))
	l.requireRefused(t, err, "EDD-9102", "Map")
}

func TestEntry_KeysThatMarshalThemselvesAreFound(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Loose{ID: "a", Marks: map[slug]int{"x": 1}, Pk: "own"})
	f := entity.Fields[Loose]()
	got, err := s.Update(t.Context(), Loose{ID: "a"}, entity.MapEntry(&f.Marks, "x").Set(2), entity.If(entity.MapEntry(&f.Marks, "x").Eq(1)))
	require.NoError(t, err)
	require.Equal(t, map[slug]int{"x": 2}, got.Marks)
	require.Equal(t, "own", got.Pk, "not the table's key")
	require.Equal(t, "M{s-x=N2}", l.stored(keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose"))["marks"])
}
