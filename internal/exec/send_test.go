package exec

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

	"github.com/dynastrata/dynastrata/entitytype"
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

func stepOf(n int, whole bool) body {
	step := plan.Step{Whole: whole}
	for i := range n {
		key := item.Item{"pk": item.N(strconv.Itoa(i))}
		step.Actions = append(step.Actions, plan.Action{Key: key, Cond: expr.Compare(expr.Exists, expr.Attr("pk"))})
	}
	return alone(step)
}

const failed, none, conflict, throttle = "ConditionalCheckFailed", "None", "TransactionConflict", "ThrottlingError"

func TestReasons_AFailedConditionOnTheDecidingActionIsFinal(t *testing.T) {
	s := &script{errs: []error{cancelled(failed, conflict)}}
	got, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.NoError(t, err)
	require.True(t, got.failures[0].Failed())
	require.Len(t, s.tokens, 1)
}

func TestReasons_AFailedSecondaryActionBesideAConflictIsRepeated(t *testing.T) {
	s := &script{errs: []error{cancelled(none, failed, conflict), cancelled(conflict, failed, none), cancelled(none, failed, throttle)}}
	got, err := runner(s).send(t.Context(), stepOf(3, false), delivery{})
	require.NoError(t, err)
	require.Nil(t, got.failures)
	require.Len(t, s.tokens, 4)
	require.Equal(t, s.tokens[0], s.tokens[3], "the same body keeps its token")
}

func TestReasons_AStepThatNeedsAllAnswersWaitsForThem(t *testing.T) {
	s := &script{errs: []error{cancelled(failed, conflict), cancelled(failed, failed)}}
	got, err := runner(s).send(t.Context(), stepOf(2, true), delivery{})
	require.NoError(t, err)
	require.Len(t, got.failures, 2)
	require.Len(t, s.tokens, 2)
}

func TestReasons_OtherReasonsAreFinal(t *testing.T) {
	for _, code := range []string{"ValidationError", "ItemCollectionSizeLimitExceeded", "SomethingNew"} {
		s := &script{errs: []error{cancelled(conflict, code)}}
		_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
		var sdk *types.TransactionCanceledException
		require.ErrorAs(t, err, &sdk)
		require.Len(t, s.tokens, 1, code)
	}
}

func TestReasons_ThatDoNotFitTheRequestAreNoSuccess(t *testing.T) {
	s := &script{errs: []error{cancelled(failed)}}
	_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.Error(t, err)
}

func TestTransaction_InProgressIsRepeatedUnderItsToken(t *testing.T) {
	s := &script{errs: []error{&types.TransactionInProgressException{}, &types.TransactionInProgressException{}}}
	_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.NoError(t, err)
	require.Len(t, s.tokens, 3)
	require.Equal(t, s.tokens[0], s.tokens[2])
}

func TestTransaction_UnknownThenFinalIsAmbiguous(t *testing.T) {
	s := &script{errs: []error{&smithyhttp.RequestSendError{Err: errors.New("cut")}, &smithy.GenericAPIError{Code: "AccessDeniedException", Fault: smithy.FaultClient}}}
	_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	var a *plan.Ambiguous
	require.ErrorAs(t, err, &a)
}

func TestTransaction_AReusedTokenHasAClass(t *testing.T) {
	s := &script{errs: []error{&types.IdempotentParameterMismatchException{}}}
	_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.ErrorIs(t, err, ErrTokenReused)
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
	require.Equal(t, 8*time.Minute, r.tokenLife(), "below the ten minutes that DynamoDB honours a token")
	r.TokenLife = time.Nanosecond
	_, err := r.send(t.Context(), stepOf(2, false), delivery{})
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

func TestTransaction_AConflictWithAnotherRegionIsRepeated(t *testing.T) {
	other := &types.ReplicatedWriteConflictException{}
	s := &script{errs: []error{other}}
	_, err := runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.NoError(t, err)
	s = &script{errs: []error{other, other, other, other, other}}
	_, err = runner(s).send(t.Context(), stepOf(2, false), delivery{})
	require.ErrorIs(t, err, entitytype.ErrConflict)
	require.Len(t, s.tokens, 5)
}

func TestNoTable_IsNamed(t *testing.T) {
	s := &script{errs: []error{&types.ResourceNotFoundException{}}}
	b := stepOf(2, false)
	b.actions[0].Table, b.actions[1].Table = "readings", "fleet"
	_, err := runner(s).send(t.Context(), b, delivery{})
	require.ErrorIs(t, err, ErrNoTable)
	require.ErrorContains(t, err, "fleet or readings")
}
