package timeline_test

import (
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

// noteMessage writes down an event with the texts before and after it.
func noteMessage(j *journal, e timeline.Event[message]) error {
	before := "-"
	if e.Before != nil {
		before = e.Before.Text
	}
	j.Lines = append(j.Lines, fmt.Sprintf("%s %d %s>%s", e.Name[len("message."):], e.Version, before, e.Payload.Text))
	return nil
}

// histories is a fold that writes down what happened to each message.
func (l *lab) histories(change ...func(*timeline.Projection[string, journal])) timeline.Projection[string, journal] {
	byID := func(m message) string { return m.ID }
	f := timeline.Projection[string, journal]{Name: "histories", Version: 1, Source: timeline.Versions(l.past)}
	for _, what := range []string{"created", "updated", "deleted", "restored", "baseline"} {
		f.Handlers = append(f.Handlers, timeline.On("message."+what, byID, noteMessage))
	}
	for _, c := range change {
		c(&f)
	}
	return f
}

func (l *lab) create(id, text string) {
	l.t.Helper()
	_, err := l.messages.Create(l.ctx, message{ID: id, User: "u", Text: text})
	require.NoError(l.t, err)
}

func (l *lab) update(id, text string) {
	l.t.Helper()
	_, err := l.messages.Update(l.ctx, message{ID: id}, entity.Set(&entity.Fields[message]().Text, text))
	require.NoError(l.t, err)
}

func (l *lab) remove(id string) {
	l.t.Helper()
	require.NoError(l.t, l.messages.Delete(l.ctx, message{ID: id}))
}

func (l *lab) restore(id string) {
	l.t.Helper()
	_, err := l.bin.Restore(l.ctx, message{ID: id})
	require.NoError(l.t, err)
}

func TestVersionsTellEverythingThatHappened(t *testing.T) {
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
			one, _, err := v.Get(l.ctx, id, timeline.FullReplay(), timeline.AsOf(at(100)))
			require.NoError(t, err)
			assert.Equal(t, row, one)
		}
	}
	l.update("ab", "z")
	require.NoError(t, l.bin.Purge(l.ctx, message{ID: "a"}))
	_, err := v.CatchUp(l.ctx)
	require.NoError(t, err)
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

func noteLeaf(j *journal, e timeline.Event[leaf]) error {
	j.Lines = append(j.Lines, fmt.Sprintf("%s %s %s", e.Name[len("leaf."):], e.Payload.ID, e.Payload.Colour))
	return nil
}

// leaves is a fold of leaves by their tree.
func leaves(t *testing.T, l *lab) (*entity.Store[leaf], *timeline.View[string, journal]) {
	t.Helper()
	store, err := entity.New[leaf](l.db)
	require.NoError(t, err)
	f := timeline.Projection[string, journal]{Name: "leaves", Version: 1, Retention: 24 * time.Hour, Source: pastOf(t, store)}
	for _, what := range []string{"created", "updated", "deleted", "restored", "baseline"} {
		f.Handlers = append(f.Handlers, timeline.On("leaf."+what, func(v leaf) string { return v.Tree }, noteLeaf))
	}
	return store, view(l, f)
}

func pastOf(t *testing.T, store *entity.Store[leaf]) timeline.Source {
	t.Helper()
	past, err := versioned.Of(store)
	require.NoError(t, err)
	return timeline.Versions(past, timeline.PartitionKey(func(tree string) leaf { return leaf{Tree: tree} }))
}

func TestVersions_DeletedForGoodAndThereAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	key := leaf{Tree: "oak", ID: "1", Colour: "green"}
	_, err := store.Create(l.ctx, key)
	require.NoError(t, err)
	require.NoError(t, store.Delete(l.ctx, key))
	key.Colour = "red"
	_, err = store.Create(l.ctx, key)
	require.NoError(t, err)
	rebuild(l, v)
	assert.Equal(t, []string{"created 1 green", "deleted 1 green", "created 1 red"}, rows(l, v)["oak"].State.Lines)
}

func TestWhatHasExpiredIsToldAndDoesNotCountAnyMore(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	f := entity.Fields[leaf]()
	paint := func(tree, id, colour string) {
		t.Helper()
		_, err := store.Update(l.ctx, leaf{Tree: tree, ID: id}, entity.Set(&f.Colour, colour))
		require.NoError(t, err)
	}
	for _, tree := range []string{"oak", "elm"} {
		_, err := store.Create(l.ctx, leaf{Tree: tree, ID: "1", Colour: "green"})
		require.NoError(t, err)
	}
	paint("oak", "1", "yellow") // replaces the first state, which is kept for a day from now
	meta := rebuild(l, v)
	assert.True(t, meta.NoGapSeen)
	assert.False(t, meta.HistoryComplete, "of an item whose states have all expired nothing is left")
	assert.Equal(t, noon.Add(-24*time.Hour).Truncate(time.Hour), meta.HistoryFloor.Truncate(time.Hour))
	l.clock.forward(20 * time.Hour)
	paint("oak", "1", "red")
	_, err := v.CatchUp(l.ctx)
	require.NoError(t, err)
	l.clock.forward(5 * time.Hour)
	drifted := rows(l, v)
	assert.Equal(t, []string{"created 1 green", "updated 1 yellow", "updated 1 red"}, drifted["oak"].State.Lines, "the stored row keeps what it was built from")
	meta, err = v.Meta(l.ctx)
	require.NoError(t, err)
	assert.True(t, drifted["oak"].First.Before(meta.HistoryFloor), "which callers can tell")

	meta = rebuild(l, v)
	assert.Equal(t, []string{"baseline 1 yellow", "updated 1 red"}, rows(l, v)["oak"].State.Lines)
	assert.False(t, meta.HistoryComplete)
	assert.EqualValues(t, 1, meta.Counters.Baselines)
	_, err = v.Page(l.ctx, 1, 10, timeline.RequireComplete())
	assert.ErrorIs(t, err, timeline.ErrIncomplete)
	_, elm, err := v.Get(l.ctx, "elm", timeline.FullReplay(), timeline.AsOf(l.clock.Now()))
	assert.ErrorIs(t, err, entity.ErrNotFound, "its row ended a day after its last event")
	assert.True(t, elm.NoGapSeen)
	assert.False(t, elm.HistoryComplete)
	_, _, err = v.Get(l.ctx, "oak", timeline.FullReplay(), timeline.AsOf(l.clock.Now()), timeline.RequireComplete())
	require.ErrorIs(t, err, timeline.ErrIncomplete)
	_, oak, err := v.Get(l.ctx, "oak", timeline.FullReplay(), timeline.AsOf(l.clock.Now()))
	require.NoError(t, err)
	assert.False(t, oak.NoGapSeen)

	log, err := timeline.NewLog(l.db, timeline.Log{Name: "leaves", Source: pastOf(t, store), Oldest: true})
	require.NoError(t, err)
	p, err := log.Page(l.ctx, 1, 10)
	require.NoError(t, err)
	assert.Len(t, p.Rows, 3)
	assert.Equal(t, "leaf.created", p.Rows[0].Name)
	assert.False(t, p.Authoritative(), "a log tells that states have expired, too")
	_, err = log.Page(l.ctx, 1, 10, timeline.RequireComplete())
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

func TestVersions_AnotherLifeIsCreatedAndNotRestored(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, err := entity.New[draft](l.db)
	require.NoError(t, err)
	past, err := versioned.Of(store)
	require.NoError(t, err)
	bin, err := lifecycle.Of(store)
	require.NoError(t, err)
	key := draft{ID: "1"}
	_, err = store.Create(l.ctx, draft{ID: "1", Text: "a"})
	require.NoError(t, err)
	require.NoError(t, store.Delete(l.ctx, key))
	_, err = bin.Restore(l.ctx, key)
	require.NoError(t, err)
	require.NoError(t, store.Delete(l.ctx, key))
	l.clock.forward(2 * time.Hour)
	_, err = store.Create(l.ctx, draft{ID: "1", Text: "b"})
	require.NoError(t, err)
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "drafts", Source: timeline.Versions(past), Oldest: true})
	require.NoError(t, err)
	var got []string
	for e, err := range log.All(l.ctx) {
		require.NoError(t, err)
		got = append(got, fmt.Sprint(e.Name, " ", e.Version, " ", e.Payload.(draft).Text))
	}
	assert.Equal(t, []string{"draft.created 1 a", "draft.deleted 2 a", "draft.restored 3 a", "draft.deleted 4 a", "draft.created 5 b"}, got)
}

// note is versioned and has nothing that tells when a change happened.
type note struct {
	_       entity.Key `name:"Note" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	_       lifecycle.SoftDelete
	ID      string `dynamodbav:"id"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestVersions_NeedTheTimeOfChanges(t *testing.T) {
	t.Parallel()
	l := offline(t)
	store, err := entity.New[note](l.db)
	require.NoError(t, err)
	past, err := versioned.Of(store)
	require.NoError(t, err)
	_, err = timeline.NewLog(l.db, timeline.Log{Name: "notes", Source: timeline.Versions(past)})
	assert.Equal(t, []string{"EDD-9082"}, codes(err))
	assert.ErrorContains(t, err, "updated_at")
}
