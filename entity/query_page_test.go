package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// However a result is cut into pages, they are the result.
func TestQuery_PagesAreTheWhole(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	tasks := crowd()
	for i := range tasks {
		tasks[i].Points = i % 7
		tasks[i].Owner = "o" + fmt.Sprint(i%2)
	}
	fill(t, l, s, tasks...)
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	type source func(...entity.QueryOption) entity.Query[Task]
	for name, query := range map[string]source{
		"table": func(o ...entity.QueryOption) entity.Query[Task] { return s.Query(Task{Project: "p1"}, o...) },
		"range": func(o ...entity.QueryOption) entity.Query[Task] {
			return s.Query(Task{Project: "p1"}, append(o, entity.Between(&f.Status, "open", "opened"))...)
		},
		"index": func(o ...entity.QueryOption) entity.Query[Task] { return byOwner.Query(Task{Owner: "o1"}, o...) },
	} {
		for shape, opts := range map[string][]entity.QueryOption{
			"ascending": nil, "descending": {entity.Desc()}, "filtered": {entity.Filter(entity.Le(&f.Points, 1))},
			"both": {entity.Desc(), entity.Filter(entity.Eq(&f.Points, 3))}, "nothing": {entity.Filter(entity.Gt(&f.Points, 9))},
		} {
			want, err := query(opts...).Collect(t.Context())
			require.NoError(t, err)
			n, err := query(opts...).Count(t.Context())
			require.NoError(t, err)
			require.Len(t, want, n)
			for _, limit := range []int{7, 25, len(want), len(want) + 1} {
				if limit == 0 {
					continue
				}
				got, pages, cursor := []Task(nil), 0, ""
				for {
					page, err := query(append(opts, entity.Limit(limit))...).Page(t.Context(), cursor)
					require.NoError(t, err)
					got = append(got, page.Items...)
					pages++
					if cursor = page.Next; cursor == "" {
						break
					}
					require.Len(t, page.Items, limit, "only the last page is shorter")
				}
				require.Equal(t, want, got, "%s, %s, limit %d", name, shape, limit)
				require.LessOrEqual(t, pages, len(want)/limit+1)
			}
		}
	}
}

func TestQuery_ResultLargerThanOneResponse(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	title := strings.Repeat("x", 150*1024)
	var tasks []Task
	for i := range 20 {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Title: title})
	}
	want := fill(t, l, s, tasks...)
	got, err := s.Query(Task{Project: "p"}).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, ids(want), ids(got))
	require.Greater(t, len(l.sent()), 2)
	n, err := s.Query(Task{Project: "p"}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 20, n)
	l.sent()
	page, err := s.Query(Task{Project: "p"}).Page(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []string{"Query"}, l.sent(), "without Limit a page is what one request gives")
	require.NotEmpty(t, page.Items)
	require.NotEmpty(t, page.Next)
	rest, err := s.Query(Task{Project: "p"}, entity.Limit(100)).Page(t.Context(), page.Next)
	require.NoError(t, err)
	require.Equal(t, ids(want), ids(append(page.Items, rest.Items...)))
	require.Empty(t, rest.Next)
	l.sent()
	_, err = s.Query(Task{Project: "p"}).First(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"Query"}, l.sent())
}
