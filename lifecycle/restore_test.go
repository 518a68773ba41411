package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Page is kept forever after it was deleted, and can be created again while it has copies.
type Page struct {
	_       entity.Key           `name:"Page" pk:"$#{id}" sk:"$"`
	_       versioned.Lock       ``
	_       lifecycle.SoftDelete ``
	ID      string               `dynamodbav:"id"`
	Text    string               `dynamodbav:"text,omitempty"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

// A write that expects a version says that the item was deleted, also where the entity declares nothing else.
func TestPut_ThatExpectsAVersionOfADeletedItem(t *testing.T) {
	_, s := open[Page](t)
	entity.Must(s.Create(t.Context(), Page{ID: "p"}))
	require.NoError(t, s.Delete(t.Context(), Page{ID: "p"}))
	for verb, err := range map[string]error{
		"Put":    dbtest.ErrorOf(s.Put(t.Context(), Page{ID: "p"}, versioned.Expect(1))),
		"Upsert": dbtest.ErrorOf(s.Upsert(t.Context(), Page{ID: "p"}, versioned.Expect(1))),
		"Update": dbtest.ErrorOf(s.Update(t.Context(), Page{ID: "p"}, versioned.Expect(1))),
	} {
		require.ErrorIs(t, err, entity.ErrNotFound, verb)
		require.ErrorIs(t, err, entity.ErrDeleted, verb)
		require.ErrorIs(t, err, entity.ErrConflict, verb)
	}
}

// Whatever moves an item between its current item and its copy during a restore: it existed all the time, so
// ErrNotFound would be false.
func TestRestore_FindsAnItemThatMovesBetweenItsReads(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]bool{"from the current item": false, "from the copy": true} {
		t.Run(name, func(t *testing.T) {
			h, s := open[Page](t)
			deleted := entity.Must(lifecycle.Of(s))
			others, copies := unwatched[Page](t, h)
			ctx, key := t.Context(), Page{ID: "p"}
			entity.Must(others.Create(ctx, Page{ID: "p", Text: "x"}))
			remove := func() { h.Clock.Move(time.Second); require.NoError(t, others.Delete(ctx, key)) }
			restore := func() { h.Clock.Move(time.Second); entity.Must(copies.Restore(ctx, key)) }
			moves := []func(){nil, remove, restore, remove}
			if start {
				remove()
				moves = []func(){restore, remove, restore, remove}
			} else {
				moves[0] = func() {}
			}
			made, err := between(t, h.Wire, reads, func() error { _, err := deleted.Restore(ctx, key); return err }, moves...)
			require.GreaterOrEqual(t, made, 2)
			require.NotErrorIs(t, err, entity.ErrNotFound)
			if err != nil {
				require.ErrorIs(t, err, entity.ErrNotDeleted)
			}
		})
	}
}

// One look at both places meets nothing while a transaction is applied: it is the second one that says there is nothing.
func TestRestore_OfNothingLooksTwice(t *testing.T) {
	h, s := open[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	require.ErrorIs(t, dbtest.ErrorOf(deleted.Restore(t.Context(), Page{ID: "p"})), entity.ErrNotFound)
	require.Equal(t, []string{"Query", "Query", "Query"}, h.Operations())
	others, _ := unwatched[Page](t, h)
	create := func() { entity.Must(others.Create(t.Context(), Page{ID: "p"})) }
	_, err := between(t, h.Wire, reads, func() error { _, err := deleted.Restore(t.Context(), Page{ID: "p"}); return err }, func() {}, func() {}, create)
	require.ErrorIs(t, err, entity.ErrNotDeleted)
}

// The clock of the second delete is behind that of the first. Its copy is still the newest.
func TestDelete_ALaterCopyComesAfterEarlierOnesWhateverTheClock(t *testing.T) {
	h, s := open[Page](t)
	deleted, ctx, key := entity.Must(lifecycle.Of(s)), t.Context(), Page{ID: "p"}
	var want []string
	for n, back := range []time.Duration{0, time.Hour, -time.Minute, 24 * time.Hour} {
		text := string(rune('a' + n))
		entity.Must(s.Create(ctx, Page{ID: "p", Text: text}))
		h.Clock.Move(-back)
		h.Operations()
		require.NoError(t, s.Delete(ctx, key))
		if n < 2 {
			require.Equal(t, []string{"Query", "TransactWriteItems"}, h.Operations(), "%d copies", n)
		} else {
			require.Equal(t, []string{"Query", "Query", "TransactWriteItems"}, h.Operations())
		}
		newest := entity.Must(deleted.Get(ctx, key))
		require.Equal(t, text, newest.Item.Text)
		want = append([]string{text}, want...)
	}
	copies := entity.Must(deleted.List(key).Collect(ctx))
	var got []string
	for i, c := range copies {
		got = append(got, c.Item.Text)
		require.True(t, i == 0 || c.DeletedAt.Before(copies[i-1].DeletedAt))
	}
	require.Equal(t, want, got)
	require.Equal(t, "d", entity.Must(deleted.Restore(ctx, key)).Text)
}

// A delete that is planned from what a handle holds reads the newest copy instead of the item.
func TestDelete_FromAHandleComesAfterEarlierCopiesToo(t *testing.T) {
	h, s := open[Page](t)
	deleted, ctx, key := entity.Must(lifecycle.Of(s)), t.Context(), Page{ID: "p"}
	entity.Must(s.Create(ctx, Page{ID: "p", Text: "first"}))
	require.NoError(t, s.Delete(ctx, key))
	entity.Must(s.Create(ctx, Page{ID: "p", Text: "second"}))
	var held entity.Image
	entity.Must(s.Get(ctx, key, entity.KeepImage(&held)))
	h.Clock.Move(-time.Hour)
	h.Operations()
	require.NoError(t, s.Delete(ctx, key, entity.FromImage(&held)))
	require.Equal(t, []string{"Query", "TransactWriteItems"}, h.Operations())
	newest := entity.Must(deleted.Get(ctx, key))
	require.Equal(t, "second", newest.Item.Text)
}

// lived returns a deleted item and a move that restores, changes and deletes it again while the clock stands still: the
// copy then has the same key as before and another content.
func lived(t *testing.T) (h *lab, s *entity.Store[Reserved], move func()) {
	t.Helper()
	h, s = open[Reserved](t)
	others, copies := unwatched[Reserved](t, h)
	ctx := t.Context()
	entity.Must(others.Create(ctx, Reserved{ID: "r", Email: "x"}))
	require.NoError(t, others.Delete(ctx, Reserved{ID: "r"}))
	first := entity.Must(copies.Get(ctx, Reserved{ID: "r"}))
	return h, s, func() {
		entity.Must(copies.Restore(ctx, Reserved{ID: "r"}))
		entity.Must(others.Update(ctx, Reserved{ID: "r"}, entity.Set(&entity.Fields[Reserved]().Email, "y")))
		require.NoError(t, others.Delete(ctx, Reserved{ID: "r"}))
		require.Equal(t, first.DeletedAt, entity.Must(copies.Get(ctx, Reserved{ID: "r"})).DeletedAt)
	}
}

// A copy under the key of the one that was read has a value that a purge of the latter would leave claimed forever.
func TestPurge_RemovesACopyOnlyAsItWasRead(t *testing.T) {
	h, s, move := lived(t)
	beforeWrite(h.Wire, move)
	require.NoError(t, s.Purge(t.Context(), Reserved{ID: "r"}))
	require.Empty(t, h.Items())
}

// The content of a copy that is gone must not come back over a later one.
func TestRestore_OfAnotherCopyUnderTheSameKey(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(context.Context, *lifecycle.Deleted[Reserved]) (Reserved, error){
		"the newest": func(ctx context.Context, deleted *lifecycle.Deleted[Reserved]) (Reserved, error) {
			return deleted.Restore(ctx, Reserved{ID: "r"})
		},
		"a chosen one": func(ctx context.Context, deleted *lifecycle.Deleted[Reserved]) (Reserved, error) {
			chosen, err := deleted.Get(ctx, Reserved{ID: "r"})
			if err != nil {
				return Reserved{}, err
			}
			return deleted.RestoreCopy(ctx, chosen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, s, move := lived(t)
			deleted := entity.Must(lifecycle.Of(s))
			beforeWrite(h.Wire, move)
			require.Equal(t, "y", entity.Must(restore(t.Context(), deleted)).Email)
			require.Len(t, h.Items(), 2, "the item and its sentinel")
		})
	}
}

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
		}, func(h *lab, s *entity.Store[Account]) { require.NoError(t, s.Delete(t.Context(), Account{ID: "a"})) }, 1},
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
	require.Equal(t, "old", entity.Must(deleted.RestoreCopy(t.Context(), chosen)).Text)
	newest := entity.Must(deleted.Get(t.Context(), Page{ID: "p"}))
	require.Equal(t, "new", newest.Item.Text)
}

// DynamoDB may remove the newest copy, which has expired, before the delete that marks it is written.
func TestDelete_TheNewestCopyMayBeRemovedMeanwhile(t *testing.T) {
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
func writesOfPage(ctx context.Context, db *entity.DB, s *entity.Store[Page]) map[string]pageWrite {
	p, set := Page{ID: "p"}, entity.Set(&entity.Fields[Page]().Text, "y")
	return map[string]pageWrite{
		"Update": {func() error { return dbtest.ErrorOf(s.Update(ctx, p, set)) }, "y"},
		"Modify": {func() error {
			return dbtest.ErrorOf(s.Modify(ctx, p, func(p *Page) error { p.Text += "y"; return nil }))
		}, "xy"},
		"Delete":                {func() error { return s.Delete(ctx, p) }, ""},
		"Transact":              {func() error { return db.Transact(ctx, s.Op().Update(p, set), s.Op().Create(Page{ID: "q"})) }, "y"},
		"Transact after a read": {func() error { return db.Transact(ctx, s.Op().Delete(p), s.Op().Create(Page{ID: "q"})) }, ""},
	}
}

type pageWrite struct {
	run  func() error
	text string
}

// explains matches the query that finds out what a missing item has become: it reads the last item alone.
func explains(r faults.Request) bool {
	return r.Operation == "Query" && bytes.Contains(r.Body, []byte(`"Limit":1`)) && bytes.Contains(r.Body, []byte(`"ScanIndexForward":false`))
}

// An item that is deleted when a write is refused, and restored before the write finds out why, was there all the time: "not
// found" would be false.
func TestWrites_OfAnItemThatIsRestoredMeanwhile(t *testing.T) {
	t.Parallel()
	for name := range writesOfPage(t.Context(), nil, nil) {
		t.Run(name, func(t *testing.T) {
			h, s := open[Page](t)
			c := writesOfPage(h.Ctx, h.DB, s)[name]
			others, copies := unwatched[Page](t, h)
			entity.Must(others.Create(t.Context(), Page{ID: "p", Text: "x"}))
			require.NoError(t, others.Delete(t.Context(), Page{ID: "p"}))
			require.NoError(t, h.Overtake(dbtest.First(explains), c.run, func() {
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
		return dbtest.ErrorOf(s.Update(h.Ctx, Page{ID: "q"}, entity.Set(&entity.Fields[Page]().Text, "y")))
	})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, 2, calls)
}
