package entity_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// bill opens ShapePlain on a table whose reports are kept.
func bill(t *testing.T) (*lab, *entity.Store[ShapePlain], func() entity.Report) {
	t.Helper()
	var reports []entity.Report
	l, s := open[ShapePlain](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	return l, s, func() entity.Report {
		t.Helper()
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		reports = nil
		require.Len(t, l.sent(), r.Requests, "the report counts the requests that were sent")
		return r
	}
}

// An item of three write units and one read unit, which no index copies: each verb is charged for one write of it.
func TestVerbTable_WriteAndReadUnitsOfEachVerb(t *testing.T) {
	t.Parallel()
	l, s, last := bill(t)
	f := entity.Fields[ShapePlain]()
	key := ShapePlain{ID: "a"}
	whole := ShapePlain{ID: "a", Facts: Facts{Title: "t", Note: strings.Repeat("n", 2500)}}
	for _, c := range []struct {
		verb        string
		run         func() error
		requests    int
		write, read float64
	}{
		{"Create", func() error { _, err := s.Create(t.Context(), whole); return err }, 1, 3, 0},
		{"Put", func() error { _, err := s.Put(t.Context(), whole); return err }, 1, 3, 0},
		{"Upsert", func() error { _, _, err := s.Upsert(t.Context(), whole); return err }, 1, 3, 0},
		{"Update", func() error { _, err := s.Update(t.Context(), key, entity.Set(&f.Title, "u")); return err }, 1, 3, 0},
		{"Modify", func() error {
			_, err := s.Modify(t.Context(), key, func(v *ShapePlain) error { v.Count++; return nil })
			return err
		}, 2, 3, 1},
		{"Touch", func() error { _, err := s.Touch(t.Context(), key, &f.SeenAt, time.Hour); return err }, 1, 3, 0},
		{"Get", func() error { _, err := s.Get(t.Context(), key); return err }, 1, 0, 0.5},
		{"Get", func() error { _, err := s.Get(t.Context(), key, entity.Consistent()); return err }, 1, 0, 1},
		{"GetMany", func() error { _, err := s.GetMany(t.Context(), []ShapePlain{key}); return err }, 1, 0, 0.5},
		{"Query", func() error { _, err := s.Query(key).Collect(t.Context()); return err }, 1, 0, 0.5},
		{"Query", func() error { _, err := s.Query(key).Count(t.Context()); return err }, 1, 0, 0.5},
		{"TransactGet", func() error { v := key; return l.db.TransactGet(t.Context(), s.Op().GetInto(&v)) }, 1, 0, 2},
		{"Transact", func() error {
			return l.db.Transact(t.Context(), s.Op().Update(key, entity.Set(&f.Title, "v")), s.Op().Create(ShapePlain{ID: "b"}))
		}, 1, 2*3 + 2*1, 0},
		{"Transact", func() error { return l.db.Transact(t.Context(), s.Op().Delete(ShapePlain{ID: "b"})) }, 1, 1, 0},
		{"Update", func() error {
			_, err := s.Update(t.Context(), key, entity.Add(&f.Count, 1), entity.Idempotent())
			return err
		}, 2, 6, 1},
		{"Delete", func() error { return s.Delete(t.Context(), key) }, 1, 3, 0},
	} {
		l.wire.Reset()
		require.NoError(t, c.run(), c.verb)
		r := last()
		require.Equal(t, c.verb, r.Verb)
		require.Equal(t, []float64{float64(c.requests), c.write, c.read}, []float64{float64(r.Requests), r.WriteUnits, r.ReadUnits}, c.verb)
		require.NoError(t, r.Err)
	}
}

// What cannot be done costs at most the one request that finds it out, once a refusal has shown that the client does not
// hide items, and a mistake in the arguments costs none.
func TestVerbTable_FailuresCostOneRequestAndMistakesNone(t *testing.T) {
	t.Parallel()
	l, s, last := bill(t)
	f := entity.Fields[ShapePlain]()
	gone, none := ShapePlain{ID: "gone"}, ShapePlain{}
	for _, want := range []error{nil, entity.ErrExists} {
		_, err := s.Create(t.Context(), ShapePlain{ID: "there"})
		require.ErrorIs(t, err, want)
		last()
	}
	for verb, run := range map[string]func(key ShapePlain) error{
		"Update": func(k ShapePlain) error { _, err := s.Update(t.Context(), k, entity.Set(&f.Title, "u")); return err },
		"Modify": func(k ShapePlain) error {
			_, err := s.Modify(t.Context(), k, func(*ShapePlain) error { return nil })
			return err
		},
		"Delete": func(k ShapePlain) error { return s.Delete(t.Context(), k) },
		"Touch":  func(k ShapePlain) error { _, err := s.Touch(t.Context(), k, &f.SeenAt, 0); return err },
		"Get":    func(k ShapePlain) error { _, err := s.Get(t.Context(), k); return err },
	} {
		require.ErrorIs(t, run(gone), entity.ErrNotFound, verb)
		r := last()
		require.Equal(t, []any{verb, 1}, []any{r.Verb, r.Requests})
		require.ErrorIs(t, r.Err, entity.ErrNotFound)
		requireInput(t, run(none), "EDD-9101", "ID")
		r = last()
		require.Equal(t, []any{verb, 0}, []any{r.Verb, r.Requests})
		requireInput(t, r.Err, "EDD-9101", "ID")
	}
	_, err := s.GetMany(t.Context(), []ShapePlain{gone, none})
	requireInput(t, err, "EDD-9101", "ID")
	r := last()
	require.Equal(t, []any{"GetMany", 0, err}, []any{r.Verb, r.Requests, r.Err})
	err = l.db.TransactGet(t.Context(), s.Op().GetInto(&none))
	requireInput(t, err, "EDD-9101", "ID")
	r = last()
	require.Equal(t, []any{"TransactGet", 0, err}, []any{r.Verb, r.Requests, r.Err})
}

// Touch that is not due is told so by the request that would have written, and leaves the item as it was.
func TestVerbTable_TouchThatIsNotDueCostsOneRequest(t *testing.T) {
	t.Parallel()
	for name, open := range stages() {
		t.Run(name, func(t *testing.T) {
			st := open(t)
			st.seed(t)
			touch := st.cell("Touch")
			require.NoError(t, touch.alone(t.Context()))
			before := st.everything(t)
			st.wire.Reset()
			st.clock.move(30 * time.Second) // of the minute that the row asks for
			require.NoError(t, touch.alone(t.Context()))
			require.Equal(t, []string{"UpdateItem"}, st.sent())
			require.Equal(t, before, st.everything(t))
		})
	}
}
