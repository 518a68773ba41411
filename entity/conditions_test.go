package entity_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

var seen = time.Date(2024, 5, 6, 7, 8, 9, 123000000, time.UTC)

// furnished is a profile with something in nearly every attribute; work is absent.
func furnished() Profile {
	alias, off := "al", false
	return Profile{
		ID: "a", Team: "red", Rank: 1, Home: Address{City: "Rome", Geo: &Geo{Lat: 1.5, Lon: 2}},
		Labels: map[string]string{"a.b": "x", "l[0]": "y", "size": "z"}, Scores: map[string]int{"n": 3},
		Lines: []Line{{"s1", 2}, {"s2", 5}}, Log: []string{"one", "two"}, Tags: []string{"t1", "t2"}, Numbers: []int{1, 2},
		Note: "note", Alias: &alias, Active: &off, Count: 5, Total: 1.5, SeenAt: seen, Order: "o",
	}
}

type trial struct {
	cond  entity.Cond
	holds bool
}

// trials are conditions with times that are finer than the stored ones, and with whole values. tests/rules has all others.
func trials() map[string]trial {
	p, f := entity.Fields[Profile](), furnished()
	return map[string]trial{
		"time":                {entity.Eq(&p.SeenAt, seen.In(time.FixedZone("", 3600))), true},
		"time Lt finer":       {entity.Lt(&p.SeenAt, seen.Add(1)), true},
		"time Le finer":       {entity.Le(&p.SeenAt, seen.Add(1)), true},
		"time Le finer below": {entity.Le(&p.SeenAt, seen.Add(-1)), false},
		"time Gt finer":       {entity.Gt(&p.SeenAt, seen.Add(1)), false},
		"time Gt finer below": {entity.Gt(&p.SeenAt, seen.Add(-1)), true},
		"time Ge finer":       {entity.Ge(&p.SeenAt, seen.Add(1)), false},
		"time Ge finer below": {entity.Ge(&p.SeenAt, seen.Add(-1)), true},
		"time Between finer":  {entity.Between(&p.SeenAt, seen.Add(-1), seen.Add(1)), true},
		"time Between none":   {entity.Between(&p.SeenAt, seen.Add(1), seen.Add(2)), false},
		"Contains struct":     {entity.Contains(&p.Lines, Line{"s2", 5}), true},
		"Contains struct no":  {entity.Contains(&p.Lines, Line{"s2", 6}), false},
		"whole struct":        {entity.Eq(&p.Home, f.Home), true},
		"whole struct no":     {entity.Eq(&p.Home, Address{City: "Rome"}), false},
		"reserved word":       {entity.Eq(&p.Order, "o"), true},
	}
}

// A condition means the same on a write in place, on one that reads first, in a check, and as a filter.
func TestCondition_MeansTheSameEverywhere(t *testing.T) {
	l, s := opened(t, furnished())
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			outcome := func(where string, err error) {
				t.Helper()
				if c.holds {
					require.NoError(t, err, where)
				} else {
					require.ErrorIs(t, err, entity.ErrConditionFailed, where)
				}
			}
			outcome("in place", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&p.Plain, ""), entity.If(c.cond))))
			outcome("after a read", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&p.Rank, 1), entity.If(c.cond))))
			outcome("check", l.DB.Transact(t.Context(), s.Op().CheckExists(key, c.cond)))
			count := func(c entity.Cond) int {
				return entity.Must(s.Query(key, entity.Filter(c), entity.Consistent()).Count(t.Context()))
			}
			want := map[bool]int{true: 1, false: 0}
			require.Equal(t, want[c.holds], count(c.cond), "filter")
			require.Equal(t, want[!c.holds], count(entity.Not(c.cond)), "negated")
		})
	}
}

// many is a condition that holds, with n operators as DynamoDB counts them: comparisons and the ORs between them.
func many(n int) entity.Cond {
	g, conds := entity.Fields[Gadget](), []entity.Cond{}
	for range (n + 1) / 2 {
		conds = append(conds, entity.Eq(&g.HardwareID, gadgetID))
	}
	return entity.Or(conds...)
}

func TestCondition_MoreOperatorsThanAGuardLeavesRoomForAreRefused(t *testing.T) {
	l, s := opened(t, gadget())
	g := entity.Fields[Gadget]()
	_, err := s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(269)))
	require.NoError(t, err, "as many as fit in addition to a guard")
	l.Sent()
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(273)))), "EDD-9111", "")
	_, err = s.Modify(t.Context(), gadget(), func(g *Gadget) error { g.Name = "m"; return nil }, entity.If(many(269)))
	require.NoError(t, err, "also with the guard of a whole image of this size")
}

// A guard of the whole content of an item leaves no room for a long condition.
func TestCondition_TooLongWithItsGuardIsRefused(t *testing.T) {
	l, s := open[Pallet](t)
	l.PutItem(widePallet(30))
	p, conds := entity.Fields[Pallet](), []entity.Cond{}
	for range 135 {
		conds = append(conds, entity.Eq(&p.Row, 1))
	}
	_, err := s.Modify(t.Context(), Pallet{ID: "a"}, func(p *Pallet) error { p.Row++; return nil }, entity.If(entity.Or(conds...)))
	dbtest.RequireInput(t, err, "EDD-9111", "")
	for _, r := range l.Operations() {
		require.Equal(t, "GetItem", r, "it is found when the guard is known, and nothing is sent")
	}
}

func TestElements_ANilFieldThatIsStoredAsNULLCountsAsAbsent(t *testing.T) {
	l, s := open[Loose](t)
	f := entity.Fields[Loose]()
	at := keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose")
	l.OK(s.Create(t.Context(), Loose{ID: "a", Set: []string{}}))
	require.Equal(t, []string{"NULL", "NULL"}, []string{l.stored(at)["list"], l.stored(at)["set"]}, "what this test is about")
	l.Sent()
	got := entity.Must(s.Update(t.Context(), Loose{ID: "a"}, entity.ListAppend(&f.List, "x"), entity.AddToSet(&f.Set, "y"), entity.Add(f.Count, 2)))
	require.Equal(t, []string{"x"}, got.List)
	require.Equal(t, []string{"y"}, got.Set)
	require.Equal(t, 2, *got.Count)
	require.Equal(t, []string{"UpdateItem", "GetItem", "PutItem"}, l.Operations(), "only the first time")
	l.OK(s.Update(t.Context(), Loose{ID: "a"}, entity.ListAppend(&f.List, "z"), entity.DeleteFromSet(&f.Set, "y")))
	require.Equal(t, []string{"UpdateItem"}, l.Operations())

	l.OK(s.Create(t.Context(), Loose{ID: "b"}))
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Update(Loose{ID: "b"}, entity.DeleteFromSet(&f.Set, "y"), entity.ListAppend(&f.List, "x")), s.Op().CheckNotExists(Loose{ID: "c"})))
	require.Equal(t, Loose{ID: "b", List: []string{"x"}}, entity.Must(s.Get(t.Context(), Loose{ID: "b"}, entity.Consistent())))
}

func TestElements_AStoredValueOfAnotherTypeIsNamed(t *testing.T) {
	l, s := opened(t, Loose{ID: "a"})
	f := entity.Fields[Loose]()
	l.patch(keys("pk", "$app#v1#loose#a", "sk", "$app#v1#loose"), "list", dbtest.N("7"))
	requireNamed(t, dbtest.ErrorOf(s.Update(t.Context(), Loose{ID: "a"}, entity.ListAppend(&f.List, "x"))), "list")
}

func TestChange_NestedWithoutItsParentNamesTheParent(t *testing.T) {
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
			l.RemoveItem(profileKey)
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
	_, s := opened(t, furnished())
	p := entity.Fields[Profile]()
	_, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Home.City, "x"), entity.If(entity.Eq(&p.Count, 99)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	var named *entity.ConditionError
	require.NotErrorAs(t, err, &named)
}

// Loose holds anything, maps with keys of every kind, values whose Go types are narrower than what DynamoDB can store, and such that are stored
// as NULL when they are nil.
type Loose struct {
	_      entity.Key         `name:"Loose" pk:"$#{id}" sk:"$"`
	ID     string             `dynamodbav:"id"`
	Any    any                `dynamodbav:"any,omitempty"`
	Map    map[string]any     `dynamodbav:"map,omitempty"`
	Tags   []string           `dynamodbav:"tags,stringset,omitempty"`
	Text   string             `dynamodbav:"text,omitempty"`
	Tiny   int8               `dynamodbav:"tiny"`
	At     time.Time          `dynamodbav:"at,omitempty"`
	Pk     string             `dynamodbav:"PK,omitempty"` // differs in case from the table's key
	Odd    string             `dynamodbav:"odd\u202ename,omitempty"`
	List   []string           `dynamodbav:"list"`
	Set    []string           `dynamodbav:"set,stringset"`
	Count  *int               `dynamodbav:"count"`
	Int    map[int]int        `dynamodbav:"int,omitempty"`
	Small  map[uint8]int      `dynamodbav:"small,omitempty"`
	Bool   map[bool]int       `dynamodbav:"bool,omitempty"`
	Float  map[float64]int    `dynamodbav:"float,omitempty"`
	Shades map[Shade]int      `dynamodbav:"shades,omitempty"`
	Addrs  map[netip.Addr]int `dynamodbav:"addrs,omitempty"`
}

// What the codec would leave out or change in silence is a mistake in the call, on every path, before any request.
func TestInput_ValuesThatWouldBeLost(t *testing.T) {
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

// requireNamed checks that a condition of the library's own failed, about an attribute.
func requireNamed(t *testing.T, err error, attr string) {
	t.Helper()
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, attr, dbtest.As[*entity.ConditionError](t, err).Attr)
}

// requireMisfit checks that a stored attribute does not fit its field.
func requireMisfit(t *testing.T, err error, attr string, what ...any) {
	t.Helper()
	require.Equal(t, attr, dbtest.As[*entity.DecodeError](t, err, what...).Attr, what...)
}

// requireRefused checks that a call of each kind with a wrong argument is refused before any request.
func (l *lab) requireRefused(t *testing.T, err error, code, field string) {
	t.Helper()
	dbtest.RequireInput(t, err, code, field)
	require.NotEmpty(t, dbtest.As[*entity.InputError](t, err).Type)
	for _, class := range classes {
		require.NotErrorIs(t, err, class)
	}
	dbtest.As[*entity.Error](t, err)
	require.Empty(t, l.Operations(), "refused before any request")
}

func TestInput_Changes(t *testing.T) {
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	update := func(opts ...entity.UpdateOption) error { return dbtest.ErrorOf(s.Update(t.Context(), key, opts...)) }
	l.requireRefused(t, update(entity.Set(&p.Note, "a"), entity.Set(&p.Note, "b")), "EDD-9107", "Note")
	l.requireRefused(t, update(entity.Set(&p.Note, "a"), entity.Remove(&p.Note)), "EDD-9107", "Note")
	l.requireRefused(t, update(entity.Set(&p.Home, Address{}), entity.Set(&p.Home.City, "b")), "EDD-9107", "Home")
	l.requireRefused(t, update(entity.Set(&p.Home.Geo.Lat, 1), entity.Remove(&p.Home.Geo)), "EDD-9107", "Home")
	l.requireRefused(t, update(entity.MapEntry(&p.Labels, "a").Set("x"), entity.Set(&p.Labels, nil)), "EDD-9107", "Labels")
	l.requireRefused(t, update(entity.Attr[int]("lines[0].qty").Set(1), entity.Attr[any]("lines[0]").Remove()), "EDD-9107", "Lines")
	l.requireRefused(t, update(entity.Set(p.Alias, "a"), entity.Set(&p.Alias, nil)), "EDD-9107", "Alias")
	l.requireRefused(t, update(entity.Attr[int]("home.a.b").Set(1), entity.Attr[int]("home[0]").Set(1)), "EDD-9107", "Home")

	l.requireRefused(t, update(entity.Set(&p.ID, "b")), "EDD-9104", "ID")
	l.requireRefused(t, update(entity.Remove(&p.ID)), "EDD-9104", "ID")
	l.requireRefused(t, update(entity.AddToSet(&p.Tags)), "EDD-9102", "Tags")
	l.requireRefused(t, update(entity.ListAppend(&p.Log)), "EDD-9102", "Log")
	l.requireRefused(t, update(entity.AddToSet(&p.Log, "x")), "EDD-9102", "Log")
	l.requireRefused(t, update(entity.ListAppend(&p.Tags, "x")), "EDD-9102", "Tags")
}

func TestInput_Conditions(t *testing.T) {
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for _, c := range []entity.Cond{{}, entity.And(), entity.Or(), entity.Not(entity.Cond{}), entity.Or(entity.Eq(&p.Note, "x"), entity.Cond{})} {
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Profile{ID: "a"}, entity.If(c))), "EDD-9111", "")
		l.requireRefused(t, dbtest.ErrorOf(s.Query(Profile{ID: "a"}, entity.Filter(c)).Collect(t.Context())), "EDD-9111", "")
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note)))), "EDD-9111", "Note")
	_, err := s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note, make([]string, 101)...)))
	l.requireRefused(t, err, "EDD-9111", "Note")
	l.OK(s.Create(t.Context(), Profile{ID: "a", Note: "n"}))
	l.OK(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Plain, ""), entity.If(entity.In(&p.Note, append(make([]string, 99), "n")...))))
}

func TestInput_MissingKeyPartIsRefusedByEveryVerb(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	full := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	for field, v := range map[string]Task{
		"Project":  {Status: "open", Priority: 1, TaskID: "t"},
		"Status":   {Project: "p", Priority: 1, TaskID: "t"},
		"Priority": {Project: "p", Status: "open", TaskID: "t"},
		"TaskID":   {Project: "p", Status: "open", Priority: 1},
	} {
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), v)), "EDD-9101", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Get(t.Context(), v)), "EDD-9101", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), v, entity.Set(&f.Title, "x"))), "EDD-9101", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Upsert(t.Context(), v)), "EDD-9101", field)
		l.requireRefused(t, s.Delete(t.Context(), v), "EDD-9101", field)
		bad := s.Op().CheckExists(v)
		err := l.DB.Transact(t.Context(), s.Op().Create(full), bad)
		l.requireRefused(t, err, "EDD-9101", field)
		dbtest.RequireInput(t, entity.FailureOf(err, bad), "EDD-9101", field)
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Query(Task{}).Collect(t.Context())), "EDD-9101", "Project")
}

// Counter is keyed by values whose zero is real.
type Counter struct {
	_     entity.Key `name:"Counter" pk:"$#{shard}#{on}" sk:"$#{at}#{n}"`
	Shard int        `dynamodbav:"shard" entity:"zero"`
	On    bool       `dynamodbav:"on" entity:"zero"`
	At    time.Time  `dynamodbav:"at" entity:"zero,time=s"`
	N     uint64     `dynamodbav:"n" entity:"zero"`
	Hits  int        `dynamodbav:"hits,omitempty"`
}

func TestInput_PointersThatNameNoAttribute(t *testing.T) {
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	var own Profile
	for _, field := range []*string{&entity.Fields[Team]().Name, &own.Note, nil} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(field, "x"))), "EDD-9105", "")
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), key, entity.If(entity.NotExists(field)))), "EDD-9105", "")
		l.requireRefused(t, dbtest.ErrorOf(s.Query(key, entity.Ge(field, "x")).First(t.Context())), "EDD-9105", "")
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.MapEntry(&own.Labels, "a").Set("x"))), "EDD-9105", "")
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.MapEntry(&p.Labels, "").Set("x"))), "EDD-9102", "Labels")
}

func TestInput_PathsThatNameNoAttribute(t *testing.T) {
	l, s := open[Profile](t)
	for _, path := range []string{"", "unknown", "unknown.city", "home.", ".home", "home..city", "lines[", "lines[]", "lines[x]", "lines[-1]", "lines[0", "lines]0[", "[0]", "lines[0]qty", "lines[0].", "lines[99999999999999999999]"} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, entity.Attr[int](path).Set(1))), "EDD-9105", "")
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, entity.Attr[int](path).Remove())), "EDD-9105", "")
		_, err := s.Query(Profile{ID: "a"}, entity.Filter(entity.Attr[int](path).Exists())).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9105", "")
	}
	var zero entity.Path[int]
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, zero.Set(1))), "EDD-9105", "")
}

func TestInput_TooLargeIsRefusedBeforeAnyRequest(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrTooLarge)
		dbtest.As[*entity.Error](t, err)
		require.Empty(t, l.Operations())
	}
	task := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	fat := task
	fat.Title = strings.Repeat("x", 400*1024)
	refused(dbtest.ErrorOf(s.Create(t.Context(), fat)))
	refused(dbtest.ErrorOf(s.Upsert(t.Context(), fat)))

	long := task
	long.Project = strings.Repeat("p", 2048)
	refused(dbtest.ErrorOf(s.Create(t.Context(), long)))
	refused(dbtest.ErrorOf(s.Get(t.Context(), long)))
	refused(s.Delete(t.Context(), long))

	wide := task
	wide.TaskID = strings.Repeat("#", 400) // 1200 bytes when it is escaped
	refused(dbtest.ErrorOf(s.Update(t.Context(), wide, entity.Set(&f.Title, "x"))))

	owned := task
	owned.Owner = strings.Repeat(" ", 700) // an index key of 2100 bytes
	refused(dbtest.ErrorOf(s.Create(t.Context(), owned)))
	refused(dbtest.ErrorOf(s.Update(t.Context(), task, entity.Set(&f.Owner, owned.Owner))))
	refused(dbtest.ErrorOf(s.Query(Task{Project: long.Project}).Collect(t.Context())))
	refused(dbtest.ErrorOf(entity.Must(s.Index("byOwner")).Query(Task{Owner: owned.Owner}).Collect(t.Context())))

	_, claims := open[Claim](t)
	x := strings.Repeat("x", 3000)
	for name, v := range map[string]Claim{"copied": {ID: "1", Owner: x}, "native partition": {ID: "1", Team: x}, "native sort": {ID: "1", Code: x[:1025]}} {
		require.ErrorIs(t, dbtest.ErrorOf(claims.Create(t.Context(), v)), entity.ErrTooLarge, name)
		require.ErrorIs(t, dbtest.ErrorOf(claims.Upsert(t.Context(), v)), entity.ErrTooLarge, name)
	}
}

func TestInput_LargestKeysAreStored(t *testing.T) {
	l, s := open[Task](t)
	task := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	task.Project = strings.Repeat("p", 2048-len("$app#v1#task#"))
	task.TaskID = strings.Repeat("t", 1024-len("$app#v1#task#open#0000000000000000001#"))
	l.OK(s.Create(t.Context(), task))
	l.OK(s.Get(t.Context(), task))
	task.TaskID += "t"
	require.ErrorIs(t, dbtest.ErrorOf(s.Create(t.Context(), task)), entity.ErrTooLarge)
}
