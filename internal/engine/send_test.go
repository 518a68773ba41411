package engine

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// script answers transactions with one error after the other, then with success. It is not a database, but answers as
// DynamoDB can.
type script struct {
	Client
	errs   []error
	tokens []string
	sent   func() // is called after each request, if it is not nil
}

func (s *script) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	s.tokens = append(s.tokens, *in.ClientRequestToken)
	if s.sent != nil {
		s.sent()
	}
	if len(s.errs) == 0 {
		return &dynamodb.TransactWriteItemsOutput{}, nil
	}
	err := s.errs[0]
	s.errs = s.errs[1:]
	return nil, err
}

func cancelled(codes ...string) error {
	e := &types.TransactionCanceledException{}
	for _, c := range codes {
		e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: &c})
	}
	return e
}

func runner(s *script) *Runner {
	n := 0
	r := &Runner{
		Client: s, MaxAttempts: 5, Clock: time.Now,
		NewID: func() string { n++; return string(rune('a' + n)) },
		Pause: func(context.Context, int) error { return nil },
	}
	r.shows.Store(true) // an item that the script leaves out is absent
	return r
}

func (r *Runner) transactionOf(n int, whole bool) *transaction {
	p := &plan.Plan{Whole: whole, Meaning: new(plan.Fixed)}
	for i := range n {
		key := item.Item{"pk": item.N(strconv.Itoa(i))}
		p.Actions = append(p.Actions, plan.Action{Key: key, Cond: expr.Compare(expr.Exists, expr.Attr("pk"))})
	}
	t := newTransaction(r, new(plan.Op))
	t.ops[0].plan = p
	t.merge()
	return t
}

const failed, none, conflict, throttle = "ConditionalCheckFailed", "None", "TransactionConflict", "ThrottlingError"

// A context can end during a pause that does not watch it. Another request could only end without an answer.
func TestSend_NothingAfterAPauseInWhichTheContextEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &script{errs: []error{&types.ProvisionedThroughputExceededException{}}}
	r := runner(s)
	r.Pause = func(context.Context, int) error { cancel(); return nil }
	_, err := r.transactionOf(2, false).deliver(ctx, "token")
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorAs(t, err, new(*plan.Ambiguous))
	require.Len(t, s.tokens, 1)
}

func TestSend_Transactions(t *testing.T) {
	cut, busy, other := &smithyhttp.RequestSendError{Err: errors.New("cut")}, &types.TransactionInProgressException{}, &types.ReplicatedWriteConflictException{}
	denied := &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}
	var sdk *types.TransactionCanceledException
	var ambiguous *plan.Ambiguous
	for name, c := range map[string]struct {
		answers  []error // before the first success
		actions  int
		whole    bool // the step needs all answers
		requests int
		failures []bool // whether each action's condition failed; nil: success
		is       error
		as       any
	}{
		"a failed condition of the deciding action is final": {answers: []error{cancelled(failed, conflict)}, actions: 2, requests: 1, failures: []bool{true, false}},
		"a failed secondary action beside a conflict":        {answers: []error{cancelled(none, failed, conflict), cancelled(conflict, failed, none), cancelled(none, failed, throttle)}, actions: 3, requests: 4},
		"a step that needs all answers waits for them":       {answers: []error{cancelled(failed, conflict), cancelled(failed, failed)}, actions: 2, whole: true, requests: 2, failures: []bool{true, true}},
		"an invalid action is final":                         {answers: []error{cancelled(conflict, "ValidationError")}, actions: 2, requests: 1, as: &sdk},
		"too large a collection is final":                    {answers: []error{cancelled(conflict, "ItemCollectionSizeLimitExceeded")}, actions: 2, requests: 1, as: &sdk},
		"an unknown reason is final":                         {answers: []error{cancelled(conflict, "SomethingNew")}, actions: 2, requests: 1, as: &sdk},
		"reasons that do not fit the request are no success": {answers: []error{cancelled(failed)}, actions: 2, requests: 1, as: new(error)},
		"a transaction in progress is repeated":              {answers: []error{busy, busy}, actions: 2, requests: 3},
		"an unknown outcome, and then a final one":           {answers: []error{cut, denied}, actions: 2, requests: 2, as: &ambiguous},
		"a reused token":                                     {answers: []error{&types.IdempotentParameterMismatchException{}}, actions: 2, requests: 1, is: ErrTokenReused},
		"a conflict with another Region is repeated":         {answers: []error{other}, actions: 2, requests: 2},
		"a conflict with another Region that lasts":          {answers: []error{other, other, other, other, other}, actions: 2, requests: 5, is: sentinel.ErrConflict},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{errs: c.answers}
			got, err := runner(s).transactionOf(c.actions, c.whole).deliver(t.Context(), "token")
			switch {
			case c.is != nil:
				require.ErrorIs(t, err, c.is)
			case c.as != nil:
				require.ErrorAs(t, err, c.as)
			default:
				require.NoError(t, err)
			}
			var failures []bool
			for _, f := range got.failures {
				failures = append(failures, f.Failed())
			}
			require.Equal(t, c.failures, failures)
			require.Len(t, s.tokens, c.requests)
			for _, token := range s.tokens {
				require.Equal(t, s.tokens[0], token, "the same body keeps its token")
			}
		})
	}
}

func TestClassify(t *testing.T) {
	sent := func(err error) error { return &smithyhttp.RequestSendError{Err: err} }
	for name, c := range map[string]struct {
		err  error
		want class
	}{
		"condition":         {&types.ConditionalCheckFailedException{}, refused},
		"conflict":          {&types.TransactionConflictException{}, conflicted},
		"other Region":      {&types.ReplicatedWriteConflictException{}, conflicted},
		"in progress":       {&smithy.GenericAPIError{Code: "TransactionInProgressException"}, unknown},
		"throughput":        {&types.ProvisionedThroughputExceededException{}, transient},
		"throttling":        {&smithy.GenericAPIError{Code: "ThrottlingException"}, transient},
		"request limit":     {&types.RequestLimitExceeded{}, transient},
		"internal":          {&types.InternalServerError{}, unknown},
		"unknown server":    {&smithy.GenericAPIError{Code: "ServiceUnavailable", Fault: smithy.FaultServer}, unknown},
		"validation":        {&smithy.GenericAPIError{Code: "ValidationException", Fault: smithy.FaultClient}, final},
		"no table":          {&types.ResourceNotFoundException{}, final},
		"cut connection":    {sent(errors.New("reset")), unknown},
		"garbled answer":    {&smithy.DeserializationError{Err: errors.New("eof")}, unknown},
		"never connected":   {sent(&net.OpError{Op: "dial", Err: errors.New("refused")}), transient},
		"cut while reading": {sent(&net.OpError{Op: "read", Err: errors.New("reset")}), unknown},
		"not sent at all":   {&smithy.SerializationError{Err: errors.New("bad")}, final},
		"no reasons":        {cancelled(), final},
		"only conflict":     {cancelled(none, conflict), conflicted},
		"conflict and slow": {cancelled(conflict, throttle), transient},
		"only condition":    {cancelled(none, failed), refused},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, classify(t.Context(), &smithy.OperationError{OperationName: "X", Err: c.err}))
		})
	}
}

func TestClassify_ContextOverDuringTheCallMeansUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, unknown, classify(ctx, context.Canceled))
	require.Equal(t, refused, classify(ctx, &types.ConditionalCheckFailedException{}), "an answer that came is an answer")
}

func TestTransaction_IsNotRepeatedOnceItsTokenMayBeForgotten(t *testing.T) {
	cut := &smithyhttp.RequestSendError{Err: errors.New("cut")}
	s := &script{errs: []error{cut, cut, cut}}
	r := runner(s)
	require.Equal(t, 8*time.Minute, longestToken, "below the ten minutes that DynamoDB honours a token")
	r.TokenLife = time.Nanosecond
	_, err := r.transactionOf(2, false).deliver(t.Context(), "token")
	var a *plan.Ambiguous
	require.ErrorAs(t, err, &a)
	require.Len(t, s.tokens, 1, "a repetition after that could be applied a second time")
}

func TestClassify_KnowsEveryThrottleOfTheSDK(t *testing.T) {
	for code := range awsretry.DefaultThrottleErrorCodes {
		want := transient
		if code == inProgress {
			want = unknown
		}
		require.Equal(t, want, classify(t.Context(), &smithy.GenericAPIError{Code: code}), code)
	}
}

func TestNoTable_IsNamed(t *testing.T) {
	s := &script{errs: []error{&types.ResourceNotFoundException{}}}
	b := runner(s).transactionOf(2, false)
	b.actions[0].Table, b.actions[1].Table = "readings", "fleet"
	_, err := b.deliver(t.Context(), "token")
	require.ErrorIs(t, err, ErrNoTable)
	require.ErrorContains(t, err, "fleet or readings")
}

// renamer answers batches under another name of the table, such as its ARN.
type renamer struct {
	Client
	name string
}

func (r renamer) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	out := &dynamodb.BatchWriteItemOutput{UnprocessedItems: map[string][]types.WriteRequest{}}
	for _, writes := range in.RequestItems {
		out.UnprocessedItems[r.name] = append(out.UnprocessedItems[r.name], writes...)
	}
	return out, nil
}

func (r renamer) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	out := &dynamodb.BatchGetItemOutput{Responses: map[string][]map[string]types.AttributeValue{}}
	for _, keys := range in.RequestItems {
		out.Responses[r.name] = append(out.Responses[r.name], keys.Keys...)
	}
	return out, nil
}

func TestBatch_AnswerThatCannotBeMatchedIsNoSuccess(t *testing.T) {
	t.Parallel()
	r := runner(&script{})
	r.Client = renamer{name: "t"}
	key := item.Item{"pk": item.S("a")}
	unwritten, err := r.WriteMany(t.Context(), []BatchWrite{{Table: "arn:t", Key: key, Put: key}})
	require.Error(t, err)
	require.Equal(t, []int{0}, unwritten)

	_, err = r.GetMany(t.Context(), []Key{{Table: "arn:t", Key: key}})
	require.ErrorIs(t, err, errOtherTable)
}

// hesitant is a client that leaves every second batch unprocessed.
type hesitant struct {
	Client
	sent int
}

func (c *hesitant) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	if c.sent++; c.sent%2 == 1 {
		return &dynamodb.BatchWriteItemOutput{UnprocessedItems: in.RequestItems}, nil
	}
	return &dynamodb.BatchWriteItemOutput{}, nil
}

func (c *hesitant) BatchGetItem(_ context.Context, in *dynamodb.BatchGetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	if c.sent++; c.sent%2 == 1 {
		return &dynamodb.BatchGetItemOutput{UnprocessedKeys: in.RequestItems}, nil
	}
	return &dynamodb.BatchGetItemOutput{}, nil
}

// What the repetition of an unprocessed batch has cost comes back when nothing is left.
func TestBatch_ARepetitionThatProcessesAllGivesItsTokensBack(t *testing.T) {
	t.Parallel()
	r := runner(&script{})
	r.Client, r.Retries = &hesitant{}, ratelimit.NewTokenRateLimit(10)
	key := item.Item{"pk": item.S("a")}
	for range 10 {
		_, err := r.WriteMany(t.Context(), []BatchWrite{{Table: "t", Key: key, Put: key}})
		require.NoError(t, err)
		_, err = r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
		require.NoError(t, err)
	}
}

// leaving is a client that leaves a key unprocessed.
type leaving struct {
	Client
	left map[string]types.KeysAndAttributes
}

func (c leaving) BatchGetItem(context.Context, *dynamodb.BatchGetItemInput, ...func(*dynamodb.Options)) (*dynamodb.BatchGetItemOutput, error) {
	return &dynamodb.BatchGetItemOutput{UnprocessedKeys: c.left}, nil
}

func TestBatch_OtherKeysLeftUnprocessed(t *testing.T) {
	t.Parallel()
	r, key := runner(&script{}), item.Item{"pk": item.S("a"), "sk": item.S("b")}
	for name, left := range map[string]types.KeysAndAttributes{
		"of no attributes":      {Keys: []item.Item{{}}},
		"of one":                {Keys: []item.Item{{"pk": item.S("a")}}},
		"of three":              {Keys: []item.Item{{"pk": item.S("a"), "sk": item.S("b"), "z": item.S("c")}}},
		"with other attributes": {Keys: []item.Item{{"pk": item.S("a"), "z": item.S("b")}}},
	} {
		r.Client = leaving{left: map[string]types.KeysAndAttributes{"t": left}}
		_, err := r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
		require.ErrorIs(t, err, errOtherKey, name)
	}
	r.Client = leaving{left: map[string]types.KeysAndAttributes{"other": {Keys: []item.Item{key}}}}
	_, err := r.GetMany(t.Context(), []Key{{Table: "t", Key: key}})
	require.ErrorIs(t, err, errOtherKey)
}

// A newer SDK with another list of interceptors fails here, until it is counted.
func TestOwns_EveryListOfInterceptorsCounts(t *testing.T) {
	t.Parallel()
	for i := range reflect.TypeFor[smithyhttp.InterceptorRegistry]().NumField() {
		client := dynamodb.New(dynamodb.Options{}, func(o *dynamodb.Options) {
			list := reflect.ValueOf(&o.Interceptors).Elem().Field(i)
			list.Set(reflect.MakeSlice(list.Type(), 1, 1))
		})
		assert.False(t, Owns(client, false), "%s", reflect.TypeFor[smithyhttp.InterceptorRegistry]().Field(i).Name)
	}
}

// wrapper is a client of another type.
type wrapper struct{ *dynamodb.Client }

func TestOwns_KindsOfClients(t *testing.T) {
	t.Parallel()
	client := func(opts ...func(*dynamodb.Options)) *dynamodb.Client {
		return dynamodb.New(dynamodb.Options{}, opts...)
	}
	agent := func(o *dynamodb.Options) { o.APIOptions = append(o.APIOptions, middleware.AddUserAgentKey("x")) }
	intercepted := func(o *dynamodb.Options) {
		o.Interceptors.BeforeSigning = make([]smithyhttp.BeforeSigningInterceptor, 1)
	}
	other := func(o *dynamodb.Options) { o.Protocol = awsjson.New11(schemas.DynamoDB_20120810) }
	for name, c := range map[string]struct {
		client         Client
		plain, ignores bool
	}{
		"the SDK's":         {client(), true, true},
		"with middleware":   {client(agent), false, true},
		"with interceptors": {client(intercepted), false, true},
		"another protocol":  {client(other), false, false},
		"a wrapper":         {wrapper{client()}, false, false},
		"a nil pointer":     {(*dynamodb.Client)(nil), false, false},
		"none":              {nil, false, false},
	} {
		assert.Equal(t, c.plain, Owns(c.client, false), name)
		assert.Equal(t, c.ignores, Owns(c.client, true), name)
	}
}

// A transaction takes 100 items and 4 MB, but always one item.
func TestFitting_StaysWithinTheLimitsOfATransaction(t *testing.T) {
	small, large := item.Item{"a": item.S("b")}, item.Item{"a": item.S(strings.Repeat("x", 390_000))}
	fill := func(it item.Item, n int) []item.Item {
		var all []item.Item
		for range n {
			all = append(all, it)
		}
		return all
	}
	require.Equal(t, 1, fitting(fill(small, 1)))
	require.Equal(t, 100, fitting(fill(small, 100)))
	require.Equal(t, 100, fitting(fill(small, 250)))
	require.Equal(t, 10, fitting(fill(large, 250)))
	require.Equal(t, 1, fitting(fill(item.Item{"a": item.S(strings.Repeat("x", 5_000_000))}, 2)))
}

// keeping is a client that keeps the inputs of its reads, as one does that is still sending a second copy of a request when
// the first is answered.
type keeping struct {
	Client
	queries []*dynamodb.QueryInput
	scans   []*dynamodb.ScanInput
}

func (c *keeping) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.queries = append(c.queries, in)
	return &dynamodb.QueryOutput{}, nil
}

func (c *keeping) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	c.scans = append(c.scans, in)
	return &dynamodb.ScanOutput{}, nil
}

// Callers of ReadPage change the range from page to page.
func TestReads_TheNextPageDoesNotChangeARequestThatWasSent(t *testing.T) {
	t.Parallel()
	client := &keeping{}
	r := &Runner{Client: client, MaxAttempts: 1}
	query := &layout.Range{Table: "t", Key: expr.Compare(expr.Eq, expr.Attr("pk"), item.S("a"))}
	scan := &layout.Range{Table: "t"}
	for _, start := range []item.Item{nil, {"pk": item.S("a")}} {
		query.Start, scan.Start = start, start
		_, err := r.ReadPage(t.Context(), query)
		require.NoError(t, err)
		_, err = r.ReadPage(t.Context(), scan)
		require.NoError(t, err)
	}
	require.Nil(t, client.queries[0].ExclusiveStartKey)
	require.Nil(t, client.scans[0].ExclusiveStartKey)
	require.NotNil(t, client.queries[1].ExclusiveStartKey)
	require.NotNil(t, client.scans[1].ExclusiveStartKey)
}

// somePart returns one of few key values, some of which are equal in another form.
func somePart(r *rand.Rand) types.AttributeValue {
	n := r.IntN(3)
	switch r.IntN(4) {
	case 0:
		return item.S(strconv.Itoa(n))
	case 1:
		return item.N([...]string{"0", "1", "2"}[n])
	case 2:
		return item.N([...]string{"0.0", "1e0", "+2.00"}[n])
	}
	return &types.AttributeValueMemberB{Value: []byte(strconv.Itoa(n))}
}

// However many items there are, one is found by its key and table.
func TestPlaces_AreFoundByKeyAndTable(t *testing.T) {
	t.Parallel()
	r, found := rand.New(rand.NewPCG(testsize.Seed(t), 6)), 0
	for range testsize.Pick(300, 30_000) {
		var all places
		seen := map[string]int{}
		for range 1 + r.IntN(20) {
			table, key := [...]string{"a", "b"}[r.IntN(2)], item.Item{"pk": somePart(r)}
			if r.IntN(2) == 0 {
				key["sk"] = somePart(r)
			}
			want, known := seen[table+" "+layout.KeyID(key)]
			if !known {
				want = len(seen)
				seen[table+" "+layout.KeyID(key)] = want
			} else {
				found++
			}
			at, was := all.find(table, key)
			require.Equal(t, known, was)
			require.Equal(t, want, at)
		}
		require.Len(t, all, len(seen))
	}
	require.NotZero(t, found)
}

func TestParallel_RunsEachOnceAndNoMoreThanItsWidthTogether(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 4, 5, 100} {
		var running, most atomic.Int32
		var runs sync.Map
		Parallel(n, 4, func(i int) {
			defer running.Add(-1)
			if now := running.Add(1); now > most.Load() {
				most.Store(now)
			}
			_, twice := runs.LoadOrStore(i, true)
			require.False(t, twice)
		})
		done := 0
		runs.Range(func(any, any) bool { done++; return true })
		require.Equal(t, n, done)
		require.LessOrEqual(t, most.Load(), int32(4))
	}
}

// The caller can recover, when everything has ended, wherever the panic was.
func TestParallel_PanicsOnTheGoroutineOfTheCaller(t *testing.T) {
	t.Parallel()
	for _, at := range []int{0, 2, 9} {
		for _, width := range []int{1, 3} {
			var running, begun atomic.Int32
			require.PanicsWithValue(t, "broken", func() {
				Parallel(10, width, func(i int) {
					defer running.Add(-1)
					running.Add(1)
					begun.Add(1)
					if i == at {
						panic("broken")
					}
				})
			})
			require.Zero(t, running.Load())
			if width == 1 {
				require.EqualValues(t, at+1, begun.Load())
			}
		}
	}
}

func TestParallelUntilError_EndsTheOthersWithTheFirstError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	var together sync.WaitGroup
	together.Add(4)
	var begun atomic.Int32
	err := ParallelUntilError(t.Context(), 100, 4, func(ctx context.Context, i int) error {
		begun.Add(1)
		together.Done()
		together.Wait()
		if i == 2 {
			return broken
		}
		<-ctx.Done()
		return ctx.Err()
	})
	require.Equal(t, broken, err)
	require.EqualValues(t, 4, begun.Load())

	require.NoError(t, ParallelUntilError(t.Context(), 0, 4, func(context.Context, int) error { return broken }))
	require.Equal(t, broken, ParallelUntilError(t.Context(), 1, 4, func(context.Context, int) error { return broken }))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, ParallelUntilError(ended, 3, 4, func(context.Context, int) error { return nil }), context.Canceled)
}

// careless is a tracer that returns no context.
type careless struct{ entitytype.Tracer }

func (careless) Start(context.Context, entitytype.Call) context.Context { return nil }
func (careless) End(context.Context, entitytype.Report)                 {}

func TestMeasure_KeepsTheContextIfATracerReturnsNone(t *testing.T) {
	t.Parallel()
	r := &Runner{Tracer: careless{}}
	require.NoError(t, r.Measure(t.Context(), entitytype.Call{Verb: "Get"}, func(ctx context.Context) error { return ctx.Err() }))
}
