package write

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// touchable returns the attribute of a touch, or an error if it cannot be touched.
func touchable(s *schema.Schema, field Target, every time.Duration) (*schema.Attr, error) {
	n, err := Node(s, field)
	switch {
	case err != nil:
		return nil, err
	case !n.Top || !n.Attr.Time:
		return nil, Invalid(s, CodeNotYours, n.Attr, "only a time attribute can be touched")
	case every < 0:
		return nil, Invalid(s, CodeOption, n.Attr, "the interval must not be negative")
	case isExpiry(s, n.Attr):
		return nil, Invalid(s, CodeNotYours, n.Attr, "the item would expire at once; use Update")
	case sharesExpiry(s) && countsFrom(s, n.Attr):
		return nil, Invalid(s, CodeNotYours, n.Attr, "the expiry is counted from the attribute, and unique values or snapshots of the item have it too; use Update")
	case n.Attr.IsUnique:
		return nil, Invalid(s, CodeNotYours, n.Attr, "the attribute is kept unique; use Update")
	case s.KeepsHistory && StateClock(s) == nil:
		return nil, Invalid(s, CodeNotYours, n.Attr, "an entity that retains versions needs created_at or updated_at to be touched")
	case n.Attr.Role.Has(schema.Immutable) || n.Attr.Role.Has(schema.SetOnce):
		return nil, Invalid(s, CodeNotYours, n.Attr, "the attribute is written once")
	}
	return n.Attr, MayChange(s, n, expr.Set)
}

// composedOfMore is why an attribute cannot be touched of which a key of an index depends.
const composedOfMore = "an index key, or the condition of an index, is about the attribute and others; use Update"

// NewTouch plans the write of the current time into one time attribute if it is absent or older than every. It is one
// UpdateItem that does not change version, updated_at or history. The result is skipped if the attribute is recent
// enough.
func NewTouch(s *schema.Schema, table string, v reflect.Value, field Target, every time.Duration) *Op {
	op, parts := newOp(s, table, "Touch", v, &noOptions)
	if op.Err != nil {
		return op
	}
	a, err := touchable(s, field, every)
	if err != nil {
		op.Err = err
		return op
	}
	op.Context = false // as with updated_at
	set := func(now time.Time) (expr.Change, error) {
		av, err := a.Format.Value(now)
		return expr.Change{Kind: expr.Set, Path: a.Path, Value: av}, ValueError(s, a, err)
	}
	if c, err := set(time.Unix(0, 0)); err == nil {
		changes := []expr.Change{c}
		if expiry, _, err := expiryChanges(s, changes, parts, Input{}, OnUpdate); err == nil {
			changes = append(changes, expiry...)
		}
		if _, needRead, err := SyncIndexKeys(s, parts, changes, false); err != nil || needRead {
			op.Err = Invalid(s, CodeNotYours, a, composedOfMore)
			return op
		}
	}
	op.Planner = PlanFunc(func(in Input) (Step, error) {
		c, err := set(in.Now)
		if err != nil {
			return Step{}, err
		}
		changes := []expr.Change{c}
		expiry, _, err := expiryChanges(s, changes, parts, in, OnUpdate)
		if err != nil {
			return Step{}, err
		}
		changes = append(changes, expiry...)
		indexKeys, needRead, err := SyncIndexKeys(s, parts, changes, false)
		if err == nil && needRead { // at a time that the condition of an index names
			err = Invalid(s, CodeNotYours, a, composedOfMore)
		}
		if err != nil {
			return Step{}, err
		}
		changes, _ = WithWriteID(s, append(changes, indexKeys...), in.WriteID)
		if s.KeepsHistory && s.HasMetadata { // so that readers of the history notice that an old state has changed
			at, err := s.Options.Precision.Value(s.Options.Precision.Truncate(in.Now))
			if err != nil {
				return Step{}, ValueError(s, a, err)
			}
			changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(schema.TouchedAttr), Value: at})
		}
		latest, err := a.Format.Value(in.Now.Add(-every))
		if err != nil {
			return Step{}, ValueError(s, a, err)
		}
		due := expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.Le, c.Path, latest))
		return Step{
			Actions: []Action{{
				Kind: Update, Table: table, Key: op.Key, Changes: changes, Cond: expr.All(PresentUnexpired(s, in.Now), due),
				WriteID: WriteID(s, in),
			}},
			Outcome: &touched{s, in.Now},
		}, nil
	})
	return op
}

// touched is the Outcome of a touch.
type touched struct {
	s   *schema.Schema
	now time.Time
}

// Resolve implements Outcome.
func (x *touched) Resolve(f []Failure) Resolution {
	if Live(x.s, f[0].Image, x.now) {
		return Skipped()
	}
	return Resolution{Err: entitytype.ErrNotFound}
}

// Done implements Outcome.
func (x *touched) Done(Returned) (Result, error) { return Result{}, nil }
