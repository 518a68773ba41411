package timeline_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// removal holds for requests that delete rows.
func removal(r faults.Request) bool {
	return r.Operation == "BatchWriteItem" || r.Operation == "DeleteItem"
}

// pinned is a view of n rows whose listing was begun before a rebuild replaced them.
func pinned(t *testing.T, n int, change ...func(*entity.Config)) (*lab, *timeline.View[string, totals], timeline.Page[timeline.Row[string, totals]]) {
	t.Helper()
	l := newLab(t, change...)
	for i := range n {
		l.append(fmt.Sprint("d-", i), fmt.Sprint("s-", i), 1)
	}
	v := view(l, l.sites())
	rebuild(l, v)
	first, err := v.After(l.ctx, "", 2)
	require.NoError(t, err)
	require.NotEmpty(t, first.Next)
	l.append("d-9", "s-9", 2)
	rebuild(l, v)
	return l, v, first
}

func TestAfter_CursorDoesNotGiveRowsOfAnotherDefinition(t *testing.T) {
	t.Parallel()
	l, old, first := pinned(t, 4)
	v := view(l.connect(), l.sites(func(f *timeline.Projection[string, totals]) { f.Version = 2 }))
	rebuild(l, v)
	_, err := v.After(l.ctx, first.Next, 2)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
	p, err := v.After(l.ctx, first.Next, 2, timeline.AllowStale())
	require.NoError(t, err)
	assert.Len(t, p.Rows, 2)
	assert.Equal(t, timeline.Stale, p.Meta.RebuildStatus)
	assert.False(t, p.Authoritative())
	_, err = v.After(l.ctx, first.Next, 2, timeline.AllowStale(), timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	p, err = old.After(l.ctx, first.Next, 2)
	require.NoError(t, err, "the program that began the listing goes on with it")
	assert.Len(t, p.Rows, 2)
	assert.True(t, p.Authoritative())
}

func TestAfter_MetaIsAboutTheRowsThatAreRead(t *testing.T) {
	t.Parallel()
	l, v, first := pinned(t, 4)
	now, err := v.Meta(l.ctx)
	require.NoError(t, err)
	p, err := v.After(l.ctx, first.Next, 2)
	require.NoError(t, err)
	assert.Equal(t, first.Meta.Generation, p.Meta.Generation)
	assert.EqualValues(t, 4, p.Meta.Rows)
	assert.Equal(t, first.Meta.Through, p.Meta.Through)
	assert.Equal(t, first.Meta.Counters, p.Meta.Counters)
	assert.True(t, p.Meta.Through.Before(now.Through))
	assert.EqualValues(t, 5, now.Rows)
}

func TestAfter_CursorDoesNotGiveRowsOfABuildThatWasGivenUp(t *testing.T) {
	t.Parallel()
	l := newLab(t, once)
	for i := range 70 { // more than are written at a time
		l.append(fmt.Sprint("d-", i), fmt.Sprint("s-", i), 1)
	}
	v := view(l, l.sites())
	written := 0
	l.sent.Inject(func(r faults.Request) faults.Fault {
		if bytes.Contains(r.Body, []byte(`"state"`)) {
			if written++; written > 65 {
				return faults.Drop
			}
		}
		return faults.None
	})
	_, err := v.Rebuild(l.ctx)
	require.Error(t, err)
	l.sent.Inject(nil)
	half := ""
	for _, it := range l.scan() {
		if id, ok := it["generation"]; ok && it["state"] != nil {
			half = text(id)
		}
	}
	require.NotEmpty(t, half, "it has written rows")
	rebuild(l, v)
	cursor, err := timeline.CursorAfter(v, half, "s-1")
	require.NoError(t, err)
	_, err = v.After(l.ctx, cursor, 2)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
	_, err = v.After(l.ctx, cursor, 2, timeline.AllowStale())
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
}

func TestAfter_FailsOnceRowsMayBeMissing(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Drop, faults.Lost} {
		t.Run(fault.String(), func(t *testing.T) {
			t.Parallel()
			l, v, first := pinned(t, 4, once)
			l.clock.forward(20 * time.Minute)
			p, err := v.After(l.ctx, first.Next, 2)
			require.NoError(t, err, "nothing has been removed yet")
			require.Len(t, p.Rows, 2)
			removed := false
			l.sent.Inject(func(r faults.Request) faults.Fault {
				if removed = removed || removal(r); removed {
					return fault
				}
				return faults.None
			})
			require.ErrorIs(t, v.Sweep(l.ctx), faults.ErrInjected)
			l.sent.Inject(nil)
			_, err = v.After(l.ctx, first.Next, 2)
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
			l.clock.forward(time.Minute)
			require.NoError(t, v.Sweep(l.ctx), "another one goes on with it")
			_, err = v.After(l.ctx, first.Next, 2)
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
			assert.Len(t, rows(l, v), 5)
		})
	}
}

func TestAfter_FailsWhenRowsAreRemovedWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	l, v, first := pinned(t, 4)
	l.clock.forward(20 * time.Minute)
	arrived, release := l.sent.Hold(func(r faults.Request) bool { return r.Operation == "Query" })
	defer release()
	done := make(chan error, 1)
	go func() {
		_, err := v.After(l.ctx, first.Next, 2)
		done <- err
	}()
	<-arrived
	other := newTransport(l)
	require.NoError(t, view(other, other.sites()).Sweep(l.ctx))
	release()
	require.ErrorIs(t, <-done, entity.ErrInvalidCursor)
}

func TestAll_FailsWhenRowsAreRemovedWhileTheyAreRead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	rebuild(l, v)
	arrived, release := l.sent.Hold(func(r faults.Request) bool { return r.Operation == "Query" })
	defer release()
	type result struct {
		rows int
		err  error
	}
	done := make(chan result, 1)
	go func() {
		var r result
		for _, err := range v.All(l.ctx) {
			if err != nil {
				r.err = err
			} else {
				r.rows++
			}
		}
		done <- r
	}()
	<-arrived
	other := newTransport(l)
	again := view(other, other.sites())
	rebuild(other, again)
	l.clock.forward(20 * time.Minute)
	require.NoError(t, again.Sweep(l.ctx))
	release()
	r := <-done
	require.ErrorIs(t, r.err, entity.ErrInvalidCursor)
	assert.Zero(t, r.rows)
}

func TestAll_GoesOnWithRowsThatWereReplaced(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	l.append("d-1", "south", 2)
	v := view(l, l.sites())
	rebuild(l, v)
	n := 0
	for _, err := range v.All(l.ctx) {
		require.NoError(t, err)
		if n++; n == 1 {
			rebuild(l, v)
		}
	}
	assert.Equal(t, 2, n)
}
