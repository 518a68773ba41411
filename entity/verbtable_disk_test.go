package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// requireOnDisk checks that the item is exactly what the verb's row says: its facts, its version, the times, what is set
// once, the index keys, and an attribute that the model does not know. before is nil when there was none.
func requireOnDisk(t *testing.T, st *stage, c cell, before raw) {
	t.Helper()
	now, got := st.clock.now(), st.stored(t, st.at)
	var want *Facts
	var image raw
	switch {
	case before == nil:
		if want = c.after(nil, now); want != nil {
			image = st.image(*want, "1", now, now, c.first)
		}
	case c.keeps:
		want = c.after(&firstFacts, now)
		image = st.image(*want, "1", st.born, st.born, "f1")
	default:
		if want = c.after(&firstFacts, now); want != nil {
			image = st.image(*want, "2", st.born, now, "f1")
		}
	}
	if want == nil {
		require.Nil(t, got)
		return
	}
	if before != nil {
		image["legacy"] = "N" + legacy
	}
	require.Equal(t, image, without(got, "_w"))
	if !st.hidden {
		require.NotContains(t, got, "_w")
		return
	}
	id := got["_w"]
	require.True(t, st.ids.has(id[2:len(id)-1]), "the write id comes from Config.NewID")
	if before != nil && c.writes {
		require.NotEqual(t, before["_w"], id, "each write has an id of its own")
	} else if before != nil {
		require.Equal(t, before["_w"], id, "nothing was written")
	}
}

func TestVerbTable_OnDiskAfterEachVerbAlone(t *testing.T) {
	t.Parallel()
	atEach(t, everyCell, func(t *testing.T, st *stage, c cell, live bool, want error) {
		if want != nil {
			return // nothing changes: see TestVerbTable_EveryCellAlone
		}
		before := st.stored(t, st.at)
		require.Equal(t, live, before != nil)
		require.NoError(t, c.alone(t.Context()))
		requireOnDisk(t, st, c, before)
	})
}

// The other route leaves the same bytes.
func TestVerbTable_OnDiskAfterEachVerbInATransaction(t *testing.T) {
	t.Parallel()
	atEach(t, asValue, func(t *testing.T, st *stage, c cell, live bool, want error) {
		if want != nil {
			return
		}
		before := st.stored(t, st.at)
		require.Equal(t, live, before != nil)
		require.NoError(t, st.db.Transact(t.Context(), c.op(), st.beside()))
		requireOnDisk(t, st, c, before)
	})
}

// Result gives what the plan determines: what was given, and the key; the whole item where it was read or made.
func TestVerbTable_ResultAfterATransactionIsWhatThePlanDetermines(t *testing.T) {
	t.Parallel()
	returns := func(c cell) bool { return c.result != nil }
	atEach(t, returns, func(t *testing.T, st *stage, c cell, live bool, want error) {
		op := c.op()
		require.Zero(t, c.result(op), "there is no result yet")
		err := st.db.Transact(t.Context(), op, st.beside())
		if want != nil {
			requireOnly(t, err, want, c.verb)
			require.Zero(t, c.result(op), "nor after a failure")
			return
		}
		require.NoError(t, err)
		got := c.result(op)
		switch {
		case c.verb == "Create":
			require.Equal(t, firstFacts, got)
		case c.reads && live:
			require.Equal(t, *c.after(&firstFacts, st.clock.now()), got, "the plan has read the item")
		default:
			require.Equal(t, secondFacts, got, "what is kept as stored is not known, and zero")
		}
	})
}

// What the library owns cannot be changed, on either route, and that is found before any request.
func TestVerbTable_ChangesOfOwnedFieldsAreRefusedOnBothRoutes(t *testing.T) {
	t.Parallel()
	st := rolesShape().open(t)
	st.seed(t)
	st.wire.Reset()
	require.NotEmpty(t, st.owned)
	for _, make := range st.owned {
		for _, ops := range [][]entity.Op{{make()}, {st.beside(), make()}} {
			err := st.db.Transact(t.Context(), ops...)
			bad := entity.FailureOf(err, ops[len(ops)-1])
			var in *entity.InputError
			require.ErrorAs(t, bad, &in)
			require.Equal(t, "EDD-9104", in.Code)
			require.Empty(t, st.sent())
		}
	}
}
