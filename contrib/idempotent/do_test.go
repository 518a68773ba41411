package idempotent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func TestDo_ARepetitionGetsTheKeptAnswer(t *testing.T) {
	l := newLab(t)
	first, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, first)
	assert.Equal(t, []string{"PutItem", "UpdateItem"}, l.Operations())
	assert.Equal(t, bill{2, 2, 0}, l.spent())

	again, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, first, again)
	assert.EqualValues(t, 1, l.runs.Load())
	assert.Equal(t, []string{"PutItem"}, l.Operations(), "the refused claim brings the record along")
	assert.Equal(t, bill{1, 0, 0}, l.spent())

	other, err := l.call(l.op, "k2")
	require.NoError(t, err)
	assert.Equal(t, receipt{2, "ada"}, other)
}

func TestDo_StoresDigestsOfKeyAndPayload(t *testing.T) {
	l := newLab(t)
	l.OK(idempotent.Do(l.Ctx, l.op, "secret-key", order{User: "secret-user"}, l.charge))
	stored := fmt.Sprint(l.records())
	all := l.records()
	require.Len(t, all, 1)
	assert.NotContains(t, stored, "secret")
	r := all[0]
	assert.Len(t, dbtest.Text(r["key"]), 64)
	assert.Len(t, dbtest.Text(r["payload"]), 64)
	assert.Equal(t, "done", dbtest.Text(r["state"]))
	assert.JSONEq(t, `{"id":1,"buyer":"ada"}`, dbtest.Text(r["answer"]))
	assert.Equal(t, "$app#v1#idempotentanswer#charge#"+dbtest.Text(r["key"]), dbtest.Text(r["pk"]))
	ends := dbtest.Start.Add(24 * time.Hour).UnixMilli()
	assert.Equal(t, fmt.Sprint(ends), dbtest.Text(r["ends"]))
	assert.Equal(t, fmt.Sprint(ends/1000+1), dbtest.Text(r["_ttl"]))
}

func TestDoResult_SaysWhetherAnAnswerIsAKeptOne(t *testing.T) {
	l := newLab(t)
	first, err := idempotent.DoResult(l.Ctx, l.op, "k", nil, l.charge)
	require.NoError(t, err)
	until := dbtest.Start.Add(24 * time.Hour).UnixMilli()
	assert.False(t, first.Replayed)
	assert.Equal(t, until, first.Until.UnixMilli())
	l.Clock.Move(time.Hour)
	again, err := idempotent.DoResult(l.Ctx, l.op, "k", nil, l.charge)
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.Equal(t, until, again.Until.UnixMilli())
	assert.Equal(t, first.Answer, again.Answer)
}

func TestDo_KeepsAnAnswerOfNothing(t *testing.T) {
	l := newLab(t)
	for range 2 {
		r, err := idempotent.DoResult(l.Ctx, l.op, "k", nil, func(context.Context) (*receipt, error) {
			l.runs.Add(1)
			return nil, nil
		})
		require.NoError(t, err)
		assert.Nil(t, r.Answer)
		assert.Equal(t, l.runs.Load() == 1 && !r.Replayed, !r.Replayed)
	}
	again, err := idempotent.DoResult(l.Ctx, l.op, "k", nil, func(context.Context) (struct{}, error) { return struct{}{}, nil })
	require.NoError(t, err)
	assert.True(t, again.Replayed)
	assert.EqualValues(t, 1, l.runs.Load())
}

// point has a form of its own in JSON.
type point struct{ x, y int }

func (p point) MarshalJSON() ([]byte, error) { return json.Marshal(fmt.Sprint(p.x, " ", p.y)) }

func (p *point) UnmarshalJSON(text []byte) error {
	_, err := fmt.Sscanf(string(text), `"%d %d"`, &p.x, &p.y)
	return err
}

func TestDo_AnAnswerHasItsOwnFormInJSON(t *testing.T) {
	l := newLab(t)
	for range 2 {
		got, err := idempotent.Do(l.Ctx, l.op, "k", nil, func(context.Context) (point, error) { return point{3, 4}, nil })
		require.NoError(t, err)
		assert.Equal(t, point{3, 4}, got)
	}
	for range 2 {
		got, err := idempotent.Do(l.Ctx, l.op, "ip", nil, func(context.Context) (netip.Addr, error) { return netip.MustParseAddr("::1"), nil })
		require.NoError(t, err)
		assert.Equal(t, "::1", got.String())
	}
}

func TestDo_RefusesAnotherPayload(t *testing.T) {
	l := newLab(t)
	l.OK(l.call(l.op, "k"))
	before := l.records()
	for range 2 {
		got, err := idempotent.Do(l.Ctx, l.op, "k", order{User: "u-1", Amount: 999}, l.charge)
		mismatch := dbtest.As[*idempotent.PayloadMismatchError](t, err)
		assert.Equal(t, "charge", mismatch.Operation)
		assert.Equal(t, "IDEM-06", dbtest.InputCode(err))
		assert.Equal(t, entity.ClassInvalid, entity.ClassOf(err))
		assert.NotContains(t, err.Error(), "999")
		assert.Zero(t, got)
	}
	assert.Equal(t, before, l.records(), "a refused call leaves the record alone")
	assert.EqualValues(t, 1, l.runs.Load())
	l.OK(l.call(l.op, "k"))
}

func TestDo_RefusesAnotherPayloadWhileTheFirstRuns(t *testing.T) {
	l := newLab(t)
	other := func() error {
		return dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, "k", order{User: "u-2"}, l.charge))
	}
	l.OK(l.during(l.op, "k", func() {
		dbtest.As[*idempotent.PayloadMismatchError](t, other())
	}))
	assert.EqualValues(t, 1, l.runs.Load())

	l.crash("k2")
	l.Clock.Move(time.Hour)
	err := dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, "k2", order{User: "u-2"}, l.charge))
	dbtest.As[*idempotent.PayloadMismatchError](t, err)
	l.OK(l.call(l.op, "k2"))
}

func TestDo_ComparesPayloadsAsJSON(t *testing.T) {
	l := newLab(t)
	type sameOrder struct {
		Note   string `json:"note,omitempty"`
		Amount int    `json:"amount"`
		User   string `json:"user"`
	}
	l.OK(l.call(l.op, "k"))
	for name, x := range map[string]struct {
		payload any
		same    bool
	}{
		"another order of fields": {sameOrder{User: "u-1", Amount: 10}, true},
		"a map":                   {map[string]any{"user": "u-1", "amount": 10}, true},
		"text":                    {json.RawMessage("{\n \"user\": \"u-1\",\n \"amount\": 10 }"), true},
		"text in another order":   {json.RawMessage(`{"amount":10,"user":"u-1"}`), true},
		"a pointer":               {&order{User: "u-1", Amount: 10}, true},
		"another number":          {order{User: "u-1", Amount: 11}, false},
		"a text for a number":     {json.RawMessage(`{"amount":"10","user":"u-1"}`), false},
		"another member":          {order{User: "u-1", Amount: 10, Note: "x"}, false},
		"bytes":                   {[]byte(`{"user":"u-1","amount":10}`), false},
		"nothing":                 {nil, false},
		"a list":                  {[]any{"u-1", 10}, false},
	} {
		_, err := idempotent.Do(l.Ctx, l.op, "k", x.payload, l.charge)
		assert.Equal(t, x.same, err == nil, "%s: %v", name, err)
	}
	big := json.RawMessage("9007199254740993")
	l.OK(idempotent.Do(l.Ctx, l.op, "big", big, l.charge))
	err := dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, "big", json.RawMessage("9007199254740992"), l.charge))
	dbtest.As[*idempotent.PayloadMismatchError](t, err, "numbers are not rounded")
}

// What fn does to the payload changes neither the key nor the digest of the record that is ended.
func TestDo_TheFunctionMayChangeThePayload(t *testing.T) {
	l := newLab(t)
	payload := &order{User: "u-1", Amount: 10}
	l.OK(idempotent.Do(l.Ctx, l.op, "k", payload, func(ctx context.Context) (receipt, error) {
		payload.Note = "processed"
		return l.charge(ctx)
	}))
	l.OK(l.call(l.op, "k"))
	assert.EqualValues(t, 1, l.runs.Load())
	failing := &order{User: "u-1", Amount: 10}
	_, err := idempotent.Do(l.Ctx, l.op, "k2", failing, func(context.Context) (receipt, error) {
		failing.Note = "processed"
		return receipt{}, errDeclined
	})
	require.ErrorIs(t, err, errDeclined)
	l.OK(l.call(l.op, "k2"))
	assert.Len(t, l.records(), 2)
}

func TestDo_IsInProgressWhileTheFunctionRuns(t *testing.T) {
	l := newLab(t)
	l.OK(l.during(l.op, "k", func() {
		l.Clock.Move(20 * time.Second)
		l.spent()
		_, err := l.call(l.op, "k")
		progress := dbtest.As[*idempotent.InProgressError](t, err)
		assert.Equal(t, idempotent.InProgressError{Operation: "charge", RetryAfter: 42 * time.Second}, *progress, "the rest of the minute, and the skew")
		require.ErrorIs(t, err, lease.ErrTaken)
		assert.Equal(t, entity.ClassUnavailable, entity.ClassOf(err))
		assert.Equal(t, bill{1, 0, 0}, l.spent())
	}))
	got, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got, "the refused call did not remove the record of the one that ran")
}

func TestDo_ManyCallersRunTheFunctionOnce(t *testing.T) {
	l := newLab(t)
	ops := []*idempotent.Operation{l.op, l.other(l.Client, idempotent.Options{}), l.other(l.Client, idempotent.Options{Cache: 10})}
	var all sync.WaitGroup
	var answered, progress atomic.Int64
	for i := range 100 {
		all.Go(func() {
			for range 200 {
				got, err := idempotent.Do(l.Ctx, ops[i%len(ops)], "k", order{User: "u-1"}, func(ctx context.Context) (receipt, error) {
					time.Sleep(50 * time.Millisecond)
					return l.charge(ctx)
				})
				var running *idempotent.InProgressError
				switch {
				case err == nil:
					assert.Equal(t, receipt{1, "ada"}, got)
					answered.Add(1)
					return
				case errors.As(err, &running):
					progress.Add(1)
					time.Sleep(20 * time.Millisecond)
				default:
					assert.NoError(t, err)
					return
				}
			}
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, l.runs.Load())
	assert.EqualValues(t, 100, answered.Load())
	assert.Positive(t, progress.Load())
}

func TestDo_AFailedFunctionRunsAgain(t *testing.T) {
	l := newLab(t)
	_, err := idempotent.Do(l.Ctx, l.op, "k", nil, l.decline)
	assert.True(t, err == errDeclined, "the error is as it was: %v", err)
	assert.Equal(t, []string{"PutItem", "DeleteItem"}, l.Operations())
	assert.Equal(t, bill{2, 2, 0}, l.spent())
	assert.Empty(t, l.records())
	got, err := idempotent.Do(l.Ctx, l.op, "k", order{User: "another payload"}, l.charge)
	require.NoError(t, err)
	assert.Equal(t, receipt{2, "ada"}, got)
}

// An error of what runs after Do does not touch the record.
func TestDo_WhatFailsOutsideLeavesTheAnswer(t *testing.T) {
	l := newLab(t)
	handler := func(fail bool) (receipt, error) {
		got, err := l.call(l.op, "k")
		if err != nil || fail {
			return receipt{}, errors.Join(err, errDeclined)
		}
		return got, nil
	}
	require.Error(t, dbtest.ErrorOf(handler(true)))
	got, err := handler(false)
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got)
}

func TestDo_APanicReleasesTheKeyAndGoesOn(t *testing.T) {
	l := newLab(t)
	assert.PanicsWithValue(t, "boom", func() {
		_, _ = idempotent.Do(l.Ctx, l.op, "k", nil, func(context.Context) (receipt, error) { panic("boom") })
	})
	assert.Empty(t, l.records())
	var all sync.WaitGroup
	all.Go(func() {
		_, _ = idempotent.Do(l.Ctx, l.op, "k", nil, func(context.Context) (receipt, error) { runtime.Goexit(); return receipt{}, nil })
	})
	all.Wait()
	assert.Empty(t, l.records())
	l.OK(l.call(l.op, "k"))
}

func TestDo_EndsTheClaimAfterTheContextHasEnded(t *testing.T) {
	l := newLab(t)
	for key, fn := range map[string]func(context.Context) (receipt, error){"kept": l.charge, "failed": l.decline} {
		ctx, cancel := context.WithCancel(l.Ctx)
		_, err := idempotent.Do(ctx, l.op, key, nil, func(ctx context.Context) (receipt, error) {
			cancel()
			<-ctx.Done()
			return fn(ctx)
		})
		assert.Equal(t, key == "kept", err == nil, "%v", err)
	}
	require.Len(t, l.records(), 1)
	again, err := idempotent.DoResult(l.Ctx, l.op, "kept", nil, l.charge)
	require.NoError(t, err)
	assert.True(t, again.Replayed)
}

func TestDo_TakesOverAfterTheLease(t *testing.T) {
	l := newLab(t)
	l.crash("k")
	l.Clock.Move(minute + 2*time.Second - time.Millisecond)
	progress := dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(l.op, "k")))
	assert.Equal(t, time.Millisecond, progress.RetryAfter)
	l.Clock.Move(time.Millisecond)
	l.spent()
	got, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got)
	assert.Equal(t, bill{3, 2, 0}, l.spent(), "the refused claim, the one over the record, and the answer")
	again, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, got, again)
}

func TestDo_OneOfManyTakesOver(t *testing.T) {
	l := newLab(t)
	l.crash("k")
	l.Clock.Move(minute + 2*time.Second)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			_, err := l.call(l.op, "k")
			var running *idempotent.InProgressError
			assert.True(t, err == nil || errors.As(err, &running), "%v", err)
		})
	}
	all.Wait()
	assert.EqualValues(t, 1, l.runs.Load())
}

// A call whose lease has ended learns that another took over, and what that one keeps stays.
func TestDo_TheLateOneOverwritesNothing(t *testing.T) {
	l := newLab(t)
	late, err := idempotent.Do(l.Ctx, l.op, "k", order{User: "u-1", Amount: 10}, func(context.Context) (receipt, error) {
		l.Clock.Move(minute + 2*time.Second)
		l.OK(l.call(l.op, "k"))
		return receipt{ID: 77}, nil
	})
	taken := dbtest.As[*idempotent.TakenOverError](t, err)
	assert.Equal(t, "charge", taken.Operation)
	require.ErrorIs(t, err, lease.ErrLost)
	assert.Equal(t, entity.ClassConflict, entity.ClassOf(err))
	assert.Equal(t, receipt{ID: 77}, late)
	got, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got)
}

// Nor does it touch the record of one that still runs, or remove what the other has kept.
func TestDo_TheLateOneLeavesTheOtherAlone(t *testing.T) {
	l := newLab(t)
	for key, fn := range map[string]func(context.Context) (receipt, error){"succeeds": l.charge, "fails": l.decline} {
		finish, finished := make(chan struct{}), make(chan error, 1)
		late := func() error {
			return dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, func(ctx context.Context) (receipt, error) {
				l.Clock.Move(minute + 2*time.Second)
				running := make(chan struct{})
				go func() {
					_, err := l.during(l.other(nil, idempotent.Options{}), key, func() { close(running); <-finish })
					finished <- err
				}()
				<-running
				return fn(ctx)
			}))
		}
		err := late()
		if key == "fails" {
			assert.True(t, err == errDeclined, "%v", err)
		} else {
			dbtest.As[*idempotent.TakenOverError](t, err)
		}
		dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(l.call(l.op, key)))
		close(finish)
		require.NoError(t, <-finished)
		again, err := idempotent.DoResult(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, l.charge)
		require.NoError(t, err)
		assert.True(t, again.Replayed)
	}
	_, err := idempotent.Do(l.Ctx, l.op, "done", order{User: "u-1", Amount: 10}, func(ctx context.Context) (receipt, error) {
		l.Clock.Move(minute + 2*time.Second)
		l.OK(l.call(l.op, "done"))
		return l.decline(ctx)
	})
	assert.True(t, err == errDeclined, "%v", err)
	l.OK(l.call(l.op, "done"))
	assert.Len(t, l.records(), 3)
}

// A late call that nobody replaced keeps its answer.
func TestDo_ALateAnswerIsKeptIfNobodyTookOver(t *testing.T) {
	l := newLab(t)
	l.OK(l.during(l.op, "k", func() { l.Clock.Move(time.Hour) }))
	got, err := l.call(l.op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got)
}

// The record of a call that finishes between the refusal and the takeover is not replaced.
func TestDo_DoesNotTakeOverWhatFinishesMeanwhile(t *testing.T) {
	l := newLab(t)
	var taker receipt
	l.OK(l.during(l.op, "k", func() {
		l.Clock.Move(minute + 2*time.Second)
	}))
	l.OK(l.call(l.op, "k"))
	release := make(chan struct{})
	running := make(chan struct{})
	finished := make(chan error, 1)
	slow := l.other(nil, idempotent.Options{})
	go func() {
		_, err := idempotent.Do(l.Ctx, slow, "k2", order{User: "u-1", Amount: 10}, func(context.Context) (receipt, error) {
			close(running)
			<-release
			return receipt{ID: 5}, nil
		})
		finished <- err
	}()
	<-running
	l.Clock.Move(minute + 2*time.Second)
	err := l.Overtake(dbtest.Is("UpdateItem"), func() (err error) {
		taker, err = l.call(l.op, "k2")
		return err
	}, func() {
		close(release)
		require.NoError(t, <-finished)
	})
	require.NoError(t, err)
	assert.Equal(t, receipt{ID: 5}, taker, "it gets the answer that came in between")
	assert.EqualValues(t, 1, l.runs.Load())
}

// A record that is removed between the refusal and the takeover is no record.
func TestDo_ClaimsWhatIsReleasedMeanwhile(t *testing.T) {
	l := newLab(t)
	l.crash("k")
	l.Clock.Move(minute + 2*time.Second)
	var got receipt
	err := l.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() (err error) {
		got, err = l.call(l.op, "k")
		return err
	}, func() { l.RemoveItem(l.records()[0]) })
	require.NoError(t, err)
	assert.Equal(t, receipt{1, "ada"}, got)
	assert.Equal(t, []string{"PutItem", "UpdateItem", "PutItem", "UpdateItem"}, l.Operations())
}

func TestDo_TheContextOfTheFunctionEndsWithTheLease(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Lease: 30 * time.Millisecond})
	_, err := idempotent.Do(l.Ctx, op, "k", nil, func(ctx context.Context) (receipt, error) {
		<-ctx.Done()
		assert.Equal(t, idempotent.ErrLeaseEnded, context.Cause(ctx))
		return receipt{}, context.Cause(ctx)
	})
	require.ErrorIs(t, err, idempotent.ErrLeaseEnded)
	assert.Equal(t, entity.ClassUnavailable, entity.ClassOf(err))
	assert.Empty(t, l.records())
}

// The claim of a call ends with the deadline of its context, as that of a Lambda function does, and not later.
func TestDo_TheDeadlineOfTheContextShortensTheLease(t *testing.T) {
	l := newLab(t)
	ctx, cancel := context.WithTimeout(l.Ctx, 5*time.Second)
	defer cancel()
	_, err := idempotent.Do(ctx, l.op, "k", nil, func(context.Context) (receipt, error) {
		progress := dbtest.As[*idempotent.InProgressError](t, dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, "k", nil, l.charge)))
		assert.InDelta(t, 7*time.Second, progress.RetryAfter, float64(time.Second))
		l.Clock.Move(7 * time.Second)
		l.OK(idempotent.Do(l.Ctx, l.op, "k", nil, l.charge))
		return receipt{}, errDeclined
	})
	assert.True(t, err == errDeclined, "%v", err)

	// No time left is not a claim without an end.
	l.Sent()
	over, stop := context.WithDeadline(l.Ctx, time.Now().Add(-time.Second))
	defer stop()
	_, err = idempotent.Do(over, l.op, "k2", nil, l.charge)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Empty(t, l.Operations())
	assert.EqualValues(t, 1, l.runs.Load())
}

// A claim that takes as long as the lease is given up before the function runs.
func TestDo_DoesNotRunUnderALeaseThatHasEnded(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Lease: 50 * time.Millisecond})
	arrived, release := l.Wire.Hold(dbtest.First(dbtest.Is("PutItem")))
	defer release()
	go func() { <-arrived }()
	_, err := idempotent.Do(l.Ctx, op, "k", nil, l.charge)
	unsure := dbtest.As[*idempotent.ClaimError](t, err)
	require.ErrorIs(t, unsure.Err, context.DeadlineExceeded)
	assert.Equal(t, entity.ClassUnavailable, entity.ClassOf(err))
	assert.Zero(t, l.runs.Load())
	assert.Empty(t, l.records())

	slow := l.other(nil, idempotent.Options{Lease: 50 * time.Millisecond}, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) {
			if r.Verb == "Create" { // its answer has come, and takes its time to reach the call
				time.Sleep(60 * time.Millisecond)
			}
		})
	})
	require.ErrorIs(t, dbtest.ErrorOf(l.call(slow, "k2")), idempotent.ErrLeaseEnded)
	assert.Zero(t, l.runs.Load())
	assert.Empty(t, l.records())
}

func TestDo_AnEndedRecordIsNoRecord(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Keep: 10 * time.Second})
	l.OK(l.call(op, "k"))
	l.Clock.Move(10*time.Second - time.Millisecond)
	l.OK(l.call(op, "k"))
	assert.EqualValues(t, 1, l.runs.Load())
	l.Clock.Move(time.Millisecond)
	require.Len(t, l.records(), 1, "the table has not removed it")
	got, err := idempotent.Do(l.Ctx, op, "k", order{User: "another payload"}, l.charge)
	require.NoError(t, err)
	assert.Equal(t, receipt{2, "ada"}, got)
	l.Clock.Move(time.Hour)
	l.spent()
	got, err = l.call(op, "k")
	require.NoError(t, err)
	assert.Equal(t, receipt{3, "ada"}, got)
	assert.Equal(t, bill{2, 2, 0}, l.spent(), "the claim replaces it")
}

// An answer that is kept ends as long after the end of the function as it is to be kept.
func TestDo_KeepCountsFromTheAnswer(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{Keep: 10 * time.Second})
	l.OK(l.during(op, "k", func() { l.Clock.Move(50 * time.Second) }))
	l.Clock.Move(9 * time.Second)
	r, err := idempotent.DoResult(l.Ctx, op, "k", order{User: "u-1", Amount: 10}, l.charge)
	require.NoError(t, err)
	assert.True(t, r.Replayed)
}

func TestDo_LargeAnswersAreRefused(t *testing.T) {
	l := newLab(t)
	op := l.open(idempotent.Options{MaxAnswer: 1000})
	large := func(n int) func(context.Context) (string, error) {
		return func(context.Context) (string, error) { l.runs.Add(1); return strings.Repeat("x", n), nil }
	}
	first, err := idempotent.Do(l.Ctx, op, "k", nil, large(999)) // and two quotes
	refused := dbtest.As[*idempotent.AnswerError](t, err)
	assert.Equal(t, idempotent.AnswerError{Operation: "charge", Size: 1001, Limit: 1000}, *refused)
	require.ErrorIs(t, err, entity.ErrTooLarge)
	assert.Equal(t, entity.ClassInvalid, entity.ClassOf(err))
	assert.Len(t, first, 999, "the first call gets it")
	again, err := idempotent.DoResult(l.Ctx, op, "k", nil, large(1))
	assert.Equal(t, refused, dbtest.As[*idempotent.AnswerError](t, err))
	assert.True(t, again.Replayed)
	assert.Empty(t, again.Answer)
	assert.EqualValues(t, 1, l.runs.Load(), "the function has had its effect")
	l.OK(idempotent.Do(l.Ctx, op, "k2", nil, large(998)))
	l.OK(idempotent.Do(l.Ctx, op, "k2", nil, large(998)))

	whole := l.open(idempotent.Options{})
	for range 2 {
		got, err := idempotent.Do(l.Ctx, whole, "largest", nil, large(400_000-2))
		require.NoError(t, err)
		assert.Len(t, got, 400_000-2)
	}
	assert.ErrorIs(t, dbtest.ErrorOf(idempotent.Do(l.Ctx, whole, "too large", nil, large(400_000-1))), entity.ErrTooLarge)
}

func TestDo_AnswersThatJSONCannotExpress(t *testing.T) {
	l := newLab(t)
	_, err := idempotent.Do(l.Ctx, l.op, "k", nil, func(context.Context) (chan int, error) { l.runs.Add(1); return nil, nil })
	dbtest.RequireInput(t, err, "IDEM-05", "answer", "chan int")
	assert.Empty(t, l.Operations())
	nan := func(context.Context) (float64, error) { l.runs.Add(1); return math.NaN(), nil }
	got, err := idempotent.Do(l.Ctx, l.op, "k", nil, nan)
	assert.True(t, math.IsNaN(got))
	var unsupported *json.UnsupportedValueError
	require.ErrorAs(t, err, &unsupported)
	assert.Zero(t, dbtest.As[*idempotent.AnswerError](t, err).Size)
	_, err = idempotent.Do(l.Ctx, l.op, "k", nil, nan)
	assert.Equal(t, idempotent.AnswerError{Operation: "charge", Limit: 400_000}, *dbtest.As[*idempotent.AnswerError](t, err))
	assert.Equal(t, entity.ClassBug, entity.ClassOf(err))
	assert.EqualValues(t, 1, l.runs.Load())

	// Text that is not UTF-8 is no text to DynamoDB.
	raw := func(context.Context) (json.RawMessage, error) { l.runs.Add(1); return json.RawMessage("\"\xff\""), nil }
	for range 2 {
		_, err = idempotent.Do(l.Ctx, l.op, "raw", nil, raw)
		assert.Zero(t, dbtest.As[*idempotent.AnswerError](t, err).Size)
	}
	assert.EqualValues(t, 2, l.runs.Load())
}

func TestDo_AKeptAnswerOfAnotherType(t *testing.T) {
	l := newLab(t)
	l.OK(idempotent.Do(l.Ctx, l.op, "k", nil, func(context.Context) (string, error) { return "hidden", nil }))
	_, err := idempotent.Do(l.Ctx, l.op, "k", nil, l.charge)
	wrong := dbtest.As[*entity.DecodeError](t, err)
	assert.Equal(t, "answer", wrong.Attr)
	assert.NotContains(t, err.Error(), "hidden")
	assert.Zero(t, l.runs.Load())
}

func TestDo_RefusesCallsThatCannotBe(t *testing.T) {
	l := newLab(t)
	for code, call := range map[string]func() error{
		"IDEM-02": func() error { return dbtest.ErrorOf(idempotent.Do(l.Ctx, nil, "k", nil, l.charge)) },
		"IDEM-03": func() error { return dbtest.ErrorOf(l.call(l.op, "")) },
		"IDEM-04": func() error { return dbtest.ErrorOf(idempotent.Do(l.Ctx, l.op, "k", math.Inf(1), l.charge)) },
	} {
		err := call()
		assert.Equal(t, code, dbtest.InputCode(err), "%v", err)
		assert.Equal(t, entity.ClassInvalid, entity.ClassOf(err))
	}
	assert.Equal(t, "IDEM-02", dbtest.InputCode(dbtest.ErrorOf(idempotent.Do[receipt](l.Ctx, l.op, "k", nil, nil))))
	assert.Equal(t, "IDEM-02", dbtest.InputCode(dbtest.ErrorOf(idempotent.Do(l.Ctx, &idempotent.Operation{}, "k", nil, l.charge))))
	//lint:ignore SA1012 that is the mistake
	assert.NotEmpty(t, dbtest.InputCode(dbtest.ErrorOf(idempotent.Do(nil, l.op, "k", nil, l.charge))))
	assert.Equal(t, "IDEM-03", dbtest.InputCode(dbtest.ErrorOf(l.call(l.op, idempotent.KeyOf("u-1", "")))))
	assert.Empty(t, l.Operations())
	assert.Zero(t, l.runs.Load())
}

func TestKeyOf_DifferentValuesMakeDifferentKeys(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	for _, values := range [][]string{{"a"}, {"a", "b"}, {"ab"}, {"a\"\"b"}, {"b", "a"}, {"a", "b", "c"}, {"a,b"}, {"\xff"}, {"\xfe"}, {"\ufffd"}, {`\xff`}} {
		key := idempotent.KeyOf(values...)
		assert.NotEmpty(t, key)
		assert.NotContains(t, seen, key, "%q", values)
		seen[key] = values
	}
	assert.Empty(t, idempotent.KeyOf())
	assert.Empty(t, idempotent.KeyOf(""))
	assert.Empty(t, idempotent.KeyOf("a", ""))
}
