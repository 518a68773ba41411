package exec_test

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestLostTransaction_ARefusalAfterALostAttemptIsAmbiguous(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Transact", "TransactWithToken"} {
		t.Run(name, func(t *testing.T) {
			s := newShop(t, nil)
			s.wire.Inject(faults.Nth(1, faults.Late, "TransactWriteItems"))
			s.between(2, "TransactWriteItems", func() { s.create(Order{ID: "o", Note: "theirs"}) })
			one, two := s.orders.Op().Create(Order{ID: "o", Note: "ours"}), s.counted.Op().Create(Counted{ID: "c"})
			var err error
			if name == "Transact" {
				err = s.db.Transact(t.Context(), one, two)
			} else {
				err = s.db.TransactWithToken(t.Context(), entity.Token{ID: rand.Text(), At: noon}, one, two)
			}
			require.ErrorIs(t, err, entity.ErrExists)
			require.True(t, entity.IsAmbiguous(err), "%v", err)
			require.True(t, entity.IsAmbiguous(entity.FailureOf(err, one)))
			require.NoError(t, s.others.orders.Delete(t.Context(), Order{ID: "o"}))
			_, err = s.wire.Deliver()
			require.NoError(t, err)
			got, _ := s.stored("o")
			require.Equal(t, "ours", got.Note, "the first attempt was applied after all")
		})
	}
}

func TestLostTransaction_AConditionGoneForGoodIsPlannedAgain(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Drop, faults.Late} {
		t.Run(fault.String(), func(t *testing.T) {
			s := newShop(t, nil)
			f := entity.Fields[Kept]()
			_, err := s.others.kept.Create(t.Context(), Kept{ID: "k", Name: "1"})
			require.NoError(t, err)
			s.wire.Inject(faults.Nth(1, fault, "TransactWriteItems"))
			s.between(2, "TransactWriteItems", func() {
				_, err := s.others.kept.Update(t.Context(), Kept{ID: "k"}, entity.Set(&f.Name, "2"))
				require.NoError(t, err)
			})
			got, err := s.kept.Update(t.Context(), Kept{ID: "k"}, entity.Set(&f.Name, "3"))
			require.NoError(t, err, "the first attempt can never pass")
			require.EqualValues(t, 3, got.Version)
			_, err = s.wire.Deliver()
			require.NoError(t, err)
			all, err := entity.Must(versioned.Of(s.others.kept)).List(Kept{ID: "k"}, versioned.WithCurrent()).Collect(t.Context())
			require.NoError(t, err)
			require.Len(t, all, 3)
		})
	}
}

func TestLostTransaction_TheCallersConditionOnAReadItemIsCertain(t *testing.T) {
	s := newShop(t, nil)
	f := entity.Fields[Kept]()
	_, err := s.others.kept.Create(t.Context(), Kept{ID: "k", Name: "1"})
	require.NoError(t, err)
	s.wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
	_, err = s.kept.Update(t.Context(), Kept{ID: "k"}, entity.Set(&f.Name, "3"), entity.If(entity.Eq(&f.Name, "2")))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.False(t, entity.IsAmbiguous(err))
}

func TestLostTransaction_ACheckThatWritesNothingIsNeverAmbiguous(t *testing.T) {
	s := newShop(t, nil, func(c *entity.Config) { c.MaxAttempts = 2 })
	s.wire.Inject(func(faults.Request) faults.Fault { return faults.Lost })
	err := s.db.Transact(t.Context(), s.orders.Op().CheckNotExists(Order{ID: "o"}), s.counted.Op().CheckNotExists(Counted{ID: "c"}))
	require.ErrorIs(t, err, faults.ErrInjected)
	require.False(t, entity.IsAmbiguous(err))
}
