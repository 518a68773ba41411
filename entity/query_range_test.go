package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// bound is one range condition and what it means.
type bound struct {
	name  string
	cond  entity.Cond
	match func(Task) bool
}

// bounds returns every comparison of the part at field with the values; get reads the part of a task.
func bounds[V int | string](field *V, get func(Task) V, values ...V) []bound {
	var all []bound
	for _, v := range values {
		add := func(op string, c entity.Cond, match func(V) bool) {
			all = append(all, bound{fmt.Sprintf("%s %v", op, v), c, func(t Task) bool { return match(get(t)) }})
		}
		add("Eq", entity.Eq(field, v), func(x V) bool { return x == v })
		add("Lt", entity.Lt(field, v), func(x V) bool { return x < v })
		add("Le", entity.Le(field, v), func(x V) bool { return x <= v })
		add("Gt", entity.Gt(field, v), func(x V) bool { return x > v })
		add("Ge", entity.Ge(field, v), func(x V) bool { return x >= v })
		for _, w := range values {
			add(fmt.Sprintf("Between %v and", w), entity.Between(field, w, v), func(x V) bool { return w <= x && x <= v })
		}
	}
	return all
}

func TestQuery_RangeOnTheNextPartIsExact(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	fill(t, l, s, Task{Project: "p10", Status: "open", Priority: 1, TaskID: "elsewhere"})
	all := fill(t, l, s, crowd()...)
	starts := func(field *string, get func(Task) string, prefixes ...string) []bound {
		var all []bound
		for _, p := range prefixes {
			all = append(all, bound{"BeginsWith " + p, entity.BeginsWith(field, p), func(v Task) bool { return strings.HasPrefix(get(v), p) }})
		}
		return all
	}
	status, id := func(v Task) string { return v.Status }, func(v Task) string { return v.TaskID }
	cases := map[string]struct {
		key    Task
		bounds []bound
	}{
		"first part": {Task{Project: "p1"}, append(bounds(&f.Status, status, "open", "open#", "openX", "opened", "a"), starts(&f.Status, status, "open", "op", "open#", "x")...)},
		"middle":     {Task{Project: "p1", Status: "open"}, bounds(&f.Priority, func(v Task) int { return v.Priority }, 1, 2, 3, 10, 99)},
		"last part":  {Task{Project: "p1", Status: "open", Priority: 2}, append(bounds(&f.TaskID, id, "t", "t#", "t1", "t5", "a"), starts(&f.TaskID, id, "t", "t1", "t#", "x")...)},
	}
	for name, c := range cases {
		for _, b := range c.bounds {
			want := slices.DeleteFunc(slices.Clone(all), func(v Task) bool {
				return c.key.Status != "" && v.Status != c.key.Status || c.key.Priority != 0 && v.Priority != c.key.Priority || !b.match(v)
			})
			got, err := s.Query(c.key, b.cond).Collect(t.Context())
			require.NoError(t, err, "%s: %s", name, b.name)
			require.Equal(t, want, decoded(got), "%s: %s", name, b.name)
			require.LessOrEqual(t, len(l.sent()), 1, "%s: %s", name, b.name)
		}
	}
}

// decoded is tasks, nil for none, as the expectations above have it after deletion.
func decoded(tasks []Task) []Task {
	if tasks == nil {
		return []Task{}
	}
	return tasks
}

func TestQuery_EqOnFurtherPartsThenARange(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	fill(t, l, s, crowd()...)
	got, err := s.Query(Task{Project: "p1"}, entity.Eq(&f.Status, "open"), entity.Eq(&f.Priority, 10), entity.Gt(&f.TaskID, "t")).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"t#", "t1", "t10", "u"}, ids(got))
	got, err = s.Query(Task{Project: "p1", Status: "open"}, entity.Eq(&f.Priority, 10), entity.Eq(&f.TaskID, "u")).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"u"}, ids(got))
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
		require.Empty(t, l.sent(), name)
	}
}

func TestQuery_LongBoundsAreCutAndStillExact(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	long := strings.Repeat("é", 490) // 980 bytes
	all := fill(t, l, s, Task{Project: "p", Status: long, Priority: 1, TaskID: "a"}, Task{Project: "p", Status: "z", Priority: 1, TaskID: "b"}, Task{Project: "p", Status: "\U0010ffff", Priority: 1, TaskID: "c"})
	require.Len(t, all, 3)
	longer := long + strings.Repeat("é", 200)
	for name, c := range map[string]struct {
		cond entity.Cond
		want []string
	}{
		"Ge": {entity.Ge(&f.Status, longer), []string{"c"}}, "Gt": {entity.Gt(&f.Status, longer), []string{"c"}},
		"Lt": {entity.Lt(&f.Status, longer), []string{"b", "a"}}, "Le": {entity.Le(&f.Status, longer), []string{"b", "a"}},
		"Between": {entity.Between(&f.Status, long, longer), []string{"a"}},
	} {
		got, err := s.Query(Task{Project: "p"}, c.cond).Collect(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, ids(got), name)
	}
}
