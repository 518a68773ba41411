package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/write"
)

// RestoreOption is accepted by Restore and RestoreCopy: entity.If, entity.Idempotent, versioned.Expect,
// versioned.AnyVersion, and any entity.ChangeOption.
type RestoreOption interface{ write.RestoreOption }

// Restore makes the newest deleted copy current again, under the next version and with the given changes, and returns the item. It composes every
// key from the attributes and claims the unique values again. It costs two requests: a strongly consistent query and a
// transaction. Errors: entity.ErrNotFound if there is nothing to restore; entity.ErrNotDeleted if the item exists, and
// entity.ErrExists too if it also has a deleted copy; a *unique.ViolationError if another item has taken a unique
// value; entity.ErrConditionFailed for conditions on the copy; a *versioned.ConflictError; entity.ErrConflict.
func (d *Deleted[T]) Restore(ctx context.Context, key T, opts ...RestoreOption) (restored T, err error) {
	c := engine.Of(d)
	_, err = engine.NewOperation(c, newRestore(c, reflect.ValueOf(key), write.Collect(opts), ""), nil).Run(ctx, &restored)
	return restored, err
}

// RestoreCopy is [Deleted.Restore] for a copy that Get, List, Query or Scan returned. With versioned.Retain it also
// reads the item's highest version, at two requests more, so that no version is used twice.
func (d *Deleted[T]) RestoreCopy(ctx context.Context, chosen DeletedItem[T], opts ...RestoreOption) (restored T, err error) {
	c := engine.Of(d)
	_, err = engine.NewOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, write.Collect(opts)), nil).Run(ctx, &restored)
	return restored, err
}

// Op returns the restores as values.
func (d *Deleted[T]) Op() Ops[T] { return Ops[T]{engine.HandleOf(d)} }

// Ops makes restores as values, to be printed or joined in entity.DB.Transact.
type Ops[T any] struct{ handle }

// Restore is [Deleted.Restore] as a value.
func (o Ops[T]) Restore(key T, opts ...RestoreOption) entity.Write[T] {
	c := engine.Of(o)
	return engine.NewWrite[T](engine.NewOperation(c, newRestore(c, reflect.ValueOf(key), write.Collect(opts), ""), nil))
}

// RestoreCopy is [Deleted.RestoreCopy] as a value.
func (o Ops[T]) RestoreCopy(chosen DeletedItem[T], opts ...RestoreOption) entity.Write[T] {
	c := engine.Of(o)
	return engine.NewWrite[T](engine.NewOperation(c, restoreCopy(c, reflect.ValueOf(chosen.Item), chosen.DeletedAt, write.Collect(opts)), nil))
}

// restoreCopy plans the restore of the copy of v that was deleted at deletedAt.
func restoreCopy(c *engine.Core, v reflect.Value, deletedAt time.Time, spec *write.Options) *write.Op {
	_, format := write.DeletedAttr(c.Schema)
	text, err := timeText(format, deletedAt)
	if err != nil || deletedAt.IsZero() {
		spec, text = spec.With(errNoCopy), ""
	}
	return newRestore(c, v, spec, text)
}

// restore plans the write that makes a deleted copy current again.
type restore struct {
	f    *softDelete
	op   *write.Op
	user expr.Cond
	key  item.Item // primary key of the chosen copy; nil for the newest
}

// foundCopy is the copy to be restored, the newest copy if that is another one, which has expired or is of another
// spelling of the key, and the highest version in the item's history.
type foundCopy struct {
	copied  write.Stored
	newest  write.Stored
	version int64
}

// newRestore plans the restore of a deleted copy. chosen is the text of its time in the sort key; "" is the newest
// copy.
func newRestore(c *engine.Core, v reflect.Value, spec *write.Options, chosen string) *write.Op {
	op, user := write.Begin(c.Schema, c.Table, "Restore", v, spec)
	if op.MoveWith(spec.Changes); op.Err != nil {
		return op
	}
	f, _ := schema.Feature[*softDelete](c.Schema)
	r := &restore{f: f, op: op, user: user}
	if chosen != "" {
		r.key = write.RelatedKey(c.Schema, op.Key, schema.CopyInfix+chosen)
	}
	op.If = user
	write.PlanFrom(op, r.read, r.plan)
	return op
}

// read finds the copy. Without a copy, the error says whether the item exists.
func (r *restore) read(ctx context.Context, reader write.Reader, in *write.Input) (foundCopy, error) {
	s := r.op.Schema
	var newest, copied write.Stored
	var err error
	if r.key == nil {
		newest, copied, err = write.ReadNewestCopies(ctx, reader, r.op, in.Now)
	} else if copied, err = write.GetItem(ctx, reader, s, r.op.Table, r.key); write.Expired(s, copied.Raw, in.Now) {
		copied = write.Stored{}
	}
	if err == nil && copied.Raw == nil {
		newest, copied, err = r.search(ctx, reader, in)
	}
	if err != nil {
		return foundCopy{}, err
	}
	if r.key != nil || write.SameKey(write.KeyOf(s, newest.Raw), write.KeyOf(s, copied.Raw)) {
		newest = write.Stored{}
	}
	found := foundCopy{copied, newest, write.StoredVersion(s, copied.Item)}
	_, expires := copied.Raw[s.Options.TTL]
	if _, retains := schema.Feature[write.Snapshotter](s); retains && (r.key != nil || expires != (r.f.ttl > 0)) {
		// The copy may not be the newest state: copies of later deletes may have expired before this one.
		past, err := write.ReadPast(ctx, reader, r.op, in.Now)
		if err != nil {
			return foundCopy{}, err
		}
		found.version = max(found.version, past.Version)
	}
	return found, nil
}

// search looks again for the copy and for the item, which other deletes and restores may be moving at this moment. One
// query reads both places. DynamoDB may apply a transaction while the query runs, so only a second query that finds
// neither proves that there is nothing.
func (r *restore) search(ctx context.Context, reader write.Reader, in *write.Input) (newest, copied write.Stored, err error) {
	s := r.op.Schema
	for range 2 {
		current, newest, copied, err := write.ReadItemAndCopy(ctx, reader, r.op, r.key, in.Now)
		switch {
		case err != nil || copied.Raw != nil:
			return newest, copied, err
		case write.Live(s, current.Raw, in.Now):
			if err := write.CaseError(s, r.op.Parts, current.Item); err != nil {
				return newest, copied, err
			}
			return newest, copied, entitytype.ErrNotDeleted
		}
	}
	if err := r.op.CheckExpected(nil, in.Now); err != nil {
		return newest, copied, err
	}
	return newest, copied, entitytype.ErrNotFound
}

func (r *restore) plan(in write.Input, found foundCopy) (write.Step, error) {
	s := r.op.Schema
	if err := write.CaseError(s, r.op.Parts, found.copied.Item); err != nil {
		return write.Step{}, err
	}
	if err := r.op.CheckExpected(found.copied.Item, in.Now); err != nil {
		return write.Step{}, err
	}
	m := &write.Mutation{Kind: write.Restored, Op: r.op, In: in, Copy: found.copied.Item, DeletedState: item.Clone(found.copied.Item)}
	for name, av := range r.op.Key {
		m.DeletedState[name] = av
	}
	delete(m.DeletedState, schema.KindAttr)
	delete(m.DeletedState, s.Options.TTL)
	var err error
	if m.New, err = r.restoredItem(m, max(found.version, in.Past.Version), in); err != nil {
		return write.Step{}, err
	}
	user, err := r.condition(found.copied)
	if err != nil {
		return write.Step{}, err
	}
	guard, pin, err := write.Unchanged(s, found.copied.Raw)
	if err != nil {
		return write.Step{}, err
	}
	main := []write.Part{
		{Action: write.Action{Kind: write.Delete, Table: r.op.Table, Key: write.KeyOf(s, found.copied.Raw), Cond: expr.All(guard, user), Pin: pin}, Resolve: r.copyLost(found.copied.Raw)},
		{Action: write.Action{Kind: write.Put, Table: r.op.Table, Key: r.op.Key, Item: m.New, Cond: s.Absent, WriteID: write.WriteID(s, in)}, Resolve: func(write.Failure) write.Resolution {
			return write.Resolution{Err: fmt.Errorf("%w: %w", entitytype.ErrNotDeleted, entitytype.ErrExists)}
		}},
	}
	if found.newest.Raw != nil && s.HasMetadata { // a delete marks the newest copy, whatever it is
		unmarked, pin, err := write.Unchanged(s, found.newest.Raw)
		if err != nil {
			return write.Step{}, err
		}
		main = append(main, write.Part{Action: write.Action{Kind: write.Check, Table: r.op.Table, Key: write.KeyOf(s, found.newest.Raw), Cond: unmarked, Pin: pin}, Resolve: readAgain})
	}
	released, err := r.op.GivenUp(in, found.copied.Raw, m.New)
	if err != nil {
		return write.Step{}, err
	}
	step, err := write.Compose(m, append(main, released...), write.StoredResult(m.New))
	step.EntityActions = len(main)
	return step, err
}

// condition returns the caller's conditions on the copy that was read. They are about today's form of it, so on a copy that is
// stored in an earlier form they are evaluated here: the guard of the write holds only while the copy is as it was read.
func (r *restore) condition(copied write.Stored) (expr.Cond, error) {
	s := r.op.Schema
	if !write.Outdated(s, copied.Raw) {
		return r.user, nil
	}
	if err := write.InMemory(s, r.user, "a restore of a copy of an earlier payload version"); err != nil {
		return expr.Cond{}, err
	}
	if !r.user.Holds(copied.Item) {
		return expr.Cond{}, &write.Refused{Class: entitytype.ErrConditionFailed, Schema: s, Image: copied.Raw, Which: write.FailedPart(s, r.user, copied.Item)}
	}
	return expr.Cond{}, nil
}

// restoredItem makes the current item from the deleted state. It composes every key from the attributes.
func (r *restore) restoredItem(m *write.Mutation, version int64, in write.Input) (item.Item, error) {
	s := r.op.Schema
	it, err := r.op.Moved(m.DeletedState)
	if err != nil {
		return nil, err
	}
	name, _ := write.DeletedAttr(s)
	delete(it, name)
	if err := in.SetUpdated(s, it, write.Later(s, m.DeletedState, in.Now)); err != nil {
		return nil, err
	}
	write.SetVersion(s, it, version+1)
	if err := write.Recompose(s, it); err != nil {
		return nil, err
	}
	if s.HasMetadata { // the payload version remains that of the content
		it[schema.WriteAttr], it[schema.OpAttr] = item.S(in.WriteID), item.S("restore")
	}
	return it, write.CheckSize(s, it)
}

// copyLost resolves a failed delete of the copy: another write removed or replaced it, or the caller's condition did
// not hold.
func (r *restore) copyLost(copied item.Item) func(write.Failure) write.Resolution {
	return func(f write.Failure) write.Resolution {
		if write.SameState(r.op.Schema, copied, f.Image) {
			return write.Resolution{Err: entitytype.ErrConditionFailed}
		}
		return write.Resolution{Replan: entitytype.ErrConflict}
	}
}

// errNoCopy is the error of a DeletedItem without the time that its key contains.
var errNoCopy = errors.New("the deleted item has no time of deletion; use one that Get or a query returned")
