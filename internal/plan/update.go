package plan

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// update is an Update with its compiled arguments. The changes and conditions of the caller are in Changes and If.
type update struct {
	Op
	guards         []expr.Cond   // that the changes can be made
	derived        []expr.Change // the changes of expiry and index keys that follow, unless clockDependent
	clockDependent bool          // the derived changes depend on the clock
}

// NewUpdate plans changes of an existing item: one UpdateItem, or, if an index key can only be composed from the stored
// item, a read and a guarded Put of the whole item. Without changes it is a read.
func NewUpdate(s *schema.Schema, table string, v reflect.Value, spec *bind.Options) *Op {
	u := new(update)
	op := u.Begin(s, table, "Update", v, nil, spec)
	if op.Err != nil {
		return op
	}
	op.Plan, op.AlsoDeleted = u.plan, s.SoftDeletes
	if len(spec.Changes) == 0 { // as of a PATCH without fields
		op.Read = true
		return op
	}
	simple := false
	if op.Changes, simple, op.Err = bind.Changes(s, spec.Changes); op.Err == nil && s.SetsExpiry {
		op.Changes, op.Err = bind.DropUnsetExpiry(s, op.Changes, bind.OnUpdate)
	}
	if op.Err != nil {
		return op
	}
	if !simple {
		u.guards = slices.Concat(parentGuards(op.Changes), elementGuards(op.Changes), immutableGuards(s, op.Changes))
	}
	if !s.Alone {
		op.Err = u.declared()
	}
	return op
}

// declared applies what the declarations of the entity require.
func (u *update) declared() error {
	op, s := &u.Op, u.Schema
	// A feature plans the changes from the whole item if it keeps the item's history, or a changed attribute unique.
	op.Read = op.Read || s.KeepsHistory || s.HasUnique && slices.ContainsFunc(op.Changes, func(c expr.Change) bool {
		a := s.Attr(c.Path.Root())
		return a != nil && a.IsUnique
	})
	if !s.Follows {
		return nil
	}
	start := &Input{Now: time.Unix(0, 0)} // whether a read is needed does not depend on the time
	owned, err := u.owned(start)
	if err != nil {
		return err
	}
	needRead := false
	u.derived, needRead, err = u.derive(append(slices.Clone(op.Changes), owned...), start)
	u.clockDependent = dependsOnClock(s)
	if x := bind.Expiry(s); x != nil && sharesExpiry(s) { // a write that moves the expiry moves it of other items too
		needRead = needRead || bind.ChangeOf(op.Changes, x.Stamps()) != nil || bind.ChangeOf(u.derived, x.Stamps()) != nil
	}
	op.Read = op.Read || needRead
	return err
}

// plan plans an Update. Without reading the item it sends
//
//	update  the item, if it exists and has not expired, is in the expected state, the changes can be made, and it meets the caller's
//	        conditions
//
// and a refusal shows what did not hold. Otherwise it is planned from the item that was read, and sends what changed says.
func (u *update) plan(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
	op, s := &u.Op, u.Schema
	if in.Read {
		if !layout.Live(s, in.Image, in.Now) {
			return nil, op.missing(in.Now)
		}
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return nil, err
		}
		if len(op.Changes) == 0 {
			return op.unchanged(in)
		}
		if err := guardError(s, op.Changes, in.Image); err != nil {
			return nil, err
		}
		it, err := in.rewrite(s, op.Changes, bind.OnUpdate)
		if err != nil {
			return nil, err
		}
		return op.changed(in, it)
	}
	owned, err := u.owned(in)
	if err != nil {
		return nil, err
	}
	changes := make([]expr.Change, 0, len(op.Changes)+len(owned)+len(u.derived)+3) // with room for the hidden attributes
	changes, follow := append(append(changes, op.Changes...), owned...), u.derived
	if u.clockDependent {
		if follow, _, err = u.derive(changes, in); err != nil {
			return nil, err
		}
	}
	changes, writeID := WithWriteID(s, append(changes, follow...), in.WriteID)
	returns := ReturnNew
	if op.Old != nil { // from which the new item is computed
		returns = ReturnOld
	}
	guards := append(append(op.present(make([]expr.Cond, 0, 8), in.Now), u.guards...), op.If)
	p := &Plan{alone: [1]Action{{
		Kind: Update, Table: op.Table, Key: op.Key, Changes: changes, Cond: expr.All(guards...), Returns: returns, WriteID: writeID,
	}}, Meaning: u}
	p.Actions = p.alone[:]
	return p, nil
}

// Refused is of an Update that was planned without a read.
func (u *update) Refused(_ *Plan, f []Failure, in *Input) Resolution {
	image := f[0].Image
	if !layout.Live(u.Schema, image, in.Now) {
		return Resolution{Err: u.missing(in.Now)}
	}
	if err := u.CheckExpected(image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	return u.unchangeable(image, &in.Learned)
}

// unchangeable returns why an update of a stored item was refused that has the expected version.
func (u *update) unchangeable(image item.Item, l *Learned) Resolution {
	if err := guardError(u.Schema, u.Changes, image); err != nil {
		return Resolution{Err: err}
	}
	switch null, err := typeMismatch(u.Schema, image, u.Changes); {
	case err != nil:
		return Resolution{Err: err}
	case null, u.otherwiseStored(image):
		l.ReadFirst = true
		return Resolution{Replan: sentinel.ErrConflict}
	}
	return Resolution{Err: sentinel.ErrConditionFailed}
}

func (u *update) Applied(p *Plan, r Returned, _ *Input) (Result, error) {
	switch {
	case u.Old != nil && (r.Proven || r.Again):
		return Result{}, errOldLost
	case !r.New.Missing():
		return Result{Stored: r.New}, nil
	case r.Image == nil:
		return Result{Item: u.known(p.Actions[0].Changes)}, nil
	case u.Old != nil:
		return u.fromOld(r, p.Actions[0].Changes)
	}
	return Result{Item: r.Image}, nil
}

// derive returns the changes of expiry and index keys that follow from changes. needRead is set if they depend on the stored item.
func (u *update) derive(changes []expr.Change, in *Input) (follow []expr.Change, needRead bool, err error) {
	follow, needRead, err = expiryChanges(u.Schema, changes, u.Parts, in, bind.OnUpdate)
	if err != nil {
		return nil, false, err
	}
	keys, partly, err := bind.SyncIndexKeys(u.Schema, u.Parts, append(slices.Clone(changes), follow...), bind.SomeParts)
	return append(follow, keys...), needRead || partly, err
}

// owned returns the changes of the attributes that the library keeps.
func (u *update) owned(in *Input) ([]expr.Change, error) {
	var out []expr.Change
	s := u.Schema
	if a := s.UpdatedAt; a != nil {
		av, err := a.Format.Value(in.Now)
		if err != nil {
			return nil, bind.ValueError(s, a, err)
		}
		out = append(out, expr.Change{Kind: expr.Set, Path: a.Path, Value: av})
	}
	for _, a := range s.Contexts {
		c := expr.Change{Kind: expr.Set, Path: a.Path, Value: in.Context[a.Name]}
		if c.Value == nil {
			c.Kind = expr.Remove
		}
		out = append(out, c)
	}
	if a := s.Version; a != nil {
		out = append(out, expr.Change{Kind: expr.Add, Path: a.Path, Value: item.N("1")})
	}
	return out, nil
}

// dependsOnClock reports whether the expiry or an index key of current items depends on the clock.
func dependsOnClock(s *schema.Schema) bool {
	x := bind.Expiry(s)
	if x != nil && (x.From() == nil || x.From() == s.UpdatedAt || x.From() == s.CreatedAt) {
		return true
	}
	for _, h := range s.IndexKeys() {
		if s.UpdatedAt != nil && h.Has(s.UpdatedAt) || s.CreatedAt != nil && h.Has(s.CreatedAt) {
			return true
		}
	}
	return false
}

// rewrite applies changes to the item that was read and updates everything that depends on them.
func (in *Input) rewrite(s *schema.Schema, changes []expr.Change, on bind.WriteKind) (item.Item, error) {
	it, err := amended(s, in.Image, changes)
	if err != nil {
		return nil, err
	}
	if err := in.SetUpdated(s, it, Later(s, in.Image, in.Now)); err != nil {
		return nil, err
	}
	in.nextVersion(s, it, in.Image)
	if err := updateExpiry(s, it, in, changes, on); err != nil {
		return nil, err
	}
	if err := bind.ComposeIndexKeys(s, it, in.Image); err != nil {
		return nil, err
	}
	delete(it, schema.OpAttr)
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	if err := bind.CheckSize(s, item.Size(it)); err != nil && item.Size(it) > item.Size(in.Image) { // what is stored can become smaller
		return nil, err
	}
	return it, nil
}

// changed plans the replacement of the item that was read by it. It sends together
//
//	put     the item, if it is as it was read and meets the caller's conditions   refused: see asRead
//	put     the snapshot of the state that ends, with history; and of the new     refused: plan again after the history
//	        one, if items expire                                                  of another life
//	put     the claim of each changed unique value, if it is free, has ended or   refused: a violation
//	        is the item's
//	delete  the claim of each former one, if it is the item's or free             refused: plan again, and leave the value
//	                                                                              to its owner
func (op *Op) changed(in *Input, it item.Item) (*Plan, error) {
	s := op.Schema
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return nil, err
	}
	put := Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: expr.All(guard, op.If), WriteID: WriteID(s, in), Pin: pin, Refusal: asRead{op}}
	return Compose(Mutation{Kind: Updated, Op: op, In: in, Old: in.Image, New: it}, []Action{put}, Result{Item: it, Old: in.Image})
}

// known returns what a plan knows of the item without its image: key parts, attributes that are set, and what follows from the expected
// state.
func (op *Op) known(changes []expr.Change) item.Item {
	it := make(item.Item, len(op.Parts)+len(changes))
	maps.Copy(it, op.Parts)
	for _, c := range changes {
		if c.Kind == expr.Set && len(c.Path) == 1 {
			it[c.Path.Root()] = c.Value
		}
	}
	if op.Expect != nil {
		layout.SetVersion(op.Schema, it, *op.Expect+1)
	}
	if op.Created != nil {
		it[op.Schema.CreatedAt.Name] = op.Created
	}
	return it
}
