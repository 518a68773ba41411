package reading_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// The previous page ends right before the first item of the page, whatever was written in between.
func TestPrev_IsExactWhileItemsComeAndGo(t *testing.T) {
	t.Parallel()
	random, l := seeded(t), newLab(t)
	for range rounds {
		project, there := string(rune('a'+random.IntN(26))), map[int]bool{}
		set := func(id int, exists bool) {
			if there[id] = exists; exists {
				l.put(task{Project: project, ID: id})
			} else {
				l.OK(l.tasks.DeleteMany(l.Ctx, []task{{Project: project, ID: id}}, entity.Unconditional()))
				delete(there, id)
			}
		}
		before := entity.Must(l.tasks.Query(task{Project: project}).Collect(l.Ctx))
		for _, v := range before {
			there[v.ID] = true
		}
		for range 12 {
			set(1+random.IntN(60), true)
		}
		limit, desc := 1+random.IntN(4), random.IntN(2) == 0
		opts := []entity.QueryOption{entity.Limit(limit)}
		if desc {
			opts = append(opts, entity.Desc())
		}
		q := l.tasks.Query(task{Project: project}, opts...)
		page := l.page(q, "")
		for range random.IntN(4) {
			if page.Next != "" {
				page = l.page(q, page.Next)
			}
		}
		for page.Prev != "" && len(page.Items) > 0 {
			for range random.IntN(6) {
				set(1+random.IntN(60), random.IntN(2) == 0)
			}
			first := page.Items[0].ID
			var earlier []int // in the order of the query
			for id := range there {
				if desc && id > first || !desc && id < first {
					earlier = append(earlier, id)
				}
			}
			slices.Sort(earlier)
			if desc {
				slices.Reverse(earlier)
			}
			turned := l.page(q, page.Prev)
			if len(earlier) == 0 {
				require.Equal(t, l.page(q, ""), turned, "the first page")
				break
			}
			from := max(len(earlier)-limit, 0)
			require.Equal(t, earlier[from:], ids(turned.Items))
			require.Equal(t, from > 0, turned.Prev != "", "a page before the first item")
			page = turned
		}
	}
}

// Random turns of pages of random sizes under random bounds: each page is the next piece of the whole query in its direction.
func TestPrev_PagesOfAnySizeUnderAnyBoundAreTheQueryInPieces(t *testing.T) {
	t.Parallel()
	random, l := seeded(t), newLab(t)
	l.fill(25)
	l.spread(t, 30)
	for i := range 4 {
		l.OK(l.errands.Create(l.Ctx, errand{ID: string(rune('a' + i)), Owner: "ada", Rank: 2 * i}))
	}
	e := entity.Fields[task]()
	type kind struct {
		parts int // the least bound
		of    func(...entity.QueryOption) entity.Query[task]
	}
	all := some(statuses...)
	filters := []entity.QueryOption{entity.Filter(entity.Ge(&e.Points, 12)), entity.Filter(entity.Eq(&e.Points, 7)), entity.Filter(entity.Eq(&e.Points, -1))}
	kinds := []kind{
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.tasks.Query(task{Project: "p"}, o...) }},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.Query(task{Project: "p"}, append(o, entity.Gt(&e.ID, 3), entity.Lt(&e.ID, 12))...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.Query(task{Project: "p", ID: 3}, o...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.tasks.Query(task{Project: "none"}, o...) }},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.byStatus.Query(task{Status: "open"}, append(o, entity.Hydrate())...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { // errands are in it too
			return l.byOwner.Query(task{Owner: "ada"}, append(o, entity.Hydrate())...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.byTitle.Query(task{Title: "title 1"}, o...) }},
		{5, func(o ...entity.QueryOption) entity.Query[task] {
			return l.byStatus.QueryAny(all, append(o, entity.Hydrate())...)
		}},
		{3, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.QueryAny([]task{{Project: "p"}, {Project: "p1"}, {Project: "none"}}, o...)
		}},
	}
	for range testsize.Pick(2, 15) {
		for number, k := range kinds {
			fixed := []entity.QueryOption{}
			if random.IntN(2) == 0 {
				fixed = append(fixed, entity.Desc())
			}
			if number != 2 && random.IntN(2) == 0 {
				fixed = append(fixed, filters[random.IntN(len(filters))])
			}
			dbtest.Turn(t, random, k.parts, func(o ...entity.QueryOption) entity.Query[task] { return k.of(append(o, fixed...)...) })
		}
	}
}

// What going back costs: one request where one is enough.
func TestPrev_CostsOneRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill(30)
	q := l.tasks.Query(task{Project: "p"}, entity.Limit(5))
	page := l.page(q, l.page(q, "").Next)
	l.Wire.Reset()
	first := l.page(q, page.Prev)
	require.Equal(t, []int{0, 1, 2, 3, 4}, ids(first.Items))
	require.Empty(t, first.Prev)
	sent := l.Sent()
	require.Len(t, sent, 1)
	require.Contains(t, string(sent[0].Body), `"Limit":6`)
	require.Contains(t, string(sent[0].Body), `"ScanIndexForward":false`)
}

func TestPrev_ScansHaveNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.fill(9)
	scan := l.tasks.Scan(entity.Limit(3))
	page := l.page(scan, l.page(scan, "").Next)
	require.NotEmpty(t, page.Items)
	require.Empty(t, page.Prev)
}

// A cursor works for its query only, in both directions.
func TestPrev_IsBoundToTheQuery(t *testing.T) {
	t.Parallel()
	for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
		l := newLab(t, func(c *entity.Config) { c.CursorKey = key })
		l.fill(9)
		q := l.byStatus.Query(task{Status: "open"}, entity.Limit(3))
		page := l.page(q, l.page(q, "").Next)
		l.Wire.Reset()
		for _, other := range []entity.Query[task]{
			l.byStatus.Query(task{Status: "done"}, entity.Limit(3)), l.byStatus.Query(task{Status: "open"}, entity.Desc()), l.tasks.Query(task{Project: "p"}), l.tasks.Scan(),
		} {
			_, err := other.Page(l.Ctx, page.Prev)
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
			require.Empty(t, dbtest.InputCode(err))
		}
		require.Empty(t, l.Operations())
		require.Len(t, l.page(l.byStatus.Query(task{Status: "open"}, entity.Limit(2)), page.Prev).Items, 2, "the size of a page can change")
	}
}
