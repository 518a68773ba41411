package docs_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/guregu/dynamo/v2"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/versioned"
)

// plainOrder is the declaration of from-guregu.md, ledgerOrder what it becomes when only the library writes.
type plainOrder struct {
	_ entity.Key `name:"Order" pk:"customer" sk:"number"`
	_ entity.GSI `name:"byStatus" index:"byStatus" pk:"status" sk:"placed"`

	Customer string    `dynamodbav:"customer"`
	Number   int       `dynamodbav:"number"`
	Status   string    `dynamodbav:"status"`
	Placed   time.Time `dynamodbav:"placed,unixtime"`
	Total    int       `dynamodbav:"total"`
	Tags     []string  `dynamodbav:"tags,stringset,omitempty"`
}

type ledgerOrder struct {
	_ entity.Key `name:"Order" pk:"customer" sk:"number"`
	_ entity.GSI `name:"byStatus" index:"byStatus" pk:"status" sk:"placed"`
	_ entity.GSI `name:"open" index:"open" pk:"openOf={customer}" sk:"placed" when:"status=open"`
	_ versioned.Lock

	Customer string    `dynamodbav:"customer"`
	Number   int       `dynamodbav:"number"`
	Status   string    `dynamodbav:"status"`
	Placed   time.Time `dynamodbav:"placed,unixtime"`
	Total    int       `dynamodbav:"total"`
	Version  int64     `dynamodbav:"version" entity:"version"`
}

// keptOrder has a history, and so a key that begins with "$".
type keptOrder struct {
	_ entity.Key       `name:"KeptOrder" table:"kept" pk:"$#{customer}" sk:"$#{number}"`
	_ versioned.Retain `ttl:"365d"`

	Customer string `dynamodbav:"customer"`
	Number   int    `dynamodbav:"number"`
	Status   string `dynamodbav:"status"`
	Total    int    `dynamodbav:"total"`
	Version  int64  `dynamodbav:"version" entity:"version"`

	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

func TestFromGuregu_BothSidesDoTheSameAndTheTableIsAdopted(t *testing.T) {
	t.Parallel()
	const guide = "from-guregu.md"
	theirs := read(t, "testdata/slice/guregu.go")
	client, table := localdb.Test(t)
	makeOrders(t, client, table, "byStatus", "customer", "S", "number", "N", "status", "S", "placed", "N")
	s := shops{t, client, table, [2]string{buildShop(t, "slice-guregu", theirs), buildShop(t, "slice-keys", ours(t, guide))}}
	s.alternate()
	ctx := t.Context()

	// Steps 1 and 2.
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	plain := entity.Must(entity.New[plainOrder](db))
	require.NoError(t, tables.Verify(ctx, db))
	require.Empty(t, check(t, plain))

	// Step 5.
	db = entity.Must(entity.Open(client, entity.Config{Table: table, Tables: map[string]string{"kept": table + "-kept"}}))
	orders := entity.Must(entity.New[ledgerOrder](db))
	require.NoError(t, tables.Create(ctx, db, tables.AddIndexes()))
	const open = 13
	require.Equal(t, map[migrate.Kind]int{migrate.Outdated: open}, check(t, orders))
	done, err := migrate.Rewrite(ctx, orders)
	require.NoError(t, err)
	require.Equal(t, open, done.Rewritten)
	require.Empty(t, check(t, orders))
	waiting, err := entity.Must(orders.Index("open")).Query(ledgerOrder{Customer: "bob"}).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, waiting, 4)
	o := entity.Fields[ledgerOrder]()
	_, err = orders.Update(ctx, waiting[0], entity.Set(&o.Status, "packed"), versioned.Expect(0))
	require.NoError(t, err)
	_, err = orders.Update(ctx, waiting[0], entity.Set(&o.Status, "packed"), versioned.Expect(0))
	require.ErrorIs(t, err, entity.ErrConflict, "another has changed it since it was read")

	// The way back: the old program works as before. What it writes lacks the keys of the new index, or keeps old ones.
	s.run(0, "dan")
	s.readAlike()
	require.Equal(t, map[migrate.Kind]int{migrate.Outdated: 5 + 1}, check(t, orders), "5 are open, 1 of cyd is no longer")
	_, err = migrate.Rewrite(ctx, orders)
	require.NoError(t, err)
	require.Empty(t, check(t, orders))

	// Step 6.
	kept := entity.Must(entity.New[keptOrder](db))
	require.NoError(t, tables.Create(ctx, db))
	copier, err := migrate.Copy("kept", orders, kept, func(o ledgerOrder) (keptOrder, error) {
		return keptOrder{Customer: o.Customer, Number: o.Number, Status: o.Status, Total: o.Total, Version: o.Version}, nil
	})
	require.NoError(t, err)
	copied, err := copier.Run(ctx)
	require.NoError(t, err)
	require.Equal(t, 28, copied.Rewritten)
	_, err = copier.CutOver(ctx)
	require.NoError(t, err)
	moved, err := kept.Query(keptOrder{Customer: "dan"}).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, moved, 7)
}

// Address, Named and point are types of attributes.
type Address struct {
	Street string `dynamo:"street" dynamodbav:"street,omitempty"`
}

type Named struct {
	Name string `dynamo:"name" dynamodbav:"name,omitempty"`
}

type point struct{ X, Y int }

func (p point) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d/%d", p.X, p.Y), nil }

func (p *point) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%d/%d", &p.X, &p.Y)
	return err
}

// tagged has the tags of both libraries, as the table of from-guregu.md pairs them.
type tagged struct {
	_ entity.Key `name:"Tagged" pk:"id"`

	ID string `dynamo:"id,hash" dynamodbav:"id"`
	Named
	Text      string            `dynamo:"text" dynamodbav:"text,omitempty"`
	TextEmpty string            `dynamo:"textEmpty,allowempty" dynamodbav:"textEmpty"`
	TextNull  string            `dynamo:"textNull,null" dynamodbav:"textNull,nullempty"`
	Pointer   *string           `dynamo:"pointer" dynamodbav:"pointer,omitempty"`
	PointNull *int              `dynamo:"pointerNull,null" dynamodbav:"pointerNull"`
	Number    int               `dynamo:"number" dynamodbav:"number"`
	NumberOr  int               `dynamo:"numberOr,omitempty" dynamodbav:"numberOr,omitempty"`
	Fraction  float64           // has no tag
	Bytes     []byte            `dynamo:"bytes" dynamodbav:"bytes,omitempty"`
	List      []string          `dynamo:"list" dynamodbav:"list" entity:"notnull"`
	ListOr    []string          `dynamo:"listOr,omitempty,omitemptyelem" dynamodbav:"listOr,omitempty,omitemptyelem"`
	Map       map[string]string `dynamo:"map" dynamodbav:"map,omitempty"`
	MapEmpty  map[string]string `dynamo:"mapEmpty,allowempty" dynamodbav:"mapEmpty" entity:"notnull"`
	Home      Address           `dynamo:"home" dynamodbav:"home,omitempty"`
	Strings   []string          `dynamo:"strings,set" dynamodbav:"strings,stringset,omitempty"`
	Numbers   []int             `dynamo:"numbers,set" dynamodbav:"numbers,numberset,omitempty"`
	Addr      netip.Addr        `dynamo:"addr" dynamodbav:"addr,omitempty"`
	Point     point             `dynamo:"point" dynamodbav:"point" entity:"text"`
	Unix      time.Time         `dynamo:"unix,unixtime" dynamodbav:"unix,unixtime,omitempty"`
	Hidden    string            `dynamo:"-" dynamodbav:"-"`
}

func TestFromGuregu_TagsOfTheTableStoreTheSame(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	store := entity.Must(entity.New[tagged](db))
	require.NoError(t, tables.Create(t.Context(), db))
	theirs := dynamo.NewFromIface(client).Table(table)
	full := tagged{
		ID: "full", Named: Named{"n"}, Text: "t", TextEmpty: "t", TextNull: "t", Pointer: ptr("p"), PointNull: ptr(2), Number: 1, NumberOr: 1, Fraction: 0.1,
		Bytes: []byte("b"), List: []string{"a", ""}, ListOr: []string{"", "b"}, Map: map[string]string{"k": "v"}, MapEmpty: map[string]string{"k": "v"},
		Home: Address{"h"}, Strings: []string{"b", "a"}, Numbers: []int{3, 1}, Addr: netip.MustParseAddr("10.0.0.1"), Point: point{1, 2}, Unix: noon, Hidden: "h",
	}
	for _, v := range []tagged{{ID: "empty"}, full} {
		require.NoError(t, theirs.Put(v).Run(t.Context()))
		their := dump(t, client, table, "id")
		_, err := store.Put(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, their, dump(t, client, table, "id"), "the attributes that the struct does not have are kept")
		require.NoError(t, store.Delete(t.Context(), v))
		_, err = store.Create(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, their, dump(t, client, table, "id"))
		require.NoError(t, store.Delete(t.Context(), v))
	}
}

func TestFromGuregu_TimesAsTextAreReadByBoth(t *testing.T) {
	t.Parallel()
	type visit struct {
		_ entity.Key `name:"Visit" pk:"id"`

		ID string    `dynamo:"id,hash" dynamodbav:"id"`
		At time.Time `dynamo:"at" dynamodbav:"at"`
	}
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table}))
	store := entity.Must(entity.New[visit](db))
	require.NoError(t, tables.Create(t.Context(), db))
	theirs := dynamo.NewFromIface(client).Table(table)
	at := time.Date(2026, 4, 22, 14, 0, 0, 500_000_000, time.FixedZone("", 2*60*60))

	require.NoError(t, theirs.Put(visit{ID: "theirs", At: at}).Run(t.Context()))
	read, err := store.Get(t.Context(), visit{ID: "theirs"})
	require.NoError(t, err)
	require.True(t, at.Equal(read.At))
	_, err = store.Create(t.Context(), visit{ID: "ours", At: at})
	require.NoError(t, err)
	require.NoError(t, theirs.Get("id", "ours").One(t.Context(), &read))
	require.True(t, at.Equal(read.At))
	stored := dump(t, client, table, "id")
	require.Contains(t, stored, "2026-04-22T14:00:00.5+02:00")
	require.Contains(t, stored, "2026-04-22T12:00:00.500000000Z")
}
