package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// What Set leaves out is what a whole value leaves out.
func TestChange_SetStoresWhatAWholeValueStores(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	yes, no, empty := true, false, ""
	for name, c := range map[string]struct {
		whole  Profile
		change entity.UpdateOption
	}{
		"empty list":       {Profile{Log: []string{}}, entity.Set(&p.Log, []string{})},
		"empty map":        {Profile{Labels: map[string]string{}}, entity.Set(&p.Labels, map[string]string{})},
		"empty set":        {Profile{Tags: []string{}}, entity.Set(&p.Tags, []string{})},
		"nil list":         {Profile{}, entity.Set(&p.Log, nil)},
		"pointer to true":  {Profile{Active: &yes}, entity.Set(p.Active, true)},
		"pointer to false": {Profile{Active: &no}, entity.Set(p.Active, false)},
		"pointer to empty": {Profile{Alias: &empty}, entity.Set(p.Alias, "")},
		"empty struct":     {Profile{Work: &Address{}}, entity.Set(p.Work, Address{})},
		"zero struct":      {Profile{}, entity.Set(&p.Home, Address{})},
		"list of zeros":    {Profile{Lines: []Line{{}}}, entity.Set(&p.Lines, []Line{{}})},
	} {
		t.Run(name, func(t *testing.T) {
			c.whole.ID = "whole"
			_ = s.Delete(t.Context(), c.whole)
			l.OK(s.Create(t.Context(), c.whole))
			_ = s.Delete(t.Context(), Profile{ID: "a"})
			l.OK(s.Create(t.Context(), Profile{ID: "a"}))
			l.OK(s.Update(t.Context(), Profile{ID: "a"}, c.change))
			names := []string{"_w", "pk", "id", "gsi1sk"}
			want := without(l.stored(keys("pk", "$app#v1#profile#whole", "sk", "$app#v1#profile")), names...)
			require.Equal(t, want, without(l.stored(profileKey), names...))
		})
	}
}

type satchel struct {
	_     entity.Key `name:"Satchel" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	List  []string   `dynamodbav:"list"`
	Set   []string   `dynamodbav:"set,stringset"`
	Count *int       `dynamodbav:"count"`
	Name  string     `dynamodbav:"name"`
}

func TestElements_ANilFieldThatIsStoredAsNULLCountsAsAbsent(t *testing.T) {
	t.Parallel()
	l, s := open[satchel](t)
	f := entity.Fields[satchel]()
	at := keys("pk", "$app#v1#satchel#a", "sk", "$app#v1#satchel")
	l.OK(s.Create(t.Context(), satchel{ID: "a", Set: []string{}}))
	require.Equal(t, []string{"NULL", "NULL"}, []string{l.stored(at)["list"], l.stored(at)["set"]}, "what this test is about")
	l.Sent()
	got := entity.Must(s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "x"), entity.AddToSet(&f.Set, "y"), entity.Add(f.Count, 2)))
	require.Equal(t, []string{"x"}, got.List)
	require.Equal(t, []string{"y"}, got.Set)
	require.Equal(t, 2, *got.Count)
	require.Equal(t, []string{"UpdateItem", "GetItem", "PutItem"}, l.Operations(), "only the first time")
	l.OK(s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "z"), entity.DeleteFromSet(&f.Set, "y")))
	require.Equal(t, []string{"UpdateItem"}, l.Operations())

	l.OK(s.Create(t.Context(), satchel{ID: "b"}))
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(satchel{ID: "b"}, entity.DeleteFromSet(&f.Set, "y"), entity.ListAppend(&f.List, "x")), s.Op().CheckNotExists(satchel{ID: "c"})))
	require.Equal(t, satchel{ID: "b", List: []string{"x"}}, entity.Must(s.Get(t.Context(), satchel{ID: "b"}, entity.Consistent())))
}

func TestElements_AStoredValueOfAnotherTypeIsNamed(t *testing.T) {
	t.Parallel()
	l, s := opened(t, satchel{ID: "a"})
	f := entity.Fields[satchel]()
	l.patch(keys("pk", "$app#v1#satchel#a", "sk", "$app#v1#satchel"), "list", num("7"))
	requireNamed(t, dbtest.ErrorOf(s.Update(t.Context(), satchel{ID: "a"}, entity.ListAppend(&f.List, "x"))), "list")
}

func TestChange_NestedWithoutItsParentNamesTheParent(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for name, c := range map[string]struct {
		change entity.UpdateOption
		parent string
	}{
		"struct pointer":         {entity.Set(&p.Work.City, "x"), "work"},
		"deeper":                 {entity.Set(&p.Home.Geo.Lat, 1), "home.geo"},
		"deeper still":           {entity.Set(&p.Work.Geo.Lat, 1), "work.geo"},
		"map entry":              {entity.MapEntry(&p.Labels, "a.b").Set("x"), "labels"},
		"list element":           {entity.Attr[string]("log[0]").Set("x"), "log"},
		"inside an element":      {entity.Attr[int]("lines[3].qty").Set(1), "lines[3]"},
		"removal":                {entity.Remove(&p.Work.Zip), "work"},
		"entry removal":          {entity.MapEntry(&p.Labels, "a").Remove(), "labels"},
		"set once":               {entity.SetIfNotExists(&p.Work.Zip, "1"), "work"},
		"addition":               {entity.Add(&p.Home.Geo.Lat, 1), "home.geo"},
		"parent of another type": {entity.Attr[int]("note.x").Set(1), "note"},
		"list, not map":          {entity.Attr[int]("home[0]").Set(1), "home"},
	} {
		t.Run(name, func(t *testing.T) {
			l.drop(profileKey)
			_, err := s.Update(t.Context(), Profile{ID: "a"}, c.change)
			require.ErrorIs(t, err, entity.ErrNotFound, "of an absent item the parent is not the problem")
			require.NotErrorIs(t, err, entity.ErrConditionFailed)

			l.OK(s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1, Note: "text"}))
			before := l.everything()
			requireNamed(t, dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Add(&p.Count, 1))), c.parent)
			requireNamed(t, dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, c.change, entity.Set(&p.Rank, 2))), c.parent)
			op := s.Op().Update(Profile{ID: "a"}, c.change)
			requireNamed(t, entity.FailureOf(l.DB.Transact(t.Context(), op, s.Op().Create(Profile{ID: "b"})), op), c.parent)
			require.Equal(t, before, l.everything())
		})
	}
}

func TestChange_ParentThatIsThereIsNotBlamedForAFailedCondition(t *testing.T) {
	t.Parallel()
	_, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	_, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Home.City, "x"), entity.If(entity.Eq(&p.Count, 99)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var named *entity.ConditionError
	require.NotErrorAs(t, err, &named)
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
	f, key, late := entity.Fields[Loose](), Loose{ID: "a"}, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
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
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), c.v)), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Put(t.Context(), c.v)), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Upsert(t.Context(), c.v)), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, c.change)), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Tiny, 1), entity.If(c.cond))), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Scan(entity.Filter(c.cond)).Collect(t.Context())), "EDD-9102", field)
		_, err := s.Modify(t.Context(), key, func(v *Loose) error {
			id := v.ID
			*v = c.v
			v.ID = id
			return nil
		})
		dbtest.RequireInput(t, err, "EDD-9102", field)
		require.Equal(t, []string{"GetItem"}, l.Operations(), "nothing is written")
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.MapEntry(&f.Map, "f").Set(func() {}))), "EDD-9102", "Map")
}

func TestEntry_KeysThatMarshalThemselvesAreFound(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Loose{ID: "a", Marks: map[slug]int{"x": 1}, Pk: "own"})
	f := entity.Fields[Loose]()
	got := entity.Must(s.Update(t.Context(), Loose{ID: "a"}, entity.MapEntry(&f.Marks, "x").Set(2), entity.If(entity.MapEntry(&f.Marks, "x").Eq(1))))
	require.Equal(t, map[slug]int{"x": 2}, got.Marks)
	require.Equal(t, "own", got.Pk, "not the table's key")
	require.Equal(t, "M{s-x=N2}", l.stored(keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose"))["marks"])
}
