package entity_test

import (
	"maps"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// beset stores two tasks, and beside each the events, snapshots and copies that features lay there, with all the
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

// No read takes what is stored with an item for an item, and nothing beside it makes a read fail.
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
func TestReads_EveryFilterCountsAndNoneLetsOtherItemsIn(t *testing.T) {
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
