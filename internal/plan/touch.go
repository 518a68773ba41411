package plan

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// touchable returns the attribute of a touch, or an error if it cannot be touched.
func touchable(s *schema.Schema, field opt.Target, every time.Duration) (*schema.Attr, error) {
	n, err := bind.Node(s, field)
	switch {
	case err != nil:
		return nil, err
	case !n.Top || !n.Attr.Time:
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "only a time attribute can be touched")
	case every < 0:
		return nil, bind.Invalid(s, bind.CodeOption, n.Attr, "the interval must not be negative")
	case isExpiry(s, n.Attr):
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the item would expire at once; use Update")
	case sharesExpiry(s) && countsFrom(s, n.Attr):
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the expiry is counted from the attribute, and unique values or snapshots of the item have it too; use Update")
	case isUnique(s, n.Attr):
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the attribute is kept unique; use Update")
	case snapshotter(s) != nil && layout.StateClock(s) == nil:
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "an entity that retains versions needs created_at or updated_at to be touched")
	case n.Attr.Role.Has(tag.Immutable) || n.Attr.Role.Has(tag.SetOnce):
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the attribute is written once")
	}
	return n.Attr, bind.MayChange(s, n, expr.Set)
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
		av, err := a.Format.Value(now)
		return expr.Change{Kind: expr.Set, Path: a.Path, Value: av}, bind.ValueError(s, a, err)
	}
	if c, err := set(time.Unix(0, 0)); err == nil {
		changes := []expr.Change{c}
		if expiry, _, err := expiryChanges(s, changes, parts, Input{}, bind.OnUpdate); err == nil {
			changes = append(changes, expiry...)
		}
		if _, needRead, err := bind.SyncIndexKeys(s, parts, changes, false); err != nil || needRead {
			op.Err = bind.Invalid(s, bind.CodeNotYours, a, "an index key is composed from the attribute and others; use Update")
			return op
		}
	}
	op.Plan = func(in Input) (Step, error) {
		c, err := set(in.Now)
		if err != nil {
			return Step{}, err
		}
		changes := []expr.Change{c}
		expiry, _, err := expiryChanges(s, changes, parts, in, bind.OnUpdate)
		if err != nil {
			return Step{}, err
		}
		changes = append(changes, expiry...)
		indexKeys, _, err := bind.SyncIndexKeys(s, parts, changes, false)
		if err != nil {
			return Step{}, err
		}
		changes = append(append(changes, indexKeys...), writeIDChanges(s, in.WriteID)...)
		if snapshotter(s) != nil && s.HasMetadata { // so that readers of the history notice that an old state has changed
			at, err := s.Options.Precision.Value(s.Options.Precision.Truncate(in.Now))
			if err != nil {
				return Step{}, bind.ValueError(s, a, err)
			}
			changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(schema.TouchedAttr), Value: at})
		}
		latest, err := a.Format.Value(in.Now.Add(-every))
		if err != nil {
			return Step{}, bind.ValueError(s, a, err)
		}
		due := expr.Any(expr.Compare(expr.NotExists, c.Path), expr.Compare(expr.Le, c.Path, latest))
		return Step{
			Actions: []Action{{
				Kind: Update, Table: table, Key: op.Key, Changes: changes, Cond: expr.All(layout.PresentUnexpired(s, in.Now), due),
				WriteID: WriteID(s, in),
			}},
			Resolve: func(f []Failure) Resolution {
				if layout.Live(s, f[0].Image, in.Now) {
					return Skipped()
				}
				return Resolution{Err: entitytype.ErrNotFound}
			},
			Done: func(Returned) (Result, error) { return Result{}, nil },
		}, nil
	}
	return op
}
