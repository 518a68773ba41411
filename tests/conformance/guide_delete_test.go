package conformance_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
)

const nanos = "2006-01-02T15:04:05.000000000Z"

func TestGuide_DeleteMovesTheSortKeyAndLeavesEveryIndex(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	before := g.alice(t, "")
	at := g.delete(t)
	require.Nil(t, g.alice(t, ""))
	copied := g.alice(t, "#deleted#"+at.Format(nanos))
	require.NotNil(t, copied, "in the same partition")
	require.Contains(t, before, "gsi1pk")
	require.NotContains(t, copied, "gsi1pk")
	require.NotContains(t, copied, "gsi1sk")
	require.Equal(t, dbtest.S(at.Format(nanos)), copied["deletedAt"])
	require.Equal(t, dbtest.N(strconv.FormatInt(at.Unix()+30*86400, 10)), copied["_ttl"], "DynamoDB removes it after 30 days")
	for _, name := range []string{"email", "displayName", "department", "tenantId", "createdAt", "employeeId"} {
		require.Equal(t, before[name], copied[name], name)
	}
}

func TestGuide_VisibilityAfterDeletion(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	at := g.delete(t)
	_, err := g.s.Get(t.Context(), g.key)
	require.ErrorIs(t, err, entity.ErrNotFound)
	tenant := Employee{Staff: Staff{TenantID: "t-acme"}}
	found, err := g.byTen.Query(tenant).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "no index")
	found, err = g.s.Query(g.key).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "no query of the partition")
	found, err = g.s.Scan().Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, found, "no scan")
	many, err := g.s.GetMany(t.Context(), []Employee{g.key})
	require.NoError(t, err)
	require.Nil(t, many[0])
	copied, err := g.bin.Get(t.Context(), g.key)
	require.NoError(t, err)
	require.Equal(t, "Alice Baker", copied.Item.DisplayName)
	require.Equal(t, at, copied.DeletedAt)
	require.Equal(t, at.Truncate(time.Second).Add(30*24*time.Hour), copied.ExpiresAt)
	list, err := g.bin.List(g.key, entity.Limit(20)).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []lifecycle.DeletedItem[Employee]{copied}, list)
}

func TestGuide_RestoreComposesEveryIndexKeyAnew(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	before := g.alice(t, "")
	g.delete(t)
	restored, err := g.bin.Restore(t.Context(), g.key)
	require.NoError(t, err)
	require.Equal(t, "Alice Baker", restored.DisplayName)
	require.EqualValues(t, 4, restored.Version)
	it := g.alice(t, "")
	require.Equal(t, before["gsi1pk"], it["gsi1pk"])
	require.Equal(t, before["gsi1sk"], it["gsi1sk"])
	require.NotContains(t, it, "deletedAt")
	require.NotContains(t, it, "_ttl")
	require.NotContains(t, it, "_k")
	found, err := g.byTen.Query(Employee{Staff: Staff{TenantID: "t-acme"}}).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []Employee{restored}, found)
	list, err := g.bin.List(g.key).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
}

func TestGuide_RestoreOfWhatIsNotThereIsNotFound(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	_, err := g.bin.Restore(t.Context(), Employee{Staff: Staff{EmployeeID: "emp-nobody"}})
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = g.bin.Get(t.Context(), g.key)
	require.ErrorIs(t, err, entity.ErrNotFound, "alice is not deleted")
}

func TestGuide_FreePolicyGivesTheValueUpAtOnce(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[EmployeeFree](t)
	bin := entity.Must(lifecycle.Of(s))
	alice, err := s.Create(t.Context(), EmployeeFree{Staff: aliceStaff})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), alice))
	require.Empty(t, owners(l))
	bob := bobStaff
	bob.Email = alice.Email
	_, err = s.Create(t.Context(), EmployeeFree{Staff: bob})
	require.NoError(t, err)
	before := l.ItemsByKey()
	_, err = bin.Restore(t.Context(), alice)
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)
	require.Equal(t, "$app#v1#employee#emp-bob", violation.Owner.PK)
	require.Equal(t, before, l.ItemsByKey())
	require.NoError(t, s.Delete(t.Context(), EmployeeFree{Staff: bob}))
	_, err = bin.Restore(t.Context(), alice)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"$employee.email#alice@acme.com": "$employee#emp-alice"}, owners(l))
}

func TestGuide_ReservePolicyKeepsTheValueUntilThePurge(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[EmployeeReserve](t)
	bin := entity.Must(lifecycle.Of(s))
	alice, err := s.Create(t.Context(), EmployeeReserve{Staff: aliceStaff})
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), alice))
	bob := bobStaff
	bob.Email = alice.Email
	_, err = s.Create(t.Context(), EmployeeReserve{Staff: bob})
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation, "in the bin the value stays locked")
	_, err = bin.Restore(t.Context(), alice)
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), alice))
	require.NoError(t, bin.Purge(t.Context(), alice))
	_, err = s.Create(t.Context(), EmployeeReserve{Staff: bob})
	require.NoError(t, err, "the purge has given it up")
}

func TestGuide_PurgeRemovesTheItemAndAllItsSatellites(t *testing.T) {
	t.Parallel()
	for _, inBin := range []bool{false, true} {
		l, s := dbtest.OpenStore[EmployeeReserve](t)
		bob, err := s.Create(t.Context(), EmployeeReserve{Staff: bobStaff})
		require.NoError(t, err)
		left := l.ItemsByKey()
		alice, err := s.Create(t.Context(), EmployeeReserve{Staff: aliceStaff})
		require.NoError(t, err)
		l.Clock.Move(time.Second)
		_, err = s.Update(t.Context(), alice, entity.Set(&entity.Fields[EmployeeReserve]().Email, "alice2@acme.com"))
		require.NoError(t, err)
		if inBin {
			require.NoError(t, s.Delete(t.Context(), alice))
		}
		require.GreaterOrEqual(t, len(l.ItemsByKey()), len(left)+3)
		require.NoError(t, s.Purge(t.Context(), alice))
		require.Equal(t, left, l.ItemsByKey(), "what is bob's stays")
		require.NoError(t, s.Purge(t.Context(), alice), "there is nothing left, which is no error")
		require.Equal(t, "Bob", bob.DisplayName)
	}
}

func sortKeys(items map[string]dbtest.Item) []string {
	return slices.Sorted(maps.Keys(items))
}
