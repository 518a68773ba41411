package write

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// optionalChanges resolves the changes that are given in addition to a value. The list may be empty.
func optionalChanges(s *schema.Schema, list []Change) ([]expr.Change, error) {
	if len(list) == 0 {
		return nil, nil
	}
	changes, _, err := Changes(s, list)
	if err != nil {
		return nil, err
	}
	return DropUnsetExpiry(s, changes, OnUpdate)
}

type upsert struct {
	update
	given   item.Item     // of the value, without the attributes in extra
	extra   []expr.Change // the caller's changes in addition to the value
	replace bool          // absent attributes are removed, as in a Put
	filled  []string      // attributes in given that the caller left empty
	returns Returns       // what the result is made of
}

// WriteKind returns the kind of write for the expiry.
func (u *upsert) writeKind() WriteKind {
	if u.replace {
		return OnPut
	}
	return OnUpsert
}

// change returns what the write does to attribute a, or false if it leaves a as stored.
func (u *upsert) change(a *schema.Attr) (expr.Change, bool) {
	av, given := u.given[a.Name]
	c := expr.Change{Kind: expr.Set, Path: a.Path, Value: av}
	switch {
	case !given && a.IsOnce:
		return c, false
	case given && (a.IsOnce && a.Role.Has(schema.SetOnce) || u.filled != nil && u.keepsStored(a)):
		c.Kind = expr.SetIfNotExists
	case given && a.IndexPart && item.Absent(av), !given && u.replace:
		c = expr.Change{Kind: expr.Remove, Path: c.Path}
	case !given:
		return c, false
	}
	return c, true
}

// keepsStored reports whether the value of a was filled for a new item only.
func (u *upsert) keepsStored(a *schema.Attr) bool {
	return slices.Contains(u.filled, a.Name) && (!u.replace || a.IsOnce) && !u.s.KeyPart(a)
}

// emptyID reports whether a is an id that v lacks. An upsert, which does not generate any, leaves it as stored.
func emptyID(a *schema.Attr, v reflect.Value) bool {
	return a.Role.ID != "" && !a.IsRequired && !a.Given(v.FieldByIndex(a.Index))
}

// known returns the attributes whose new value does not depend on what is stored. NULL stands for a removed attribute.
func (u *upsert) known(expiry []expr.Change) item.Item {
	it := item.Clone(u.parts)
	for _, list := range [][]expr.Change{u.changes, expiry} {
		for _, c := range list {
			switch {
			case len(c.Path) > 1:
			case c.Kind == expr.Set:
				it[c.Path.Root()] = c.Value
			case c.Kind == expr.Remove:
				it[c.Path.Root()] = &types.AttributeValueMemberNULL{Value: true}
			}
		}
	}
	return it
}

// mostAddedChanges is how many changes the library usually adds, besides derived ones.
const mostAddedChanges = 7

// withCreated returns a copy of the changes with that of created_at, which only a new item gets.
func (u *upsert) withCreated(in Input) ([]expr.Change, error) {
	return u.addCreated(append(make([]expr.Change, 0, len(u.changes)+len(u.derived)+mostAddedChanges), u.changes...), in)
}

// addCreated adds the change of created_at to changes.
func (u *upsert) addCreated(changes []expr.Change, in Input) ([]expr.Change, error) {
	a := u.s.CreatedAt
	if a == nil {
		return changes, nil
	}
	av, err := a.Format.Value(in.Now)
	return append(changes, expr.Change{Kind: expr.SetIfNotExists, Path: a.Path, Value: av}), ValueError(u.s, a, err)
}

// expiry returns the changes of the expiry.
func (u *upsert) expiry(in Input) ([]expr.Change, bool, error) {
	changes, err := u.withCreated(in)
	if err != nil {
		return nil, false, err
	}
	owned, err := u.owned(in)
	if err != nil {
		return nil, false, err
	}
	return expiryChanges(u.s, append(changes, owned...), u.parts, in, u.writeKind())
}

// indexInputs returns the changes that index keys depend on. Removals are left out, because their values are known.
func (u *upsert) indexInputs(in Input, expiry []expr.Change) ([]expr.Change, error) {
	owned, err := u.owned(in)
	if err != nil {
		return nil, err
	}
	created, err := u.withCreated(in)
	return slices.DeleteFunc(append(append(created, owned...), expiry...), func(c expr.Change) bool { return c.Kind == expr.Remove && len(c.Path) == 1 }), err
}

// derive returns the changes of expiry and index keys that follow from the others. needRead is set if they depend on the
// stored item.
func (u *upsert) derive(in Input) (follow []expr.Change, needRead bool, err error) {
	follow, needRead, err = u.expiry(in)
	if err != nil {
		return nil, false, err
	}
	changes, err := u.indexInputs(in, follow)
	if err != nil {
		return nil, false, err
	}
	keys, partly, err := SyncIndexKeys(u.s, u.known(follow), changes, true)
	return append(follow, keys...), needRead || partly, err
}

// prepare resolves the changes of the value's attributes, in struct order.
func (u *upsert) prepare() error {
	u.changes = make([]expr.Change, 0, len(u.s.Attrs)+len(u.extra)+mostAddedChanges) // see Plan
	for _, a := range u.s.Attrs {
		if u.s.PK.Attr == a.Name || u.s.SK != nil && u.s.SK.Attr == a.Name || a.IsOwned || a.Append || a.Clock || len(u.extra) > 0 && ChangeOf(u.extra, a.Name) != nil {
			continue
		}
		if c, ok := u.change(a); ok {
			u.changes = append(u.changes, c)
		}
	}
	var err error
	if u.s.SetsExpiry {
		if u.changes, err = DropUnsetExpiry(u.s, u.changes, u.writeKind()); err != nil {
			return err
		}
	}
	u.changes = append(u.changes, u.extra...)
	if len(u.extra) > 0 {
		u.guards = append(parentGuards(u.extra), elementGuards(u.extra)...)
	}
	if u.s.Immutable {
		u.guards = append(u.guards, immutableGuards(u.s, u.changes)...)
	}
	if !u.s.Follows {
		return nil
	}
	// Whether a read is needed does not depend on the time.
	follow, needRead, err := u.derive(Input{Now: time.Unix(0, 0)})
	u.derived, u.clockDependent = follow, dependsOnClock(u.s)
	u.op.Read = u.op.Read || needRead
	return err
}

// overExpired reports whether the item had expired at the last attempt.
func overExpired(in Input) bool {
	over := false
	for _, h := range in.Hints {
		switch h.Kind {
		case ItemExpired:
			over = true
		case ItemReplaced:
			over = false
		}
	}
	return over
}

// create plans the creation of the item.
func (u *upsert) create(in Input) (Step, error) {
	if u.op.Expect != nil {
		return Step{}, u.op.missing(in.Now)
	}
	it, err := u.op.newItem(u.given, u.extra, in)
	if err != nil {
		return Step{}, err
	}
	now := in.Now
	return u.op.created(in, it, u.userCond, Result{Item: it, Created: true}, func(f Failure) Resolution {
		if Live(u.s, f.Image, now) {
			return Resolution{Replan: entitytype.ErrConflict, Hints: []Hint{{Kind: ItemReplaced}}}
		}
		return Resolution{Err: entitytype.ErrConditionFailed}
	})
}

// afterRead plans from the stored item or its absence.
func (u *upsert) afterRead(in Input) (Step, error) {
	if !Live(u.s, in.Image, in.Now) {
		return u.create(in)
	}
	if err := u.op.CheckExpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	if err := guardError(u.s, u.changes, in.Image); err != nil {
		return Step{}, err
	}
	changes, err := u.withCreated(in)
	if err != nil {
		return Step{}, err
	}
	it, err := rewrite(u.s, in, changes, u.writeKind())
	if err != nil {
		return Step{}, err
	}
	SetHidden(u.s, it, in.WriteID)
	return u.op.changed(in, it, u.userCond)
}

// upserted is the Outcome of an upsert that was planned without a read.
type upserted struct {
	*upsert
	now    time.Time
	joined bool
	sent   []expr.Change // all changes
}

// Resolve implements Outcome.
func (x *upserted) Resolve(f []Failure) Resolution {
	image := f[0].Image
	if err := x.op.CheckExpected(image, x.now); err != nil {
		return Resolution{Err: err}
	}
	if image != nil && !Live(x.s, image, x.now) {
		return Resolution{Replan: entitytype.ErrConflict, Hints: []Hint{{Kind: ItemExpired}}}
	}
	return x.unchangeable(image)
}

// errCreated means that an upsert was applied, but whether it created the item is unknown.
var errCreated = errors.New("the item was written; whether this write created it is not known")

// created decides whether the write created the item, from the one that it left the first time. If that differs from a freshly created one,
// it existed before. If it is equal and the entity has versions, this write created it, because a write over an earlier item
// would have continued its version. Without a version, another write could have stored the same values at the same time.
func (u *upsert) created(r Returned, changes []expr.Change) (bool, error) {
	fresh, err := expr.Apply(item.Clone(u.op.Key), changes)
	if err != nil {
		return false, err
	}
	created := item.Equal(&types.AttributeValueMemberM{Value: r.Image}, &types.AttributeValueMemberM{Value: fresh})
	switch {
	case !created || u.s.Version != nil:
		return created, nil
	case r.Again:
		return false, fmt.Errorf("%w: %w", entitytype.ErrReadBack, errCreated)
	}
	return false, &Ambiguous{Err: errCreated}
}

// Done computes the new item from the image before the write.
func (x *upserted) Done(r Returned) (result Result, err error) {
	switch {
	case x.returns == ReturnNothing && x.s.UpdatedAt == nil && x.s.Contexts == nil:
		return StoredResult(x.given), nil
	case x.joined, x.returns == ReturnNothing:
		r.Undecoded.Release()
		return StoredResult(knownItem(x.parts, x.sent)), nil
	case x.returns == ReturnNew:
		return Result{Item: r.Image, Stored: r.Undecoded}, nil
	case !r.Proven && !r.Again:
		return x.op.fromOld(r, x.sent)
	}
	result.Item = r.Image
	if result.Created, err = x.created(r, x.sent); err != nil {
		return Result{}, err
	}
	if r.Again {
		if result.Item, err = expr.Apply(r.Image, x.sent); err != nil {
			return Result{}, err
		}
	}
	if x.op.Old != nil && !result.Created {
		return Result{}, errOldLost
	}
	return result, nil
}

// Plan implements Planner.
func (u *upsert) Plan(in Input) (Step, error) {
	switch {
	case len(in.Hints) > 0 && overExpired(in):
		return u.create(in)
	case u.op.NeedsRead(in):
		return u.afterRead(in)
	}
	changes, err := u.changes, error(nil)
	switch {
	case !in.Once:
		changes, err = u.withCreated(in)
	case u.s.CreatedAt != nil: // each plan adds to the changes in the same memory
		changes, err = u.addCreated(changes, in)
	}
	if err != nil {
		return Step{}, err
	}
	follow := u.derived
	if u.clockDependent {
		if follow, _, err = u.derive(in); err != nil {
			return Step{}, err
		}
	}
	owned, err := u.owned(in)
	if err != nil {
		return Step{}, err
	}
	changes, writeID := WithWriteID(u.s, append(append(append(changes, follow...), owned...), u.s.Hidden...), in.WriteID)
	if err := checkKnownSize(u.s, u.op.Key, changes); err != nil {
		return Step{}, err
	}
	guards := make([]expr.Cond, 0, 8)
	if u.op.Expect != nil {
		guards = append(guards, PresentUnexpired(u.s, in.Now), u.op.expected())
	}
	if u.s.Expires {
		guards = append(guards, NotExpired(u.s, in.Now))
	}
	return Step{
		Actions: in.alone(Action{
			Kind: Update, Table: u.op.Table, Key: u.op.Key, Changes: changes, Cond: expr.All(append(append(guards, u.guards...), u.userCond)...),
			Returns: u.returns, Undecoded: u.returns == ReturnNew, WriteID: writeID,
		}),
		Outcome: &upserted{u, in.Now, in.Joined, changes},
	}, nil
}

func newUpsert(s *schema.Schema, table, verb string, v reflect.Value, spec *Options, filled []string, replace bool) *Op {
	op := newKeyless(s, table, verb, v, spec)
	if op.Err != nil {
		return op
	}
	encoded := Encode(s, v)
	op.Key, op.Parts, op.Err = Key(s, v, encoded.it)
	if op.Err == nil && spec.From != nil {
		op.Given, op.Err = imageOf(op, spec.From)
	}
	if op.Err != nil {
		return op
	}
	var extra []expr.Change
	if len(spec.Changes) > 0 {
		if extra, op.Err = optionalChanges(s, spec.Changes); op.Err != nil {
			return op
		}
	}
	skip := func(a *schema.Attr) bool { return a.Append || a.Clock }
	if !replace && len(s.Filled) > 0 {
		skip = func(a *schema.Attr) bool { return a.Append || a.Clock || emptyID(a, v) }
	}
	given, err := encoded.Item(skip, extra)
	if err != nil {
		op.Err = err
		return op
	}
	var user expr.Cond
	if len(spec.If) > 0 {
		if user, op.Err = Conditions(s, spec.If); op.Err != nil {
			return op
		}
	}
	u := &upsert{update: update{op: op, s: s, parts: op.Parts, userCond: user}, given: given, extra: extra, replace: replace, filled: filled}
	if op.Err = u.prepare(); op.Err != nil {
		return op
	}
	switch {
	case !replace || op.Old != nil:
		u.returns = ReturnOld // which shows whether the write created the item
	case s.Replaces:
		u.returns = ReturnNothing // the changes are the new item
	default:
		u.returns = ReturnNew
	}
	op.Planner, op.Past = u, s.LooksBack
	op.AlsoDeleted = s.SoftDeletes && op.Expect != nil                  // without an expected version, an absent item is not an error
	op.Read = op.Read || op.Idempotent || s.KeepsHistory || s.HasUnique // a transaction does not show whether it created the item
	if op.Read {
		op.If, op.Changes = u.userCond, u.changes
	}
	return op
}

// NewUpsert plans a write that creates or merges: it sets the attributes that v encodes to, and absent ones stay as
// stored. It is one UpdateItem, or, if an index key can only be composed from the stored item, a read and a guarded Put.
// filled are the attributes that the caller's value left empty and the declaration filled.
func NewUpsert(s *schema.Schema, table string, v reflect.Value, spec *Options, filled []string) *Op {
	return newUpsert(s, table, "Upsert", v, spec, filled, false)
}

// NewPut plans a write that creates or replaces: it sets or removes every attribute of the struct. Attributes that the
// library keeps, that are written once, or that the struct does not know stay as stored.
func NewPut(s *schema.Schema, table string, v reflect.Value, spec *Options, filled []string) *Op {
	return newUpsert(s, table, "Put", v, spec, filled, true)
}
