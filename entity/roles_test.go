package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	l.sent()
	for field, change := range map[string]entity.UpdateOption{
		"Name": entity.Set(&f.Name, ""), "List": entity.Set(&f.List, nil), "Map": entity.Remove(&f.Map), "Maybe": entity.Set(&f.Maybe, nil),
		"Number": entity.Remove(&f.Number), "Flag": entity.Attr[bool]("flag").Remove(),
	} {
		_, err := s.Update(t.Context(), Mandatory{ID: "a"}, change)
		l.requireRefused(t, err, "EDD-9103", field)
	}
	_, err = s.Update(t.Context(), Mandatory{ID: "a"}, entity.Set(&f.Number, 0), entity.Set(&f.Flag, false), entity.Set(&f.Name, "x"))
	require.NoError(t, err)
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

func TestImmutable_EqualValuePassesAnotherFails(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.stored(t, aliceKey)
	requireNamed := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		var named *entity.ConditionError
		require.ErrorAs(t, err, &named)
		require.Equal(t, "tenantId", named.Attr)
	}
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"))
	requireNamed(err)
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-other"), entity.Remove(&e.Department))
	requireNamed(err) // on the route that reads first, too
	moved := alice()
	moved.TenantID = "t-other"
	_, _, err = s.Upsert(t.Context(), moved)
	requireNamed(err)
	require.Equal(t, before, l.stored(t, aliceKey))

	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Set(&e.TenantID, "t-acme"))
	require.NoError(t, err)
	l.sent()
	for _, c := range []entity.UpdateOption{entity.Remove(&e.TenantID), entity.SetIfNotExists(&e.TenantID, "t-acme"), entity.Attr[string]("tenantId").Remove()} {
		_, err = s.Update(t.Context(), employeeKey("emp-alice"), c)
		l.requireRefused(t, err, "EDD-9104", "TenantID")
	}
}

func TestSetOnce_TheFirstValueStays(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
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
	require.Equal(t, `S"bob"`, l.stored(t, aliceKey)["hiredBy"])
	l.sent()
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), entity.Remove(&e.HiredBy))
	l.requireRefused(t, err, "EDD-9104", "HiredBy")
}

func TestSetOnce_AsAChangeOfAnyField(t *testing.T) {
	t.Parallel()
	_, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), key)
	require.NoError(t, err)
	for _, v := range []string{"first", "second"} {
		got, err := s.Update(t.Context(), key, entity.SetIfNotExists(&p.Note, v))
		require.NoError(t, err)
		require.Equal(t, "first", got.Note)
		got, err = s.Update(t.Context(), key, entity.SetIfNotExists(&p.Order, v), entity.Set(&p.Rank, 3))
		require.NoError(t, err)
		require.Equal(t, "first", got.Order)
	}
}
