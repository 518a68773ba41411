package storm_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// crowded is an item with more deleted copies than one transaction can remove, all with the address of its first life, but
// for the oldest of them, which have that of a life before.
func crowded(t *testing.T) *world[Bin] {
	w := open[Bin](t, dbtest.Attempts(1))
	w.add("a", "a@x", "1")
	w.remove("a")
	var pattern item
	for _, it := range w.Items() {
		if text(it, "_k") == "d" {
			pattern = it
		}
	}
	require.NotNil(t, pattern)
	for i := range 150 {
		it := maps.Clone(pattern)
		at := time.Date(2100, 1, 1, 0, i, 0, 0, time.UTC).Format(fixed)
		it["deletedAt"] = dbtest.S(at)
		it["sk"] = dbtest.S("$app#v1#bin#deleted#" + at)
		it["_w"] = dbtest.S(fmt.Sprint("w", i))
		if i < 10 {
			it["email"] = dbtest.S("old@x")
		}
		w.PutItem(it)
	}
	w.sound()
	return w
}

// dropping refuses every writing request after the first n.
func dropping(n int) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if isWrite(r) {
			if n--; n < 0 {
				return faults.Drop
			}
		}
		return faults.None
	}
}

// A purge that takes several transactions can be stopped between them: the current item keeps its address until it goes.
func TestPurge_StoppedHalfwayLeavesTheLiveItemItsEmail(t *testing.T) {
	t.Parallel()
	w := crowded(t)
	w.add("a", "a@x", "2")
	for n := 0; ; n++ {
		w.Wire.Reset()
		w.Wire.Inject(dropping(n))
		err := w.Purge(w.Ctx, w.key("a"))
		w.Wire.Inject(nil)
		w.sound()
		if err == nil {
			break
		}
		_, there := w.current("a")
		require.True(t, there, "it goes last")
		require.Less(t, n, 5)
	}
	require.Empty(t, w.Items())
	for _, r := range w.Wire.Requests() {
		require.False(t, slices.Contains([]string{"PutItem", "UpdateItem"}, r.Operation))
	}
}

// Between two of those transactions, or before the first, the item begins a new life with the address of its copies.
func TestPurge_OfManyCopiesLeavesALifeThatBeganMeanwhileItsEmail(t *testing.T) {
	t.Parallel()
	w := crowded(t)
	transactions := 0
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		if isWrite(r) {
			if transactions++; transactions > 1 {
				return faults.Drop // stopped after what the create overtook
			}
		}
		return faults.None
	})
	require.Error(t, w.overtake(func() error { return w.Purge(w.Ctx, w.key("a")) }, func() { w.add("a", "a@x", "2") }))
	w.sound()
	_, there := w.current("a")
	require.True(t, there)
	w.Wire.Inject(nil)
	require.NoError(t, w.look.Purge(w.Ctx, w.key("a")))
	require.Empty(t, w.Items())
}

// A life that begins before the first of those transactions has a value of the copies which that one removes.
func TestPurge_OfManyCopiesTakesNoValueOfALifeThatBeganMeanwhile(t *testing.T) {
	t.Parallel()
	w := crowded(t)
	require.ErrorIs(t, w.overtake(func() error { return w.Purge(w.Ctx, w.key("a")) }, func() { w.add("a", "old@x", "2") }), entity.ErrConflict)
	require.Len(t, w.sound().sentinels, 1)
	_, there := w.current("a")
	require.True(t, there)
}
