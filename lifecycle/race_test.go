package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// A copy that was the newest when the restore read it may have become an older one when the restore is written.
func TestRestore_ANewerCopyThatWasMadeMeanwhileCounts(t *testing.T) {
	t.Parallel()
	life := func(h *lab, s *entity.Store[Account], owner string) {
		entity.Must(s.Create(t.Context(), Account{ID: "a", Owner: owner}))
		h.Clock.Move(time.Second)
		require.NoError(t, s.Delete(t.Context(), Account{ID: "a"}))
	}
	for _, c := range []struct {
		name   string
		before func(h *lab, s *entity.Store[Account])
		move   func(h *lab, s *entity.Store[Account])
		left   int // copies that have not expired
	}{
		{"a deleted current item", func(h *lab, s *entity.Store[Account]) {
			life(h, s, "old")
			entity.Must(s.Create(t.Context(), Account{ID: "a", Owner: "new"}))
		}, func(h *lab, s *entity.Store[Account]) {
			require.NoError(t, s.Delete(t.Context(), Account{ID: "a"}))
		}, 1},
		{"a life", func(h *lab, s *entity.Store[Account]) { life(h, s, "old") }, func(h *lab, s *entity.Store[Account]) { life(h, s, "new") }, 1},
		{"two lives", func(h *lab, s *entity.Store[Account]) { life(h, s, "old") }, func(h *lab, s *entity.Store[Account]) {
			life(h, s, "middle")
			life(h, s, "new")
		}, 2},
		{"a life after an expired copy", func(h *lab, s *entity.Store[Account]) {
			life(h, s, "old")
			h.Clock.Move(-20 * day)
			life(h, s, "expired")
			h.Clock.Move(35 * day)
		}, func(h *lab, s *entity.Store[Account]) { life(h, s, "new") }, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h, s := open[Account](t)
			deleted := entity.Must(lifecycle.Of(s))
			others, _ := unwatched[Account](t, h)
			c.before(h, others)
			var got Account
			require.NoError(t, h.Overtake(dbtest.First(dbtest.Is("TransactWriteItems")), func() (err error) {
				got, err = deleted.Restore(t.Context(), Account{ID: "a"})
				return err
			}, func() { c.move(h, others) }))
			require.Equal(t, "new", got.Owner)
			require.Equal(t, 2, h.Wire.Count("TransactWriteItems"))
			require.Equal(t, c.left, entity.Must(deleted.List(Account{ID: "a"}).Count(t.Context())))
		})
	}
}

// A copy that the caller chose is restored, whatever became the newest one. The mark that a later delete leaves on it, the
// write id, is no part of its content.
func TestRestoreCopy_OfACopyThatIsNoLongerTheNewest(t *testing.T) {
	t.Parallel()
	h, s := open[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	others, copies := unwatched[Page](t, h)
	entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "old"}))
	require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
	chosen := entity.Must(copies.Get(t.Context(), Page{ID: "p"}))
	beforeWrite(h.Wire, func() {
		entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "new"}))
		require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
		again := entity.Must(copies.List(Page{ID: "p"}).Collect(t.Context()))
		require.Len(t, again, 2)
		require.Equal(t, chosen, again[1])
	})
	got := entity.Must(deleted.RestoreCopy(t.Context(), chosen))
	require.Equal(t, "old", got.Text)
	newest := entity.Must(deleted.Get(t.Context(), Page{ID: "p"}))
	require.Equal(t, "new", newest.Item.Text)
}

// DynamoDB may remove the newest copy, which has expired, before the delete that marks it is written.
func TestDelete_TheNewestCopyMayBeRemovedMeanwhile(t *testing.T) {
	t.Parallel()
	h, s := open[Account](t)
	ctx, key := t.Context(), Account{ID: "a"}
	others, copies := unwatched[Account](t, h)
	entity.Must(others.Create(ctx, Account{ID: "a", Owner: "old"}))
	require.NoError(t, others.Delete(ctx, key))
	expired := h.Items()[0]
	h.Clock.Move(31 * day)
	entity.Must(others.Create(ctx, Account{ID: "a", Owner: "new"}))
	beforeWrite(h.Wire, func() { h.RemoveItem(expired) })
	require.NoError(t, s.Delete(ctx, key))
	require.Len(t, h.Items(), 1)
	require.Equal(t, "new", entity.Must(copies.Get(ctx, key)).Item.Owner)
}

// writesOfPage are writes of an existing page with the text x, and its text after them.
var writesOfPage = map[string]struct {
	write func(context.Context, *entity.DB, *entity.Store[Page]) error
	text  string
}{
	"Update": {func(ctx context.Context, _ *entity.DB, s *entity.Store[Page]) error {
		_, err := s.Update(ctx, Page{ID: "p"}, entity.Set(&entity.Fields[Page]().Text, "y"))
		return err
	}, "y"},
	"Modify": {func(ctx context.Context, _ *entity.DB, s *entity.Store[Page]) error {
		_, err := s.Modify(ctx, Page{ID: "p"}, func(p *Page) error { p.Text += "y"; return nil })
		return err
	}, "xy"},
	"Delete": {func(ctx context.Context, _ *entity.DB, s *entity.Store[Page]) error {
		return s.Delete(ctx, Page{ID: "p"})
	}, ""},
	"Transact": {func(ctx context.Context, db *entity.DB, s *entity.Store[Page]) error {
		return db.Transact(ctx, s.Op().Update(Page{ID: "p"}, entity.Set(&entity.Fields[Page]().Text, "y")), s.Op().Create(Page{ID: "q"}))
	}, "y"},
	"Transact after a read": {func(ctx context.Context, db *entity.DB, s *entity.Store[Page]) error {
		return db.Transact(ctx, s.Op().Delete(Page{ID: "p"}), s.Op().Create(Page{ID: "q"}))
	}, ""},
}

// explains matches the query that finds out what a missing item has become: it reads the last item alone.
func explains(r faults.Request) bool {
	return r.Operation == "Query" && bytes.Contains(r.Body, []byte(`"Limit":1`)) && bytes.Contains(r.Body, []byte(`"ScanIndexForward":false`))
}

// An item that is deleted when a write is refused, and restored before the write finds out why, was there all the time: "not
// found" would be false.
func TestWrites_OfAnItemThatIsRestoredMeanwhile(t *testing.T) {
	t.Parallel()
	for name, c := range writesOfPage {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := open[Page](t)
			others, copies := unwatched[Page](t, h)
			entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "x"}))
			require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
			require.NoError(t, h.Overtake(dbtest.First(explains), func() error { return c.write(t.Context(), h.DB, s) }, func() {
				entity.Must(copies.Restore(t.Context(), Page{ID: "p"}))
			}))
			got, err := others.Get(t.Context(), Page{ID: "p"}, entity.Consistent())
			if c.text == "" {
				require.ErrorIs(t, err, entity.ErrNotFound)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.text, got.Text)
		})
	}
}

// An item that is restored and deleted again and again was never missing either.
func TestWrites_OfAnItemThatComesAndGoes(t *testing.T) {
	t.Parallel()
	h := newLab(t, dbtest.Attempts(3))
	s := dbtest.Declare[Page](t, h.DB)
	h.CreateTables()
	others, copies := unwatched[Page](t, h)
	entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "x"}))
	require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
	there := false
	h.Wire.Inject(func(r faults.Request) faults.Fault {
		switch {
		case explains(r) && !there:
			entity.Must(copies.Restore(t.Context(), Page{ID: "p"}))
			there = true
		case !explains(r) && there:
			require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
			there = false
		}
		return faults.None
	})
	_, err := s.Update(t.Context(), Page{ID: "p"}, entity.Set(&entity.Fields[Page]().Text, "y"))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrNotFound)
}

// If an earlier attempt may still be applied, a write is not made again, since it could then count twice.
func TestWrites_ThatMayBeAppliedAreNotPlannedAgain(t *testing.T) {
	t.Parallel()
	h, s := open[Page](t)
	others, copies := unwatched[Page](t, h)
	entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "x"}))
	require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
	n := 0
	h.Wire.Inject(func(r faults.Request) faults.Fault {
		switch {
		case r.Operation == "TransactWriteItems":
			if n++; n == 1 {
				return faults.Late
			}
		case explains(r):
			entity.Must(copies.Restore(t.Context(), Page{ID: "p"}))
		}
		return faults.None
	})
	_, err := s.Update(t.Context(), Page{ID: "p"}, entity.Set(&entity.Fields[Page]().Text, "y"), entity.Idempotent())
	require.True(t, entity.IsAmbiguous(err))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, "x", entity.Must(others.Get(t.Context(), Page{ID: "p"}, entity.Consistent())).Text)
}

// A function of Modify that finds nothing elsewhere is not called again because its own item exists.
func TestModify_ItsFunctionMayFindNothing(t *testing.T) {
	t.Parallel()
	h, s := open[Page](t)
	entity.Must(s.Create(t.Context(), Page{ID: "p", Text: "x"}))
	calls := 0
	_, err := s.Modify(h.Ctx, Page{ID: "p"}, func(*Page) error {
		calls++
		_, err := s.Get(h.Ctx, Page{ID: "q"})
		return errors.Join(errors.New("looked elsewhere"), err)
	})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, 1, calls)
	_, err = s.Modify(h.Ctx, Page{ID: "p"}, func(*Page) error {
		calls++
		_, err := s.Update(h.Ctx, Page{ID: "q"}, entity.Set(&entity.Fields[Page]().Text, "y"))
		return err
	})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, 2, calls)
}
