package plan

import (
	"fmt"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// ConflictError is an item whose version is not the one that the caller expected. It is ErrConflict.
type ConflictError struct {
	Expected int64
	Actual   int64 // 0 for an item without a version
	Absent   bool  // there is no item
}

func (e *ConflictError) Error() string {
	if e.Absent {
		return fmt.Sprintf("version %d was expected, but there is no item", e.Expected)
	}
	return fmt.Sprintf("version %d was expected, but the item has version %d", e.Expected, e.Actual)
}

// Is makes the error an ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// checkExpect refuses an expected version where there is none to expect.
func checkExpect(s *schema.Schema, verb string, spec opt.Spec) error {
	if spec.Expect == nil {
		return nil
	}
	_, admitted := schema.Feature[Locker](s)
	switch {
	case !admitted:
		return input(s, CodeOption, nil, "Expect needs a versioned.Lock or versioned.Retain declaration")
	case verb == "Create":
		return input(s, CodeOption, nil, "Create makes a new item, which has no version to expect")
	case *spec.Expect < 0:
		return input(s, CodeOption, s.Version, "a version is 0 or more")
	}
	return nil
}

// expected holds when the item has the version that the caller expects.
func (op *Op) expected() expr.Cond {
	switch {
	case op.Expect == nil:
		return expr.Cond{}
	}
	version := expr.Attr(op.Schema.Version.Name)
	same := expr.Compare(expr.Eq, version, item.N(strconv.FormatInt(*op.Expect, 10)))
	if *op.Expect == 0 { // other libraries begin to count at a stored 0
		return expr.Any(expr.Compare(expr.NotExists, version), same)
	}
	return same
}

// Unexpected is the error of an item that is not live or has another version than the caller expects; nil when it is as
// expected, or nothing is.
func (op *Op) Unexpected(image item.Item, now time.Time) error {
	if op.Expect == nil {
		return nil
	}
	if !live(op.Schema, image, now) {
		return fmt.Errorf("%w: %w", ErrNotFound, &ConflictError{Expected: *op.Expect, Absent: true})
	}
	if actual := StoredVersion(op.Schema, image); actual != *op.Expect {
		return &ConflictError{Expected: *op.Expect, Actual: actual}
	}
	return nil
}

// missing is the error of an op whose item is not live.
func (op *Op) missing(now time.Time) error {
	if err := op.Unexpected(nil, now); err != nil {
		return err
	}
	return ErrNotFound
}
