package conformance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// copies are the stored deleted copies.
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
	p := b.item(t, live)
	key := as[T](p)
	b.remove(p) // 2
	old, err := b.bin.Get(t.Context(), key)
	require.NoError(t, err)
	stored := copies(b.Bench)[0]
	b.Clock.Move(time.Second)
	b.restore(p)                                // 3
	b.update(p, entity.Set(&b.f.Name, "later")) // 4
	b.Clock.Move(time.Second)
	b.remove(p) // 5
	b.PutItem(stored)
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
	b.Sent()
	_, err := b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p)})
	require.Equal(t, "EDD-9108", dbtest.InputCode(err))
	require.Empty(t, b.Sent())
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
	require.True(t, chosen.ExpiresAt.After(b.Clock.Now()))
	b.Clock.Move(chosen.ExpiresAt.Add(-time.Nanosecond).Sub(b.Clock.Now()))
	_, err = b.bin.Get(t.Context(), key)
	require.NoError(t, err, "until the last moment")
	b.Clock.Move(time.Nanosecond)
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
	_, err = b.s.Update(t.Context(), key, entity.Set(&b.f.Name, "x"))
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
	key := as[T](hero)
	for _, name := range []string{"a", "b", "c"} {
		b.create(Person{ID: "p-1", Tenant: "t", Name: name})
		b.remove(hero)
		b.Clock.Move(time.Second)
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
	one, err := b.bin.List(key, entity.Filter(entity.Eq(&b.f.Name, "b"))).One(t.Context())
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
	key := as[T](hero)
	for _, name := range []string{"first", "second"} {
		b.create(Person{ID: "p-1", Tenant: "t", Name: name})
		b.Clock.Move(time.Second)
		b.remove(hero)
	}
	got, err := b.bin.Restore(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, "second", got.Name)
	require.Len(t, copies(b.Bench), 1)
}
