package entity_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// consistent reports, for each request since the last call, whether it asked for a strongly consistent read.
func (l *lab) consistent() map[string]bool {
	l.T.Helper()
	out := map[string]bool{}
	for _, r := range l.Sent() {
		var body struct{ ConsistentRead bool }
		require.NoError(l.T, json.Unmarshal(r.Body, &body))
		out[r.Operation] = body.ConsistentRead
	}
	return out
}

func TestReads_AreEventualUnlessAskedAndConsistentInsidePlans(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	l.OK(s.Get(t.Context(), key))
	l.OK(s.Query(key).Collect(t.Context()))
	require.Equal(t, map[string]bool{"GetItem": false, "Query": false}, l.consistent())
	l.OK(s.Get(t.Context(), key, entity.Consistent()))
	require.Equal(t, map[string]bool{"GetItem": true}, l.consistent())
	for _, op := range [][]entity.Op{
		{s.Op().Update(key, entity.Set(&p.Rank, 2))}, {s.Op().Upsert(Profile{ID: "a", Rank: 3})}, {s.Op().Update(key, entity.Set(&p.Rank, 4)), s.Op().Create(Profile{ID: "b"})},
	} {
		require.NoError(t, l.DB.Transact(t.Context(), op...))
		require.True(t, l.consistent()["GetItem"])
	}
}

// ofQuery are options for a query, ofScan for a scan.
// bound is an option of queries and scans.
type bound interface {
	entity.QueryOption
	entity.ScanOption
}

func ofQuery(bounds []bound) (opts []entity.QueryOption) {
	for _, b := range bounds {
		opts = append(opts, b)
	}
	return opts
}

func ofScan(bounds []bound) (opts []entity.ScanOption) {
	for _, b := range bounds {
		opts = append(opts, b)
	}
	return opts
}

// Whatever bound ends a page, and however the bounds change from page to page, the cursor goes on exactly where it ended.
func TestBounds_CursorContinuesWhereTheyEnded(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	var tasks []Task
	for i := range testsize.Pick(19, 37) {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1 + i/10, TaskID: fmt.Sprintf("%02d", i), Points: i % 5, Owner: "o", Due: dawn.Truncate(1e9)})
	}
	fill(t, l, s, tasks...)
	byOwner := entity.Must(s.Index("byOwner"))
	sources := map[string]func(...bound) entity.Query[Task]{
		"table": func(o ...bound) entity.Query[Task] { return s.Query(Task{Project: "p"}, ofQuery(o)...) },
		"range": func(o ...bound) entity.Query[Task] {
			return s.Query(Task{Project: "p", Status: "s"}, append(ofQuery(o), entity.Between(&f.Priority, 2, 4))...)
		},
		"descending": func(o ...bound) entity.Query[Task] {
			return s.Query(Task{Project: "p"}, append(ofQuery(o), entity.Desc())...)
		},
		"index": func(o ...bound) entity.Query[Task] {
			return byOwner.Query(Task{Owner: "o"}, ofQuery(o)...)
		},
		"scan": func(o ...bound) entity.Query[Task] { return s.Scan(ofScan(o)...) },
	}
	filters := map[string][]bound{
		"all": nil, "some": {entity.Filter(entity.Eq(&f.Points, 3))}, "none": {entity.Filter(entity.Gt(&f.Points, 9))}, "most": {entity.Filter(entity.Lt(&f.Points, 4))},
	}
	if !testsize.Long() {
		delete(filters, "none")
		delete(filters, "most")
	}
	for from, source := range sources {
		for which, filter := range filters {
			want := entity.Must(source(filter...).Collect(t.Context()))
			for name, bounds := range map[string][][]bound{
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
					if name == "limit" {
						require.Len(t, page.Items, []int{1, 4}[turn%2], "only the last page is shorter")
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
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i}))
	}
	rare := entity.Filter(entity.Eq(&f.Points, 17))
	for n := range 5 {
		l.Sent()
		page, err := s.Query(Task{Project: "p"}, rare, entity.Limit(1), entity.MaxRequests(n+1)).Page(t.Context(), "")
		require.NoError(t, err)
		require.LessOrEqual(t, len(l.Operations()), n+1)
		require.LessOrEqual(t, len(page.Items), 1)
		page, err = s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10*(n+1))).Page(t.Context(), "")
		require.NoError(t, err)
		require.Equal(t, n >= 1, len(page.Items) == 1, "the 18th item is among the first %d or not", 10*(n+1))
	}
	count := entity.Must(s.Query(Task{Project: "p"}, entity.MaxEvaluated(7)).Count(t.Context()))
	require.Equal(t, 7, count)
	all := entity.Must(s.Query(Task{Project: "p"}, entity.MaxEvaluated(7), entity.Filter(entity.Ge(&f.Points, 5))).Collect(t.Context()))
	require.Len(t, all, 2)
	_, err := s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10)).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNotFound)
}

// Count adds up what passes the filter on every one of many pages, and transfers no items.
func TestCount_OverManyPagesWithFilters(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	title := strings.Repeat("x", 120*1024)
	for i := range 30 { // 3.6 MB
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i % 3, Title: title}))
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
		l.Sent()
		n, err := c.q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, n, name)
		requests := l.Wire.Requests()
		for _, r := range requests {
			require.Contains(t, string(r.Body), `"Select":"COUNT"`, name)
		}
		if name == "all" || name == "filtered" {
			require.Greater(t, len(requests), 1, name)
		}
	}
}

// mortal represents any feature whose current items can expire.
type mortal struct{}

func (mortal) Declare(d *schema.Decl) { d.Schema.Expires, d.Schema.UsesTTL = true, true }

// Token is an entity that expires.
type Token struct {
	_ entity.Key `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_ entity.GSI `name:"byScope" index:"gsi1" pk:"$#{scope}" sk:"$#{id}" project:"id"`
	_ mortal

	User  string `dynamodbav:"user"`
	ID    string `dynamodbav:"id"`
	Scope string `dynamodbav:"scope,omitempty"`
	Uses  int    `dynamodbav:"uses"`
}

var tokenKey = keys("pk", "$app#v1#token#u", "sk", "$app#v1#token#t")

// lapsed is a lab with one token whose time ends at the given distance from the clock.
func lapsed(t *testing.T, after time.Duration) (*lab, *entity.Store[Token]) {
	t.Helper()
	l, s := open[Token](t)
	now := l.Clock.Move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove the item itself
	l.OK(s.Create(t.Context(), Token{User: "u", ID: "t", Scope: "all", Uses: 7}))
	l.patch(tokenKey, "_ttl", num(strconv.FormatInt(now.Add(after).Unix(), 10)))
	l.Sent()
	return l, s
}
