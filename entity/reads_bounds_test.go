package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// ofQuery are options for a query, ofScan for a scan.
func ofQuery(bounds []entity.BoundOption) (opts []entity.QueryOption) {
	for _, b := range bounds {
		opts = append(opts, b)
	}
	return opts
}

func ofScan(bounds []entity.BoundOption) (opts []entity.ScanOption) {
	for _, b := range bounds {
		opts = append(opts, b)
	}
	return opts
}

// Whatever bound ends a page, and however the bounds change from page to page, the cursor goes on exactly where it ended.
func TestBounds_TheCursorGoesOnExactlyWhereTheyEnded(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	var tasks []Task
	for i := range testsize.Pick(19, 37) {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1 + i/10, TaskID: fmt.Sprintf("%02d", i), Points: i % 5, Owner: "o", Due: dawn.Truncate(1e9)})
	}
	fill(t, l, s, tasks...)
	byOwner := entity.Must(s.Index("byOwner"))
	sources := map[string]func(...entity.BoundOption) entity.Query[Task]{
		"table": func(o ...entity.BoundOption) entity.Query[Task] { return s.Query(Task{Project: "p"}, ofQuery(o)...) },
		"range": func(o ...entity.BoundOption) entity.Query[Task] {
			return s.Query(Task{Project: "p", Status: "s"}, append(ofQuery(o), entity.Between(&f.Priority, 2, 4))...)
		},
		"descending": func(o ...entity.BoundOption) entity.Query[Task] {
			return s.Query(Task{Project: "p"}, append(ofQuery(o), entity.Desc())...)
		},
		"index": func(o ...entity.BoundOption) entity.Query[Task] {
			return byOwner.Query(Task{Owner: "o"}, ofQuery(o)...)
		},
		"scan": func(o ...entity.BoundOption) entity.Query[Task] { return s.Scan(ofScan(o)...) },
	}
	filters := map[string][]entity.BoundOption{
		"all": nil, "some": {entity.Filter(entity.Eq(&f.Points, 3))}, "none": {entity.Filter(entity.Gt(&f.Points, 9))}, "most": {entity.Filter(entity.Lt(&f.Points, 4))},
	}
	for from, source := range sources {
		for which, filter := range filters {
			want, err := source(filter...).Collect(t.Context())
			require.NoError(t, err)
			for name, bounds := range map[string][][]entity.BoundOption{
				"evaluated":       {{entity.MaxEvaluated(1)}, {entity.MaxEvaluated(7)}},
				"requests":        {{entity.MaxRequests(1), entity.Limit(3)}},
				"limit":           {{entity.Limit(1)}, {entity.Limit(4)}},
				"all three":       {{entity.Limit(2), entity.MaxEvaluated(5), entity.MaxRequests(2)}},
				"in turn":         {{entity.Limit(2)}, {entity.MaxEvaluated(3)}, {entity.MaxRequests(1), entity.Limit(5)}, {entity.MaxEvaluated(4), entity.Limit(1)}},
				"limit first":     {{entity.MaxEvaluated(4), entity.Limit(4)}, {entity.MaxEvaluated(2), entity.Limit(5)}},
				"larger than all": {{entity.MaxEvaluated(1000), entity.Limit(1000)}},
			} {
				var got []Task
				for cursor, turn := "", 0; ; turn++ {
					require.Less(t, turn, 100, "the pages have no end")
					page, err := source(append(filter[:len(filter):len(filter)], bounds[turn%len(bounds)]...)...).Page(t.Context(), cursor)
					require.NoError(t, err)
					got = append(got, page.Items...)
					if cursor = page.Next; cursor == "" {
						break
					}
				}
				require.Equal(t, ids(want), ids(got), "%s, %s, %s", from, which, name)
			}
		}
	}
}

// What a bound promises is the most that a page costs and gives.
func TestBounds_AreTheMostThatAPageCosts(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	for i := range 30 {
		_, err := s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i})
		require.NoError(t, err)
	}
	rare := entity.Filter(entity.Eq(&f.Points, 17))
	for n := range 5 {
		l.sent()
		page, err := s.Query(Task{Project: "p"}, rare, entity.Limit(1), entity.MaxRequests(n+1)).Page(t.Context(), "")
		require.NoError(t, err)
		require.LessOrEqual(t, len(l.sent()), n+1)
		require.LessOrEqual(t, len(page.Items), 1)
		page, err = s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10*(n+1))).Page(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, n >= 1, len(page.Items) == 1, "the 18th item is among the first %d or not", 10*(n+1))
	}
	count, err := s.Query(Task{Project: "p"}, entity.MaxEvaluated(7)).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 7, count)
	all, err := s.Query(Task{Project: "p"}, entity.MaxEvaluated(7), entity.Filter(entity.Ge(&f.Points, 5))).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	_, err = s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10)).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNotFound)
}

// Count adds up what passes the filter on every one of many pages, and transfers no items.
func TestCount_OverManyPagesWithFilters(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	title := strings.Repeat("x", 120*1024)
	for i := range 30 { // 3.6 MB
		_, err := s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i % 3, Title: title})
		require.NoError(t, err)
	}
	for name, c := range map[string]struct {
		q    entity.Query[Task]
		want int
	}{
		"all":        {s.Query(Task{Project: "p"}), 30},
		"filtered":   {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 2))), 10},
		"descending": {s.Query(Task{Project: "p"}, entity.Desc(), entity.Filter(entity.Ne(&f.Points, 2))), 20},
		"none":       {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 9))), 0},
		"limited":    {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 2)), entity.Limit(7)), 7},
		"scan":       {s.Scan(entity.Filter(entity.Eq(&f.Points, 2))), 10},
		"range":      {s.Query(Task{Project: "p", Status: "s", Priority: 1}, entity.Ge(&f.TaskID, "15"), entity.Filter(entity.Eq(&f.Points, 0))), 5},
	} {
		l.wire.Reset()
		n, err := c.q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, n, name)
		requests := l.wire.Requests()
		for _, r := range requests {
			require.Contains(t, string(r.Body), `"Select":"COUNT"`, name)
		}
		if name == "all" || name == "filtered" {
			require.Greater(t, len(requests), 1, name)
		}
	}
}

// Open bounds are open: neither the bound itself nor anything below it that is longer slips in, at either end, together
// with a filter of the caller's.
func TestRange_OpenBoundsAreExactBesideFilters(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	var statuses []string
	for _, status := range []string{"a", "a#", "a$", "a%", "aa", "b", "b\x00", "b ", "bb", "c"} {
		for _, points := range []int{1, 2} {
			_, err := s.Create(t.Context(), Task{Project: "p", Status: status, Priority: 1, TaskID: fmt.Sprint(points), Points: points})
			require.NoError(t, err)
		}
		statuses = append(statuses, status)
	}
	l.sent()
	for _, bound := range append(statuses, "", "B", "bz", "zz") {
		for op, c := range map[string]struct {
			cond  entity.Cond
			holds func(string) bool
		}{
			"Lt": {entity.Lt(&f.Status, bound), func(s string) bool { return s < bound }}, "Le": {entity.Le(&f.Status, bound), func(s string) bool { return s <= bound }},
			"Gt": {entity.Gt(&f.Status, bound), func(s string) bool { return s > bound }}, "Ge": {entity.Ge(&f.Status, bound), func(s string) bool { return s >= bound }},
		} {
			var want []string
			for _, status := range statuses {
				if c.holds(status) {
					want = append(want, status)
				}
			}
			got, err := s.Query(Task{Project: "p"}, c.cond, entity.Filter(entity.Or(entity.Eq(&f.Points, 2), entity.Eq(&f.Points, 9)))).Collect(t.Context())
			require.NoError(t, err)
			found := []string(nil)
			for _, v := range got {
				found = append(found, v.Status)
			}
			slices.Sort(found)
			slices.Sort(want)
			require.Equal(t, want, found, "%s %q", op, bound)
		}
	}
}
