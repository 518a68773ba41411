package entity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestObserve_TellsWhatEachVerbCost(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	p := entity.Fields[Profile]()
	last := func() entity.Report {
		t.Helper()
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		reports = nil
		require.Len(t, l.sent(), r.Requests)
		return r
	}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	r := last()
	require.Equal(t, []any{"Create", "Profile", 1, nil}, []any{r.Verb, r.Entity, r.Requests, r.Err})
	require.Positive(t, r.WriteUnits)
	require.Zero(t, r.ReadUnits)

	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 2))
	require.NoError(t, err)
	r = last()
	require.Equal(t, []any{"Update", 2}, []any{r.Verb, r.Requests})
	require.Positive(t, r.WriteUnits)
	require.Positive(t, r.ReadUnits)

	_, err = s.Create(t.Context(), Profile{ID: "a"})
	r = last()
	require.Equal(t, err, r.Err)
	require.ErrorIs(t, r.Err, entity.ErrExists)

	_, err = s.Query(Profile{ID: "a"}).Collect(t.Context())
	require.NoError(t, err)
	r = last()
	require.Equal(t, []any{"Query", "Profile", 1}, []any{r.Verb, r.Entity, r.Requests})

	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Profile{ID: "b"}), s.Op().Require(Profile{ID: "a"})))
	r = last()
	require.Equal(t, []any{"Transact", "", 1}, []any{r.Verb, r.Entity, r.Requests})
	require.Positive(t, r.WriteUnits)
}
