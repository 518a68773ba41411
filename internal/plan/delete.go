package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// and joins a guard with the caller's condition.
func and(conds ...expr.Cond) expr.Cond { return expr.All(conds...) }

// NewDelete plans the removal of an item: one Delete under the condition that it exists. Where features have a part in
// it, the item is read first and goes under the guard of what was read.
func NewDelete(s *schema.Schema, table string, v reflect.Value, spec opt.Write) *Op {
	op, _ := newOp(s, table, "Delete", v, spec)
	op.guarded(spec.If, Delete)
	if op.Err != nil {
		return op
	}
	op.AlsoDeleted = softDeleter(s) != nil
	user, _ := Conditions(s, spec.If)
	op.If = user
	kind := Deleted
	if softDeleter(s) != nil {
		kind = SoftDeleted
	}
	op.Read = op.Read || softDeleter(s) != nil || snapshotter(s) != nil || len(UniqueConstraints(s)) > 0
	op.SoftDeletes = kind == SoftDeleted
	blind := op.Plan
	op.Plan = func(in Input) (Step, error) {
		if op.NeedsRead(in) {
			return op.gone(in, kind, user)
		}
		return blind(in)
	}
	return op
}

// gone is the step that ends the life of the item that was read.
func (op *Op) gone(in Input, kind Kind, user expr.Cond) (Step, error) {
	s := op.Schema
	if !live(s, in.Image, in.Now) {
		return Step{}, op.missing(in.Now)
	}
	if err := op.Unexpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	guard, pin, err := unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	m := &Mutation{Kind: kind, Op: op, In: in, Old: in.Image}
	main := []Part{{Action{Kind: Delete, Table: op.Table, Key: op.Key, Cond: and(guard, user), Pin: pin}, op.lost(in)}}
	if kind == SoftDeleted {
		put, err := softDeleter(s).SoftDelete(m)
		if err != nil {
			return Step{}, err
		}
		main = append(main, put)
	} else if snapshotter(s) != nil {
		if m.Final, err = DeletedState(s, m.Old, in, Later(s, m.Old, in.Now)); err != nil {
			return Step{}, err
		}
	}
	step, err := Compose(m, main, Result{})
	return op.over(in.Image, step), err
}

// lost resolves the failure of an action that is guarded by what was read.
func (op *Op) lost(in Input) func(Failure) Resolution {
	return func(f Failure) Resolution {
		if err := op.Unexpected(f.Image, in.Now); err != nil {
			return Resolution{Err: err}
		}
		if SameState(op.Schema, in.Image, f.Image) {
			return Resolution{Err: ErrConditionFailed}
		}
		return Resolution{Replan: ErrConflict}
	}
}

// NewRequire plans a check that an item exists and meets conditions.
func NewRequire(s *schema.Schema, table string, v reflect.Value, spec opt.Guard) *Op {
	op, _ := newOp(s, table, "CheckExists", v, opt.Write{})
	op.Checks = true
	return op.guarded(spec.If, Check)
}

// NewAbsent plans a check that there is no live item.
func NewAbsent(s *schema.Schema, table string, v reflect.Value) *Op {
	op, _ := newOp(s, table, "CheckNotExists", v, opt.Write{})
	op.Checks = true
	if op.Err != nil {
		return op
	}
	op.Plan = func(in Input) (Step, error) {
		return Step{
			Actions: []Action{{Kind: Check, Table: table, Key: op.Key, Cond: absent(s, in.Now)}},
			Resolve: func([]Failure) Resolution { return Resolution{Err: ErrExists} },
			Done:    func(Returned) (Result, error) { return Result{}, nil },
		}, nil
	}
	return op
}

func (op *Op) guarded(list []opt.Cond, kind ActionKind) *Op {
	if op.Err != nil {
		return op
	}
	s := op.Schema
	user, err := Conditions(s, list)
	if err != nil {
		op.Err = err
		return op
	}
	op.Plan = func(in Input) (Step, error) {
		returns := ReturnNothing
		if op.Old != nil {
			returns = ReturnOld
		}
		return Step{
			Actions: []Action{{Kind: kind, Table: op.Table, Key: op.Key, Cond: and(exists(s, in.Now), op.expected(), user), Returns: returns}},
			Resolve: func(f []Failure) Resolution {
				if !live(s, f[0].Image, in.Now) {
					return Resolution{Err: op.missing(in.Now)}
				}
				if err := op.Unexpected(f[0].Image, in.Now); err != nil {
					return Resolution{Err: err}
				}
				return Resolution{Err: ErrConditionFailed}
			},
			Done: func(r Returned) (Result, error) {
				if op.Old == nil {
					return Result{}, nil
				}
				return Result{}, op.Old(r.Image)
			},
		}, nil
	}
	return op
}
