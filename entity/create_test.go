package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestCreate_StoresExactlyTheDocumentedItem(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	it := l.stored(t, aliceKey)
	require.True(t, l.ids.has(it["_w"][2:len(it["_w"])-1]), "the write id comes from Config.NewID")
	delete(it, "_w")
	require.Equal(t, raw{
		"pk": `S"$app#v1#employee#emp-alice"`, "sk": `S"$app#v1#employee"`, "__edd_e__": `S"Employee"`,
		"gsi1pk": `S"$app#v1#employee#t-acme"`, "gsi1sk": `S"$app#v1#employee#Engineering#emp-alice"`,
		"employeeId": `S"emp-alice"`, "tenantId": `S"t-acme"`, "department": `S"Engineering"`, "displayName": `S"Alice"`,
		"salary": `N100`, "version": `N1`,
		"createdAt": `S"2024-05-06T07:08:09.123456789Z"`, "updatedAt": `S"2024-05-06T07:08:09.123456789Z"`,
	}, it, "seenAt, hiredBy and nickname are omitempty and absent; there is no _pv for payload 1")
}

func TestCreate_ReturnsTheItemAsStored(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	got, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	require.Equal(t, dawn, got.CreatedAt)
	require.Equal(t, got.CreatedAt, got.UpdatedAt)
	require.EqualValues(t, 1, got.Version)
	again, err := s.Get(t.Context(), employeeKey("emp-alice"), entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, got, again)
}

func TestCreate_IgnoresOwnedFieldsAndLeavesTheCallersStructAlone(t *testing.T) {
	t.Parallel()
	_, s := open[Employee](t)
	v := alice()
	got, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, alice(), v)
	require.NotEqual(t, v.Version, got.Version)
	require.NotEqual(t, v.CreatedAt, got.CreatedAt)
}

// A condition is joined to the guard; it never stands instead of it.
func TestCreate_IfNeverReplacesTheGuard(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice())
	require.NoError(t, err)
	before := l.everything(t)
	other := alice()
	other.DisplayName = "Usurper"
	for name, cond := range map[string]entity.Cond{
		"a condition that holds": entity.Eq(&e.Salary, 100),
		"Or at the top":          entity.Or(entity.Eq(&e.Salary, 100), entity.Eq(&e.Salary, 1)),
		"Not":                    entity.Not(entity.Eq(&e.Salary, 1)),
		"Or inside And":          entity.And(entity.Exists(&e.DisplayName), entity.Or(entity.Eq(&e.Salary, 1), entity.Ne(&e.Salary, 1))),
	} {
		_, err := s.Create(t.Context(), other, entity.If(cond))
		require.ErrorIs(t, err, entity.ErrExists, name)
		require.NotErrorIs(t, err, entity.ErrConditionFailed, name)
	}
	require.Equal(t, before, l.everything(t))
}

func TestCreate_FailedIfOnAnAbsentItemIsErrCondition(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	e := entity.Fields[Employee]()
	_, err := s.Create(t.Context(), alice(), entity.If(entity.Exists(&e.DisplayName)))
	requireClass(t, err, entity.ErrConditionFailed, "Create")
	require.Empty(t, l.everything(t))
	_, err = s.Create(t.Context(), alice(), entity.If(entity.NotExists(&e.DisplayName)))
	require.NoError(t, err)
}

func TestCreate_VerbatimItemsCarryNothingHidden(t *testing.T) {
	t.Parallel()
	l, s := open[Batch](t)
	seen := dawn.Truncate(time.Millisecond)
	_, err := s.Create(t.Context(), Batch{DeviceID: "d#1", Timestamp: 1714979289123, BatchID: "b-1", LastSeenAt: seen})
	require.NoError(t, err)
	require.Equal(t, map[string]raw{`S"d#1" S"1714979289123#b-1"`: {
		"device_id": `S"d#1"`, "ts_batch": `S"1714979289123#b-1"`, "timestamp_ms": "N1714979289123", "batch_id": `S"b-1"`,
		"last_seen_at": `S"2024-05-06T07:08:09.123Z"`, "created_at": `S"2024-05-06T07:08:09.123Z"`,
		"gsi1pk": `S"devices"`, "gsi1sk": `S"2024-05-06T07:08:09.123Z"`,
		"gsi2pk": `S"d#1"`, "gsi2sk": `S"2024-05-06T07:08:09.123Z"`,
	}}, l.everything(t), "values stand in verbatim keys as they are")
}
