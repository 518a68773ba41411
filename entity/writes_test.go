package entity_test

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// The SDK's error stays reachable with its request id, and the stored item with it.
func TestErrors_WrapTheSDKErrorAndTheStoredItem(t *testing.T) {
	l, s := opened(t, alice())
	lone := dbtest.ErrorOf(s.Create(t.Context(), alice()))
	joined := l.DB.Transact(t.Context(), s.Op().Create(alice()), s.Op().Put(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"}))
	for name, err := range map[string]error{"alone": lone, "in a transaction": joined} {
		response := dbtest.As[*awshttp.ResponseError](t, err, name)
		require.NotEmpty(t, response.ServiceRequestID(), name)
		held, ok := entity.StoredItem[Employee](err)
		require.True(t, ok, name)
		require.Equal(t, "Alice", held.DisplayName)
		_, ok = entity.StoredItem[Team](err)
		require.False(t, ok, "it fits its own type only")
	}
	require.NoError(t, entity.FailureOf(lone, s.Op().Create(alice())), "the error of a lone verb is no transaction's")
	_, ok := entity.StoredItem[Employee](nil)
	require.False(t, ok)
	require.NoError(t, entity.FailureOf(nil, nil))
	require.False(t, entity.IsAmbiguous(nil))
}

// A page replaces everything that its struct has: no attribute of it depends on what is stored.
type page struct {
	_     entity.Key          `name:"Page" pk:"$#{site}" sk:"$#{path|lower}"`
	_     entity.GSI          `name:"open" index:"gsi1" pk:"$#{site}" sk:"$#{rank}" when:"state=open"`
	_     entity.GSI          `name:"byOwner" index:"gsi2" pk:"$#{owner}"`
	Site  string              `dynamodbav:"site"`
	Path  string              `dynamodbav:"path"`
	State string              `dynamodbav:"state,omitempty" entity:"default=open"`
	Rank  *int                `dynamodbav:"rank"`
	Owner string              `dynamodbav:"owner,omitempty"`
	Tags  []string            `dynamodbav:"tags,stringset,omitempty"`
	Parts map[string]pagePart `dynamodbav:"parts"`
	*PageMeta
	Share   float64   `dynamodbav:"share"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
	By      string    `dynamodbav:"by,omitempty" entity:"context=actor"`
	Local   string    `dynamodbav:"-"`
}

type (
	pagePart struct {
		Text string    `dynamodbav:"text,omitempty"`
		At   time.Time `dynamodbav:"at"`
	}
	PageMeta struct {
		Lang string `dynamodbav:"lang"`
	}
)

// A Put that decides every attribute does not ask for the item, and returns what is stored. Otherwise it asks.
func TestPut_ReturnsWhatIsStored(t *testing.T) {
	actor := ""
	l, s := open[page](t, func(c *entity.Config) {
		c.FromContext = func(context.Context, string) (string, bool) { return actor, actor != "" }
	})
	rank := 3
	whole := page{
		Site: "S", Path: "/A", State: "shut", Rank: &rank, Owner: "o", Tags: []string{"a", "b"}, Share: 0.1, Local: "x",
		Parts: map[string]pagePart{"p": {At: dawn}, "q": {Text: "q"}}, PageMeta: &PageMeta{"de"},
	}
	for i, v := range []page{whole, {Site: "S", Path: "/A"}, {Site: "S", Path: "/A", Share: 1e20, Tags: []string{}}, whole} {
		actor = []string{"", "ann"}[i%2]
		l.Sent()
		got := entity.Must(s.Put(t.Context(), v))
		require.Contains(t, string(l.Sent()[0].Body), `"ReturnValues":"NONE"`)
		require.Equal(t, entity.Must(s.Get(t.Context(), v, entity.Consistent())), got)
		require.Equal(t, actor, got.By)
		l.Clock.Move(time.Second)
	}
	l.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, err := s.Put(t.Context(), page{Site: "S", Path: "/A", State: "lost"})
	require.NoError(t, err, "its write id proves it")
	require.Equal(t, entity.Must(s.Get(t.Context(), got, entity.Consistent())), got)

	kept, employees := opened(t, alice())
	l.OK(employees.Put(t.Context(), alice()))
	require.Contains(t, string(kept.Sent()[0].Body), `"ReturnValues":"ALL_NEW"`, "created_at is kept")
}

// Versions of every integer type.
type (
	versionNumber    uint32
	versionOf[V any] struct {
		_       entity.Key `name:"VersionOf" pk:"$#{id}" sk:"$"`
		ID      string     `dynamodbav:"id"`
		Name    string     `dynamodbav:"name,omitempty"`
		Version V          `dynamodbav:"version" entity:"version"`
	}
)

func TestVersion_CanBeAnyIntegerThatIsWideEnough(t *testing.T) {
	for _, typ := range []reflect.Type{
		reflect.TypeFor[versionOf[int]](), reflect.TypeFor[versionOf[int32]](), reflect.TypeFor[versionOf[int64]](),
		reflect.TypeFor[versionOf[uint]](), reflect.TypeFor[versionOf[uint32]](), reflect.TypeFor[versionOf[uint64]](),
	} {
		require.NoError(t, declare(typ))
	}
	type numbered = versionOf[versionNumber] // other entities have signed ones
	l, s := open[numbered](t)
	f, key := entity.Fields[numbered](), numbered{ID: "a", Version: 99}
	got := entity.Must(s.Create(t.Context(), key))
	require.EqualValues(t, 1, got.Version)
	got = entity.Must(s.Update(t.Context(), key, entity.Set(&f.Name, "x"), entity.If(entity.Eq(&f.Version, 1))))
	require.EqualValues(t, 2, got.Version)
	got = entity.Must(s.Put(t.Context(), key))
	require.EqualValues(t, 3, got.Version)
	got = entity.Must(s.Modify(t.Context(), key, func(v *numbered) error { v.Name = "y"; return nil }))
	require.EqualValues(t, 4, got.Version)
	require.NoError(t, l.DB.Transact(t.Context(), s.Op().Upsert(key), s.Op().Create(numbered{ID: "b"})))
	require.EqualValues(t, 5, entity.Must(s.Get(t.Context(), key, entity.Consistent())).Version)
	require.NoError(t, s.Delete(t.Context(), key, entity.If(entity.Eq(&f.Version, 5))))
}

// A plan that has read the item never lets its time go back.
func TestUpdate_AfterAReadUpdatedAtIsLaterThanTheStoredOne(t *testing.T) {
	for precision, unit := range map[time.Duration]time.Duration{0: 1, time.Millisecond: time.Millisecond} {
		l, s := open[Employee](t, func(c *entity.Config) { c.TimePrecision = precision })
		e, made := entity.Fields[Employee](), entity.Must(s.Create(t.Context(), alice()))
		l.Clock.Move(-time.Hour)
		got := entity.Must(s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.Department)))
		require.Equal(t, made.UpdatedAt.Add(unit), got.UpdatedAt)
		require.Equal(t, made.CreatedAt, got.CreatedAt)
	}
}

func TestUpsert_ValuesThatAreGivenReplaceStoredOnesEvenWhenZero(t *testing.T) {
	_, s := opened(t, Team{ID: "a", Name: "A", Size: 3, Quota: 4})
	got, _, err := s.Upsert(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, Team{ID: "a", Name: "A", Size: 3, Quota: 0}, got, "quota is not omitempty: its zero is a value")
}

func TestUpsert_AfterAReadKeepsWhatCameInBetween(t *testing.T) {
	t.Parallel()
	for name, before := range map[string][]Profile{"over live": {{ID: "a", Team: "red", Rank: 1}}, "over nothing": nil} {
		t.Run(name, func(t *testing.T) {
			l, s := opened(t, before...)
			other, created := dbtest.Declare[Profile](t, l.Open(l.Raw)), true
			require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("PutItem")), func() (err error) {
				_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 9})
				return err
			}, func() { l.OK(other.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 2, Note: "between"})) }))
			require.False(t, created)
			it := l.stored(profileKey)
			require.Equal(t, `S"between"`, it["note"])
			require.Equal(t, profileHalf("blue", "9"), it["gsi1pk"])
		})
	}
}

func TestRequired_RejectsAbsentNullAndEmpty(t *testing.T) {
	l, s := open[Mandatory](t)
	f := entity.Fields[Mandatory]()
	good := Mandatory{ID: "a", Name: "n", List: []string{"x"}, Map: map[string]int{"a": 0}, Maybe: new(string)}
	*good.Maybe = "m"
	for field, spoil := range map[string]func(*Mandatory){
		"Name": func(m *Mandatory) { m.Name = "" }, "List": func(m *Mandatory) { m.List = []string{} },
		"Map": func(m *Mandatory) { m.Map = nil }, "Maybe": func(m *Mandatory) { m.Maybe = nil },
	} {
		bad := good
		spoil(&bad)
		l.requireRefused(t, dbtest.ErrorOf(s.Create(t.Context(), bad)), "EDD-9103", field)
		l.requireRefused(t, dbtest.ErrorOf(s.Upsert(t.Context(), bad)), "EDD-9103", field)
	}
	require.NoError(t, dbtest.ErrorOf(s.Create(t.Context(), good)), "zero numbers and false pass")
	l.Sent()
	for field, change := range map[string]entity.UpdateOption{
		"Name": entity.Set(&f.Name, ""), "List": entity.Set(&f.List, nil), "Map": entity.Remove(&f.Map), "Maybe": entity.Set(&f.Maybe, nil),
		"Number": entity.Remove(&f.Number), "Flag": entity.Attr[bool]("flag").Remove(),
	} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), Mandatory{ID: "a"}, change)), "EDD-9103", field)
	}
	l.OK(s.Update(t.Context(), Mandatory{ID: "a"}, entity.Set(&f.Number, 0), entity.Set(&f.Flag, false), entity.Set(&f.Name, "x")))
}

// Mandatory has required attributes of every shape.
type Mandatory struct {
	_      entity.Key     `name:"Mandatory" pk:"$#{id}"`
	ID     string         `dynamodbav:"id"`
	Name   string         `dynamodbav:"name" entity:"required"`
	List   []string       `dynamodbav:"list" entity:"required"`
	Map    map[string]int `dynamodbav:"map,omitempty" entity:"required"`
	Maybe  *string        `dynamodbav:"maybe,omitempty" entity:"required"`
	Number int            `dynamodbav:"number" entity:"required"`
	Flag   bool           `dynamodbav:"flag" entity:"required"`
}

// That another value fails is proved for every verb by TestVerbTable_ImmutableIsNamedByEveryVerbOnBothRoutes.
func TestImmutable_EqualValuePassesAndNothingElseIsAChange(t *testing.T) {
	l, s := opened(t, alice())
	e := entity.Fields[Employee]()
	l.OK(s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-acme")))
	l.Sent()
	for _, c := range []entity.UpdateOption{entity.Remove(&e.TenantID), entity.SetIfNotExists(&e.TenantID, "t-acme"), entity.Attr[string]("tenantId").Remove()} {
		l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), employeeKey("emp-alice"), c)), "EDD-9104", "TenantID")
	}
}

func TestSetOnce_TheFirstValueStays(t *testing.T) {
	l, s := opened(t, alice())
	e := entity.Fields[Employee]()
	got := entity.Must(s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "bob")))
	require.Equal(t, "bob", got.HiredBy)
	got = entity.Must(s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol")))
	require.Equal(t, "bob", got.HiredBy)
	got = entity.Must(s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol"), entity.Remove(&e.Department)))
	require.Equal(t, "bob", got.HiredBy, "on the route that reads first, too")
	v := alice()
	v.HiredBy = "dave"
	got, _, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	require.Equal(t, `S"bob"`, l.stored(aliceKey)["hiredBy"])
	l.Sent()
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.HiredBy))), "EDD-9104", "HiredBy")
}

// Claim has an index key that copies a field which is written once, and one that is such a field.
type Claim struct {
	_     entity.Key `name:"Claim" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk={owner}" sk:"$#{id}"`
	_     entity.GSI `name:"byCode" index:"gsi2" pk:"team" sk:"code"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner" entity:"set_once"`
	Code  string     `dynamodbav:"code" entity:"set_once"`
	Team  string     `dynamodbav:"team"`
	Note  *string    `dynamodbav:"note" entity:"set_once"`
	Seal  *string    `dynamodbav:"seal" entity:"immutable"`
}

func TestSetOnce_EmptyValueIsAbsentForEveryVerb(t *testing.T) {
	for name, write := range map[string]func(*entity.Store[Claim]) error{
		"create": func(s *entity.Store[Claim]) error { return dbtest.ErrorOf(s.Create(t.Context(), Claim{ID: "1"})) },
		"put":    func(s *entity.Store[Claim]) error { return dbtest.ErrorOf(s.Put(t.Context(), Claim{ID: "1"})) },
		"upsert": func(s *entity.Store[Claim]) error { return dbtest.ErrorOf(s.Upsert(t.Context(), Claim{ID: "1"})) },
	} {
		t.Run(name, func(t *testing.T) {
			_, s := open[Claim](t)
			require.NoError(t, write(s), "an empty index key would fail the whole write")
			x := "x"
			got, _, err := s.Upsert(t.Context(), Claim{ID: "1", Owner: "o", Code: "c", Team: "t", Note: &x, Seal: &x})
			require.NoError(t, err)
			require.Equal(t, Claim{ID: "1", Owner: "o", Code: "c", Team: "t", Note: &x, Seal: &x}, got, "what was empty can still be set once")
			for _, index := range []string{"byOwner", "byCode"} {
				found, err := entity.Must(s.Index(index)).Query(Claim{Owner: map[string]string{"byOwner": "o"}[index], Team: map[string]string{"byCode": "t"}[index]}).One(t.Context())
				require.NoError(t, err, index)
				require.Equal(t, got, found)
			}
			y := "y"
			again := entity.Must(s.Put(t.Context(), Claim{ID: "1", Owner: "p", Code: "d", Team: "u", Note: &y}))
			require.Equal(t, Claim{ID: "1", Owner: "o", Code: "c", Team: "u", Note: &x, Seal: &x}, again)
		})
	}
}

func TestQuery_AnEmptyNativeKeyMatchesNothingWithoutARequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.Wire.Requests())
	q := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Eq(&entity.Fields[Claim]().Code, ""))
	require.Empty(t, entity.Must(q.Collect(t.Context())))
	require.ErrorIs(t, dbtest.ErrorOf(q.Page(t.Context(), "e30")), entity.ErrInvalidCursor, "a query that reads nothing gave no cursor")
	reversed := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Between(&entity.Fields[Claim]().Code, "b", "a"))
	require.Empty(t, entity.Must(reversed.Collect(t.Context())))
	require.Len(t, l.Wire.Requests(), sent)
}

func TestOp_OneValueRunByManyAtOnce(t *testing.T) {
	l, s := opened(t, Dial{ID: "1"})
	f := entity.Fields[Dial]()
	op := s.Op().Update(Dial{ID: "1"}, entity.Set(&f.Site, "x"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_ = op.String()
			require.NoError(t, l.DB.Transact(t.Context(), op))
			require.Equal(t, "x", op.Result().Site)
		})
	}
	wg.Wait()
}

var aliceKey = keys("pk", "$app#v1#employee#emp-alice", "sk", "$app#v1#employee")

// rename is a change that any employee can have.
func rename(to string) entity.UpdateOption {
	return entity.Set(&entity.Fields[Employee]().DisplayName, to)
}

// An item of three write units and one read unit, which is in no index: each verb is charged for one write of it.
func TestVerbTable_WriteAndReadUnitsOfEachVerb(t *testing.T) {
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	f, key := entity.Fields[Profile](), Profile{ID: "a"}
	whole := Profile{ID: "a", Plain: "t", Note: strings.Repeat("n", 2500)}
	for _, c := range []struct {
		verb        string
		run         func() error
		requests    int
		write, read float64
	}{
		{"Create", func() error { return dbtest.ErrorOf(s.Create(t.Context(), whole)) }, 1, 3, 0},
		{"Put", func() error { return dbtest.ErrorOf(s.Put(t.Context(), whole)) }, 1, 3, 0},
		{"Upsert", func() error { return dbtest.ErrorOf(s.Upsert(t.Context(), whole)) }, 1, 3, 0},
		{"Update", func() error { return dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&f.Plain, "u"))) }, 1, 3, 0},
		{"Modify", func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), key, func(v *Profile) error { v.Count++; return nil }))
		}, 2, 3, 1},
		{"Touch", func() error { return dbtest.ErrorOf(s.Touch(t.Context(), key, &f.SeenAt, time.Hour)) }, 1, 3, 0},
		{"Get", func() error { return dbtest.ErrorOf(s.Get(t.Context(), key)) }, 1, 0, 0.5},
		{"Get", func() error { return dbtest.ErrorOf(s.Get(t.Context(), key, entity.Consistent())) }, 1, 0, 1},
		{"GetMany", func() error { return dbtest.ErrorOf(s.GetMany(t.Context(), []Profile{key})) }, 1, 0, 0.5},
		{"Query", func() error { return dbtest.ErrorOf(s.Query(key).Collect(t.Context())) }, 1, 0, 0.5},
		{"Query", func() error { return dbtest.ErrorOf(s.Query(key).Count(t.Context())) }, 1, 0, 0.5},
		{"TransactGet", func() error { v := key; return l.DB.TransactGet(t.Context(), s.Op().GetInto(&v)) }, 1, 0, 2},
		{"Transact", func() error {
			return l.DB.Transact(t.Context(), s.Op().Update(key, entity.Set(&f.Plain, "v")), s.Op().Create(Profile{ID: "b"}))
		}, 1, 2*3 + 2*1, 0},
		{"Transact", func() error { return l.DB.Transact(t.Context(), s.Op().Delete(Profile{ID: "b"})) }, 1, 1, 0},
		{"Update", func() error {
			return dbtest.ErrorOf(s.Update(t.Context(), key, entity.Add(&f.Count, 1), entity.Idempotent()))
		}, 2, 6, 1},
		{"Delete", func() error { return s.Delete(t.Context(), key) }, 1, 3, 0},
	} {
		l.Sent()
		reports = nil
		require.NoError(t, c.run(), c.verb)
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		require.Len(t, l.Operations(), r.Requests, "the report counts the requests that were sent")
		name := "Profile"
		if strings.HasPrefix(c.verb, "Transact") {
			name = "" // of several entities
		}
		require.Equal(t, []string{c.verb, name}, []string{r.Verb, r.Entity})
		require.Equal(t, []float64{float64(c.requests), c.write, c.read}, []float64{float64(r.Requests), r.WriteUnits, r.ReadUnits}, c.verb)
		require.NoError(t, r.Err)
	}
}

// A value that immutable forbids is ErrConditionFailed naming the attribute, for each verb that can give one, on both routes.
func TestVerbTable_ImmutableIsNamedByEveryVerbOnBothRoutes(t *testing.T) {
	l, s := opened(t, alice())
	e, before, moved := entity.Fields[Employee](), l.everything(), alice()
	moved.TenantID = "t-other"
	unknown := moved
	unknown.Department = "" // an upsert knows only a part of the index key: it reads first
	for name, make := range map[string]func() entity.Op{
		"Put":                func() entity.Op { return s.Op().Put(moved) },
		"Upsert":             func() entity.Op { return s.Op().Upsert(moved) },
		"Upsert, read first": func() entity.Op { return s.Op().Upsert(unknown) },
		"Update":             func() entity.Op { return s.Op().Update(employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other")) },
		"Update, read first": func() entity.Op {
			return s.Op().Update(employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"), entity.Remove(&e.Department))
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, neighbour := range [][]entity.Op{nil, {s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"})}} {
				op := make()
				err := l.DB.Transact(t.Context(), append(neighbour, op)...)
				mine := entity.FailureOf(err, op)
				require.ErrorIs(t, mine, entity.ErrConditionFailed)
				require.Equal(t, "tenantId", dbtest.As[*entity.ConditionError](t, mine).Attr)
			}
			require.Equal(t, before, l.everything())
		})
	}
}

// What the caller gave stays as it was, down to what pointers, maps and slices lead to, and the result shares nothing
// with it.
func TestVerbTable_NoVerbWritesToTheCallersValue(t *testing.T) {
	l, s := open[Profile](t)
	lat, alias, active := Geo{Lat: 1}, "al", true
	v := Profile{
		ID: "a", Team: "t", Rank: 1, Home: Address{City: "c", Geo: &lat}, Work: &Address{City: "w"},
		Labels: map[string]string{"k": "v"}, Scores: map[string]int{"k": 1}, Lines: []Line{{SKU: "s", Qty: 1}},
		Log: []string{"x"}, Tags: []string{"b", "a"}, Numbers: []int{2, 1}, Alias: &alias, Active: &active,
	}
	before := entity.Must(json.Marshal(v))
	spoil := func(got Profile) {
		t.Helper()
		got.Home.Geo.Lat, got.Work.City, *got.Alias, *got.Active = 99, "spoilt", "spoilt", false
		got.Labels["k"], got.Scores["k"], got.Lines[0].Qty, got.Log[0], got.Tags[0], got.Numbers[0] = "spoilt", 99, 99, "spoilt", "spoilt", 99
		after := entity.Must(json.Marshal(v))
		require.JSONEq(t, string(before), string(after))
	}
	got := entity.Must(s.Create(t.Context(), v))
	spoil(got)
	got = entity.Must(s.Put(t.Context(), v))
	spoil(got)
	got, _, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got = entity.Must(s.Get(t.Context(), v))
	spoil(got)
	put, upsert := s.Op().Put(v), s.Op().Upsert(v)
	require.NoError(t, l.DB.Transact(t.Context(), put))
	spoil(put.Result())
	require.NoError(t, l.DB.Transact(t.Context(), upsert, s.Op().Create(Profile{ID: "b"})))
	spoil(upsert.Result())
	first := put.Result()
	require.Equal(t, "spoilt", *first.Alias, "a result is one value, the caller's to change")

	// A value that is changed after the op was made does not change the op, however often it is planned.
	later := s.Op().Put(v)
	got = entity.Must(s.Get(t.Context(), v))
	v.Labels["k"], v.Tags[0], *v.Alias = "later", "later", "later"
	require.NoError(t, l.DB.Transact(t.Context(), later))
	require.Equal(t, got, entity.Must(s.Get(t.Context(), v, entity.Consistent())), "the op holds what it was given")
}

// An update without changes, as of a PATCH without fields, reads the item and leaves it as it is.
func TestUpdate_WithoutChangesReturnsTheItemAsItIs(t *testing.T) {
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	require.ErrorIs(t, dbtest.ErrorOf(s.Update(l.Ctx, key)), entity.ErrNotFound)
	made := entity.Must(s.Create(l.Ctx, Profile{ID: "a", Note: "n"}))
	was := l.Items()
	l.Sent()
	require.Equal(t, made, entity.Must(s.Update(l.Ctx, key)))
	require.Equal(t, []string{"GetItem"}, l.Operations())
	require.Equal(t, made, entity.Must(s.Update(l.Ctx, key, entity.If(entity.Eq(&p.Note, "n")))))
	require.ErrorIs(t, dbtest.ErrorOf(s.Update(l.Ctx, key, entity.If(entity.Eq(&p.Note, "m")))), entity.ErrConditionFailed)
	var old Profile
	require.Equal(t, made, entity.Must(s.Update(l.Ctx, key, entity.Returning(&old))))
	require.Equal(t, made, old)
	op := s.Op().Update(key)
	l.Sent()
	require.NoError(t, l.DB.Transact(l.Ctx, op, s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, made, op.Result())
	sent := l.Sent()
	require.Equal(t, 2, strings.Count(string(sent[len(sent)-1].Body), `"ConditionCheck"`), "so that all of the transaction is of one instant")
	require.ErrorIs(t, l.DB.Transact(l.Ctx, s.Op().Update(Profile{ID: "b"}), s.Op().CheckExists(key)), entity.ErrNotFound)
	require.Equal(t, was, l.Items())
}
