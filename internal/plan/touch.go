package plan

import (
	"context"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// touchable returns the attribute of a touch, or an error if it cannot be touched.
func touchable(s *schema.Schema, field bind.Target, every time.Duration) (*schema.Attr, error) {
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
	case n.Attr.IsUnique:
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the attribute is kept unique; use Update")
	case s.KeepsHistory && layout.StateClock(s) == nil:
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "an entity that retains versions needs created_at or updated_at to be touched")
	case n.Attr.Role.Has(schema.Immutable) || n.Attr.Role.Has(schema.SetOnce):
		return nil, bind.Invalid(s, bind.CodeNotYours, n.Attr, "the attribute is written once")
	}
	return n.Attr, bind.MayChange(s, n, expr.Set)
}

// composedOfMore says why an attribute of which a key of an index depends cannot be touched.
const composedOfMore = "an index key, or the condition of an index, is about the attribute and others; use Update"

// NewTouch plans the write of the current time into one time attribute if it is absent or older than every. It is one UpdateItem that does
// not change version, updated_at or history. The result is skipped if the attribute is recent enough.
func NewTouch(s *schema.Schema, table string, v reflect.Value, field bind.Target, every time.Duration) *Op {
	op := new(Op).Begin(s, table, "Touch", v, nil, &bind.Options{})
	if op.Err != nil {
		return op
	}
	a, err := touchable(s, field, every)
	if err != nil {
		op.Err = err
		return op
	}
	op.Context = false // as with updated_at
	// derive returns the change of the attribute, and those of expiry and index keys that follow from it. more is set if these depend on
	// other attributes of the stored item. With an error of index keys it returns the other changes.
	derive := func(in *Input) (changes []expr.Change, more bool, err error) {
		av, err := a.Format.Value(in.Now)
		if err != nil {
			return nil, false, bind.ValueError(s, a, err)
		}
		changes = []expr.Change{{Kind: expr.Set, Path: a.Path, Value: av}}
		expiry, _, err := expiryChanges(s, changes, op.Parts, in, bind.OnUpdate)
		if err != nil {
			return nil, false, err
		}
		changes = append(changes, expiry...)
		keys, more, err := bind.SyncIndexKeys(s, op.Parts, changes, bind.SomeParts)
		return append(changes, keys...), more, err
	}
	if changes, more, err := derive(&Input{Now: time.Unix(0, 0)}); more || err != nil && changes != nil { // of index keys
		op.Err = bind.Invalid(s, bind.CodeNotYours, a, composedOfMore)
		return op
	}
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
		changes, more, err := derive(in)
		if err == nil && more { // at a time that the condition of an index names
			err = bind.Invalid(s, bind.CodeNotYours, a, composedOfMore)
		}
		if err != nil {
			return nil, err
		}
		changes, writeID := WithWriteID(s, changes, in.WriteID)
		if s.KeepsHistory && s.HasMetadata { // so that readers of the history notice that an old state has changed
			at, err := s.Options.Precision.Value(s.Options.Precision.Truncate(in.Now))
			if err != nil {
				return nil, bind.ValueError(s, a, err)
			}
			changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(schema.TouchedAttr), Value: at})
		}
		latest, err := a.Format.Value(in.Now.Add(-every))
		if err != nil {
			return nil, bind.ValueError(s, a, err)
		}
		due := expr.Any(expr.Compare(expr.NotExists, a.Path), expr.Compare(expr.Le, a.Path, latest))
		return &Plan{Actions: []Action{{
			Kind: Update, Table: table, Key: op.Key, Changes: changes, Cond: expr.All(append(op.present(make([]expr.Cond, 0, 4), in.Now), due)...), WriteID: writeID,
		}}, Meaning: touched{s}}, nil
	}
	return op
}

// touched is the Meaning of a touch.
type touched struct{ s *schema.Schema }

// Refused implements Meaning: the attribute is recent enough, or there is no item.
func (x touched) Refused(_ *Plan, f []Failure, in *Input) Resolution {
	if layout.Live(x.s, f[0].Image, in.Now) {
		return Skipped()
	}
	return Resolution{Err: sentinel.ErrNotFound}
}

func (touched) Applied(*Plan, Returned, *Input) (Result, error) { return Result{}, nil }
