package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// copies are the deleted copies in the table, as they are stored.
func copies(l *dbtest.Bench) []dbtest.Item {
	l.T.Helper()
	var out []dbtest.Item
	for _, it := range l.ItemsByKey() {
		if dbtest.Text(it["_k"]) == "d" {
			out = append(out, it)
		}
	}
	return out
}

// An older copy is restored under a version above all that there have been; the newer copies stay where they are.
func TestBin_RestoreOfAnOlderCopyGivesNoVersionTwice(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	f := fields[T]()
	p := b.item(t, live)
	key := as[T](p)
	require.NoError(t, b.quiet.Delete(t.Context(), key)) // 2
	old, err := b.bin.Get(t.Context(), key)
	require.NoError(t, err)
	stored := copies(b.l)[0]
	b.l.Clock.Move(time.Second)
	_, err = b.back.Restore(t.Context(), key) // 3
	require.NoError(t, err)
	_, err = b.quiet.Update(t.Context(), key, entity.Set(&f.Name, "later")) // 4
	require.NoError(t, err)
	b.l.Clock.Move(time.Second)
	require.NoError(t, b.quiet.Delete(t.Context(), key)) // 5
	b.l.PutItem(stored)
	list, err := b.bin.List(key).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, "later", list[0].Item.Name)
	require.Equal(t, old, list[1])

	got, err := b.bin.RestoreCopy(t.Context(), list[1])
	require.NoError(t, err)
	require.Equal(t, "N", got.Name)
	require.EqualValues(t, 6, got.Version)
	list, err = b.bin.List(key).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	require.Equal(t, "later", list[0].Item.Name)
	_, err = b.bin.Restore(t.Context(), key)
	require.Equal(t, "Exists NotDeleted", classesOf(err))
	_, err = b.bin.RestoreCopy(t.Context(), old)
	require.Equal(t, "NotDeleted", classesOf(err), "that copy is the item")
}

func TestBin_RestoreCopyOfWhatIsNoCopyIsAnError(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSFree
	b := newBench[T](t)
	p := b.item(t, deleted)
	b.l.Sent()
	_, err := b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p)})
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	require.Empty(t, b.l.Sent())
	_, err = b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p), DeletedAt: dbtest.Start.Add(time.Hour)})
	require.Equal(t, "NotFound", classesOf(err))
}

func TestBin_ExpiredCopiesAreGoneForEveryVerb(t *testing.T) {
	t.Parallel()
	t.Run("free", func(t *testing.T) { expiredCopies(t, newBench[u1VLockSFreeTTL](t)) })
	t.Run("reserve", func(t *testing.T) { expiredCopies(t, newBench[u1VRetainSReserveTTL](t)) })
}

func expiredCopies[T any](t *testing.T, b *bench[T]) {
	p := b.item(t, deleted)
	key := as[T](p)
	chosen, err := b.bin.Get(t.Context(), key)
	require.NoError(t, err)
	require.True(t, chosen.ExpiresAt.After(b.l.Clock.Now()))
	b.l.Clock.Move(chosen.ExpiresAt.Add(-time.Nanosecond).Sub(b.l.Clock.Now()))
	_, err = b.bin.Get(t.Context(), key)
	require.NoError(t, err, "until the last moment")
	b.l.Clock.Move(time.Nanosecond)
	_, err = b.bin.Get(t.Context(), key)
	require.Equal(t, "NotFound", classesOf(err))
	list, err := b.bin.List(key).Collect(t.Context())
	require.NoError(t, err)
	require.Empty(t, list)
	list, err = b.bin.List(key, entity.IncludeExpired()).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = b.bin.Restore(t.Context(), key)
	require.Equal(t, "NotFound", classesOf(err))
	_, err = b.bin.RestoreCopy(t.Context(), chosen)
	require.Equal(t, "NotFound", classesOf(err))
	_, err = b.s.Update(t.Context(), key, entity.Set(&fields[T]().Name, "x"))
	require.Equal(t, "NotFound", classesOf(err), "it can no longer be restored")
	other := p
	other.ID = "another"
	_, err = b.s.Create(t.Context(), as[T](other))
	require.NoError(t, err, "a reserved value is free when the copy has expired, removed or not")
	p.Email = "own-" + p.Email
	_, err = b.s.Create(t.Context(), as[T](p))
	require.NoError(t, err)
}

func TestBin_ListIsPagedAndFiltered(t *testing.T) {
	t.Parallel()
	type T = u1VNoneSFree
	b := newBench[T](t)
	key := as[T](Person{ID: "p-1"})
	for _, name := range []string{"a", "b", "c"} {
		_, err := b.quiet.Create(t.Context(), as[T](Person{ID: "p-1", Tenant: "t", Name: name}))
		require.NoError(t, err)
		require.NoError(t, b.quiet.Delete(t.Context(), key))
		b.l.Clock.Move(time.Second)
	}
	var names []string
	for after, n := "", 0; n == 0 || after != ""; n++ {
		page, err := b.bin.List(key, entity.Limit(1)).Page(t.Context(), after)
		require.NoError(t, err)
		for _, c := range page.Items {
			names = append(names, c.Item.Name)
		}
		after = page.Next
		require.Less(t, n, 5)
	}
	require.Equal(t, []string{"c", "b", "a"}, names)
	one, err := b.bin.List(key, entity.Filter(entity.Eq(&fields[T]().Name, "b"))).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, "b", one.Item.Name)
	page, err := b.bin.List(key, entity.Limit(1)).Page(t.Context(), "")
	require.NoError(t, err)
	_, err = b.bin.List(as[T](Person{ID: "p-2"}), entity.Limit(1)).Page(t.Context(), page.Next)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
}

// Without Retain, a deleted item can come into being again; the copy of its earlier life stays.
func TestBin_RestoreTakesTheNewestOfSeveralCopies(t *testing.T) {
	t.Parallel()
	type T = u1VNoneSFree
	b := newBench[T](t)
	key := as[T](Person{ID: "p-1"})
	for _, name := range []string{"first", "second"} {
		_, err := b.quiet.Create(t.Context(), as[T](Person{ID: "p-1", Tenant: "t", Name: name}))
		require.NoError(t, err)
		b.l.Clock.Move(time.Second)
		require.NoError(t, b.quiet.Delete(t.Context(), key))
	}
	got, err := b.bin.Restore(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "second", got.Name)
	require.Len(t, copies(b.l), 1)
}
