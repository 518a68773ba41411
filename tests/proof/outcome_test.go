package proof_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// outcome is what a call said, besides its result.
type outcome struct {
	class  string // the classes of the error, joined; "" for success
	either string // another that is as true, of an expectation; then owner is its
	unsure bool   // the write may have been applied
	idle   bool   // a failure that no state explains, and that wrote nothing: throttled, conflict, connection or context
	text   string // of the error, for people
	actual int64  // the version that a *versioned.ConflictError names
	owner  string // the partition key that a *unique.ViolationError names
}

// classes are the errors that a state can explain.
var classes = []struct {
	name string
	err  error
}{
	{"NotFound", entity.ErrNotFound}, {"Exists", entity.ErrExists}, {"Deleted", entity.ErrDeleted}, {"NotDeleted", entity.ErrNotDeleted},
	{"Condition", entity.ErrConditionFailed},
}

// told sorts an error.
func told(err error) outcome {
	if err == nil {
		return outcome{}
	}
	o := outcome{unsure: entity.IsAmbiguous(err), text: err.Error()}
	var names []string
	for _, c := range classes {
		if errors.Is(err, c.err) {
			names = append(names, c.name)
		}
	}
	var version *versioned.ConflictError
	if errors.As(err, &version) {
		names, o.actual = append(names, "Version"), version.Actual
	}
	var taken *unique.ViolationError
	if errors.As(err, &taken) {
		names, o.owner = append(names, "Taken"), taken.Owner.PK
	}
	if errors.Is(err, entity.ErrReadBack) {
		names = append(names, "FollowUp")
	}
	if len(names) == 0 {
		if o.idle = injected(err); !o.idle {
			names = append(names, fmt.Sprintf("unexpected %T", errors.Unwrap(err)))
		}
	}
	o.class = strings.Join(names, "+")
	return o
}

// injected reports an error that faults explain: conflicts and throttling that did not end, broken connections, contexts.
func injected(err error) bool {
	var internal *types.InternalServerError
	var api smithy.APIError
	if errors.Is(err, entity.ErrConflict) || errors.Is(err, faults.ErrInjected) || errors.Is(err, context.Canceled) || errors.As(err, &internal) {
		return true
	}
	transient := []string{"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"}
	var cancelled *types.TransactionCanceledException
	if errors.As(err, &cancelled) && slices.ContainsFunc(cancelled.CancellationReasons, func(r types.CancellationReason) bool {
		return r.Code != nil && slices.Contains(transient, *r.Code)
	}) {
		return true
	}
	return errors.As(err, &api) && // the first one: that of a read which was to explain a refusal comes before the refusal
		slices.Contains([]string{"ProvisionedThroughputExceededException", "ThrottlingException", "TransactionConflictException"}, api.ErrorCode())
}

func (o outcome) String() string {
	s := o.class
	if o.idle {
		s = "no"
	}
	if s == "" {
		s = "ok"
	}
	if o.unsure {
		s += "?"
	}
	return s
}
