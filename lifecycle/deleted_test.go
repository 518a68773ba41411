package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

// Doc is one of many in the partition of its tenant.
type Doc struct {
	_         entity.Key           `name:"Doc" pk:"$#{tenant}" sk:"$#{folder}#{id}"`
	_         versioned.Retain     ``
	_         lifecycle.SoftDelete `ttl:"30d"`
	Tenant    string               `dynamodbav:"tenant" entity:"secret"`
	Folder    string               `dynamodbav:"folder"`
	ID        string               `dynamodbav:"id"`
	Title     string               `dynamodbav:"title,omitempty"`
	Version   int64                `dynamodbav:"version" entity:"version"`
	DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

// drawer is a table with live and deleted documents of two tenants, with other items in it. gone are the names of
// those of tenant t that are deleted, in the order of their sort keys.
func drawer(t *testing.T) (h *lab, s *entity.Store[Doc], deleted *lifecycle.Deleted[Doc], gone []string) {
	t.Helper()
	h, s = open[Doc](t)
	deleted = entity.Must(lifecycle.Of(s))
	ctx := t.Context()
	for _, tenant := range []string{"t", "t2"} {
		for _, folder := range []string{"a", "a!", "b"} {
			for n := range 4 {
				d := Doc{Tenant: tenant, Folder: folder, ID: fmt.Sprint(n), Title: folder + fmt.Sprint(n)}
				entity.Must(s.Create(ctx, d))
				if n%2 == 1 {
					h.Clock.Move(time.Second)
					require.NoError(t, s.Delete(ctx, d))
					if tenant == "t" {
						gone = append(gone, d.Title)
					}
				}
			}
		}
	}
	pages := entity.Must(entity.New[Page](h.DB))
	entity.Must(pages.Create(ctx, Page{ID: "t"}))
	require.NoError(t, pages.Delete(ctx, Page{ID: "t"}))
	// What something else has put there: an item of another entity in the partition, and one without anything.
	for _, it := range h.Items() {
		if dbtest.Text(it["__edd_e__"]) == "Page" {
			it["pk"], it["sk"] = dbtest.S("$app#v1#doc#t"), dbtest.S("$app#v1#doc#a#zz")
			h.PutItem(it)
		}
	}
	h.PutItem(h.Key("$app#v1#doc#t", "$app#v1#doc#b#zz"))
	slices.Sort(gone)
	h.Operations()
	return h, s, deleted, gone
}

func titles(t *testing.T, q entity.Query[lifecycle.DeletedItem[Doc]]) []string {
	t.Helper()
	all := entity.Must(q.Collect(t.Context()))
	var names []string
	for _, c := range all {
		require.False(t, c.DeletedAt.IsZero())
		require.Equal(t, c.DeletedAt, c.Item.DeletedAt)
		require.Equal(t, 30*day, c.ExpiresAt.Sub(c.DeletedAt.Truncate(time.Second)))
		names = append(names, c.Item.Title)
	}
	return names
}

// paged reads a query page by page to its end.
func paged(t *testing.T, q entity.Query[lifecycle.DeletedItem[Doc]], most int) (names []string) {
	t.Helper()
	for after, n := "", 0; n == 0 || after != ""; n++ {
		page := entity.Must(q.Page(t.Context(), after))
		require.LessOrEqual(t, len(page.Items), most)
		for _, c := range page.Items {
			names = append(names, c.Item.Title)
		}
		after = page.Next
		require.Less(t, n, 50)
	}
	return names
}

func TestDeletedQuery_ReadsTheCopiesOfAPartition(t *testing.T) {
	t.Parallel()
	h, s, deleted, gone := drawer(t)
	f, tenant := entity.Fields[Doc](), Doc{Tenant: "t"}
	require.Equal(t, []string{"a!1", "a!3", "a1", "a3", "b1", "b3"}, gone)
	order := []string{"a1", "a3", "a!1", "a!3", "b1", "b3"} // by the sort key: a comes before a!
	require.Equal(t, order, titles(t, deleted.Query(tenant)))
	require.Equal(t, []string{"Query"}, h.Operations())
	back := slices.Clone(order)
	slices.Reverse(back)
	require.Equal(t, back, titles(t, deleted.Query(tenant, entity.Desc())))
	for limit := 1; limit <= 7; limit++ {
		require.Equal(t, order, paged(t, deleted.Query(tenant, entity.Limit(limit)), limit))
		require.Equal(t, back, paged(t, deleted.Query(tenant, entity.Limit(limit), entity.Desc()), limit))
	}
	require.Equal(t, []string{"a1", "a3"}, titles(t, deleted.Query(Doc{Tenant: "t", Folder: "a"})))
	require.Equal(t, []string{"a3"}, titles(t, deleted.Query(Doc{Tenant: "t", Folder: "a", ID: "3"})))
	require.Equal(t, []string{"a!1", "a!3", "b1", "b3"}, titles(t, deleted.Query(tenant, entity.Gt(&f.Folder, "a"))))
	require.Equal(t, []string{"a1", "a3", "a!1", "a!3"}, titles(t, deleted.Query(tenant, entity.Lt(&f.Folder, "b"))))
	require.Equal(t, []string{"b3"}, titles(t, deleted.Query(Doc{Tenant: "t", Folder: "b"}, entity.Ge(&f.ID, "2"))))
	require.Equal(t, []string{"b1"}, titles(t, deleted.Query(tenant, entity.Filter(entity.Eq(&f.Title, "b1")))))
	newest := entity.Must(deleted.Get(t.Context(), Doc{Tenant: "t", Folder: "b", ID: "3"}))
	require.Equal(t, []string{"b3"}, titles(t, deleted.Query(tenant, entity.Filter(entity.Ge(&f.DeletedAt, newest.DeletedAt)))))
	n := entity.Must(deleted.Query(tenant).Count(t.Context()))
	require.Equal(t, 6, n)

	entity.Must(deleted.Restore(t.Context(), Doc{Tenant: "t", Folder: "a", ID: "1"}))
	require.Equal(t, order[1:], titles(t, deleted.Query(tenant)))
	require.NoError(t, s.Purge(t.Context(), Doc{Tenant: "t", Folder: "a", ID: "3"}))
	require.Equal(t, order[2:], titles(t, deleted.Query(tenant)))
}

func TestDeletedScan_ReadsTheCopiesOfTheTable(t *testing.T) {
	t.Parallel()
	h, _, deleted, gone := drawer(t)
	f := entity.Fields[Doc]()
	want := slices.Concat(gone, gone)
	slices.Sort(want)
	require.Equal(t, want, slices.Sorted(slices.Values(titles(t, deleted.Scan()))))
	require.Equal(t, []string{"Scan"}, h.Operations())
	require.Equal(t, want, slices.Sorted(slices.Values(titles(t, deleted.Scan(entity.Segments(3))))))
	require.Equal(t, want, slices.Sorted(slices.Values(paged(t, deleted.Scan(entity.Limit(2)), 2))))
	require.Equal(t, gone, slices.Sorted(slices.Values(titles(t, deleted.Scan(entity.Filter(entity.Eq(&f.Tenant, "t2")))))))
	// The same table, read by another version of the program.
	next := dbtest.Declare[Doc](t, h.Open(h.Raw, func(c *entity.Config) { c.Namespace.Version = 2 }))
	require.Empty(t, titles(t, entity.Must(lifecycle.Of(next)).Scan()))
}

func TestDeletedQuery_LeavesOutExpiredCopies(t *testing.T) {
	t.Parallel()
	h, _, deleted, gone := drawer(t)
	h.Clock.Move(31 * day)
	tenant, ofTenant := Doc{Tenant: "t"}, entity.Filter(entity.Eq(&entity.Fields[Doc]().Tenant, "t"))
	require.Empty(t, titles(t, deleted.Query(tenant)))
	require.Empty(t, titles(t, deleted.Scan(ofTenant)))
	require.Len(t, titles(t, deleted.Query(tenant, entity.IncludeExpired())), len(gone))
	require.Len(t, titles(t, deleted.Scan(ofTenant, entity.IncludeExpired())), len(gone))
}

func TestDeletedQuery_MistakesAreFoundBeforeARequest(t *testing.T) {
	t.Parallel()
	h, _, deleted, _ := drawer(t)
	f := entity.Fields[Doc]()
	for name, q := range map[string]entity.Query[lifecycle.DeletedItem[Doc]]{
		"no partition":           deleted.Query(Doc{Folder: "a"}),
		"a gap":                  deleted.Query(Doc{Tenant: "t", ID: "1"}),
		"another field":          deleted.Query(Doc{Tenant: "t", Title: "x"}),
		"a range of a field":     deleted.Query(Doc{Tenant: "t"}, entity.Gt(&f.Title, "x")),
		"a range of the deletes": deleted.Query(Doc{Tenant: "t", Folder: "a", ID: "1"}, entity.Gt(&f.DeletedAt, hour0)),
	} {
		_, err := q.Collect(t.Context())
		var mistake *entity.InputError
		require.ErrorAs(t, err, &mistake, name)
	}
	require.Empty(t, h.Operations())
	page := entity.Must(deleted.Query(Doc{Tenant: "t"}, entity.Limit(1)).Page(t.Context(), ""))
	require.NotEmpty(t, page.Next)
	_, err := deleted.Query(Doc{Tenant: "t2"}, entity.Limit(1)).Page(t.Context(), page.Next)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
	require.NotContains(t, deleted.Query(Doc{Tenant: "hush"}).String(), "hush")
}

// In a shared table nothing in an item but its key says that it is a copy: snapshots of deleted states have the time of
// the delete, too.
func TestDeletedQuery_InASharedTable(t *testing.T) {
	t.Parallel()
	type paper struct {
		_       entity.Key           `name:"Paper" pk:"$#tenant_{tenant}" sk:"$#id_{id}"`
		_       versioned.Retain     ``
		_       lifecycle.SoftDelete `ttl:"30d"`
		Tenant  string               `dynamodbav:"tenant"`
		ID      string               `dynamodbav:"id"`
		Version int64                `dynamodbav:"version" entity:"version"`
	}
	h := newLab(t, func(c *entity.Config) {
		c.Interop, c.TimePrecision = true, time.Millisecond
	})
	s := dbtest.Declare[paper](t, h.DB)
	h.CreateTables()
	deleted := entity.Must(lifecycle.Of(s))
	for _, id := range []string{"1", "2", "3"} {
		entity.Must(s.Create(t.Context(), paper{Tenant: "T", ID: id}))
		require.NoError(t, s.Delete(t.Context(), paper{Tenant: "T", ID: id}))
	}
	entity.Must(deleted.Restore(t.Context(), paper{Tenant: "T", ID: "2"}))
	for name, q := range map[string]entity.Query[lifecycle.DeletedItem[paper]]{"query": deleted.Query(paper{Tenant: "T"}), "scan": deleted.Scan()} {
		all, err := q.Collect(t.Context())
		require.NoError(t, err, name)
		ids := []string{}
		for _, c := range all {
			ids = append(ids, c.Item.ID)
		}
		require.ElementsMatch(t, []string{"1", "3"}, ids, name)
		n := entity.Must(q.Count(t.Context()))
		require.Equal(t, 2, n)
	}
}
