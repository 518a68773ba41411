package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/streamed"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// record returns an item as the stream's record of its insertion.
func (l *lab) record(it dbtest.Item, n int) stream.Record {
	keys := dbtest.Item{"pk": it["pk"], "sk": it["sk"]}
	return stream.Record{Operation: "INSERT", SequenceNumber: strconv.Itoa(n), Keys: keys, New: it, View: "NEW_IMAGE"}
}

// arrivals returns the stored events of readings as changes, in an order of their own.
func (l *lab) arrivals() (all []timeline.Change) {
	l.T.Helper()
	for i, it := range l.Items() {
		if c, ok, err := stream.Of(l.readings, l.record(it, i)); ok && c.Kind == stream.Appended || err != nil {
			require.NoError(l.T, err)
			all = append(all, c)
		}
	}
	return all
}

// since returns the arrivals that are not in before.
func (l *lab) since(before []timeline.Change) (all []timeline.Change) {
	l.T.Helper()
	seen := map[string]bool{}
	id := func(c timeline.Change) string {
		it := streamed.Of(c).Item
		return dbtest.Text(it["pk"]) + dbtest.Text(it["sk"])
	}
	for _, c := range before {
		seen[id(c)] = true
	}
	for _, c := range l.arrivals() {
		if !seen[id(c)] {
			all = append(all, c)
		}
	}
	return all
}

// apply applies changes and fails the test on an error.
func apply[K comparable, S any](l *lab, v *timeline.View[K, S], changes ...timeline.Change) timeline.ApplyResult {
	l.T.Helper()
	r, err := v.Apply(l.Ctx, changes...)
	require.NoError(l.T, err)
	return r
}

// replayed requires that the rows are those of a replay.
func replayed(l *lab, v *timeline.View[string, totals], why string, args ...any) {
	l.T.Helper()
	require.Equal(l.T, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v), why+" "+fmt.Sprint(args...))
}

func TestApply_AddsNewEventsToTheRowsOfTheirGroups(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
		l.append("d-1", "north", 1, 2)
		v := view(l, p)
		rebuild(l, v)
		old := l.arrivals()
		l.append("d-1", "north", 3, 4)
		l.append("d-2", "south", 1)
		fresh := l.since(old)
		assert.Equal(t, timeline.ApplyResult{Applied: 3}, apply(l, v, fresh...))
		replayed(l, v, "applied")
		l.Wire.Reset()
		assert.Equal(t, timeline.ApplyResult{Duplicates: 3}, apply(l, v, fresh...))
		assert.Equal(t, []string{"GetItem", "BatchGetItem"}, l.Operations(), "a usual duplicate costs no more")
		replayed(l, v, "repeated")
	})
}

func TestApply_FoldsAGroupWithALateEventFromItsHistory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1, 5)
	v := view(l, l.devices())
	rebuild(l, v)
	old := l.arrivals()
	l.append("d-1", "north", 3, 4, 7)
	late := l.since(old)
	l.Wire.Reset()
	assert.Equal(t, timeline.ApplyResult{Refolded: 3, Groups: 1}, apply(l, v, late...))
	assert.Equal(t, 1, l.Wire.Count("Query"), "once for each group")
	replayed(l, v, "late")
	assert.Equal(t, timeline.ApplyResult{Duplicates: 5}, apply(l, v, l.arrivals()...), "a row knows the events of its history too")
}

func TestApply_LeavesALateEventWithoutPartitionKeyToTheNextCatchUp(t *testing.T) {
	t.Parallel()
	for name, age := range map[string]time.Duration{"recent": time.Minute, "of a slow clock": 3 * time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-1", "north", 1, 5)
			v := view(l, l.sites())
			rebuild(l, v)
			old := l.arrivals()
			l.Clock.Move(-age)
			l.append("d-1", "north", 3)
			l.Clock.Move(age)
			late := l.since(old)
			require.Len(t, late, 1)
			assert.Equal(t, timeline.ApplyResult{Noted: 1}, apply(l, v, late...))
			l.Clock.Move(time.Minute)
			catchUp(l, v)
			replayed(l, v, name)
			require.Equal(t, 3, rows(l, v)["north"].State.Count)
		})
	}
}

// A late event that is left to the next catch-up, while one is at work that has read the history already, waits for the one after
// it, also if that at work was to find an event of an earlier time.
func TestApply_LeavesALateEventToACatchUpThatBeginsLater(t *testing.T) {
	t.Parallel()
	for name, slow := range map[string]func(l *lab, v *timeline.View[string, totals]) error{
		"catch-up": func(l *lab, v *timeline.View[string, totals]) error { _, err := v.CatchUp(l.Ctx); return err },
		"rebuild":  func(l *lab, v *timeline.View[string, totals]) error { _, err := v.Rebuild(l.Ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.append("d-1", "north", 1, 5)
			v := view(l, l.sites())
			rebuild(l, v)
			late := func(minute float64) {
				old := l.arrivals()
				l.Clock.Move(-3 * time.Hour) // a slow clock
				l.append("d-1", "north", minute)
				l.Clock.Move(3 * time.Hour)
				require.Equal(t, 1, apply(l, v, l.since(old)...).Noted)
			}
			late(2)
			writing, write := l.Wire.Hold(dbtest.First(isRow))
			done := make(chan error, 1)
			go func() { done <- slow(l, v) }()
			<-writing
			if name == "rebuild" { // the history is read again after the first writing of the rows
				late(2.5)
				again, writeAgain := l.Wire.Hold(dbtest.First(isRow))
				write()
				<-again
				write = writeAgain
			}
			late(3)
			write()
			require.NoError(t, <-done)
			catchUp(l, v)
			replayed(l, v, "caught up")
		})
	}
}

func TestApply_BeforeTheFirstBuildWaitsForIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.devices())
	l.append("d-1", "north", 1)
	assert.Equal(t, timeline.ApplyResult{Noted: 1}, apply(l, v, l.arrivals()...))
	assert.Equal(t, timeline.Pending, metaOf(l, v).RebuildStatus)
	rebuild(l, v)
	replayed(l, v, "built")
}

func TestApply_ThenCatchUpFoldsNoGroupAgain(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
		l.append("d-0", "s-0", 0)
		v := view(l, p)
		rebuild(l, v)
		for n := range 3 { // an hour
			old := l.arrivals()
			for i := range 3 {
				l.append(fmt.Sprintf("d-%d", i), fmt.Sprintf("s-%d", i), float64(10*n+1))
			}
			apply(l, v, l.since(old)...)
			l.Clock.Move(20 * time.Minute)
		}
		l.Wire.Reset()
		for range 2 {
			catchUp(l, v)
			assert.Zero(t, l.rowWrites())
			replayed(l, v, "caught up")
		}
		assert.Equal(t, 2+2, l.Wire.Count("Scan"), "two catch-ups, and two replays of the test")
		assert.EqualValues(t, 3, metaOf(l, v).Rows)
		assert.Len(t, pageWalk(l, v, 2), 3, "pages list new groups")
	})
}

func TestApply_ThenCatchUpStillFindsLateEvents(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
		l.append("d-0", "s-0", 50)
		v := view(l, p)
		rebuild(l, v)
		l.Clock.Move(5 * time.Minute)
		l.append("d-0", "s-0", 1) // never delivered
		l.Clock.Move(40 * time.Minute)
		old := l.arrivals()
		l.append("d-0", "s-0", 60)
		assert.Equal(t, timeline.ApplyResult{Applied: 1}, apply(l, v, l.since(old)...))
		catchUp(l, v)
		replayed(l, v, "late")
		require.Equal(t, 3, rows(l, v)[map[string]string{"sites": "s-0", "devices": "d-0"}[p.Name]].State.Count)
	})
}

// Rows that workers of a job have stored know their events, like those of any build.
func TestApply_AfterAJobCountsOnce(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
		v := view(l, p)
		for n := range 2 { // before the first Apply of the view, and after
			l.append("d-1", "s-1", float64(10*n+1), float64(10*n+3))
			l.append("d-2", "s-2", float64(10*n+2))
			job := begun(l, v)
			require.NoError(t, newCrew(l, job, joined(l, job, p)).work(3))
			_, err := job.Finish(l.Ctx)
			require.NoError(t, err)
			want := rows(l, v)
			l.Wire.Reset()
			all := l.arrivals()
			done := apply(l, v, all...)
			if n > 0 {
				assert.Equal(t, timeline.ApplyResult{Duplicates: len(all)}, done)
				assert.Equal(t, []string{"GetItem", "BatchGetItem"}, l.Operations())
			}
			assert.Zero(t, done.Applied)
			require.Equal(t, want, rows(l, v), "what the job has folded counts once")
			old := l.arrivals()
			l.append("d-1", "s-1", float64(10*n+2)) // a late one
			l.append("d-2", "s-2", float64(10*n+4))
			apply(l, v, append(old, l.since(old)...)...)
			if p.Name == "sites" { // late events wait for it
				catchUp(l, v)
			}
			replayed(l, v, "applied after job", n)
		}
	})
}

// raised returns a view of another program, whose definition has the same name and another version.
func raised(l *lab, p timeline.Projection[string, totals]) (*lab, *timeline.View[string, totals]) {
	l.T.Helper()
	other := newTransport(l)
	q := other.sites()
	if p.Name == "devices" {
		q = other.devices()
	}
	q.Version = p.Version + 1
	return other, view(other, q)
}

// The next catch-up of their own definition finds the events, however long ago they were accepted.
func TestApply_LeavesRowsOfAnotherDefinitionToTheirCatchUp(t *testing.T) {
	eachRoute(t, func(t *testing.T, l *lab, p timeline.Projection[string, totals]) {
		l.append("d-1", "s-1", 1)
		served := view(l, p)
		rebuild(l, served)
		before, old := rows(l, served), l.arrivals()
		l.Clock.Move(-3 * time.Hour)
		l.append("d-1", "s-1", 0.5, 3)
		l.Clock.Move(3 * time.Hour)
		l.append("d-2", "s-2", 4)
		other, next := raised(l, p)
		fresh := l.since(old)
		assert.Equal(t, timeline.ApplyResult{Noted: 3}, apply(other, next, fresh...))
		assert.Equal(t, before, rows(l, served), "the rows stay")
		_, err := next.CatchUp(l.Ctx)
		var stale *timeline.StaleError
		require.ErrorAs(t, err, &stale)
		l.Clock.Move(time.Minute)
		catchUp(l, served)
		replayed(l, served, "caught up")
		rebuild(other, next)
		replayed(other, next, "rebuilt")
		assert.Equal(t, timeline.ApplyResult{Noted: 3}, apply(l, served, fresh...), "the old program finds the rows of the new one")
		replayed(other, next, "delivered to the old program")
		catchUp(other, next)
		replayed(other, next, "caught up")
	})
}

func TestConsume_IsAWholeHandlerOfAStream(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "s", 1)
	broken := errors.New("broken")
	p := l.devices()
	p.Handlers = []timeline.Handler[string, totals]{timeline.On("reading.appended", byDevice, func(s *totals, e timeline.Event[reading]) error {
		if e.Payload.Value == 30 {
			return broken
		}
		return sum(s, e)
	})}
	v := view(l, p)
	rebuild(l, v)
	batch := func() (e stream.Event) {
		for i, it := range l.Items() {
			e.Records = append(e.Records, l.record(it, 100+i))
		}
		return e
	}
	l.append("d-1", "s", 2)
	unrouted := 0
	resp, done, err := v.Consume(l.Ctx, batch(), stream.OnUnrouted(func(context.Context, stream.Record) error { unrouted++; return nil }))
	require.NoError(t, err)
	assert.Positive(t, done.Applied+done.Refolded)
	replayed(l, v, "consumed")
	assert.Empty(t, resp.BatchItemFailures)
	assert.NotNil(t, resp.BatchItemFailures, "Lambda takes null for a failure")
	assert.Positive(t, unrouted, "the routes of the caller are called too")
	require.Len(t, rows(l, v), 1)

	l.append("d-2", "s", 1, 3) // its second event fails
	l.append("d-3", "s", 1)
	e := batch()
	resp, _, err = v.Consume(l.Ctx, e)
	require.NoError(t, err)
	require.ErrorIs(t, resp.Err(), broken)
	require.Len(t, resp.BatchItemFailures, 1)
	first := slices.IndexFunc(e.Records, func(r stream.Record) bool { return r.SequenceNumber == resp.BatchItemFailures[0].ItemIdentifier })
	require.GreaterOrEqual(t, first, 0)
	require.Equal(t, "d-2", dbtest.Text(e.Records[first].New["device"]))
	require.Equal(t, "30", e.Records[first].New["value"].(*types.AttributeValueMemberN).Value, "the one that fails, not one of its group")
	require.Contains(t, rows(l, v), "d-3", "other groups are applied")

	stops := stream.On(l.readings, func(context.Context, stream.Change[reading]) error { return broken })
	resp, done, err = v.Consume(l.Ctx, e, stops)
	require.NoError(t, err)
	assert.Zero(t, done, "a route that fails stops the batch")
	require.Len(t, resp.BatchItemFailures, 1)
	require.NotEqual(t, e.Records[first].SequenceNumber, resp.BatchItemFailures[0].ItemIdentifier)
}

// A reader gives a view the stream of its table. After faults, a view that did not exist when records came, and events that came late, its rows are
// those of a rebuild.
func TestConsume_OnAReaderGivesTheRowsOfARebuild(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	_, err := dbtest.OpenStream(l.Ctx, l.Raw, l.Table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)
	v := view(l, l.devices())
	l.append("d-1", "s", 1, 5)
	rebuild(l, v)
	o := l.Raw.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
	ctx, stop := context.WithCancel(l.Ctx)
	done := make(chan error, 2)
	for range 2 {
		r := stream.NewReader(streams, l.DB, stream.ReaderOptions{Name: "rows", Batch: 5, Poll: time.Millisecond, OnLost: func(context.Context, *stream.LostError) error { return nil }})
		go func() {
			done <- r.Consume(ctx, func(ctx context.Context, e stream.Event) (stream.Response, error) {
				resp, _, err := v.Consume(ctx, e)
				return resp, err
			})
		}()
	}
	l.Wire.Inject(faults.Random(testsize.Seed(t), 0.05, faults.Throttle, faults.Lost, faults.Internal))
	for n := range 20 {
		l.append(fmt.Sprintf("d-%d", n%5), "s", float64(10+n), float64(40-n))
	}
	for deadline := time.Now().Add(2 * time.Minute); !assert.ObjectsAreEqual(rows(l, v, timeline.AsOf(at(1e6))), rows(l, v)); {
		require.True(t, time.Now().Before(deadline), "the rows are not those of the events")
	}
	stop()
	require.NoError(t, <-done)
	require.NoError(t, <-done)
	l.Wire.Inject(nil)
	before := rows(l, v)
	require.Len(t, before, 5)
	rebuild(l, v)
	require.Equal(t, before, rows(l, v))
}

func TestApply_RefusesWhatItCannotDo(t *testing.T) {
	t.Parallel()
	l := offline(t)
	refused := func(code string, err error) {
		t.Helper()
		var wrong *entity.InputError
		require.ErrorAs(t, err, &wrong)
		assert.Equal(t, code, wrong.Code)
	}
	for _, change := range []func(*timeline.Projection[string, totals]){
		func(p *timeline.Projection[string, totals]) { p.Descending = true },
		func(p *timeline.Projection[string, totals]) { p.Retention = time.Hour },
	} {
		p := l.sites(change)
		p.Name += fmt.Sprint(p.Retention)
		v := view(l, p)
		_, err := v.Apply(l.Ctx)
		refused("EDD-9188", err)
		require.ErrorContains(t, v.CheckApply(), "use CatchUp", "the way out")
		refused("EDD-9188", v.CheckApply())
		_, _, err = v.Consume(l.Ctx, stream.Event{})
		refused("EDD-9188", err)
	}
	v := view(l, l.sites())
	require.NoError(t, v.CheckApply())
	_, err := v.Apply(l.Ctx, nil)
	refused("EDD-9189", err)
	_, err = v.Apply(l.Ctx, stream.Change[reading]{})
	refused("EDD-9189", err)
	done, err := v.Apply(l.Ctx)
	require.NoError(t, err)
	assert.Zero(t, done, "without changes there is no request")
}

// Changes of items are their states, of which one is stored twice, and one can be touched.
func TestApply_OfVersionsReadsTheStatesOfItsItems(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := guests(t, l)
	f := entity.Fields[guest]()
	changes := func() (all []timeline.Change) {
		for i, it := range l.Items() {
			if c, ok, err := stream.Of(store, l.record(it, i)); ok || err != nil {
				require.NoError(t, err)
				all = append(all, c)
			}
		}
		return all
	}
	equal := func(why string) {
		t.Helper()
		apply(l, v, changes()...)
		apply(l, v, changes()...)
		catchUp(l, v)
		require.Equal(t, rows(l, v, timeline.AsOf(at(1e6))), rows(l, v), why)
	}
	for _, id := range []string{"a", "a1", "b"} { // one is the beginning of another
		_, err := store.Create(l.Ctx, guest{ID: id, House: "inn"})
		require.NoError(t, err)
	}
	rebuild(l, v)
	for i := range 3 {
		_, err := store.Update(l.Ctx, guest{ID: "a"}, entity.Set(&f.House, fmt.Sprint("house ", i)))
		require.NoError(t, err)
		l.Wire.Reset()
		done := apply(l, v, changes()...)
		assert.Positive(t, done.Applied)
		assert.Equal(t, 3, l.Wire.Count("Query"), "one for each item")
	}
	equal("updated")
	due, err := store.Touch(l.Ctx, guest{ID: "b"}, &f.Seen, 0)
	require.NoError(t, err)
	require.True(t, due)
	equal("touched")
	l.Clock.Move(40 * time.Minute)
	entity.Must(store.Touch(l.Ctx, guest{ID: "b"}, &f.Seen, 0))
	equal("touched long after")
	entity.Must(store.Update(l.Ctx, guest{ID: "b"}, entity.Set(&f.House, "pub")))
	equal("and then a past state")
	require.NoError(t, store.Delete(l.Ctx, guest{ID: "a"}))
	equal("deleted")
}

func TestApply_ToRowsThatExpireFoldsThemAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.devices(func(p *timeline.Projection[string, totals]) { p.Retention = time.Hour }))
	l.append("d-1", "north", -90) // accepted at noon: its row has expired
	l.append("d-2", "north", 0)
	rebuild(l, v)
	old := l.arrivals()
	l.append("d-1", "north", 1)
	l.append("d-3", "north", 1)
	fresh := l.since(old)
	assert.Equal(t, timeline.ApplyResult{Refolded: 2, Groups: 2}, apply(l, v, fresh...), "of a group without a row nothing is known")
	assert.Equal(t, timeline.ApplyResult{Duplicates: 2}, apply(l, v, fresh...))
	replayed(l, v, "applied")
	l.Clock.Move(2 * time.Hour)
	old = l.arrivals()
	l.append("d-1", "north", 125)
	apply(l, v, l.since(old)...)
	replayed(l, v, "after its row had expired")
	catchUp(l, v)
	replayed(l, v, "caught up")
}

func TestApply_NamesTheChangesThatItDidNotApply(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	poison := errors.New("poison")
	v := view(l, l.broken(poison))
	l.append("d-1", "north", 1)
	rebuild(l, v)
	l.append("d-1", "north", 2)
	l.append("d-3", "north", 1, 2)
	all := l.arrivals() // in the order of the table's hashes
	done, err := v.Apply(l.Ctx, all...)
	var failed *timeline.ApplyError
	require.ErrorAs(t, err, &failed)
	require.ErrorIs(t, err, poison)
	failedAt(t, err, timeline.Handling, poison)
	var want []int
	for i, c := range all {
		if dbtest.Text(streamed.Of(c).Item["device"]) == "d-3" {
			want = append(want, i)
		}
	}
	assert.Equal(t, want, failed.NotApplied)
	assert.Equal(t, streamed.Of(all[want[0]]).Sequence, failed.Sequence)
	assert.Equal(t, 2, done.Applied+done.Duplicates+done.Refolded)
	assert.Equal(t, 2, rows(l, v)["d-1"].State.Count)
}
