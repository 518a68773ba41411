package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

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
	_, err := blue.Create(t.Context(), v("both", 2))
	require.NoError(t, err, "the same key is free in the other store")
	for name, c := range map[string]struct {
		store *entity.Store[Task]
		own   []string
		other string
		both  int
	}{"red": {red, []string{"both", "r1", "r2"}, "b1", 1}, "blue": {blue, []string{"b1", "both"}, "r1", 2}} {
		t.Run(name, func(t *testing.T) {
			s := c.store
			_, err := s.Get(t.Context(), v(c.other, 0))
			require.ErrorIs(t, err, entity.ErrNotFound)
			many, err := s.GetMany(t.Context(), []Task{v(c.other, 0), v("both", 0)}, entity.Consistent())
			require.NoError(t, err)
			require.Nil(t, many[0])
			require.Equal(t, c.both, many[1].Points)
			load := v(c.other, 0)
			require.ErrorIs(t, l.DB.TransactGet(t.Context(), s.Op().GetInto(&load)), entity.ErrNotFound)
			require.ErrorIs(t, s.Delete(t.Context(), v(c.other, 0)), entity.ErrNotFound)
			require.NoError(t, l.DB.Transact(t.Context(), s.Op().CheckNotExists(v(c.other, 0))))
			byOwner := entity.Must(s.Index("byOwner"))
			for from, q := range map[string]entity.Query[Task]{
				"partition": s.Query(Task{Project: "p"}), "lead": s.Query(Task{Project: "p", Status: "s"}), "index": byOwner.Query(Task{Owner: "o"}),
				"scan": s.Scan(), "segments": s.Scan(entity.Segments(2)), "index scan": byOwner.Scan(),
			} {
				got, err := q.Collect(t.Context())
				require.NoError(t, err, from)
				require.ElementsMatch(t, c.own, ids(got), from)
				n, err := q.Count(t.Context())
				require.NoError(t, err, from)
				require.Len(t, c.own, n, from)
			}
		})
	}
	_, err = entity.New[Team](l.DB, entity.Named("red"))
	require.Equal(t, "EDD-9031", dbtest.SchemaCode(err), "names are compared without regard to case")
}

// Box is generic: each instance is an entity of its own, under a name of its own.
type Box[T any] struct {
	_    entity.Key `name:"Box" pk:"$#{shelf}" sk:"$#{id}"`
	_    entity.GSI `name:"byLabel" index:"gsi1" pk:"$#{label}" sk:"$#{id}"`
	Home string     `dynamodbav:"shelf"`
	ID   string     `dynamodbav:"id"`
	Mark string     `dynamodbav:"label,omitempty"`
	In   T          `dynamodbav:"in"`
}

func TestGeneric_InstancesAreEntitiesOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	texts := dbtest.Declare[Box[string]](t, l.DB, entity.Named("TextBox"))
	lines := dbtest.Declare[Box[[]Line]](t, l.DB, entity.Named("LineBox"))
	_, err := entity.New[Box[int]](l.DB, entity.Named("TextBox"))
	require.Equal(t, "EDD-9031", dbtest.SchemaCode(err), "the name is taken by another instance")
	l.CreateTables()
	l.OK(texts.Create(t.Context(), Box[string]{Home: "s", ID: "1", Mark: "m", In: "text"}))
	l.OK(lines.Create(t.Context(), Box[[]Line]{Home: "s", ID: "1", Mark: "m", In: []Line{{SKU: "a", Qty: 1}}}))
	f := entity.Fields[Box[[]Line]]()
	got, err := lines.Update(t.Context(), Box[[]Line]{Home: "s", ID: "1"}, entity.ListAppend(&f.In, Line{SKU: "b", Qty: 2}))
	require.NoError(t, err)
	require.Equal(t, []Line{{SKU: "a", Qty: 1}, {SKU: "b", Qty: 2}}, got.In)
	_, err = texts.Update(t.Context(), Box[string]{Home: "s", ID: "1"}, entity.Set(&f.Mark, "x"))
	dbtest.RequireInput(t, err, "EDD-9105", "")
	one := entity.Must(texts.Query(Box[string]{Home: "s"}).One(t.Context()))
	require.Equal(t, "text", one.In)
	byLabel := entity.Must(entity.Must(lines.Index("byLabel")).Query(Box[[]Line]{Mark: "m"}).One(t.Context()))
	require.Equal(t, got, byLabel)
	all := entity.Must(texts.Scan().Collect(t.Context()))
	require.Len(t, all, 1)
}

// Entities in three tables, by logical names, in one database handle.
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
	InYard struct {
		_  entity.Key `name:"InYard" pk:"id" sk:"n" table:"yard"`
		ID string     `dynamodbav:"id"`
		N  int        `dynamodbav:"n"`
	}
)

func TestTables_ATransactionSpansTablesByTheirLogicalNames(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) {
		c.Tables = map[string]string{"store": c.Table + "-store", "yard": c.Table + "-yard"}
	})
	house, store, yard := dbtest.Declare[InHouse](t, l.DB), dbtest.Declare[InStore](t, l.DB), dbtest.Declare[InYard](t, l.DB)
	l.CreateTables()
	require.NoError(t, l.DB.Transact(t.Context(), house.Op().Create(InHouse{ID: "a", N: 1}), store.Op().Create(InStore{ID: "a", N: 2}), yard.Op().Create(InYard{ID: "a", N: 3})))
	require.Equal(t, []string{"TransactWriteItems"}, l.Operations())

	h, s, y := InHouse{ID: "a"}, InStore{ID: "a"}, InYard{ID: "a", N: 3}
	require.NoError(t, l.DB.TransactGet(t.Context(), house.Op().GetInto(&h), store.Op().GetInto(&s), yard.Op().GetInto(&y)))
	require.Equal(t, []int{1, 2, 3}, []int{h.N, s.N, y.N})

	// The same key text in two tables is two items, and a failure names its own.
	bad := store.Op().Create(InStore{ID: "a"})
	err := l.DB.Transact(t.Context(), house.Op().Delete(InHouse{ID: "a"}), bad, yard.Op().CheckExists(InYard{ID: "a", N: 3}))
	require.ErrorIs(t, entity.FailureOf(err, bad), entity.ErrExists)
	for name, n := range map[string]func() (int, error){
		"house": func() (int, error) { return house.Scan().Count(t.Context()) }, "store": func() (int, error) { return store.Scan().Count(t.Context()) },
		"yard": func() (int, error) { return yard.Scan().Count(t.Context()) },
	} {
		count, err := n()
		require.NoError(t, err)
		require.Equal(t, 1, count, name)
	}
	require.Equal(t, []string{"pk HASH"}, dbtest.KeyText(l.Described(l.Table).KeySchema))
	require.Equal(t, []string{"pk HASH", "sk RANGE"}, dbtest.KeyText(l.Described(l.Table+"-store").KeySchema))
	require.Equal(t, []string{"id HASH", "n RANGE"}, dbtest.KeyText(l.Described(l.Table+"-yard").KeySchema))
}

// Crew takes its key, its roles and an index part from embedded structs, one of them by pointer.
type Stamp struct {
	Tenant string `dynamodbav:"tenant" entity:"immutable"`
	First  string `dynamodbav:"first,omitempty" entity:"set_once"`
	Audit
}

type Crew struct {
	_ entity.Key `name:"Crew" pk:"$#{tenant}" sk:"$#{id}"`
	_ entity.GSI `name:"recent" index:"gsi1" pk:"$#{tenant}" sk:"$#{updatedAt}"`
	Stamp
	ID   string `dynamodbav:"id"`
	Name string `dynamodbav:"name" entity:"required"`
}

func TestEmbedded_RolesHoldOnEveryRoute(t *testing.T) {
	t.Parallel()
	l, s := open[Crew](t)
	f := entity.Fields[Crew]()
	v := Crew{ID: "a", Name: "n", Stamp: Stamp{Tenant: "t", First: "f"}}
	made, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.EqualValues(t, 1, made.Version)
	require.Equal(t, dawn, made.UpdatedAt)
	now := l.Clock.Move(1e9)
	got, err := s.Update(t.Context(), v, entity.Set(&f.First, "g"), entity.Set(&f.Name, "m"))
	require.NoError(t, err)
	require.Equal(t, Crew{ID: "a", Name: "m", Stamp: Stamp{Tenant: "t", First: "f", Audit: Audit{Version: 2, UpdatedAt: now}}}, got)
	_, err = s.Update(t.Context(), v, entity.Set(&f.Audit.Version, 9))
	require.Error(t, err)
	dbtest.RequireInput(t, err, "EDD-9104", "Stamp.Audit.Version")
	_, err = s.Put(t.Context(), Crew{ID: "a", Stamp: Stamp{Tenant: "t"}})
	dbtest.RequireInput(t, err, "EDD-9103", "Name")
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Put(v), s.Op().Create(Crew{ID: "b", Name: "n", Stamp: Stamp{Tenant: "t"}})))
	recent := entity.Must(entity.Must(s.Index("recent")).Query(Crew{Stamp: Stamp{Tenant: "t"}}, entity.Desc(), entity.Filter(entity.Ge(&f.Version, 1))).Collect(t.Context()))
	require.Len(t, recent, 2)
	one := entity.Must(entity.Must(s.Index("recent")).Query(Crew{Stamp: Stamp{Tenant: "t"}}, entity.Ge(&f.UpdatedAt, now), entity.Filter(entity.Eq(&f.Version, 3))).One(t.Context()))
	require.Equal(t, "a", one.ID)
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
	for name, q := range map[string]entity.Query[Team]{
		"query": teams.Query(Team{ID: "a"}), "scan": teams.Scan(), "segments": teams.Scan(entity.Segments(2)),
		"scan with Or": teams.Scan(entity.Filter(entity.Or(entity.Eq(&entity.Fields[Team]().Size, 1), entity.Eq(&entity.Fields[Team]().Size, 2)))),
	} {
		got, err := q.One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 1, got.Size, name)
		n, err := q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 1, n, name)
	}
	byDay := entity.Must(invoices.Index("byDay"))
	for name, q := range map[string]entity.Query[Invoice]{
		"shared partition": invoices.Query(Invoice{Customer: "c"}), "shared index partition": byDay.Query(Invoice{Day: "mon"}),
		"scan": invoices.Scan(), "index scan": byDay.Scan(),
	} {
		got, err := q.One(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 1, got.Amount, name)
	}
}

// Versioned payloads are stamped on whole items only.
type Payload struct {
	_ entity.Key `name:"Payload" pk:"$#{id}" sk:"$" payload:"3"`

	ID   string `dynamodbav:"id"`
	Note string `dynamodbav:"note,omitempty"`
}

func TestPayload_IsStampedByWholeWritesAndLeftAloneByUpdate(t *testing.T) {
	t.Parallel()
	l, s := open[Payload](t)
	key := keys("pk", "$app#v1#payload#a", "sk", "$app#v1#payload")
	l.OK(s.Create(t.Context(), Payload{ID: "a"}))
	require.Equal(t, "N3", l.stored(key)["_pv"])

	l.patch(key, "_pv", num("2")) // as written by an older program
	l.OK(s.Update(t.Context(), Payload{ID: "a"}, entity.Set(&entity.Fields[Payload]().Note, "x")))
	require.Equal(t, "N2", l.stored(key)["_pv"])
	l.OK(s.Upsert(t.Context(), Payload{ID: "a"}))
	require.Equal(t, "N3", l.stored(key)["_pv"])
}

func TestConfig_NamesOfNamespaceAndKeyAttributes(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t, func(c *entity.Config) {
		c.Namespace, c.PK, c.SK = entity.Namespace{Name: "Shop", Version: 3}, "hash", "range"
	})
	l.OK(s.Create(t.Context(), alice()))
	_, err := s.Create(t.Context(), alice())
	require.ErrorIs(t, err, entity.ErrExists, "the guard names the configured attribute")
	it := l.stored(keys("hash", "$Shop#v3#employee#emp-alice", "range", "$Shop#v3#employee"))
	require.Equal(t, `S"$Shop#v3#employee#t-acme"`, it["gsi1hash"])
	require.Equal(t, `S"$Shop#v3#employee#Engineering#emp-alice"`, it["gsi1range"])
	require.NotContains(t, it, "pk")
}
