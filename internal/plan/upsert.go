package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

type upsert struct {
	update
	value reflect.Value  // the caller's
	given item.Item      // of the value, without the attributes in extra
	extra []expr.Change  // the caller's changes in addition to the value; the Changes of op are those of both
	kind  bind.WriteKind // OnPut: absent attributes are removed; or OnUpsert
}

// NewUpsert plans a write that creates or merges: it sets the attributes that v encodes to, and absent ones stay as stored. With replace
// it is a Put, which removes those too, but for attributes that the library keeps, that are written once, or that the struct does not
// know. It is one UpdateItem, or, if an index key can only be composed from the stored item, a read and a guarded Put. filled are the
// attributes that the caller's value left empty and the declaration filled.
func NewUpsert(s *schema.Schema, table string, v reflect.Value, spec *bind.Options, filled []string, replace bool) *Op {
	verb, kind := "Upsert", bind.OnUpsert
	if replace {
		verb, kind = "Put", bind.OnPut
	}
	it, wrong := s.Codec.Encode(v)
	u := &upsert{value: v, kind: kind}
	op := u.Begin(s, table, verb, v, it, spec)
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
	skip := func(a *schema.Attr) bool { // an upsert, which does not generate ids, leaves one that v lacks as stored
		return a.Append || a.Clock || !replace && a.Role.ID != "" && !a.IsRequired && !a.Given(v.FieldByIndex(a.Index))
	}
	given, err := bind.WholeItem(s, v, it, wrong, skip, extra)
	if err == nil && s.Expires {
		err = op.holdsOnNone()
	}
	if op.Err = err; err != nil {
		return op
	}
	u.given, u.extra = given, extra
	op.Changes = make([]expr.Change, 0, len(s.Attrs)+len(extra))
	for _, a := range s.Attrs {
		if s.PK.Attr == a.Name || s.SK != nil && s.SK.Attr == a.Name || a.IsOwned || a.Append || a.Clock || len(extra) > 0 && bind.ChangeOf(extra, a.Name) != nil {
			continue
		}
		av, there := given[a.Name]
		c := expr.Change{Kind: expr.Set, Path: a.Path, Value: av}
		switch {
		case !there && (a.IsOnce || !replace): // it stays as stored
			continue
		case there && a.IsOnce && a.Role.Has(schema.SetOnce),
			there && slices.Contains(filled, a.Name) && (!replace || a.IsOnce) && !s.KeyPart(a): // filled for a new item only
			c.Kind = expr.SetIfNotExists
		case !there, a.IndexPart && item.Absent(av):
			c.Kind, c.Value = expr.Remove, nil
		}
		op.Changes = append(op.Changes, c)
	}
	if s.SetsExpiry {
		if op.Changes, op.Err = bind.DropUnsetExpiry(s, op.Changes, u.kind); op.Err != nil {
			return op
		}
	}
	op.Changes = append(op.Changes, extra...)
	if len(extra) > 0 {
		u.guards = append(parentGuards(extra), elementGuards(extra)...)
	}
	if op.Plan = u.plan; !s.Alone {
		op.Err = u.declared()
	}
	op.Read = (op.Read || op.Idempotent) && !op.ExpectNone // a transaction does not show whether it created the item
	return op
}

// declared applies what the declarations of the entity require.
func (u *upsert) declared() (err error) {
	op, s := &u.Op, u.Schema
	op.Past, op.Read = s.LooksBack, op.Read || s.KeepsHistory || s.HasUnique
	op.AlsoDeleted = s.SoftDeletes && op.Expect != nil // without an expected version, an absent item is not an error
	if s.Immutable {
		u.guards = append(u.guards, immutableGuards(s, op.Changes)...)
	}
	if s.Follows { // whether a read is needed does not depend on the time
		needRead := false
		u.derived, needRead, err = u.derive(&Input{Now: time.Unix(0, 0)})
		u.clockDependent, op.Read = dependsOnClock(s), op.Read || needRead
	}
	return err
}

// known returns the attributes whose new value does not depend on what is stored. NULL stands for a removed attribute.
func (u *upsert) known(expiry []expr.Change) item.Item {
	it := item.Clone(u.Parts)
	for _, list := range [][]expr.Change{u.Changes, expiry} {
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

// withCreated returns the changes with that of created_at, which only a new item gets. To append to them copies them.
func (u *upsert) withCreated(in *Input) ([]expr.Change, error) {
	changes := slices.Clip(u.Changes)
	a := u.Schema.CreatedAt
	if a == nil {
		return changes, nil
	}
	av, err := a.Format.Value(in.Now)
	return append(changes, expr.Change{Kind: expr.SetIfNotExists, Path: a.Path, Value: av}), bind.ValueError(u.Schema, a, err)
}

// derive returns the changes of expiry and index keys that follow from the others. needRead is set if they depend on the stored item.
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
	if follow, needRead, err = expiryChanges(u.Schema, changes, u.Parts, in, u.kind); err != nil {
		return nil, false, err
	}
	// Index keys depend on all of these. The values of what is removed are known.
	changes = slices.DeleteFunc(slices.Concat(changes, follow), func(c expr.Change) bool { return c.Kind == expr.Remove && len(c.Path) == 1 })
	keys, partly, err := bind.SyncIndexKeys(u.Schema, u.known(follow), changes, bind.MayCreate)
	return append(follow, keys...), needRead || partly, err
}

// plan plans an Upsert or Put. Without reading the item it sends
//
//	update  the item, if it is in the expected state, has not expired, the changes can be made, and it meets the caller's conditions
//
// and a refusal shows what did not hold; over an item that has expired it is planned again as a creation. Planned from the item that was
// read, it sends what changed says, and what created says if that is absent.
func (u *upsert) plan(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
	op, s := &u.Op, u.Schema
	switch {
	case op.ExpectNone, in.Learned.Expired, in.Read && !layout.Live(s, in.Image, in.Now):
		return u.create(in)
	case in.Read:
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return nil, err
		}
		if err := guardError(s, op.Changes, in.Image); err != nil {
			return nil, err
		}
		changes, err := u.withCreated(in)
		if err != nil {
			return nil, err
		}
		it, err := in.rewrite(s, changes, u.kind)
		if err != nil {
			return nil, err
		}
		layout.SetHidden(s, it, in.WriteID)
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
	changes, writeID := WithWriteID(s, append(append(append(changes, follow...), owned...), s.Hidden...), in.WriteID)
	guards := make([]expr.Cond, 0, 8)
	if op.Expect != nil {
		guards = op.present(guards, in.Now)
	}
	if s.Expires {
		guards = append(guards, layout.NotExpired(s, in.Now))
	}
	returns := ReturnNew
	switch {
	case u.kind == bind.OnUpsert || op.Old != nil:
		returns = ReturnOld // which shows whether the write created the item
	case s.Replaces:
		returns = ReturnNothing // the changes are the new item
	}
	p := &Plan{alone: [1]Action{{
		Kind: Update, Table: op.Table, Key: op.Key, Changes: changes, Cond: expr.All(append(append(guards, u.guards...), op.If)...),
		Returns: returns, WriteID: writeID,
	}}, Meaning: u}
	p.Actions = p.alone[:]
	return p, nil
}

// create plans the creation of the item.
func (u *upsert) create(in *Input) (*Plan, error) {
	op := &u.Op
	if op.Expect != nil {
		return nil, op.missing(in.Now)
	}
	it, err := apply(op.Schema, u.given, u.extra)
	if err != nil {
		return nil, err
	}
	if it, err = completeNew(op.Schema, op.Key, it, u.extra, in); err != nil {
		return nil, err
	}
	if err := op.CheckExpected(in.Image, in.Now); err != nil {
		return nil, err
	}
	return op.created(in, it, Result{Item: it, Created: true}, creating{op})
}

// creating is the Refusal of an Upsert or Put that was planned when there was no item.
type creating struct{ op *Op }

// Refused implements Refusal: there is an item now, which is read; or a condition of the caller did not hold.
func (x creating) Refused(f Failure, in *Input) Resolution {
	if err := x.op.CheckExpected(f.Image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	if layout.Live(x.op.Schema, f.Image, in.Now) {
		in.Learned.Expired = false
		return Resolution{Replan: sentinel.ErrConflict}
	}
	return Resolution{Err: sentinel.ErrConditionFailed}
}

// Refused is of an Upsert or Put that was planned without a read.
func (u *upsert) Refused(_ *Plan, f []Failure, in *Input) Resolution {
	image := f[0].Image
	if err := u.CheckExpected(image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	if image != nil && !layout.Live(u.Schema, image, in.Now) {
		if holds, _ := u.If.OnNone(); !holds && !u.Schema.Options.Derived {
			return Resolution{Err: sentinel.ErrConditionFailed}
		}
		in.Learned.Expired = true
		return Resolution{Replan: sentinel.ErrConflict}
	}
	return u.unchangeable(image, &in.Learned)
}

// Applied computes the new item from the image before the write.
func (u *upsert) Applied(p *Plan, r Returned, in *Input) (result Result, err error) {
	s, sent := u.Schema, p.Actions[0].Changes
	switch returns := p.Actions[0].Returns; {
	case returns == ReturnNothing && s.UpdatedAt == nil && s.Contexts == nil:
		return Result{Item: u.given, Given: u.value}, nil
	case in.Joined, returns == ReturnNothing:
		r.New.Release()
		return Result{Item: u.Op.known(sent)}, nil
	case returns == ReturnNew:
		return Result{Item: r.Image, Stored: r.New}, nil
	case !r.Proven && !r.Again:
		return u.fromOld(r, sent)
	}
	result.Item = r.Image
	if result.Created, err = u.created(r, sent); err != nil {
		return Result{}, err
	}
	if r.Again {
		if result.Item, err = expr.Apply(r.Image, sent); err != nil {
			return Result{}, err
		}
	}
	if u.Old != nil && !result.Created {
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
	fresh, err := expr.Apply(item.Clone(u.Key), changes)
	if err != nil {
		return false, err
	}
	created := item.Equal(&types.AttributeValueMemberM{Value: r.Image}, &types.AttributeValueMemberM{Value: fresh})
	switch {
	case !created || u.Schema.Version != nil:
		return created, nil
	case r.Again:
		return false, fmt.Errorf("%w: %w", sentinel.ErrReadBack, errCreated)
	}
	return false, &Ambiguous{Err: errCreated}
}
