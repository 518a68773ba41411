package plan

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// NewUpsert plans a write that creates or merges: attributes that v encodes to are set, absent ones stay as stored. One
// UpdateItem, or, when an index half can only be composed from the stored item, a read and a guarded Put.
func NewUpsert(s *schema.Schema, table string, v reflect.Value, spec opt.Update) *Op {
	return newUpsert(s, table, "Upsert", v, spec, false)
}

// NewPut plans a write that creates or replaces: every attribute of the model is set or removed, what the library keeps
// and what is written once survives, attributes unknown to the model stay.
func NewPut(s *schema.Schema, table string, v reflect.Value, spec opt.Write) *Op {
	return newUpsert(s, table, "Put", v, opt.Update{Write: spec}, true)
}

func newUpsert(s *schema.Schema, table, verb string, v reflect.Value, spec opt.Update, replace bool) *Op {
	op, parts := newOp(s, table, verb, v, spec.Write)
	if op.Err != nil {
		return op
	}
	extra, err := asked(s, spec.Changes)
	if err != nil {
		op.Err = err
		return op
	}
	given, err := whole(s, v, func(a *schema.Attr) bool { return a.Append || a.Clock }, extra)
	if err != nil {
		op.Err = err
		return op
	}
	user, err := Conditions(s, spec.If)
	if err != nil {
		op.Err = err
		return op
	}
	u := &upsert{update: update{op: op, s: s, parts: parts, user: user}, given: given, extra: extra, replace: replace}
	if op.Err = u.prepare(); op.Err != nil {
		return op
	}
	op.Plan, op.Past = u.blind, looksBack(s)
	op.AlsoDeleted = softDeleter(s) != nil && op.Expect != nil                              // without an expected version, an absent item is no error
	op.Read = op.Read || op.Exact || snapshotter(s) != nil || len(UniqueConstraints(s)) > 0 // a transaction would not say whether it created
	if op.Read {
		op.Plan, op.If, op.Changes = u.afterRead, u.user, u.changes
	}
	return op
}

type upsert struct {
	update
	given   item.Item     // of the value, without what extra names
	extra   []expr.Change // the caller's changes beside the value
	replace bool          // absent attributes are removed: a Put
}

// asked resolves the changes that are given beside a value; there need not be any.
func asked(s *schema.Schema, list []opt.Change) ([]expr.Change, error) {
	if len(list) == 0 {
		return nil, nil
	}
	changes, err := resolveChanges(s, list)
	if err != nil {
		return nil, err
	}
	return chosen(s, changes, onChange)
}

// prepare makes changes of the given attributes, in the order of the struct.
func (u *upsert) prepare() error {
	for _, a := range u.s.Attrs {
		if u.s.PK.Attr == a.Name || u.s.SK != nil && u.s.SK.Attr == a.Name || a.Owned() || a.Append || a.Clock || changeOf(u.extra, a.Name) != nil {
			continue
		}
		if c, ok := u.change(a); ok {
			u.changes = append(u.changes, c)
		}
	}
	var err error
	if u.changes, err = chosen(u.s, u.changes, u.on()); err != nil {
		return err
	}
	u.changes = append(u.changes, u.extra...)
	// What the clock says does not decide whether a read is needed.
	follow, needRead, err := u.following(Input{Now: time.Unix(0, 0)})
	u.follow, u.timed = follow, clockDecides(u.s)
	u.op.Read = u.op.Read || needRead
	return err
}

// following are the changes of the stamp and of the index keys that follow from the others. needRead is set when they
// depend on the stored item.
func (u *upsert) following(in Input) (follow []expr.Change, needRead bool, err error) {
	follow, needRead, err = u.stamps(in)
	if err != nil {
		return nil, false, err
	}
	changes, err := u.inStep(in, follow)
	if err != nil {
		return nil, false, err
	}
	keys, partly, err := syncIndexKeys(u.s, u.known(follow), changes, true)
	return append(follow, keys...), needRead || partly, err
}

// on is the occasion of the write, for stamps.
func (u *upsert) on() occasion {
	if u.replace {
		return onReplace
	}
	return onMerge
}

// stamps are the changes of what follows from the others.
func (u *upsert) stamps(in Input) ([]expr.Change, bool, error) {
	changes, err := u.withCreated(in)
	if err != nil {
		return nil, false, err
	}
	owned, err := u.owned(in)
	if err != nil {
		return nil, false, err
	}
	return stampChanges(u.s, append(changes, owned...), u.parts, in, u.on())
}

// change is what the write does to attribute a; false when it leaves it as stored.
func (u *upsert) change(a *schema.Attr) (expr.Change, bool) {
	av, given := u.given[a.Name]
	c := expr.Change{Kind: expr.Set, Path: expr.Attr(a.Name), Value: av}
	switch {
	case !given && a.WriteOnce():
		return c, false
	case given && a.Role.Has(tag.SetOnce):
		c.Kind = expr.SetIfAbsent
	case given && item.Absent(av) && nativeIndexPart(u.s, a), !given && u.replace:
		c = expr.Change{Kind: expr.Remove, Path: c.Path}
	case !given:
		return c, false
	}
	return c, true
}

// known are the attributes whose value after the write does not depend on what is stored; NULL stands for none.
func (u *upsert) known(stamps []expr.Change) item.Item {
	it := item.Clone(u.parts)
	for _, c := range append(slices.Clone(u.changes), stamps...) {
		switch {
		case len(c.Path) > 1:
		case c.Kind == expr.Set:
			it[c.Path.Root()] = c.Value
		case c.Kind == expr.Remove:
			it[c.Path.Root()] = &types.AttributeValueMemberNULL{Value: true}
		}
	}
	return it
}

// inStep are the changes that decide the index halves: all but removals, which are known values already.
func (u *upsert) inStep(in Input, stamps []expr.Change) ([]expr.Change, error) {
	owned, err := u.owned(in)
	if err != nil {
		return nil, err
	}
	created, err := u.withCreated(in)
	return slices.DeleteFunc(append(append(created, owned...), stamps...), func(c expr.Change) bool { return c.Kind == expr.Remove && len(c.Path) == 1 }), err
}

// withCreated adds created_at, which only a new item gets.
func (u *upsert) withCreated(in Input) ([]expr.Change, error) {
	changes := slices.Clone(u.changes)
	a := u.s.CreatedAt
	if a == nil {
		return changes, nil
	}
	av, err := TimeValue(a, in.Now)
	return append(changes, expr.Change{Kind: expr.SetIfAbsent, Path: expr.Attr(a.Name), Value: av}), valueError(u.s, a, err)
}

func (u *upsert) blind(in Input) (Step, error) {
	switch {
	case overExpired(in):
		return u.create(in)
	case u.op.NeedsRead(in):
		return u.afterRead(in)
	}
	changes, err := u.withCreated(in)
	if err != nil {
		return Step{}, err
	}
	follow := u.follow
	if u.timed {
		if follow, _, err = u.following(in); err != nil {
			return Step{}, err
		}
	}
	owned, err := u.owned(in)
	if err != nil {
		return Step{}, err
	}
	changes = append(append(append(changes, follow...), owned...), HiddenChanges(u.s, in.WriteID)...)
	if err := CheckSize(u.s, determined(u.op.Key, changes)); err != nil {
		return Step{}, err
	}
	return Step{
		Actions: []Action{{
			Kind: Update, Table: u.op.Table, Key: u.op.Key, Changes: changes, Cond: u.guard(in),
			Returns: u.returns(), WriteID: WriteID(u.s, in),
		}},
		Resolve: func(f []Failure) Resolution { return u.resolve(in, f[0].Image) },
		Done: func(r Returned) (Result, error) {
			if in.Joined {
				return Result{Item: determined(u.parts, changes)}, nil
			}
			return u.done(in, r, changes)
		},
	}, nil
}

// returns asks for what shows most: the item before, which says whether it was created, or the item itself.
func (u *upsert) returns() Returns {
	if u.replace && u.op.Old == nil {
		return ReturnNew
	}
	return ReturnOld
}

func (u *upsert) resolve(in Input, image item.Item) Resolution {
	if err := u.op.Unexpected(image, in.Now); err != nil {
		return Resolution{Err: err}
	}
	if image != nil && !live(u.s, image, in.Now) {
		return Resolution{Replan: ErrConflict, Hints: []any{expired{}}}
	}
	if err := broken(u.s, u.changes, image); err != nil {
		return Resolution{Err: err}
	}
	switch null, err := misfits(u.s, image, u.changes); {
	case err != nil:
		return Resolution{Err: err}
	case null:
		return Resolution{Replan: ErrConflict, Hints: []any{ReadFirst{}}}
	}
	return Resolution{Err: ErrConditionFailed}
}

// errCreated is the error of an upsert that was applied, but cannot say whether it created the item.
var errCreated = errors.New("the item was written; whether this write created it is not known")

// done computes the item from the image before the write.
func (u *upsert) done(in Input, r Returned, changes []expr.Change) (Result, error) {
	if err := u.op.oldUnknown(r); err != nil {
		return Result{}, err
	}
	if u.returns() == ReturnNew {
		return Result{Item: r.Image}, nil
	}
	if !r.Proven {
		it, err := u.op.fromOld(r, changes)
		return Result{Item: it, Created: r.Image == nil}, err
	}
	fresh, err := expr.Apply(item.Clone(u.op.Key), changes)
	if err != nil {
		return Result{}, err
	}
	return u.proven(r.Image, fresh)
}

// proven decides from the item, which is as this write left it, whether the write created it. What differs from a fresh item
// has something of an earlier one, if only its created_at. What is equal was created by this write when it counts
// versions, which an earlier item would have been counted on from. Without a version it may be another write's, made from
// the same values at the same clock reading.
func (u *upsert) proven(stored, fresh item.Item) (Result, error) {
	created := item.Equal(&types.AttributeValueMemberM{Value: stored}, &types.AttributeValueMemberM{Value: fresh})
	if created && u.s.Version == nil {
		return Result{}, &Ambiguous{Err: errCreated}
	}
	return Result{Item: stored, Created: created}, nil
}

// afterRead plans from the stored item, or from its absence.
func (u *upsert) afterRead(in Input) (Step, error) {
	if !live(u.s, in.Image, in.Now) {
		return u.create(in)
	}
	if err := u.op.Unexpected(in.Image, in.Now); err != nil {
		return Step{}, err
	}
	if err := broken(u.s, u.changes, in.Image); err != nil {
		return Step{}, err
	}
	changes, err := u.withCreated(in)
	if err != nil {
		return Step{}, err
	}
	it, err := rewrite(u.s, in, changes, u.on())
	if err != nil {
		return Step{}, err
	}
	hidden(u.s, it, in.WriteID)
	return u.op.changed(in, it, u.user)
}

// create plans the beginning of a new life.
func (u *upsert) create(in Input) (Step, error) {
	if u.op.Expect != nil {
		return Step{}, u.op.missing(in.Now)
	}
	it, err := u.op.fresh(u.given, u.extra, in)
	if err != nil {
		return Step{}, err
	}
	return u.op.created(in, it, u.user, Result{Item: it, Created: true}, func(f Failure) Resolution {
		if live(u.s, f.Image, in.Now) {
			return Resolution{Replan: ErrConflict, Hints: []any{renewed{}}}
		}
		return Resolution{Err: ErrConditionFailed}
	})
}

// expired is what a blind write learns of an item that is there but has expired.
type expired struct{}

// renewed is what it learns when another client has begun a new life in place of the expired item.
type renewed struct{}

// overExpired reports that the item had expired when it was last heard of.
func overExpired(in Input) bool {
	over := false
	for _, x := range in.Hints {
		switch x.(type) {
		case expired:
			over = true
		case renewed:
			over = false
		}
	}
	return over
}

// guard is what a blind write demands of the stored item.
func (u *upsert) guard(in Input) expr.Cond {
	conds := append(append(parentGuards(u.extra), elementGuards(u.extra)...), immutableGuards(u.s, u.changes)...)
	conds = append(conds, u.user)
	if u.s.Expires {
		conds = append([]expr.Cond{NotExpired(u.s, in.Now)}, conds...)
	}
	if u.op.Expect != nil {
		conds = append([]expr.Cond{exists(u.s, in.Now), u.op.expected()}, conds...)
	}
	return and(conds...)
}
