package migrate

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// copying says what is due of the item under a key that holds, or will hold, the copy of a source item.
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

// check returns the action that lets a write through while the fence is as it was read.
func (f fence) check(table string) plan.Action {
	return guarded(plan.Action{Kind: plan.Check, Table: table, Key: f.Key, Cond: f.Guard})
}

// counted returns the action that counts, so that writes are refused that were planned before.
func (f fence) counted(table string) plan.Action {
	one := []expr.Change{{Kind: expr.Add, Path: f.Count, Value: item.N("1")}}
	return guarded(plan.Action{Kind: plan.Update, Table: table, Key: f.Key, Cond: f.Guard, Changes: one})
}

// guarded returns the action for an action that is guarded by what was read.
func guarded(a plan.Action) plan.Action {
	a.Refusal = plan.Again
	return a
}

// copyID returns the write id of a copy. A program that writes the item replaces it, so the item is a copy as long as it has
// one.
func copyID(source, id string) string { return source + "/" + id }

// newCopy plans the write of the item under a key from what look finds to be due, after the item was read. The item keeps
// the version and the times that look gives it, and leaves no snapshot.
//
// The item and the fence are read before the source, and the write depends on both. So an image of the source never replaces
// what was made of a later one: that would have changed the item, or counted. The result is skipped if nothing is written. A value that
// another item claims is the error of the constraint.
func newCopy(s *schema.Schema, table string, key item.Item, look func(context.Context, item.Item) (copying, error)) *plan.Op {
	op := &plan.Op{Verb: "Copy", Schema: s, Table: table, Key: key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{Read: true, AsStored: true, More: true}}
	op.Plan = func(ctx context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
		x, err := look(ctx, in.Image)
		switch {
		case err != nil:
			return nil, err
		case x.leave:
			return plan.Nothing(plan.Result{Skipped: true}), nil
		case x.Item != nil:
			return copied(op, in, x)
		}
		return uncopied(op, in, x)
	}
	return op
}

// copied puts the copy.
func copied(op *plan.Op, in *plan.Input, x copying) (*plan.Plan, error) {
	m := plan.Mutation{Kind: plan.Created, Op: op, In: in}
	cond, pin := op.Schema.Absent, (*expr.Cond)(nil)
	if in.Image != nil {
		var err error
		if cond, pin, err = plan.Unchanged(op.Schema, in.Image); err != nil {
			return nil, err
		}
		if layout.Live(op.Schema, in.Image, in.Now) {
			m.Kind, m.Old = plan.Updated, in.Image
		}
	}
	parts, err := copyParts(op, &m, x, cond, pin)
	if err != nil {
		return nil, err
	}
	return plan.Join(append(parts, x.fence.check(op.Table)), 1, plan.Result{Item: m.New}), nil
}

// copyParts returns the put of the copy that m makes, and the actions on its unique values.
func copyParts(op *plan.Op, m *plan.Mutation, x copying, cond expr.Cond, pin *expr.Cond) ([]plan.Action, error) {
	id := copyID(x.source, m.In.WriteID)
	it, err := plan.Complete(op.Schema, op.Key, item.Clone(x.Item), id)
	if err != nil {
		return nil, err
	}
	m.New = it
	parts := []plan.Action{guarded(plan.Action{Kind: plan.Put, Table: op.Table, Key: op.Key, Item: it, Cond: cond, Pin: pin, WriteID: id})}
	return uniqueParts(op, m, parts)
}

// uniqueParts appends the actions on the unique values of m.
func uniqueParts(op *plan.Op, m *plan.Mutation, parts []plan.Action) ([]plan.Action, error) {
	for _, g := range plan.UniqueConstraints(op.Schema) {
		more, err := g.Guard(m)
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// uncopied removes the copy, if there is one, and counts.
func uncopied(op *plan.Op, in *plan.Input, x copying) (*plan.Plan, error) {
	parts := []plan.Action{x.fence.counted(op.Table)}
	switch {
	case x.remove:
		guard, pin, err := plan.Unchanged(op.Schema, in.Image)
		if err != nil {
			return nil, err
		}
		parts = append([]plan.Action{guarded(plan.Action{Kind: plan.Delete, Table: op.Table, Key: op.Key, Cond: guard, Pin: pin})}, parts...)
		if parts, err = uniqueParts(op, &plan.Mutation{Kind: plan.Deleted, Op: op, In: in, Old: in.Image}, parts); err != nil {
			return nil, err
		}
	case in.Image == nil: // and still is when the fence counts
		parts = append([]plan.Action{guarded(plan.Action{Kind: plan.Check, Table: op.Table, Key: op.Key, Cond: op.Schema.Absent})}, parts...)
	}
	return plan.Join(parts, 1, plan.Result{Skipped: !x.remove}), nil
}

// newCopyOf is a copy that is not stored yet.
type newCopyOf struct {
	Key  item.Item
	Copy copying
}

// newCopies plans the puts of new copies with one fence in one transaction, which fails with ErrConditionFailed if a
// condition does not hold. As many as fit are written; taken is how many. The error is that of the first copy.
func newCopies(s *schema.Schema, table string, now *plan.Input, copies []newCopyOf) (op *plan.Op, taken int, err error) {
	op = &plan.Op{Verb: "Copy", Schema: s, Table: table, Key: copies[0].Key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true}}
	parts, used := []plan.Action{copies[0].Copy.fence.check(table)}, map[string]bool{}
	bytes := 0
	for _, c := range copies {
		one := &plan.Op{Verb: op.Verb, Schema: s, Table: table, Key: c.Key}
		more, err := copyParts(one, &plan.Mutation{Kind: plan.Created, Op: one, In: now}, c.Copy, s.Absent, nil)
		if err != nil && taken == 0 {
			return nil, 0, err
		}
		clash, size := err != nil, 0
		for _, p := range more {
			clash = clash || used[layout.KeyID(p.Key)]
			size += item.Size(p.Item) + item.Size(p.Key)
		}
		if clash || len(parts)+len(more) > plan.MaxActions || bytes+size > plan.MaxTransactionBytes/2 {
			break
		}
		for _, p := range more {
			used[layout.KeyID(p.Key)] = true
		}
		parts, bytes, taken = append(parts, more...), bytes+size, taken+1
	}
	for i := range parts {
		parts[i].Refusal = refused
	}
	op.Plan = func(context.Context, layout.Reader, *plan.Input) (*plan.Plan, error) {
		return plan.Join(parts, 1, plan.Result{}), nil
	}
	return op, taken, nil
}

// refused is the Refusal of actions that are planned once.
var refused = plan.Means{Err: sentinel.ErrConditionFailed}

// newFences plans writes of fences in one transaction, which fails with ErrConditionFailed if one of them is refused.
func newFences(s *schema.Schema, table string, actions []plan.Action) *plan.Op {
	op := &plan.Op{Verb: "Copy", Schema: s, Table: table, Key: actions[0].Key, Asked: plan.Asked{SoleWriter: true}, Needs: plan.Needs{AsStored: true}}
	op.Plan = func(context.Context, layout.Reader, *plan.Input) (*plan.Plan, error) {
		parts := make([]plan.Action, len(actions))
		for i, a := range actions {
			parts[i], parts[i].Refusal = a, refused
		}
		return plan.Join(parts, 1, plan.Result{}), nil
	}
	return op
}
