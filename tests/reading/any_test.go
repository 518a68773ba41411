package reading_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

var statuses = []string{"blocked", "done", "new", "open", "waiting"}

// spread stores n tasks of random statuses and ranks.
func (l *lab) spread(t *testing.T, n int) {
	random := seeded(t)
	var all []task
	for i := range n {
		all = append(all, task{
			Project: fmt.Sprint("p", random.IntN(4)), ID: i, Status: statuses[random.IntN(len(statuses))], Rank: random.IntN(12), Owner: fmt.Sprint("o", random.IntN(3)),
			Title: fmt.Sprint("title ", i%2), Points: i, Body: "body",
		})
	}
	l.put(all...)
	l.Wire.Reset()
}

// some returns partitions of the index by status.
func some(names ...string) (partitions []task) {
	for _, name := range names {
		partitions = append(partitions, task{Status: name})
	}
	return partitions
}

// merged is the model of QueryAny: the queries of the partitions, sorted by rank and status.
func (l *lab) merged(names []string, desc bool, opts ...entity.QueryOption) []int {
	l.T.Helper()
	var all []task
	for _, name := range names {
		part, err := l.byStatus.Query(task{Status: name}, opts...).Collect(l.Ctx)
		require.NoError(l.T, err)
		for i := range part {
			part[i].Status = name
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b task) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Status, b.Status)) })
	if desc {
		slices.Reverse(all)
	}
	return ids(all)
}

func TestQueryAny_ReadsPartitionsInOneOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.spread(t, 60)
	e := entity.Fields[task]()
	for _, names := range [][]string{{"open", "blocked"}, {"waiting", "new", "done", "none", "open", "blocked"}, {"none", "nobody"}} {
		for _, desc := range []bool{false, true} {
			opts := []entity.QueryOption{}
			if desc {
				opts = append(opts, entity.Desc())
			}
			want := l.merged(names, desc)
			q := l.byStatus.QueryAny(some(names...), opts...)
			require.Equal(t, want, l.collect(q), "%v %v", names, desc)
			n, err := q.Count(l.Ctx)
			require.NoError(t, err)
			require.Equal(t, len(want), n)
			first, err := q.First(l.Ctx)
			if len(want) == 0 {
				require.ErrorIs(t, err, entity.ErrNotFound)
				continue
			}
			require.Equal(t, want[0], first.ID)
			_, err = q.One(l.Ctx)
			require.ErrorIs(t, err, entity.ErrMultipleItems)
			few := l.byStatus.QueryAny(some(names...), append(opts, entity.Limit(7))...)
			require.Equal(t, want[:7], l.collect(few))
			n, err = few.Count(l.Ctx)
			require.NoError(t, err)
			require.Equal(t, 7, n)
			ranged := l.byStatus.QueryAny(some(names...), append(opts, entity.Ge(&e.Rank, 3), entity.Le(&e.Rank, 8))...)
			require.Equal(t, l.merged(names, desc, entity.Ge(&e.Rank, 3), entity.Le(&e.Rank, 8)), l.collect(ranged))
		}
	}
	whole, err := l.byStatus.QueryAny(some("open", "new"), entity.Hydrate(), entity.Filter(entity.Lt(&e.Points, 60))).Collect(l.Ctx)
	require.NoError(t, err)
	require.Equal(t, l.merged([]string{"open", "new"}, false, entity.Hydrate(), entity.Filter(entity.Lt(&e.Points, 60))), ids(whole))
	require.Equal(t, "body", whole[0].Body)
	require.Equal(t, l.collect(l.byStatus.QueryAny(some("open", "new"))), l.collect(l.byStatus.QueryAny(some("new", "open"))), "the order of partitions does not matter")
}

func TestQueryAny_Refuses(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	many := make([]task, 101)
	for i := range many {
		many[i].Status = fmt.Sprint("s", i)
	}
	for _, c := range []struct {
		q    entity.Query[task]
		code string
	}{
		{l.byStatus.QueryAny(nil), "EDD-9166"},
		{l.byStatus.QueryAny(many), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done", "open")), "EDD-9166"},
		{l.byStatus.QueryAny([]task{{Status: "open"}, {Status: "open", Rank: 3}}), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done"), entity.MaxRequests(1)), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done"), entity.MaxEvaluated(1)), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "")), "EDD-9101"},
		{l.byStatus.QueryAny(some("open"), entity.Limit(0)), "EDD-9108"},
		{l.tasks.QueryAny([]task{{Project: "p"}}, entity.Hydrate()), "EDD-9165"},
		{new(entity.Index[task]).QueryAny(some("open")), "EDD-9160"},
	} {
		_, err := c.q.Collect(l.Ctx)
		require.Equal(t, c.code, dbtest.InputCode(err), c.q)
		require.Contains(t, c.q.String(), c.code)
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.Page(l.Ctx, ""))))
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.First(l.Ctx))))
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.Count(l.Ctx))))
	}
	q := l.byStatus.QueryAny(some("open", "done"))
	var all []task
	require.Equal(t, "EDD-9127", dbtest.InputCode(l.DB.GetCollection(l.Ctx, q.Into(&all))))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(entity.Project[struct {
		ID int `dynamodbav:"id"`
	}](q).Collect(l.Ctx))))
	require.Empty(t, l.Operations())

	l.spread(t, 60) // at least four in two of five statuses, whatever the seed
	page := l.page(l.byStatus.QueryAny(some("open", "done"), entity.Limit(2)), "")
	for _, other := range []entity.Query[task]{l.byStatus.QueryAny(some("open", "new")), l.byStatus.QueryAny(some("open")), l.byStatus.Query(task{Status: "open"})} {
		_, err := other.Page(l.Ctx, page.Next)
		require.ErrorIs(t, err, entity.ErrInvalidCursor)
	}
	require.Len(t, l.page(l.byStatus.QueryAny(some("done", "open"), entity.Limit(2)), page.Next).Items, 2, "the order of partitions does not matter")
	ctx, stop := context.WithCancel(l.Ctx)
	for _, err := range q.All(ctx) {
		require.NoError(t, err)
		break
	}
	stop()
	_, err := q.Collect(ctx)
	require.ErrorIs(t, err, context.Canceled)
}

// Each partition is asked for its share, and not again unless more of it is needed.
func TestQueryAny_ReadsNoMoreThanItNeeds(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var all []task
	for i := range 40 {
		all = append(all, task{Project: fmt.Sprint("p", i%4), ID: i})
	}
	l.put(all...)
	l.Wire.Reset()
	q := l.tasks.QueryAny([]task{{Project: "p0"}, {Project: "p1"}, {Project: "p2"}, {Project: "p3"}}, entity.Limit(8))
	require.Len(t, l.page(q, "").Items, 8)
	sent := l.Sent()
	require.Len(t, sent, 4)
	for _, r := range sent {
		require.Contains(t, string(r.Body), `"Limit":3`)
	}
}
