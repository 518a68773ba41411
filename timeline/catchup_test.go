package timeline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/testsize"
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
