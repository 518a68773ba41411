package plan

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// Rewriting describes the item that should be stored.
type Rewriting struct {
	Item    item.Item // nil: it stays as it is; an event with another key is moved there
	Current bool      // it is a current item
	// SameState says that only the form of the item changes. It keeps its write id, by which its snapshot is known.
	SameState bool
	Claims    []UniqueConstraint // constraints under which the item has a value that nothing claims
	carried   []Action           // that move the claims of a current item from an earlier form to Item
}

// ClaimsOf returns the puts of the sentinels that claim the values of a stored item with the key of op, under the constraints in claims.
func ClaimsOf(op *Op, in *Input, it item.Item, claims []UniqueConstraint) (parts []Action, err error) {
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
func NewRewrite(s *schema.Schema, table string, image item.Item, newVersion bool, bring func(context.Context, layout.Reader, item.Item) (Rewriting, error)) *Op {
	op := &Op{Verb: "Rewrite", Schema: s, Table: table, Key: layout.KeyOf(s, image), Asked: Asked{SoleWriter: true}, Needs: Needs{Read: true, Given: image, AsStored: true, More: true}}
	op.Context = newVersion && s.Contexts != nil
	op.Plan = func(ctx context.Context, r layout.Reader, in *Input) (*Plan, error) {
		var rw Rewriting
		var err error
		if in.Image != nil {
			rw, err = bring(ctx, r, in.Image)
		}
		if err == nil && rw.Item != nil && rw.Current {
			rw.carried, err = op.carried(ctx, r, in, rw.Item, rw.Claims)
		}
		switch {
		case err != nil:
			return nil, err
		case rw.Item == nil && len(rw.Claims) == 0:
			return Nothing(Result{Skipped: true}), nil
		case rw.Item != nil && newVersion && rw.Current:
			return op.renewed(in, rw)
		}
		return op.rewritten(ctx, r, in, rw)
	}
	return op
}

// ErrEventTaken is the error of an event that cannot be moved to its new key.
var ErrEventTaken = errors.New("another event has the new key")

// moved puts an event under its new key and deletes it under the old one. If the same event is there already, it is only deleted.
func (op *Op) moved(ctx context.Context, r layout.Reader, in *Input, old Action, event item.Item) (*Plan, error) {
	s, key := op.Schema, layout.KeyOf(op.Schema, event)
	there, err := layout.GetItem(ctx, r, s, op.Table, key)
	if err != nil {
		return nil, err
	}
	old.Kind, old.Changes, old.WriteID, old.Pin = Delete, nil, "", nil
	put := Action{Kind: Put, Table: op.Table, Key: key, Item: event, Cond: s.Absent, Refusal: Again}
	if there.Raw != nil {
		if put.Cond, _, err = Unchanged(s, there.Raw); err != nil {
			return nil, err
		}
		if !layout.Expired(s, there.Raw, in.Now) {
			put.Kind, put.Item = Check, nil
			for _, a := range s.Attrs {
				if a.Append && !item.Equal(there.Item[a.Name], event[a.Name]) {
					return nil, ErrEventTaken
				}
			}
		}
	}
	p := Join([]Action{old, put}, 2, Result{Item: event})
	p.EntityActions = 1
	return p, bind.CheckSize(s, item.Size(event))
}

// renewed writes the item as an update does.
func (op *Op) renewed(in *Input, rw Rewriting) (*Plan, error) {
	guard, pin, err := Unchanged(op.Schema, in.Image)
	if err != nil {
		return nil, err
	}
	stored, err := layout.Open(op.Schema, in.Image)
	if err != nil {
		return nil, err
	}
	in.Image = stored.Item
	it, err := in.rewrite(op.Schema, differences(in.Image, rw.Item), bind.OnRewrite)
	if err != nil {
		return nil, err
	}
	main := Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: guard, WriteID: WriteID(op.Schema, in), Pin: pin, Refusal: Again}
	claims, err := ClaimsOf(op, in, it, rw.Claims)
	if err != nil {
		return nil, err
	}
	own := slices.Concat([]Action{main}, claims, rw.carried)
	p, err := Compose(Mutation{Kind: Updated, Op: op, In: in, Old: in.Image, New: it}, own, Result{Item: it})
	if err != nil {
		return nil, err
	}
	p.EntityActions = 1
	p.Actions = append(own, slices.DeleteFunc(p.Actions[len(own):], func(a Action) bool { // a claim that ends with the item may be in own
		return slices.ContainsFunc(own, func(b Action) bool { return maps.EqualFunc(a.Key, b.Key, item.Equal) })
	})...)
	return p, nil
}

// rewritten changes the attributes that differ, without a trace in version, time and history.
func (op *Op) rewritten(ctx context.Context, r layout.Reader, in *Input, rw Rewriting) (*Plan, error) {
	s := op.Schema
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return nil, err
	}
	main := Action{Kind: Check, Table: op.Table, Key: op.Key, Cond: guard, Pin: pin, Refusal: Again}
	after := in.Image
	if rw.Item != nil {
		after = item.Clone(rw.Item)
		main.Kind = Update
		_, had := in.Image[schema.WriteAttr]
		renew := rw.Current && !rw.SameState || rw.carried != nil // an earlier program must not write what it planned with the claim
		if s.HasMetadata && (renew || !had) {
			after[schema.WriteAttr], main.WriteID = item.S(in.WriteID), in.WriteID
		}
		if !had || !renew {
			main.Pin = nil // the guard can hold after the write too, which has the same effect when it is repeated
		}
		main.Changes = differences(in.Image, after)
	}
	if layout.KeyID(layout.KeyOf(s, after)) != layout.KeyID(op.Key) {
		return op.moved(ctx, r, in, main, after)
	}
	claims, err := ClaimsOf(op, in, after, rw.Claims)
	if err != nil {
		return nil, err
	}
	parts := slices.Concat([]Action{main}, claims, rw.carried)
	p := Join(parts, len(parts), Result{Item: after})
	p.EntityActions = 1
	return p, bind.CheckSize(s, item.Size(after))
}
