package timeseries_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Probe has a clock that is not trusted.
type Probe struct {
	_ entity.Key        `name:"Probe" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at" maxAhead:"1h"`

	ID string    `dynamodbav:"id"`
	At time.Time `dynamodbav:"at"`
	V  int       `dynamodbav:"v" entity:"append"`
}

func TestMaxAhead_RefusesAnEventTooFarInTheFutureBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w := open[Probe](t)
	now := w.clock.Now()
	limit := now.Add(time.Hour)
	tooFar := Probe{ID: "p", At: limit.Add(time.Nanosecond)}

	_, err := w.Append(w.ctx, tooFar)
	require.Equal(t, "EDD-9113", inputCode(t, err))
	rs, err := w.AppendAll(w.ctx, []Probe{{ID: "p", At: now}, tooFar})
	require.Equal(t, "EDD-9113", inputCode(t, err))
	require.Zero(t, rs[0], "one mistake stops the batch")
	op := w.Op().Append(tooFar)
	err = w.db.Transact(w.ctx, op)
	require.Equal(t, "EDD-9113", inputCode(t, entity.FailureOf(err, op)))
	require.Empty(t, w.sent.Requests())

	require.True(t, w.append(Probe{ID: "p", At: now}).Applied)
	require.True(t, w.append(Probe{ID: "p", At: limit}).Applied)
}

func TestMaxAhead_FollowsTheClock(t *testing.T) {
	t.Parallel()
	w := open[Probe](t)
	ev := Probe{ID: "p", At: w.clock.Now().Add(2 * time.Hour)}
	op := w.Op().Append(ev)
	require.Error(t, w.db.Transact(w.ctx, op))
	w.clock.advance(time.Hour)
	require.NoError(t, w.db.Transact(w.ctx, op), "an op is planned when it runs")
}

func TestMaxAhead_IsNoLimitWithoutTheDeclaration(t *testing.T) {
	t.Parallel()
	w := open[nanoClock](t)
	require.True(t, w.append(nanoClock{sample: sample{"x", w.clock.Now().AddDate(1000, 0, 0), 1}}).Applied)
}
