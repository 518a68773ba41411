package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Restore makes the newest deleted copy current again, under the version after the copy's, and returns the item; every
// key is composed again, and unique values are claimed again. It costs two requests: a consistent query and a
// transaction. Errors: entity.ErrNotFound when there is nothing to restore; entity.ErrNotDeleted when the item is there,
// entity.ErrExists too when there is a copy beside it; a *unique.ViolationError when another item has a unique value
// by now; entity.ErrConditionFailed, for conditions on the copy; a *versioned.ConflictError; entity.ErrConflict.
func (d *Deleted[T]) Restore(ctx context.Context, key T, opts ...entity.WriteOption) (restored T, err error) {
	c := core.Of(d)
	err = core.ItemOperation(c, newRestore(c, reflect.ValueOf(key), opt.Writes(opts), "")).Run(ctx, &restored)
	return restored, err
}

// RestoreCopy is [Deleted.Restore] of a chosen copy, as Get or List returned it. Under versioned.Retain it reads the highest
// version too, so that no version is given twice.
func (d *Deleted[T]) RestoreCopy(ctx context.Context, chosen DeletedItem[T], opts ...entity.WriteOption) (restored T, err error) {
	c := core.Of(d)
	err = core.ItemOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, opt.Writes(opts))).Run(ctx, &restored)
	return restored, err
}

// Op builds writes as values.
func (d *Deleted[T]) Op() Ops[T] { return Ops[T]{core.HandleOf(d)} }

// Ops builds the writes of a bin as values.
type Ops[T any] struct{ handle }

// Restore is [Deleted.Restore] as a value.
func (o Ops[T]) Restore(key T, opts ...entity.WriteOption) entity.Write[T] {
	c := core.Of(o)
	return core.NewWrite[T](core.ItemOperation(c, newRestore(c, reflect.ValueOf(key), opt.Writes(opts), "")))
}

// RestoreCopy is [Deleted.RestoreCopy] as a value.
func (o Ops[T]) RestoreCopy(chosen DeletedItem[T], opts ...entity.WriteOption) entity.Write[T] {
	c := core.Of(o)
	return core.NewWrite[T](core.ItemOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, opt.Writes(opts))))
}

// restoreCopy plans the restore of the copy of v that was deleted at a time.
func restoreCopy(c *core.Core, v reflect.Value, deletedAt time.Time, spec opt.Spec) *plan.Op {
	_, format := plan.DeletedAttr(c.Schema)
	text, err := timeText(format, deletedAt)
	if err != nil || deletedAt.IsZero() {
		spec.Errs = append(spec.Errs, errNoCopy)
		text = ""
	}
	return newRestore(c, v, spec, text)
}

// restore is the intent to make a deleted copy current again.
type restore struct {
	f    *softDelete
	op   *plan.Op
	user expr.Cond
	key  item.Item // of the chosen copy; nil for the newest
}

// source is the copy to be restored, and the highest version of the item's lives where that is not the copy's.
type foundCopy struct {
	copied  item.Item
	version int64
}

// newRestore plans the move of a deleted copy back to where it was. chosen says which copy by the text of its time;
// "" for the newest one.
func newRestore(c *core.Core, v reflect.Value, spec opt.Spec, chosen string) *plan.Op {
	op, user := plan.Begin(c.Schema, c.Table, "Restore", v, spec)
	if op.Err != nil {
		return op
	}
	f, _ := schema.Feature[*softDelete](c.Schema)
	r := &restore{f: f, op: op, user: user}
	if chosen != "" {
		r.key = plan.SatelliteKey(c.Schema, op.Key, schema.CopyInfix+chosen)
	}
	op.Prepare, op.Plan, op.Sketch, op.Source = r.read, r.plan, r.sketch, "the deleted copy"
	return op
}

// read finds the copy. Where there is none, the error says whether the item is there all the same.
func (r *restore) read(ctx context.Context, reader plan.Reader, in *plan.Input) error {
	s := r.op.Schema
	var copied item.Item
	var err error
	if r.key == nil {
		copied, err = plan.Newest(ctx, reader, r.op, schema.CopyInfix, in.Now)
	} else if copied, err = reader.Get(ctx, r.op.Table, r.key, true); plan.Expired(s, copied, in.Now) {
		copied = nil
	}
	if err == nil && copied == nil {
		copied, err = r.search(ctx, reader, in)
	}
	if err != nil {
		return err
	}
	found := foundCopy{copied, plan.StoredVersion(s, copied)}
	_, expires := copied[s.Options.TTL]
	if _, retains := schema.Feature[plan.Snapshotter](s); retains && (r.key != nil || expires != (r.f.ttl > 0)) {
		// Not the newest state, or perhaps not: the copies of later lives may have expired before this one.
		past, err := plan.ReadPast(ctx, reader, r.op, in.Now)
		if err != nil {
			return err
		}
		found.version = max(found.version, past.Version)
	}
	in.Found = found
	return nil
}

// search looks for the copy and for the item, which other deletes and restores may be moving from one place to the other.
// One query reads both places; since DynamoDB can apply a transaction while a query goes on, only a second one that meets
// neither says that there is nothing.
func (r *restore) search(ctx context.Context, reader plan.Reader, in *plan.Input) (item.Item, error) {
	s := r.op.Schema
	for range 2 {
		current, copied, err := plan.Around(ctx, reader, r.op, r.key, in.Now)
		switch {
		case err != nil || copied != nil:
			return copied, err
		case plan.Live(s, current, in.Now):
			if err := plan.SameCase(s, r.op.Parts, current); err != nil {
				return nil, err
			}
			return nil, plan.ErrNotDeleted
		}
	}
	if err := r.op.Unexpected(nil, in.Now); err != nil {
		return nil, err
	}
	return nil, plan.ErrNotFound
}

func (r *restore) plan(in plan.Input) (plan.Step, error) {
	s, found := r.op.Schema, in.Found.(foundCopy)
	if err := plan.SameCase(s, r.op.Parts, found.copied); err != nil {
		return plan.Step{}, err
	}
	if err := r.op.Unexpected(found.copied, in.Now); err != nil {
		return plan.Step{}, err
	}
	m := &plan.Mutation{Kind: plan.Restored, Op: r.op, In: in, Copy: found.copied, Final: item.Clone(found.copied)}
	for name, av := range r.op.Key {
		m.Final[name] = av
	}
	delete(m.Final, schema.KindAttr)
	delete(m.Final, s.Options.TTL)
	var err error
	if m.New, err = r.restoredItem(m, max(found.version, in.Past.Version), in); err != nil {
		return plan.Step{}, err
	}
	guard, pin, err := plan.Unchanged(s, found.copied)
	if err != nil {
		return plan.Step{}, err
	}
	main := []plan.Part{
		{Action: plan.Action{Kind: plan.Delete, Table: r.op.Table, Key: plan.KeyOf(s, found.copied), Cond: expr.All(guard, r.user), Pin: pin}, Resolve: r.copyLost(found.copied)},
		{Action: plan.Action{Kind: plan.Put, Table: r.op.Table, Key: r.op.Key, Item: m.New, Cond: plan.Absent(s), WriteID: plan.WriteID(s, in)}, Resolve: func(plan.Failure) plan.Resolution {
			return plan.Resolution{Err: fmt.Errorf("%w: %w", plan.ErrNotDeleted, plan.ErrExists)}
		}},
	}
	return plan.Compose(m, main, m.New)
}

// revive makes the current item of the deleted state: every key is composed again from the attributes.
func (r *restore) restoredItem(m *plan.Mutation, version int64, in plan.Input) (item.Item, error) {
	s, it := r.op.Schema, item.Clone(m.Final)
	name, _ := plan.DeletedAttr(s)
	delete(it, name)
	if a := s.UpdatedAt; a != nil {
		av, err := plan.TimeValue(a, plan.Later(s, m.Final, in.Now))
		if err != nil {
			return nil, err
		}
		it[a.Name] = av
	}
	plan.SetVersion(s, it, version+1)
	if err := plan.Recompose(s, it); err != nil {
		return nil, err
	}
	if s.HasMetadata { // the payload version stays what the content was written under
		it[schema.WriteAttr], it[schema.OpAttr] = item.S(in.WriteID), item.S("restore")
	}
	return it, plan.CheckSize(s, it)
}

// lost resolves the failed removal of the copy: it is gone or another one, or the caller's condition did not hold.
func (r *restore) copyLost(copied item.Item) func(plan.Failure) plan.Resolution {
	return func(f plan.Failure) plan.Resolution {
		if plan.SameState(r.op.Schema, copied, f.Image) {
			return plan.Resolution{Err: plan.ErrConditionFailed}
		}
		return plan.Resolution{Replan: plan.ErrConflict}
	}
}

// sketch shows a plan whose read is still to come.
func (r *restore) sketch(plan.Input) plan.Step {
	s := r.op.Schema
	taken := plan.Sketched("the deleted copy", "unchanged since it was read", plan.Printer(s).Cond(r.user))
	put := plan.Sketched(plan.KeyText(s, r.op.Key)+"\n         the item as it was deleted", plan.Printer(s).Cond(plan.Absent(s)))
	return plan.Step{
		Actions: []plan.Action{{Kind: plan.Delete, Label: taken}, {Kind: plan.Put, Label: put}},
		Notes:   plan.Notes(s, plan.Restored),
	}
}

// errNoCopy is the error of a copy without the time that its key is made of.
var errNoCopy = errors.New("the copy was not read from the bin: it has no time of deletion")
