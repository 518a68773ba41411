package plan

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

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Unchanged guards a write by what was read: by the write id, else by every attribute of the image, including the
// version. A version alone is not enough: Touch does not change it, and an item that is created again starts at 1 again.
// A write id never comes back once it is replaced, and neither does content with its version, so a write under such a
// guard can be sent twice. An image without a version can come back. So can one in a table shared with effect-dynamodb,
// whose put starts at 1 again. pin is the guard if what was read cannot come back, and nil otherwise.
func Unchanged(s *schema.Schema, image item.Item) (guard expr.Cond, pin *expr.Cond, err error) {
	if w, ok := image[schema.WriteAttr]; ok && s.HasMetadata {
		is := expr.Compare(expr.Eq, expr.Attr(schema.WriteAttr), w)
		return is, &is, nil
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
	content := expr.All(all...)
	switch tooLong := content.Operators() > bind.MaxOperators || bytes > bind.MaxExpression; {
	case tooLong && versioned: // by its version and all its times
		all = nil
		for _, a := range s.Attrs {
			if av, ok := image[a.Name]; ok && (a == s.Version || a.Time) {
				all = append(all, expr.Compare(expr.Eq, a.Path, av))
			}
		}
		return expr.All(all...), nil, nil
	case tooLong:
		return guard, nil, bind.Invalid(s, bind.CodeCondition, nil, "the item has too many attributes to be guarded by its content; outside tables that are shared with effect-dynamodb, give the entity a version field or a $ key")
	case versioned:
		return content, &content, nil
	}
	return content, nil, nil
}

// overwriting are the verbs that change a stored item without reading it. Modify reads it, and Restore does not change one.
var overwriting = []string{"Update", "Put", "Upsert", "Delete", "Revert"}

// expects sets what a write expects: the version that the caller names, or, for a locked struct, the state in the struct.
func (op *Op) expects(v reflect.Value, spec *bind.Options) (err error) {
	s := op.Schema
	switch named := spec.Expect != nil || spec.AnyVersion; {
	case named && !s.Locked:
		return bind.Invalid(s, bind.CodeOption, nil, "Expect and AnyVersion need a versioned.Lock or versioned.Retain declaration")
	case spec.Expect != nil && spec.AnyVersion:
		return bind.Invalid(s, bind.CodeOption, nil, "Expect and AnyVersion exclude each other")
	case spec.Expect != nil && *spec.Expect < 0:
		return bind.Invalid(s, bind.CodeOption, s.Version, "a version is 0 or more")
	case named || !s.LocksGiven || !slices.Contains(overwriting, op.Verb):
		op.Expect = spec.Expect
		return nil
	}
	// The version in the struct is expected, unless it is 0: then the struct was not read, or was read from an item without a version.
	if held, err := v.FieldByIndexErr(s.Version.Index); err == nil && !held.IsZero() { // else it is inside a nil embedded pointer
		n := int64(-1)
		switch {
		case held.CanInt():
			n = held.Int()
		case held.CanUint() && held.Uint() <= math.MaxInt64:
			n = int64(held.Uint())
		}
		if n < 0 {
			return bind.Invalid(s, bind.CodeValue, s.Version, "no item can have this version")
		}
		op.Expect = &n
	}
	op.ExpectNone = op.Expect == nil && op.Verb == "Put"
	a := s.CreatedAt
	if op.Expect == nil || a == nil {
		return nil
	}
	fv, err := v.FieldByIndexErr(a.Index)
	if err != nil {
		return nil //nolint:nilerr // inside a nil embedded pointer
	}
	f := item.TimeField{Attr: a.Name, Format: a.Format, OmitEmpty: true}
	op.Created, err = f.Encode(fv, nil)
	return bind.ValueError(s, a, err)
}

// present appends to conds that the item exists, has not expired, and is in the expected state.
func (op *Op) present(conds []expr.Cond, now time.Time) []expr.Cond {
	s := op.Schema
	if s.Expires {
		conds = append(conds, expr.All(s.Exists, layout.NotExpired(s, now)))
	} else {
		conds = append(conds, s.Exists)
	}
	if op.Expect == nil {
		return conds
	}
	same := expr.Compare(expr.Eq, s.Version.Path, item.N(strconv.FormatInt(*op.Expect, 10)))
	switch {
	case op.Created != nil:
		same = expr.All(same, expr.Compare(expr.Eq, s.CreatedAt.Path, op.Created))
	case *op.Expect == 0: // other libraries start at a stored 0
		same = expr.Any(expr.Compare(expr.NotExists, s.Version.Path), same)
	}
	return append(conds, same)
}

// CheckExpected returns an error if the item is not in the expected state. It returns nil if no state is expected.
func (op *Op) CheckExpected(image item.Item, now time.Time) error {
	live := image != nil && layout.Live(op.Schema, image, now)
	switch actual := layout.StoredVersion(op.Schema, image); {
	case op.ExpectNone && live:
		return &entitytype.ConflictError{Actual: actual, Present: true}
	case op.Expect == nil:
		return nil
	case !live:
		return &Missing{op, fmt.Errorf("%w: %w", sentinel.ErrNotFound, &entitytype.ConflictError{Expected: *op.Expect, Absent: true})}
	default:
		again := false
		if a := op.Schema.CreatedAt; op.Created != nil {
			t, err := a.Format.FromValue(image[a.Name]) // which may be in a format that was declared before
			is, _ := a.Format.Value(t)
			again = err != nil || !item.Equal(op.Created, is)
		}
		if again || actual != *op.Expect {
			return &entitytype.ConflictError{Expected: *op.Expect, Actual: actual, Recreated: again}
		}
	}
	return nil
}

// otherwiseStored reports whether an item in the expected state has its created_at in another form than the condition of a write.
func (op *Op) otherwiseStored(image item.Item) bool {
	return op.Created != nil && !item.Equal(op.Created, image[op.Schema.CreatedAt.Name])
}

// missing returns the error of an operation whose item is not live.
func (op *Op) missing(now time.Time) error {
	if err := op.CheckExpected(nil, now); err != nil {
		return err
	}
	return &Missing{op, sentinel.ErrNotFound}
}

// asRead is the Refusal of an action on op's item that is guarded by what was read.
type asRead struct{ op *Op }

// Refused implements Refusal: the item is not in the expected state; or it is as it was read, so that the caller's conditions do not hold;
// or it has changed, and the write is planned again.
func (x asRead) Refused(f Failure, in *Input) Resolution {
	if err := x.op.CheckExpected(f.Image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	if layout.SameState(x.op.Schema, in.Image, f.Image) {
		return Resolution{Err: sentinel.ErrConditionFailed}
	}
	return Resolution{Replan: sentinel.ErrConflict}
}
