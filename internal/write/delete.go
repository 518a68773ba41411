package write

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

func (op *Op) guarded(list []Cond, kind ActionKind) *Op {
	if op.Err != nil {
		return op
	}
	s := op.Schema
	user, err := Conditions(s, list)
	if err != nil {
		op.Err = err
		return op
	}
	op.Planner = PlanFunc(func(in Input) (Step, error) { return op.direct(in, kind, user), nil })
	return op
}

// direct returns the step of an action on the item under the condition that it exists.
func (op *Op) direct(in Input, kind ActionKind, user expr.Cond) Step {
	returns := ReturnNothing
	if op.Old != nil {
		returns = ReturnOld
	}
	cond := expr.All(PresentUnexpired(op.Schema, in.Now), op.expected(), user)
	return Step{
		Actions: in.alone(Action{Kind: kind, Table: op.Table, Key: op.Key, Cond: cond, Returns: returns}),
		Outcome: &existing{op, in.Now},
	}
}

// existing is the Outcome of an action on an item that must exist, planned without a read.
type existing struct {
	op  *Op
	now time.Time
}

// Resolve implements Outcome.
func (x *existing) Resolve(f []Failure) Resolution {
	switch live := Live(x.op.Schema, f[0].Image, x.now); {
	case !live && x.op.IfPresent:
		return Resolution{Result: &Result{}}
	case !live:
		return Resolution{Err: x.op.missing(x.now)}
	}
	if err := x.op.CheckExpected(f[0].Image, x.now); err != nil {
		return Resolution{Err: err}
	}
	return Resolution{Err: entitytype.ErrConditionFailed}
}

// Done implements Outcome.
func (x *existing) Done(r Returned) (Result, error) { return Result{Old: r.Image}, nil }

// deleted returns the step that deletes the item that was read.
func (op *Op) deleted(in Input, kind Kind, user expr.Cond) (Step, error) {
	s := op.Schema
	switch live := Live(s, in.Image, in.Now); {
	case !live && op.IfPresent:
		return op.nothingToDelete(in), nil
	case !live:
		return Step{}, op.missing(in.Now)
	}
	if err := op.CheckExpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	m := &Mutation{Kind: kind, Op: op, In: in, Old: in.Image}
	main := []Part{{Action{Kind: Delete, Table: op.Table, Key: op.Key, Cond: expr.All(guard, user), Pin: pin}, op.resolveGuarded(in)}}
	if kind == SoftDeleted {
		moves, err := softDeleter(s).SoftDelete(m)
		if err != nil {
			return Step{}, err
		}
		main = append(main, moves...)
	} else if s.KeepsHistory {
		if err := m.SetDeleted(Later(s, m.Old, in.Now)); err != nil {
			return Step{}, err
		}
	}
	return Compose(m, main, Result{Old: in.Image})
}

// nothingToDelete returns the step for an item that is missing. A transaction is applied only if it still is.
func (op *Op) nothingToDelete(in Input) Step {
	if !in.Joined {
		return Nothing(Result{})
	}
	return Step{
		Actions: []Action{{Kind: Check, Table: op.Table, Key: op.Key, Cond: AbsentOrExpired(op.Schema, in.Now)}},
		Outcome: &Fixed{Refused: Resolution{Replan: entitytype.ErrConflict}},
	}
}

// ifPresent makes a missing item a success, which the caller learns.
func (op *Op) ifPresent(missing *bool) {
	old := op.Old
	op.IfPresent, op.Read = true, op.Read || op.Idempotent
	op.Old = func(it item.Item) error {
		if missing != nil {
			*missing = it == nil
		}
		if old == nil {
			return nil
		}
		return old(it)
	}
}

// NewDelete plans the removal of an item: one Delete under the condition that the item exists. If a feature takes part,
// the item is read first, and the Delete is guarded by what was read.
func NewDelete(s *schema.Schema, table string, v reflect.Value, spec *Options) *Op {
	op, _ := newOp(s, table, "Delete", v, spec)
	if op.Err != nil {
		return op
	}
	var user expr.Cond
	if len(spec.If) > 0 {
		if user, op.Err = Conditions(s, spec.If); op.Err != nil {
			return op
		}
	}
	if op.MoveWith(spec.Changes); op.Err != nil {
		return op
	}
	if spec.IfPresent {
		op.ifPresent(spec.Missing)
	}
	return op.deletes(user)
}

// NewDeleteFound is NewDelete for an item that a query has found, while match holds for it. whole is the item as it was found; it may be
// nil. With write ids, the Delete is guarded by what was read, so if it arrives late it removes nothing that was written since.
func NewDeleteFound(s *schema.Schema, table string, key, whole item.Item, match expr.Cond) *Op {
	return (&Op{Verb: "Delete", Schema: s, Table: table, Key: key, Asked: Asked{SoleWriter: s.HasMetadata}, Needs: Needs{Read: s.HasMetadata, Given: whole, Discards: !s.SoftDeletes && !s.KeepsHistory && !s.HasUnique}}).deletes(match)
}

// deletes completes the plan of a removal.
func (op *Op) deletes(user expr.Cond) *Op {
	s := op.Schema
	op.AlsoDeleted, op.SoftDeletes, op.If = s.SoftDeletes, s.SoftDeletes, user
	op.Context = s.Contexts != nil && (s.SoftDeletes || s.KeepsHistory) // otherwise no state remains
	op.Read = op.Read || s.SoftDeletes || s.KeepsHistory || s.HasUnique
	op.Planner = (*removal)(op)
	return op
}

// removal is the Planner of a Delete.
type removal Op

// Plan implements Planner.
func (r *removal) Plan(in Input) (Step, error) {
	op := (*Op)(r)
	switch {
	case !op.NeedsRead(in):
		return op.direct(in, Delete, op.If), nil
	case op.SoftDeletes:
		return op.deleted(in, SoftDeleted, op.If)
	}
	return op.deleted(in, Deleted, op.If)
}

// NewCheckExists plans a check that an item exists and meets conditions.
func NewCheckExists(s *schema.Schema, table string, v reflect.Value, conds []Cond) *Op {
	op, _ := newOp(s, table, "CheckExists", v, &noOptions)
	op.ChecksOnly, op.Context = true, false
	return op.guarded(conds, Check)
}

// NewCheckNotExists plans a check that there is no live item.
func NewCheckNotExists(s *schema.Schema, table string, v reflect.Value) *Op {
	op, _ := newOp(s, table, "CheckNotExists", v, &noOptions)
	op.ChecksOnly, op.Context = true, false
	if op.Err != nil {
		return op
	}
	op.Planner = PlanFunc(func(in Input) (Step, error) {
		return Step{
			Actions: []Action{{Kind: Check, Table: table, Key: op.Key, Cond: AbsentOrExpired(s, in.Now)}},
			Outcome: &Fixed{Refused: Resolution{Err: entitytype.ErrExists}},
		}, nil
	})
	return op
}
