package lifecycle_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Page is kept for ever after it was deleted, and can be created again beside its copies.
type Page struct {
	_    entity.Key           `name:"Page" pk:"$#{id}" sk:"$"`
	_    lifecycle.SoftDelete ``
	ID   string               `dynamodbav:"id"`
	Text string               `dynamodbav:"text,omitempty"`
}

// beside opens another store of T on the hourglass's table, whose requests nobody holds.
func beside[T any](t *testing.T, h *hourglass) (*entity.Store[T], *lifecycle.Deleted[T]) {
	t.Helper()
	db, err := entity.Open(h.raw, entity.Config{Table: h.table, Clock: h.now})
	require.NoError(t, err)
	s, err := entity.New[T](db)
	require.NoError(t, err)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	return s, bin
}

func reads(r faults.Request) bool { return slices.Contains([]string{"GetItem", "Query"}, r.Operation) }

// between holds each request of slow that matches, and runs the next of moves before it lets it go on. It returns what
// slow returned, and how many moves were made.
func between(t *testing.T, wire *faults.Transport, match func(faults.Request) bool, slow func() error, moves ...func()) (made int, err error) {
	t.Helper()
	arrived, release := wire.Hold(match)
	done := make(chan error, 1)
	go func() { done <- slow() }()
	for {
		select {
		case err := <-done:
			release()
			return made, err
		case <-arrived:
			if made == len(moves) {
				release()
				return made, <-done
			}
			moves[made]()
			made++
			again, free := wire.Hold(match) // before this one goes on: the next one waits
			release()
			arrived, release = again, free
		}
	}
}

// Whatever moves an item between the table and the bin while it is being restored: it was there all the time, so
// ErrNotFound would be false.
func TestRestore_FindsAnItemThatMovesBetweenItsReads(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]bool{"from the table": false, "from the bin": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s := turn[Page](t)
			bin, err := lifecycle.Of(s)
			require.NoError(t, err)
			others, theirs := beside[Page](t, h)
			ctx, key := t.Context(), Page{ID: "p"}
			_, err = others.Create(ctx, Page{ID: "p", Text: "x"})
			require.NoError(t, err)
			remove := func() { h.run(time.Second); require.NoError(t, others.Delete(ctx, key)) }
			restore := func() { h.run(time.Second); _, err := theirs.Restore(ctx, key); require.NoError(t, err) }
			moves := []func(){nil, remove, restore, remove}
			if start {
				remove()
				moves = []func(){restore, remove, restore, remove}
			} else {
				moves[0] = func() {}
			}
			made, err := between(t, h.wire, reads, func() error { _, err := bin.Restore(ctx, key); return err }, moves...)
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
	h, s := turn[Page](t)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	_, err = bin.Restore(t.Context(), Page{ID: "p"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, []string{"Query", "Query", "Query"}, h.sent())
	others, _ := beside[Page](t, h)
	create := func() { _, err := others.Create(t.Context(), Page{ID: "p"}); require.NoError(t, err) }
	_, err = between(t, h.wire, reads, func() error { _, err := bin.Restore(t.Context(), Page{ID: "p"}); return err }, func() {}, func() {}, create)
	require.ErrorIs(t, err, entity.ErrNotDeleted)
}

// The clock of the second delete is behind that of the first. Its copy is the newest all the same.
func TestDelete_ALaterCopyComesAfterEarlierOnesWhateverTheClock(t *testing.T) {
	t.Parallel()
	h, s := turn[Page](t)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	ctx, key := t.Context(), Page{ID: "p"}
	var want []string
	for n, back := range []time.Duration{0, time.Hour, -time.Minute, 24 * time.Hour} {
		text := string(rune('a' + n))
		_, err := s.Create(ctx, Page{ID: "p", Text: text})
		require.NoError(t, err)
		h.run(-back)
		h.sent()
		require.NoError(t, s.Delete(ctx, key))
		if n < 2 {
			require.Equal(t, []string{"Query", "TransactWriteItems"}, h.sent(), "%d copies beside", n)
		} else {
			require.Equal(t, []string{"Query", "Query", "TransactWriteItems"}, h.sent())
		}
		newest, err := bin.Get(ctx, key)
		require.NoError(t, err)
		require.Equal(t, text, newest.Item.Text)
		want = append([]string{text}, want...)
	}
	copies, err := bin.List(key).Collect(ctx)
	require.NoError(t, err)
	var got []string
	for i, c := range copies {
		got = append(got, c.Item.Text)
		require.True(t, i == 0 || c.DeletedAt.Before(copies[i-1].DeletedAt))
	}
	require.Equal(t, want, got)
	restored, err := bin.Restore(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "d", restored.Text)
}

// A clock that stands still, or a format of whole seconds, is no reason for a conflict.
func TestDelete_ManyTimesWithinOneUnitOfTheClock(t *testing.T) {
	t.Parallel()
	h, s := turn[Account](t)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	for range 13 {
		_, err := s.Create(t.Context(), Account{ID: "a"})
		require.NoError(t, err)
		require.NoError(t, s.Delete(t.Context(), Account{ID: "a"}))
	}
	n, err := bin.List(Account{ID: "a"}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 13, n)
	require.Equal(t, hour0, h.now())
}

// A delete that is planned from what a handle holds reads the newest copy instead of the item.
func TestDelete_FromAHandleComesAfterEarlierCopiesToo(t *testing.T) {
	t.Parallel()
	h, s := turn[Page](t)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	ctx, key := t.Context(), Page{ID: "p"}
	_, err = s.Create(ctx, Page{ID: "p", Text: "first"})
	require.NoError(t, err)
	require.NoError(t, s.Delete(ctx, key))
	_, err = s.Create(ctx, Page{ID: "p", Text: "second"})
	require.NoError(t, err)
	var held entity.Image
	_, err = s.Get(ctx, key, entity.KeepImage(&held))
	require.NoError(t, err)
	h.run(-time.Hour)
	h.sent()
	require.NoError(t, s.Delete(ctx, key, entity.FromImage(&held)))
	require.Equal(t, []string{"Query", "TransactWriteItems"}, h.sent())
	newest, err := bin.Get(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "second", newest.Item.Text)
}
