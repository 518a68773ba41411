package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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
