package entity_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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

func TestQuery_AnEmptyNativeKeyMatchesNothingWithoutARequest(t *testing.T) {
	l, s := open[Claim](t)
	sent := len(l.Wire.Requests())
	q := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Eq(&entity.Fields[Claim]().Code, ""))
	got := entity.Must(q.Collect(t.Context()))
	require.Empty(t, got)
	_, err := q.Page(t.Context(), "e30")
	require.ErrorIs(t, err, entity.ErrInvalidCursor, "a query that reads nothing gave no cursor")
	reversed := entity.Must(s.Index("byCode")).Query(Claim{Team: "t"}, entity.Between(&entity.Fields[Claim]().Code, "b", "a"))
	require.Empty(t, entity.Must(reversed.Collect(t.Context())))
	require.Len(t, l.Wire.Requests(), sent)
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
