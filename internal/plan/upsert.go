package plan

import (
	"context"
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

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
)

type upsert struct {
	update
	given   item.Item     // of the value, without the attributes in extra
	extra   []expr.Change // the caller's changes in addition to the value; the Changes of op are those of both
	replace bool          // absent attributes are removed, as in a Put
	filled  []string      // attributes in given that the caller left empty
	returns Returns       // what the result is made of
}

// NewUpsert plans a write that creates or merges: it sets the attributes that v encodes to, and absent ones stay as stored. With replace
// it is a Put, which removes those too, but for attributes that the library keeps, that are written once, or that the struct does not
// know. It is one UpdateItem, or, if an index key can only be composed from the stored item, a read and a guarded Put. filled are the
// attributes that the caller's value left empty and the declaration filled.
func NewUpsert(s *schema.Schema, table string, v reflect.Value, spec *bind.Options, filled []string, replace bool) *Op {
	verb := "Upsert"
	if replace {
		verb = "Put"
	}
	it, wrong := bind.Encode(s, v)
	op := Begin(s, table, verb, v, it, spec)
	if op.Err != nil {
		return op
	}
	var extra []expr.Change
	if len(spec.Changes) > 0 {
		if extra, _, op.Err = bind.Changes(s, spec.Changes); op.Err == nil {
			extra, op.Err = bind.DropUnsetExpiry(s, extra, bind.OnUpdate)
		}
		if op.Err != nil {
			return op
		}
	}
	skip := func(a *schema.Attr) bool { return a.Append || a.Clock }
	if !replace && len(s.Filled) > 0 { // an upsert, which does not generate ids, leaves one that v lacks as stored
		skip = func(a *schema.Attr) bool {
			return a.Append || a.Clock || a.Role.ID != "" && !a.IsRequired && !a.Given(v.FieldByIndex(a.Index))
		}
	}
	given, err := bind.WholeItem(s, v, it, wrong, skip, extra)
	if err == nil {
		err = op.holdsOnNone()
	}
	if op.Err = err; err != nil {
		return op
	}
	u := &upsert{update: update{op: op, s: s}, given: given, extra: extra, replace: replace, filled: filled}
	op.Changes = make([]expr.Change, 0, len(s.Attrs)+len(extra))
	for _, a := range s.Attrs {
		if s.PK.Attr == a.Name || s.SK != nil && s.SK.Attr == a.Name || a.IsOwned || a.Append || a.Clock || len(extra) > 0 && bind.ChangeOf(extra, a.Name) != nil {
			continue
		}
		if c, ok := u.change(a); ok {
			op.Changes = append(op.Changes, c)
		}
	}
	if s.SetsExpiry {
		if op.Changes, op.Err = bind.DropUnsetExpiry(s, op.Changes, u.writeKind()); op.Err != nil {
			return op
		}
	}
	op.Changes = append(op.Changes, extra...)
	if len(extra) > 0 {
		u.guards = append(parentGuards(extra), elementGuards(extra)...)
	}
	if s.Immutable {
		u.guards = append(u.guards, immutableGuards(s, op.Changes)...)
	}
	if s.Follows {
		// Whether a read is needed does not depend on the time.
		needRead := false
		if u.derived, needRead, op.Err = u.derive(&Input{Now: time.Unix(0, 0)}); op.Err != nil {
			return op
		}
		u.clockDependent = dependsOnClock(s)
		op.Read = op.Read || needRead
	}
	switch {
	case !replace || op.Old != nil:
		u.returns = ReturnOld // which shows whether the write created the item
	case s.Replaces:
		u.returns = ReturnNothing // the changes are the new item
	default:
		u.returns = ReturnNew
	}
	op.Plan, op.Past = u.plan, s.LooksBack
	op.AlsoDeleted = s.SoftDeletes && op.Expect != nil                  // without an expected version, an absent item is not an error
	op.Read = op.Read || op.Idempotent || s.KeepsHistory || s.HasUnique // a transaction does not show whether it created the item
	op.Read = op.Read && !op.ExpectNone
	return op
}

// WriteKind returns the kind of write for the expiry.
func (u *upsert) writeKind() bind.WriteKind {
	if u.replace {
		return bind.OnPut
	}
	return bind.OnUpsert
}

// change returns what the write does to attribute a, or false if it leaves a as stored.
func (u *upsert) change(a *schema.Attr) (expr.Change, bool) {
	av, given := u.given[a.Name]
	c := expr.Change{Kind: expr.Set, Path: a.Path, Value: av}
	switch {
	case !given && a.IsOnce:
		return c, false
	case given && a.IsOnce && a.Role.Has(schema.SetOnce),
		given && slices.Contains(u.filled, a.Name) && (!u.replace || a.IsOnce) && !u.s.KeyPart(a): // filled for a new item only
		c.Kind = expr.SetIfNotExists
	case given && a.IndexPart && item.Absent(av), !given && u.replace:
		c = expr.Change{Kind: expr.Remove, Path: c.Path}
	case !given:
		return c, false
	}
	return c, true
}

// known returns the attributes whose new value does not depend on what is stored. NULL stands for a removed attribute.
func (u *upsert) known(expiry []expr.Change) item.Item {
	it := item.Clone(u.op.Parts)
	for _, list := range [][]expr.Change{u.op.Changes, expiry} {
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

// withCreated returns a copy of the changes with that of created_at, which only a new item gets, and room for what the library adds.
func (u *upsert) withCreated(in *Input) ([]expr.Change, error) {
	changes := append(make([]expr.Change, 0, len(u.op.Changes)+len(u.derived)+7), u.op.Changes...)
	a := u.s.CreatedAt
	if a == nil {
		return changes, nil
	}
	av, err := a.Format.Value(in.Now)
	return append(changes, expr.Change{Kind: expr.SetIfNotExists, Path: a.Path, Value: av}), bind.ValueError(u.s, a, err)
}

// derive returns the changes of expiry and index keys that follow from the others. needRead is set if they depend on the
// stored item.
func (u *upsert) derive(in *Input) (follow []expr.Change, needRead bool, err error) {
	changes, err := u.withCreated(in)
	if err != nil {
		return nil, false, err
	}
	owned, err := u.owned(in)
	if err != nil {
		return nil, false, err
	}
	changes = append(changes, owned...)
	if follow, needRead, err = expiryChanges(u.s, changes, u.op.Parts, in, u.writeKind()); err != nil {
		return nil, false, err
	}
	// Index keys depend on all of these. The values of what is removed are known.
	changes = slices.DeleteFunc(append(changes, follow...), func(c expr.Change) bool { return c.Kind == expr.Remove && len(c.Path) == 1 })
	keys, partly, err := bind.SyncIndexKeys(u.s, u.known(follow), changes, bind.MayCreate)
	return append(follow, keys...), needRead || partly, err
}

// plan plans an Upsert or Put. Without reading the item it sends
//
//	update  the item, if it is in the expected state, has not expired, the changes can be made, and it meets the caller's conditions
//
// and a refusal shows what did not hold; over an item that has expired it is planned again as a creation. Planned from the item that was
// read, it sends what changed says, and what created says if that is absent.
func (u *upsert) plan(_ context.Context, _ layout.Reader, in *Input) (Plan, error) {
	op := u.op
	switch read := op.NeedsRead(in); {
	case op.ExpectNone, in.Learned.Expired, read && !layout.Live(u.s, in.Image, in.Now):
		return u.create(in)
	case read:
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return nil, err
		}
		if err := guardError(u.s, op.Changes, in.Image); err != nil {
			return nil, err
		}
		changes, err := u.withCreated(in)
		if err != nil {
			return nil, err
		}
		it, err := in.rewrite(u.s, changes, u.writeKind())
		if err != nil {
			return nil, err
		}
		layout.SetHidden(u.s, it, in.WriteID)
		return op.changed(in, it)
	}
	changes, err := u.withCreated(in)
	if err != nil {
		return nil, err
	}
	follow := u.derived
	if u.clockDependent {
		if follow, _, err = u.derive(in); err != nil {
			return nil, err
		}
	}
	owned, err := u.owned(in)
	if err != nil {
		return nil, err
	}
	changes, writeID := WithWriteID(u.s, append(append(append(changes, follow...), owned...), u.s.Hidden...), in.WriteID)
	if err := checkKnownSize(u.s, op.Key, changes); err != nil {
		return nil, err
	}
	guards := make([]expr.Cond, 0, 8)
	if op.Expect != nil {
		guards = append(guards, layout.PresentUnexpired(u.s, in.Now), op.expected())
	}
	if u.s.Expires {
		guards = append(guards, layout.NotExpired(u.s, in.Now))
	}
	return &upserted{Step{Actions: []Action{{
		Kind: Update, Table: op.Table, Key: op.Key, Changes: changes, Cond: expr.All(append(append(guards, u.guards...), op.If)...),
		Returns: u.returns, WriteID: writeID,
	}}}, u, in.Now, in.Joined, changes}, nil
}

// create plans the creation of the item.
func (u *upsert) create(in *Input) (Plan, error) {
	op := u.op
	if op.Expect != nil {
		return nil, op.missing(in.Now)
	}
	it, err := apply(u.s, u.given, u.extra)
	if err != nil {
		return nil, err
	}
	if it, err = completeNew(u.s, op.Key, it, u.extra, in); err != nil {
		return nil, err
	}
	if err := op.CheckExpected(in.Image, in.Now); err != nil {
		return nil, err
	}
	return op.created(in, it, Result{Item: it, Created: true}, &creating{op, in.Now})
}

// creating is the Refusal of an Upsert or Put that was planned at the time now, when there was no item.
type creating struct {
	op  *Op
	now time.Time
}

// Refused implements Refusal: there is an item now, which is read; or a condition of the caller did not hold.
func (x *creating) Refused(f Failure, l *Learned) Resolution {
	if err := x.op.CheckExpected(f.Image, x.now); err != nil {
		return Resolution{Err: err}
	}
	if layout.Live(x.op.Schema, f.Image, x.now) {
		l.Expired = false
		return Resolution{Replan: entitytype.ErrConflict}
	}
	return Resolution{Err: entitytype.ErrConditionFailed}
}

// upserted is a plan of an Upsert or Put that was made without a read.
type upserted struct {
	Step
	*upsert
	now    time.Time
	joined bool
	sent   []expr.Change // all changes
}

// Refused implements Plan.
func (x *upserted) Refused(f []Failure, l *Learned) Resolution {
	image := f[0].Image
	if err := x.op.CheckExpected(image, x.now); err != nil {
		return Resolution{Err: err}
	}
	if image != nil && !layout.Live(x.s, image, x.now) {
		if holds, _ := x.op.If.OnNone(); !holds && !x.s.Options.Derived {
			return Resolution{Err: entitytype.ErrConditionFailed}
		}
		l.Expired = true
		return Resolution{Replan: entitytype.ErrConflict}
	}
	return x.unchangeable(image, l)
}

// Applied computes the new item from the image before the write.
func (x *upserted) Applied(r Returned) (result Result, err error) {
	switch {
	case x.returns == ReturnNothing && x.s.UpdatedAt == nil && x.s.Contexts == nil:
		return Result{Item: x.given}, nil
	case x.joined, x.returns == ReturnNothing:
		r.New.Release()
		return Result{Item: x.op.known(x.sent)}, nil
	case x.returns == ReturnNew:
		return Result{Item: r.Image, Stored: r.New}, nil
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

// errCreated means that an upsert was applied, but whether it created the item is unknown.
var errCreated = errors.New("the item was written; whether this write created it is not known")

// created decides whether the write created the item, from the one that it left the first time. If that differs from a freshly created one,
// it existed before. If it is equal and the entity has versions, this write created it, because a write over an earlier item
// would have continued its version; only over one from before the entity had versions it looks the same, and counts as created.
// Without a version, another write could have stored the same values at the same time.
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
