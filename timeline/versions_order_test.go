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

// line is deleted softly for ever, and its past states are kept for an hour.
type line struct {
	_       entity.Key       `name:"Line" pk:"$#{id}" sk:"$"`
	_       versioned.Retain `ttl:"1h"`
	_       lifecycle.SoftDelete
	ID      string    `dynamodbav:"id"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Changed time.Time `dynamodbav:"changed" entity:"updated_at"`
}

func TestVersions_ADeleteIsToldWhenAllBeforeItHasExpired(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, err := entity.New[line](l.db)
	require.NoError(t, err)
	past, err := versioned.Of(store)
	require.NoError(t, err)
	_, err = store.Create(l.ctx, line{ID: "gone"})
	require.NoError(t, err)
	require.NoError(t, store.Delete(l.ctx, line{ID: "gone"}))
	_, err = store.Create(l.ctx, line{ID: "kept"})
	require.NoError(t, err)
	l.clock.forward(2 * time.Hour)
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "lines", Source: timeline.Versions(past), Oldest: true})
	require.NoError(t, err)
	p, err := log.Page(l.ctx, 1, 10)
	require.NoError(t, err)
	var got []string
	for _, e := range p.Rows {
		got = append(got, fmt.Sprintf("%s %d %s %v", e.Name, e.Version, e.Payload.(line).ID, e.Before == nil))
	}
	assert.Equal(t, []string{"line.deleted 2 gone true", "line.created 1 kept true"}, got)
	assert.EqualValues(t, 1, p.Meta.Counters.Baselines)
	assert.False(t, p.Meta.HistoryComplete)
}

func TestVersions_KeepTheirOrderWhateverTheirWritersClocksSay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	store, v := leaves(t, l)
	ahead := *l
	ahead.clock = &clock{now: noon.Add(time.Minute)}
	ahead.connect()
	fast, _ := leaves(t, &ahead)
	key := leaf{Tree: "oak", ID: "1", Colour: "green"}
	_, err := store.Create(l.ctx, key)
	require.NoError(t, err)
	require.NoError(t, fast.Delete(l.ctx, key), "a minute ahead")
	l.clock.forward(30 * time.Second)
	key.Colour = "red"
	_, err = store.Create(l.ctx, key)
	require.NoError(t, err)

	l.clock.forward(time.Hour)
	rebuild(l, v)
	row := rows(l, v)["oak"]
	assert.Equal(t, []string{"created 1 green", "deleted 1 green", "created 1 red"}, row.State.Lines)
	log, err := timeline.NewLog(l.db, timeline.Log{Name: "leaves", Source: pastOf(t, store)})
	require.NoError(t, err)
	p, err := log.Page(l.ctx, 1, 10)
	require.NoError(t, err)
	require.Len(t, p.Rows, 3)
	again, gone := p.Rows[0], p.Rows[1]
	assert.EqualValues(t, 3, again.Version)
	assert.Equal(t, gone.At, again.At, "not before what it follows")
	assert.True(t, again.AcceptedAt.Before(gone.AcceptedAt), "as it was stored")
	past, _, err := v.Get(l.ctx, "oak", timeline.FullReplay(), timeline.AsOf(gone.At.Add(-time.Second)))
	require.NoError(t, err)
	assert.Equal(t, []string{"created 1 green"}, past.State.Lines)
}
