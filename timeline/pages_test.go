package timeline_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

func TestPage_ReturnsEveryRowOnceInOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 257
	v := crowd(l, n, 0)
	var want []int
	for i := range n {
		want = append(want, i-n/2) // negative ones first
	}
	sizes := []int{64, 101, 257, 7, 50, 100, 256, 258, 1000}
	for _, size := range sizes[:testsize.Pick(3, len(sizes))] {
		require.Equal(t, want, pageWalk(l, v, size), "by number, %d a page", size)
		require.Equal(t, want, cursorWalk(l, v, size), "by cursor, %d a page", size)
	}
	past := timeline.AsOf(at(0))
	require.Equal(t, want, pageWalk(l, v, 100, past))
	require.Equal(t, want, cursorWalk(l, v, 100, past))
	for _, c := range []struct {
		page, size, rows int
		pages            int64
	}{{0, 0, 20, 13}, {1, 1, 1, 257}, {13, 20, 17, 13}, {14, 20, 0, 13}, {math.MaxInt, 1000, 0, 1}, {math.MaxInt/20 + 2, 20, 0, 13}, {2, 257, 0, 1}} {
		p := entity.Must(v.Page(l.Ctx, c.page, c.size))
		assert.Len(t, p.Rows, c.rows, "page %d of %d", c.page, c.size)
		assert.Equal(t, c.pages, p.Pages, "page %d of %d", c.page, c.size)
		assert.EqualValues(t, n, p.Total)
	}
	p := entity.Must(v.Page(l.Ctx, 3, 20))
	next := entity.Must(v.After(l.Ctx, p.Next, 20))
	assert.Equal(t, 60-n/2, next.Rows[0].Key, "a cursor goes on behind a page by number")
	_, err := v.After(l.Ctx, "x", 20)
	assert.ErrorIs(t, err, entity.ErrInvalidCursor)
	_, err = v.After(l.Ctx, p.Next, 20, past)
	assert.ErrorIs(t, err, entity.ErrInvalidCursor, "a cursor of stored rows")
	_, err = v.After(l.Ctx, "", 1001)
	assert.Error(t, err)
}

func TestPage_OmitsExpiredRows(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 257
	v := crowd(l, n, 5*time.Hour) // row i ends i+43 minutes after noon
	l.Wire.Reset()
	entity.Must(v.Page(l.Ctx, 1, 20))
	assert.Len(t, l.Wire.Requests(), 3)
	l.Clock.Move(175 * time.Minute)
	var want []int
	for r, err := range v.All(l.Ctx) {
		require.NoError(t, err)
		want = append(want, r.Key)
	}
	require.Greater(t, len(want), 100)
	require.Less(t, len(want), 140, "rows have expired")
	for _, removed := range []bool{false, true} {
		sizes := []int{20, 100, 64, 1000}
		for _, size := range sizes[:testsize.Pick(2, len(sizes))] {
			require.Equal(t, want, pageWalk(l, v, size), "by number, %d a page", size)
			require.Equal(t, want, cursorWalk(l, v, size), "by cursor, %d a page", size)
		}
		p := entity.Must(v.Page(l.Ctx, 2, 20))
		assert.Len(t, p.Rows, 20)
		assert.EqualValues(t, len(want), p.Total)
		assert.EqualValues(t, (len(want)+19)/20, p.Pages)
		p = entity.Must(v.After(l.Ctx, p.Next, 1))
		assert.Equal(t, want[40], p.Rows[0].Key)
		p = entity.Must(v.Page(l.Ctx, 1, 20, timeline.AsOf(at(1e6))))
		assert.EqualValues(t, len(want), p.Total, "as a replay counts them")
		if !removed {
			l.removeExpired()
		}
	}
	l.Clock.Move(5 * time.Hour)
	p := entity.Must(v.Page(l.Ctx, 1, 20))
	assert.Zero(t, p.Total)
	assert.EqualValues(t, 1, p.Pages)
	assert.Empty(t, p.Rows)
}

func TestPage_RejectsSizesOutOfBounds(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.MaxPageSize = 10 }))
	for _, opts := range [][]timeline.RowsOption{nil, {timeline.AsOf(noon)}} {
		for _, bad := range [][2]int{{1, 11}, {1, -1}, {-1, 1}} {
			_, err := v.Page(l.Ctx, bad[0], bad[1], opts...)
			assert.Equal(t, "EDD-9133", dbtest.InputCode(err))
		}
	}
}

// pinned returns a view of n rows and the first page of a listing that started before a rebuild replaced them.
func pinned(t *testing.T, n int, change ...func(*entity.Config)) (*lab, *timeline.View[string, totals], timeline.Page[timeline.Row[string, totals]]) {
	t.Helper()
	l := newLab(t, change...)
	l.fill(n, 1)
	v := view(l, l.sites())
	rebuild(l, v)
	first := entity.Must(v.After(l.Ctx, "", 2))
	require.NotEmpty(t, first.Next)
	l.append("d-9", "s-9", 2)
	rebuild(l, v)
	return l, v, first
}

func TestAfter_RejectsCursorsOfAnotherDefinition(t *testing.T) {
	t.Parallel()
	l, old, first := pinned(t, 4)
	v := view(l.connect(), l.sites(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	rebuild(l, v)
	_, err := v.After(l.Ctx, first.Next, 2)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
	p := entity.Must(v.After(l.Ctx, first.Next, 2, timeline.AllowStale()))
	assert.Len(t, p.Rows, 2)
	assert.Equal(t, timeline.Stale, p.Meta.RebuildStatus)
	assert.False(t, p.Authoritative())
	_, err = v.After(l.Ctx, first.Next, 2, timeline.AllowStale(), timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	p, err = old.After(l.Ctx, first.Next, 2)
	require.NoError(t, err, "the program that began the listing goes on with it")
	assert.Len(t, p.Rows, 2)
	assert.True(t, p.Authoritative())
}

func TestAfter_ListsAndDescribesTheRowsThatItBeganWith(t *testing.T) {
	t.Parallel()
	l, v, first := pinned(t, 4)
	l.append("d-9", "s-2", 3)
	rebuild(l, v)
	now := metaOf(l, v)
	p := entity.Must(v.After(l.Ctx, first.Next, 2))
	require.Len(t, p.Rows, 2)
	assert.Equal(t, 1, p.Rows[0].State.Count, "the rows of before")
	assert.Empty(t, p.Next)
	assert.Equal(t, first.Meta.Generation, p.Meta.Generation)
	assert.EqualValues(t, 4, p.Meta.Rows)
	assert.Equal(t, first.Meta.Through, p.Meta.Through)
	assert.Equal(t, first.Meta.Counters, p.Meta.Counters)
	assert.True(t, p.Meta.Through.Before(now.Through))
	assert.EqualValues(t, 5, now.Rows)
	assert.Equal(t, 2, rows(l, v)["s-2"].State.Count)
}

func TestAfterAndAll_FailWhenRowsAreRemovedDuringTheRead(t *testing.T) {
	t.Parallel()
	for name, read := range map[string]func(*lab, *timeline.View[string, totals], string) error{
		"After": func(l *lab, v *timeline.View[string, totals], cursor string) error {
			_, err := v.After(l.Ctx, cursor, 2)
			return err
		},
		"All": func(l *lab, v *timeline.View[string, totals], _ string) (failed error) {
			for r, err := range v.All(l.Ctx) {
				if failed = err; err == nil {
					return fmt.Errorf("there is a row %v", r)
				}
			}
			return failed
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, v, first := pinned(t, 4)
			err := l.Overtake(dbtest.Is("Query"), func() error { return read(l, v, first.Next) }, func() {
				other := newTransport(l)
				again := view(other, other.sites())
				rebuild(other, again)
				l.Clock.Move(20 * time.Minute)
				require.NoError(t, again.Sweep(l.Ctx))
			})
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
		})
	}
}

func TestAll_ContinuesWithReplacedRows(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	l.append("d-1", "south", 2)
	v := view(l, l.sites())
	rebuild(l, v)
	n := 0
	for _, err := range v.All(l.Ctx) {
		require.NoError(t, err)
		if n++; n == 1 {
			rebuild(l, v)
		}
	}
	assert.Equal(t, 2, n)
}
