package timeline_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/versioned"
)

// guest is a versioned entity with a time that is touched.
type guest struct {
	_ entity.Key `name:"Guest" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID      string    `dynamodbav:"id"`
	House   string    `dynamodbav:"house"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// guests is a view of when the guests of a house were seen, by state.
func guests(t *testing.T, l *lab) (*entity.Store[guest], *timeline.View[string, journal]) {
	t.Helper()
	store, err := entity.New[guest](l.db)
	require.NoError(t, err)
	past, err := versioned.Of(store)
	require.NoError(t, err)
	f := timeline.Projection[string, journal]{Name: "guests", Version: 1, Source: timeline.Versions(past)}
	for _, what := range []string{"created", "updated", "deleted"} {
		f.Handlers = append(f.Handlers, timeline.On("guest."+what, func(g guest) string { return g.House }, func(j *journal, e timeline.Event[guest]) error {
			j.Lines = append(j.Lines, fmt.Sprint(e.Payload.ID, " ", e.Name, " ", e.Version, " ", e.Payload.Seen.Format(time.RFC3339Nano)))
			return nil
		}))
	}
	return store, view(l, f)
}

func TestCatchUp_HasTouchedStatesAsARebuildHas(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := guests(t, l)
	f := entity.Fields[guest]()
	touch := func(id string) {
		t.Helper()
		due, err := store.Touch(l.ctx, guest{ID: id}, &f.Seen, 0)
		require.NoError(t, err)
		require.True(t, due)
	}
	equal := func(why string) {
		t.Helper()
		_, err := v.CatchUp(l.ctx)
		require.NoError(t, err)
		caughtUp := rows(l, v)
		require.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), caughtUp, why)
		rebuild(l, v)
		require.Equal(t, rows(l, v), caughtUp, why)
	}
	for _, id := range []string{"a", "b", "c"} {
		_, err := store.Create(l.ctx, guest{ID: id, House: "inn"})
		require.NoError(t, err)
	}
	rebuild(l, v)
	touch("a")
	equal("touched")
	touch("a")
	equal("touched within a minute")
	l.clock.forward(40 * time.Minute)
	touch("b")
	equal("touched long after")
	touch("b")
	_, err := store.Update(l.ctx, guest{ID: "b"}, entity.Set(&f.House, "pub"))
	require.NoError(t, err)
	equal("touched, and then a past state")
	l.clock.forward(40 * time.Minute)
	touch("c")
	require.NoError(t, store.Delete(l.ctx, guest{ID: "c"}))
	equal("touched, and then deleted")
}

// rowWrites is how many rows were written since the last reset.
func (l *lab) rowWrites() (n int) {
	for _, r := range l.sent.Requests() {
		if (r.Operation == "PutItem" || r.Operation == "UpdateItem") && bytes.Contains(r.Body, []byte(`"state"`)) {
			n++
		}
	}
	return n
}

func TestCatchUp_ThatFindsNothingFoldsNoRow(t *testing.T) {
	t.Parallel()
	for _, within := range []bool{false, true} {
		t.Run(fmt.Sprint("within ", within), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var evs []reading
			for i := range 300 { // all of them accepted within minutes
				evs = append(evs, reading{Device: "d-1", Site: "north", At: at(float64(i)), Value: i})
			}
			l.load(evs)
			fold := l.sites()
			if within {
				fold = l.devices()
				l.clock.forward(time.Hour) // nothing came since
			}
			v := view(l, fold)
			rebuild(l, v)
			idle := func() {
				t.Helper()
				l.sent.Reset()
				_, err := v.CatchUp(l.ctx, timeline.Segments(1))
				require.NoError(t, err)
				assert.Equal(t, 1, l.sent.Count("Scan"))
				assert.Zero(t, l.rowWrites())
			}
			idle()
			l.append("d-1", "north", 1.5, 400) // one of them late
			_, err := v.CatchUp(l.ctx)
			require.NoError(t, err)
			assert.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v))
			for range 2 {
				idle()
			}
		})
	}
}

func TestCatchUp_WithoutEventsFoldsNoRowOfAFeedWithoutTimes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	events := []event{happened("a", -3, "s"), happened("b", -2, "s")}
	for i := range events {
		events[i].AcceptedAt = time.Time{}
	}
	v := view(l, fromFeed("feed", fed(&events)))
	rebuild(l, v)
	l.sent.Reset()
	_, err := v.CatchUp(l.ctx)
	require.NoError(t, err)
	assert.Zero(t, l.rowWrites())
	late := happened("c", -4, "s")
	late.AcceptedAt = time.Time{}
	events = append(events, late)
	_, err = v.CatchUp(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v))
	assert.Equal(t, 3, rows(l, v)["s"].State.Count)
}
