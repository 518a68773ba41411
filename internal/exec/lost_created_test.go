package exec_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestLost_AnUpsertDoesNotTakeAnEqualClockReadingForItsOwn(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Status: "paid"}) // at the clock reading of the upsert
	s.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	_, _, err := s.orders.Upsert(t.Context(), Order{ID: "o", Status: "paid"})
	require.True(t, entity.IsAmbiguous(err), "who created the item is unknown")
}

func TestLost_AnUpsertIsProvenToHaveMergedByWhatItDidNotWrite(t *testing.T) {
	s := newShop(t, nil)
	s.create(Order{ID: "o", Status: "open", Note: "n"})
	s.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
	got, created, err := s.orders.Upsert(t.Context(), Order{ID: "o", Status: "paid"})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, "n", got.Note)
	require.Equal(t, "paid", got.Status)
}

func TestLost_AnUpsertOfAVersionedItemKnowsWhetherItCreated(t *testing.T) {
	s := newShop(t, nil)
	for version, want := range []bool{true, false} {
		s.wire.Inject(faults.Nth(1, faults.Lost, "UpdateItem"))
		got, created, err := s.counted.Upsert(t.Context(), Counted{ID: "c", Name: "x"})
		require.NoError(t, err)
		require.Equal(t, want, created)
		require.EqualValues(t, version+1, got.Version)
	}
}
