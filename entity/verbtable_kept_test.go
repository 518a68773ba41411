package entity_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A value that immutable forbids is ErrConditionFailed naming the attribute, for each verb that can give one, on both routes.
func TestVerbTable_ImmutableIsNamedByEveryVerbOnBothRoutes(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	moved := alice()
	moved.TenantID = "t-other"
	unknown := moved
	unknown.Department = "" // an index half of which an upsert knows a part: it reads first
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
			for _, beside := range [][]entity.Op{nil, {s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"})}} {
				op := make()
				err := l.db.Transact(t.Context(), append(beside, op)...)
				mine := entity.FailureOf(err, op)
				require.ErrorIs(t, mine, entity.ErrConditionFailed)
				var named *entity.ConditionError
				require.ErrorAs(t, mine, &named)
				require.Equal(t, "tenantId", named.Attr)
			}
			require.Equal(t, before, l.everything(t))
		})
	}
}

// What the caller gave stays as it was, down to what pointers, maps and slices lead to, and the result shares nothing
// with it.
func TestVerbTable_NoVerbWritesToTheCallersValue(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	lat := Geo{Lat: 1}
	alias, active := "al", true
	v := Profile{
		ID: "a", Team: "t", Rank: 1, Home: Address{City: "c", Geo: &lat}, Work: &Address{City: "w"},
		Labels: map[string]string{"k": "v"}, Scores: map[string]int{"k": 1}, Lines: []Line{{SKU: "s", Qty: 1}},
		Log: []string{"x"}, Tags: []string{"b", "a"}, Numbers: []int{2, 1}, Alias: &alias, Active: &active,
	}
	before, err := json.Marshal(v)
	require.NoError(t, err)
	spoil := func(got Profile) {
		t.Helper()
		got.Home.Geo.Lat, got.Work.City, *got.Alias, *got.Active = 99, "spoilt", "spoilt", false
		got.Labels["k"], got.Scores["k"], got.Lines[0].Qty, got.Log[0], got.Tags[0], got.Numbers[0] = "spoilt", 99, 99, "spoilt", "spoilt", 99
		after, err := json.Marshal(v)
		require.NoError(t, err)
		require.JSONEq(t, string(before), string(after))
	}
	got, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, err = s.Put(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, _, err = s.Upsert(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	got, err = s.Get(t.Context(), v)
	require.NoError(t, err)
	spoil(got)
	put, upsert := s.Op().Put(v), s.Op().Upsert(v)
	require.NoError(t, l.db.Transact(t.Context(), put))
	spoil(put.Result())
	require.NoError(t, l.db.Transact(t.Context(), upsert))
	spoil(upsert.Result())
	require.NoError(t, l.db.Transact(t.Context(), put, s.Op().Create(Profile{ID: "b"})))
	spoil(put.Result())
	first := put.Result()
	require.Equal(t, "spoilt", *first.Alias, "a result is one value, the caller's to change")

	// A value that is changed after the op was made does not change the op.
	later := s.Op().Put(v)
	v.Labels["k"], v.Tags[0], *v.Alias = "later", "later", "later"
	got = entity.Must(s.Get(t.Context(), v))
	require.NoError(t, l.db.Transact(t.Context(), later))
	require.Equal(t, got, entity.Must(s.Get(t.Context(), v, entity.Consistent())), "the op holds what it was given")
}
