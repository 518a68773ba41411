package engine

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// slow is a client whose reads take a time and return an error or consume units.
type slow struct {
	Client
	takes time.Duration
	err   error
	units float64
	sent  atomic.Int32
}

func (c *slow) GetItem(ctx context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	c.sent.Add(1)
	if err := Sleep(ctx, c.takes); err != nil {
		return nil, err
	}
	return &dynamodb.GetItemOutput{ConsumedCapacity: &types.ConsumedCapacity{CapacityUnits: &c.units}}, c.err
}

func get(ctx context.Context, r *Runner) error {
	_, err := r.Get(ctx, "t", item.Item{}, true)
	return err
}

// Repetitions cost what they cost in the SDK; a timeout costs twice as much, a conflict nothing.
func TestRetries_CostTokens(t *testing.T) {
	t.Parallel()
	throttled := error(&types.ProvisionedThroughputExceededException{})
	conflict := error(&types.TransactionConflictException{})
	for _, c := range []struct {
		name     string
		budget   uint
		err      error
		takes    time.Duration
		requests int
		class    error
	}{
		{"throttling", 12, throttled, 0, 3, sentinel.ErrRetryBudget},
		{"a budget that ends the same way as the attempts", 20, throttled, 0, 5, nil},
		{"timeouts", 12, nil, time.Minute, 2, sentinel.ErrRetryBudget},
		{"conflicts", 1, conflict, 0, 5, sentinel.ErrConflict},
	} {
		synctest.Test(t, func(t *testing.T) {
			client := &slow{err: c.err, takes: c.takes}
			r := &Runner{Client: client, MaxAttempts: 5, RequestTimeout: time.Second, Retries: ratelimit.NewTokenRateLimit(c.budget)}
			err := get(t.Context(), r)
			require.Error(t, err)
			require.EqualValues(t, c.requests, client.sent.Load(), c.name)
			if c.err != nil {
				require.ErrorIs(t, err, c.err, "the cause is in the error")
			}
			if c.class != nil {
				require.ErrorIs(t, err, c.class, c.name)
			} else {
				require.NotErrorIs(t, err, sentinel.ErrRetryBudget)
			}
		})
	}
}

// A repetition that is answered gives back its tokens, and each answer adds one.
func TestRetries_ComeBackWithAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{}
		r := &Runner{Client: client, MaxAttempts: 5, Retries: ratelimit.NewTokenRateLimit(10)}
		left := func() (n int) {
			for {
				token, err := r.Retries.GetToken(t.Context(), 1)
				if err != nil {
					require.NoError(t, r.Retries.AddTokens(uint(n)))
					return n
				}
				_, n = token, n+1
			}
		}
		client.err = &types.ProvisionedThroughputExceededException{}
		require.ErrorIs(t, get(t.Context(), r), sentinel.ErrRetryBudget)
		require.Equal(t, 0, left())
		client.err = nil
		for range 7 {
			require.NoError(t, get(t.Context(), r))
		}
		require.Equal(t, 7, left())
		k, err := r.try(t.Context(), &attempts{sent: 1, token: func() error { return r.Retries.AddTokens(2) }}, "GetItem", []string{"t"}, func(context.Context, *request) error { return nil })
		require.Equal(t, success, k)
		require.NoError(t, err)
		require.Equal(t, 10, left())
	})
}

func TestRequestTimeout_CountsAsALostAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{takes: time.Minute}
		r := &Runner{Client: client, MaxAttempts: 3, RequestTimeout: time.Second, Pause: func(context.Context, int) error { return nil }}
		begun, err := time.Now(), get(t.Context(), r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "request timeout of 1s")
		require.EqualValues(t, 3, client.sent.Load())
		require.Equal(t, 3*time.Second, time.Since(begun))

		write := func(ctx context.Context, _ *request) error { return Sleep(ctx, time.Minute) }
		k, _ := r.try(t.Context(), &attempts{}, "PutItem", []string{"t"}, write)
		require.Equal(t, unknown, k, "a write without an answer may have been applied")
		k, _ = r.try(t.Context(), &attempts{}, "PutItem", []string{"t"}, func(context.Context, *request) error { return &types.ConditionalCheckFailedException{} })
		require.Equal(t, refused, k)
	})
}

func TestRepetition_DoesNotBeginAPauseThatPassesTheDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{err: &types.ProvisionedThroughputExceededException{}}
		r := &Runner{Client: client, MaxAttempts: 1000}
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		err := get(ctx, r)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, client.err)
		require.NoError(t, ctx.Err(), "the call ended before its context")
	})
}

func TestPace_SpreadsRequestsByWhatTheyConsume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{units: 128}
		r, ctx := &Runner{Client: client, MaxAttempts: 1}, bind.WithPace(t.Context(), bind.NewPace(64, 0))
		begun := time.Now()
		for range 10 {
			require.NoError(t, get(ctx, r))
		}
		require.Equal(t, 17*time.Second, time.Since(begun), "1,152 units had to be paid for, 64 of them were saved")
		require.NoError(t, get(bind.WithoutPace(ctx), r))
		require.Equal(t, 17*time.Second, time.Since(begun))

		shared, done := bind.WithPace(t.Context(), bind.NewPace(64, 0)), make(chan error)
		begun = time.Now()
		for range 4 {
			go func() {
				for range 5 {
					if err := get(shared, r); err != nil {
						done <- err
						return
					}
				}
				done <- nil
			}()
		}
		for range 4 {
			require.NoError(t, <-done)
		}
		took := time.Since(begun)
		require.GreaterOrEqual(t, took, (16*128-64)/64*time.Second, "at most four are under way before the units of one are known")
		require.LessOrEqual(t, took, (19*128-64)/64*time.Second)

		ctx, cancel := context.WithCancel(bind.WithPace(t.Context(), bind.NewPace(1, 0)))
		time.AfterFunc(time.Second, cancel)
		begun = time.Now()
		require.NoError(t, get(ctx, r))
		require.ErrorIs(t, get(ctx, r), context.Canceled)
		require.Equal(t, time.Second, time.Since(begun))
	})
}

// Nothing of tracing, budgets and timeouts costs an allocation when it is unset.
func TestTry_AllocatesNothingMoreUnlessItIsObserved(t *testing.T) {
	r := &Runner{MaxAttempts: 1, Retries: ratelimit.NewTokenRateLimit(500)}
	ctx, tables := t.Context(), []string{"t"}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		tr := attempts{}
		if k, err := r.try(ctx, &tr, "GetItem", tables, func(context.Context, *request) error { return nil }); k != success || err != nil {
			t.Error(k, err)
		}
	}), 1.0, "the request itself")
	f := func(context.Context) error { return nil }
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if err := r.Measure(ctx, entitytype.Call{Verb: "Get", Entity: "E", Table: "t"}, f); err != nil {
			t.Error(err)
		}
	}))
}

// A repetition that is not made costs nothing: if no time is left for its pause, or if the wait for a budget of units ends
// with its context.
func TestRetries_ComeBackIfThereIsNoTimeLeft(t *testing.T) {
	t.Parallel()
	for _, ended := range []error{errDeadline, nil} {
		synctest.Test(t, func(t *testing.T) {
			client := &slow{err: &types.ProvisionedThroughputExceededException{}}
			r := &Runner{Client: client, MaxAttempts: 5, Retries: ratelimit.NewTokenRateLimit(awsretry.DefaultRetryCost)}
			for range 2 {
				budget := bind.NewPace(1, 0)
				r.Pause = func(context.Context, int) error { budget.Spend(time.Now(), 3600, 0); return ended }
				ctx, cancel := context.WithTimeout(bind.WithPace(t.Context(), budget), time.Second)
				err := get(ctx, r)
				cancel()
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.NotErrorIs(t, err, sentinel.ErrRetryBudget)
			}
		})
	}
}

// After the life of its token DynamoDB would take a repetition for another transaction.
func TestPace_DoesNotDelayATransactionBeyondItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		budget := bind.NewPace(0, 1)
		client := &script{errs: []error{&types.InternalServerError{}}, sent: func() { budget.Spend(time.Now(), 0, 3600) }}
		r, begun := &Runner{Client: client, MaxAttempts: 5}, time.Now()
		b := &transaction{r: r, actions: []plan.Action{{Kind: plan.Put, Table: "t", Item: item.Item{"pk": item.S("a")}}}}
		_, err := b.deliver(bind.WithPace(t.Context(), budget), "token")
		var ambiguous *plan.Ambiguous
		require.ErrorAs(t, err, &ambiguous)
		require.Len(t, client.tokens, 1)
		require.LessOrEqual(t, time.Since(begun), longestToken)
	})
}

// The life of a token begins when it is first sent, however long a budget has delayed that.
func TestPace_ATransactionThatWaitedForLongIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, budget := &script{errs: []error{&types.ProvisionedThroughputExceededException{}}}, bind.NewPace(0, 1)
		budget.Spend(time.Now(), 0, 3600)
		r := &Runner{Client: client, MaxAttempts: 5}
		b := &transaction{r: r, actions: []plan.Action{{Kind: plan.Put, Table: "t", Item: item.Item{"pk": item.S("a")}}}}
		_, err := b.deliver(bind.WithPace(t.Context(), budget), "token")
		require.NoError(t, err)
		require.Len(t, client.tokens, 2)
	})
}

func TestThrottle_OfItsText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]entitytype.Throttle{
		"TableReadKeyRangeThroughputExceeded":     {Limit: "KeyRangeThroughputExceeded", Kind: "Table", Operation: "Read"},
		"IndexWriteMaxOnDemandThroughputExceeded": {Limit: "MaxOnDemandThroughputExceeded", Kind: "Index", Operation: "Write"},
		"TableWriteProvisionedThroughputExceeded": {Limit: "ProvisionedThroughputExceeded", Kind: "Table", Operation: "Write"},
		"SomethingNew": {Limit: "SomethingNew"},
		"TableRead":    {Limit: "TableRead"},
		"":             {},
	} {
		require.Equal(t, want, throttleOf(text, ""), text)
	}
}
