package entity_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
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
	_    entity.Key `name:"Lease" pk:"pk={id}" sk:"sk=lease"`
	_    entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`
	ID   string     `dynamodbav:"id"`
	Flat string     `dynamodbav:"flat,omitempty"`
}

// Room has a `$` key, and an index whose partition key has no prefix.
type Room struct {
	_     entity.Key `name:"Room" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byFlat" index:"flats" pk:"flat" sk:"id"`
	_     entity.LSI `name:"byFloor" index:"floors" sk:"floor"`
	ID    string     `dynamodbav:"id"`
	Flat  string     `dynamodbav:"flat,omitempty"`
	Floor int        `dynamodbav:"floor"`
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

func TestTables_ATransactionSpansTablesByTheirLogicalNames(t *testing.T) {
	y, d, b := newYard(t), Dial{ID: "a"}, Bare{ID: "a"}
	require.NoError(t, y.DB.Transact(t.Context(), y.dial.Op().Create(Dial{ID: "a", Value: 1}), y.bare.Op().Create(Bare{ID: "a", Name: "n"})))
	require.Equal(t, []string{"TransactWriteItems"}, y.Operations())
	require.NoError(t, y.DB.TransactGet(t.Context(), y.dial.Op().GetInto(&d), y.bare.Op().GetInto(&b)))
	require.Equal(t, []any{1, "n"}, []any{d.Value, b.Name})

	// A failure names its own, and nothing is written to the other table.
	bad := y.bare.Op().Create(Bare{ID: "a"})
	require.ErrorIs(t, entity.FailureOf(y.DB.Transact(t.Context(), y.dial.Op().Delete(Dial{ID: "a"}), bad), bad), entity.ErrExists)
	require.Equal(t, 1, entity.Must(y.dial.Scan().Count(t.Context())))
	require.Equal(t, 1, entity.Must(y.bare.Scan().Count(t.Context())))
}

// Two namespaces in one table, as two versions of a program have them: no read of one sees what the other stored under
// the same entity name, in the table or in indexes whose partition both share.
func TestNamespaces_ShareATableAndNeverMeet(t *testing.T) {
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

func TestConfig_NamesOfNamespaceAndKeyAttributes(t *testing.T) {
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

// Folder is an entity whose keys are in lower case.
type Folder struct {
	_     entity.Key `name:"Folder" pk:"$#id_{id}" sk:"$#path_{path}#n_{n}"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"$#owner_{owner}" sk:"$#kind_{kind}#rank_{rank}"`
	ID    string     `dynamodbav:"id"`
	Path  string     `dynamodbav:"path"`
	N     int        `dynamodbav:"n"`
	Owner string     `dynamodbav:"owner,omitempty"`
	Kind  string     `dynamodbav:"kind,omitempty"`
	Rank  int        `dynamodbav:"rank,omitempty"`
	Title string     `dynamodbav:"title,omitempty"`
	Seen  time.Time  `dynamodbav:"seen,omitempty"`
}

func shared(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }

// caseVerb is a verb of one item, and the class that its error has in addition to ErrKeyCase.
type caseVerb struct {
	run  func() error
	also error
}

// caseVerbs are the verbs of the item v.
func caseVerbs(l *lab, s *entity.Store[Folder], v Folder) map[string]caseVerb {
	f, ctx, other, ranked := entity.Fields[Folder](), l.Ctx, Folder{ID: "other", Path: "p", N: 1}, v
	ranked.Rank = 3
	change := func(v *Folder) error { v.Title = "x"; return nil }
	token := entity.Token{ID: l.Config.NewID(), At: dawn}
	return map[string]caseVerb{
		"Create":            {func() error { return dbtest.ErrorOf(s.Create(ctx, v)) }, entity.ErrExists},
		"Put":               {func() error { return dbtest.ErrorOf(s.Put(ctx, v)) }, nil},
		"Put exactly":       {func() error { return dbtest.ErrorOf(s.Put(ctx, v, entity.Idempotent())) }, nil},
		"Upsert":            {func() error { return dbtest.ErrorOf(s.Upsert(ctx, v)) }, nil},
		"Upsert that reads": {func() error { return dbtest.ErrorOf(s.Upsert(ctx, ranked)) }, nil},
		"Update":            {func() error { return dbtest.ErrorOf(s.Update(ctx, v, entity.Set(&f.Title, "x"))) }, nil},
		"Update that reads": {func() error { return dbtest.ErrorOf(s.Update(ctx, v, entity.Set(&f.Kind, "x"))) }, nil},
		"Modify":            {func() error { return dbtest.ErrorOf(s.Modify(ctx, v, change)) }, nil},
		"Modify of nothing": {func() error { return dbtest.ErrorOf(s.Modify(ctx, v, func(*Folder) error { return nil })) }, nil},
		"Touch":             {func() error { return dbtest.ErrorOf(s.Touch(ctx, v, &f.Seen, time.Hour)) }, nil},
		"Delete":            {func() error { return s.Delete(ctx, v) }, nil},
		"Purge":             {func() error { return s.Purge(ctx, v) }, nil},
		"CheckExists":       {func() error { return l.DB.Transact(ctx, s.Op().CheckExists(v)) }, nil},
		"CheckNotExists":    {func() error { return l.DB.Transact(ctx, s.Op().CheckNotExists(v)) }, entity.ErrExists},
		"Transact": {func() error {
			return l.DB.Transact(ctx, s.Op().Put(other), s.Op().Update(v, entity.Set(&f.Title, "x")))
		}, nil},
		"TransactWithToken": {func() error { return l.DB.TransactWithToken(ctx, token, s.Op().Delete(v)) }, nil},
		"Get":               {func() error { return dbtest.ErrorOf(s.Get(ctx, v)) }, nil},
		"GetMany":           {func() error { return dbtest.ErrorOf(s.GetMany(ctx, []Folder{other, v})) }, nil},
		"TransactGet":       {func() error { into := v; return l.DB.TransactGet(ctx, s.Op().GetInto(&into)) }, nil},
	}
}

func TestKeyCase_NoVerbActsOnAnItemWhoseKeyDiffersInCase(t *testing.T) {
	l, s := open[Folder](t, shared)
	l.OK(s.Create(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 1, Owner: "O", Kind: "k", Rank: 2, Title: "first"}))
	before := l.everything()
	for attr, v := range map[string]Folder{
		"id": {ID: "c-1", Path: "A/b", N: 1, Title: "second"}, "path": {ID: "C-1", Path: "a/B", N: 1, Title: "second"},
	} {
		for name, verb := range caseVerbs(l, s, v) {
			err := verb.run()
			require.ErrorIs(t, err, entity.ErrKeyCase, name)
			differs := dbtest.As[*entity.KeyCaseError](t, err, name)
			require.Equal(t, attr, differs.Attr, name)
			require.NotContains(t, differs.Error(), v.ID, "values stay out of messages")
			if verb.also != nil {
				require.ErrorIs(t, err, verb.also, name)
			}
			require.False(t, entity.IsAmbiguous(err), name)
			require.Equal(t, before, l.everything(), name)
		}
	}
}

func TestKeyCase_MissingItemsAreNotFoundAndNewOnesKeepTheirCase(t *testing.T) {
	l, s := open[Folder](t, shared)
	f := entity.Fields[Folder]()
	_, err := s.Update(t.Context(), Folder{ID: "No", Path: "P", N: 1}, entity.Set(&f.Title, "x"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrKeyCase)
	_, created, err := s.Upsert(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 7, Owner: "Own", Kind: "K", Rank: 3})
	require.NoError(t, err)
	require.True(t, created)
	it := l.stored(keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_a/b#n_0000000000000007"))
	require.Equal(t, `S"C-1"`, it["id"])
	require.Equal(t, `S"$app#v1#folder#owner_own"`, it["gsi1pk"])
	byOwner := entity.Must(s.Index("byOwner"))
	for _, owner := range []string{"Own", "oWN"} {
		got := entity.Must(byOwner.Query(Folder{Owner: owner}, entity.BeginsWith(&f.Kind, "k")).Collect(t.Context()))
		require.Len(t, got, 1)
		require.Equal(t, "Own", got[0].Owner)
	}
	dbtest.RequireInput(t, dbtest.ErrorOf(byOwner.Query(Folder{Owner: "own"}, entity.Lt(&f.Kind, "z")).Collect(t.Context())), "EDD-9108", "Kind")
}

// An item that lacks a key part, as an upsert of effect-dynamodb leaves it, does not lock anybody out.
func TestKeyCase_AnItemWithoutItsKeyPartsCanBeCompleted(t *testing.T) {
	l, s := open[Folder](t, shared)
	v := Folder{ID: "C-1", Path: "p", N: 1, Title: "x"}
	l.OK(s.Create(t.Context(), v))
	for _, it := range l.everything() {
		require.Equal(t, `S"C-1"`, it["id"])
	}
	l.OK(s.Put(t.Context(), v))
	key := keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_p#n_0000000000000001")
	bare := l.Item(l.KeyOf(key))
	delete(bare, "id")
	l.PutItem(bare)
	got, _, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, v, got)
	require.Equal(t, `S"C-1"`, l.stored(key)["id"])
}

// Staff is an entity of a table that is shared with effect-dynamodb.
type Staff struct {
	_         entity.Key `name:"Staff" pk:"$#tenant_{tenant}" sk:"$#id_{id}"`
	_         entity.GSI `name:"byTeam" index:"gsi1" pk:"$#team_{team}" sk:"$#grade_{grade}#id_{id}"`
	_         entity.GSI `name:"byCity" index:"gsi2" pk:"$#city_{city}" sk:"$"`
	Tenant    string     `dynamodbav:"tenant"`
	ID        string     `dynamodbav:"id"`
	Team      string     `dynamodbav:"team,omitempty"`
	Grade     int        `dynamodbav:"grade,omitempty" entity:"zero"`
	City      string     `dynamodbav:"city"`
	Name      string     `dynamodbav:"name,omitempty"`
	Seen      time.Time  `dynamodbav:"seen,omitempty"`
	Version   int64      `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time  `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time  `dynamodbav:"updatedAt" entity:"updated_at"`
}

func staffKey(id string) map[string]types.AttributeValue {
	return keys("pk", "$app#v1#staff#tenant_t", "sk", "$app#v1#staff#id_"+id)
}

// sibling gives an item as effect-dynamodb stores it: sk replaces its sort key.
func (l *lab) sibling(t *testing.T, id, sk string, change func(map[string]types.AttributeValue)) {
	t.Helper()
	it := map[string]types.AttributeValue{
		"pk": dbtest.S("$app#v1#staff#tenant_t"), "sk": dbtest.S("$app#v1#staff" + sk), "__edd_e__": dbtest.S("Staff"),
		"tenant": dbtest.S("T"), "id": dbtest.S(id), "city": dbtest.S(""), "version": dbtest.N("1"),
		"createdAt": dbtest.S("2024-01-01T00:00:00.000Z"), "updatedAt": dbtest.S("2024-01-01T00:00:00.000Z"),
	}
	if change != nil {
		change(it)
	}
	l.PutItem(it)
}

func TestInterop_ValuesThatNeedEscapingAreRefused(t *testing.T) {
	l, s := open[Staff](t, shared)
	f, byTeam := entity.Fields[Staff](), entity.Must(s.Index("byTeam"))
	for _, bad := range []string{"a b", "a#b", "50%", "$", "!", `"`, "a\n", "Ü", "日本", "a\x7fé"} {
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Create(t.Context(), Staff{Tenant: "T", ID: bad})), "EDD-9102", "ID")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Put(t.Context(), Staff{Tenant: bad, ID: "a"})), "EDD-9102", "Tenant")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Get(t.Context(), Staff{Tenant: "T", ID: bad})), "EDD-9102", "ID")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Create(t.Context(), Staff{Tenant: "T", ID: "a", Team: bad, Grade: 1})), "EDD-9102", "Team")
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(t.Context(), Staff{Tenant: "T", ID: "a"}, entity.Set(&f.City, bad))), "EDD-9102", "City")
		dbtest.RequireInput(t, dbtest.ErrorOf(byTeam.Query(Staff{Team: bad}).Collect(t.Context())), "EDD-9102", "Team")
	}
	for _, grade := range []int{-1, 10_000_000_000_000_000} {
		dbtest.RequireInput(t, dbtest.ErrorOf(s.Create(t.Context(), Staff{Tenant: "T", ID: "a", Team: "x", Grade: grade})), "EDD-9102", "Grade")
	}
	require.Empty(t, l.Operations())
	require.Empty(t, l.everything())
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "&'()*+,-./09:;<=>?@AZ[\\]^_`az{|}~", Team: "x", Grade: 9_999_999_999_999_999, Name: "free text ü#$%"}))
}

func TestInterop_QueriesExcludeRelatedItemsOfEffectDynamoDB(t *testing.T) {
	l, s := open[Staff](t, shared)
	f := entity.Fields[Staff]()
	for i := range 20 {
		id := fmt.Sprintf("i-%02d", i)
		l.sibling(t, id, "#id_"+id, nil)
		l.sibling(t, id, fmt.Sprintf("#v#%07d", i), nil)
		l.sibling(t, id, fmt.Sprintf("#deleted#2024-01-01T00:00:00.%03dZ", i), func(it map[string]types.AttributeValue) { it["deletedAt"] = dbtest.S("x") })
		l.sibling(t, id, "#id_"+id+"#e#2024-01-01t00:00:00.000z", nil)
	}
	l.sibling(t, "O#1 Ü", "#id_o#1 ü", nil) // refused here as a key, and shown all the same
	l.sibling(t, "x", "#id_x", func(it map[string]types.AttributeValue) { it["__edd_e__"] = dbtest.S("Staff._unique.email") })
	l.sibling(t, "y", "#id_y", func(it map[string]types.AttributeValue) { delete(it, "id") })

	partition := s.Query(Staff{Tenant: "t"})
	all := entity.Must(partition.Collect(t.Context()))
	require.Len(t, all, 21)
	require.Equal(t, "i-00", all[0].ID)
	require.Equal(t, "O#1 Ü", all[20].ID)
	for name, q := range map[string]entity.Query[Staff]{
		"query": partition, "scan": s.Scan(), "segments": s.Scan(entity.Segments(3)),
		"filter": s.Query(Staff{Tenant: "t"}, entity.Filter(entity.Eq(&f.Version, 1))),
	} {
		require.Equal(t, 21, entity.Must(q.Count(t.Context())), name)
	}
	n := entity.Must(s.Query(Staff{Tenant: "t"}, entity.Limit(7)).Count(t.Context()))
	require.Equal(t, 7, n)
	n = entity.Must(s.Query(Staff{Tenant: "t"}, entity.Between(&f.ID, "i-05", "i-08")).Count(t.Context()))
	require.Equal(t, 4, n)

	pages := dbtest.Pages(t, s.Query(Staff{Tenant: "t"}, entity.Limit(6)))
	require.Len(t, pages, 4)
	require.Equal(t, all, slices.Concat(pages...))
	type name struct {
		Version int64 `dynamodbav:"version"`
	}
	require.Len(t, entity.Must(entity.Project[name](partition).Collect(t.Context())), 21)
	require.Equal(t, "i-03", entity.Must(s.Query(Staff{Tenant: "t"}, entity.Eq(&f.ID, "I-03")).One(t.Context())).ID)
}

// team is what an item has of its index keys.
func (l *lab) team(t *testing.T, id string) [3]string {
	t.Helper()
	it := l.stored(staffKey(id))
	return [3]string{it["gsi1pk"], it["gsi1sk"], it["gsi2pk"] + it["gsi2sk"]}
}

func TestInterop_AnIndexWithRefusedValuesStaysUntilItsPartsChange(t *testing.T) {
	l, s := open[Staff](t, shared)
	f, key := entity.Fields[Staff](), Staff{Tenant: "T", ID: "a"}
	l.sibling(t, "a", "#id_a", func(it map[string]types.AttributeValue) {
		it["team"], it["grade"] = dbtest.S("DC 1"), dbtest.N("2")
		it["gsi1pk"], it["gsi1sk"] = dbtest.S("$app#v1#staff#team_dc 1"), dbtest.S("$app#v1#staff#grade_0000000000000002#id_a")
	})
	was := l.team(t, "a")
	l.OK(s.Modify(t.Context(), key, func(v *Staff) error { v.Name = "n"; return nil }))
	require.Equal(t, was, l.team(t, "a"))
	dbtest.RequireInput(t, dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Grade, 3))), "EDD-9102", "Team")
	require.Equal(t, was, l.team(t, "a"))
	l.OK(s.Update(t.Context(), key, entity.Set(&f.Grade, 3), entity.Set(&f.Team, "DC-1")))
	require.Equal(t, `S"$app#v1#staff#team_dc-1"`, l.team(t, "a")[0])
}

// A put of effect-dynamodb begins the version again, so the same version does not mean the same item.
func TestInterop_AWriteFromAReadIsGuardedByTheImage(t *testing.T) {
	l, s := open[Staff](t, shared)
	l.sibling(t, "a", "#id_a", nil)
	runs := 0
	got := entity.Must(s.Modify(t.Context(), Staff{Tenant: "T", ID: "a"}, func(v *Staff) error {
		if runs++; runs == 1 {
			l.sibling(t, "a", "#id_a", func(it map[string]types.AttributeValue) {
				it["name"], it["note"] = dbtest.S("theirs"), dbtest.S("kept")
			})
		}
		v.City = "Ulm"
		return nil
	}))
	require.Equal(t, 2, runs)
	require.Equal(t, "theirs", got.Name)
	require.EqualValues(t, 2, got.Version)
	require.Equal(t, `S"kept"`, l.stored(staffKey("a"))["note"])
}

func TestInterop_ALostAnswerCannotBeTracedWithoutAToken(t *testing.T) {
	l, s := open[Staff](t, shared)
	l.Wire.Inject(faults.Nth(1, faults.Lost, "PutItem"))
	_, err := s.Create(t.Context(), Staff{Tenant: "T", ID: "a"})
	require.True(t, entity.IsAmbiguous(err), "%v", err)
	require.Equal(t, []string{"PutItem"}, l.Operations())
	l.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	l.OK(s.Create(t.Context(), Staff{Tenant: "T", ID: "b"}, entity.Idempotent()))
	require.Equal(t, []string{"TransactWriteItems", "TransactWriteItems"}, l.Operations())
}

type bindCustomer struct {
	_       entity.Key           `name:"Customer" pk:"$#{id}" sk:"$"`
	_       entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenant}" sk:"$#{id}"`
	_       entity.GSI           `name:"trash" index:"gsi2" pk:"$#{tenant}" sk:"$#{deletedAt}"`
	_       unique.Constraint    `name:"email" fields:"email"`
	_       versioned.Retain     ``
	_       lifecycle.SoftDelete ``
	ID      string               `dynamodbav:"id"`
	Tenant  string               `dynamodbav:"tenant"`
	Email   string               `dynamodbav:"email"`
	Version int                  `dynamodbav:"version" entity:"version"`
	Deleted time.Time            `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

type (
	bindBilling struct {
		Customers *entity.Store[bindCustomer]
		ByTenant  *entity.Index[bindCustomer]  `entity:"byTenant"`
		ByEmail   *unique.Lookup[bindCustomer] `entity:"email"`
		Trash     *lifecycle.Deleted[bindCustomer]
		TrashOf   *lifecycle.Index[bindCustomer] `entity:"trash"`
		Past      *versioned.History[bindCustomer]
	}
	bindApp struct {
		bindBilling
		Metering struct{ Usage *timeseries.Series[Reporter] }
		Leases   *lease.Leases
		Name     string
		private  *int
	}
)

func TestBind_OpensEachHandle(t *testing.T) {
	t.Parallel()
	h := paper(t)
	app, err := entity.Bind[bindApp](h, entity.For[Reporter](), lease.With(lease.Options{Holder: "me"}))
	require.NoError(t, err)
	require.Nil(t, app.private)
	require.Same(t, entity.Must(entity.New[bindCustomer](h)), app.Customers)
	require.Contains(t, app.Customers.Op().Create(bindCustomer{ID: "1", Tenant: "t", Email: "e"}).String(), "email")
	require.Contains(t, app.ByTenant.Query(bindCustomer{Tenant: "t"}).String(), "gsi1")
	require.Contains(t, app.TrashOf.Query(bindCustomer{Tenant: "t"}).String(), "gsi2")
	require.Contains(t, app.Past.List(bindCustomer{ID: "1"}).String(), "Customer")
	require.Contains(t, app.Trash.Query(bindCustomer{ID: "1"}).String(), "Customer")
	require.NotNil(t, app.ByEmail)
	require.NotNil(t, app.Leases)
	require.Contains(t, app.Metering.Usage.Op().Append(Reporter{Customer: "c", Meter: "m", Seq: 1, Value: 1}).String(), "Reporter")
}

func TestBind_OpensTheStoreOfOtherHandles(t *testing.T) {
	t.Parallel()
	h := paper(t)
	app, err := entity.Bind[struct {
		ByTenant *entity.Index[bindCustomer] `entity:"byTenant"`
	}](h, entity.For[bindCustomer](entity.Named("Client")))
	require.NoError(t, err)
	require.Contains(t, app.ByTenant.Query(bindCustomer{Tenant: "t"}).String(), "Client")
}

func TestBind_JoinsAllMistakes(t *testing.T) {
	t.Parallel()
	type tables struct {
		Number  *int
		Broken  *entity.Store[Borrowing]
		ByName  *entity.Index[Borrowing] `entity:"byName"`
		Here    *entity.Store[bindCustomer]
		Again   *entity.Store[bindCustomer]
		ByEmail *unique.Lookup[bindCustomer] `entity:"mail"`
		ByPlace *entity.Index[bindCustomer]
		Past    *versioned.History[bindCustomer] `entity:"past"`
		Usage   *timeseries.Series[Reporter]
		Pasts   *versioned.History[Reporter]
		Trash   *lifecycle.Deleted[Reporter]
		Text    string `entity:"text"`
		Inside  struct{ Other *entity.DB }
	}
	_, err := entity.Bind[tables](paper(t), entity.For[time.Time](), lease.With(lease.Options{}))
	var lines []string
	for line := range strings.SplitSeq(err.Error(), "\n") {
		lines = append(lines, strings.ReplaceAll(line, "entity_test.", ""))
	}
	require.Equal(t, strings.Split(strings.TrimSpace(`
EDD-9055 tables.Number: a *int is no handle that Bind opens
tables.Broken: EDD-9035 Borrowing.Due: created_at needs a time.Time
tables.Broken: EDD-9002 Borrowing._ entity.Key: sk names the attribute "book", which the struct does not have
EDD-9055 tables.Again: a second store of bindCustomer
tables.ByEmail: EDD-9047 bindCustomer: the struct declares no constraint "mail"; it declares: email
tables.ByPlace: EDD-9051 bindCustomer: there is no index declared with the name ""; declared are: byTenant
EDD-9055 tables.Past: the tag "past" names nothing: a *versioned.History[github.com/dynastrata/dynastrata/bindCustomer] has no name
tables.Pasts: EDD-9047 Reporter: the struct lacks the declaration versioned.Retain
tables.Trash: EDD-9047 Reporter: the struct lacks the declaration lifecycle.SoftDelete
EDD-9055 tables.Text: a string is no handle that Bind opens
EDD-9055 tables.Inside.Other: a *entity.DB is no handle that Bind opens
EDD-9055 tables: there is an option for time.Time, of which the struct has no field
EDD-9055 tables: there is an option for lease.Leases, of which the struct has no field
`), "\n"), lines)
	require.Equal(t, "EDD-9055", dbtest.SchemaCode(err))
}

func TestBind_RefusesWhatIsNotOpened(t *testing.T) {
	t.Parallel()
	_, err := entity.Bind[bindApp](nil)
	require.Equal(t, "EDD-9160", dbtest.InputCode(err))
	_, err = entity.Bind[int](paper(t))
	require.Equal(t, "EDD-9048", dbtest.SchemaCode(err))
	_, err = entity.Bind[bindApp](paper(t), nil)
	dbtest.As[*entity.InputError](t, err)
}
