package migrate

import (
	"context"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// copying is what is due of the item under a key that is the copy of a source item, or is to be.
type copying struct {
	leave  bool      // nothing is written
	Item   item.Item // the copy without hidden attributes and index keys; nil: there is to be none
	remove bool      // with no Item: the stored item is the copy, and is removed
	fence  fence     // of the source item
	source string    // identifies the copy and the source item in write ids
}

// fence is an item that every write of a copy depends on. It says until when copies may be written, and counts how often
// one was removed or found to be due nowhere. It is read before the source item.
type fence struct {
	Key   item.Item
	Guard expr.Cond // holds while copies may be written, and the count is as it was read
	Count expr.Path // the attribute that counts
}

// check returns the part that lets a write through while the fence is as it was read.
func (f fence) check(table string) write.Part {
	return guarded(write.Action{Kind: write.Check, Table: table, Key: f.Key, Cond: f.Guard})
}

// counted returns the part that counts, so that writes are refused that were planned before.
func (f fence) counted(table string) write.Part {
	one := []expr.Change{{Kind: expr.Add, Path: f.Count, Value: item.N("1")}}
	return guarded(write.Action{Kind: write.Update, Table: table, Key: f.Key, Cond: f.Guard, Changes: one})
}

// guarded returns the part for an action that is guarded by what was read.
func guarded(a write.Action) write.Part { return write.Part{Action: a, Resolve: write.Replanned} }

// copyID returns the write id of a copy. A program that writes the item replaces it, so the item is a copy as long as it has
// one.
func copyID(source, id string) string { return source + "/" + id }

// newCopy plans the write of the item under a key from what look finds to be due, after the item was read. The item keeps
// the version and the times that look gives it, and leaves no snapshot.
//
// The item and the fence are read before the source, and the write depends on both. So an image of the source never replaces
// what was made of a later one: that would have changed the item, or counted. The result is skipped if nothing is written. A value that
// another item claims is the error of the constraint.
func newCopy(s *schema.Schema, table string, key item.Item, look func(context.Context, item.Item) (copying, error)) *write.Op {
	op := &write.Op{Verb: "Copy", Schema: s, Table: table, Key: key, Asked: write.Asked{SoleWriter: true}, Needs: write.Needs{Read: true, AsStored: true}}
	write.PlanFrom(op, func(ctx context.Context, _ write.Reader, in *write.Input) (copying, error) {
		return look(ctx, in.Image)
	}, func(in write.Input, x copying) (write.Step, error) {
		switch {
		case x.leave:
			return write.Nothing(write.Result{Skipped: true}), nil
		case x.Item != nil:
			return copied(op, in, x)
		}
		return uncopied(op, in, x)
	})
	return op
}

// copied puts the copy.
func copied(op *write.Op, in write.Input, x copying) (write.Step, error) {
	m := write.Mutation{Kind: write.Created, Op: op, In: in}
	cond, pin := op.Schema.Absent, expr.Cond{}
	if in.Image != nil {
		var err error
		if cond, pin, err = write.Unchanged(op.Schema, in.Image); err != nil {
			return write.Step{}, err
		}
		if write.Live(op.Schema, in.Image, in.Now) {
			m.Kind, m.Old = write.Updated, in.Image
		}
	}
	parts, err := copyParts(op, &m, x, cond, pin)
	if err != nil {
		return write.Step{}, err
	}
	return write.StepOf(op.Schema, append(parts, x.fence.check(op.Table)), 1, write.Result{Item: m.New})
}

// copyParts returns the put of the copy that m makes, and the parts of its unique values.
func copyParts(op *write.Op, m *write.Mutation, x copying, cond, pin expr.Cond) ([]write.Part, error) {
	id := copyID(x.source, m.In.WriteID)
	it, err := write.Complete(op.Schema, op.Key, write.Sized{Item: item.Clone(x.Item)}, write.Input{WriteID: id})
	if err != nil {
		return nil, err
	}
	m.New = it
	parts := []write.Part{guarded(write.Action{Kind: write.Put, Table: op.Table, Key: op.Key, Item: it, Cond: cond, Pin: pin, WriteID: id})}
	return uniqueParts(op, m, parts)
}

// uniqueParts appends the parts of the unique values of m.
func uniqueParts(op *write.Op, m *write.Mutation, parts []write.Part) ([]write.Part, error) {
	for _, g := range write.UniqueConstraints(op.Schema) {
		more, err := g.Guard(m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// uncopied removes the copy, if there is one, and counts.
func uncopied(op *write.Op, in write.Input, x copying) (write.Step, error) {
	parts := []write.Part{x.fence.counted(op.Table)}
	switch {
	case x.remove:
		guard, pin, err := write.Unchanged(op.Schema, in.Image)
		if err != nil {
			return write.Step{}, err
		}
		parts = append([]write.Part{guarded(write.Action{Kind: write.Delete, Table: op.Table, Key: op.Key, Cond: guard, Pin: pin})}, parts...)
		if parts, err = uniqueParts(op, &write.Mutation{Kind: write.Deleted, Op: op, In: in, Old: in.Image}, parts); err != nil {
			return write.Step{}, err
		}
	case in.Image == nil: // and still is when the fence counts
		parts = append([]write.Part{guarded(write.Action{Kind: write.Check, Table: op.Table, Key: op.Key, Cond: op.Schema.Absent})}, parts...)
	}
	return write.StepOf(op.Schema, parts, 1, write.Result{Skipped: !x.remove})
}

// newCopyOf is a copy that is not stored yet.
type newCopyOf struct {
	Key  item.Item
	Copy copying
}

// newCopies plans the puts of new copies with one fence in one transaction, which fails with ErrConditionFailed if a
// condition does not hold. As many as fit are written; taken is how many. The error is that of the first copy.
func newCopies(s *schema.Schema, table string, now write.Input, copies []newCopyOf) (op *write.Op, taken int, err error) {
	op = &write.Op{Verb: "Copy", Schema: s, Table: table, Key: copies[0].Key, Asked: write.Asked{SoleWriter: true}, Needs: write.Needs{AsStored: true}}
	refused := func(write.Failure) write.Resolution { return write.Resolution{Err: entitytype.ErrConditionFailed} }
	parts, used := []write.Part{copies[0].Copy.fence.check(table)}, map[string]bool{}
	bytes := 0
	for _, c := range copies {
		one := &write.Op{Verb: op.Verb, Schema: s, Table: table, Key: c.Key}
		more, err := copyParts(one, &write.Mutation{Kind: write.Created, Op: one, In: now}, c.Copy, s.Absent, expr.Cond{})
		if err != nil && taken == 0 {
			return nil, 0, err
		}
		clash, size := err != nil, 0
		for _, p := range more {
			clash = clash || used[write.KeyID(p.Action.Key)]
			size += item.Size(p.Action.Item) + item.Size(p.Action.Key)
		}
		if clash || len(parts)+len(more) > write.MaxActions || bytes+size > write.MaxTransactionBytes/2 {
			break
		}
		for _, p := range more {
			used[write.KeyID(p.Action.Key)] = true
		}
		parts, bytes, taken = append(parts, more...), bytes+size, taken+1
	}
	for i := range parts {
		parts[i].Resolve = refused
	}
	op.Planner = write.PlanFunc(func(write.Input) (write.Step, error) { return write.StepOf(op.Schema, parts, 1, write.Result{}) })
	return op, taken, nil
}

// newFences plans writes of fences in one transaction, which fails with ErrConditionFailed if one of them is refused.
func newFences(s *schema.Schema, table string, actions []write.Action) *write.Op {
	op := &write.Op{Verb: "Copy", Schema: s, Table: table, Key: actions[0].Key, Asked: write.Asked{SoleWriter: true}, Needs: write.Needs{AsStored: true}}
	op.Planner = write.PlanFunc(func(write.Input) (write.Step, error) {
		parts := make([]write.Part, len(actions))
		for i, a := range actions {
			parts[i] = write.Part{Action: a, Resolve: func(write.Failure) write.Resolution { return write.Resolution{Err: entitytype.ErrConditionFailed} }}
		}
		return write.StepOf(op.Schema, parts, 1, write.Result{})
	})
	return op
}
