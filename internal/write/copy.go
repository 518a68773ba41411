package write

import (
	"context"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Copying is what is due of the item under a key that is the copy of a source item, or is to be.
type Copying struct {
	Leave  bool      // nothing is written
	Item   item.Item // the copy without hidden attributes and index keys; nil: there is to be none
	Remove bool      // with no Item: the stored item is the copy, and is removed
	Fence  Fence     // of the source item
	Source string    // identifies the copy and the source item in write ids
}

// Fence is an item that every write of a copy depends on. It says until when copies may be written, and counts how often
// one was removed or found to be due nowhere. It is read before the source item.
type Fence struct {
	Key   item.Item
	Guard expr.Cond // holds while copies may be written, and the count is as it was read
	Count expr.Path // the attribute that counts
}

// check returns the part that lets a write through while the fence is as it was read.
func (f Fence) check(table string) Part {
	return Part{Action{Kind: Check, Table: table, Key: f.Key, Cond: f.Guard}, replanned}
}

// counted returns the part that counts, so that writes are refused that were planned before.
func (f Fence) counted(table string) Part {
	one := []expr.Change{{Kind: expr.Increment, Path: f.Count, Value: item.N("1")}}
	return Part{Action{Kind: Update, Table: table, Key: f.Key, Cond: f.Guard, Changes: one}, replanned}
}

// CopyID returns the write id of a copy. A program that writes the item replaces it, so the item is a copy as long as it has
// one.
func CopyID(source, id string) string { return source + "/" + id }

// NewCopy plans the write of the item under a key from what look finds to be due, after the item was read. The item keeps
// the version and the times that look gives it, and leaves no snapshot.
//
// The item and the fence are read before the source, and the write depends on both. So an image of the source never replaces
// what was made of a later one: that would have changed the item, or counted. The result is skipped if nothing is written. A value that another item claims is
// the error of the constraint.
func NewCopy(s *schema.Schema, table string, key item.Item, look func(context.Context, item.Item) (Copying, error)) *Op {
	op := &Op{Verb: "Copy", Schema: s, Table: table, Key: key, Read: true, SoleWriter: true, AsStored: true}
	PlanFrom(op, func(ctx context.Context, _ Reader, in *Input) (Copying, error) {
		return look(ctx, in.Image)
	}, func(in Input, x Copying) (Step, error) {
		switch {
		case x.Leave:
			return Step{Done: func(Returned) (Result, error) { return Result{Skipped: true}, nil }}, nil
		case x.Item != nil:
			return op.copied(in, x)
		}
		return op.uncopied(in, x)
	})
	return op
}

// copied puts the copy.
func (op *Op) copied(in Input, x Copying) (Step, error) {
	m := Mutation{Kind: Created, Op: op, In: in}
	cond, pin := op.Schema.Absent, expr.Cond{}
	if in.Image != nil {
		var err error
		if cond, pin, err = Unchanged(op.Schema, in.Image); err != nil {
			return Step{}, err
		}
		if Live(op.Schema, in.Image, in.Now) {
			m.Kind, m.Old = Updated, in.Image
		}
	}
	parts, err := op.copyParts(&m, x, cond, pin)
	if err != nil {
		return Step{}, err
	}
	return op.fenced(append(parts, x.Fence.check(op.Table)), Result{Item: m.New})
}

// copyParts returns the put of the copy that m makes, and the parts of its unique values.
func (op *Op) copyParts(m *Mutation, x Copying, cond, pin expr.Cond) ([]Part, error) {
	id := CopyID(x.Source, m.In.WriteID)
	it, err := complete(op.Schema, op.Key, Sized{Item: item.Clone(x.Item)}, Input{WriteID: id})
	if err != nil {
		return nil, err
	}
	m.New = it
	parts := []Part{{Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: cond, Pin: pin, WriteID: id}, replanned}}
	return op.uniqueParts(m, parts)
}

// uniqueParts appends the parts of the unique values of m.
func (op *Op) uniqueParts(m *Mutation, parts []Part) ([]Part, error) {
	for _, g := range UniqueConstraints(op.Schema) {
		more, err := g.Guard(m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// uncopied removes the copy, if there is one, and counts.
func (op *Op) uncopied(in Input, x Copying) (Step, error) {
	parts := []Part{x.Fence.counted(op.Table)}
	switch {
	case x.Remove:
		guard, pin, err := Unchanged(op.Schema, in.Image)
		if err != nil {
			return Step{}, err
		}
		parts = append([]Part{{Action{Kind: Delete, Table: op.Table, Key: op.Key, Cond: guard, Pin: pin}, replanned}}, parts...)
		if parts, err = op.uniqueParts(&Mutation{Kind: Deleted, Op: op, In: in, Old: in.Image}, parts); err != nil {
			return Step{}, err
		}
	case in.Image == nil: // and still is when the fence counts
		parts = append([]Part{{Action{Kind: Check, Table: op.Table, Key: op.Key, Cond: op.Schema.Absent}, replanned}}, parts...)
	}
	return op.fenced(parts, Result{Skipped: !x.Remove})
}

// fenced makes one step of parts.
func (op *Op) fenced(parts []Part, result Result) (Step, error) {
	step := Step{
		EntityActions: 1,
		Resolve:       func(f []Failure) Resolution { return resolveParts(parts, 1, f) },
		Done:          func(Returned) (Result, error) { return result, nil },
	}
	for _, p := range parts {
		step.Actions = append(step.Actions, p.Action)
	}
	return step, checkStep(op.Schema, step)
}

// NewCopyOf is a copy that is not stored yet.
type NewCopyOf struct {
	Key  item.Item
	Copy Copying
}

// NewCopies plans the puts of new copies with one fence in one transaction, which fails with ErrConditionFailed if a
// condition does not hold. As many as fit are written; taken is how many. The error is that of the first copy.
func NewCopies(s *schema.Schema, table string, now Input, copies []NewCopyOf) (op *Op, taken int, err error) {
	op = &Op{Verb: "Copy", Schema: s, Table: table, Key: copies[0].Key, SoleWriter: true, AsStored: true}
	refused := func(Failure) Resolution { return Resolution{Err: entitytype.ErrConditionFailed} }
	parts, used := []Part{copies[0].Copy.Fence.check(table)}, map[string]bool{}
	bytes := 0
	for _, c := range copies {
		one := &Op{Verb: op.Verb, Schema: s, Table: table, Key: c.Key}
		more, err := one.copyParts(&Mutation{Kind: Created, Op: one, In: now}, c.Copy, s.Absent, expr.Cond{})
		if err != nil && taken == 0 {
			return nil, 0, err
		}
		clash, size := err != nil, 0
		for _, p := range more {
			clash = clash || used[KeyID(p.Action.Key)]
			size += item.Size(p.Action.Item) + item.Size(p.Action.Key)
		}
		if clash || len(parts)+len(more) > MaxActions || bytes+size > MaxTransactionBytes/2 {
			break
		}
		for _, p := range more {
			used[KeyID(p.Action.Key)] = true
		}
		parts, bytes, taken = append(parts, more...), bytes+size, taken+1
	}
	for i := range parts {
		parts[i].Resolve = refused
	}
	op.Plan = func(Input) (Step, error) { return op.fenced(parts, Result{}) }
	return op, taken, nil
}

// NewFences plans writes of fences in one transaction, which fails with ErrConditionFailed if one of them is refused.
func NewFences(s *schema.Schema, table string, actions []Action) *Op {
	op := &Op{Verb: "Copy", Schema: s, Table: table, Key: actions[0].Key, SoleWriter: true, AsStored: true}
	op.Plan = func(Input) (Step, error) {
		parts := make([]Part, len(actions))
		for i, a := range actions {
			parts[i] = Part{a, func(Failure) Resolution { return Resolution{Err: entitytype.ErrConditionFailed} }}
		}
		return op.fenced(parts, Result{})
	}
	return op
}
