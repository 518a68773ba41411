package timeline_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// listing opens a log and fails the test on an error.
func listing(l *lab, log timeline.Log) *timeline.LogView {
	l.T.Helper()
	v := entity.Must(timeline.NewLog(l.DB, log))
	return v
}

// values returns the values of the readings on a page.
func values(p timeline.Page[timeline.Entry]) (all []int) {
	for _, e := range p.Rows {
		all = append(all, e.Payload.(reading).Value)
	}
	return all
}

func TestLog_ListsEvents(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 3, 1)
	l.append("d-2", "south", 2)
	newest := listing(l, timeline.Log{Name: "log", Source: timeline.Series(l.readings)})
	p := entity.Must(newest.Page(l.Ctx, 0, 0))
	assert.Equal(t, []int{30, 20, 10}, values(p), "newest first")
	assert.Equal(t, timeline.Complete, p.Meta.RebuildStatus)
	assert.Equal(t, 1.0, *p.Meta.RebuildProgress)
	assert.True(t, p.Authoritative())
	assert.Equal(t, []int64{1, 3, 1}, []int64{int64(p.Page), p.Total, p.Pages})
	assert.Equal(t, 25, p.Size)
	first := p.Rows[0]
	assert.Equal(t, "reading.appended", first.Name)
	assert.Equal(t, at(3), first.At)
	assert.Equal(t, 1, first.PayloadVersion)
	assert.NotEmpty(t, first.Key)
	assert.False(t, first.AcceptedAt.IsZero())
	assert.Equal(t, "north", first.Payload.(reading).Site)
	l.append("d-2", "south", 5)
	p = entity.Must(newest.Page(l.Ctx, 1, 2))
	assert.Equal(t, []int{50, 30}, values(p), "always up to date")
	assert.EqualValues(t, 2, p.Pages)
	p = entity.Must(newest.Page(l.Ctx, 3, 2))
	assert.Empty(t, p.Rows)
	for _, bad := range [][2]int{{-1, 1}, {1, -1}, {1, 101}} {
		_, err := newest.Page(l.Ctx, bad[0], bad[1])
		assert.Equal(t, "EDD-9133", dbtest.InputCode(err))
	}
}

func TestLog_FiltersByEventTimeAndKey(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.create("a", "1")
	l.update("a", "2")
	l.remove("a")
	l.create("b", "1")
	l.Clock.Move(time.Hour)
	l.append("d-1", "north", 10, 20, 30)
	l.append("d-10", "north", 15)
	both := timeline.Merge(timeline.Versions(l.past), timeline.Series(l.readings))
	names := func(v *timeline.LogView, opts ...timeline.LogOption) (all []string) {
		t.Helper()
		for e, err := range v.All(l.Ctx, opts...) {
			require.NoError(t, err)
			all = append(all, e.Name)
		}
		return all
	}
	some := listing(l, timeline.Log{Name: "some", Source: both, Oldest: true, Events: []string{"message.created", "message.deleted"}})
	assert.Equal(t, []string{"message.created", "message.deleted", "message.created"}, names(some))
	assert.Equal(t, []string{"message.created", "message.deleted"}, names(some, timeline.ForKey(message{ID: "a"})))
	assert.Empty(t, names(some, timeline.ForKey(reading{Device: "d-1"})))
	assert.True(t, some.Reads("reading.appended", "message.deleted"))
	assert.False(t, some.Reads("reading.appended"))
	all := listing(l, timeline.Log{Name: "all", Source: both})
	assert.True(t, all.Reads("reading.appended"))
	assert.False(t, all.Reads("message.sent"))
	readings := listing(l, timeline.Log{Name: "readings", Source: timeline.Series(l.readings), Oldest: true})
	list := func(opts ...timeline.LogOption) []int {
		t.Helper()
		p := entity.Must(readings.Page(l.Ctx, 1, 10, opts...))
		return values(p)
	}
	assert.Equal(t, []int{100, 150, 200}, list(timeline.AsOf(at(20))))
	assert.Equal(t, []int{200, 300}, list(timeline.Since(at(20))), "the moment counts")
	assert.Equal(t, []int{150, 200}, list(timeline.Since(at(15)), timeline.AsOf(at(29))))
	assert.Equal(t, []int{100, 200, 300}, list(timeline.ForKey(reading{Device: "d-1"})), "and not those of d-10")
	l.Wire.Reset()
	assert.Equal(t, []int{150}, list(timeline.ForKey(reading{Device: "d-10"})))
	assert.Equal(t, 0, l.Wire.Count("Scan"))
}

func TestLog_CursorsAreStableDuringAppends(t *testing.T) {
	t.Parallel()
	for _, oldest := range []bool{false, true} {
		l := newLab(t)
		log := listing(l, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Oldest: oldest})
		l.append("d-1", "north", 1, 2, 3, 4, 5)
		var got []int
		cursor := ""
		for i := range 10 {
			p := entity.Must(log.After(l.Ctx, cursor, 2))
			got = append(got, values(p)...)
			assert.EqualValues(t, -1, p.Total)
			if cursor = p.Next; cursor == "" {
				break
			}
			if oldest {
				l.append("d-2", "north", -float64(i)) // before what was listed
			} else {
				l.append("d-2", "north", 10+float64(i))
			}
		}
		want := []int{50, 40, 30, 20, 10}
		if oldest {
			want = []int{10, 20, 30, 40, 50}
		}
		assert.Equal(t, want, got, "oldest first: %v", oldest)
		p := entity.Must(log.After(l.Ctx, "", 1))
		_, err := listing(l, timeline.Log{Name: "log", Source: log.Source, Oldest: !oldest}).After(l.Ctx, p.Next, 1)
		assert.ErrorIs(t, err, entity.ErrInvalidCursor, "a cursor of the other direction")
		_, err = listing(l, timeline.Log{Name: "other", Source: log.Source, Oldest: oldest}).After(l.Ctx, p.Next, 1)
		assert.ErrorIs(t, err, entity.ErrInvalidCursor)
		_, err = log.After(l.Ctx, "x", 1)
		assert.ErrorIs(t, err, entity.ErrInvalidCursor)
	}
}

func TestNewLog_ChecksMemory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Memory: -1})
	assert.Equal(t, []string{"EDD-9081"}, codes(err))
	assert.Equal(t, []string{"EDD-9081"}, mistakes(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Memory = -1 })))

	l.append("d-1", "north", 1, 2, 3)
	missing := filepath.Join(t.TempDir(), "missing")
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "log", Source: timeline.Series(l.readings), Memory: 1, TempDir: missing}))
	p, err := log.Page(l.Ctx, 1, 10)
	require.NoError(t, err, "three events are not worth a file")
	assert.Len(t, p.Rows, 3)
}
