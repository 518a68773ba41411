package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// ids returns the task ids in order.
func ids(tasks []Task) []string {
	out := []string{}
	for _, t := range tasks {
		out = append(out, t.TaskID)
	}
	return out
}

// fill stores tasks, and returns them in the order of the sort key.
func fill(t *testing.T, l *lab, s *entity.Store[Task], tasks ...Task) []Task {
	t.Helper()
	left, err := s.PutMany(t.Context(), tasks, entity.Unconditional())
	require.NoError(t, err)
	require.Empty(t, left)
	l.Sent()
	return slices.SortedFunc(slices.Values(tasks), func(a, b Task) int {
		return slices.Compare([]string{a.Status, fmt.Sprintf("%03d", a.Priority), a.TaskID}, []string{b.Status, fmt.Sprintf("%03d", b.Priority), b.TaskID})
	})
}

// crowd is a project whose parts begin with each other, and hold the bytes that keys are made of.
func crowd() []Task {
	var all []Task
	for _, status := range []string{"o", "open", "open ", "open#", "open$", "open%", "opened", "opfn", "p", "Open"} {
		for _, priority := range []int{1, 2, 10} {
			for _, id := range []string{"t", "t#", "t1", "t10", "u"} {
				all = append(all, Task{Project: "p1", Status: status, Priority: priority, TaskID: id})
			}
		}
	}
	return all
}

func TestQuery_FirstAndOne(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	f := entity.Fields[Task]()
	first := entity.Must(s.Query(Task{Project: "p1"}).First(t.Context()))
	require.Equal(t, all[0], first)
	last := entity.Must(s.Query(Task{Project: "p1"}, entity.Desc()).First(t.Context()))
	require.Equal(t, all[len(all)-1], last)
	require.Equal(t, []string{"Query", "Query"}, l.Operations(), "one request each")

	one := entity.Must(s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "u")).One(t.Context()))
	require.Equal(t, "u", one.TaskID)
	_, err := s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "t")).One(t.Context())
	require.ErrorIs(t, err, entity.ErrMultipleItems)
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "Task", e.Entity)
	for _, q := range []entity.Query[Task]{s.Query(Task{Project: "none"}), s.Query(Task{Project: "p1"}, entity.Filter(entity.Eq(&f.Title, "none")))} {
		_, err = q.First(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound)
		_, err = q.One(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.NotErrorIs(t, err, entity.ErrMultipleItems)
		require.ErrorAs(t, err, &e)
	}
}

func TestCollect_ReadsNoFurtherThanItsLimit(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	for _, n := range []int{1, 3, len(all) - 1} {
		require.Equal(t, all[:n], entity.Must(s.Query(Task{Project: "p1"}, entity.Limit(n)).Collect(t.Context())))
		require.Len(t, l.Sent(), 1)
	}
}

func TestQuery_AllStopsWhenTheLoopDoes(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	var got []Task
	for v, err := range s.Query(Task{Project: "p1"}).All(t.Context()) {
		require.NoError(t, err)
		if got = append(got, v); len(got) == 3 {
			break
		}
	}
	require.Equal(t, all[:3], got)
	q := s.Query(Task{Project: "p1"})
	for range 2 { // a query can be run any number of times
		got := entity.Must(q.Collect(t.Context()))
		require.Equal(t, all, got)
	}
	rounds := 0
	for _, err := range s.Query(Task{}).All(t.Context()) {
		require.Error(t, err)
		rounds++
	}
	require.Equal(t, 1, rounds, "an error is yielded once, and is the last")
}

func TestQuery_Mistakes(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	byOwner := entity.Must(s.Index("byOwner"))
	key := Task{Project: "p"}
	for name, c := range map[string]struct {
		query entity.Query[Task]
		code  string
		field string
	}{
		"part without the one before":       {s.Query(Task{Project: "p", Priority: 1}), "EDD-9004", "Priority"},
		"last part alone":                   {s.Query(Task{Project: "p", Status: "s", TaskID: "t"}), "EDD-9004", "TaskID"},
		"range skips a part":                {s.Query(key, entity.Gt(&f.Priority, 1)), "EDD-9004", "Priority"},
		"Eq skips a part":                   {s.Query(key, entity.Eq(&f.TaskID, "t")), "EDD-9004", "TaskID"},
		"range on a fixed part":             {s.Query(Task{Project: "p", Status: "s"}, entity.Gt(&f.Status, "a")), "EDD-9004", "Status"},
		"two ranges":                        {s.Query(key, entity.Ge(&f.Status, "a"), entity.BeginsWith(&f.Status, "b")), "EDD-9004", "Status"},
		"range after a range":               {s.Query(key, entity.Ge(&f.Status, "a"), entity.Eq(&f.Priority, 1)), "EDD-9004", "Priority"},
		"field outside the key":             {s.Query(Task{Project: "p", Title: "x"}), "EDD-9006", "Title"},
		"condition outside the key":         {s.Query(key, entity.Eq(&f.Title, "x")), "EDD-9006", "Title"},
		"condition on the partition key":    {s.Query(key, entity.Eq(&f.Project, "p")), "EDD-9006", "Project"},
		"Or as a range":                     {s.Query(key, entity.Or(entity.Eq(&f.Status, "a"), entity.Eq(&f.Status, "b"))), "EDD-9006", ""},
		"Ne as a range":                     {s.Query(key, entity.Ne(&f.Status, "a")), "EDD-9006", ""},
		"In as a range":                     {s.Query(key, entity.In(&f.Status, "a")), "EDD-9006", ""},
		"Exists as a range":                 {s.Query(key, entity.Exists(&f.Status)), "EDD-9006", ""},
		"index without its partition":       {byOwner.Query(Task{Project: "p"}), "EDD-9101", "Owner"},
		"table's key given to an index":     {byOwner.Query(Task{Owner: "o", Project: "p"}), "EDD-9006", "Project"},
		"table's part ranged in an index":   {byOwner.Query(Task{Owner: "o"}, entity.Gt(&f.Status, "a")), "EDD-9006", "Status"},
		"consistent read of a global index": {byOwner.Query(Task{Owner: "o"}, entity.Consistent()), "EDD-9108", ""},
		"negative lead":                     {s.Query(Task{Project: "p", Status: "s", Priority: -1}), "EDD-9102", "Priority"},
		"pointer of another struct":         {s.Query(key, entity.Gt(&entity.Fields[Profile]().Note, "a")), "EDD-9105", ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.query.Collect(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.First(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.One(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.Page(t.Context(), "")
			l.requireRefused(t, err, c.code, c.field)
			_, err = c.query.Count(t.Context())
			l.requireRefused(t, err, c.code, c.field)
			require.NotEmpty(t, c.query.String(), "a wrong query prints what is wrong")
		})
	}
	_, err := s.Index("gsi1")
	require.Equal(t, "EDD-9051", dbtest.SchemaCode(err), "an index is found by its accessor")
}

// decoded is tasks, nil for none, as the expectations above have it after deletion.
func decoded(tasks []Task) []Task {
	if tasks == nil {
		return []Task{}
	}
	return tasks
}

func TestQuery_RangeThatNothingCanMeetSendsNoRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	fill(t, l, s, crowd()...)
	for name, q := range map[string]entity.Query[Task]{
		"reversed":         s.Query(Task{Project: "p1"}, entity.Between(&f.Status, "p", "o")),
		"below everything": s.Query(Task{Project: "p1", Status: "open"}, entity.Lt(&f.Priority, -5)),
		"too long":         s.Query(Task{Project: "p1"}, entity.BeginsWith(&f.Status, strings.Repeat("x", 2000))),
		"equal, too long":  s.Query(Task{Project: "p1"}, entity.Eq(&f.Status, strings.Repeat("x", 2000))),
	} {
		all, err := q.Collect(t.Context())
		require.NoError(t, err, name)
		require.Empty(t, all, name)
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Zero(t, n, name)
		page, err := q.Page(t.Context(), "")
		require.NoError(t, err, name)
		require.Equal(t, entity.Page[Task]{Items: []Task{}}, entity.Page[Task]{Items: decoded(page.Items), Next: page.Next}, name)
		_, err = q.First(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound, name)
		_, err = q.One(t.Context())
		require.ErrorIs(t, err, entity.ErrNotFound, name)
		require.Empty(t, l.Operations(), name)
	}
}
