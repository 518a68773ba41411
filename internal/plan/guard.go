package plan

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// MaxOperators and MaxExpression (in bytes) are DynamoDB's limits for one expression.
const (
	MaxOperators     = 300
	MaxExpression    = 4096
	maxUserOperators = MaxOperators - 30 // what the caller may add to a guard
)

// exists holds when the item is there and, where items can expire, has not expired.
func exists(s *schema.Schema, now time.Time) expr.Cond {
	there := There(s)
	if !s.Expires {
		return there
	}
	return expr.All(there, NotExpired(s, now))
}

// absent is the negation of exists.
func absent(s *schema.Schema, now time.Time) expr.Cond {
	gone := Absent(s)
	if !s.Expires {
		return gone
	}
	return expr.Any(gone, expr.Compare(expr.Le, expr.Attr(s.Options.TTL), Seconds(now)))
}

// Absent holds when there is no item at the key, expired or not.
func Absent(s *schema.Schema) expr.Cond {
	return expr.Compare(expr.NotExists, expr.Attr(s.PK.Attributes()[0]))
}

// There holds when there is an item at the key, expired or not.
func There(s *schema.Schema) expr.Cond {
	return expr.Compare(expr.Exists, expr.Attr(s.PK.Attributes()[0]))
}

// NotExpired holds for items without a TTL attribute or with one after now.
func NotExpired(s *schema.Schema, now time.Time) expr.Cond {
	ttl := expr.Attr(s.Options.TTL)
	return expr.Any(expr.Compare(expr.NotExists, ttl), expr.Compare(expr.Gt, ttl, Seconds(now)))
}

// Seconds is now as DynamoDB's TTL counts: whole seconds since 1970.
func Seconds(now time.Time) types.AttributeValue {
	return item.N(strconv.FormatInt(now.Unix(), 10))
}

// Expired reports that the item's TTL attribute is not after now.
func Expired(s *schema.Schema, it item.Item, now time.Time) bool {
	n, ok := it[s.Options.TTL].(*types.AttributeValueMemberN)
	if !ok {
		return false
	}
	at, err := item.ParseDecimal(n.Value)
	if err != nil {
		return false
	}
	limit, _ := item.ParseDecimal(strconv.FormatInt(now.Unix(), 10))
	return at.Cmp(limit) <= 0
}

// Live reports that it is an item that the verbs see: there, and not expired.
func Live(s *schema.Schema, it item.Item, now time.Time) bool { return live(s, it, now) }

// live reports that a returned image is an item that the verbs see.
func live(s *schema.Schema, it item.Item, now time.Time) bool {
	return it != nil && !(s.Expires && Expired(s, it, now))
}

// unchanged guards a write by what was read: the write id, else every attribute of the image, the version among them. A
// version alone would not do: a touch leaves it alone, and an item that is created again counts from 1 again. A write id
// never comes back once it is gone, and hardly all content together with its version; so a write under them can be sent
// twice. An image without a version can come back, and so can one in a table that is shared with effect-dynamodb, whose
// put begins at 1 again. pin is the guard where what was read does not come back, else empty.
func unchanged(s *schema.Schema, image item.Item) (guard, pin expr.Cond, err error) {
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
	for _, name := range sortedNames(image) {
		all = append(all, expr.Compare(expr.Eq, expr.Attr(name), image[name]))
		bytes += len(" AND #000 = :000")
	}
	for _, a := range s.Attrs {
		if _, ok := image[a.Name]; !ok {
			all = append(all, expr.Compare(expr.NotExists, expr.Attr(a.Name)))
			bytes += len(" AND attribute_not_exists(#000)")
		}
	}
	guard = expr.All(all...)
	switch tooLong := guard.Operators() > MaxOperators || bytes > MaxExpression; {
	case tooLong && versioned:
		return versionGuard(s, image), expr.Cond{}, nil
	case tooLong:
		return expr.Cond{}, expr.Cond{}, input(s, CodeCondition, nil, "the item has too many attributes to be guarded by its content; outside tables that are shared with effect-dynamodb, give the entity a version field or a $ key")
	case versioned:
		return guard, guard, nil
	}
	return guard, expr.Cond{}, nil
}

// versionGuard guards an item that is too large to be guarded by its content: by its version and all its times.
func versionGuard(s *schema.Schema, image item.Item) expr.Cond {
	var all []expr.Cond
	for _, a := range s.Attrs {
		if av, ok := image[a.Name]; ok && (a == s.Version || a.Time) {
			all = append(all, expr.Compare(expr.Eq, expr.Attr(a.Name), av))
		}
	}
	return expr.All(all...)
}

// Unchanged guards the write of a whole item by what was read. pin is the guard where what was read does not come back
// once it is gone, so that the write can be sent twice; else it is empty.
func Unchanged(s *schema.Schema, image item.Item) (guard, pin expr.Cond, err error) {
	return unchanged(s, image)
}

// Owned holds when a sentinel belongs to the item with the given primary key.
func Owned(s *schema.Schema, primary item.Item) expr.Cond {
	return expr.All(
		expr.Compare(expr.Eq, expr.Attr(schema.OwnerPKAttr), primary[s.PK.Attributes()[0]]),
		expr.Compare(expr.Eq, expr.Attr(schema.OwnerSKAttr), primary[s.SK.Attributes()[0]]),
	)
}

// Mine holds when there is no sentinel, or it belongs to the item with the given primary key.
func Mine(s *schema.Schema, primary item.Item) expr.Cond {
	return expr.Any(Absent(s), Owned(s, primary))
}

// SameState reports that image is the state that was read.
func SameState(s *schema.Schema, read, image item.Item) bool {
	if image == nil {
		return false
	}
	if w, ok := read[schema.WriteAttr]; ok && s.HasMetadata {
		return item.Equal(w, image[schema.WriteAttr])
	}
	return item.Equal(&types.AttributeValueMemberM{Value: read}, &types.AttributeValueMemberM{Value: image})
}

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
