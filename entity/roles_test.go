package entity_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestRequired_RejectsAbsentNullAndEmpty(t *testing.T) {
	t.Parallel()
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
		_, err := s.Create(t.Context(), bad)
		l.requireRefused(t, err, "EDD-9103", field)
		_, _, err = s.Upsert(t.Context(), bad)
		l.requireRefused(t, err, "EDD-9103", field)
	}
	_, err := s.Create(t.Context(), good)
	require.NoError(t, err, "zero numbers and false pass")
	l.Sent()
	for field, change := range map[string]entity.UpdateOption{
		"Name": entity.Set(&f.Name, ""), "List": entity.Set(&f.List, nil), "Map": entity.Remove(&f.Map), "Maybe": entity.Set(&f.Maybe, nil),
		"Number": entity.Remove(&f.Number), "Flag": entity.Attr[bool]("flag").Remove(),
	} {
		_, err := s.Update(t.Context(), Mandatory{ID: "a"}, change)
		l.requireRefused(t, err, "EDD-9103", field)
	}
	l.OK(s.Update(t.Context(), Mandatory{ID: "a"}, entity.Set(&f.Number, 0), entity.Set(&f.Flag, false), entity.Set(&f.Name, "x")))
}

// Mandatory has required attributes of every shape.
type Mandatory struct {
	_ entity.Key `name:"Mandatory" pk:"$#{id}"`

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
	t.Parallel()
	l, s := opened(t, alice())
	e := entity.Fields[Employee]()
	l.OK(s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-acme")))
	l.Sent()
	for _, c := range []entity.UpdateOption{entity.Remove(&e.TenantID), entity.SetIfNotExists(&e.TenantID, "t-acme"), entity.Attr[string]("tenantId").Remove()} {
		_, err := s.Update(t.Context(), employeeKey("emp-alice"), c)
		l.requireRefused(t, err, "EDD-9104", "TenantID")
	}
}

func TestSetOnce_TheFirstValueStays(t *testing.T) {
	t.Parallel()
	l, s := opened(t, alice())
	e := entity.Fields[Employee]()
	got, err := s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "bob"))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	got, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol"))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	got, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.HiredBy, "carol"), entity.Remove(&e.Department))
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy, "on the route that reads first, too")
	v := alice()
	v.HiredBy = "dave"
	got, _, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, "bob", got.HiredBy)
	require.Equal(t, `S"bob"`, l.stored(aliceKey)["hiredBy"])
	l.Sent()
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.HiredBy))
	l.requireRefused(t, err, "EDD-9104", "HiredBy")
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
			again, err := s.Put(t.Context(), Claim{ID: "1", Owner: "p", Code: "d", Team: "u", Note: &y})
			require.NoError(t, err)
			require.Equal(t, Claim{ID: "1", Owner: "o", Code: "c", Team: "u", Note: &x, Seal: &x}, again)
		})
	}
}

// Lead can hold an empty owner, which its index key copies.
type Lead struct {
	_     entity.Key `name:"Lead" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byOwner" index:"gsi1" pk:"gsi1pk={owner}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Owner string     `dynamodbav:"owner"`
}

func TestSetOnce_OverAStoredEmptyTextKeepsItAndTheIndexKeyAbsent(t *testing.T) {
	_, s := opened(t, Lead{ID: "1"})
	got, err := s.Update(t.Context(), Lead{ID: "1"}, entity.SetIfNotExists(&entity.Fields[Lead]().Owner, "x"))
	require.NoError(t, err)
	require.Empty(t, got.Owner, "the attribute is there")
}

func TestIndexKeys_AreMeasuredBeforeAnyRequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.Wire.Requests())
	long := strings.Repeat("x", 3000)
	for name, v := range map[string]Claim{"copied": {ID: "1", Owner: long}, "native partition": {ID: "1", Team: long}, "native sort": {ID: "1", Code: long[:1025]}} {
		_, err := s.Create(t.Context(), v)
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
		_, _, err = s.Upsert(t.Context(), v)
		require.ErrorIs(t, err, entity.ErrTooLarge, name)
	}
	_, err := s.Update(t.Context(), Claim{ID: "1"}, entity.Set(&entity.Fields[Claim]().Team, long))
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.Len(t, l.Wire.Requests(), sent)
}

func TestQuery_AnEmptyNativeKeyMatchesNothingWithoutARequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.Wire.Requests())
	q := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Eq(&entity.Fields[Claim]().Code, ""))
	got := entity.Must(q.Collect(t.Context()))
	require.Empty(t, got)
	_, err := q.Page(t.Context(), "e30")
	require.ErrorIs(t, err, entity.ErrInvalidCursor, "a query that reads nothing gave no cursor")
	require.Len(t, l.Wire.Requests(), sent)
}

func TestLostAnswer_AnUpsertThatMayHaveCreatedIsAmbiguous(t *testing.T) {
	l, s := opened(t, Lead{ID: "1"})
	l.Wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err := s.Upsert(t.Context(), Lead{ID: "1", Owner: "x"})
	require.True(t, entity.IsAmbiguous(err), "an item with the same attributes is no proof")
	_, created, err := s.Upsert(t.Context(), Lead{ID: "1", Owner: "y"}, entity.Idempotent())
	require.NoError(t, err)
	require.False(t, created)
}

// Slip is verbatim and has no version: a rewrite of it is guarded by its content.
type Slip struct {
	_  entity.Key `name:"Slip" pk:"id" sk:"sk={k}"`
	_  entity.GSI `name:"byAB" index:"gsi1" pk:"gsi1pk={a}-{b}" sk:"id"`
	ID string     `dynamodbav:"id"`
	K  string     `dynamodbav:"k"`
	A  string     `dynamodbav:"a"`
	B  string     `dynamodbav:"b"`
}

func TestLostAnswer_ARewriteGuardedByContentIsNotRepeated(t *testing.T) {
	l, s := opened(t, Slip{ID: "1", K: "k", A: "a", B: "b"})
	f, key := entity.Fields[Slip](), Slip{ID: "1", K: "k"}
	side := dbtest.Declare[Slip](t, l.Open(l.Raw))
	var once sync.Once
	lost := faults.Nth(1, faults.Lost, "PutItem")
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		fault := lost(r)
		if r.Operation == "PutItem" && fault == faults.None {
			once.Do(func() { // the old content comes back, so a repeated put would pass
				l.OK(side.Update(t.Context(), key, entity.Set(&f.A, "a")))
			})
		}
		return fault
	})
	_, err := s.Update(t.Context(), key, entity.Set(&f.A, "x"))
	require.True(t, entity.IsAmbiguous(err), "%v", err)
}

func TestOp_OneValueRunByManyAtOnce(t *testing.T) {
	l, s := opened(t, Lead{ID: "1"})
	f := entity.Fields[Lead]()
	op := s.Op().Update(Lead{ID: "1"}, entity.Set(&f.Owner, "x"))
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			_ = op.String()
			require.NoError(t, l.DB.Transact(t.Context(), op))
			require.Equal(t, "x", op.Result().Owner)
		})
	}
	wg.Wait()
}
