package timeline_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// crowd are n rows of a feed, row i ending i minutes later than the first.
func crowd(l *lab, n int, retention time.Duration) *timeline.View[int, totals] {
	l.t.Helper()
	var events []event
	for i := range n {
		e := happened(fmt.Sprint(i), float64(i)-float64(n), "s")
		e.Payload.Value = i - n/2
		events = append(events, e)
	}
	byValue := func(r reading) int { return r.Value }
	v := view(l, timeline.Projection[int, totals]{Name: "crowd", Version: 1, Source: fed(&events), Retention: retention, MaxPageSize: 1000,
		Handlers: []timeline.Handler[int, totals]{timeline.On("taken", byValue, sum)}})
	rebuild(l, v)
	return v
}

// cursorWalk are the keys of all pages by cursor.
func cursorWalk[K comparable, S any](l *lab, v *timeline.View[K, S], size int, opts ...timeline.RowsOption) (keys []K) {
	l.t.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		p, err := v.After(l.ctx, cursor, size, opts...)
		require.NoError(l.t, err)
		require.LessOrEqual(l.t, len(p.Rows), size)
		for _, r := range p.Rows {
			keys = append(keys, r.Key)
		}
		cursor = p.Next
	}
	return keys
}

func TestPagesGiveEveryRowOnceInOrder(t *testing.T) {
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
		p, err := v.Page(l.ctx, c.page, c.size)
		require.NoError(t, err)
		assert.Len(t, p.Rows, c.rows, "page %d of %d", c.page, c.size)
		assert.Equal(t, c.pages, p.Pages, "page %d of %d", c.page, c.size)
		assert.EqualValues(t, n, p.Total)
	}
	p, err := v.Page(l.ctx, 3, 20)
	require.NoError(t, err)
	next, err := v.After(l.ctx, p.Next, 20)
	require.NoError(t, err)
	assert.Equal(t, 60-n/2, next.Rows[0].Key, "a cursor goes on behind a page by number")
	_, err = v.After(l.ctx, "x", 20)
	assert.ErrorIs(t, err, entity.ErrInvalidCursor)
	_, err = v.After(l.ctx, p.Next, 20, past)
	assert.ErrorIs(t, err, entity.ErrInvalidCursor, "a cursor of stored rows")
	_, err = v.After(l.ctx, "", 1001)
	assert.Error(t, err)
}

func TestExpiredRowsAreNeitherOnPagesNorCounted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const n = 257
	v := crowd(l, n, 5*time.Hour) // row i ends i+43 minutes after noon
	l.sent.Reset()
	_, err := v.Page(l.ctx, 1, 20)
	require.NoError(t, err)
	assert.Len(t, l.sent.Requests(), 3)
	l.clock.forward(175 * time.Minute)
	var want []int
	for r, err := range v.All(l.ctx) {
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
		p, err := v.Page(l.ctx, 2, 20)
		require.NoError(t, err)
		assert.Len(t, p.Rows, 20)
		assert.EqualValues(t, len(want), p.Total)
		assert.EqualValues(t, (len(want)+19)/20, p.Pages)
		p, err = v.After(l.ctx, p.Next, 1)
		require.NoError(t, err)
		assert.Equal(t, want[40], p.Rows[0].Key)
		p, err = v.Page(l.ctx, 1, 20, timeline.AsOf(at(1e6)))
		require.NoError(t, err)
		assert.EqualValues(t, len(want), p.Total, "as a replay counts them")
		if !removed {
			l.removeExpired()
		}
	}
	l.clock.forward(5 * time.Hour)
	p, err := v.Page(l.ctx, 1, 20)
	require.NoError(t, err)
	assert.Zero(t, p.Total)
	assert.EqualValues(t, 1, p.Pages)
	assert.Empty(t, p.Rows)
}

// TestPage_CountsRowsThatLiveLonger catches up with an event of a row that would have expired, and rebuilds a view of which
// little is left.
func TestPage_CountsRowsThatLiveLonger(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.Retention = time.Hour }))
	l.append("d-1", "north", -1)
	l.append("d-1", "south", -2)
	rebuild(l, v)
	total := func() int64 {
		t.Helper()
		p, err := v.Page(l.ctx, 1, 10)
		require.NoError(t, err)
		assert.Len(t, p.Rows, int(p.Total))
		return p.Total
	}
	assert.EqualValues(t, 2, total())
	l.clock.forward(30 * time.Minute)
	l.append("d-1", "north", 29)
	_, err := v.CatchUp(l.ctx)
	require.NoError(t, err)
	l.clock.forward(40 * time.Minute)
	assert.EqualValues(t, 1, total())
	_, err = v.CatchUp(l.ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 1, total())
	l.clock.forward(time.Hour)
	assert.Zero(t, total())
}

// removeExpired removes what has expired, as DynamoDB does in its own time.
func (l *lab) removeExpired() {
	l.t.Helper()
	now := strconv.FormatInt(l.clock.Now().Unix(), 10)
	for _, it := range l.scan() {
		ttl, ok := it["_ttl"].(*types.AttributeValueMemberN)
		if !ok || ttl.Value > now { // ten digits each
			continue
		}
		_, err := l.raw.DeleteItem(l.ctx, &dynamodb.DeleteItemInput{TableName: &l.table, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}})
		require.NoError(l.t, err)
	}
}

func TestAListingStaysWithTheRowsThatItBeganWith(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 4 {
		l.append(fmt.Sprint("d-", i), fmt.Sprint("s-", i), 1)
	}
	v := view(l, l.sites())
	rebuild(l, v)
	first, err := v.After(l.ctx, "", 2)
	require.NoError(t, err)
	l.append("d-9", "s-2", 2)
	rebuild(l, v)
	second, err := v.After(l.ctx, first.Next, 2)
	require.NoError(t, err)
	require.Len(t, second.Rows, 2)
	assert.Equal(t, 1, second.Rows[0].State.Count, "the rows of before")
	assert.Empty(t, second.Next)
	assert.Equal(t, first.Meta.Generation, second.Meta.Generation)
	assert.Equal(t, 2, rows(l, v)["s-2"].State.Count)
}

func TestPagesOutOfBoundsAreRefused(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.MaxPageSize = 10 }))
	for _, opts := range [][]timeline.RowsOption{nil, {timeline.AsOf(noon)}} {
		for _, bad := range [][2]int{{1, 11}, {1, -1}, {-1, 1}} {
			_, err := v.Page(l.ctx, bad[0], bad[1], opts...)
			var input *entity.InputError
			require.ErrorAs(t, err, &input)
			assert.Equal(t, "EDD-9133", input.Code)
		}
	}
}

func TestAffectedTellsWhoseRowsMayChange(t *testing.T) {
	t.Parallel()
	l := offline(t)
	v := view(l, l.histories(func(f *timeline.Projection[string, journal]) { f.Handlers = f.Handlers[:2] }))
	assert.True(t, v.DependsOn("reading.appended", "message.updated"))
	assert.False(t, v.DependsOn("message.deleted"))
	assert.False(t, v.DependsOn())
}

func TestTheFingerprintChangesWithEveryPartOfADefinition(t *testing.T) {
	t.Parallel()
	type fold = timeline.Projection[string, totals]
	l := offline(t)
	print := func(change ...func(*fold)) string {
		t.Helper()
		return view(offline(t), l.sites(change...)).Fingerprint()
	}
	one := print()
	assert.Len(t, one, 32)
	other := func(what, got string) { t.Helper(); assert.NotEqual(t, one, got, what) }
	same := func(what, got string) { t.Helper(); assert.Equal(t, one, got, what) }
	other("name", print(func(f *fold) { f.Name = "places" }))
	other("version", print(func(f *fold) { f.Version = 2 }))
	other("start", print(func(f *fold) { f.Start = func() totals { return totals{Sum: 1} } }))
	same("the start that is none", print(func(f *fold) { f.Start = func() totals { return totals{} } }))
	other("descending", print(func(f *fold) { f.Descending = true }))
	other("skip", print(func(f *fold) { f.SkipUngrouped = true }))
	other("retention", print(func(f *fold) { f.Retention = time.Hour }))
	other("form", print(func(f *fold) { f.Handlers[0] = timeline.Ensure[reading, string, totals]("reading.appended", bySite) }))
	other("source", print(func(f *fold) { f.Source = timeline.Merge(f.Source, timeline.Versions(l.past)) }))
	named := func(names ...string) string {
		return print(func(f *fold) {
			f.Source = timeline.Series(l.readings, timeline.Classify(names, func(timeline.Event[reading]) string { return "" }))
			f.Handlers[0] = timeline.On("a", bySite, sum)
		})
	}
	other("names", named("a"))
	assert.NotEqual(t, named("a"), named("a", "b"))
	assert.Equal(t, named("a", "b"), named("b", "a"))
	same("pages, memory, files, table", print(func(f *fold) { f.PageSize, f.MaxPageSize, f.Memory, f.TempDir = 1, 2, 1<<20, "x" }))
	same("where groups lie", print(func(f *fold) {
		f.Source = timeline.Series(l.readings, timeline.PartitionKey(func(d string) reading { return reading{Device: d} }))
	}))
	type inArray[A any] struct {
		Last []A `dynamodbav:"last"` // of a length that no start shows
	}
	four := view(offline(t), by(l, bySite, func(*inArray[[4]int], timeline.Event[reading]) error { return nil })).Fingerprint()
	eight := view(offline(t), by(l, bySite, func(*inArray[[8]int], timeline.Event[reading]) error { return nil })).Fingerprint()
	assert.NotEqual(t, four, eight, "the length of an array")
	type more struct {
		totals
		More int `dynamodbav:"more"`
	}
	type renamed struct {
		Count int        `dynamodbav:"n"`
		Sum   int        `dynamodbav:"sum"`
		Last  *time.Time `dynamodbav:"last"`
		Order []int      `dynamodbav:"order"`
	}
	site := func(name string) timeline.Projection[string, totals] {
		f := by(l, bySite, sum)
		f.Name = name
		return f
	}
	by1 := view(offline(t), site("by")).Fingerprint()
	assert.NotEqual(t, by1, view(offline(t), by(l, bySite, func(*more, timeline.Event[reading]) error { return nil })).Fingerprint(), "state")
	assert.NotEqual(t, by1, view(offline(t), by(l, bySite, func(*renamed, timeline.Event[reading]) error { return nil })).Fingerprint(), "tags of the state")
	assert.NotEqual(t, by1, view(offline(t), by(l, func(r reading) int { return r.Value }, sum)).Fingerprint(), "key")
	// The times of items.
	m := entity.Fields[message]()
	times := func(at *time.Time, opts ...timeline.SourceOption) string {
		return view(offline(t), timeline.Projection[string, totals]{Name: "by", Version: 1, Source: timeline.Items(l.messages, at, opts...),
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[message, string, totals]("message.stored", func(m message) string { return m.ID })}}).Fingerprint()
	}
	prints := []string{times(&m.Created), times(&m.Updated), times(&m.Created, timeline.AcceptedAt(&m.Created)), times(&m.Created, timeline.AcceptedAt(&m.Updated))}
	slices.Sort(prints)
	assert.Len(t, slices.Compact(prints), 4)
	// Steps, and the order of handlers and options.
	steps := func(opts ...timeline.SourceOption) string {
		t.Helper()
		series, err := timeseries.New[temp3](offline(t).db)
		require.NoError(t, err)
		return view(offline(t), timeline.Projection[string, totals]{Name: "temps", Version: 1, Source: timeline.Series(series, opts...),
			Handlers: []timeline.Handler[string, totals]{timeline.Ensure[temp3, string, totals]("temp.appended", func(v temp3) string { return v.ID })}}).Fingerprint()
	}
	first, second := timeline.Upgrade(1, firstStep), timeline.Upgrade(2, secondStep)
	assert.NotEqual(t, steps(second), steps(first, second))
	assert.Equal(t, steps(second, first), steps(first, second))
	histories := l.histories()
	straight := view(offline(t), histories).Fingerprint()
	slices.Reverse(histories.Handlers)
	assert.Equal(t, straight, view(offline(t), histories).Fingerprint())
	assert.NotEqual(t, straight, view(offline(t), l.histories(func(f *timeline.Projection[string, journal]) { f.Handlers = f.Handlers[1:] })).Fingerprint(), "handlers")
}
