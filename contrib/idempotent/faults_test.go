package idempotent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/idempotent"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

var everyFault = []faults.Fault{
	faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Twice, faults.Late, faults.Hang, faults.Unsent,
	faults.Cut, faults.Stall, faults.HotPartition,
}

func timeout(c *entity.Config) { c.RequestTimeout = 100 * time.Millisecond }

// situation is what a call under faults finds, and how many requests it sends without faults.
type situation struct {
	prepare  func(l *lab, key string)
	call     func(l *lab, op *idempotent.Operation, key string) (receipt, error)
	requests int
	succeeds bool
}

var situations = map[string]situation{
	"first": {func(*lab, string) {}, (*lab).call, 2, true},
	"kept":  {func(l *lab, key string) { l.OK(l.call(l.other(nil, idempotent.Options{}), key)) }, (*lab).call, 1, true},
	"crash": {func(l *lab, key string) { l.crash(key); l.Clock.Move(minute + 2*time.Second) }, (*lab).call, 3, true},
	"fails": {func(*lab, string) {}, func(l *lab, op *idempotent.Operation, key string) (receipt, error) {
		return idempotent.Do(l.Ctx, op, key, order{User: "u-1", Amount: 10}, l.decline)
	}, 2, false},
}

// each runs a test for each situation, each of its requests, and each fault.
func each(t *testing.T, all []faults.Fault, configure []func(*entity.Config), test func(t *testing.T, l *lab, s situation, n int, fault faults.Fault, key string)) {
	for name, s := range situations {
		for n := 1; n <= s.requests; n++ {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				l := newLab(t, configure...)
				for _, fault := range all {
					t.Run(fault.String(), func(t *testing.T) {
						key := fault.String()
						s.prepare(l, key)
						l.runs.Store(0)
						test(t, l, s, n, fault, key)
					})
				}
			})
		}
	}
}

// One request goes wrong, whichever it is, and however: the call does what it does without the fault.
func TestFaults_AtEachRequest(t *testing.T) {
	each(t, everyFault, []func(*entity.Config){timeout}, func(t *testing.T, l *lab, s situation, n int, fault faults.Fault, key string) {
		op := l.other(l.Client, idempotent.Options{})
		l.Wire.Inject(faults.Nth(n, fault))
		got, err := s.call(l, op, key)
		l.Wire.Inject(nil)
		if s.succeeds {
			require.NoError(t, err)
		} else {
			require.True(t, err == errDeclined, "%v", err)
		}
		_, err = l.Wire.Deliver()
		require.NoError(t, err)
		again, err := idempotent.DoResult(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, l.charge)
		if s.succeeds {
			require.NoError(t, err)
			assert.True(t, again.Replayed)
			assert.Equal(t, got, again.Answer)
			assert.LessOrEqual(t, l.runs.Load(), int64(1))
			return
		}
		if fault == faults.Late && n == 1 { // the first request of a call that has failed arrived after its end
			dbtest.As[*idempotent.InProgressError](t, err)
			l.Clock.Move(minute + 2*time.Second)
			again, err = idempotent.DoResult(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, l.charge)
		}
		require.NoError(t, err)
		assert.False(t, again.Replayed)
		assert.EqualValues(t, 2, l.runs.Load())
	})
}

// All requests from one on go wrong: the error says whether the function has run, and the key can be used after the lease.
func TestFaults_FromEachRequestOn(t *testing.T) {
	failures := slices.DeleteFunc(slices.Clone(everyFault), func(f faults.Fault) bool { return f == faults.Twice })
	each(t, failures, []func(*entity.Config){timeout, dbtest.Attempts(2)}, func(t *testing.T, l *lab, s situation, n int, fault faults.Fault, key string) {
		op := l.other(l.Client, idempotent.Options{})
		sent := 0
		l.Wire.Inject(func(faults.Request) faults.Fault {
			if sent++; sent < n {
				return faults.None
			}
			return fault
		})
		got, err := s.call(l, op, key)
		l.Wire.Inject(nil)
		ran := l.runs.Load()
		var notKept *idempotent.NotKeptError
		var unsure *idempotent.ClaimError
		switch {
		case !s.succeeds && ran > 0:
			require.ErrorIs(t, err, errDeclined)
		case ran > 0:
			require.ErrorAs(t, err, &notKept)
			assert.Equal(t, receipt{1, "ada"}, got, "the caller gets the answer all the same")
			assert.Equal(t, entity.ClassUnknown, entity.ClassOf(err))
			require.ErrorIs(t, err, entity.ErrReadBack)
			assert.Contains(t, err.Error(), notKept.Err.Error())
		default:
			require.Error(t, err)
			assert.False(t, errors.As(err, &notKept))
			assert.Contains(t, []entity.Class{entity.ClassUnavailable, entity.ClassConflict}, entity.ClassOf(err), "%v", err)
			assert.Equal(t, fault == faults.Conflict, entity.ClassOf(err) == entity.ClassConflict)
			assert.False(t, entity.IsAmbiguous(err), "nothing has run: %v", err)
		}
		if errors.As(err, &unsure) {
			assert.Equal(t, "charge", unsure.Operation)
			assert.Error(t, unsure.Err)
		}
		_, err = l.Wire.Deliver()
		require.NoError(t, err)
		l.Clock.Move(minute + 2*time.Second)
		again, err := idempotent.DoResult(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, l.charge)
		require.NoError(t, err)
		if again.Replayed && ran > 0 {
			assert.Equal(t, got, again.Answer, "the answer was kept, though nobody said so")
		}
		assert.LessOrEqual(t, l.runs.Load(), ran+1)
	})
}

// The answer to a request is lost, and so is the read that would prove that it was applied: the request is repeated, and refused by what it has
// written itself.
func TestFaults_AnAnswerAndItsProofAreLost(t *testing.T) {
	each(t, []faults.Fault{faults.Lost, faults.InternalApplied}, []func(*entity.Config){dbtest.Attempts(2)}, func(t *testing.T, l *lab, s situation, n int, fault faults.Fault, key string) {
		sent, reads := 0, 0
		l.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == "GetItem" {
				if reads++; reads <= 2 {
					return faults.Drop
				}
				return faults.None
			}
			if sent++; sent == n {
				return fault
			}
			return faults.None
		})
		_, err := s.call(l, l.other(l.Client, idempotent.Options{}), key)
		l.Wire.Inject(nil)
		if s.succeeds {
			require.NoError(t, err)
			again, err := idempotent.DoResult(l.Ctx, l.op, key, order{User: "u-1", Amount: 10}, l.charge)
			require.NoError(t, err)
			assert.True(t, again.Replayed)
		} else {
			require.True(t, err == errDeclined, "%v", err)
			assert.Empty(t, l.records())
		}
		assert.LessOrEqual(t, l.runs.Load(), int64(1))
	})
}

// A claim that may have been applied is given up, although the last of its requests was not applied.
func TestFaults_WhatIsUnsureStaysUnsure(t *testing.T) {
	l := newLab(t, dbtest.Attempts(1))
	script := []faults.Fault{faults.InternalApplied, faults.Drop, faults.Throttle, faults.Throttle}
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Index < len(script) {
			return script[r.Index]
		}
		return faults.None
	})
	_, err := l.call(l.op, "k")
	dbtest.As[*idempotent.ClaimError](t, err)
	assert.Equal(t, []string{"PutItem", "GetItem", "PutItem", "PutItem", "DeleteItem"}, l.Operations())
	assert.Empty(t, l.records())
	assert.Zero(t, l.runs.Load())
}

// A request of a call that has ended arrives when another call has finished. It changes nothing.
func TestFaults_WhatArrivesLateChangesNothing(t *testing.T) {
	for name, s := range situations {
		for n := 1; n <= s.requests; n++ {
			t.Run(fmt.Sprint(name, "/", n), func(t *testing.T) {
				l := newLab(t, dbtest.Attempts(1))
				s.prepare(l, "k")
				op := l.other(l.Client, idempotent.Options{})
				sent := 0
				l.Wire.Inject(func(faults.Request) faults.Fault {
					if sent++; sent < n {
						return faults.None
					}
					return faults.Late
				})
				_, _ = s.call(l, op, "k")
				l.Wire.Inject(nil)
				l.Clock.Move(minute + 2*time.Second)
				l.OK(l.call(l.op, "k"))
				before := l.records()
				require.Positive(t, l.Wire.Kept())
				_, err := l.Wire.Deliver()
				require.NoError(t, err)
				assert.Equal(t, before, l.records())
			})
		}
	}
}

// Processes repeat the calls of some keys, while requests go wrong. All that get the answer of a key get the same.
func TestHistories_OneAnswerForEachKey(t *testing.T) {
	l := newLab(t)
	seed := testsize.Seed(t)
	random := rand.New(rand.NewPCG(seed, 0))
	l.Wire.Inject(faults.Random(seed, 0.15, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost, faults.Twice, faults.Cut, faults.Unsent))
	defer l.Wire.Inject(nil)
	keys := testsize.Pick(10, 100)
	var runs, lost [100]atomic.Int64
	var mu sync.Mutex
	answers := map[int]map[int64]bool{}
	var all sync.WaitGroup
	for i := range 8 {
		op := l.other(l.Client, idempotent.Options{Cache: i % 2 * 3})
		source := rand.New(rand.NewPCG(seed, random.Uint64()))
		all.Go(func() {
			for range keys * 6 {
				k := source.IntN(keys)
				fails := source.IntN(4) == 0
				got, err := idempotent.Do(l.Ctx, op, fmt.Sprint("k-", k), k, func(context.Context) (int64, error) {
					if fails {
						return 0, errDeclined
					}
					return runs[k].Add(1), nil
				})
				var notKept *idempotent.NotKeptError
				switch {
				case errors.As(err, &notKept):
					lost[k].Add(1)
				case err == nil:
					mu.Lock()
					if answers[k] == nil {
						answers[k] = map[int64]bool{}
					}
					answers[k][got] = true
					mu.Unlock()
				case errors.Is(err, errDeclined):
				default:
					assert.Equal(t, entity.ClassUnavailable, entity.ClassOf(err), "%v", err)
				}
			}
		})
	}
	all.Wait()
	assert.NotEmpty(t, answers)
	for k, got := range answers {
		assert.Len(t, got, 1, "key %d", k)
		assert.LessOrEqual(t, runs[k].Load(), 1+lost[k].Load(), "key %d", k)
	}
}
