package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

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
