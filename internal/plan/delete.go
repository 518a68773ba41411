package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// and joins a guard with the caller's condition.
func and(conds ...expr.Cond) expr.Cond { return expr.All(conds...) }

// NewDelete plans the removal of an item: one Delete under the condition that it exists.
func NewDelete(s *schema.Schema, table string, v reflect.Value, spec opt.Spec) *Op {
	op, _ := newOp(s, table, "Delete", v, spec)
	return op.guarded(spec.If, Delete)
}

// NewRequire plans a check that an item exists and meets conditions.
func NewRequire(s *schema.Schema, table string, v reflect.Value, spec opt.Spec) *Op {
	op, _ := newOp(s, table, "Require", v, spec)
	op.Checks = true
	return op.guarded(spec.If, Check)
}

// NewAbsent plans a check that there is no live item.
func NewAbsent(s *schema.Schema, table string, v reflect.Value) *Op {
	op, _ := newOp(s, table, "Absent", v, opt.Spec{})
	op.Checks = true
	if op.Err != nil {
		return op
	}
	op.Plan = func(in Input) (Step, error) {
		return Step{
			Actions: []Action{{Kind: Check, Table: table, Key: op.Key, Cond: absent(s, in.Now)}},
			Judge:   func([]Failure) Verdict { return Verdict{Err: ErrExists} },
			Done:    func(Returned) (any, error) { return nil, nil },
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
		return Step{
			Actions: []Action{{Kind: kind, Table: op.Table, Key: op.Key, Cond: and(exists(s, in.Now), user)}},
			Judge: func(f []Failure) Verdict {
				if live(s, f[0].Image, in.Now) {
					return Verdict{Err: ErrCondition}
				}
				return Verdict{Err: ErrNotFound}
			},
			Done: func(Returned) (any, error) { return nil, nil },
		}, nil
	}
	return op
}
