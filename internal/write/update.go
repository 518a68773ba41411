package write

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// update holds the compiled arguments of an Update.
type update struct {
	op             *Op
	s              *schema.Schema
	parts          item.Item     // key parts as stored
	changes        []expr.Change // the caller's changes
	userCond       expr.Cond
	guards         []expr.Cond   // that the changes can be made
	derived        []expr.Change // the changes of expiry and index keys that follow, unless clockDependent
	clockDependent bool          // the derived changes depend on the clock
}

// derive returns the changes of expiry and index keys that follow from changes. needRead is set if they depend on the
// stored item.
func (u *update) derive(changes []expr.Change, in Input) (follow []expr.Change, needRead bool, err error) {
	follow, needRead, err = expiryChanges(u.s, changes, u.parts, in, OnUpdate)
	if err != nil {
		return nil, false, err
	}
	keys, partly, err := SyncIndexKeys(u.s, u.parts, append(slices.Clone(changes), follow...), false)
	return append(follow, keys...), needRead || partly, err
}

// owned returns the changes of the attributes that the library keeps.
func (u *update) owned(in Input) ([]expr.Change, error) {
	var out []expr.Change
	if a := u.s.UpdatedAt; a != nil {
		av, err := a.Format.Value(in.Now)
		if err != nil {
			return nil, ValueError(u.s, a, err)
		}
		out = append(out, expr.Change{Kind: expr.Set, Path: a.Path, Value: av})
	}
	for _, a := range u.s.Contexts {
		c := expr.Change{Kind: expr.Set, Path: a.Path, Value: in.Context[a.Name]}
		if c.Value == nil {
			c.Kind = expr.Remove
		}
		out = append(out, c)
	}
	if a := u.s.Version; a != nil {
		out = append(out, expr.Change{Kind: expr.Add, Path: a.Path, Value: item.N("1")})
	}
	return out, nil
}

// dependsOnClock reports whether the expiry or an index key of current items depends on the clock.
func dependsOnClock(s *schema.Schema) bool {
	x := Expiry(s)
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

// needsState reports whether a feature plans the changes from the whole item: it keeps the item's history, or a changed
// attribute unique.
func needsState(s *schema.Schema, changes []expr.Change) bool {
	return s.KeepsHistory || slices.ContainsFunc(changes, func(c expr.Change) bool {
		a := s.Attr(c.Path.Root())
		return a != nil && a.IsUnique
	})
}

func (u *update) resolve(spec *Options) (err error) {
	simple := false
	if u.changes, simple, err = Changes(u.s, spec.Changes); err != nil {
		return err
	}
	if u.s.SetsExpiry {
		if u.changes, err = DropUnsetExpiry(u.s, u.changes, OnUpdate); err != nil {
			return err
		}
	}
	if len(spec.If) > 0 {
		if u.userCond, err = Conditions(u.s, spec.If); err != nil {
			return err
		}
	}
	if !simple {
		u.guards = slices.Concat(parentGuards(u.changes), elementGuards(u.changes), immutableGuards(u.s, u.changes))
	}
	if u.s.KeepsHistory || u.s.HasUnique {
		u.op.Read = u.op.Read || needsState(u.s, u.changes)
	}
	if !u.s.Follows {
		return nil
	}
	// Whether a read is needed does not depend on the time.
	start := Input{Now: time.Unix(0, 0)}
	owned, err := u.owned(start)
	if err != nil {
		return err
	}
	follow, needRead, err := u.derive(append(slices.Clone(u.changes), owned...), start)
	u.derived, u.clockDependent = follow, dependsOnClock(u.s)
	u.op.Read = u.op.Read || needRead || sharesExpiry(u.s) && movesExpiry(u.s, append(slices.Clone(u.changes), follow...))
	return err
}

// rewrite applies changes to the item that was read and updates everything that depends on them.
func rewrite(s *schema.Schema, in Input, changes []expr.Change, on WriteKind) (item.Item, error) {
	it, err := amended(s, in.Image, changes)
	if err != nil {
		return nil, err
	}
	if err := in.SetUpdated(s, it, Later(s, in.Image, in.Now)); err != nil {
		return nil, err
	}
	nextVersion(s, it, in.Image, in)
	if err := updateExpiry(s, it, in, changes, on); err != nil {
		return nil, err
	}
	if err := ComposeIndexKeys(s, it, in.Image); err != nil {
		return nil, err
	}
	delete(it, schema.OpAttr)
	if s.HasMetadata {
		it[schema.WriteAttr] = item.S(in.WriteID)
	}
	return it, CheckSize(s, it)
}

// changed returns the step that replaces the item if it has not changed since it was read.
func (op *Op) changed(in Input, it item.Item, user expr.Cond) (Step, error) {
	s := op.Schema
	guard, pin, err := Unchanged(s, in.Image)
	if err != nil {
		return Step{}, err
	}
	main := Part{
		Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: expr.All(guard, user), WriteID: WriteID(s, in), Pin: pin},
		op.resolveGuarded(in),
	}
	return op.compose(Mutation{Kind: Updated, Old: in.Image, New: it}, in, main, Result{Item: it, Old: in.Image})
}

// afterRead plans from the item that was read.
func (u *update) afterRead(in Input) (Step, error) {
	if !Live(u.s, in.Image, in.Now) {
		return Step{}, u.op.missing(in.Now)
	}
	if err := u.op.CheckExpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	if err := guardError(u.s, u.changes, in.Image); err != nil {
		return Step{}, err
	}
	it, err := rewrite(u.s, in, u.changes, OnUpdate)
	if err != nil {
		return Step{}, err
	}
	return u.op.changed(in, it, u.userCond)
}

// knownItem returns what a plan knows of the item without its image: key parts and attributes that are set.
func knownItem(parts item.Item, changes []expr.Change) item.Item {
	it := make(item.Item, len(parts)+len(changes))
	maps.Copy(it, parts)
	for _, c := range changes {
		if c.Kind == expr.Set && len(c.Path) == 1 {
			it[c.Path.Root()] = c.Value
		}
	}
	return it
}

// checkKnownSize rejects a write of attributes that alone are too large for an item.
func checkKnownSize(s *schema.Schema, key item.Item, changes []expr.Change) error {
	n := item.Size(key)
	for _, c := range changes {
		if c.Kind == expr.Set && len(c.Path) == 1 {
			n += len(c.Path[0].Name) + item.ValueSize(c.Value)
		}
	}
	if n > item.MaxBytes {
		return CheckBytes(s, n)
	}
	return nil
}

// Plan implements Planner.
func (u *update) Plan(in Input) (Step, error) {
	if u.op.NeedsRead(in) {
		return u.afterRead(in)
	}
	owned, err := u.owned(in)
	if err != nil {
		return Step{}, err
	}
	changes := make([]expr.Change, 0, len(u.changes)+len(owned)+len(u.derived)+3) // with room for the hidden attributes
	changes, follow := append(append(changes, u.changes...), owned...), u.derived
	if u.clockDependent {
		if follow, _, err = u.derive(changes, in); err != nil {
			return Step{}, err
		}
	}
	changes, writeID := WithWriteID(u.s, append(changes, follow...), in.WriteID)
	if err := checkKnownSize(u.s, u.op.Key, changes); err != nil {
		return Step{}, err
	}
	now, guards, returns := in.Now, make([]expr.Cond, 1, 8), ReturnNew
	guards[0] = u.s.Exists
	if u.s.Expires {
		guards[0] = PresentUnexpired(u.s, now)
	}
	if u.op.Expect != nil {
		guards = append(guards, u.op.expected())
	}
	guards = append(guards, u.guards...)
	if u.op.Old != nil { // from which the new item is computed
		returns = ReturnOld
	}
	return Step{
		Actions: in.alone(Action{
			Kind: Update, Table: u.op.Table, Key: u.op.Key, Changes: changes, Cond: expr.All(append(guards, u.userCond)...),
			Returns: returns, Undecoded: returns == ReturnNew, WriteID: writeID,
		}),
		Outcome: &updated{u, now, changes},
	}, nil
}

// updated is the Outcome of an update that was planned without a read.
type updated struct {
	*update
	now  time.Time
	sent []expr.Change // all changes
}

// Resolve implements Outcome.
func (x *updated) Resolve(f []Failure) Resolution {
	image := f[0].Image
	if !Live(x.s, image, x.now) {
		return Resolution{Err: x.op.missing(x.now)}
	}
	if err := x.op.CheckExpected(image, x.now); err != nil {
		return Resolution{Err: err}
	}
	return x.unchangeable(image)
}

// unchangeable returns why an update of a stored item was refused that has the expected version.
func (u *update) unchangeable(image item.Item) Resolution {
	if err := guardError(u.s, u.changes, image); err != nil {
		return Resolution{Err: err}
	}
	switch null, err := typeMismatch(u.s, image, u.changes); {
	case err != nil:
		return Resolution{Err: err}
	case null:
		return Resolution{Replan: entitytype.ErrConflict, Hints: []Hint{{Kind: ReadFirst}}}
	}
	return Resolution{Err: entitytype.ErrConditionFailed}
}

// Done implements Outcome.
func (x *updated) Done(r Returned) (Result, error) {
	switch {
	case x.op.Old != nil && (r.Proven || r.Again):
		return Result{}, errOldLost
	case !r.Undecoded.Missing():
		return Result{Stored: r.Undecoded}, nil
	case r.Image == nil:
		return StoredResult(knownItem(x.parts, x.sent)), nil
	case x.op.Old != nil:
		return x.op.fromOld(r, x.sent)
	}
	return StoredResult(r.Image), nil
}

// NewUpdate plans changes of an existing item: one UpdateItem, or, if an index key can only be composed from the stored
// item, a read and a guarded Put of the whole item.
func NewUpdate(s *schema.Schema, table string, v reflect.Value, spec *Options) *Op {
	op, parts := newOp(s, table, "Update", v, spec)
	if op.Err != nil {
		return op
	}
	u := &update{op: op, s: s, parts: parts}
	if op.Err = u.resolve(spec); op.Err != nil {
		return op
	}
	op.AlsoDeleted = s.SoftDeletes
	if op.Planner = u; op.Read {
		op.If, op.Changes = u.userCond, u.changes
	}
	return op
}
