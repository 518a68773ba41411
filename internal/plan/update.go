package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
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
	follow  []expr.Change // what follows from them, stamps and index keys, unless the clock has a part in it
	timed   bool          // the clock has
}

// NewUpdate plans changes of an item that exists: one UpdateItem, or, when an index half can only be composed from the
// stored item, a read and a Put of the whole item guarded by what was read.
func NewUpdate(s *schema.Schema, table string, v reflect.Value, spec opt.Update) *Op {
	op, parts := newOp(s, table, "Update", v, spec.Write)
	if op.Err != nil {
		return op
	}
	u := &update{op: op, s: s, parts: parts}
	if op.Err = u.resolve(spec); op.Err != nil {
		return op
	}
	op.AlsoDeleted = softDeleter(s) != nil
	if op.Read {
		op.Plan, op.If, op.Changes = u.afterRead, u.user, u.changes
	} else {
		op.Plan = u.blind
	}
	return op
}

func (u *update) resolve(spec opt.Update) (err error) {
	if u.changes, err = resolveChanges(u.s, spec.Changes); err != nil {
		return err
	}
	if u.changes, err = chosen(u.s, u.changes, onChange); err != nil {
		return err
	}
	if u.user, err = Conditions(u.s, spec.If); err != nil {
		return err
	}
	// What the clock says does not decide whether a read is needed.
	start := Input{Now: time.Unix(0, 0)}
	owned, err := u.owned(start)
	if err != nil {
		return err
	}
	follow, needRead, err := u.following(append(slices.Clone(u.changes), owned...), start)
	if err != nil {
		return err
	}
	u.follow, u.timed = follow, clockDecides(u.s)
	u.op.Read = u.op.Read || needRead || snapshotter(u.s) != nil
	for _, c := range u.changes {
		u.op.Read = u.op.Read || needsState(u.s, c)
	}
	return nil
}

// following are the changes of the stamp and of the index keys that follow from changes. needRead is set when they depend
// on the stored item.
func (u *update) following(changes []expr.Change, in Input) (follow []expr.Change, needRead bool, err error) {
	follow, needRead, err = stampChanges(u.s, changes, u.parts, in, onChange)
	if err != nil {
		return nil, false, err
	}
	keys, partly, err := syncIndexKeys(u.s, u.parts, append(slices.Clone(changes), follow...), false)
	return append(follow, keys...), needRead || partly, err
}

// clockDecides reports that the clock has a part in the stamp or in an index key of current items.
func clockDecides(s *schema.Schema) bool {
	x := expirySetter(s)
	if x != nil && (x.From() == nil || x.From() == s.UpdatedAt || x.From() == s.CreatedAt) {
		return true
	}
	for _, h := range s.IndexKeys() {
		if s.UpdatedAt != nil && h.Has(s.UpdatedAt) || s.CreatedAt != nil && h.Has(s.CreatedAt) {
			return true
		}
	}
	return false
}

// blind is the plan without a read.
func (u *update) blind(in Input) (Step, error) {
	if u.op.NeedsRead(in) {
		return u.afterRead(in)
	}
	owned, err := u.owned(in)
	if err != nil {
		return Step{}, err
	}
	changes, follow := append(slices.Clone(u.changes), owned...), u.follow
	if u.timed {
		if follow, _, err = u.following(changes, in); err != nil {
			return Step{}, err
		}
	}
	changes = append(append(changes, follow...), signed(u.s, in.WriteID)...)
	if err := CheckSize(u.s, determined(u.op.Key, changes)); err != nil {
		return Step{}, err
	}
	guards := append([]expr.Cond{exists(u.s, in.Now), u.op.expected()}, parentGuards(u.changes)...)
	guards = append(append(guards, elementGuards(u.changes)...), immutableGuards(u.s, u.changes)...)
	return Step{
		Actions: []Action{{
			Kind: Update, Table: u.op.Table, Key: u.op.Key, Changes: changes, Cond: and(append(guards, u.user)...),
			Returns: u.returns(), WriteID: WriteID(u.s, in),
		}},
		Resolve: func(f []Failure) Resolution {
			if !live(u.s, f[0].Image, in.Now) {
				return Resolution{Err: u.op.missing(in.Now)}
			}
			if err := u.op.Unexpected(f[0].Image, in.Now); err != nil {
				return Resolution{Err: err}
			}
			if err := broken(u.s, u.changes, f[0].Image); err != nil {
				return Resolution{Err: err}
			}
			switch null, err := misfits(u.op.Schema, f[0].Image, u.changes); {
			case err != nil:
				return Resolution{Err: err}
			case null:
				return Resolution{Replan: ErrConflict, Hints: []any{ReadFirst{}}}
			}
			return Resolution{Err: ErrConditionFailed}
		},
		Done: func(r Returned) (Result, error) {
			if err := u.op.oldUnknown(r); err != nil {
				return Result{}, err
			}
			switch {
			case r.Image == nil:
				return Stored(determined(u.parts, changes)), nil
			case u.op.Old != nil:
				it, err := u.op.fromOld(r, changes)
				return Stored(it), err
			}
			return Stored(r.Image), nil
		},
	}, nil
}

// returns asks for the item itself or, where the caller wants the one before, for that, from which the new one follows.
func (u *update) returns() Returns {
	if u.op.Old != nil {
		return ReturnOld
	}
	return ReturnNew
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
		return Step{}, u.op.missing(in.Now)
	}
	if err := u.op.Unexpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	if err := broken(u.s, u.changes, in.Image); err != nil {
		return Step{}, err
	}
	it, err := rewrite(u.s, in, u.changes, onChange)
	if err != nil {
		return Step{}, err
	}
	return u.op.changed(in, it, u.user)
}

// rewrite applies changes to the item that was read and brings everything that follows from them up to date.
func rewrite(s *schema.Schema, in Input, changes []expr.Change, on occasion) (item.Item, error) {
	if _, err := misfits(s, in.Image, changes); err != nil {
		return nil, err
	}
	it, err := apply(s, in.Image, overNull(in.Image, changes))
	if err != nil {
		return nil, err
	}
	if a := s.UpdatedAt; a != nil {
		av, err := TimeValue(a, Later(s, in.Image, in.Now))
		if err != nil {
			return nil, valueError(s, a, err)
		}
		it[a.Name] = av
	}
	countUp(s, it, in.Image, in)
	if err := restamp(s, it, in, changes, on); err != nil {
		return nil, err
	}
	if err := setIndexes(s, it, in.Image); err != nil {
		return nil, err
	}
	delete(it, schema.OpAttr)
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	return it, CheckSize(s, it)
}

// apply makes changes to an item; what they cannot be made to is a *ConditionError, as DynamoDB's refusal of them is.
func apply(s *schema.Schema, it item.Item, changes []expr.Change) (item.Item, error) {
	made, err := expr.Apply(it, changes)
	var wrong *expr.ApplyError
	if errors.As(err, &wrong) {
		return nil, &ConditionError{Attr: PathText(s, wrong.Path), Problem: wrong.Problem}
	}
	return made, err
}

// changed is the step that puts a rewritten item under the guard of what was read.
func (op *Op) changed(in Input, it item.Item, user expr.Cond) (Step, error) {
	s := op.Schema
	guard, pin, err := unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	main := Part{
		Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: and(guard, user), WriteID: WriteID(s, in), Pin: pin},
		op.lost(in),
	}
	step, err := Compose(&Mutation{Kind: Updated, Op: op, In: in, Old: in.Image, New: it}, []Part{main}, Stored(it))
	return op.over(in.Image, step), err
}

// needsState reports that a change can only be made when the whole item is known.
func needsState(s *schema.Schema, c expr.Change) bool {
	return isUnique(s, s.Attr(c.Path.Root()))
}

// takeOld prepares op to give the caller the item as it was before the write. A transaction gives none back, so that op
// reads it first where it is part of one.
func (op *Op) takeOld(spec opt.Write) {
	if spec.Was != nil {
		op.Old = func(it item.Item) error { return spec.Was(it) }
		op.Read = op.Exact
	}
}

// over is step, which is planned from old, such that its success gives old to the caller.
func (op *Op) over(old item.Item, step Step) Step {
	if op.Old == nil || step.Done == nil {
		return step
	}
	done := step.Done
	step.Done = func(r Returned) (Result, error) {
		result, err := done(r)
		if err == nil {
			err = op.Old(old)
		}
		return result, err
	}
	return step
}

// fromOld computes the item from what a lone action gave back, the item before it, which goes to the caller if asked for.
func (op *Op) fromOld(r Returned, changes []expr.Change) (item.Item, error) {
	base := r.Image
	if base == nil {
		base = item.Clone(op.Key)
	}
	it, err := expr.Apply(base, changes)
	if err == nil && op.Old != nil {
		err = op.Old(r.Image)
	}
	return it, err
}

// oldUnknown is the error of a write that was applied by an attempt whose answer, with the item before it, was lost.
func (op *Op) oldUnknown(r Returned) error {
	if op.Old == nil || !r.Proven {
		return nil
	}
	return fmt.Errorf("%w: the answer with the item before the write was lost", ErrReadBack)
}
