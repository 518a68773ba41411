package timeline_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/versioned"
)

// noteMessage records an event with the texts before and after it.
func noteMessage(e timeline.Event[message]) string {
	before := "-"
	if e.Before != nil {
		before = e.Before.Text
	}
	return fmt.Sprintf("%s %d %s>%s", e.Name[len("message."):], e.Version, before, e.Payload.Text)
}

// ofVersions are the events of a versioned entity.
var ofVersions = []string{"created", "updated", "deleted", "restored", "baseline"}

// histories returns a projection that records what happened to each message.
func (l *lab) histories(change ...func(*timeline.Projection[string, journal])) timeline.Projection[string, journal] {
	f := journals("histories", timeline.Versions(l.past), "message", func(m message) string { return m.ID }, noteMessage, ofVersions...)
	for _, c := range change {
		c(&f)
	}
	return f
}

func (l *lab) create(id, text string) {
	l.T.Helper()
	entity.Must(l.messages.Create(l.Ctx, message{ID: id, User: "u", Text: text}))
}

func (l *lab) update(id, text string) {
	l.T.Helper()
	entity.Must(l.messages.Update(l.Ctx, message{ID: id}, entity.Set(&entity.Fields[message]().Text, text)))
}

func (l *lab) remove(id string) {
	l.T.Helper()
	require.NoError(l.T, l.messages.Delete(l.Ctx, message{ID: id}))
}

func (l *lab) restore(id string) {
	l.T.Helper()
	entity.Must(l.bin.Restore(l.Ctx, message{ID: id}))
}

func TestVersions_ReportEveryChange(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.create("a", "1")
	l.update("a", "2")
	l.remove("a")
	l.restore("a")
	l.update("a", "3")
	l.remove("a")
	l.create("ab", "x")
	l.create("b", "y")
	l.remove("b") // it is a deleted copy
	v := view(l, l.histories())
	within := view(l, l.histories(func(f *timeline.Projection[string, journal]) {
		f.Name, f.Source = "within", timeline.Versions(l.past, timeline.PartitionKey(func(id string) message { return message{ID: id} }))
	}))
	for _, v := range []*timeline.View[string, journal]{v, within} {
		meta := rebuild(l, v)
		assert.True(t, meta.HistoryComplete)
		got := rows(l, v)
		assert.Equal(t, []string{
			"created 1 ->1", "updated 2 1>2", "deleted 3 2>2", "restored 4 2>2", "updated 5 2>3", "deleted 6 3>3",
		}, got["a"].State.Lines)
		assert.Equal(t, []string{"created 1 ->x"}, got["ab"].State.Lines)
		assert.Equal(t, []string{"created 1 ->y", "deleted 2 y>y"}, got["b"].State.Lines)
		assert.Equal(t, got, rows(l, v, timeline.AsOf(at(100))))
		for id, row := range got {
			one, _, err := v.Get(l.Ctx, id, timeline.FullReplay(), timeline.AsOf(at(100)))
			require.NoError(t, err)
			assert.Equal(t, row, one)
		}
	}
	l.update("ab", "z")
	require.NoError(t, l.bin.Purge(l.Ctx, message{ID: "a"}))
	catchUp(l, v)
	assert.Equal(t, []string{"created 1 ->x", "updated 2 x>z"}, rows(l, v)["ab"].State.Lines)
	assert.Contains(t, rows(l, v), "a", "a purge is no event")
	rebuild(l, v)
	assert.NotContains(t, rows(l, v), "a", "nothing is left of it")
}

// leaf is versioned, its past states are kept for a day, and it is deleted for good.
type leaf struct {
	_       entity.Key       `name:"Leaf" pk:"$#{tree}" sk:"$#{id}"`
	_       versioned.Retain `ttl:"1d"`
	Tree    string           `dynamodbav:"tree"`
	ID      string           `dynamodbav:"id"`
	Colour  string           `dynamodbav:"colour"`
	Version int64            `dynamodbav:"version" entity:"version"`
	Changed time.Time        `dynamodbav:"changed" entity:"updated_at"`
}

func noteLeaf(e timeline.Event[leaf]) string {
	return fmt.Sprintf("%s %s %s", e.Name[len("leaf."):], e.Payload.ID, e.Payload.Colour)
}

// leaves returns a projection of leaves by their tree.
func leaves(t *testing.T, l *lab) (*entity.Store[leaf], *timeline.View[string, journal]) {
	t.Helper()
	store := entity.Must(entity.New[leaf](l.DB))
	f := journals("leaves", pastOf(t, store), "leaf", func(v leaf) string { return v.Tree }, noteLeaf, ofVersions...)
	f.Retention = day
	return store, view(l, f)
}

func pastOf(t *testing.T, store *entity.Store[leaf]) timeline.Source {
	t.Helper()
	past := entity.Must(versioned.Of(store))
	return timeline.Versions(past, timeline.PartitionKey(func(tree string) leaf { return leaf{Tree: tree} }))
}

func TestVersions_ExpiredStatesBecomeABaseline(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	f := entity.Fields[leaf]()
	paint := func(tree, id, colour string) {
		t.Helper()
		entity.Must(store.Update(l.Ctx, leaf{Tree: tree, ID: id}, entity.Set(&f.Colour, colour)))
	}
	for _, tree := range []string{"oak", "elm"} {
		entity.Must(store.Create(l.Ctx, leaf{Tree: tree, ID: "1", Colour: "green"}))
	}
	paint("oak", "1", "yellow") // replaces the first state, which is kept for a day from now
	meta := rebuild(l, v)
	assert.True(t, meta.NoGapSeen)
	assert.False(t, meta.HistoryComplete, "all states of an item may have expired")
	assert.Equal(t, noon.Add(-24*time.Hour).Truncate(time.Hour), meta.HistoryFloor.Truncate(time.Hour))
	l.Clock.Move(20 * time.Hour)
	paint("oak", "1", "red")
	catchUp(l, v)
	l.Clock.Move(5 * time.Hour)
	drifted := rows(l, v)
	assert.Equal(t, []string{"created 1 green", "updated 1 yellow", "updated 1 red"}, drifted["oak"].State.Lines, "the stored row keeps what it was built from")
	meta = metaOf(l, v)
	assert.True(t, drifted["oak"].First.Before(meta.HistoryFloor), "which callers can see")

	meta = rebuild(l, v)
	assert.Equal(t, []string{"baseline 1 yellow", "updated 1 red"}, rows(l, v)["oak"].State.Lines)
	assert.False(t, meta.HistoryComplete)
	assert.EqualValues(t, 1, meta.Counters.Baselines)
	_, err := v.Page(l.Ctx, 1, 10, timeline.RequireComplete())
	assert.ErrorIs(t, err, timeline.ErrIncomplete)
	_, elm, err := v.Get(l.Ctx, "elm", timeline.FullReplay(), timeline.AsOf(l.Clock.Now()))
	assert.ErrorIs(t, err, entity.ErrNotFound, "its row ended a day after its last event")
	assert.True(t, elm.NoGapSeen)
	assert.False(t, elm.HistoryComplete)
	_, _, err = v.Get(l.Ctx, "oak", timeline.FullReplay(), timeline.AsOf(l.Clock.Now()), timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, oak, err := v.Get(l.Ctx, "oak", timeline.FullReplay(), timeline.AsOf(l.Clock.Now()))
	require.NoError(t, err)
	assert.False(t, oak.NoGapSeen)

	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "leaves", Source: pastOf(t, store), Oldest: true}))
	p := entity.Must(log.Page(l.Ctx, 1, 10))
	assert.Len(t, p.Rows, 3)
	assert.Equal(t, "leaf.created", p.Rows[0].Name)
	assert.False(t, p.Authoritative(), "a log reports expired states too")
	_, err = log.Page(l.Ctx, 1, 10, timeline.RequireComplete())
	assert.ErrorIs(t, err, timeline.ErrIncomplete)
}

// draft has deleted copies that expire: after that it can be created again.
type draft struct {
	_       entity.Key `name:"Draft" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete `ttl:"1h"`
	ID      string               `dynamodbav:"id"`
	Text    string               `dynamodbav:"text"`
	Version int64                `dynamodbav:"version" entity:"version"`
	Created time.Time            `dynamodbav:"created" entity:"created_at"`
	Changed time.Time            `dynamodbav:"changed" entity:"updated_at"`
}

func TestVersions_RecreationIsCreatedNotRestored(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store := entity.Must(entity.New[draft](l.DB))
	past := entity.Must(versioned.Of(store))
	bin := entity.Must(lifecycle.Of(store))
	key := draft{ID: "1"}
	entity.Must(store.Create(l.Ctx, draft{ID: "1", Text: "a"}))
	require.NoError(t, store.Delete(l.Ctx, key))
	entity.Must(bin.Restore(l.Ctx, key))
	require.NoError(t, store.Delete(l.Ctx, key))
	l.Clock.Move(2 * time.Hour)
	entity.Must(store.Create(l.Ctx, draft{ID: "1", Text: "b"}))
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "drafts", Source: timeline.Versions(past), Oldest: true}))
	var got []string
	for e, err := range log.All(l.Ctx) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(e.Name, " ", e.Version, " ", e.Payload.(draft).Text))
	}
	assert.Equal(t, []string{"draft.created 1 a", "draft.deleted 2 a", "draft.restored 3 a", "draft.deleted 4 a", "draft.created 5 b"}, got)
}

// note is versioned and has no time of changes.
type note struct {
	_       entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	ID      string `dynamodbav:"id"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestVersions_RequireUpdatedAt(t *testing.T) {
	t.Parallel()
	l := offline(t)
	store := entity.Must(entity.New[note](l.DB))
	past := entity.Must(versioned.Of(store))
	_, err := timeline.NewLog(l.DB, timeline.Log{Name: "notes", Source: timeline.Versions(past)})
	assert.Equal(t, []string{"EDD-9082"}, codes(err))
	assert.ErrorContains(t, err, "updated_at")
}

// line is deleted softly for ever, and its past states are kept for an hour.
type line struct {
	_       entity.Key       `name:"Line" pk:"$#{id}" sk:"$"`
	_       versioned.Retain `ttl:"1h"`
	_       lifecycle.SoftDelete
	ID      string    `dynamodbav:"id"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
}

func TestVersions_ReportADeleteWhenEarlierStatesExpired(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store := entity.Must(entity.New[line](l.DB))
	past := entity.Must(versioned.Of(store))
	entity.Must(store.Create(l.Ctx, line{ID: "gone"}))
	require.NoError(t, store.Delete(l.Ctx, line{ID: "gone"}))
	entity.Must(store.Create(l.Ctx, line{ID: "kept"}))
	l.Clock.Move(2 * time.Hour)
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "lines", Source: timeline.Versions(past), Oldest: true}))
	p := entity.Must(log.Page(l.Ctx, 1, 10))
	var got []string
	for _, e := range p.Rows {
		got = append(got, fmt.Sprintf("%s %d %s %v", e.Name, e.Version, e.Payload.(line).ID, e.Before == nil))
	}
	assert.Equal(t, []string{"line.deleted 2 gone true", "line.created 1 kept true"}, got)
	assert.EqualValues(t, 1, p.Meta.Counters.Baselines)
	assert.False(t, p.Meta.HistoryComplete)
}

func TestVersions_KeepTheirOrderDespiteClockSkew(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	ahead, clock := *l, &dbtest.Clock{}
	clock.Set(noon.Add(time.Minute), time.Microsecond)
	ahead.connect(func(c *entity.Config) { c.Clock = clock.Now })
	fast, _ := leaves(t, &ahead)
	key := leaf{Tree: "oak", ID: "1", Colour: "green"}
	entity.Must(store.Create(l.Ctx, key))
	require.NoError(t, fast.Delete(l.Ctx, key), "a minute ahead")
	l.Clock.Move(30 * time.Second)
	key.Colour = "red"
	entity.Must(store.Create(l.Ctx, key))

	l.Clock.Move(time.Hour)
	rebuild(l, v)
	row := rows(l, v)["oak"]
	assert.Equal(t, []string{"created 1 green", "deleted 1 green", "created 1 red"}, row.State.Lines)
	log := entity.Must(timeline.NewLog(l.DB, timeline.Log{Name: "leaves", Source: pastOf(t, store)}))
	p := entity.Must(log.Page(l.Ctx, 1, 10))
	require.Len(t, p.Rows, 3)
	again, gone := p.Rows[0], p.Rows[1]
	assert.EqualValues(t, 3, again.Version)
	assert.Equal(t, gone.At, again.At, "not before what it follows")
	assert.True(t, again.AcceptedAt.Before(gone.AcceptedAt), "as it was stored")
	past, _, err := v.Get(l.Ctx, "oak", timeline.FullReplay(), timeline.AsOf(gone.At.Add(-time.Second)))
	require.NoError(t, err)
	assert.Equal(t, []string{"created 1 green"}, past.State.Lines)
}

// storedStates makes states of one message as they are stored.
type storedStates struct {
	like map[string]types.AttributeValue
}

func (l *lab) storedStates() storedStates {
	l.T.Helper()
	l.create("a", "")
	for _, it := range l.Items() {
		if it["_k"] == nil {
			return storedStates{it}
		}
	}
	require.Fail(l.T, "the current item is missing")
	return storedStates{}
}

// state returns the current item, or with an infix a related item.
func (x storedStates) state(version int64, kind, infix string) map[string]types.AttributeValue {
	it := maps.Clone(x.like)
	it["version"] = &types.AttributeValueMemberN{Value: strconv.FormatInt(version, 10)}
	if kind != "" {
		it["_k"] = &types.AttributeValueMemberS{Value: kind}
		it["sk"] = &types.AttributeValueMemberS{Value: it["sk"].(*types.AttributeValueMemberS).Value + infix}
	}
	return it
}

func (x storedStates) copied(version int64) map[string]types.AttributeValue {
	return x.state(version, "d", "#deleted#"+noon.Add(time.Duration(version)*time.Second).Format(time.RFC3339))
}

func (x storedStates) snapshot(version int64) map[string]types.AttributeValue {
	text := fmt.Sprintf("%07d", version)
	if version > 9_999_999 {
		text = fmt.Sprintf("~%012d", version)
	}
	return x.state(version, "v", "#v#"+text)
}

func sortKeyOf(it map[string]types.AttributeValue) string {
	return it["sk"].(*types.AttributeValueMemberS).Value
}

func TestVersions_AreOrderedAcrossCopiesAndSnapshots(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.storedStates()
	source := timeline.Versions(l.past)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.SampledFrom([]int64{1, 2, 9_999_995, 99_999_995}).Draw(t, "from")
		n := rapid.IntRange(1, 12).Draw(t, "states")
		var items []map[string]types.AttributeValue
		var want, got []int64
		for i := range n {
			version := from + int64(i)
			want = append(want, version)
			switch last := i == n-1; rapid.IntRange(0, 3).Draw(t, "where") {
			case 0:
				items = append(items, x.copied(version))
			case 1: // it has just become a past one
				items = append(items, x.copied(version), x.snapshot(version))
			case 2:
				if items = append(items, x.snapshot(version)); last {
					items = append(items, x.state(version, "", ""))
				}
			default:
				items = append(items, x.snapshot(version))
			}
		}
		slices.SortFunc(items, func(a, b map[string]types.AttributeValue) int { return cmp.Compare(sortKeyOf(a), sortKeyOf(b)) })
		left := 0
		err := timeline.Assembled(source, items, func(name string, version int64, before bool) {
			assert.Equal(t, len(got) > 0, before)
			got = append(got, version)
		}, func(n int) { left = n })
		require.NoError(t, err)
		assert.Equal(t, want, got)
		assert.Zero(t, left, "nothing is held at the end")
	})
}

func TestVersions_BoundTheBytesOfDeletedCopies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.storedStates()
	x.like["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("t", 390<<10)}
	var items []map[string]types.AttributeValue
	for v := range int64(200) { // 76 MiB
		items = append(items, x.copied(v+1))
	}
	read := func(items []map[string]types.AttributeValue) error {
		return timeline.Assembled(timeline.Versions(l.past), items, func(string, int64, bool) {}, func(int) {})
	}
	assert.NoError(t, read(items[:150]))
	var limit *timeline.LimitError
	require.ErrorAs(t, read(items), &limit)
	assert.Equal(t, 64<<20, limit.Limit)
	assert.Equal(t, "bytes of the deleted copies of one item", limit.What)
}

func TestVersions_RejectSnapshotsThatContradictTheirKeys(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	x := l.storedStates()
	wrong := x.snapshot(3)
	wrong["version"] = &types.AttributeValueMemberN{Value: "1"}
	err := timeline.Assembled(timeline.Versions(l.past), []map[string]types.AttributeValue{x.snapshot(2), wrong}, func(string, int64, bool) {}, func(int) {})
	var bad *timeline.EventError
	require.ErrorAs(t, err, &bad)
	assert.Equal(t, timeline.History, bad.Stage)
}

type (
	paper1 struct {
		_ entity.Key `name:"Paper" pk:"$#{id}" sk:"$"`
		_ versioned.Retain
		_ lifecycle.SoftDelete

		ID      string    `dynamodbav:"id"`
		Text    string    `dynamodbav:"text"`
		Version int64     `dynamodbav:"version" entity:"version"`
		Born    time.Time `dynamodbav:"born" entity:"created_at"`
		Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
	}
	// paper2 has other names and formats for what the library keeps.
	paper2 struct {
		_ entity.Key `name:"Paper" pk:"$#{id}" sk:"$" payload:"2"`
		_ versioned.Retain
		_ lifecycle.SoftDelete

		ID      string    `dynamodbav:"id"`
		Text    string    `dynamodbav:"text"`
		Version int64     `dynamodbav:"rev" entity:"version"`
		Born    time.Time `dynamodbav:"birth" entity:"created_at,time=unixms"`
		Changed time.Time `dynamodbav:"changed" entity:"updated_at,time=s"`
	}
)

func paperNow(p paper1) (paper2, error) { return paper2{ID: p.ID, Text: p.Text}, nil }

func TestVersions_OfRenamedAttributes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	old := dbtest.Declare[paper1](t, l.Open(l.Client))
	now := dbtest.Declare[paper2](t, l.DB, entity.Upgrade(1, paperNow))
	source := timeline.Versions(entity.Must(versioned.Of(now)), timeline.Upgrade(1, paperNow))
	line := func(e timeline.Event[paper2]) string {
		require.Zero(t, e.AcceptedAt.Nanosecond(), "times have today's format")
		return fmt.Sprint(e.Name[len("paper."):], " ", e.Version, " ", e.Payload.Text)
	}
	papers := func(name string) *timeline.View[string, journal] {
		return view(l, journals(name, source, "paper", func(p paper2) string { return p.ID }, line, ofVersions...))
	}
	built, applied := papers("built"), papers("applied")
	rebuild(l, applied)
	text := func(s string) entity.UpdateOption { return entity.Set(&entity.Fields[paper1]().Text, s) }
	l.OK(old.Create(l.Ctx, paper1{ID: "a", Text: "1"}))
	l.OK(old.Update(l.Ctx, paper1{ID: "a"}, text("2")))
	require.NoError(t, old.Delete(l.Ctx, paper1{ID: "a"}))
	want := []string{"created 1 1", "updated 2 2", "deleted 3 2"}
	rebuild(l, built)
	require.Equal(t, want, rows(l, built)["a"].State.Lines, "a build")

	l.OK(entity.Must(lifecycle.Of(now)).Restore(l.Ctx, paper2{ID: "a"}))
	l.OK(now.Update(l.Ctx, paper2{ID: "a"}, entity.Set(&entity.Fields[paper2]().Text, "3")))
	want = append(want, "restored 4 2", "updated 5 3")
	l.Clock.Move(time.Hour)
	catchUp(l, built)
	require.Equal(t, want, rows(l, built)["a"].State.Lines, "a catch-up")
	var changes []timeline.Change
	for i, it := range l.Items() {
		if c, ok, err := stream.Of(now, l.record(it, i)); ok {
			require.NoError(t, err)
			changes = append(changes, c)
		}
	}
	apply(l, applied, changes...)
	require.Equal(t, want, rows(l, applied)["a"].State.Lines, "changes")
	rebuild(l, built)
	require.Equal(t, want, rows(l, built)["a"].State.Lines, "with both forms")
}

// scan is written once, and its time got another name and format.
type scan struct {
	_ entity.Key `name:"Scan" pk:"$#{id}" sk:"$" payload:"2"`

	ID   string    `dynamodbav:"id"`
	Seen time.Time `dynamodbav:"seen" entity:"created_at,time=unixms"`
}

type scan1 struct {
	_ entity.Key `name:"Scan" pk:"$#{id}" sk:"$"`

	ID   string    `dynamodbav:"id"`
	When time.Time `dynamodbav:"when" entity:"created_at"`
}

func TestItems_OfRenamedTime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.OK(dbtest.Declare[scan1](t, l.Open(l.Client)).Create(l.Ctx, scan1{ID: "a"}))
	now := dbtest.Declare[scan](t, l.DB)
	seen := &entity.Fields[scan]().Seen
	key, line := func(s scan) string { return s.ID }, func(e timeline.Event[scan]) string { return e.At.Sub(e.AcceptedAt).String() }
	v := view(l, journals("scans", timeline.Items(now, seen, timeline.AcceptedAt(seen),
		timeline.Upgrade(1, func(s scan1) (scan, error) { return scan{ID: s.ID}, nil })), "scan", key, line, "stored"))
	rebuild(l, v)
	row := rows(l, v)["a"]
	require.Equal(t, []string{"0s"}, row.State.Lines)
	require.Equal(t, noon.Truncate(time.Minute), row.First.Truncate(time.Minute))
}

// A step that does not say which attribute was the version loses no state in silence.
func TestVersions_OfARenamedVersionWithoutItsRole(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	type bare struct {
		ID   string `dynamodbav:"id"`
		Text string `dynamodbav:"text"`
	}
	old := dbtest.Declare[paper1](t, l.Open(l.Client))
	now := dbtest.Declare[paper2](t, l.DB, entity.Upgrade(1, paperNow))
	source := timeline.Versions(entity.Must(versioned.Of(now)), timeline.Upgrade(1, func(b bare) (paper2, error) { return paper2{ID: b.ID, Text: b.Text}, nil }))
	v := view(l, journals("papers", source, "paper", func(p paper2) string { return p.ID }, func(timeline.Event[paper2]) string { return "" }, ofVersions...))
	l.OK(old.Create(l.Ctx, paper1{ID: "a", Text: "1"}))
	l.OK(old.Update(l.Ctx, paper1{ID: "a"}, entity.Set(&entity.Fields[paper1]().Text, "2")))
	_, err := v.Rebuild(l.Ctx)
	var bad *timeline.EventError
	require.ErrorAs(t, err, &bad)
}
