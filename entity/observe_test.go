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

	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Profile{ID: "b"}), s.Op().CheckExists(Profile{ID: "a"})))
	r = last()
	require.Equal(t, []any{"Transact", "", 1}, []any{r.Verb, r.Entity, r.Requests})
	require.Positive(t, r.WriteUnits)
}

// A call that is refused before it does anything is reported like any other, and its error is a verb's.
func TestObserve_RefusedCallsAreReportedToo(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	foreign := declare[Profile](t, paper(t))
	v := Profile{ID: "a"}
	for name, call := range map[string]func() error{
		"Transact":                 func() error { return l.db.Transact(t.Context(), nil) },
		"Transact, foreign":        func() error { return l.db.Transact(t.Context(), s.Op().Create(v), foreign.Op().Create(v)) },
		"TransactWithToken":        func() error { return l.db.TransactWithToken(t.Context(), entity.Token{ID: "x", At: dawn}, nil) },
		"TransactWithToken, token": func() error { return l.db.TransactWithToken(t.Context(), entity.Token{}, s.Op().Create(v)) },
		"TransactGet":              func() error { return l.db.TransactGet(t.Context(), nil) },
		"TransactGet, foreign":     func() error { return l.db.TransactGet(t.Context(), foreign.Op().GetInto(&v)) },
		"TransactGet, too many":    func() error { return l.db.TransactGet(t.Context(), make([]entity.GetOp, 101)...) },
		"Create":                   func() error { _, err := s.Create(t.Context(), Profile{}); return err },
		"Get":                      func() error { _, err := s.Get(t.Context(), Profile{}); return err },
	} {
		reports = nil
		err := call()
		var verb *entity.Error
		require.ErrorAs(t, err, &verb, name)
		var bad *entity.InputError
		require.ErrorAs(t, err, &bad, name)
		require.Len(t, reports, 1, name)
		require.Equal(t, []any{verb.Verb, 0, err}, []any{reports[0].Verb, reports[0].Requests, reports[0].Err}, name)
		require.Empty(t, l.sent())
	}
	reports = nil
	require.NoError(t, l.db.Transact(t.Context()))
	require.NoError(t, l.db.TransactGet(t.Context()))
	require.Len(t, reports, 2, "a call that does nothing costs nothing, and is a call")
}
