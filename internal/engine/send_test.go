package engine

import (
	"context"
	"errors"
	"net"
	"strconv"
	"testing"
	"time"

	awsretry "github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// script answers transactions with one error after the other, then with success. It is not a database, but answers as
// DynamoDB can.
type script struct {
	Client
	errs   []error
	tokens []string
}

func (s *script) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	s.tokens = append(s.tokens, *in.ClientRequestToken)
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
	step := plan.Step{Whole: whole}
	for i := range n {
		key := item.Item{"pk": item.N(strconv.Itoa(i))}
		step.Actions = append(step.Actions, plan.Action{Key: key, Cond: expr.Compare(expr.Exists, expr.Attr("pk"))})
	}
	t := newTransaction(r, new(plan.Op))
	t.ops[0].plan = &plan.Fixed{Step: step}
	t.merge()
	return t
}

const failed, none, conflict, throttle = "ConditionalCheckFailed", "None", "TransactionConflict", "ThrottlingError"

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
		"a conflict with another Region that lasts":          {answers: []error{other, other, other, other, other}, actions: 2, requests: 5, is: entitytype.ErrConflict},
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
