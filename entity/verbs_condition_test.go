package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A condition that fails has its own class, and is not taken for absence or presence.
func TestVerbTable_FailedIfIsErrConditionAndWritesNothing(t *testing.T) {
	t.Parallel()
	e := entity.Fields[Employee]()
	no := entity.If(entity.Eq(&e.Salary, 999))
	ops := map[string]func(entity.Ops[Employee]) entity.Op{
		"Update": func(o entity.Ops[Employee]) entity.Op { return o.Update(employeeKey("emp-alice"), rename("B"), no) },
		"Upsert": func(o entity.Ops[Employee]) entity.Op { return o.Upsert(alice(), no) },
		"Delete": func(o entity.Ops[Employee]) entity.Op { return o.Delete(employeeKey("emp-alice"), no) },
		"CheckExists": func(o entity.Ops[Employee]) entity.Op {
			return o.CheckExists(employeeKey("emp-alice"), entity.Eq(&e.Salary, 999))
		},
	}
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	for name, make := range ops {
		t.Run(name, func(t *testing.T) {
			l.clock.move(time.Hour)
			alone, joined := make(s.Op()), make(s.Op())
			requireClass(t, entity.FailureOf(l.db.Transact(t.Context(), alone), alone), entity.ErrConditionFailed, name)
			err := l.db.Transact(t.Context(), joined, s.Op().Create(Employee{EmployeeID: "x", TenantID: "t", DisplayName: "X"}))
			requireClass(t, entity.FailureOf(err, joined), entity.ErrConditionFailed, name)
			require.Equal(t, before, l.everything(t), "updatedAt, version and write id are as they were")
			held, ok := entity.StoredItem[Employee](err)
			require.True(t, ok)
			require.Equal(t, 100, held.Salary, "the error carries the item that refused the condition")
		})
	}
}

func TestVerbTable_StoreMethodsRunTheirConditions(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	no, yes := entity.If(entity.Eq(&e.Salary, 999)), entity.If(entity.Eq(&e.Salary, 100))
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	_, err = s.Update(t.Context(), employeeKey("emp-alice"), rename("B"), no)
	requireClass(t, err, entity.ErrConditionFailed, "Update")
	_, _, err = s.Upsert(t.Context(), alice(), no)
	requireClass(t, err, entity.ErrConditionFailed, "Upsert")
	requireClass(t, s.Delete(t.Context(), employeeKey("emp-alice"), no), entity.ErrConditionFailed, "Delete")
	require.Equal(t, before, l.everything(t))

	_, err = s.Update(t.Context(), employeeKey("emp-alice"), rename("B"), yes)
	require.NoError(t, err)
	_, _, err = s.Upsert(t.Context(), alice(), yes)
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), employeeKey("emp-alice"), yes))
	require.Empty(t, l.everything(t))
}

func TestErrors_StoredItemFitsOnlyItsOwnType(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	_, err = s.Create(t.Context(), alice())
	held, ok := entity.StoredItem[Employee](err)
	require.True(t, ok)
	require.Equal(t, "Alice", held.DisplayName)
	_, ok = entity.StoredItem[Team](err)
	require.False(t, ok)
	_, ok = entity.StoredItem[Employee](nil)
	require.False(t, ok)
	require.NoError(t, entity.FailureOf(err, s.Op().Create(alice())), "the error of a lone verb is no transaction's")
}
