package rules_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func list(elems ...av) av          { return &types.AttributeValueMemberL{Value: elems} }
func doc(m map[string]av) av       { return &types.AttributeValueMemberM{Value: m} }
func stringSet(elems ...string) av { return &types.AttributeValueMemberSS{Value: elems} }
func numberSet(elems ...string) av { return &types.AttributeValueMemberNS{Value: elems} }

func sectioned() page {
	return page{
		ID: "x", Log: []string{"a", "b"}, By: map[string]int{"c.h": 3},
		Devices: map[string]device{"d.1": {Name: "first", Ports: []int{1, 2}, Marks: []string{"m"}, Sums: map[string]int{"s": 7}}},
		Rows:    []device{{Name: "row", Ports: []int{5}}},
	}
}

func TestPath_HasEveryChangeAtAnyDepth(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	d := entity.MapEntry(&p.Devices, "d.1")
	stored := func(attr string, path ...any) func(map[string]av) av {
		return func(it map[string]av) av {
			v := it[attr]
			for _, step := range path {
				switch s := step.(type) {
				case string:
					v = v.(*types.AttributeValueMemberM).Value[s]
				case int:
					v = v.(*types.AttributeValueMemberL).Value[s]
				}
			}
			return v
		}
	}
	for name, c := range map[string]struct {
		change entity.UpdateOption
		at     func(map[string]av) av
		want   av
	}{
		"set of an entry":              {entity.MapEntry(&p.By, "new").Set(1), stored("By", "new"), dbtest.N("1")},
		"set inside an entry":          {entity.Inside[string](d, "name").Set("n"), stored("devices", "d.1", "name"), dbtest.S("n")},
		"an empty value inside":        {entity.Inside[string](d, "name").Set(""), stored("devices", "d.1", "name"), nil},
		"set once, there":              {entity.Inside[string](d, "name").SetIfNotExists("n"), stored("devices", "d.1", "name"), dbtest.S("first")},
		"set once, not there":          {entity.Inside[int](d, "sums.t").SetIfNotExists(4), stored("devices", "d.1", "sums", "t"), dbtest.N("4")},
		"remove inside":                {entity.Inside[int](d, "sums.s").Remove(), stored("devices", "d.1", "sums"), doc(map[string]av{})},
		"add to an entry":              {entity.MapEntry(&p.By, "c.h").Add(2), stored("By", "c.h"), dbtest.N("5")},
		"add to a new entry":           {entity.MapEntry(&p.By, "it").Add(2), stored("By", "it"), dbtest.N("2")},
		"add deep inside":              {entity.Inside[int](entity.Inside[map[string]int](d, "sums"), "s").Add(-1), stored("devices", "d.1", "sums", "s"), dbtest.N("6")},
		"add to an element":            {entity.Inside[int](d, "ports[1]").Add(10), stored("devices", "d.1", "ports", 1), dbtest.N("12")},
		"add by an index that follows": {entity.Inside[int](entity.Inside[[]int](d, "ports"), "[0]").Add(10), stored("devices", "d.1", "ports", 0), dbtest.N("11")},
		"append inside":                {entity.Inside[[]int](d, "ports").ListAppend([]int{3, 4}), stored("devices", "d.1", "ports"), list(dbtest.N("1"), dbtest.N("2"), dbtest.N("3"), dbtest.N("4"))},
		"prepend inside":               {entity.Inside[[]int](d, "ports").ListPrepend([]int{3, 4}), stored("devices", "d.1", "ports"), list(dbtest.N("3"), dbtest.N("4"), dbtest.N("1"), dbtest.N("2"))},
		"append to what is not there":  {entity.Inside[[]string](d, "more").ListAppend([]string{"x"}), stored("devices", "d.1", "more"), list(dbtest.S("x"))},
		"add to a set of a field":      {entity.Inside[[]string](d, "marks").AddToSet([]string{"n"}), stored("devices", "d.1", "marks"), stringSet("m", "n")},
		"take out of a set of a field": {entity.Inside[[]string](d, "marks").DeleteFromSet([]string{"m"}), stored("devices", "d.1", "marks"), nil},
		"a set of a field":             {entity.Inside[[]string](d, "marks").Set([]string{"z"}), stored("devices", "d.1", "marks"), stringSet("z")},
		"a set that no field has":      {entity.Inside[[]int](d, "odd").AddToSet([]int{1, 2}), stored("devices", "d.1", "odd"), numberSet("1", "2")},
		"an element":                   {entity.Elem(&p.Log, 1).Set("z"), stored("log"), list(dbtest.S("a"), dbtest.S("z"))},
		"an element beyond the end":    {entity.Elem(&p.Log, 7).Set("z"), stored("log"), list(dbtest.S("a"), dbtest.S("b"), dbtest.S("z"))},
		"an element goes":              {entity.Elem(&p.Log, 0).Remove(), stored("log"), list(dbtest.S("b"))},
		"inside an element":            {entity.Inside[int](entity.Elem(&p.Rows, 0), "ports[0]").Add(1), stored("rows", 0, "ports", 0), dbtest.N("6")},
		"the same by text":             {entity.Attr[int]("rows[0].ports[0]").Add(1), stored("rows", 0, "ports", 0), dbtest.N("6")},
	} {
		require.NoError(t, dbtest.ErrorOf(b.Put(t.Context(), sectioned())), name)
		require.NoError(t, dbtest.ErrorOf(b.Update(t.Context(), page{ID: "x"}, c.change)), name)
		require.Equal(t, c.want, c.at(b.stored(t)), name)
	}
	b.Operations()
	for name, change := range map[string]entity.UpdateOption{
		"elements that are no slice":  entity.Inside[int](d, "ports").ListAppend(1),
		"a set in a field for a list": entity.Attr[[]int]("rows[0].ports").AddToSet([]int{1}),
		"a text as a number":          entity.Inside[string](d, "name").Add("x"),
	} {
		dbtest.As[*entity.InputError](t, dbtest.ErrorOf(b.Update(t.Context(), page{ID: "x"}, change)), name)
	}
	require.Empty(t, b.Operations())
}

// housed has values at every kind of place that the struct gives a type, and places where it gives none.
type housed struct {
	_     entity.Key         `name:"Housed" pk:"$#{id}" sk:"$"`
	ID    string             `dynamodbav:"id"`
	Place spot               `dynamodbav:"place"`
	At    *spot              `dynamodbav:"at,omitempty"`
	Spots []*spot            `dynamodbav:"spots,omitempty"`
	By    map[string][]int64 `dynamodbav:"by,omitempty"`
	Free  map[string]any     `dynamodbav:"free,omitempty"`
	Own   sealed             `dynamodbav:"own"`
	Pin   map[string]int     `dynamodbav:"pin,omitempty" entity:"secret"`
}

type spot struct {
	Street string   `dynamodbav:"street"`
	Zip    *string  `dynamodbav:"zip,omitempty"`
	Floor  uint8    `dynamodbav:"floor"`
	Raw    []byte   `dynamodbav:"raw,omitempty"`
	Tags   []string `dynamodbav:"tags,omitempty,stringset"`
}

// sealed encodes itself.
type sealed struct{ Street int }

func (sealed) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	return doc(map[string]av{"Street": dbtest.S("x")}), nil
}
func (*sealed) UnmarshalDynamoDBAttributeValue(av) error { return nil }

// A value for a path in text has the type that the struct has there, or none if the struct does not say.
func TestPath_AValueOfAnotherTypeIsRefusedBeforeAnyRequest(t *testing.T) {
	b, p, text := open[housed](t), entity.Fields[housed](), "z"
	b.OK(b.Put(t.Context(), housed{
		ID: "x", At: &spot{}, Spots: []*spot{{Raw: []byte("abc"), Tags: []string{"m"}}}, By: map[string][]int64{"k": {1}}, Free: map[string]any{"a": 1}, Pin: map[string]int{},
	}))
	b.Operations()
	for name, change := range map[string]entity.UpdateOption{
		"an attribute":    entity.Attr[int]("free").Set(1),
		"a field":         entity.Attr[[]string]("place.street").Set([]string{"x"}),
		"by a pointer":    entity.Attr[int]("at.zip").Set(1),
		"of an element":   entity.Attr[string]("spots[0].floor").Set("1"),
		"too large":       entity.Attr[int]("spots[0].floor").Set(256),
		"of an entry":     entity.Attr[string]("by.k[0]").Set("1"),
		"an entry":        entity.Attr[int]("by.k").SetIfNotExists(1),
		"an element":      entity.Attr[string]("spots[1]").Set("x"),
		"below a pointer": entity.Inside[int](entity.Elem(&p.Spots, 0), "street").Set(1),
		"appended":        entity.Attr[[]string]("by.k").ListAppend([]string{"1"}),
		"into a set":      entity.Attr[[]int]("place.tags").AddToSet([]int{1}),
		"a secret":        entity.Attr[string]("pin.4711").Set("x"),
	} {
		_, err := b.Update(t.Context(), housed{ID: "x"}, change)
		requireWhere(t, err, "EDD-9102", "does not fit")
		require.NotContains(t, err.Error(), "4711", name)
	}
	for name, cond := range map[string]entity.Cond{
		"eq": entity.Attr[int]("place.street").Eq(1), "in": entity.Attr[string]("by.k[0]").In("a", "b"), "between": entity.Attr[string]("spots[0].floor").Between("1", "2"),
		"contains": entity.Attr[[]string]("place.tags").Contains(1), "inside": entity.Inside[bool](entity.Elem(&p.Spots, 0), "street").Ne(true),
	} {
		_, err := b.Update(t.Context(), housed{ID: "x"}, entity.Set(&p.Place.Floor, 1), entity.If(cond))
		requireWhere(t, err, "EDD-9102", "does not fit")
		requireWhere(t, dbtest.ErrorOf(b.Scan(entity.Filter(cond)).Collect(t.Context())), "EDD-9102", "does not fit")
		require.Empty(t, b.Operations(), name)
	}
	for name, change := range map[string]entity.UpdateOption{
		"a field": entity.Attr[string]("place.street").Set("x"), "a pointer": entity.Attr[string]("at.zip").Set("x"), "of a pointer": entity.Attr[*string]("place.street").Set(&text),
		"another number": entity.Attr[int]("spots[0].floor").Set(255), "of an entry": entity.Attr[int]("by.k[0]").Add(1), "a whole": entity.Attr[spot]("spots[1]").Set(spot{}),
		"any": entity.Attr[string]("free.a").Set("x"), "below any": entity.Attr[int]("free.b").Set(1), "no field": entity.Attr[int]("place.more").Set(1),
		"in its own encoding": entity.Attr[string]("own.Street").Set("y"), "of type any": entity.Attr[any]("place.street").Set("x"), "nothing": entity.Attr[any]("at.zip").Set(nil),
	} {
		_, err := b.Update(t.Context(), housed{ID: "x"}, change,
			entity.If(entity.Attr[[]byte]("spots[0].raw").Contains([]byte("b")), entity.Attr[[]string]("spots[0].tags").Contains("m")))
		require.NoError(t, err, name)
	}
}

func TestPath_HasEveryConditionAtAnyDepth(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	b.OK(b.Create(t.Context(), sectioned()))
	d := entity.MapEntry(&p.Devices, "d.1")
	name, port, sum := entity.Inside[string](d, "name"), entity.Inside[int](d, "ports[1]"), entity.MapEntry(&p.By, "c.h")
	for what, c := range map[string]entity.Cond{
		"eq": name.Eq("first"), "ne": name.Ne("second"), "lt": port.Lt(3), "le": port.Le(2), "gt": sum.Gt(2), "ge": sum.Ge(3),
		"between": entity.Inside[int](d, "sums.s").Between(7, 8), "in": port.In(1, 2), "begins": name.BeginsWith("fi"),
		"contains an element": entity.Inside[[]int](d, "ports").Contains(2), "contains in a set": entity.Inside[[]string](d, "marks").Contains("m"),
		"contains by text": entity.Attr[[]string]("log").Contains("b"), "exists": port.Exists(), "not exists": entity.Inside[int](d, "ports[2]").NotExists(),
		"an element": entity.Elem(&p.Log, 0).Eq("a"), "inside an element": entity.Inside[string](entity.Elem(&p.Rows, 0), "name").Eq("row"),
		"a list": entity.Inside[[]int](d, "ports").Eq([]int{1, 2}), "a set": entity.Inside[[]string](d, "marks").Eq([]string{"m"}),
	} {
		for cond, holds := range map[*entity.Cond]bool{&c: true, pointer(entity.Not(c)): false} {
			_, err := b.Update(t.Context(), page{ID: "x"}, entity.Set(&p.Hits, 1), entity.If(*cond))
			if holds {
				require.NoError(t, err, what)
			} else {
				require.ErrorIs(t, err, entity.ErrConditionFailed, what)
			}
			n, err := b.Scan(entity.Filter(*cond)).Count(t.Context())
			require.NoError(t, err, what)
			require.Equal(t, holds, n == 1, what)
		}
	}
}

func TestReturning_GivesTheItemBeforeTheWriteInOneRequest(t *testing.T) {
	b, p, ctx := open[page](t), entity.Fields[page](), t.Context()
	old := page{ID: "stale", Title: "stale"}
	first, created, err := b.Upsert(ctx, page{ID: "x", Title: "1"}, entity.Add(&p.Hits, 1), entity.Returning(&old))
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, page{}, old, "there was none")
	require.Equal(t, []string{"UpdateItem"}, b.Operations())

	check := func(was, is page, requests ...string) page {
		t.Helper()
		require.Equal(t, requests, b.Operations())
		require.Equal(t, was, old)
		require.Equal(t, entity.Must(b.Get(ctx, page{ID: "x"}, entity.Consistent())), is, "what is computed is what is stored")
		b.Operations()
		return is
	}
	got, err := b.Update(ctx, page{ID: "x"}, entity.Add(&p.Hits, 4), entity.Set(&p.Title, "2"), entity.ListAppend(&p.Log, "a"), entity.Returning(&old))
	require.NoError(t, err)
	last := check(first, got, "UpdateItem")
	require.Equal(t, 5, got.Hits)

	got, _, err = b.Upsert(ctx, page{ID: "x", Title: "3"}, entity.ListPrepend(&p.Log, "b"), entity.Returning(&old))
	require.NoError(t, err)
	last = check(last, got, "UpdateItem")
	require.Equal(t, []string{"b", "a"}, got.Log)

	got = entity.Must(b.Put(ctx, page{ID: "x", Hits: 9}, entity.Returning(&old)))
	last = check(last, got, "UpdateItem")
	require.Equal(t, page{ID: "x", Hits: 9, Ends: got.Ends, Made: got.Made}, got)

	got = entity.Must(b.Modify(ctx, page{ID: "x"}, func(v *page) error { v.Title = "4"; return nil }, entity.Returning(&old)))
	last = check(last, got, "GetItem", "PutItem")

	got = entity.Must(b.Modify(ctx, page{ID: "x"}, func(*page) error { return nil }, entity.Returning(&old)))
	last = check(last, got, "GetItem")

	require.NoError(t, b.Delete(ctx, page{ID: "x"}, entity.Returning(&old)))
	require.Equal(t, []string{"DeleteItem"}, b.Operations())
	require.Equal(t, last, old)
	require.Nil(t, b.stored(t))

	require.ErrorIs(t, b.Delete(ctx, page{ID: "x"}, entity.Returning(&old)), entity.ErrNotFound)
	require.Equal(t, last, old, "a write that failed gives nothing")
	b.OK(b.Put(ctx, page{ID: "x"}, entity.Returning(&old)))
	require.Equal(t, page{}, old)
}

func TestReturning_IsRefusedWhereThereIsNothingToReturn(t *testing.T) {
	b := open[page](t)
	var input *entity.InputError
	var other rank
	require.ErrorAs(t, b.Delete(t.Context(), page{ID: "x"}, entity.Returning(&other)), &input, "of another type")
	var none *page
	require.ErrorAs(t, b.Delete(t.Context(), page{ID: "x"}, entity.Returning(none)), &input)
	require.Empty(t, b.Operations())
}

// page is counted, in one request.
type page struct {
	_       entity.Key    `name:"Page" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL `attr:"ends" after:"1h"`
	ID      string        `dynamodbav:"id"`
	Title   string        `dynamodbav:"title,omitempty"`
	Hits    int           `dynamodbav:"hits"`
	Log     []string      `dynamodbav:"log,omitempty"`
	First   string        `dynamodbav:"first,omitempty"`
	Tags    []string      `dynamodbav:"tags,omitempty,stringset"`
	By      map[string]int
	Devices map[string]device `dynamodbav:"devices,omitempty"`
	Rows    []device          `dynamodbav:"rows,omitempty"`
	Ends    time.Time         `dynamodbav:"ends,omitempty" entity:"time=unix"`
	Made    time.Time         `dynamodbav:"made" entity:"created_at"`
}

type device struct {
	Name  string         `dynamodbav:"name,omitempty"`
	Ports []int          `dynamodbav:"ports"`
	Marks []string       `dynamodbav:"marks,omitempty,stringset"`
	Sums  map[string]int `dynamodbav:"sums"`
}

// rank is an entity whose every write is planned from the stored item.
type rank struct {
	_       entity.Key        `name:"Rank" pk:"$#{id}" sk:"$"`
	_       entity.GSI        `name:"byScore" index:"gsi1" pk:"$#{board}" sk:"$#{score}"`
	_       versioned.Retain  `ttl:"1h"`
	_       unique.Constraint `name:"nick" fields:"nick"`
	ID      string            `dynamodbav:"id"`
	Board   string            `dynamodbav:"board,omitempty"`
	Nick    string            `dynamodbav:"nick,omitempty"`
	Score   int               `dynamodbav:"score,omitempty"`
	Log     []string          `dynamodbav:"log,omitempty"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

// bench is a table for T and its store.
type bench[T any] struct {
	*entity.Store[T]
	*dbtest.Bench
}

func open[T any](t *testing.T) *bench[T] {
	t.Helper()
	b, s := opened[T](t)
	return &bench[T]{s, b}
}

// opened opens a table and a store for a test that runs in parallel with others.
func opened[T any](t *testing.T, configure ...func(*entity.Config)) (*dbtest.Bench, *entity.Store[T]) {
	t.Helper()
	dbtest.Parallel(t)
	return dbtest.OpenStore[T](t, configure...)
}

// following is opened for a series.
func following[T any](t *testing.T, configure ...func(*entity.Config)) (*dbtest.Bench, *timeseries.Series[T]) {
	t.Helper()
	dbtest.Parallel(t)
	b := dbtest.Open(t, configure...)
	s := entity.Must(timeseries.New[T](b.DB))
	b.CreateTables()
	return b, s
}

// stored is the one item in the table that is a current one of its entity.
func (b *bench[T]) stored(t *testing.T) map[string]av {
	t.Helper()
	items := slices.DeleteFunc(b.Items(), func(it map[string]av) bool { return it["id"] == nil || it["_k"] != nil })
	if len(items) == 0 {
		return nil
	}
	require.Len(t, items, 1)
	return items[0]
}

func TestUpsert_BeginsCountersWithTheirChangesInOneRequest(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	visit := func(v page) (page, bool) {
		got, created, err := b.Upsert(t.Context(), v, entity.Add(&p.Hits, 3), entity.ListAppend(&p.Log, "seen", "read"), entity.SetIfNotExists(&p.First, v.Title), entity.AddToSet(&p.Tags, "a"))
		require.NoError(t, err)
		require.Equal(t, []string{"UpdateItem"}, b.Operations())
		return got, created
	}
	got, created := visit(page{ID: "x", Title: "one", Hits: 40, Log: []string{"of the value"}})
	require.True(t, created)
	ends := b.Clock.Now().Truncate(time.Second).Add(time.Hour)
	require.Equal(t, page{ID: "x", Title: "one", Hits: 3, Log: []string{"seen", "read"}, First: "one", Tags: []string{"a"}, Ends: ends, Made: b.Clock.Now()}, got, "what a change names is left out of the value")

	got, created = visit(page{ID: "x", Title: "two"})
	require.False(t, created)
	want := page{ID: "x", Title: "two", Hits: 6, Log: []string{"seen", "read", "seen", "read"}, First: "one", Tags: []string{"a"}, Ends: ends, Made: b.Clock.Now()}
	require.Equal(t, want, got)
	require.Equal(t, want, entity.Must(b.Get(t.Context(), page{ID: "x"}, entity.Consistent())))

	b.Clock.Move(2 * time.Hour)
	b.Operations()
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 1), entity.Set(&p.Ends, time.Time{}))
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem", "PutItem"}, b.Operations())
	require.True(t, created)
	require.Equal(t, page{ID: "x", Hits: 1, Made: b.Clock.Now()}, got, "an expired item has no counters, and a change can say that the new one lives for ever")
}

func TestUpsert_PlannedFromTheStoredItemMakesTheSameChanges(t *testing.T) {
	b, r := open[rank](t), entity.Fields[rank]()
	play := func(v rank, n int, opts ...entity.UpdateOption) (rank, bool) {
		got, created, err := b.Upsert(t.Context(), v, append(opts, entity.Add(&r.Score, n), entity.ListAppend(&r.Log, "+"+strconv.Itoa(n)))...)
		require.NoError(t, err)
		return got, created
	}
	got, created := play(rank{ID: "x", Board: "b", Nick: "n"}, 5)
	require.True(t, created)
	require.Equal(t, rank{ID: "x", Board: "b", Nick: "n", Score: 5, Log: []string{"+5"}, Version: 1}, got)
	got, created = play(rank{ID: "x"}, 7, entity.Idempotent())
	require.False(t, created)
	require.Equal(t, rank{ID: "x", Board: "b", Nick: "n", Score: 12, Log: []string{"+5", "+7"}, Version: 2}, got)
	found := entity.Must(entity.Must(b.Index("byScore")).Query(rank{Board: "b"}).Collect(t.Context()))
	require.Equal(t, []rank{got}, found, "the index key follows the counter")
	_, _, err := b.Upsert(t.Context(), rank{ID: "y"}, entity.Set(&r.Nick, "n"))
	dbtest.As[*unique.ViolationError](t, err, "a change claims a unique value as a value does")
}

func TestUpsert_CountsFromNullAsFromNothing(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	b.OK(b.Create(t.Context(), page{ID: "x"}))
	b.ChangeItem("$app#v1#page#x", "$app#v1#page", map[string]av{"hits": &types.AttributeValueMemberNULL{Value: true}, "log": &types.AttributeValueMemberNULL{Value: true}})
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 2), entity.ListPrepend(&p.Log, "a"))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, 2, got.Hits)
	require.Equal(t, []string{"a"}, got.Log)
}

func TestUpsert_RefusesChangesThatCannotBeMade(t *testing.T) {
	b, p, x := open[page](t), entity.Fields[page](), page{ID: "x", By: map[string]int{"ch": 1}}
	for name, change := range map[string]entity.UpdateOption{
		"a key part":              entity.Set(&p.ID, "y"),
		"what the library sets":   entity.Set(&p.Made, b.Clock.Now()),
		"two that meet":           entity.Add(&p.Hits, 1),
		"no element":              entity.ListPrepend(&p.Log),
		"no list":                 entity.Attr[int]("hits").ListAppend(1),
		"an element of no number": entity.Elem(&p.Log, 0).Add("x"),
		"a negative index":        entity.Elem(&p.Log, -1).Set("x"),
		"a malformed path":        entity.Inside[int](entity.MapEntry(&p.Devices, "d"), "ports[").Set(1),
		"no path":                 entity.Inside[int](entity.MapEntry(&p.Devices, "d"), "").Set(1),
	} {
		dbtest.As[*entity.InputError](t, dbtest.ErrorOf(b.Upsert(t.Context(), x, change, entity.Set(&p.Hits, 1))), name)
	}
	require.Empty(t, b.Operations())

	_, _, err := b.Upsert(t.Context(), x, entity.MapEntry(&p.By, "ch").Add(1))
	var parent *entity.ConditionError
	require.ErrorAs(t, err, &parent, "there is no map to count in")
	require.Equal(t, "By", parent.Attr)
	require.Nil(t, b.stored(t))

	b.OK(b.Create(t.Context(), x))
	got, created, err := b.Upsert(t.Context(), page{ID: "x"}, entity.MapEntry(&p.By, "ch").Add(1), entity.MapEntry(&p.By, "it").Add(5))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, map[string]int{"ch": 2, "it": 5}, got.By)

	b.ChangeItem("$app#v1#page#x", "$app#v1#page", map[string]av{"hits": dbtest.S("many")})
	require.ErrorAs(t, dbtest.ErrorOf(b.Upsert(t.Context(), page{ID: "x", Title: "t"}, entity.Add(&p.Hits, 1))), &parent)
	require.Equal(t, "hits", parent.Attr)
	require.NotContains(t, b.stored(t), "title")
}

func TestUpsert_IsNotSentAgainWhenItCouldCountTwice(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	b.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err := b.Upsert(t.Context(), page{ID: "x"}, entity.Add(&p.Hits, 1))
	if err != nil {
		require.True(t, entity.IsAmbiguous(err))
	}
	require.Equal(t, dbtest.N("1"), b.stored(t)["hits"])
	require.Equal(t, 1, b.Wire.Count("UpdateItem"))
}

// sheet has a list of anything, one of structs, one of numbers, and a set of them. Another program wrote them.
type sheet struct {
	_     entity.Key `name:"Sheet" pk:"pk={id}"`
	ID    string     `dynamodbav:"id"`
	Cells []any      `dynamodbav:"cells"`
	Head  row        `dynamodbav:"head,omitempty"`
	Rows  []row      `dynamodbav:"rows,omitempty"`
	Loads []float64  `dynamodbav:"loads,omitempty"`
	Sizes []float64  `dynamodbav:"sizes,omitempty,numberset"`
}

type row struct {
	Name  string  `dynamodbav:"name"`
	Count float64 `dynamodbav:"count"`
}

// None of these has a float64 of its own.
const wideA, wideB, wideC = "9007199254740993", "9007199254740995", "0.12345678901234567890123456789"

// after stores attributes, modifies the item and returns what is stored then.
func after(t *testing.T, x *bench[sheet], stored map[string]av, f func(*sheet)) map[string]av {
	t.Helper()
	stored["pk"], stored["id"] = str("x"), str("x")
	x.PutItem(stored)
	require.NoError(t, dbtest.ErrorOf(x.Modify(t.Context(), sheet{ID: "x"}, func(v *sheet) error { f(v); return nil })))
	return x.Item("x", "")
}

func TestModify_LeavesNumbersOfAListAsTheyAre(t *testing.T) {
	x := open[sheet](t)
	inside := func(name, number string) av {
		return doc(map[string]av{"name": str(name), "big": num(number)})
	}
	for _, c := range []struct {
		what         string
		stored, want []av
		change       func(*sheet)
	}{
		{"one is appended", []av{num(wideA), num(wideB)}, []av{num(wideA), num(wideB), num("1")}, func(v *sheet) { v.Cells = append(v.Cells, 1) }},
		{"one goes from the middle", []av{num(wideA), num("5"), num(wideC)}, []av{num(wideA), num(wideC)}, func(v *sheet) { v.Cells = slices.Delete(v.Cells, 1, 2) }},
		{"they change places and one goes", []av{num(wideA), num("5"), num(wideC), num("7")}, []av{num(wideC), num(wideA), num("5")}, func(v *sheet) { v.Cells = []any{v.Cells[2], v.Cells[0], v.Cells[1]} }},
		{"one changes inside", []av{inside("p", wideA), inside("q", wideB)}, []av{inside("p", wideA), inside("z", wideB)}, func(v *sheet) { v.Cells[1].(map[string]any)["name"] = "z" }},
		{"one changes inside and the first goes", []av{inside("p", wideC), inside("q", wideB)}, []av{inside("z", wideB)}, func(v *sheet) {
			v.Cells = v.Cells[1:]
			v.Cells[0].(map[string]any)["name"] = "z"
		}},
		{"one changes in a list inside", []av{list(num(wideA), list(num(wideB), num(wideC)))}, []av{list(num(wideA), list(num("2"), num(wideB), num(wideC)))}, func(v *sheet) {
			outer := v.Cells[0].([]any)
			outer[1] = slices.Insert(outer[1].([]any), 0, any(2))
		}},
		{"a set beside a new entry", []av{doc(map[string]av{"set": stringSet("x"), "n": num(wideA)})}, []av{doc(map[string]av{"set": stringSet("x"), "n": num(wideA), "new": &types.AttributeValueMemberBOOL{Value: true}})}, func(v *sheet) {
			v.Cells[0].(map[string]any)["new"] = true
		}},
		{"a number with a place beside it changes to it", []av{num(wideA), num("5")}, []av{num(wideA), num("9007199254740992")}, func(v *sheet) { v.Cells[1] = int64(9007199254740992) }},
	} {
		got := after(t, x, map[string]av{"cells": list(c.stored...)}, c.change)
		require.Equal(t, list(c.want...), got["cells"], c.what)
	}
}

func TestModify_KeepsOfEachListElementWhatTheStructDoesNotKnow(t *testing.T) {
	x := open[sheet](t)
	at := func(name, count string, extra ...string) av {
		m := map[string]av{"name": str(name), "count": num(count)}
		if extra != nil {
			m["extra"] = str(extra[0])
		}
		return doc(m)
	}
	a, b, c := at("a", "1", "of a"), at("b", "2", "of b"), at("c", wideA, "of c")
	for _, k := range []struct {
		what         string
		stored, want []av
		change       func(*sheet)
	}{
		{"one changes", []av{a, b, c}, []av{a, at("b", "7", "of b"), c}, func(v *sheet) { v.Rows[1].Count = 7 }},
		{"the first goes", []av{a, b, c}, []av{b, c}, func(v *sheet) { v.Rows = v.Rows[1:] }},
		{"one goes from the middle and the next changes", []av{a, b, c}, []av{a, at("z", wideA, "of c")}, func(v *sheet) {
			v.Rows, v.Rows[1].Name = slices.Delete(v.Rows, 1, 2), "z"
		}},
		{"they turn around", []av{a, b, c}, []av{c, b, a}, func(v *sheet) { slices.Reverse(v.Rows) }},
		{"one changes and one is put before and one behind", []av{a, b}, []av{at("n", "0"), a, at("b", "3", "of b"), at("m", "0")}, func(v *sheet) {
			v.Rows[1].Count = 3
			v.Rows = append(slices.Insert(v.Rows, 0, row{Name: "n"}), row{Name: "m"})
		}},
		{"a new one is put before one that changes", []av{a, b}, []av{at("n", "0"), at("a", "4", "of a"), b}, func(v *sheet) {
			v.Rows[0].Count = 4
			v.Rows = slices.Insert(v.Rows, 0, row{Name: "n"})
		}},
		{"the first goes and a new one comes last", []av{a, b}, []av{b, at("n", "1")}, func(v *sheet) { v.Rows = append(v.Rows[1:], row{"n", 1}) }},
		{"a new one takes the place of another", []av{a, b}, []av{a, at("n", "0")}, func(v *sheet) { v.Rows[1] = row{Name: "n"} }},
		{"all are new", []av{a, b}, []av{at("n", "0")}, func(v *sheet) { v.Rows = []row{{Name: "n"}} }},
		{"one moved and changed", []av{a, b, c}, []av{b, c, at("a", "5")}, func(v *sheet) { v.Rows = append(v.Rows[1:], row{"a", 5}) }},
		{"of equal ones the first stay", []av{a, at("a", "1"), at("a", "1", "third")}, []av{a, at("a", "1")}, func(v *sheet) { v.Rows = v.Rows[:2] }},
		{"beside equal ones another changes", []av{a, at("a", "1"), b}, []av{a, at("a", "1"), at("b", "9", "of b")}, func(v *sheet) { v.Rows[2].Count = 9 }},
	} {
		got := after(t, x, map[string]av{"cells": list(), "rows": list(k.stored...)}, k.change)
		require.Equal(t, list(k.want...), got["rows"], k.what)
	}
	got := after(t, x, map[string]av{"cells": list(), "head": a}, func(v *sheet) { v.Head.Count = 7 })
	require.Equal(t, at("a", "7", "of a"), got["head"])
}

func TestModify_LeavesNumbersOfASetAsTheyAre(t *testing.T) {
	x := open[sheet](t)
	got := after(t, x, map[string]av{"cells": list(), "sizes": numberSet(wideA, wideC, "5")}, func(v *sheet) {
		v.Sizes = append(slices.DeleteFunc(v.Sizes, func(f float64) bool { return f == 5 }), 6)
	})
	require.ElementsMatch(t, []string{wideA, wideC, "6"}, got["sizes"].(*types.AttributeValueMemberNS).Value)
}

// A float64 does not hold the digits of these numbers; they keep them wherever they are.
func TestModify_LeavesElementsThatMoveAsTheyAre(t *testing.T) {
	x := open[sheet](t)
	for what, c := range map[string]struct {
		want   []av
		change func(*sheet)
	}{
		"the first goes":     {[]av{num(wideA), num(wideC)}, func(v *sheet) { v.Loads = v.Loads[1:] }},
		"one is put before":  {[]av{num("1"), num("5"), num(wideA), num(wideC)}, func(v *sheet) { v.Loads = slices.Insert(v.Loads, 0, 1) }},
		"they turn around":   {[]av{num(wideC), num(wideA), num("5")}, func(v *sheet) { slices.Reverse(v.Loads) }},
		"the second changes": {[]av{num("5"), num("6"), num(wideC)}, func(v *sheet) { v.Loads[1] = 6 }},
	} {
		got := after(t, x, map[string]av{"cells": list(), "loads": list(num("5"), num(wideA), num(wideC))}, c.change)
		require.Equal(t, list(c.want...), got["loads"], what)
	}
}
