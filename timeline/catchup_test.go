package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestCatchUp_AfterACrashAtAnyRequestEqualsARebuild(t *testing.T) {
	t.Parallel()
	for _, round := range testsize.Rounds(faults.Drop, faults.Lost) {
		t.Run(round.String(), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			v := view(l, l.sites())
			l.append("d-0", "s-0", 50)
			rebuild(l, v)
			for n := 1; ; n += testsize.Pick(5, 1) {
				for i := range 3 { // a new group, one with a late event, one that goes on
					l.append(fmt.Sprintf("d-%d-%d", n, i), fmt.Sprintf("s-%d", []int{n, 0, 0}[i]), []float64{1, float64(n), 50 + float64(n)}[i])
				}
				l.connect(once)
				v = view(l, l.sites())
				l.Wire.Reset()
				l.Wire.Inject(from(n, round.At(n)))
				_, err := v.CatchUp(l.Ctx, timeline.Segments(1))
				l.Wire.Inject(nil)
				if err == nil {
					assert.Greater(t, n, 6)
					break
				}
				l.Clock.Move(time.Duration(1+20*(n%2)) * time.Minute) // the lease ends, and sometimes no write is in flight any more
				l.connect()
				v = view(l, l.sites())
				meta := catchUp(l, v)
				want := rows(l, v, timeline.AsOf(at(1000)))
				require.Equal(t, want, rows(l, v), "ended at request %d", n)
				require.EqualValues(t, len(want), meta.Rows, "ended at request %d", n)
				page, err := v.Page(l.Ctx, 1, 100)
				require.NoError(t, err)
				require.Len(t, page.Rows, len(want))
			}
		})
	}
}

// The rows of a view with Retention may have expired, so a catch-up does not decode the key of a group without one at first.
func TestCatchUp_GroupsWithoutARowWhoseKeyIsAStructOrATime(t *testing.T) {
	t.Parallel()
	type place struct{ Site, Device string }
	l := newLab(t)
	l.append("d", "s", 1)
	places := view(l, timeline.Projection[place, totals]{
		Name: "places", Version: 1, Source: timeline.Series(l.readings), Retention: time.Hour,
		Handlers: []timeline.Handler[place, totals]{timeline.On("reading.appended", func(r reading) place { return place{r.Site, r.Device} }, sum)},
	})
	times := view(l, timeline.Projection[time.Time, totals]{
		Name: "times", Version: 1, Source: timeline.Series(l.readings), Retention: time.Hour,
		Handlers: []timeline.Handler[time.Time, totals]{timeline.On("reading.appended", func(r reading) time.Time { return r.At }, sum)},
	})
	rebuild(l, places)
	rebuild(l, times)
	l.append("d-2", "s-2", 2)
	require.EqualValues(t, 2, catchUp(l, places).Rows)
	require.EqualValues(t, 2, catchUp(l, times).Rows)
}

func TestCatchUp_DuringAppendsLosesNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	random := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	sites, devices := view(l, l.sites()), view(l, l.devices())
	rebuild(l, sites)
	rebuild(l, devices)
	var writers, builders sync.WaitGroup
	events := testsize.Pick(10, 60)
	for w := range 4 {
		minutes := random.Perm(events)
		writers.Go(func() {
			for _, m := range minutes { // in no order: most come late
				ev := reading{Device: fmt.Sprintf("d-%d", m%5), Site: fmt.Sprintf("s-%d", m%3), At: at(float64(m) + float64(w)/10), Value: m}
				if _, err := l.readings.Append(l.Ctx, ev); err != nil {
					assert.NoError(t, err)
				}
			}
		})
	}
	done := make(chan struct{})
	for i, v := range []*timeline.View[string, totals]{sites, devices} {
		builders.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					return
				default:
				}
				var err error
				if n%5 == 4 && i == 1 {
					_, err = v.Rebuild(l.Ctx)
				} else {
					_, err = v.CatchUp(l.Ctx)
				}
				assert.NoError(t, err)
			}
		})
	}
	writers.Wait()
	close(done)
	builders.Wait()
	for _, v := range []*timeline.View[string, totals]{sites, devices} {
		catchUp(l, v)
		got := rows(l, v)
		total := 0
		for _, r := range got {
			total += r.State.Count
		}
		assert.Equal(t, 4*events, total)
		assert.Equal(t, rows(l, v, timeline.AsOf(at(1000))), got)
	}
}

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

// guests is a view of the visits of guests, by state.
func guests(t *testing.T, l *lab) (*entity.Store[guest], *timeline.View[string, journal]) {
	t.Helper()
	store := entity.Must(entity.New[guest](l.DB))
	past := entity.Must(versioned.Of(store))
	line := func(e timeline.Event[guest]) string {
		return fmt.Sprint(e.Payload.ID, " ", e.Name, " ", e.Version, " ", e.Payload.Seen.Format(time.RFC3339Nano))
	}
	return store, view(l, journals("guests", timeline.Versions(past), "guest", func(g guest) string { return g.House }, line, "created", "updated", "deleted"))
}

func TestCatchUp_OfTouchedStatesEqualsARebuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := guests(t, l)
	f := entity.Fields[guest]()
	touch := func(id string) {
		t.Helper()
		due, err := store.Touch(l.Ctx, guest{ID: id}, &f.Seen, 0)
		require.NoError(t, err)
		require.True(t, due)
	}
	equal := func(why string) {
		t.Helper()
		catchUp(l, v)
		require.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v), why)
	}
	for _, id := range []string{"a", "b", "c"} {
		_, err := store.Create(l.Ctx, guest{ID: id, House: "inn"})
		require.NoError(t, err)
	}
	rebuild(l, v)
	touch("a")
	equal("touched")
	touch("a")
	equal("touched within a minute")
	l.Clock.Move(40 * time.Minute)
	touch("b")
	equal("touched long after")
	touch("b")
	_, err := store.Update(l.Ctx, guest{ID: "b"}, entity.Set(&f.House, "pub"))
	require.NoError(t, err)
	equal("touched, and then a past state")
	l.Clock.Move(40 * time.Minute)
	touch("c")
	require.NoError(t, store.Delete(l.Ctx, guest{ID: "c"}))
	equal("touched, and then deleted")
	caughtUp := rows(l, v)
	rebuild(l, v)
	require.Equal(t, rows(l, v), caughtUp)
}

func TestCatchUp_WithoutNewEventsWritesNoRow(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, projection timeline.Projection[string, totals]) {
		var evs []reading
		for i := range 100 { // all of them accepted within minutes
			evs = append(evs, reading{Device: "d-1", Site: "north", At: at(float64(i)), Value: i})
		}
		l.load(evs)
		if t.Name() == "TestCatchUp_WithoutNewEventsWritesNoRow/partition" {
			l.Clock.Move(time.Hour) // nothing came since
		}
		v := view(l, projection)
		rebuild(l, v)
		idle := func() {
			t.Helper()
			l.Wire.Reset()
			before := metaOf(l, v)
			meta, err := v.CatchUp(l.Ctx, timeline.Segments(1))
			require.NoError(t, err)
			assert.True(t, meta.Through.After(before.Through))
			assert.Equal(t, 1, l.Wire.Count("Scan"))
			assert.Zero(t, l.rowWrites())
		}
		idle()
		l.append("d-1", "north", 1.5, 400) // one of them late
		catchUp(l, v)
		assert.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v))
		for range 2 {
			idle()
		}
	})
}

func TestCatchUp_AfterABuilderWithAClockAheadLosesNone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	right, fast := view(l, l.sites()), l.ahead(time.Hour)
	l.append("d-1", "north", 1)
	rebuild(l, fast)
	l.Clock.Move(5 * time.Minute)
	l.append("d-2", "north", 2)
	l.Clock.Move(25 * time.Minute)
	before := metaOf(l, right)
	meta := catchUp(l, right)
	assert.False(t, meta.Through.Before(before.Through), "what rows account for never shrinks")
	l.Clock.Move(30 * time.Minute)
	l.append("d-3", "north", 3)
	catchUp(l, right)
	assert.Equal(t, []int{10, 20, 30}, rows(l, right)["north"].State.Order)
}
