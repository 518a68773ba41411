package conformance_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestGuide_VersionsLieBesideTheItemUnderPaddedNumbers(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	e := entity.Fields[Employee]()
	for _, name := range []string{"A", "B"} {
		_, err := g.s.Update(t.Context(), g.key, entity.Set(&e.DisplayName, name))
		require.NoError(t, err)
		g.Clock.Move(time.Second)
	}
	require.Equal(t, []string{
		alicePK + " " + employeeSK,
		alicePK + " " + employeeSK + "#v#0000001",
		alicePK + " " + employeeSK + "#v#0000002",
		alicePK + " " + employeeSK + "#v#0000003",
	}, sortKeys(g.ItemsByKey()))
	require.Equal(t, dbtest.N("4"), g.alice(t, "")["version"])
}

func TestGuide_AVersionIsReadByItsNumberAndListedTheNewestFirst(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	v1, err := g.history.Get(t.Context(), g.key, 1)
	require.NoError(t, err)
	require.Equal(t, "Alice", v1.Item.DisplayName)
	require.EqualValues(t, 1, v1.Item.Version)
	g.delete(t)
	_, err = g.bin.Restore(t.Context(), g.key)
	require.NoError(t, err)
	list, err := g.history.List(g.key, entity.Desc()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v3: Alice Baker (deleted), v2: Alice Baker, v1: Alice", listed(list))
}

func listed(list []versioned.Version[Employee]) string {
	text := ""
	for i, v := range list {
		if i > 0 {
			text += ", "
		}
		text += "v" + strconv.FormatInt(v.Number, 10) + ": " + v.Item.DisplayName
		if v.Deleted {
			text += " (deleted)"
		}
	}
	return text
}

func TestGuide_SnapshotsExpireAndTheCurrentItemNever(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	replaced := g.Clock.Now().Add(-time.Second)
	require.NotContains(t, g.alice(t, ""), "_ttl")
	require.Equal(t, dbtest.N(strconv.FormatInt(replaced.Unix()+90*86400, 10)), g.alice(t, "#v#0000001")["_ttl"], "90 days after it was replaced")
	at := g.delete(t)
	for _, suffix := range []string{"#v#0000002", "#v#0000003"} {
		require.Equal(t, dbtest.N(strconv.FormatInt(at.Unix()+90*86400, 10)), g.alice(t, suffix)["_ttl"], suffix)
	}
	_, err := g.bin.Restore(t.Context(), g.key)
	require.NoError(t, err)
	require.NotContains(t, g.alice(t, ""), "_ttl", "the copy's time to live does not come back with the item")
	_, err = g.s.Update(t.Context(), g.key, entity.Set(&entity.Fields[Employee]().DisplayName, "X"))
	require.NoError(t, err)
	require.NotContains(t, g.alice(t, ""), "_ttl")
}

func TestGuide_VersionsBeginAtOneAndCountEachMutation(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	require.Equal(t, dbtest.N("1"), g.alice(t, "#v#0000001")["version"])
	require.Equal(t, dbtest.N("2"), g.alice(t, "")["version"])
	updated, err := g.s.Update(t.Context(), g.key, entity.Set(&entity.Fields[Employee]().DisplayName, "X"))
	require.NoError(t, err)
	require.EqualValues(t, 3, updated.Version)
}

// Create, update, soft delete, restore: a complete audit trail.
func TestGuide_TheHistoryIsTheWholeLifecycle(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	g.delete(t)
	_, err := g.bin.Restore(t.Context(), g.key)
	require.NoError(t, err)
	trail, err := g.history.List(g.key, versioned.WithCurrent()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v1: Alice, v2: Alice Baker, v3: Alice Baker (deleted), v4: Alice Baker", listed(trail))
	for i, v := range trail {
		require.Equal(t, "alice@acme.com", v.Item.Email)
		require.Equal(t, dbtest.Start.Add(time.Duration(i)*time.Second), v.ValidFrom)
	}
	deletedMark := g.alice(t, "#v#0000003")["_deleted"]
	require.NotNil(t, deletedMark)
	require.NotContains(t, g.alice(t, "#v#0000002"), "_deleted")
	require.NotContains(t, g.alice(t, ""), "_deleted")
}

// The complete example of the guide, from the first line to the last.
func TestGuide_CompleteExample(t *testing.T) {
	t.Parallel()
	g := newGuide(t)
	g.delete(t)
	_, err := g.s.Get(t.Context(), g.key)
	require.ErrorIs(t, err, entity.ErrNotFound)
	copied, err := g.bin.Get(t.Context(), g.key)
	require.NoError(t, err)
	require.Equal(t, "Alice Baker", copied.Item.DisplayName)
	restored, err := g.bin.Restore(t.Context(), g.key)
	require.NoError(t, err)
	require.EqualValues(t, 4, restored.Version)
	list, err := g.history.List(g.key, entity.Desc()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, "v3: Alice Baker (deleted), v2: Alice Baker, v1: Alice", listed(list))
	require.NoError(t, g.s.Purge(t.Context(), g.key))
	require.Empty(t, g.ItemsByKey())
}
