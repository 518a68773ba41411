package plan

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// NewDelete plans the removal of an item: one Delete under the condition that the item exists. If a feature takes part,
// the item is read first, and the Delete is guarded by what was read.
func NewDelete(s *schema.Schema, table string, v reflect.Value, spec *bind.Options) *Op {
	op := new(Op).Begin(s, table, "Delete", v, nil, spec)
	if len(spec.Changes) > 0 {
		op.MoveWith(spec.Changes)
	}
	if op.Err != nil {
		return op
	}
	if spec.IfPresent { // a missing item is a success, which the caller learns
		old, missing := op.Old, spec.Missing
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
	return op.deletes()
}

// NewDeleteFound is NewDelete for an item that a query has found, while match holds for it. whole is the item as it was found; it may be
// nil. With write ids, the Delete is guarded by what was read, so if it arrives late it removes nothing that was written since.
func NewDeleteFound(s *schema.Schema, table string, key, whole item.Item, match expr.Cond) *Op {
	return (&Op{
		Verb: "Delete", Schema: s, Table: table, Key: key, Asked: Asked{SoleWriter: s.HasMetadata, If: match},
		Needs: Needs{Read: s.HasMetadata, Given: whole, Discards: !s.SoftDeletes && !s.KeepsHistory && !s.HasUnique},
	}).deletes()
}

// deletes completes the operation of a removal.
func (op *Op) deletes() *Op {
	s := op.Schema
	op.AlsoDeleted, op.SoftDeletes = s.SoftDeletes, s.SoftDeletes
	op.Context = s.Contexts != nil && (s.SoftDeletes || s.KeepsHistory) // otherwise no state remains
	op.Read = op.Read || s.SoftDeletes || s.KeepsHistory || s.HasUnique
	op.Plan = op.removal
	return op
}

// removal plans a Delete.
//
// Without a feature that takes part, it sends
//
//	delete  the item, if it exists and has not expired, is in the expected state, and meets the caller's conditions
//
// and a refusal shows what did not hold. Otherwise it is planned from the item that was read, and sends together
//
//	delete  the item, if it is as it was read and meets the caller's conditions   refused: see asRead
//	put     the deleted copy, with soft delete, if its key is free                refused: plan again
//	update  the copy before it, if there is one: it gets the write id             refused: plan again
//	put     the snapshots of the state that ends and, if no copy keeps it for     refused: plan again after the history
//	        ever, of the deleted state, with history, if they are absent          of another life
//	delete  the claim of each unique value, if it is the item's or free; with     refused: plan again, and leave the
//	        unique:"reserve" it is put for as long as the copy is kept            value to its owner
func (op *Op) removal(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
	s := op.Schema
	if !in.Read {
		return op.direct(in, Delete), nil
	}
	switch live := layout.Live(s, in.Image, in.Now); {
	case live:
	case !op.IfPresent:
		return nil, op.missing(in.Now)
	case !in.Joined:
		return Nothing(Result{}), nil
	default: // the transaction is applied only if there still is no item
		return &Plan{
			Actions: []Action{{Kind: Check, Table: op.Table, Key: op.Key, Cond: layout.AbsentOrExpired(s, in.Now)}},
			Meaning: &Fixed{IfRefused: Resolution{Replan: sentinel.ErrConflict}},
		}, nil
	}
	if err := op.CheckExpected(in.Image, in.Now); err != nil {
		return nil, err
	}
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return nil, err
	}
	m := &Mutation{Kind: Deleted, Op: op, In: in, Old: in.Image}
	main := []Action{{Kind: Delete, Table: op.Table, Key: op.Key, Cond: expr.All(guard, op.If), Pin: pin, Refusal: asRead{op}}}
	switch {
	case op.SoftDeletes:
		m.Kind = SoftDeleted
		deleter, _ := schema.Feature[SoftDeleter](s)
		moves, err := deleter.SoftDelete(m)
		if err != nil {
			return nil, err
		}
		main = append(main, moves...)
	case s.KeepsHistory:
		if err := m.SetDeleted(Later(s, m.Old, in.Now)); err != nil {
			return nil, err
		}
	}
	return Compose(*m, main, Result{Old: in.Image})
}

// existing is the Meaning of an action on an item that must exist, planned without reading it.
type existing struct{ op *Op }

// direct plans an action on the item, if it exists and has not expired, is in the expected state, and meets the caller's conditions.
func (op *Op) direct(in *Input, kind ActionKind) *Plan {
	returns := ReturnNothing
	if op.Old != nil {
		returns = ReturnOld
	}
	cond := expr.All(append(op.present(make([]expr.Cond, 0, 4), in.Now), op.If)...)
	p := &Plan{alone: [1]Action{{Kind: kind, Table: op.Table, Key: op.Key, Cond: cond, Returns: returns}}, Meaning: existing{op}}
	p.Actions = p.alone[:]
	return p
}

func (x existing) Refused(_ *Plan, f []Failure, in *Input) Resolution {
	switch live := layout.Live(x.op.Schema, f[0].Image, in.Now); {
	case !live && x.op.IfPresent:
		return Resolution{Result: &Result{}}
	case !live:
		return Resolution{Err: x.op.missing(in.Now)}
	}
	if err := x.op.CheckExpected(f[0].Image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	if x.op.otherwiseStored(f[0].Image) {
		in.Learned.ReadFirst = true
		return Resolution{Replan: sentinel.ErrConflict}
	}
	return Resolution{Err: sentinel.ErrConditionFailed}
}

func (existing) Applied(_ *Plan, r Returned, _ *Input) (Result, error) {
	return Result{Old: r.Image}, nil
}

// NewDeleteExpired plans what DynamoDB does at some time: the removal of other's item if it has expired. Nothing but that item is left
// of such an entity.
func NewDeleteExpired(other *Op) *Op {
	op := &Op{Verb: other.Verb, Schema: other.Schema, Table: other.Table, Key: other.Key, Asked: Asked{SoleWriter: true}}
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
		a := Action{Kind: Delete, Table: op.Table, Key: op.Key, Cond: layout.HasExpired(op.Schema, in.Now)}
		return &Plan{Actions: []Action{a}, Meaning: &Fixed{IfRefused: Skipped()}}, nil
	}
	return op
}

// NewCheckExists plans a check that an item exists and meets conditions.
func NewCheckExists(s *schema.Schema, table string, v reflect.Value, conds []bind.Cond) *Op {
	op := new(Op).Begin(s, table, "CheckExists", v, nil, &bind.Options{If: conds})
	op.ChecksOnly, op.Context = true, false
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) { return op.direct(in, Check), nil }
	return op
}

// NewCheckNotExists plans a check that there is no live item.
func NewCheckNotExists(s *schema.Schema, table string, v reflect.Value) *Op {
	op := new(Op).Begin(s, table, "CheckNotExists", v, nil, &bind.Options{})
	op.ChecksOnly, op.Context = true, false
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
		return &Plan{
			Actions: []Action{{Kind: Check, Table: table, Key: op.Key, Cond: layout.AbsentOrExpired(s, in.Now)}},
			Meaning: &Fixed{IfRefused: Resolution{Err: sentinel.ErrExists}},
		}, nil
	}
	return op
}
