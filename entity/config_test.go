package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestConfig_OldKeysAndUnitsAreChecked(t *testing.T) {
	t.Parallel()
	long := []byte("0123456789abcdef")
	for name, c := range map[string]struct {
		config entity.Config
		field  string
	}{
		"old keys alone":      {entity.Config{OldCursorKeys: [][]byte{long}}, "OldCursorKeys"},
		"short old key":       {entity.Config{CursorKey: long, OldCursorKeys: [][]byte{long, long[:15]}}, "OldCursorKeys[1]"},
		"empty key":           {entity.Config{CursorKey: []byte{}}, "CursorKey"},
		"empty old key":       {entity.Config{CursorKey: long, OldCursorKeys: [][]byte{{}}}, "OldCursorKeys[0]"},
		"nil old key":         {entity.Config{CursorKey: long, OldCursorKeys: [][]byte{long, nil}}, "OldCursorKeys[1]"},
		"empty table":         {entity.Config{Tables: map[string]string{"a": "b", "logs": ""}}, `Tables["logs"]`},
		"empty logical table": {entity.Config{Tables: map[string]string{"": "b"}}, `Tables[""]`},
		"no units":            {entity.Config{TableOptions: map[string]entity.TableOptions{"t": {Provisioned: &entity.Throughput{Read: 1}}}}, `TableOptions["t"]`},
	} {
		c.config.Table = "app"
		_, err := entity.Open(nil, c.config)
		bad := dbtest.As[*entity.SchemaError](t, err, name)
		require.Equal(t, []string{"EDD-9050", c.field}, []string{bad.Code, bad.Field}, name)
	}
}

// A name that is given, but empty, is a mistake, also if the store exists.
func TestNamed_WithoutAName(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	for range 2 {
		_, err := entity.New[Plain](db, entity.Named(""))
		dbtest.RequireInput(t, err, "EDD-9108", "")
		require.ErrorContains(t, err, "Named is empty")
		entity.Must(entity.New[Plain](db))
	}
}

func TestOpen_ANilClientIsNone(t *testing.T) {
	t.Parallel()
	s := entity.Must(entity.New[Plain](entity.Must(entity.Open((*dynamodb.Client)(nil), entity.Config{Table: "app"}))))
	require.ErrorIs(t, dbtest.ErrorOf(s.Get(t.Context(), Plain{ID: "a"})), entity.ErrNoClient)
}

// Lease shares its table, and its index, with entities that have an entity marker.
type Lease struct {
	_ entity.Key `name:"Lease" pk:"pk={id}" sk:"sk=lease"`
	_ entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`

	ID   string `dynamodbav:"id"`
	Flat string `dynamodbav:"flat,omitempty"`
}

// Room has a `$` key, and an index whose partition key has no prefix.
type Room struct {
	_ entity.Key `name:"Room" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`
	_ entity.LSI `name:"byFloor" index:"floors" sk:"floor"`

	ID    string `dynamodbav:"id"`
	Flat  string `dynamodbav:"flat,omitempty"`
	Floor int    `dynamodbav:"floor"`
}

func TestPlan_ReadsOfSharedTablesExcludeOtherEntities(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	leases := entity.Must(entity.New[Lease](db))
	const marker = "__edd_e__"
	byFlat := entity.Must(leases.Index("byFlat"))
	for _, q := range []entity.Query[Lease]{leases.Scan(), leases.Query(Lease{ID: "l"}), byFlat.Query(Lease{Flat: "f"}), byFlat.Scan()} {
		require.NotContains(t, q.String(), marker, "nothing else is in the table")
	}
	rooms := entity.Must(entity.New[Room](db))
	for _, q := range []entity.Query[Lease]{leases.Scan(), leases.Query(Lease{ID: "l"}), byFlat.Query(Lease{Flat: "f"}), byFlat.Scan()} {
		require.Contains(t, q.String(), marker)
	}
	inFlat, onFloor := entity.Must(rooms.Index("byFlat")), entity.Must(rooms.Index("byFloor"))
	for _, q := range []entity.Query[Room]{rooms.Scan(), inFlat.Query(Room{Flat: "f"}), inFlat.Scan(), onFloor.Scan(), onFloor.Query(Room{ID: "r"})} {
		require.Contains(t, q.String(), marker)
		require.Contains(t, q.String(), "begins_with", "of this namespace only")
	}
}

// Two named stores of one struct in one table: no read of the one, by key, partition, index or scan, sees the other's.
func TestNamed_NoReadOfAStoreSeesItemsOfAnother(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	red, blue := dbtest.Declare[Task](t, l.DB, entity.Named("Red")), dbtest.Declare[Task](t, l.DB, entity.Named("Blue"))
	l.CreateTables()
	v := func(id string, points int) Task {
		return Task{Project: "p", Status: "s", Priority: 1, TaskID: id, Owner: "o", Due: dawn.Truncate(1e9), Points: points}
	}
	for id, store := range map[string]*entity.Store[Task]{"r1": red, "r2": red, "b1": blue} {
		l.OK(store.Create(t.Context(), v(id, 1)))
	}
	l.OK(red.Create(t.Context(), v("both", 1)))
	require.NoError(t, dbtest.ErrorOf(blue.Create(t.Context(), v("both", 2))), "the same key is free in the other store")
	require.ErrorIs(t, dbtest.ErrorOf(red.Get(t.Context(), v("b1", 0))), entity.ErrNotFound)
	many := entity.Must(red.GetMany(t.Context(), []Task{v("b1", 0), v("both", 0)}, entity.Consistent()))
	require.Nil(t, many[0])
	require.Equal(t, 1, many[1].Points)
	require.ErrorIs(t, red.Delete(t.Context(), v("b1", 0)), entity.ErrNotFound)
	byOwner := entity.Must(red.Index("byOwner"))
	for from, q := range map[string]entity.Query[Task]{
		"partition": red.Query(Task{Project: "p"}), "lead": red.Query(Task{Project: "p", Status: "s"}), "index": byOwner.Query(Task{Owner: "o"}),
		"scan": red.Scan(), "segments": red.Scan(entity.Segments(2)), "index scan": byOwner.Scan(),
	} {
		got, err := q.Collect(t.Context())
		require.NoError(t, err, from)
		require.ElementsMatch(t, []string{"both", "r1", "r2"}, ids(got), from)
	}
	_, err := entity.New[Team](l.DB, entity.Named("red"))
	require.Equal(t, "EDD-9031", dbtest.SchemaCode(err), "names are compared without regard to case")
}

// Entities in two tables, by logical names, in one database handle.
type (
	InHouse struct {
		_  entity.Key `name:"InHouse" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n"`
	}
	InStore struct {
		_  entity.Key `name:"InStore" pk:"$#{id}" sk:"$" table:"store"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n"`
	}
)

func TestTables_ATransactionSpansTablesByTheirLogicalNames(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"store": c.Table + "-store"} })
	house, store := dbtest.Declare[InHouse](t, l.DB), dbtest.Declare[InStore](t, l.DB)
	l.CreateTables()
	require.NoError(t, l.DB.Transact(t.Context(), house.Op().Create(InHouse{ID: "a", N: 1}), store.Op().Create(InStore{ID: "a", N: 2})))
	require.Equal(t, []string{"TransactWriteItems"}, l.Operations())
	h, s := InHouse{ID: "a"}, InStore{ID: "a"}
	require.NoError(t, l.DB.TransactGet(t.Context(), house.Op().GetInto(&h), store.Op().GetInto(&s)))
	require.Equal(t, []int{1, 2}, []int{h.N, s.N})

	// The same key text in two tables is two items, and a failure names its own.
	bad := store.Op().Create(InStore{ID: "a"})
	require.ErrorIs(t, entity.FailureOf(l.DB.Transact(t.Context(), house.Op().Delete(InHouse{ID: "a"}), bad), bad), entity.ErrExists)
	require.Equal(t, 1, entity.Must(house.Scan().Count(t.Context())))
	require.Equal(t, 1, entity.Must(store.Scan().Count(t.Context())))
}

// Two namespaces in one table, as two versions of a program have them: no read of one sees what the other stored under
// the same entity name, in the table or in indexes whose partition both share.
func TestNamespaces_ShareATableAndNeverMeet(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	teams, invoices := dbtest.Declare[Team](t, l.DB), dbtest.Declare[Invoice](t, l.DB)
	l.CreateTables()
	l.Config.Namespace = entity.Namespace{Name: "app", Version: 2}
	aside := l.Open(l.Raw)
	for i, db := range []*entity.DB{l.DB, aside} {
		require.NoError(t, db.Transact(t.Context(),
			dbtest.Declare[Team](t, db).Op().Create(Team{ID: "a", Size: i + 1}),
			dbtest.Declare[Invoice](t, db).Op().Create(Invoice{Customer: "c", ID: "1", Day: "mon", Amount: i + 1})))
	}
	require.Len(t, l.everything(), 4)
	for name, q := range map[string]entity.Query[Team]{"query": teams.Query(Team{ID: "a"}), "scan": teams.Scan()} {
		require.Equal(t, 1, entity.Must(q.One(t.Context())).Size, name)
	}
	byDay := entity.Must(invoices.Index("byDay"))
	for name, q := range map[string]entity.Query[Invoice]{
		"shared partition": invoices.Query(Invoice{Customer: "c"}), "shared index partition": byDay.Query(Invoice{Day: "mon"}),
		"scan": invoices.Scan(), "index scan": byDay.Scan(),
	} {
		require.Equal(t, 1, entity.Must(q.One(t.Context())).Amount, name)
	}
}

// Versioned payloads are stamped on whole items only.
type Payload struct {
	_ entity.Key `name:"Payload" pk:"$#{id}" sk:"$" payload:"3"`

	ID   string `dynamodbav:"id"`
	Note string `dynamodbav:"note,omitempty"`
}

func TestConfig_NamesOfNamespaceAndKeyAttributes(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t, func(c *entity.Config) {
		c.Namespace, c.PK, c.SK = entity.Namespace{Name: "Shop", Version: 3}, "hash", "range"
	})
	l.OK(s.Create(t.Context(), alice()))
	require.ErrorIs(t, dbtest.ErrorOf(s.Create(t.Context(), alice())), entity.ErrExists, "the guard names the configured attribute")
	it := l.stored(keys("hash", "$Shop#v3#employee#emp-alice", "range", "$Shop#v3#employee"))
	require.Equal(t, `S"$Shop#v3#employee#t-acme"`, it["gsi1hash"])
	require.Equal(t, `S"$Shop#v3#employee#Engineering#emp-alice"`, it["gsi1range"])
	require.NotContains(t, it, "pk")
}
