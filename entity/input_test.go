package entity_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

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
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	update := func(opts ...entity.UpdateOption) error { return dbtest.ErrorOf(s.Update(t.Context(), key, opts...)) }
	l.requireRefused(t, update(), "EDD-9106", "")
	l.requireRefused(t, update(entity.If(entity.Exists(&p.Note))), "EDD-9106", "")

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
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for _, c := range []entity.Cond{{}, entity.And(), entity.Or(), entity.Not(entity.Cond{}), entity.Or(entity.Eq(&p.Note, "x"), entity.Cond{})} {
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Profile{ID: "a"}, entity.If(c))), "EDD-9111", "")
		l.requireRefused(t, dbtest.ErrorOf(s.Query(Profile{ID: "a"}, entity.Filter(c)).Collect(t.Context())), "EDD-9111", "")
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note)))), "EDD-9111", "Note")
	_, err := s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note, make([]string, 101)...)))
	l.requireRefused(t, err, "EDD-9111", "Note")
}

func TestInput_MissingKeyPartIsRefusedByEveryVerb(t *testing.T) {
	t.Parallel()
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
	_ entity.Key `name:"Counter" pk:"$#{shard}#{on}" sk:"$#{at}#{n}"`

	Shard int       `dynamodbav:"shard" entity:"zero"`
	On    bool      `dynamodbav:"on" entity:"zero"`
	At    time.Time `dynamodbav:"at" entity:"zero,time=s"`
	N     uint64    `dynamodbav:"n" entity:"zero"`
	Hits  int       `dynamodbav:"hits,omitempty"`
}

func TestInput_ValuesThatAKeyCannotHold(t *testing.T) {
	t.Parallel()
	l, s := open[Counter](t)
	for field, v := range map[string]Counter{
		"Shard": {Shard: -1},
		"At":    {At: time.Date(2024, 1, 1, 0, 0, 0, 1, time.UTC)}, // finer than the format: never truncated
	} {
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), v)), "EDD-9102", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Get(t.Context(), v)), "EDD-9102", field)
	}
	for _, year := range []int{10000, -1} {
		l.requireRefused(t, dbtest.ErrorOf(s.Get(t.Context(), Counter{At: time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)})), "EDD-9102", "At")
	}
	_, task := open[Task](t)
	_, err := task.Get(t.Context(), Task{Project: "a\xffb", Status: "s", Priority: 1, TaskID: "t"})
	dbtest.RequireInput(t, err, "EDD-9102", "Project")
}

func TestInput_PointersThatNameNoAttribute(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// A path in text has no type of its own; a value that does not fit the attribute must not reach the table.
func TestInput_PathValueOfAnotherTypeThanItsAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	key := Profile{ID: "a"}
	for field, change := range map[string]entity.UpdateOption{
		"Count":  entity.Attr[string]("count").Set("many"),
		"Note":   entity.Attr[int]("note").Set(1),
		"SeenAt": entity.Attr[string]("seenAt").Set("yesterday"),
		"Tags":   entity.Attr[string]("tags").Set("x"),
		"Home":   entity.Attr[bool]("home").Set(true),
	} {
		t.Run(field, func(t *testing.T) {
			require.NotPanics(t, func() { l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), key, change)), "EDD-9102", field) })
		})
	}
	l.requireRefused(t, dbtest.ErrorOf(s.Scan(entity.Filter(entity.Attr[string]("count").Eq("many"))).Collect(t.Context())), "EDD-9102", "Count")
}

func TestInput_TooLargeIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	l, s := open[Task](t)
	task := Task{Project: "p", Status: "open", Priority: 1, TaskID: "t"}
	task.Project = strings.Repeat("p", 2048-len("$app#v1#task#"))
	task.TaskID = strings.Repeat("t", 1024-len("$app#v1#task#open#0000000000000000001#"))
	l.OK(s.Create(t.Context(), task))
	l.OK(s.Get(t.Context(), task))
	task.TaskID += "t"
	require.ErrorIs(t, dbtest.ErrorOf(s.Create(t.Context(), task)), entity.ErrTooLarge)
}
