package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestDelete_RemovesTheItemAndNothingElse(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	bob := alice()
	bob.EmployeeID = "emp-bob"
	_, err = s.Create(t.Context(), bob)
	require.NoError(t, err)
	l.sent()
	require.NoError(t, s.Delete(t.Context(), employeeKey("emp-alice")))
	require.Equal(t, []string{"DeleteItem"}, l.sent())
	require.Len(t, l.everything(t), 1)
	_, err = s.Get(t.Context(), employeeKey("emp-alice"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.ErrorIs(t, s.Delete(t.Context(), employeeKey("emp-alice")), entity.ErrNotFound)
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.EqualValues(t, 1, got.Version, "a new life begins at 1")
}

func TestDelete_ErrorsCarryTheItemThatRefused(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	err = s.Delete(t.Context(), employeeKey("emp-alice"), entity.If(entity.Eq(&e.DisplayName, "Bob")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	held, ok := entity.StoredItem[Employee](err)
	require.True(t, ok)
	require.Equal(t, "Alice", held.DisplayName)
	err = s.Delete(t.Context(), employeeKey("emp-nobody"))
	_, ok = entity.StoredItem[Employee](err)
	require.False(t, ok, "there is no item to carry")
}

// Every condition counts, wherever it stands.
func TestDelete_AllConditionsMustHold(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	yes, no := entity.Eq(&e.Salary, 100), entity.Eq(&e.Salary, 1)
	for _, opts := range [][]entity.WriteOption{{entity.If(yes, no)}, {entity.If(yes), entity.If(no)}, {entity.If(no), entity.If(yes)}, {entity.If(entity.Or(yes, no), no)}} {
		require.ErrorIs(t, s.Delete(t.Context(), employeeKey("emp-alice"), opts...), entity.ErrConditionFailed)
	}
	require.Len(t, l.everything(t), 1)
	require.NoError(t, s.Delete(t.Context(), employeeKey("emp-alice"), entity.If(yes), entity.If(entity.Or(no, yes))))
}

// A condition that holds for nothing as well does not let an absent item pass.
func TestDelete_OrConditionDoesNotReplaceTheGuard(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	e := entity.Fields[Employee]()
	err := s.Delete(t.Context(), employeeKey("emp-nobody"), entity.If(entity.Or(entity.NotExists(&e.Salary), entity.NotExists(&e.Version))))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
}
