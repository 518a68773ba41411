package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// RestoreOption is accepted by Restore and RestoreCopy: entity.If, entity.Idempotent, versioned.Expect,
// versioned.AnyVersion, and any entity.ChangeOption.
type RestoreOption interface{ bind.RestoreOption }

// Restore makes the newest deleted copy current again, under the next version and with the given changes, and returns the item. It composes every
// key from the attributes and claims the unique values again. It costs two requests: a strongly consistent query and a
// transaction. Errors: entity.ErrNotFound if there is nothing to restore; entity.ErrNotDeleted if the item exists, and
// entity.ErrExists too if it also has a deleted copy; entity.ErrOmitted for a copy without its content; a *unique.ViolationError if another item has taken a unique
// value; entity.ErrConditionFailed for conditions on the copy; a *versioned.ConflictError; entity.ErrConflict.
func (d *Deleted[T]) Restore(ctx context.Context, key T, opts ...RestoreOption) (restored T, err error) {
	c := engine.Of(d)
	_, err = engine.Operation{Core: c, Op: newRestore(c, reflect.ValueOf(key), bind.Collect(opts), "")}.Run(ctx, &restored)
	return restored, err
}

// RestoreCopy is [Deleted.Restore] for a copy that Get, List, Query or Scan returned. With versioned.Retain it also
// reads the item's highest version, at two requests more, so that no version is used twice.
func (d *Deleted[T]) RestoreCopy(ctx context.Context, chosen DeletedItem[T], opts ...RestoreOption) (restored T, err error) {
	c := engine.Of(d)
	_, err = engine.Operation{Core: c, Op: restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, bind.Collect(opts))}.Run(ctx, &restored)
	return restored, err
}

// Op returns the restores as values.
func (d *Deleted[T]) Op() *Ops[T] { return &Ops[T]{engine.HandleOf(d)} }

// Ops makes restores as values, to be printed or joined in entity.DB.Transact.
type Ops[T any] struct{ handle }

// Restore is [Deleted.Restore] as a value.
func (o *Ops[T]) Restore(key T, opts ...RestoreOption) entity.Write[T] {
	c := engine.Of(o)
	return engine.NewWrite[T](engine.Operation{Core: c, Op: newRestore(c, reflect.ValueOf(key), bind.Collect(opts), "")})
}

// RestoreCopy is [Deleted.RestoreCopy] as a value.
func (o *Ops[T]) RestoreCopy(chosen DeletedItem[T], opts ...RestoreOption) entity.Write[T] {
	c := engine.Of(o)
	return engine.NewWrite[T](engine.Operation{Core: c, Op: restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, bind.Collect(opts))})
}

// restoreCopy plans the restore of the copy of v that was deleted at deletedAt.
func restoreCopy(c *engine.Core, v reflect.Value, deletedAt time.Time, spec *bind.Options) *plan.Op {
	_, format := layout.DeletedAttr(c.Schema)
	text, err := timeText(format, deletedAt)
	if err != nil || deletedAt.IsZero() {
		own := *spec
		own.Add(errNoCopy)
		spec, text = &own, ""
	}
	return newRestore(c, v, spec, text)
}

// restore plans the write that makes a deleted copy current again.
type restore struct {
	f   *softDelete
	op  *plan.Op
	key item.Item // primary key of the chosen copy; nil for the newest
}

// foundCopy is the copy to be restored, the newest copy if that is another one, which has expired or is of another
// spelling of the key, and the highest version in the item's history.
type foundCopy struct {
	copied  layout.Stored
	newest  layout.Stored
	version int64
}

// RestoreOp returns the operation of [Deleted.Restore] for a key of the entity's type.
func (*softDelete) RestoreOp(c *engine.Core, key reflect.Value, spec *bind.Options) *plan.Op {
	return newRestore(c, key, spec, "")
}

// newRestore plans the restore of a deleted copy. chosen is the text of its time in the sort key; "" is the newest copy.
func newRestore(c *engine.Core, v reflect.Value, spec *bind.Options, chosen string) *plan.Op {
	op := new(plan.Op).Begin(c.Schema, c.Table, "Restore", v, nil, spec)
	if op.MoveWith(spec.Changes); op.Err != nil {
		return op
	}
	f, _ := schema.Feature[*softDelete](c.Schema)
	r := &restore{f: f, op: op}
	if chosen != "" {
		r.key = layout.RelatedKey(c.Schema, op.Key, schema.CopyInfix+chosen)
	}
	op.More, op.Plan = true, r.plan
	return op
}

// read finds the copy. Without a copy, the error says whether the item exists.
func (r *restore) read(ctx context.Context, reader layout.Reader, in *plan.Input) (foundCopy, error) {
	s := r.op.Schema
	var newest, copied layout.Stored
	var err error
	if r.key == nil {
		newest, copied, err = plan.ReadNewest(ctx, reader, r.op, schema.CopyInfix, in.Now, true)
	} else if copied, err = layout.GetItem(ctx, reader, s, r.op.Table, r.key); layout.Expired(s, copied.Raw, in.Now) {
		copied = layout.Stored{}
	}
	if err == nil && copied.Raw == nil {
		newest, copied, err = r.search(ctx, reader, in)
	}
	if err != nil {
		return foundCopy{}, err
	}
	if r.key != nil || maps.EqualFunc(layout.KeyOf(s, newest.Raw), layout.KeyOf(s, copied.Raw), item.Equal) {
		newest = layout.Stored{}
	}
	found := foundCopy{copied, newest, layout.StoredVersion(s, copied.Item)}
	_, expires := copied.Raw[s.Options.TTL]
	if s.KeepsHistory && (r.key != nil || expires != (r.f.ttl > 0)) {
		// The copy may not be the newest state: copies of later deletes may have expired before this one.
		past, err := plan.ReadPast(ctx, reader, r.op, in.Now)
		if err != nil {
			return foundCopy{}, err
		}
		found.version = max(found.version, past.Version)
	}
	return found, nil
}

// search looks again for the copy and for the item, which other deletes and restores may be moving at this moment. One query reads both
// places. DynamoDB may apply a transaction while the query runs, so only a second query that finds neither proves that there is nothing.
func (r *restore) search(ctx context.Context, reader layout.Reader, in *plan.Input) (newest, copied layout.Stored, err error) {
	s := r.op.Schema
	for range 2 {
		current, newest, copied, err := plan.ReadItemAndCopy(ctx, reader, r.op, r.key, in.Now)
		switch {
		case err != nil || copied.Raw != nil:
			return newest, copied, err
		case layout.Live(s, current.Raw, in.Now):
			if err := plan.CaseError(s, r.op.Parts, current.Item); err != nil {
				return newest, copied, err
			}
			return newest, copied, sentinel.ErrNotDeleted
		}
	}
	if err := r.op.CheckExpected(nil, in.Now); err != nil {
		return newest, copied, err
	}
	return newest, copied, sentinel.ErrNotFound
}

// plan sends together
//
//	delete  the copy, if it is as it was read and meets the caller's conditions   refused: they do not hold, or plan again
//	put     the item, if it is absent                                             refused: the item is not deleted
//	check   the newest copy, if that is another: it is as it was read             refused: plan again
//	put     the snapshot of the deleted state, with history, if it is absent      refused: plan again after the history of
//	                                                                              another life
//	put     the claim of each unique value, if it is free, has ended or is the    refused: a violation
//	        item's
func (r *restore) plan(ctx context.Context, reader layout.Reader, in *plan.Input) (*plan.Plan, error) {
	s := r.op.Schema
	found, err := r.read(ctx, reader, in)
	if err != nil {
		return nil, err
	}
	if err := plan.CaseError(s, r.op.Parts, found.copied.Item); err != nil {
		return nil, err
	}
	if err := cmp.Or(r.op.CheckExpected(found.copied.Item, in.Now), bind.Omitted(s, found.copied.Item)); err != nil {
		return nil, err
	}
	m := &plan.Mutation{Kind: plan.Restored, Op: r.op, In: in, Copy: found.copied.Item, DeletedState: item.Clone(found.copied.Item)}
	for name, av := range r.op.Key {
		m.DeletedState[name] = av
	}
	delete(m.DeletedState, schema.KindAttr)
	delete(m.DeletedState, s.Options.TTL)
	if m.New, err = r.restoredItem(m, max(found.version, in.Past.Version), in); err != nil {
		return nil, err
	}
	user, err := r.condition(found.copied)
	if err != nil {
		return nil, err
	}
	guard, pin, err := plan.Unchanged(s, found.copied.Raw)
	if err != nil {
		return nil, err
	}
	main := []plan.Action{
		{Kind: plan.Delete, Table: r.op.Table, Key: layout.KeyOf(s, found.copied.Raw), Cond: expr.All(guard, user), Pin: pin, Refusal: &copyLost{s, found.copied.Raw}},
		{Kind: plan.Put, Table: r.op.Table, Key: r.op.Key, Item: m.New, Cond: s.Absent, WriteID: plan.WriteID(s, in), Refusal: plan.Means{Err: fmt.Errorf("%w: %w", sentinel.ErrNotDeleted, sentinel.ErrExists)}},
	}
	if found.newest.Raw != nil && s.HasMetadata { // a delete marks the newest copy, whatever it is
		unmarked, pin, err := plan.Unchanged(s, found.newest.Raw)
		if err != nil {
			return nil, err
		}
		main = append(main, plan.Action{Kind: plan.Check, Table: r.op.Table, Key: layout.KeyOf(s, found.newest.Raw), Cond: unmarked, Pin: pin, Refusal: plan.Again})
	}
	released := r.op.GivenUp(in, found.copied.Raw, m.New)
	p, err := plan.Compose(*m, append(main[:len(main):len(main)], released...), plan.Result{Item: m.New})
	if err != nil {
		return nil, err
	}
	p.EntityActions = len(main)
	return p, nil
}

// condition returns the caller's conditions on the copy that was read. They are about today's form of it, so on a copy that is
// stored in an earlier form they are evaluated here: the guard of the write holds only while the copy is as it was read.
func (r *restore) condition(copied layout.Stored) (expr.Cond, error) {
	s := r.op.Schema
	if !layout.Outdated(s, copied.Raw) {
		return r.op.If, nil
	}
	if err := bind.InMemory(s, r.op.If, "a restore of a copy of an earlier payload version"); err != nil {
		return expr.Cond{}, err
	}
	if !r.op.If.Holds(copied.Item) {
		return expr.Cond{}, &plan.Refused{Class: sentinel.ErrConditionFailed, Schema: s, Image: copied.Raw, Which: layout.FailedPart(s, r.op.If, copied.Item)}
	}
	return expr.Cond{}, nil
}

// restoredItem makes the current item from the deleted state. It composes every key from the attributes.
func (r *restore) restoredItem(m *plan.Mutation, version int64, in *plan.Input) (item.Item, error) {
	s := r.op.Schema
	it, err := r.op.Moved(m.DeletedState)
	if err != nil {
		return nil, err
	}
	name, _ := layout.DeletedAttr(s)
	delete(it, name)
	if err := in.SetUpdated(s, it, plan.Later(s, m.DeletedState, in.Now)); err != nil {
		return nil, err
	}
	layout.SetVersion(s, it, version+1)
	if err := bind.ComposeIndexKeys(s, it, nil); err != nil {
		return nil, err
	}
	if s.HasMetadata { // the payload version remains that of the content
		it[schema.WriteAttr], it[schema.OpAttr] = item.S(in.WriteID), item.S("restore")
	}
	return it, bind.CheckSize(s, item.Size(it)-item.KeptBytes) // an item of the largest size comes back
}

// copyLost is the Refusal of the delete of the copy: another write removed or replaced it, or the caller's condition did not hold.
type copyLost struct {
	s      *schema.Schema
	copied item.Item
}

func (x *copyLost) Refused(f plan.Failure, _ *plan.Input) plan.Resolution {
	if layout.SameState(x.s, x.copied, f.Image) {
		return plan.Resolution{Err: sentinel.ErrConditionFailed}
	}
	return plan.Resolution{Replan: sentinel.ErrConflict}
}

// errNoCopy is the error of a DeletedItem without the time that its key contains.
var errNoCopy = errors.New("the deleted item has no time of deletion; use one that Get or a query returned")
