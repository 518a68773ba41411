package conformance_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

type kept = u1VRetainTTLSFreeTTL

// lived returns a bench with an item that has had n states, with the names v1, v2, and so on.
func lived(t *testing.T, n int) (*bench[kept], *versioned.History[kept], kept) {
	t.Helper()
	b := newBench[kept](t)
	b.create(Person{ID: "p-1", Tenant: "t", Name: "v1", Email: "v1@example.com"})
	for i := 2; i <= n; i++ {
		b.Clock.Move(time.Second)
		b.update(hero, entity.Set(&b.f.Name, fmt.Sprint("v", i)))
	}
	b.Sent()
	return b, entity.Must(versioned.Of(b.s)), as[kept](hero)
}

func numbers(list []versioned.Version[kept]) string {
	var out []string
	for _, v := range list {
		out = append(out, fmt.Sprint(v.Number))
	}
	return strings.Join(out, " ")
}

func TestHistory_GetFindsAVersionWhereverItIs(t *testing.T) {
	b, h, key := lived(t, 3)
	get := func(n int64) (versioned.Version[kept], string) {
		v, err := h.Get(t.Context(), key, n)
		return v, classesOf(err)
	}
	v, class := get(3)
	require.Equal(t, "ok", class, "of the current item")
	require.Equal(t, "v3", v.Item.Name)
	require.Equal(t, dbtest.Start.Add(2*time.Second), v.ValidFrom)
	require.Len(t, b.Sent(), 1)
	v, class = get(2)
	require.Equal(t, "ok", class, "of a snapshot")
	require.Equal(t, "v2", v.Item.Name)
	require.Len(t, b.Sent(), 2)
	for _, n := range []int64{0, 4, 99_999_999} {
		_, class = get(n)
		require.Equal(t, "NotFound", class, n)
	}
	for _, n := range []int64{-1, 1_000_000_000_000} {
		b.Sent()
		require.Equal(t, "EDD-9102", dbtest.InputCode(dbtest.ErrorOf(h.Get(t.Context(), key, n))))
		require.Empty(t, b.Sent())
	}
	b.Clock.Move(time.Second)
	b.remove(hero)
	b.Sent()
	v, class = get(4)
	require.Equal(t, "ok", class, "of a deleted copy")
	require.True(t, v.Deleted)
	require.Len(t, b.Sent(), 1)
	b.Clock.Move(31 * 24 * time.Hour)
	v, class = get(4)
	require.Equal(t, "ok", class, "the copy has expired, its snapshot has not")
	require.True(t, v.Deleted)
	b.Clock.Move(60 * 24 * time.Hour)
	_, class = get(4)
	require.Equal(t, "NotFound", class, "the snapshot has expired too")
}

func TestHistory_ListIsOrderedBoundedFilteredAndPaged(t *testing.T) {
	b, h, key := lived(t, 7)
	f := b.f
	list := func(opts ...versioned.ListOption) string {
		got := entity.Must(h.List(key, opts...).Collect(t.Context()))
		n := entity.Must(h.List(key, opts...).Count(t.Context()))
		require.Equal(t, len(got), n)
		return numbers(got)
	}
	for want, opts := range map[string][]versioned.ListOption{
		"1 2 3 4 5 6":   nil,
		"6 5 4 3 2 1":   {entity.Desc()},
		"1 2 3 4 5 6 7": {versioned.WithCurrent()},
		"7 6":           {versioned.WithCurrent(), entity.Desc(), entity.Limit(2)},
		"3 4 5":         {entity.Between(&f.Version, 3, 5)},
		"5 6":           {entity.Gt(&f.Version, 4)},
		"4 5 6":         {entity.Ge(&f.Version, 4)},
		"1 2":           {entity.Lt(&f.Version, 3)},
		"3 2 1":         {entity.Le(&f.Version, 3), entity.Desc()},
		"4":             {entity.Eq(&f.Version, 4)},
		"6 7":           {entity.Ge(&f.Version, 6), versioned.WithCurrent()},
		"2":             {entity.Filter(entity.Eq(&f.Name, "v2"))},
		"2 5":           {entity.Filter(entity.In(&f.Name, "v2", "v5"))},
		"":              {entity.Between(&f.Version, 5, 3)},
	} {
		require.Equal(t, want, list(opts...))
	}
	require.Empty(t, list(entity.Gt(&f.Version, 100)))
	for _, opts := range [][]versioned.ListOption{{entity.Limit(0)}, {entity.Eq(&f.Name, "x")}} {
		require.NotEmpty(t, dbtest.InputCode(dbtest.ErrorOf(h.List(key, opts...).Collect(t.Context()))))
	}
	require.ErrorIs(t, dbtest.ErrorOf(h.List(key, entity.Eq(&f.Version, 99)).First(t.Context())), entity.ErrNotFound)
	require.ErrorIs(t, dbtest.ErrorOf(h.List(key).One(t.Context())), entity.ErrMultipleItems)
	one := entity.Must(h.List(key, entity.Eq(&f.Version, 2)).One(t.Context()))
	require.Equal(t, "v2", one.Item.Name)
}

func TestHistory_AtIsTheStateOfThatTime(t *testing.T) {
	b, h, key := lived(t, 3)
	at := func(d time.Duration) (versioned.Version[kept], error) {
		return h.At(t.Context(), key, dbtest.Start.Add(d))
	}
	is := func(d time.Duration, number int64, gone bool) {
		t.Helper()
		v := entity.Must(at(d))
		require.Equal(t, []any{number, gone}, []any{v.Number, v.Deleted}, d)
	}
	_, err := at(-time.Nanosecond)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, versioned.ErrVersionExpired, "it did not exist yet")
	for d, want := range map[time.Duration]int64{0: 1, time.Second - 1: 1, time.Second: 2, 2 * time.Second: 3, time.Hour: 3} {
		is(d, want, false)
	}
	b.Clock.Move(time.Second)
	b.remove(hero)
	is(time.Hour, 4, true)
	b.Clock.Move(10 * time.Second)
	b.restore(hero)
	is(time.Hour, 5, false)
	is(4*time.Second, 4, true)
	b.Clock.Move(91 * 24 * time.Hour)
	require.ErrorIs(t, dbtest.ErrorOf(at(time.Second)), versioned.ErrVersionExpired, "the snapshots of then have expired")
	is(100*24*time.Hour, 5, false)
}

func TestHistory_DiffNamesAttributesFieldsAndValues(t *testing.T) {
	b, h, key := lived(t, 2)
	b.update(hero, entity.Set(&b.f.Badge, "7"), entity.Remove(&b.f.Email))
	diff := entity.Must(h.Diff(t.Context(), key, 2, 3))
	var got []string
	for _, d := range diff {
		if d.Attribute != "updatedAt" {
			got = append(got, fmt.Sprint(d.Attribute, ": ", d.Before, " > ", d.After))
		}
	}
	require.Equal(t, []string{"email: v1@example.com > <nil>", "badge: <nil> > 7", "version: 2 > 3"}, got)
	diff = entity.Must(h.Diff(t.Context(), key, 2, 2))
	require.Empty(t, diff)
	require.ErrorIs(t, dbtest.ErrorOf(h.Diff(t.Context(), key, 2, 9)), entity.ErrNotFound)
}

func TestHistory_RevertBringsTheContentBackAsANewVersion(t *testing.T) {
	b, h, key := lived(t, 3)
	b.update(hero, entity.Set(&b.f.Email, "new@example.com"), entity.Set(&b.f.Badge, "7"))
	b.ChangeItem(personPK, personSK, dbtest.Item{"unknown": dbtest.S("stays")})
	b.Clock.Move(time.Second)
	got := entity.Must(h.Revert(t.Context(), key, 1, versioned.Expect(4)))
	require.EqualValues(t, 5, got.Version)
	require.Equal(t, []string{"v1", "v1@example.com", ""}, []string{got.Name, got.Email, got.Badge})
	require.True(t, got.CreatedAt.Equal(dbtest.Start))
	require.Equal(t, b.Clock.Now(), got.UpdatedAt)
	it := b.ItemsByKey()[personPK+" "+personSK]
	require.Equal(t, dbtest.S("stays"), it["unknown"])
	require.NotContains(t, it, "_k")
	require.NotContains(t, it, "_ttl")
	require.Equal(t, map[string]string{"$person.email#v1@example.com": "$person#p-1"}, owners(b.Bench))
	v4 := entity.Must(h.Get(t.Context(), key, 4))
	require.Equal(t, "new@example.com", v4.Item.Email, "what was replaced is kept")

	_, err := h.Revert(t.Context(), key, 1, versioned.Expect(4))
	var conflict *versioned.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, versioned.ConflictError{Expected: 4, Actual: 5}, *conflict)
	op := h.Op().Revert(key, 4)
	require.NoError(t, runJoined(b.Bench, op))
	require.Equal(t, "7", op.Result().Badge)
	op = h.Op().Revert(key, 4, versioned.Expect(1))
	require.ErrorAs(t, runJoined(b.Bench, op), &conflict)
	require.Equal(t, "Condition", classesOf(runAlone(t, h.Op().Revert(key, 1, entity.If(entity.Eq(&b.f.Tenant, "x"))))))
	require.Equal(t, "NotFound", classesOf(runAlone(t, h.Op().Revert(key, 99))))
	require.Equal(t, "NotFound", classesOf(runAlone(t, h.Op().Revert(as[kept](Person{ID: "nobody"}), 1))))
	b.remove(hero)
	require.Equal(t, "NotFound Deleted", classesOf(runAlone(t, h.Op().Revert(key, 1))))
	require.Equal(t, "NotFound Deleted", classesOf(runJoined(b.Bench, h.Op().Revert(key, 1))))
}

// A version is missing that a restore is about to make. Before the restore the item is missing, and after it neither is:
// "not found" of the version alone would be false.
func TestHistory_RevertOfADeletedItemToTheVersionOfItsRestore(t *testing.T) {
	for _, joined := range []bool{false, true} {
		b, h, key := lived(t, 2)
		b.remove(hero)
		var conflict *versioned.ConflictError
		err := b.run(t, h.Op().Revert(key, 4, versioned.Expect(4)), joined)
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.ErrorIs(t, err, entity.ErrDeleted)
		require.ErrorAs(t, err, &conflict)
		require.Equal(t, versioned.ConflictError{Expected: 4, Absent: true}, *conflict)

		explains := func(r faults.Request) bool { // the query that finds out what became of the item
			return r.Operation == "Query" && bytes.Contains(r.Body, []byte(`"Limit":1`)) && bytes.Contains(r.Body, []byte(`"ScanIndexForward":false`))
		}
		require.NoError(t, b.Overtake(dbtest.First(explains), func() error {
			return b.run(t, h.Op().Revert(key, 4, versioned.Expect(4)), joined)
		}, func() { require.EqualValues(t, 4, b.restore(hero).Version) }))
	}
}

func TestHistory_RevertAfterALostRaceIsPlannedAgain(t *testing.T) {
	b, h, key := lived(t, 2)
	require.NoError(t, b.Overtake(dbtest.Is("TransactWriteItems"), func() error {
		return dbtest.ErrorOf(h.Revert(t.Context(), key, 1))
	}, func() { b.update(hero, entity.Set(&b.f.Badge, "8")) }))
	got := entity.Must(b.quiet.Get(t.Context(), key))
	require.Equal(t, []any{"v1", "", int64(4)}, []any{got.Name, got.Badge, got.Version})
	v3 := entity.Must(h.Get(t.Context(), key, 3))
	require.Equal(t, "8", v3.Item.Badge, "the state that came between is kept")
}

func TestHistory_PagesTogetherAreTheListAndCursorsAreBoundToIt(t *testing.T) {
	b, h, key := lived(t, 7)
	f := b.f
	for _, opts := range [][]versioned.ListOption{
		nil, {entity.Desc()}, {versioned.WithCurrent()}, {versioned.WithCurrent(), entity.Desc()}, {entity.Filter(entity.Ne(&f.Name, "v3"))}, {entity.Ge(&f.Version, 2)},
	} {
		whole := entity.Must(h.List(key, opts...).Collect(t.Context()))
		for limit := 1; limit <= 8; limit += testsize.Pick(3, 1) {
			var got []versioned.Version[kept]
			for _, page := range dbtest.Pages(t, h.List(key, append([]versioned.ListOption{entity.Limit(limit)}, opts...)...)) {
				require.LessOrEqual(t, len(page), limit)
				got = append(got, page...)
			}
			require.Equal(t, numbers(whole), numbers(got), "limit %d", limit)
		}
	}
	page := entity.Must(h.List(key, entity.Limit(2)).Page(t.Context(), ""))
	b.Sent()
	for name, q := range map[string]entity.Query[versioned.Version[kept]]{
		"the other order": h.List(key, entity.Limit(2), entity.Desc()),
		"another range":   h.List(key, entity.Limit(2), entity.Ge(&f.Version, 2)),
		"another item":    h.List(as[kept](Person{ID: "p-2"}), entity.Limit(2)),
	} {
		require.ErrorIs(t, dbtest.ErrorOf(q.Page(t.Context(), page.Next)), entity.ErrInvalidCursor, name)
	}
	for _, altered := range []string{"x", page.Next + "A", page.Next[:len(page.Next)-2], strings.ToUpper(page.Next)} {
		require.ErrorIs(t, dbtest.ErrorOf(h.List(key, entity.Limit(2)).Page(t.Context(), altered)), entity.ErrInvalidCursor, altered)
	}
	require.Empty(t, b.Sent(), "before any request")
}

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
	type T = u1VRetainSFree
	b := newBench[T](t)
	p := b.item(t, live)
	key := as[T](p)
	b.remove(p) // 2
	old, stored := entity.Must(b.bin.Get(t.Context(), key)), copies(b.Bench)[0]
	b.Clock.Move(time.Second)
	b.restore(p)                                // 3
	b.update(p, entity.Set(&b.f.Name, "later")) // 4
	b.Clock.Move(time.Second)
	b.remove(p) // 5
	b.PutItem(stored)
	list := entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Len(t, list, 2)
	require.Equal(t, "later", list[0].Item.Name)
	require.Equal(t, old, list[1])
	pages := b.bin.List(key, entity.Limit(1))
	next := entity.Must(pages.Page(t.Context(), "")).Next
	require.Equal(t, list[1:], entity.Must(pages.Page(t.Context(), next)).Items)
	require.ErrorIs(t, dbtest.ErrorOf(b.bin.List(as[T](hero), entity.Limit(1)).Page(t.Context(), next)), entity.ErrInvalidCursor)

	got := entity.Must(b.bin.RestoreCopy(t.Context(), list[1]))
	require.Equal(t, "N", got.Name)
	require.EqualValues(t, 6, got.Version)
	list = entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Len(t, list, 1)
	require.Equal(t, "later", list[0].Item.Name)
	require.Equal(t, "Exists NotDeleted", classesOf(dbtest.ErrorOf(b.bin.Restore(t.Context(), key))))
	require.Equal(t, "NotDeleted", classesOf(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), old))), "that copy is the item")
}

func TestBin_RestoreCopyOfWhatIsNoCopyIsAnError(t *testing.T) {
	type T = u1VRetainSFree
	b := newBench[T](t)
	p := b.item(t, deleted)
	b.Sent()
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p)}))))
	require.Empty(t, b.Sent())
	_, err := b.bin.RestoreCopy(t.Context(), lifecycle.DeletedItem[T]{Item: as[T](p), DeletedAt: dbtest.Start.Add(time.Hour)})
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
	chosen := entity.Must(b.bin.Get(t.Context(), key))
	require.True(t, chosen.ExpiresAt.After(b.Clock.Now()))
	b.Clock.Move(chosen.ExpiresAt.Add(-time.Nanosecond).Sub(b.Clock.Now()))
	require.NoError(t, dbtest.ErrorOf(b.bin.Get(t.Context(), key)), "until the last moment")
	b.Clock.Move(time.Nanosecond)
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.Get(t.Context(), key))))
	list := entity.Must(b.bin.List(key).Collect(t.Context()))
	require.Empty(t, list)
	list = entity.Must(b.bin.List(key, entity.IncludeExpired()).Collect(t.Context()))
	require.Len(t, list, 1)
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.Restore(t.Context(), key))))
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.bin.RestoreCopy(t.Context(), chosen))))
	require.Equal(t, "NotFound", classesOf(dbtest.ErrorOf(b.s.Update(t.Context(), key, entity.Set(&b.f.Name, "x")))), "it can no longer be restored")
	other := p
	other.ID = "another"
	require.NoError(t, dbtest.ErrorOf(b.s.Create(t.Context(), as[T](other))), "a reserved value is free when the copy has expired, removed or not")
	p.Email = "own-" + p.Email
	b.OK(b.s.Create(t.Context(), as[T](p)))
}
