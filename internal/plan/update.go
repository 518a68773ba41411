package plan

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// update is what an Update asks for, resolved.
type update struct {
	op      *Op
	s       *schema.Schema
	parts   item.Item     // key parts as stored
	changes []expr.Change // the caller's
	user    expr.Cond
}

// NewUpdate plans changes of an item that exists: one UpdateItem, or, when an index half can only be composed from the
// stored item, a read and a Put of the whole item guarded by what was read.
func NewUpdate(s *schema.Schema, table string, v reflect.Value, spec opt.Spec) *Op {
	op, parts := newOp(s, table, "Update", v, spec)
	if op.Err != nil {
		return op
	}
	u := &update{op: op, s: s, parts: parts}
	if op.Err = u.resolve(spec); op.Err != nil {
		return op
	}
	if op.Read {
		op.Plan, op.Sketch = u.afterRead, u.sketch
	} else {
		op.Plan = u.blind
	}
	return op
}

func (u *update) resolve(spec opt.Spec) (err error) {
	if u.changes, err = resolveChanges(u.s, spec.Changes); err != nil {
		return err
	}
	if u.user, err = Conditions(u.s, spec.If); err != nil {
		return err
	}
	// Whether a read is needed does not depend on what the clock says.
	owned, err := u.owned(Input{Now: time.Unix(0, 0)})
	if err != nil {
		return err
	}
	_, u.op.Read, err = keepInStep(u.s, u.parts, append(slices.Clone(u.changes), owned...), false)
	return err
}

// blind is the plan without a read.
func (u *update) blind(in Input) (Step, error) {
	owned, err := u.owned(in)
	if err != nil {
		return Step{}, err
	}
	changes := append(slices.Clone(u.changes), owned...)
	halves, _, err := keepInStep(u.s, u.parts, changes, false)
	if err != nil {
		return Step{}, err
	}
	changes = append(changes, halves...)
	if u.s.Hidden {
		changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(schema.WriteAttr), Value: item.S(in.WriteID)})
	}
	if err := CheckSize(u.s, determined(u.op.Key, changes)); err != nil {
		return Step{}, err
	}
	guards := append([]expr.Cond{exists(u.s, in.Now)}, parentGuards(u.changes)...)
	guards = append(guards, immutableGuards(u.s, u.changes)...)
	return Step{
		Actions: []Action{{
			Kind: Update, Table: u.op.Table, Key: u.op.Key, Changes: changes, Cond: and(append(guards, u.user)...),
			Returns: ReturnNew, WriteID: writeID(u.s, in), Resend: u.s.Hidden && u.s.Version == nil && repeatable(u.changes),
		}},
		Judge: func(f []Failure) Verdict {
			if !live(u.s, f[0].Image, in.Now) {
				return Verdict{Err: ErrNotFound}
			}
			if err := broken(u.s, u.changes, f[0].Image); err != nil {
				return Verdict{Err: err}
			}
			return Verdict{Err: ErrCondition}
		},
		Done: func(r Returned) (any, error) {
			if r.Image != nil {
				return r.Image, nil
			}
			return determined(u.parts, changes), nil
		},
	}, nil
}

// owned are the changes of what the library keeps itself.
func (u *update) owned(in Input) ([]expr.Change, error) {
	var out []expr.Change
	if a := u.s.UpdatedAt; a != nil {
		av, err := TimeValue(a, in.Now)
		if err != nil {
			return nil, valueError(u.s, a, err)
		}
		out = append(out, expr.Change{Kind: expr.Set, Path: expr.Attr(a.Name), Value: av})
	}
	if a := u.s.Version; a != nil {
		out = append(out, expr.Change{Kind: expr.Increment, Path: expr.Attr(a.Name), Value: item.N("1")})
	}
	return out, nil
}

// repeatable reports that making changes twice is the same as once.
func repeatable(changes []expr.Change) bool {
	for _, c := range changes {
		if c.Kind == expr.Increment || c.Kind == expr.Push || c.Path[len(c.Path)-1].Name == "" {
			return false // a second removal from a list would take out the next element
		}
	}
	return true
}

// determined is what a plan knows of the item without its image: key parts and attributes that are simply set.
func determined(parts item.Item, changes []expr.Change) item.Item {
	it := item.Clone(parts)
	for _, c := range changes {
		if c.Kind == expr.Set && len(c.Path) == 1 {
			it[c.Path.Root()] = c.Value
		}
	}
	return it
}

// afterRead is the plan from the item that was read.
func (u *update) afterRead(in Input) (Step, error) {
	if !live(u.s, in.Image, in.Now) {
		return Step{}, ErrNotFound
	}
	if err := broken(u.s, u.changes, in.Image); err != nil {
		return Step{}, err
	}
	it, err := rewrite(u.s, in, u.changes)
	if err != nil {
		return Step{}, err
	}
	return rewriteStep(u.s, u.op, in, it, u.user)
}

// rewrite applies changes to the item that was read and brings everything that follows from them up to date.
func rewrite(s *schema.Schema, in Input, changes []expr.Change) (item.Item, error) {
	it, err := expr.Apply(in.Image, changes)
	if err != nil {
		return nil, &ConditionError{err.(*expr.ApplyError).Path.String(), err.(*expr.ApplyError).Problem}
	}
	if a := s.UpdatedAt; a != nil {
		av, err := TimeValue(a, later(s, in.Image, in.Now))
		if err != nil {
			return nil, valueError(s, a, err)
		}
		it[a.Name] = av
	}
	if s.Version != nil {
		it[s.Version.Name] = item.N(strconv.FormatInt(storedVersion(s, in.Image)+1, 10))
	}
	for _, h := range s.IndexHalves() {
		if err := SetIndexHalf(s, h, it, isSortHalf(s, h)); err != nil {
			return nil, err
		}
	}
	if s.Hidden {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	return it, CheckSize(s, it)
}

// rewriteStep puts a rewritten item under the guard of what was read.
func rewriteStep(s *schema.Schema, op *Op, in Input, it item.Item, user expr.Cond) (Step, error) {
	guard, lasting, err := unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	return Step{
		Actions: []Action{{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: and(guard, user), WriteID: writeID(s, in), Resend: lasting}},
		Judge: func(f []Failure) Verdict {
			if sameState(s, in.Image, f[0].Image) {
				return Verdict{Err: ErrCondition}
			}
			return Verdict{Replan: ErrConflict}
		},
		Done: func(Returned) (any, error) { return it, nil },
	}, nil
}

// sketch shows a plan whose read is still to come.
func (u *update) sketch(in Input) Step {
	owned, _ := u.owned(in)
	return Step{Actions: []Action{{
		Kind: Put, Table: u.op.Table, Key: u.op.Key, Changes: append(u.changes[:len(u.changes):len(u.changes)], owned...), Cond: u.user,
	}}}
}
