package plan

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// touchable returns the attribute of a touch, or an error if it cannot be touched.
func touchable(s *schema.Schema, field opt.Target, every time.Duration) (*schema.Attr, error) {
	n, err := Node(s, field)
	switch {
	case err != nil:
		return nil, err
	case !n.Top || !n.Attr.Time:
		return nil, input(s, CodeNotYours, n.Attr, "only a time attribute can be touched")
	case every < 0:
		return nil, input(s, CodeOption, n.Attr, "the interval must not be negative")
	case isExpiry(s, n.Attr):
		return nil, input(s, CodeNotYours, n.Attr, "the item would expire at once; use Update")
	case isUnique(s, n.Attr):
		return nil, input(s, CodeNotYours, n.Attr, "the attribute is kept unique; use Update")
	case snapshotter(s) != nil && StateClock(s) == nil:
		return nil, input(s, CodeNotYours, n.Attr, "an entity that retains versions needs created_at or updated_at to be touched")
	case n.Attr.Role.Has(tag.Immutable) || n.Attr.Role.Has(tag.SetOnce):
		return nil, input(s, CodeNotYours, n.Attr, "the attribute is written once")
	}
	return n.Attr, mayChange(s, n, expr.Set)
}

// NewTouch plans the write of the current time into one time attribute if it is absent or older than every. It is one
// UpdateItem that does not change version, updated_at or history. The result is skipped if the attribute is recent
// enough.
func NewTouch(s *schema.Schema, table string, v reflect.Value, field opt.Target, every time.Duration) *Op {
	op, parts := newOp(s, table, "Touch", v, opt.Write{})
	if op.Err != nil {
		return op
	}
	a, err := touchable(s, field, every)
	if err != nil {
		op.Err = err
		return op
	}
	set := func(now time.Time) (expr.Change, error) {
		av, err := TimeValue(a, now)
		return expr.Change{Kind: expr.Set, Path: expr.Attr(a.Name), Value: av}, valueError(s, a, err)
	}
	if c, err := set(time.Unix(0, 0)); err == nil {
		changes := []expr.Change{c}
		if expiry, _, err := expiryChanges(s, changes, parts, Input{}, onUpdate); err == nil {
			changes = append(changes, expiry...)
		}
		if _, needRead, err := syncIndexKeys(s, parts, changes, false); err != nil || needRead {
			op.Err = input(s, CodeNotYours, a, "an index key is composed from the attribute and others; use Update")
			return op
		}
	}
	op.Plan = func(in Input) (Step, error) {
		c, err := set(in.Now)
		if err != nil {
			return Step{}, err
		}
		changes := []expr.Change{c}
		expiry, _, err := expiryChanges(s, changes, parts, in, onUpdate)
		if err != nil {
			return Step{}, err
		}
		changes = append(changes, expiry...)
		indexKeys, _, err := syncIndexKeys(s, parts, changes, false)
		if err != nil {
			return Step{}, err
		}
		changes = append(append(changes, indexKeys...), writeIDChanges(s, in.WriteID)...)
		if snapshotter(s) != nil && s.HasMetadata { // so that readers of the history notice that an old state has changed
			at, err := s.Options.Precision.Value(s.Options.Precision.Truncate(in.Now))
			if err != nil {
				return Step{}, valueError(s, a, err)
			}
			changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(schema.TouchedAttr), Value: at})
		}
		latest, err := TimeValue(a, in.Now.Add(-every))
		if err != nil {
			return Step{}, valueError(s, a, err)
		}
		due := expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.Le, c.Path, latest))
		return Step{
			Actions: []Action{{
				Kind: Update, Table: table, Key: op.Key, Changes: changes, Cond: and(exists(s, in.Now), due),
				WriteID: WriteID(s, in),
			}},
			Resolve: func(f []Failure) Resolution {
				if live(s, f[0].Image, in.Now) {
					return Skipped()
				}
				return Resolution{Err: ErrNotFound}
			},
			Done: func(Returned) (Result, error) { return Result{}, nil },
		}, nil
	}
	return op
}
