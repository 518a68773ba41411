package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
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
	for _, page := range dbtest.Pages(t, q) {
		require.LessOrEqual(t, len(page), most)
		for _, c := range page {
			names = append(names, c.Item.Title)
		}
	}
	return names
}

func TestDeletedQuery_ReadsTheCopiesOfAPartition(t *testing.T) {
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
	require.Equal(t, 6, entity.Must(deleted.Query(tenant).Count(t.Context())))

	entity.Must(deleted.Restore(t.Context(), Doc{Tenant: "t", Folder: "a", ID: "1"}))
	require.Equal(t, order[1:], titles(t, deleted.Query(tenant)))
	require.NoError(t, s.Purge(t.Context(), Doc{Tenant: "t", Folder: "a", ID: "3"}))
	require.Equal(t, order[2:], titles(t, deleted.Query(tenant)))
}

func TestDeletedScan_ReadsTheCopiesOfTheTable(t *testing.T) {
	h, _, deleted, gone := drawer(t)
	f, want := entity.Fields[Doc](), slices.Concat(gone, gone)
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

func TestDeletedQuery_MistakesAreFoundBeforeARequest(t *testing.T) {
	h, _, deleted, _ := drawer(t)
	f := entity.Fields[Doc]()
	for name, q := range map[string]entity.Query[lifecycle.DeletedItem[Doc]]{
		"no partition":           deleted.Query(Doc{Folder: "a"}),
		"a gap":                  deleted.Query(Doc{Tenant: "t", ID: "1"}),
		"another field":          deleted.Query(Doc{Tenant: "t", Title: "x"}),
		"a range of a field":     deleted.Query(Doc{Tenant: "t"}, entity.Gt(&f.Title, "x")),
		"a range of the deletes": deleted.Query(Doc{Tenant: "t", Folder: "a", ID: "1"}, entity.Gt(&f.DeletedAt, hour0)),
	} {
		dbtest.As[*entity.InputError](t, dbtest.ErrorOf(q.Collect(t.Context())), name)
	}
	require.Empty(t, h.Operations())
	page := entity.Must(deleted.Query(Doc{Tenant: "t"}, entity.Limit(1)).Page(t.Context(), ""))
	require.NotEmpty(t, page.Next)
	require.ErrorIs(t, dbtest.ErrorOf(deleted.Query(Doc{Tenant: "t2"}, entity.Limit(1)).Page(t.Context(), page.Next)), entity.ErrInvalidCursor)
	require.NotContains(t, deleted.Query(Doc{Tenant: "hush"}).String(), "hush")
}

// In a shared table nothing in an item but its key says that it is a copy: snapshots of deleted states have the time of
// the delete, too.
func TestDeletedQuery_InASharedTable(t *testing.T) {
	type paper struct {
		_       entity.Key           `name:"Paper" pk:"$#tenant_{tenant}" sk:"$#id_{id}"`
		_       versioned.Retain     ``
		_       lifecycle.SoftDelete `ttl:"30d"`
		Tenant  string               `dynamodbav:"tenant"`
		ID      string               `dynamodbav:"id"`
		Version int64                `dynamodbav:"version" entity:"version"`
	}
	h := newLab(t, func(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond })
	s := dbtest.Declare[paper](t, h.DB)
	h.CreateTables()
	deleted := entity.Must(lifecycle.Of(s))
	for _, id := range []string{"1", "2", "3"} {
		entity.Must(s.Create(t.Context(), paper{Tenant: "T", ID: id}))
		require.NoError(t, s.Delete(t.Context(), paper{Tenant: "T", ID: id}))
	}
	entity.Must(deleted.Restore(t.Context(), paper{Tenant: "T", ID: "2"}))
	for name, q := range map[string]entity.Query[lifecycle.DeletedItem[paper]]{"query": deleted.Query(paper{Tenant: "T"}), "scan": deleted.Scan()} {
		ids := []string{}
		for _, c := range entity.Must(q.Collect(t.Context())) {
			ids = append(ids, c.Item.ID)
		}
		require.ElementsMatch(t, []string{"1", "3"}, ids, name)
		require.Equal(t, 2, entity.Must(q.Count(t.Context())))
	}
}

// Letter has a trash for each tenant, and one for each room of the table.
type Letter struct {
	_         entity.Key           `name:"Letter" pk:"$#{room}" sk:"$#{id}"`
	_         entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_         entity.GSI           `name:"trash" index:"gsi2" pk:"gsi2pk=TENANT#{tenant}" sk:"$#{deletedAt}#{id}" project:"room,id"`
	_         entity.LSI           `name:"roomTrash" index:"lsi1" sk:"lsi1sk={deletedAt}"`
	_         versioned.Retain     ``
	_         lifecycle.SoftDelete `ttl:"30d"`
	_         unique.Constraint    `name:"title" fields:"title"`
	Room      string               `dynamodbav:"room"`
	ID        string               `dynamodbav:"id"`
	Tenant    string               `dynamodbav:"tenant,omitempty"`
	Title     string               `dynamodbav:"title,omitempty"`
	Version   int64                `dynamodbav:"version" entity:"version"`
	DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
}

// Packet has current items in the index that holds the trash of letters.
type Packet struct {
	_      entity.Key `name:"Packet" pk:"$#{id}" sk:"$"`
	_      entity.GSI `name:"byTenant" index:"gsi2" pk:"gsi2pk=TENANT#{tenant}" sk:"$#{id}" project:"keys"`
	ID     string     `dynamodbav:"id"`
	Tenant string     `dynamodbav:"tenant"`
}

func letters(t *testing.T) (h *lab, s *entity.Store[Letter], deleted *lifecycle.Deleted[Letter], trash, rooms *lifecycle.Index[Letter]) {
	t.Helper()
	h = newLab(t)
	s = dbtest.Declare[Letter](t, h.DB)
	packets := dbtest.Declare[Packet](t, h.DB)
	h.CreateTables()
	deleted = entity.Must(lifecycle.Of(s))
	trash, rooms = entity.Must(deleted.Index("trash")), entity.Must(deleted.Index("roomTrash"))
	entity.Must(packets.Create(t.Context(), Packet{ID: "p", Tenant: "t"}))
	for n := range 12 {
		l := Letter{Room: fmt.Sprint("r", n%2), ID: fmt.Sprint("l", n), Tenant: "t", Title: fmt.Sprint("title ", n)}
		if n > 7 {
			l.Tenant = "other"
		}
		entity.Must(s.Create(t.Context(), l))
		if n%4 != 3 {
			h.Clock.Move(-time.Second) // of different items, the later delete may have the earlier time
			require.NoError(t, s.Delete(t.Context(), l))
		}
	}
	h.Operations()
	return h, s, deleted, trash, rooms
}

func ids(t *testing.T, q entity.Query[lifecycle.DeletedItem[Letter]]) (all []string) {
	t.Helper()
	for c, err := range q.All(t.Context()) {
		require.NoError(t, err)
		require.False(t, c.DeletedAt.IsZero())
		require.Equal(t, c.DeletedAt.Truncate(time.Second).Add(30*day), c.ExpiresAt)
		all = append(all, c.Item.ID)
	}
	return all
}

// The trash page of a tenant: its deleted letters from every partition of the table, in the order of their deletes.
func TestDeletedIndex_HoldsTheDeletedCopiesOfATenant(t *testing.T) {
	h, s, deleted, trash, rooms := letters(t)
	ctx, f, tenant := t.Context(), entity.Fields[Letter](), Letter{Tenant: "t"}
	oldest := []string{"l6", "l5", "l4", "l2", "l1", "l0"} // the clock went backwards
	newest := slices.Clone(oldest)
	slices.Reverse(newest)
	require.Equal(t, oldest, ids(t, trash.Query(tenant)))
	require.Equal(t, newest, ids(t, trash.Query(tenant, entity.Desc())))
	require.Equal(t, []string{"Query", "Query"}, h.Operations())
	var got []string
	for _, page := range dbtest.Pages(t, trash.Query(tenant, entity.Desc(), entity.Limit(4))) {
		for _, c := range page {
			got = append(got, c.Item.ID)
		}
	}
	require.Equal(t, newest, got)
	third := entity.Must(deleted.Get(ctx, Letter{Room: "r0", ID: "l4"}))
	require.Equal(t, oldest[2:], ids(t, trash.Query(tenant, entity.Ge(&f.DeletedAt, third.DeletedAt))))
	require.Len(t, ids(t, trash.Query(Letter{Tenant: "other"})), 3)
	require.Len(t, ids(t, trash.Scan()), 9)
	require.Equal(t, []string{"l10", "l8", "l6", "l4", "l2", "l0"}, ids(t, rooms.Query(Letter{Room: "r0"}, entity.Consistent())))

	require.Equal(t, "title 4", entity.Must(deleted.Restore(ctx, Letter{Room: "r0", ID: "l4"})).Title)
	require.NoError(t, s.Purge(ctx, Letter{Room: "r1", ID: "l1"}))
	require.Equal(t, []string{"l6", "l5", "l2", "l0"}, ids(t, trash.Query(tenant)))
	entity.Must(s.Update(ctx, Letter{Room: "r0", ID: "l4"}, entity.Set(&f.Tenant, "other")))
	h.Clock.Move(time.Hour)
	require.NoError(t, s.Delete(ctx, Letter{Room: "r0", ID: "l4"}))
	require.Equal(t, "l4", ids(t, trash.Query(Letter{Tenant: "other"}, entity.Desc()))[0])

	h.Clock.Move(31 * day)
	require.Empty(t, ids(t, trash.Query(tenant)))
	require.Len(t, ids(t, trash.Query(tenant, entity.IncludeExpired())), 4)
}

// Nothing but copies has the keys of such an index, and copies have those of no other.
func TestDeletedIndex_CurrentItemsAndSnapshotsAreNotInIt(t *testing.T) {
	h, s, deleted, _, _ := letters(t)
	entity.Must(deleted.Restore(t.Context(), Letter{Room: "r0", ID: "l0"}))
	n := map[string]int{}
	for _, it := range h.Items() {
		if it["__edd_e__"].(*types.AttributeValueMemberS).Value != "Letter" {
			continue
		}
		kind := "current"
		if k, ok := it["_k"].(*types.AttributeValueMemberS); ok {
			kind = k.Value
		}
		n[kind]++
		for _, sk := range []string{"gsi2sk", "lsi1sk"} {
			require.Equal(t, kind == "d", it[sk] != nil, "%s of %v", sk, it)
		}
		require.Equal(t, kind == "current", it["gsi1sk"] != nil)
	}
	require.Equal(t, 4, n["current"])
	require.Equal(t, 8, n["d"])
	require.Positive(t, n["v"])
	byTenant := entity.Must(s.Index("byTenant"))
	require.Equal(t, 3, entity.Must(byTenant.Query(Letter{Tenant: "t"}).Count(t.Context())))
}

// A change of an attribute of the partition costs no read: current items have no key with the time of a delete.
func TestDeletedIndex_CostsUpdatesNothing(t *testing.T) {
	type memo struct {
		_         entity.Key           `name:"Memo" pk:"$#{id}" sk:"$"`
		_         entity.GSI           `name:"trash" index:"gsi1" pk:"$#{tenant}" sk:"$#{folder}#{deletedAt}"`
		_         lifecycle.SoftDelete ``
		ID        string               `dynamodbav:"id"`
		Tenant    string               `dynamodbav:"tenant,omitempty"`
		Folder    string               `dynamodbav:"folder,omitempty"`
		DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
	}
	h, s := open[memo](t)
	f := entity.Fields[memo]()
	entity.Must(s.Create(t.Context(), memo{ID: "m", Tenant: "t", Folder: "f"}))
	entity.Must(s.Update(t.Context(), memo{ID: "m"}, entity.Set(&f.Folder, "g"), entity.Set(&f.Tenant, "u")))
	entity.Must(s.Put(t.Context(), memo{ID: "m", Tenant: "u", Folder: "h"}))
	require.Equal(t, []string{"PutItem", "UpdateItem", "UpdateItem"}, h.Operations())
	require.NoError(t, s.Delete(t.Context(), memo{ID: "m"}))
	deleted := entity.Must(lifecycle.Of(s))
	trash := entity.Must(deleted.Index("trash"))
	got := entity.Must(trash.Query(memo{Tenant: "u", Folder: "h"}).One(t.Context()))
	require.Equal(t, "m", got.Item.ID)
}

func TestDeletedIndex_Mistakes(t *testing.T) {
	_, s, deleted, _, _ := letters(t)
	for _, err := range []error{
		dbtest.ErrorOf(deleted.Index("byTenant")), dbtest.ErrorOf(deleted.Index("gsi2")), dbtest.ErrorOf(s.Index("trash")), // of items, unknown, of copies
	} {
		require.Equal(t, "EDD-9051", dbtest.SchemaCode(err))
	}
}
