package timeline_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeline"
)

// ahead is a program on a machine whose clock is ahead.
func (l *lab) ahead(d time.Duration) *timeline.View[string, totals] {
	l.t.Helper()
	other := *l
	other.connect(func(c *entity.Config) { c.Clock = func() time.Time { return l.clock.Now().Add(d) } })
	return view(&other, other.sites())
}

func TestCatchUp_LosesNothingToABuilderWhoseClockIsAhead(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	right, fast := view(l, l.sites()), l.ahead(time.Hour)
	l.append("d-1", "north", 1)
	rebuild(l, fast)
	l.clock.forward(5 * time.Minute)
	l.append("d-2", "north", 2)
	l.clock.forward(25 * time.Minute)
	before, err := right.Meta(l.ctx)
	require.NoError(t, err)
	meta, err := right.CatchUp(l.ctx)
	require.NoError(t, err)
	assert.False(t, meta.Through.Before(before.Through), "what rows account for never shrinks")
	l.clock.forward(30 * time.Minute)
	l.append("d-3", "north", 3)
	_, err = right.CatchUp(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, []int{10, 20, 30}, rows(l, right)["north"].State.Order)
}

func TestCatchUp_RemembersEventsWithoutAGroup(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	v := view(l, l.sites(func(f *timeline.Projection[string, totals]) { f.SkipUngrouped = true }))
	l.append("d-1", "north", 1)
	assert.True(t, rebuild(l, v).HistoryComplete)
	l.append("d-1", "", 2)
	for range 2 {
		meta, err := v.CatchUp(l.ctx)
		require.NoError(t, err)
		assert.False(t, meta.HistoryComplete)
		assert.EqualValues(t, 1, meta.Counters.Ungrouped)
	}
}

// TestResume_LeavesWhatWasWrittenToFinishedPartitions cuts a build off after each note, writes into every partition, and
// lets another one go on: no row may be made of a part of its partition.
func TestResume_LeavesWhatWasWrittenToFinishedPartitions(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for i := range 5 {
		_, err := l.messages.Create(l.ctx, message{ID: fmt.Sprintf("m-%d", i), User: "u"})
		require.NoError(t, err)
		_, err = l.messages.Update(l.ctx, message{ID: fmt.Sprintf("m-%d", i)}, entity.Set(&entity.Fields[message]().Text, "2"))
		require.NoError(t, err)
	}
	byID := func(m message) string { return m.ID }
	count := func(n *int, _ timeline.Event[message]) error { *n++; return nil }
	var when []timeline.Handler[string, int]
	for _, what := range []string{"created", "updated", "baseline"} {
		when = append(when, timeline.On("message."+what, byID, count))
	}
	fold := func(name string) timeline.Projection[string, int] {
		return timeline.Projection[string, int]{
			Name: name, Version: 1, Handlers: when,
			Source: timeline.Versions(l.past, timeline.PartitionKey(func(id string) message { return message{ID: id} })),
		}
	}
	for n := 1; n <= 5; n++ {
		name := fmt.Sprintf("cut-%d", n)
		v := view(l, fold(name))
		ctx, cancel := context.WithCancel(l.ctx)
		var notes atomic.Int64
		_, err := v.Rebuild(ctx, timeline.Segments(1), timeline.CheckpointEvery(1), timeline.OnProgress(func(timeline.Meta) {
			if notes.Add(1) == int64(n)+1 {
				cancel()
			}
		}))
		cancel()
		require.Error(t, err)
		for i := range 5 {
			_, err = l.messages.Update(l.ctx, message{ID: fmt.Sprintf("m-%d", i)}, entity.Set(&entity.Fields[message]().Text, name))
			require.NoError(t, err)
		}
		rebuild(l, v, timeline.Resume())
		for id, row := range rows(l, v) {
			assert.Equal(t, n+1, row.State, "%s of %s has the states that there were when the build began", id, name)
		}
		_, err = v.CatchUp(l.ctx)
		require.NoError(t, err)
		for id, row := range rows(l, v) {
			assert.Equal(t, n+2, row.State, "%s of %s", id, name)
		}
	}
}

func TestRebuild_ByAClockThatIsBehindKeepsWhatRowsHad(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	right, slow := view(l, l.sites()), l.ahead(-20*time.Minute)
	l.append("d-1", "north", 1)
	l.append("d-2", "south", 2)
	before := rebuild(l, right)
	served := rows(l, right)
	meta := rebuild(l, slow)
	assert.Equal(t, served, rows(l, right))
	assert.False(t, meta.Through.Before(before.Through))
}

// TestResume_KeepsWhatWasServedMeanwhile brings the served rows up while a build that was cut off waits.
func TestResume_KeepsWhatWasServedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, within := range []bool{false, true} {
		t.Run(fmt.Sprint("within ", within), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			fold := l.sites()
			if within {
				fold = l.devices()
			}
			v := view(l, fold)
			for i := range 5 {
				l.append(fmt.Sprintf("d-%d", i), "north", 10)
			}
			rebuild(l, v)
			ctx, cancel := context.WithCancel(l.ctx)
			defer cancel()
			var notes atomic.Int64
			_, err := v.Rebuild(ctx, timeline.Segments(1), timeline.CheckpointEvery(1), timeline.OnProgress(func(timeline.Meta) {
				if notes.Add(1) == 3 {
					cancel()
				}
			}))
			require.ErrorIs(t, err, context.Canceled)
			for i := range 7 {
				l.append(fmt.Sprintf("d-%d", i), "south", 5, 20) // late ones, new ones, and new groups
			}
			before, err := v.CatchUp(l.ctx)
			require.NoError(t, err)
			served := rows(l, v)
			l.append("d-0", "north", 30)
			meta := rebuild(l, v, timeline.Segments(1), timeline.Resume())
			assert.Equal(t, served, rows(l, v))
			assert.Equal(t, before.Through, meta.Through)
			assert.Equal(t, before.Rows, meta.Rows)
			_, err = v.CatchUp(l.ctx)
			require.NoError(t, err)
			assert.Equal(t, rows(l, v, timeline.AsOf(at(100))), rows(l, v))
		})
	}
}

func TestRebuild_LateSignOfLifeDoesNotUndoTheSwap(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.sites())
	_, err := v.Rebuild(l.ctx)
	require.NoError(t, err)
	l.append("d-1", "north", 2)
	l.sent.Reset()
	rebuild(l, v)
	want, saves := rows(l, v), 0
	for _, r := range l.sent.Requests() { // each save is kept back, and comes once more after the build
		if isManifest(r) {
			saves++
			l.resend(r)
		}
	}
	assert.GreaterOrEqual(t, saves, 3)
	assert.Equal(t, want, rows(l, v))
	meta, err := v.Meta(l.ctx)
	require.NoError(t, err)
	assert.Equal(t, timeline.Complete, meta.RebuildStatus)
	require.Equal(t, 2, want["north"].State.Count)
}

func isManifest(r faults.Request) bool {
	return (r.Operation == "PutItem" || r.Operation == "UpdateItem") && holds(r, "timelinemanifest")
}

func holds(r faults.Request, text string) bool { return bytes.Contains(r.Body, []byte(text)) }

// resend sends a request once more, as a network does that kept it back.
func (l *lab) resend(r faults.Request) {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.ctx, http.MethodPost, *l.raw.Options().BaseEndpoint, bytes.NewReader(r.Body))
	require.NoError(l.t, err)
	req.Header.Set("X-Amz-Target", "DynamoDB_20120810."+r.Operation)
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	creds, err := l.raw.Options().Credentials.Retrieve(l.ctx)
	require.NoError(l.t, err)
	sum := sha256.Sum256(r.Body)
	require.NoError(l.t, v4.NewSigner().SignHTTP(l.ctx, creds, req, hex.EncodeToString(sum[:]), "dynamodb", l.raw.Options().Region, time.Now()))
	answer, err := http.DefaultClient.Do(req)
	require.NoError(l.t, err)
	require.NoError(l.t, answer.Body.Close())
	require.Equal(l.t, http.StatusBadRequest, answer.StatusCode, "it is refused")
}
