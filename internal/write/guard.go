package write

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// versionGuard guards an item whose content is too large for a condition: by its version and all its times.
func versionGuard(s *schema.Schema, image item.Item) expr.Cond {
	var all []expr.Cond
	for _, a := range s.Attrs {
		if av, ok := image[a.Name]; ok && (a == s.Version || a.Time) {
			all = append(all, expr.Compare(expr.Eq, a.Path, av))
		}
	}
	return expr.All(all...)
}

// Unchanged guards a write by what was read: by the write id, else by every attribute of the image, including the
// version. A version alone is not enough: Touch does not change it, and an item that is created again starts at 1 again.
// A write id never comes back once it is replaced, and neither does content with its version, so a write under such a
// guard can be sent twice. An image without a version can come back. So can one in a table shared with effect-dynamodb,
// whose put starts at 1 again. pin is the guard if what was read cannot come back, and empty otherwise.
func Unchanged(s *schema.Schema, image item.Item) (guard, pin expr.Cond, err error) {
	if w, ok := image[schema.WriteAttr]; ok && s.HasMetadata {
		guard = expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), w)
		return guard, guard, nil
	}
	versioned := false
	if s.Version != nil && !s.Profile.VersionsRestart() {
		_, versioned = image[s.Version.Name]
	}
	var all []expr.Cond
	bytes := 0
	for _, name := range slices.Sorted(maps.Keys(image)) {
		all = append(all, expr.Compare(expr.Eq, expr.Attr(name), image[name]))
		bytes += len(" AND #000 = :000")
	}
	for _, a := range s.Attrs {
		if _, ok := image[a.Name]; !ok {
			all = append(all, expr.Compare(expr.NotExists, a.Path))
			bytes += len(" AND attribute_not_exists(#000)")
		}
	}
	guard = expr.All(all...)
	switch tooLong := guard.Operators() > MaxOperators || bytes > MaxExpression; {
	case tooLong && versioned:
		return versionGuard(s, image), expr.Cond{}, nil
	case tooLong:
		return expr.Cond{}, expr.Cond{}, Invalid(s, CodeCondition, nil, "the item has too many attributes to be guarded by its content; outside tables that are shared with effect-dynamodb, give the entity a version field or a $ key")
	case versioned:
		return guard, guard, nil
	}
	return guard, expr.Cond{}, nil
}

// overwrites reports whether the verb changes a stored item without reading it. Modify reads it, and Restore does not
// change one.
func overwrites(verb string) bool {
	switch verb {
	case "Update", "Put", "Upsert", "Delete", "Revert":
		return true
	}
	return false
}

// heldVersion returns the version in a struct. It returns nil for 0, which means that the struct was not read, or was
// read from an item without a version.
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
		return nil, Invalid(s, CodeValue, s.Version, "no item can have this version")
	}
	return &n, nil
}

// expectation returns the version that a write expects: the one that the caller names, or, for a locked struct, the one
// in the struct. nil means any.
func expectation(s *schema.Schema, verb string, v reflect.Value, spec *Options) (*int64, error) {
	switch named := spec.Expect != nil || spec.AnyVersion; {
	case named && !s.Locked:
		return nil, Invalid(s, CodeOption, nil, "Expect and AnyVersion need a versioned.Lock or versioned.Retain declaration")
	case spec.Expect != nil && spec.AnyVersion:
		return nil, Invalid(s, CodeOption, nil, "Expect and AnyVersion exclude each other")
	case spec.Expect != nil && *spec.Expect < 0:
		return nil, Invalid(s, CodeOption, s.Version, "a version is 0 or more")
	case named || !overwrites(verb):
		return spec.Expect, nil
	}
	if !s.LocksGiven {
		return nil, nil
	}
	return heldVersion(s, v)
}

// expected holds if the item has the expected version.
func (op *Op) expected() expr.Cond {
	if op.Expect == nil {
		return expr.Cond{}
	}
	version := expr.Attr(op.Schema.Version.Name)
	same := expr.Compare(expr.Eq, version, item.N(strconv.FormatInt(*op.Expect, 10)))
	if *op.Expect == 0 { // other libraries start at a stored 0
		return expr.Any(expr.Compare(expr.NotExists, version), same)
	}
	return same
}

// CheckExpected returns an error if the item is not live or does not have the expected version. It returns nil if no
// version is expected.
func (op *Op) CheckExpected(image item.Item, now time.Time) error {
	if op.Expect == nil {
		return nil
	}
	if !Live(op.Schema, image, now) {
		return &Missing{op, fmt.Errorf("%w: %w", entitytype.ErrNotFound, &entitytype.ConflictError{Expected: *op.Expect, Absent: true})}
	}
	if actual := StoredVersion(op.Schema, image); actual != *op.Expect {
		return &entitytype.ConflictError{Expected: *op.Expect, Actual: actual}
	}
	return nil
}

// missing returns the error of an operation whose item is not live.
func (op *Op) missing(now time.Time) error {
	if err := op.CheckExpected(nil, now); err != nil {
		return err
	}
	return &Missing{op, entitytype.ErrNotFound}
}

// resolveGuarded returns the resolver of an action that is guarded by what was read.
func (op *Op) resolveGuarded(in Input) func(Failure) Resolution {
	image, now := in.Image, in.Now
	return func(f Failure) Resolution {
		if err := op.CheckExpected(f.Image, now); err != nil {
			return Resolution{Err: err}
		}
		if SameState(op.Schema, image, f.Image) {
			return Resolution{Err: entitytype.ErrConditionFailed}
		}
		return Resolution{Replan: entitytype.ErrConflict}
	}
}
