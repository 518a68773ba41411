package timeseries_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
)

func always(f faults.Fault, operation string) func(faults.Request) faults.Fault {
	return func(r faults.Request) faults.Fault {
		if r.Operation == operation {
			return f
		}
		return faults.None
	}
}

func TestTrouble_IsNeverAnOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault     faults.Fault
		ambiguous bool
		conflict  bool
	}{
		{fault: faults.Conflict, conflict: true},
		{fault: faults.Throttle},
		{fault: faults.Internal, ambiguous: true},
		{fault: faults.Drop, ambiguous: true},
	} {
		t.Run(c.fault.String(), func(t *testing.T) {
			t.Parallel()
			w := open[Telemetry](t, attempts(3))
			w.seed(tick(0, 1))
			before := w.partition(devicePK)
			w.sent.Inject(always(c.fault, transact))
			// Events that without the trouble would be applied, older and a duplicate.
			for _, ev := range []Telemetry{tick(1, 1), tick(-1, 1), tick(0, 1)} {
				w.sent.Reset()
				r, err := w.Append(w.ctx, ev)
				require.Error(t, err)
				require.Zero(t, r)
				require.Equal(t, c.ambiguous, entity.IsAmbiguous(err))
				require.Equal(t, c.conflict, errors.Is(err, entity.ErrConflict))
				require.Equal(t, 3, w.sent.Count(transact), "MaxAttempts")

				rs, err := w.AppendAll(w.ctx, []Telemetry{ev})
				require.Error(t, err)
				require.Zero(t, rs[0])
				require.Equal(t, c.ambiguous, entity.IsAmbiguous(err))
				require.Equal(t, c.conflict, errors.Is(err, entity.ErrConflict))
			}
			w.sent.Inject(nil)
			require.Equal(t, before, w.partition(devicePK))
		})
	}
}

func TestTrouble_TooLargeAnEventIsRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	ev := bare(0)
	ev.Location = ptr(strings.Repeat("x", 400*1024))
	r, err := w.Append(w.ctx, ev)
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.Zero(t, r)
	rs, err := w.AppendAll(w.ctx, []Telemetry{tick(1, 1), ev})
	require.ErrorIs(t, err, entity.ErrTooLarge)
	require.Zero(t, rs[0])
	require.Empty(t, w.sent.Requests())
}

func TestTrouble_CurrentItemThatWouldGrowTooLargeIsAnError(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	_, err := w.Update(w.ctx, device, entity.Set(&entity.Fields[Telemetry]().Diagnostics, strings.Repeat("d", 250*1024)))
	require.NoError(t, err)
	before := w.partition(devicePK)

	ev := bare(1)
	ev.Location = ptr(strings.Repeat("x", 250*1024))
	w.sent.Reset()
	r, err := w.Append(w.ctx, ev)
	require.Error(t, err)
	require.False(t, entity.IsAmbiguous(err))
	require.Zero(t, r)
	require.Equal(t, 1, w.sent.Count(transact), "repeating it would not help")
	rs, err := w.AppendAll(w.ctx, []Telemetry{ev})
	require.Error(t, err)
	require.Zero(t, rs[0])
	require.Equal(t, before, w.partition(devicePK))
}

// scripted answers transactions with cancellations before it lets them through.
type scripted struct {
	*dynamodb.Client
	script [][]string // reason codes, one list for each answer
	calls  int
}

func (c *scripted) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, f ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	c.calls++
	if c.calls > len(c.script) {
		return c.Client.TransactWriteItems(ctx, in, f...)
	}
	cancelled := &types.TransactionCanceledException{}
	for _, code := range c.script[c.calls-1] {
		cancelled.CancellationReasons = append(cancelled.CancellationReasons, types.CancellationReason{Code: &code})
	}
	return nil, cancelled
}

func (w *world[T]) scripted(script ...[]string) (*timeseries.Series[T], *scripted) {
	w.t.Helper()
	c := &scripted{Client: w.raw, script: script}
	series, _ := w.on(c, attempts(4))
	return series, c
}

func TestTrouble_AConditionBesideAConflictDecidesNothing(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	// The compare-and-set failed, but whether the event is stored was not heard: it may be a duplicate.
	for _, disturbed := range [][]string{
		{"ConditionalCheckFailed", "TransactionConflict"},
		{"ConditionalCheckFailed", "ThrottlingError"},
		{"TransactionConflict", "ConditionalCheckFailed"},
		{"ProvisionedThroughputExceeded", "ConditionalCheckFailed"},
	} {
		series, c := w.scripted(disturbed, disturbed)
		r, err := series.Append(w.ctx, tick(0, 1))
		require.NoError(t, err)
		require.Equal(t, timeseries.Duplicate, r.Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)

		series, c = w.scripted(disturbed, disturbed)
		rs, err := series.AppendAll(w.ctx, []Telemetry{tick(0, 1)})
		require.NoError(t, err)
		require.Equal(t, timeseries.Duplicate, rs[0].Reason, "%v", disturbed)
		require.Equal(t, 3, c.calls)
	}
}

func TestTrouble_ReasonsThatNeverGoAwayAreFinal(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	for _, code := range []string{"ValidationError", "ItemCollectionSizeLimitExceeded", "AccessDenied"} {
		series, c := w.scripted([]string{code, "None"}, []string{code, "None"})
		r, err := series.Append(w.ctx, tick(1, 1))
		var cancelled *types.TransactionCanceledException
		require.ErrorAs(t, err, &cancelled, "the SDK's error is reachable")
		require.False(t, entity.IsAmbiguous(err))
		require.Zero(t, r)
		require.Equal(t, 1, c.calls)
	}
}

func TestTrouble_OfLongerDurationEndsInConflictAndNotInStale(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(5, 1))
	beside := []string{"ConditionalCheckFailed", "TransactionConflict"}
	series, c := w.scripted(beside, beside, beside, beside)
	r, err := series.Append(w.ctx, tick(4, 1))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.Zero(t, r)
	require.Equal(t, 4, c.calls)
}

func TestTrouble_AMissingTableIsErrNoTable(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	series, _ := w.connect(func(c *entity.Config) { c.Table += "-missing" })
	_, err := series.Append(w.ctx, tick(0, 1))
	require.ErrorIs(t, err, entity.ErrNoTable)
	_, err = series.AppendAll(w.ctx, []Telemetry{tick(0, 1)})
	require.ErrorIs(t, err, entity.ErrNoTable)
	_, err = series.History(device).Collect(w.ctx)
	require.ErrorIs(t, err, entity.ErrNoTable)
}

func TestTrouble_AContextThatEndsWhileTheAnswerIsOutIsAmbiguous(t *testing.T) {
	t.Parallel()
	w := open[Telemetry](t)
	w.seed(tick(0, 1))
	arrived, release := w.sent.Hold(func(r faults.Request) bool { return r.Operation == transact })
	defer release()
	ctx, cancel := context.WithCancel(w.ctx)
	go func() { <-arrived; cancel() }()
	r, err := w.Append(ctx, tick(1, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, entity.IsAmbiguous(err))
	require.Zero(t, r)

	w.sent.Reset()
	r, err = w.Append(ctx, tick(1, 1))
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, entity.IsAmbiguous(err), "nothing was sent")
	require.Zero(t, r)
	require.Empty(t, w.sent.Requests())
}
