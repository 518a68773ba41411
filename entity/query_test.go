package entity_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	for _, v := range tasks {
		_, err := s.Create(t.Context(), v)
		require.NoError(t, err)
	}
	l.sent()
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

// A part that is given is equal, not a beginning; a part of another partition is another.
func TestQuery_LeadingPartsAreEqual(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	fill(t, l, s, Task{Project: "p10", Status: "open", Priority: 1, TaskID: "elsewhere"}, Task{Project: "p1#", Status: "open", Priority: 1, TaskID: "elsewhere"})
	all := fill(t, l, s, crowd()...)
	for name, c := range map[string]struct {
		key   Task
		match func(Task) bool
	}{
		"partition": {Task{Project: "p1"}, func(Task) bool { return true }},
		"one part":  {Task{Project: "p1", Status: "open"}, func(v Task) bool { return v.Status == "open" }},
		"odd part":  {Task{Project: "p1", Status: "open#"}, func(v Task) bool { return v.Status == "open#" }},
		"two parts": {Task{Project: "p1", Status: "open", Priority: 1}, func(v Task) bool { return v.Status == "open" && v.Priority == 1 }},
		"all parts": {Task{Project: "p1", Status: "open", Priority: 1, TaskID: "t"}, func(v Task) bool { return v.Status == "open" && v.Priority == 1 && v.TaskID == "t" }},
		"nothing":   {Task{Project: "p1", Status: "ope"}, func(Task) bool { return false }},
		"no such":   {Task{Project: "p"}, func(Task) bool { return false }},
	} {
		want := slices.DeleteFunc(slices.Clone(all), func(v Task) bool { return !c.match(v) })
		got, err := s.Query(c.key).Collect(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, ids(want), ids(got), name)
		require.Equal(t, []string{"Query"}, l.sent(), "%s: one request", name)
		n, err := s.Query(c.key).Count(t.Context())
		require.NoError(t, err)
		require.Len(t, want, n, name)
		l.sent()
	}
}

func TestQuery_OrderAndLimit(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	key := Task{Project: "p1"}
	got, err := s.Query(key, entity.Desc()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, backwards, got)
	l.sent()
	for _, n := range []int{1, 7, len(all), len(all) + 1} {
		got, err = s.Query(key, entity.Desc(), entity.Limit(n)).Collect(t.Context())
		require.NoError(t, err)
		require.Equal(t, backwards[:min(n, len(all))], got)
		require.LessOrEqual(t, len(l.sent()), 2)
		count, err := s.Query(key, entity.Limit(n)).Count(t.Context())
		require.NoError(t, err)
		require.Equal(t, min(n, len(all)), count)
		l.sent()
	}
}

func TestQuery_FirstAndOne(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	all := fill(t, l, s, crowd()...)
	f := entity.Fields[Task]()
	first, err := s.Query(Task{Project: "p1"}).First(t.Context())
	require.NoError(t, err)
	require.Equal(t, all[0], first)
	last, err := s.Query(Task{Project: "p1"}, entity.Desc()).First(t.Context())
	require.NoError(t, err)
	require.Equal(t, all[len(all)-1], last)
	require.Equal(t, []string{"Query", "Query"}, l.sent(), "one request each")

	one, err := s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "u")).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, "u", one.TaskID)
	_, err = s.Query(Task{Project: "p1", Status: "open", Priority: 2}, entity.BeginsWith(&f.TaskID, "t")).One(t.Context())
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

// Asking for one item at a time until the filter lets one through would cost a request for each that it does not.
func TestQuery_FirstWithAFilterDoesNotAskForEachItem(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	var tasks []Task
	for i := range 30 {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i})
	}
	fill(t, l, s, tasks...)
	for _, want := range []int{0, 29} {
		got, err := s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, want))).First(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, got.Points)
		require.LessOrEqual(t, len(l.sent()), 6)
	}
	_, err := s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 99))).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.LessOrEqual(t, len(l.sent()), 6)
	got, err := s.Query(Task{Project: "p"}, entity.Filter(entity.Ge(&f.Points, 28)), entity.Limit(2)).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"28", "29"}, ids(got), "a limit counts what the filter lets through")
	require.LessOrEqual(t, len(l.sent()), 6)
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
		got, err := q.Collect(t.Context())
		require.NoError(t, err)
		require.Equal(t, all, got)
	}
	rounds := 0
	for _, err := range s.Query(Task{}).All(t.Context()) {
		require.Error(t, err)
		rounds++
	}
	require.Equal(t, 1, rounds, "an error is yielded once, and is the last")
}
