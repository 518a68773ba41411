package entity_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// consistent reports, for each request since the last call, whether it asked for a strongly consistent read.
func (l *lab) consistent(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, r := range l.wire.Requests() {
		var body struct{ ConsistentRead bool }
		require.NoError(t, json.Unmarshal(r.Body, &body))
		out[r.Operation] = body.ConsistentRead
	}
	l.wire.Reset()
	return out
}

func TestGet_NeedsTheKeyPartsOnly(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	made, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.sent()
	got, err := s.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, made, got)
	other := alice()
	other.DisplayName, other.TenantID = "not looked at", ""
	got, err = s.Get(t.Context(), other)
	require.NoError(t, err)
	require.Equal(t, made, got)
	require.Equal(t, []string{"GetItem", "GetItem"}, l.sent())
}

func TestReads_AreEventualUnlessAsked(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	key := Profile{ID: "a"}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	l.sent()
	_, err = s.Get(t.Context(), key)
	require.NoError(t, err)
	_, err = s.Query(key).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"GetItem": false, "Query": false}, l.consistent(t))
	_, err = s.Get(t.Context(), key, entity.Consistent())
	require.NoError(t, err)
	_, err = s.Query(key, entity.Consistent()).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, map[string]bool{"GetItem": true, "Query": true}, l.consistent(t))
}

func TestReads_InsidePlansAreConsistent(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	l.sent()
	_, err = s.Update(t.Context(), key, entity.Set(&p.Rank, 2))
	require.NoError(t, err)
	require.True(t, l.consistent(t)["GetItem"])
	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 3})
	require.NoError(t, err)
	require.True(t, l.consistent(t)["GetItem"])
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&p.Rank, 4)), s.Op().Create(Profile{ID: "b"})))
	require.True(t, l.consistent(t)["GetItem"])
}

// A stored attribute that the struct does not have is nobody's business.
func TestGet_IgnoresUnknownAttributesAndReadsAnyRFC3339(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	l.patch(t, aliceKey, "legacy", num("1"))
	l.patch(t, aliceKey, "createdAt", str("2024-05-06T09:08:09.5+02:00")) // as an older program wrote it
	got, err := s.Get(t.Context(), employeeKey("emp-alice"))
	require.NoError(t, err)
	require.Equal(t, "2024-05-06T07:08:09.5Z", got.CreatedAt.Format("2006-01-02T15:04:05.999Z"))
}

// beset stores two tasks, each with the events, snapshots and copies that features write, with all the
// attributes of the task and with none; and a sentinel and a stranger.
func beset(t *testing.T) (*lab, *entity.Store[Task]) {
	t.Helper()
	l, s := open[Task](t)
	for _, id := range []string{"a", "b"} {
		_, err := s.Create(t.Context(), Task{Project: "p", Status: "open", Priority: 1, TaskID: id, Owner: "o", Due: dawn.Truncate(1e9), Points: 1})
		require.NoError(t, err)
	}
	for _, id := range []string{"a", "b"} {
		current := l.values(t, keys("pk", "$app#v1#task#p", "sk", "$app#v1#task#open#0000000000000000001#"+id))
		sk := current["sk"].(*types.AttributeValueMemberS).Value
		for suffix, kind := range map[string]string{"#e#2024-05-06T07:08:09.123456789Z": "e", "#v#0000001": "v", "#v#~000010000000": "v", "#deleted#2024-05-06T07:08:09.123456789Z": "d"} {
			full := maps.Clone(current)
			full["sk"], full["_k"] = str(sk+suffix), str(kind)
			delete(full, "gsi1pk")
			delete(full, "gsi1sk")
			l.put(t, full)
			l.put(t, map[string]types.AttributeValue{"pk": current["pk"], "sk": str(sk + suffix + "1"), "_k": str(kind), "__edd_e__": str("Task"), "points": str("not a number")})
		}
	}
	l.put(t, keys("pk", "$app#v1#task.title#v1#x", "sk", "$app#v1#task.title", "__edd_e__", "Task._unique.title"))
	l.put(t, keys("pk", "$app#v1#task#p", "sk", "$app#v1#task#open#stranger"))
	l.sent()
	return l, s
}

// No read takes what is stored with an item for an item, and nothing stored with it makes a read fail.
func TestReads_SeeCurrentItemsOnly(t *testing.T) {
	t.Parallel()
	l, s := beset(t)
	f := entity.Fields[Task]()
	require.Len(t, l.everything(t), 2+2*8+2)
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	queries := map[string]entity.Query[Task]{
		"partition":   s.Query(Task{Project: "p"}),
		"consistent":  s.Query(Task{Project: "p"}, entity.Consistent()),
		"lead":        s.Query(Task{Project: "p", Status: "open", Priority: 1}),
		"prefix":      s.Query(Task{Project: "p"}, entity.BeginsWith(&f.Status, "o")),
		"range":       s.Query(Task{Project: "p", Status: "open", Priority: 1}, entity.Ge(&f.TaskID, "a")),
		"descending":  s.Query(Task{Project: "p"}, entity.Desc()),
		"with Or":     s.Query(Task{Project: "p"}, entity.Filter(entity.Or(entity.Eq(&f.Points, 1), entity.NotExists(&f.Owner)))),
		"with Not":    s.Query(Task{Project: "p"}, entity.Filter(entity.Not(entity.Exists(&f.Title)))),
		"scan":        s.Scan(),
		"segments":    s.Scan(entity.Segments(3)),
		"scan, Or":    s.Scan(entity.Filter(entity.Or(entity.Eq(&f.Points, 1), entity.NotExists(&f.Points)))),
		"index":       byOwner.Query(Task{Owner: "o"}),
		"index, scan": byOwner.Scan(),
	}
	for name, q := range queries {
		got, err := q.Collect(t.Context())
		require.NoError(t, err, name)
		require.ElementsMatch(t, []string{"a", "b"}, ids(got), name)
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
		_, err = q.First(t.Context())
		require.NoError(t, err, name)
		_, err = q.One(t.Context())
		require.ErrorIs(t, err, entity.ErrMultipleItems, name)
	}
	one, err := s.Query(Task{Project: "p", Status: "open", Priority: 1, TaskID: "b"}).One(t.Context())
	require.NoError(t, err, "a whole key finds its item alone")
	require.Equal(t, "b", one.TaskID)
	var paged []string
	for cursor := ""; ; {
		page, err := s.Query(Task{Project: "p"}, entity.Limit(1)).Page(t.Context(), cursor)
		require.NoError(t, err)
		paged = append(paged, ids(page.Items)...)
		if cursor = page.Next; cursor == "" {
			break
		}
		require.Len(t, page.Items, 1, "nor do they fill pages")
	}
	require.Equal(t, []string{"a", "b"}, paged)
}

// Filters are joined with AND, each in its own parentheses and with placeholders of its own.
func TestReads_FiltersNeverAdmitOtherItems(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s, twin := declare[Task](t, l.db), declare[Task](t, l.db, entity.Named("Twin"))
	l.create(t)
	for i, id := range []string{"a", "b", "c", "d"} {
		for _, store := range []*entity.Store[Task]{s, twin} {
			_, err := store.Create(t.Context(), Task{Project: "p", Status: "open", Priority: 1, TaskID: id, Points: i, Title: "t" + id})
			require.NoError(t, err)
		}
	}
	f := entity.Fields[Task]()
	points := func(n int) entity.Cond { return entity.Eq(&f.Points, n) }
	or := entity.Or(points(1), points(2), entity.Eq(&f.Title, "ta"))
	for name, c := range map[string]struct {
		opts []entity.BoundOption
		want []string
	}{
		"or":                    {[]entity.BoundOption{entity.Filter(or)}, []string{"a", "b", "c"}},
		"two filters":           {[]entity.BoundOption{entity.Filter(or), entity.Filter(entity.Gt(&f.Points, 0))}, []string{"b", "c"}},
		"two conds in one":      {[]entity.BoundOption{entity.Filter(or, entity.Gt(&f.Points, 0))}, []string{"b", "c"}},
		"two ors":               {[]entity.BoundOption{entity.Filter(or), entity.Filter(entity.Or(points(2), points(3)))}, []string{"c"}},
		"same field, opposites": {[]entity.BoundOption{entity.Filter(points(1)), entity.Filter(points(2))}, []string{}},
		"not of or":             {[]entity.BoundOption{entity.Filter(entity.Not(or))}, []string{"d"}},
		"and in or":             {[]entity.BoundOption{entity.Filter(entity.Or(entity.And(points(3), entity.Eq(&f.Title, "td")), points(0)))}, []string{"a", "d"}},
		"not and or":            {[]entity.BoundOption{entity.Filter(entity.Not(entity.And(points(0), entity.Exists(&f.Title))), entity.Or(points(0), points(1)))}, []string{"b"}},
	} {
		for from, q := range map[string]entity.Query[Task]{"query": s.Query(Task{Project: "p"}, ofQuery(c.opts)...), "scan": s.Scan(ofScan(c.opts)...)} {
			got, err := q.Collect(t.Context())
			require.NoError(t, err, name)
			require.ElementsMatch(t, c.want, ids(got), "%s, %s", name, from)
			n, err := q.Count(t.Context())
			require.NoError(t, err)
			require.Len(t, c.want, n, "%s, %s", name, from)
		}
	}
}

// A cursor can be made of any key, and is taken by its own query only.
func TestReads_CursorsHoldAnyKeyAndAreBoundToTheirQuery(t *testing.T) {
	t.Parallel()
	_, s := open[Task](t)
	for _, project := range []string{"プロジェクト", "p"} {
		for _, id := range []string{"ñ", "日本語", "🙂#%"} {
			_, err := s.Create(t.Context(), Task{Project: project, Status: "å", Priority: 1, TaskID: id})
			require.NoError(t, err)
		}
	}
	page, err := s.Query(Task{Project: "プロジェクト"}, entity.Limit(1)).Page(t.Context(), "")
	require.NoError(t, err)
	rest, err := s.Query(Task{Project: "プロジェクト"}, entity.Limit(5)).Page(t.Context(), page.Next)
	require.NoError(t, err)
	require.Equal(t, []string{"ñ", "日本語", "🙂#%"}, append(ids(page.Items), ids(rest.Items)...))
	require.Empty(t, rest.Next)
	for _, other := range []entity.Query[Task]{s.Query(Task{Project: "p"}), s.Query(Task{Project: "プロジェクト"}, entity.Desc()), s.Scan()} {
		_, err := other.Page(t.Context(), page.Next)
		require.ErrorIs(t, err, entity.ErrInvalidCursor)
	}
}

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
	now := l.clock.move(100 * 365 * 24 * time.Hour) // far ahead, or the database would remove the item itself
	_, err := s.Create(t.Context(), Token{User: "u", ID: "t", Scope: "all", Uses: 7})
	require.NoError(t, err)
	l.patch(t, tokenKey, "_ttl", num(strconv.FormatInt(now.Add(after).Unix(), 10)))
	l.sent()
	return l, s
}

// DynamoDB removes an expired item in its own time; for every verb it is gone at once.
func TestExpiry_AnExpiredItemIsGoneForReadsAndWrites(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration
		live  bool
	}{"ended": {-time.Hour, false}, "ends now": {0, false}, "ends in a second": {time.Second, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := lapsed(t, c.after)
			f, key := entity.Fields[Token](), Token{User: "u", ID: "t"}
			class := func(err, absent, live error) {
				t.Helper()
				want := absent
				if c.live {
					want = live
				}
				if want == nil {
					require.NoError(t, err)
				} else {
					require.ErrorIs(t, err, want)
				}
			}
			_, err := s.Get(t.Context(), key)
			class(err, entity.ErrNotFound, nil)
			got, err := s.Get(t.Context(), key, entity.IncludeExpired())
			require.NoError(t, err)
			require.Equal(t, 7, got.Uses)

			before := l.everything(t)
			if !c.live {
				_, err = s.Update(t.Context(), key, entity.Add(&f.Uses, 1))
				class(err, entity.ErrNotFound, nil)
				_, err = s.Update(t.Context(), key, entity.Add(&f.Uses, 1), entity.If(entity.Or(entity.Exists(&f.Uses), entity.Exists(&f.Scope))))
				class(err, entity.ErrNotFound, nil)
				class(s.Delete(t.Context(), key), entity.ErrNotFound, nil)
				require.Equal(t, before, l.everything(t))
			}
			class(l.db.Transact(t.Context(), s.Op().CheckExists(key)), entity.ErrNotFound, nil)
			_, err = s.Create(t.Context(), Token{User: "u", ID: "t", Uses: 1})
			class(err, nil, entity.ErrExists)
			if !c.live {
				require.Equal(t, raw{
					"pk": `S"$app#v1#token#u"`, "sk": `S"$app#v1#token#t"`, "__edd_e__": `S"Token"`, "user": `S"u"`, "id": `S"t"`, "uses": "N1",
					"gsi1sk": `S"$app#v1#token#t"`,
				}, without(l.stored(t, tokenKey), "_w"), "a new life keeps nothing of the old one")
			}
		})
	}
}

func TestExpiry_QueriesHideExpiredItemsUnlessAsked(t *testing.T) {
	t.Parallel()
	l, s := lapsed(t, -time.Minute)
	_, err := s.Create(t.Context(), Token{User: "u", ID: "u", Scope: "all"})
	require.NoError(t, err)
	f := entity.Fields[Token]()
	byScope, err := s.Index("byScope")
	require.NoError(t, err)
	l.sent()
	for name, query := range map[string]func(...entity.QueryOption) entity.Query[Token]{
		"table": func(o ...entity.QueryOption) entity.Query[Token] { return s.Query(Token{User: "u"}, o...) },
		"index": func(o ...entity.QueryOption) entity.Query[Token] { return byScope.Query(Token{Scope: "all"}, o...) },
	} {
		one, err := query().One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, "u", one.ID, name)
		n, err := query(entity.IncludeExpired()).Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 2, n, name)
		n, err = query(entity.Filter(entity.Or(entity.Exists(&f.ID), entity.NotExists(&f.ID)))).Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
	}
	l.clock.move(-time.Hour)
	n, err := s.Query(Token{User: "u"}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 2, n, "the clock of the DB decides")
}
