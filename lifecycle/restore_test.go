package lifecycle_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Page is kept forever after it was deleted, and can be created again while it has copies.
type Page struct {
	_    entity.Key           `name:"Page" pk:"$#{id}" sk:"$"`
	_    lifecycle.SoftDelete ``
	ID   string               `dynamodbav:"id"`
	Text string               `dynamodbav:"text,omitempty"`
}

// Whatever moves an item between its current item and its copy during a restore: it existed all the time, so
// ErrNotFound would be false.
func TestRestore_FindsAnItemThatMovesBetweenItsReads(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]bool{"from the current item": false, "from the copy": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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
	t.Parallel()
	h, s := open[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	_, err := deleted.Restore(t.Context(), Page{ID: "p"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, []string{"Query", "Query", "Query"}, h.Operations())
	others, _ := unwatched[Page](t, h)
	create := func() { entity.Must(others.Create(t.Context(), Page{ID: "p"})) }
	_, err = between(t, h.Wire, reads, func() error { _, err := deleted.Restore(t.Context(), Page{ID: "p"}); return err }, func() {}, func() {}, create)
	require.ErrorIs(t, err, entity.ErrNotDeleted)
}

// The clock of the second delete is behind that of the first. Its copy is still the newest.
func TestDelete_ALaterCopyComesAfterEarlierOnesWhateverTheClock(t *testing.T) {
	t.Parallel()
	h, s := open[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	ctx, key := t.Context(), Page{ID: "p"}
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
	restored := entity.Must(deleted.Restore(ctx, key))
	require.Equal(t, "d", restored.Text)
}

// A clock that stands still, or a format of whole seconds, is no reason for a conflict.
func TestDelete_ManyTimesWithinOneUnitOfTheClock(t *testing.T) {
	t.Parallel()
	h, s := open[Account](t)
	deleted := entity.Must(lifecycle.Of(s))
	for range 13 {
		entity.Must(s.Create(t.Context(), Account{ID: "a"}))
		require.NoError(t, s.Delete(t.Context(), Account{ID: "a"}))
	}
	n := entity.Must(deleted.List(Account{ID: "a"}).Count(t.Context()))
	require.Equal(t, 13, n)
	require.Equal(t, hour0, h.Clock.Now())
}

// A delete that is planned from what a handle holds reads the newest copy instead of the item.
func TestDelete_FromAHandleComesAfterEarlierCopiesToo(t *testing.T) {
	t.Parallel()
	h, s := open[Page](t)
	deleted := entity.Must(lifecycle.Of(s))
	ctx, key := t.Context(), Page{ID: "p"}
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
		second := entity.Must(copies.Get(ctx, Reserved{ID: "r"}))
		require.Equal(t, first.DeletedAt, second.DeletedAt)
	}
}

// A copy under the key of the one that was read has a value that a purge of the latter would leave claimed forever.
func TestPurge_RemovesACopyOnlyAsItWasRead(t *testing.T) {
	t.Parallel()
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
			t.Parallel()
			h, s, move := lived(t)
			deleted := entity.Must(lifecycle.Of(s))
			beforeWrite(h.Wire, move)
			got := entity.Must(restore(t.Context(), deleted))
			require.Equal(t, "y", got.Email)
			require.Len(t, h.Items(), 2, "the item and its sentinel")
		})
	}
}
