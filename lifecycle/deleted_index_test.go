package lifecycle_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Letter has a trash for each tenant, and one for each room of the table.
type Letter struct {
	_ entity.Key           `name:"Letter" pk:"$#{room}" sk:"$#{id}"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_ entity.GSI           `name:"trash" index:"gsi2" pk:"gsi2pk=TENANT#{tenant}" sk:"$#{deletedAt}#{id}" project:"room,id"`
	_ entity.LSI           `name:"roomTrash" index:"lsi1" sk:"lsi1sk={deletedAt}"`
	_ versioned.Retain     ``
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"title" fields:"title"`

	Room      string    `dynamodbav:"room"`
	ID        string    `dynamodbav:"id"`
	Tenant    string    `dynamodbav:"tenant,omitempty"`
	Title     string    `dynamodbav:"title,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
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
	trash = entity.Must(deleted.Index("trash"))
	rooms = entity.Must(deleted.Index("roomTrash"))
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
	t.Parallel()
	h, s, deleted, trash, rooms := letters(t)
	ctx, f, tenant := t.Context(), entity.Fields[Letter](), Letter{Tenant: "t"}
	oldest := []string{"l6", "l5", "l4", "l2", "l1", "l0"} // the clock went backwards
	newest := slices.Clone(oldest)
	slices.Reverse(newest)
	require.Equal(t, oldest, ids(t, trash.Query(tenant)))
	require.Equal(t, newest, ids(t, trash.Query(tenant, entity.Desc())))
	require.Equal(t, []string{"Query", "Query"}, h.Operations())
	var got []string
	for after, n := "", 0; n == 0 || after != ""; n++ {
		page := entity.Must(trash.Query(tenant, entity.Desc(), entity.Limit(4)).Page(ctx, after))
		for _, c := range page.Items {
			got = append(got, c.Item.ID)
		}
		after = page.Next
		require.Less(t, n, 5)
	}
	require.Equal(t, newest, got)
	third := entity.Must(deleted.Get(ctx, Letter{Room: "r0", ID: "l4"}))
	require.Equal(t, oldest[2:], ids(t, trash.Query(tenant, entity.Ge(&f.DeletedAt, third.DeletedAt))))
	require.Len(t, ids(t, trash.Query(Letter{Tenant: "other"})), 3)
	require.Len(t, ids(t, trash.Scan()), 9)
	require.Equal(t, []string{"l10", "l8", "l6", "l4", "l2", "l0"}, ids(t, rooms.Query(Letter{Room: "r0"}, entity.Consistent())))

	back := entity.Must(deleted.Restore(ctx, Letter{Room: "r0", ID: "l4"}))
	require.Equal(t, "title 4", back.Title)
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
	t.Parallel()
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
	live := entity.Must(byTenant.Query(Letter{Tenant: "t"}).Count(t.Context()))
	require.Equal(t, 3, live)
}

// A change of an attribute of the partition costs no read: current items have no key with the time of a delete.
func TestDeletedIndex_CostsUpdatesNothing(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	_, s, deleted, _, _ := letters(t)
	for name, open := range map[string]func() error{
		"of items":                func() error { _, err := deleted.Index("byTenant"); return err },
		"unknown":                 func() error { _, err := deleted.Index("gsi2"); return err },
		"of copies, by the store": func() error { _, err := s.Index("trash"); return err },
	} {
		var mistake *entity.SchemaError
		require.ErrorAs(t, open(), &mistake, name)
		require.Equal(t, "EDD-9051", mistake.Code, name)
	}
	type shared struct {
		_         entity.Key           `name:"Shared" pk:"$#id_{id}" sk:"$"`
		_         entity.GSI           `name:"trash" index:"gsi1" pk:"$#tenant_{tenant}" sk:"$#at_{deletedAt}"`
		_         lifecycle.SoftDelete ``
		ID        string               `dynamodbav:"id"`
		Tenant    string               `dynamodbav:"tenant,omitempty"`
		DeletedAt time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "x", Interop: true, TimePrecision: time.Millisecond}))
	_, err := entity.New[shared](db)
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9053", mistake.Code)
}
