package write

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Rewriting is what a stored item should be.
type Rewriting struct {
	Item    item.Item // nil: it stays as it is
	Current bool      // it is a current item
	// SameState says that only the form of the item changes. It keeps its write id, by which its snapshot is known.
	SameState bool
	Claims    []UniqueConstraint // constraints under which the item has a value that nothing claims
}

// empty reports whether there is nothing to write.
func (rw Rewriting) empty() bool { return rw.Item == nil && len(rw.Claims) == 0 }

// ClaimsOf returns the puts of the sentinels that claim the values of a stored item with the key of op, under the
// constraints in claims.
func ClaimsOf(op *Op, in Input, it item.Item, claims []UniqueConstraint) (parts []Part, err error) {
	for _, g := range claims {
		more, err := g.Guard(&Mutation{Kind: Created, Op: op, In: in, New: it})
		if err != nil {
			return nil, err
		}
		parts = append(parts, more...)
	}
	return parts, nil
}

// differences returns the changes of attributes that turn one item into another.
func differences(was, is item.Item) []expr.Change {
	var changes []expr.Change
	for _, name := range slices.Sorted(maps.Keys(is)) {
		if !item.Equal(was[name], is[name]) {
			changes = append(changes, expr.Change{Kind: expr.Set, Path: expr.Attr(name), Value: is[name]})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, ok := is[name]; !ok {
			changes = append(changes, expr.Change{Kind: expr.Remove, Path: expr.Attr(name)})
		}
	}
	return changes
}

// NewRewrite plans the write of what bring makes of a stored item of s, current or related. The item is as image when it
// is planned first, and is read again if it was written meanwhile. A current item gets a new write id, so that a write that
// was planned from the old state is planned again. A related item keeps its own: it says which write the item is of. With
// newVersion, the write of a current item is an update: it gets a version and a time, and leaves a snapshot.
//
// A value that another item claims is the error of the constraint. The result is skipped if nothing is to be written.
func NewRewrite(s *schema.Schema, table string, image item.Item, newVersion bool, bring func(context.Context, Reader, item.Item) (Rewriting, error)) *Op {
	op := &Op{Verb: "Rewrite", Schema: s, Table: table, Key: KeyOf(s, image), Asked: Asked{SoleWriter: true}, Needs: Needs{Read: true, Given: image, AsStored: true}}
	op.Context = newVersion && s.Contexts != nil
	PlanFrom(op, func(ctx context.Context, r Reader, in *Input) (Rewriting, error) {
		if in.Image == nil {
			return Rewriting{}, nil
		}
		return bring(ctx, r, in.Image)
	}, func(in Input, rw Rewriting) (Step, error) {
		if rw.empty() {
			return Nothing(Result{Skipped: true}), nil
		}
		if rw.Item != nil && newVersion && rw.Current {
			return op.renewed(in, rw)
		}
		return op.rewritten(in, rw)
	})
	return op
}

// renewed writes the item as an update does.
func (op *Op) renewed(in Input, rw Rewriting) (Step, error) {
	guard, pin, err := Unchanged(op.Schema, in.Image)
	if err != nil {
		return Step{}, err
	}
	released, err := op.GivenUp(in, in.Image, rw.Item)
	if err != nil {
		return Step{}, err
	}
	stored, err := Open(op.Schema, in.Image)
	if err != nil {
		return Step{}, err
	}
	in.Image = stored.Item
	it, err := rewrite(op.Schema, in, differences(in.Image, rw.Item), OnRewrite)
	if err != nil {
		return Step{}, err
	}
	main := Part{
		Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: guard, WriteID: WriteID(op.Schema, in), Pin: pin},
		Replanned,
	}
	claims, err := ClaimsOf(op, in, it, rw.Claims)
	if err != nil {
		return Step{}, err
	}
	step, err := Compose(&Mutation{Kind: Updated, Op: op, In: in, Old: in.Image, New: it}, slices.Concat([]Part{main}, claims, released), StoredResult(it))
	step.EntityActions = 1
	return step, err
}

// Replanned resolves the failure of an action that is guarded by what was read.
func Replanned(Failure) Resolution { return Resolution{Replan: entitytype.ErrConflict} }

// rewritten changes the attributes that differ, without a trace in version, time and history.
func (op *Op) rewritten(in Input, rw Rewriting) (Step, error) {
	s := op.Schema
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	main := Action{Kind: Check, Table: op.Table, Key: op.Key, Cond: guard, Pin: pin}
	after := in.Image
	if rw.Item != nil {
		after = rw.Item
	}
	released, err := op.GivenUp(in, in.Image, after)
	if err != nil {
		return Step{}, err
	}
	if rw.Item != nil {
		after = item.Clone(rw.Item)
		main.Kind = Update
		_, had := in.Image[schema.WriteAttr]
		renew := rw.Current && !rw.SameState || len(released) > 0 // an earlier program must not write what it planned with the claim
		if s.HasMetadata && (renew || !had) {
			after[schema.WriteAttr], main.WriteID = item.S(in.WriteID), in.WriteID
		}
		if !had || !renew {
			main.Pin = expr.Cond{} // the guard can hold after the write too, which has the same effect when it is repeated
		}
		main.Changes = differences(in.Image, after)
	}
	claims, err := ClaimsOf(op, in, after, rw.Claims)
	if err != nil {
		return Step{}, err
	}
	parts := slices.Concat([]Part{{main, Replanned}}, claims, released)
	step, err := StepOf(s, parts, len(parts), StoredResult(after))
	step.EntityActions = 1
	return step, errors.Join(err, CheckSize(s, after))
}
