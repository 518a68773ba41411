package calls_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// nowhere is a database that no request reaches.
type nowhere struct{}

func (nowhere) Do(*http.Request) (*http.Response, error) { return nil, errors.New("nowhere") }

// overloaded returns a database that throttles every request.
func overloaded(fault faults.Fault) (*faults.Transport, *dynamodb.Client) {
	transport := faults.New(nowhere{})
	transport.Inject(func(faults.Request) faults.Fault { return fault })
	return transport, dynamodb.New(dynamodb.Options{Region: "local", HTTPClient: transport, Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
}

func TestRetryBudget_BoundsWhatAnOverloadedDatabaseGets(t *testing.T) {
	t.Parallel()
	get := func(s *entity.Store[Plain]) error { return dbtest.ErrorOf(s.Get(t.Context(), Plain{ID: "a"})) }
	for _, c := range []struct {
		name   string
		budget int
		calls  int
		fault  faults.Fault
		call   func(*entity.Store[Plain]) error
		most   int
		spent  bool
	}{
		{"the default", 0, 200, faults.Throttle, get, 400, true},
		{"a small one", 20, 200, faults.Throttle, get, 204, true},
		{"none", -1, 20, faults.Throttle, get, 80, false},
		{"writes", 20, 50, faults.Throttle, func(s *entity.Store[Plain]) error {
			return dbtest.ErrorOf(s.Put(t.Context(), Plain{ID: "a"}))
		}, 54, true},
		{"batches that do nothing", 20, 50, faults.Unprocessed, func(s *entity.Store[Plain]) error {
			return dbtest.ErrorOf(s.PutMany(t.Context(), []Plain{{ID: "a"}}))
		}, 120, false},
	} {
		transport, client := overloaded(c.fault)
		s := entity.Must(entity.New[Plain](entity.Must(entity.Open(client, entity.Config{Table: "t", RetryBudget: c.budget, MaxAttempts: map[bool]int{true: 10, false: 4}[c.spent]}))))
		errs := make([]error, c.calls)
		var wg sync.WaitGroup
		for i := range errs {
			wg.Go(func() { errs[i] = c.call(s) })
		}
		wg.Wait()
		sent := len(transport.Requests())
		t.Logf("%s: %d calls sent %d requests", c.name, c.calls, sent)
		require.LessOrEqual(t, sent, c.most, c.name)
		spent := 0
		for _, err := range errs {
			require.Error(t, err)
			var throttled *types.ProvisionedThroughputExceededException
			var left *entity.UnprocessedError
			require.True(t, errors.As(err, &throttled) || errors.As(err, &left), "the cause is in %v", err)
			if errors.Is(err, entity.ErrRetryBudget) {
				spent++
			}
		}
		if c.spent {
			require.Positive(t, spent, c.name)
		}
		if c.budget < 0 {
			require.Zero(t, spent, c.name)
			require.Equal(t, 80, sent)
		}
	}
}

// A program that makes a DB for every request has one budget too.
func TestRetryBudget_IsSharedByTheClientsOfADB(t *testing.T) {
	t.Parallel()
	transport, client := overloaded(faults.Throttle)
	db := entity.Must(entity.Open(client, entity.Config{Table: "t", RetryBudget: 20}))
	entity.Must(entity.New[Plain](db))
	for range 20 {
		_, err := entity.Must(entity.New[Plain](db.WithClient(client))).Get(t.Context(), Plain{ID: "a"})
		require.ErrorIs(t, err, entity.ErrRetryBudget)
	}
	require.Len(t, transport.Requests(), 24)
}

// A write that may have been applied stays ambiguous, and its proof is read, although nothing is left of the budget.
func TestRetryBudget_WhenItIsSpentALostWriteIsStillExamined(t *testing.T) {
	t.Parallel()
	// The proof is not a repetition, so it is sent. When it fails too, it is not repeated.
	then := func(list ...faults.Fault) func(faults.Request) faults.Fault {
		n := 0
		return func(faults.Request) faults.Fault {
			n++
			return list[min(n, len(list))-1]
		}
	}
	token := []entity.WriteOption{entity.Idempotent()}
	for _, c := range []struct {
		name      string
		fault     func(faults.Request) faults.Fault
		options   []entity.WriteOption
		ambiguous bool
		requests  int
		count     int
	}{
		{"applied, and proven", faults.Nth(2, faults.Lost), nil, false, 3, 1},
		{"not applied", faults.Nth(2, faults.Drop), nil, true, 3, 0},
		{"applied, and the proof throttled", then(faults.None, faults.Lost, faults.Throttle), nil, true, 3, 1},
		{"applied, under a token", faults.Nth(2, faults.Lost), token, true, 2, 1},
		{"not applied, under a token", faults.Nth(2, faults.Drop), token, true, 2, 0},
	} {
		l := open(t, func(c *entity.Config) { c.RetryBudget = 1 })
		faulty, quiet := store[Locked](l)
		_, err := quiet.Create(l.Ctx, Locked{ID: "a"})
		require.NoError(t, err)
		l.Wire.Inject(c.fault)
		_, err = faulty.Modify(l.Ctx, Locked{ID: "a"}, func(v *Locked) error { v.Count = 1; return nil }, c.options...)
		l.Wire.Inject(nil)
		require.Len(t, l.Sent(), c.requests, c.name)
		if require.Equal(t, c.ambiguous, entity.IsAmbiguous(err), "%s: %v", c.name, err); c.ambiguous {
			require.ErrorIs(t, err, entity.ErrRetryBudget, c.name)
			require.True(t, errors.Is(err, faults.ErrInjected), "the cause is in %v", err)
		} else {
			require.NoError(t, err, c.name)
		}
		found, err := quiet.Get(l.Ctx, Locked{ID: "a"})
		require.NoError(t, err, c.name)
		require.Equal(t, c.count, found.Count, c.name)
	}
}

// Locked is written by single requests that can be repeated.
type Locked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock

	ID      string `dynamodbav:"id"`
	Count   int    `dynamodbav:"count"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// stalls has a timeout that requests of a test do not reach unless they are stalled.
func stalls(c *entity.Config) { c.RequestTimeout, c.MaxAttempts = 500*time.Millisecond, 20 }

// A request without an answer counts as lost: a write is proven, and a read is repeated.
func TestRequestTimeout_OfARequestThatStalls(t *testing.T) {
	t.Parallel()
	l := open(t, stalls)
	faulty, quiet := store[Plain](l)
	f := entity.Fields[Plain]()
	l.Wire.Inject(faults.Nth(1, faults.Stall, "PutItem"))
	_, err := faulty.Create(l.Ctx, Plain{ID: "a", Count: 1})
	require.NoError(t, err, "the item shows who wrote it")

	l.Wire.Inject(faults.Nth(1, faults.Stall, "UpdateItem"))
	updated, err := faulty.Update(l.Ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1))
	require.NoError(t, err)
	require.Equal(t, 2, updated.Count, "the addition was applied once")

	l.Wire.Inject(faults.Nth(1, faults.Hang, "UpdateItem"))
	_, err = faulty.Update(l.Ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1))
	require.True(t, entity.IsAmbiguous(err), "%v", err)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, l.Ctx.Err())

	l.Wire.Inject(faults.Nth(1, faults.Hang, "GetItem"))
	found, err := faulty.Get(l.Ctx, Plain{ID: "a"})
	require.NoError(t, err)
	require.Equal(t, 2, found.Count)

	l.Wire.Inject(faults.Nth(1, faults.Stall, "TransactWriteItems"))
	require.NoError(t, l.DB.Transact(l.Ctx, faulty.Op().Create(Plain{ID: "b"}), faulty.Op().Create(Plain{ID: "c"})), "it was repeated under its token")
	l.Wire.Inject(nil)
	_, err = quiet.Get(l.Ctx, Plain{ID: "c"})
	require.NoError(t, err)
}

// Every verb that takes a budget asks for the consumed capacity and spends it.
func TestBudget_PacesEveryVerbThatTakesIt(t *testing.T) {
	t.Parallel()
	l := open(t)
	faulty, quiet := store[Plain](l)
	kept := entity.Must(entity.New[Kept](l.DB))
	lookup, bin := entity.Must(unique.Of(kept, "email")), entity.Must(lifecycle.Of(kept))
	many := make([]Plain, 30)
	for i := range many {
		many[i].ID = strconv.Itoa(i)
	}
	_, err := quiet.PutMany(l.Ctx, many)
	require.NoError(t, err)
	for _, id := range []string{"a", "b"} {
		_, err = kept.Create(l.Ctx, Kept{ID: id, Email: id})
		require.NoError(t, err)
	}
	l.Wire.Reset()
	b := entity.Budget(1e9, 1e9)
	for name, call := range map[string]func() error{
		"Get":        func() error { return dbtest.ErrorOf(faulty.Get(l.Ctx, many[0], b)) },
		"GetMany":    func() error { return dbtest.ErrorOf(faulty.GetMany(l.Ctx, many, b)) },
		"BatchGet":   func() error { return dbtest.ErrorOf(l.DB.BatchGet(l.Ctx, faulty.Op().GetInto(&Plain{ID: "1"}, b))) },
		"PutMany":    func() error { return dbtest.ErrorOf(faulty.PutMany(l.Ctx, many, b)) },
		"DeleteMany": func() error { return dbtest.ErrorOf(faulty.DeleteMany(l.Ctx, many[20:], b)) },
		"BatchWrite": func() error {
			return dbtest.ErrorOf(l.DB.BatchWrite(l.Ctx, faulty.Op().BatchPut(many[1], b), faulty.Op().BatchDelete(many[2], b)))
		},
		"Query":   func() error { return dbtest.ErrorOf(faulty.Query(many[0], b).Collect(l.Ctx)) },
		"Scan":    func() error { return dbtest.ErrorOf(faulty.Scan(b, entity.Segments(3)).Collect(l.Ctx)) },
		"Count":   func() error { return dbtest.ErrorOf(faulty.Scan(b).Count(l.Ctx)) },
		"Verify":  func() error { return dbtest.ErrorOf(migrate.VerifyUnique(l.Ctx, lookup, b)) },
		"Repair":  func() error { return dbtest.ErrorOf(migrate.RepairUnique(l.Ctx, lookup, b, entity.Segments(2))) },
		"Deleted": func() error { return dbtest.ErrorOf(bin.List(Kept{ID: "a"}, b).Collect(l.Ctx)) },
		"History": func() error {
			return dbtest.ErrorOf(entity.Must(versioned.Of(kept)).List(Kept{ID: "a"}, b).Collect(l.Ctx))
		},
		"GetCollection": func() error {
			var all []Plain
			return l.DB.GetCollection(l.Ctx, faulty.Query(many[0], b).Into(&all))
		},
		"Purge":     func() error { return kept.Purge(l.Ctx, Kept{ID: "b"}, b) },
		"DeleteAll": func() error { return dbtest.ErrorOf(faulty.DeleteAll(l.Ctx, faulty.Query(many[3]), "", b)) },
		"PurgeAll":  func() error { return dbtest.ErrorOf(kept.PurgeAll(l.Ctx, kept.Query(Kept{ID: "a"}), "", b)) },
	} {
		require.NoError(t, call(), name)
		sent := l.Sent()
		require.NotEmpty(t, sent, name)
		for _, r := range sent {
			assert.Contains(t, string(r.Body), `"ReturnConsumedCapacity":"TOTAL"`, "%s: %s", name, r.Operation)
		}
	}
}

func TestBudget_MistakesAreFoundBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l := open(t)
	faulty, _ := store[Plain](l)
	kept := entity.Must(entity.New[Kept](l.DB))
	lookup := entity.Must(unique.Of(kept, "email"))
	for _, b := range []*entity.UnitBudget{entity.Budget(-1, 1), entity.Budget(1, math.NaN()), entity.Budget(math.Inf(1), 1), entity.Budget(0, 0), nil, {}} {
		for name, err := range map[string]error{
			"Scan": dbtest.ErrorOf(faulty.Scan(b).Collect(l.Ctx)), "GetMany": dbtest.ErrorOf(faulty.GetMany(l.Ctx, []Plain{{ID: "a"}}, b)),
			"PutMany": dbtest.ErrorOf(faulty.PutMany(l.Ctx, []Plain{{ID: "a"}}, b)), "Purge": faulty.Purge(l.Ctx, Plain{ID: "a"}, b), "DeleteAll": dbtest.ErrorOf(faulty.DeleteAll(l.Ctx, faulty.Query(Plain{ID: "a"}), "", b)),
			"Verify": dbtest.ErrorOf(migrate.VerifyUnique(l.Ctx, lookup, b)), "BatchWrite": dbtest.ErrorOf(l.DB.BatchWrite(l.Ctx, faulty.Op().BatchPut(Plain{ID: "a"}, b))),
		} {
			require.Equal(t, bind.CodeOption, dbtest.InputCode(err), "%s: %v", name, err)
		}
	}
	view := entity.Must(timeline.New(l.DB, timeline.Projection[string, int]{
		Name: "Counts", Version: 1, Source: timeline.Items(entity.Must(entity.New[Stamped](l.DB)), &entity.Fields[Stamped]().Updated),
		Handlers: []timeline.Handler[string, int]{timeline.On("stamped.stored", func(e Stamped) string { return e.ID }, func(n *int, _ timeline.Event[Stamped]) error { *n++; return nil })},
	}))
	require.Error(t, dbtest.ErrorOf(view.Rebuild(l.Ctx, timeline.Budget(entity.Budget(-1, 0)))))
	require.Error(t, dbtest.ErrorOf(view.Page(l.Ctx, 1, 1, timeline.ReadBudget(nil))))
	require.Empty(t, l.Sent())
}

// Calls that share a budget wait for what the others have consumed, and stop waiting when their context ends.
func TestBudget_IsSharedByCalls(t *testing.T) {
	t.Parallel()
	l := open(t)
	faulty, quiet := store[Plain](l)
	_, err := quiet.Create(l.Ctx, Plain{ID: "a"})
	require.NoError(t, err)
	b := entity.Budget(1e-6, 0)
	require.NoError(t, dbtest.ErrorOf(faulty.Get(l.Ctx, Plain{ID: "a"}, entity.Consistent(), b)), "half a unit was saved, and half a unit is owed")
	ctx, cancel := context.WithCancel(l.Ctx)
	done := make(chan error)
	go func() { done <- dbtest.ErrorOf(faulty.Scan(b).Collect(ctx)) }()
	require.NoError(t, dbtest.ErrorOf(faulty.Get(l.Ctx, Plain{ID: "a"})), "others are not paced")
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
	require.Equal(t, []string{"GetItem", "GetItem"}, l.Operations())
}
