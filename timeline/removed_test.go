package timeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// withdraw removes the reading of a device at a minute, and returns the change.
func (l *lab) withdraw(device string, minute float64, view string) timeline.Change {
	l.T.Helper()
	before := l.ItemsByKey()
	require.NoError(l.T, l.readings.Remove(l.Ctx, reading{Device: device, At: at(minute)}))
	after := l.ItemsByKey()
	for key, it := range before {
		if after[key] == nil && it["_k"] != nil {
			return l.gone(it, view, false)
		}
	}
	l.T.Fatal("no event is gone")
	return nil
}

// gone returns the change of an item that is removed, by DynamoDB if it has expired.
func (l *lab) gone(it dbtest.Item, view string, expired bool) timeline.Change {
	l.T.Helper()
	r := l.record(it, 1000)
	r.Operation, r.New, r.Old, r.View, r.ByTTL = "REMOVE", nil, it, "NEW_AND_OLD_IMAGES", expired
	if view == "NEW_IMAGE" {
		r.Old, r.View = nil, "NEW_IMAGE"
	}
	c, ok, err := stream.Of(l.readings, r)
	require.True(l.T, ok && err == nil, "%v", err)
	return c
}

// A row is as if a removed event never was, whichever event it was, and whether the row knew it.
func TestApply_FoldsAGroupWithoutARemovedEvent(t *testing.T) {
	t.Parallel()
	for name, minute := range map[string]float64{"the oldest": 1, "in between": 2, "the newest": 3, "far ahead": 50 * 365 * 24 * 60} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-1", "north", 1, 2)
			v := view(l, l.devices())
			rebuild(l, v)
			old := l.arrivals()
			l.append("d-1", "north", 3, 50*365*24*60)
			assert.Equal(t, 2, apply(l, v, l.since(old)...).Applied)
			arrivals := l.arrivals()
			c := l.withdraw("d-1", minute, "")
			assert.Equal(t, timeline.ApplyResult{Refolded: 1, Groups: 1}, apply(l, v, c))
			replayed(l, v, name)
			require.Equal(t, 3, rows(l, v)["d-1"].State.Count)
			apply(l, v, c)
			apply(l, v, append(arrivals, c)...) // as a stream delivers again
			replayed(l, v, "again")
			catchUp(l, v)
			replayed(l, v, "caught up")
			l.append("d-1", "north", minute)
			apply(l, v, append([]timeline.Change{c}, l.arrivals()...)...)
			replayed(l, v, "appended again")
			require.Equal(t, 4, rows(l, v)["d-1"].State.Count)
		})
	}
}

func TestApply_ARowGoesWithTheLastEventOfItsGroup(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	l.append("d-2", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	c := l.withdraw("d-1", 1, "")
	for range 2 {
		apply(l, v, c)
		require.Len(t, rows(l, v), 1)
	}
	_, _, err := v.Get(l.Ctx, "d-1")
	require.ErrorIs(t, err, entity.ErrNotFound)
	l.append("d-1", "north", 2)
	apply(l, v, l.arrivals()...)
	replayed(l, v, "a new event")
}

// An event that has expired stays in the rows until they are folded again.
func TestApply_AnExpiredEventIsNoRemovedOne(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.devices())
	rebuild(l, v)
	before := l.arrivals()
	for _, it := range l.Items() {
		if it["_k"] != nil && dbtest.Text(it["at"]) == at(1).Format("2006-01-02T15:04:05.000000000Z") {
			l.RemoveItem(it)
			assert.Equal(t, timeline.ApplyResult{Skipped: 1}, apply(l, v, l.gone(it, "", true)))
		}
	}
	require.Len(t, before, 2)
	require.Equal(t, 2, rows(l, v)["d-1"].State.Count)
}

func TestApply_ARemovalThatItCannotPlaceWaitsForARebuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2, 3)
	v, over := view(l, l.devices()), view(l, l.sites())
	rebuild(l, v)
	rebuild(l, over)
	assert.Equal(t, timeline.ApplyResult{Skipped: 1}, apply(l, v, l.withdraw("d-1", 1, "NEW_IMAGE")), "its group is unknown")
	assert.Equal(t, timeline.ApplyResult{Noted: 1}, apply(l, over, l.withdraw("d-1", 2, "")), "its group cannot be read")
	for _, v := range []*timeline.View[string, totals]{v, over} {
		rebuild(l, v)
		replayed(l, v, "rebuilt")
	}
}

// A builder may have read an event before it was removed.
func TestApply_ARemovalWaitsForABuildAtWork(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(l *lab, v *timeline.View[string, totals]) error{
		"rebuild":  func(l *lab, v *timeline.View[string, totals]) error { return dbtest.ErrorOf(v.Rebuild(l.Ctx)) },
		"catch-up": func(l *lab, v *timeline.View[string, totals]) error { return dbtest.ErrorOf(v.CatchUp(l.Ctx)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-1", "north", 1)
			v := view(l, l.devices())
			rebuild(l, v)
			l.append("d-1", "north", 2)
			writing, write := l.Wire.Hold(dbtest.First(isRow))
			done := make(chan error, 1)
			go func() { done <- work(l, v) }()
			<-writing
			c := l.withdraw("d-1", 2, "")
			l.append("d-2", "north", 1)
			changes := append(l.arrivals(), c)
			_, err := v.Apply(l.Ctx, changes...)
			var failed *timeline.ApplyError
			require.ErrorAs(t, err, &failed)
			require.ErrorIs(t, err, timeline.ErrBuilding)
			require.Equal(t, []int{len(changes) - 1}, failed.NotApplied, "the others are applied")
			write()
			require.NoError(t, <-done)
			apply(l, v, c)
			replayed(l, v, name)
			require.Equal(t, 1, rows(l, v)["d-1"].State.Count)
		})
	}
}

func TestApply_ARemovalWaitsForABuildThatWasLeft(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.devices())
	rebuild(l, v)
	ctx, stop := context.WithCancel(l.Ctx)
	writing, write := l.Wire.Hold(dbtest.First(isRow))
	done := make(chan error, 1)
	go func() { done <- dbtest.ErrorOf(v.Rebuild(ctx)) }()
	<-writing
	stop()
	write()
	require.ErrorIs(t, <-done, context.Canceled)
	c := l.withdraw("d-1", 2, "")
	require.ErrorIs(t, dbtest.ErrorOf(v.Apply(l.Ctx, c)), timeline.ErrBuilding, "it can be resumed")
	l.OK(v.Rebuild(l.Ctx, timeline.Resume()))
	apply(l, v, c)
	replayed(l, v, "resumed")
	require.Equal(t, 1, rows(l, v)["d-1"].State.Count)
}

// A row that is to go stays when another call has added an event meanwhile.
func TestApply_ARowThatGoesKeepsAnEventOfAnotherCall(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	c := l.withdraw("d-1", 1, "")
	deleting, goOn := l.Wire.Hold(dbtest.First(func(r faults.Request) bool { return r.Operation == "DeleteItem" }))
	done := make(chan error, 1)
	go func() { done <- dbtest.ErrorOf(v.Apply(l.Ctx, c)) }()
	<-deleting
	l.append("d-1", "north", 3)
	apply(l, v, l.arrivals()...)
	goOn()
	require.NoError(t, <-done)
	replayed(l, v, "at once")
	require.Equal(t, 1, rows(l, v)["d-1"].State.Count)
}

// A removal and other changes of a row do not undo each other.
func TestApply_ARemovalAndOtherChangesAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.devices())
	rebuild(l, v)
	old := l.arrivals()
	l.append("d-1", "north", 3)
	fresh := l.since(old)
	c := l.withdraw("d-1", 2, "")
	writing, write := l.Wire.Hold(dbtest.First(isRow))
	done := make(chan error, 1)
	go func() { done <- dbtest.ErrorOf(v.Apply(l.Ctx, fresh...)) }()
	<-writing
	apply(l, v, c)
	write()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	replayed(l, v, "at once")
	require.Equal(t, 2, rows(l, v)["d-1"].State.Count)
}
