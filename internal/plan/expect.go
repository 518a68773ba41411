package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// expectation is the version that a write expects: the one that the caller names; else, where the struct is locked, the
// one that it holds; nil for any.
func expectation(s *schema.Schema, verb string, v reflect.Value, spec opt.Write) (*int64, error) {
	_, admitted := schema.Feature[OptimisticLock](s)
	switch named := spec.Expect != nil || spec.Any; {
	case named && !admitted:
		return nil, input(s, CodeOption, nil, "Expect and AnyVersion need a versioned.Lock or versioned.Retain declaration")
	case spec.Expect != nil && spec.Any:
		return nil, input(s, CodeOption, nil, "Expect and AnyVersion exclude each other")
	case spec.Expect != nil && *spec.Expect < 0:
		return nil, input(s, CodeOption, s.Version, "a version is 0 or more")
	case named || !overwrites(verb):
		return spec.Expect, nil
	}
	if _, locked := schema.Feature[GivenVersionLock](s); !locked {
		return nil, nil
	}
	return heldVersion(s, v)
}

// overwrites reports that the verb changes a stored item without having seen it. Modify sees it, and a restore changes
// none.
func overwrites(verb string) bool {
	switch verb {
	case "Update", "Put", "Upsert", "Delete", "Revert":
		return true
	}
	return false
}

// heldVersion is the version in a struct, nil when it is 0: the struct was not read, or from an item without a version.
func heldVersion(s *schema.Schema, v reflect.Value) (*int64, error) {
	fv, err := v.FieldByIndexErr(s.Version.Index)
	if err != nil || fv.IsZero() {
		return nil, nil // inside a nil embedded pointer
	}
	n := int64(-1)
	switch {
	case fv.CanInt():
		n = fv.Int()
	case fv.CanUint() && fv.Uint() <= math.MaxInt64:
		n = int64(fv.Uint())
	}
	if n < 0 {
		return nil, input(s, CodeValue, s.Version, "it is no version that an item can have")
	}
	return &n, nil
}

// expected holds when the item has the version that the caller expects.
func (op *Op) expected() expr.Cond {
	if op.Expect == nil {
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
