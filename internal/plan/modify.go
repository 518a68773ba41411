package plan

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// difference returns the changes that turn was into is. image is the stored form of was.
func difference(s *schema.Schema, image item.Item, was, is reflect.Value) ([]expr.Change, error) {
	loose := s.Codec.Loose()
	before, err := loose.Encode(was)
	if err != nil {
		return nil, bind.CodecError(s, was, err)
	}
	for _, a := range s.Attrs { // a changed time must not be too precise for a key; an unchanged one stays as stored
		if !a.Time || !a.Exact {
			continue
		}
		old, errOld := was.FieldByIndexErr(a.Index)
		now, errNow := is.FieldByIndexErr(a.Index)
		if errOld == nil && errNow == nil && reflect.DeepEqual(old.Interface(), now.Interface()) {
			continue
		}
		if _, err := bind.EncodeAttr(s, a, is); err != nil {
			return nil, err
		}
	}
	after, err := loose.Encode(is)
	if err != nil {
		return nil, bind.CodecError(s, is, err)
	}
	if errs := bind.Validate(s, is, after); len(errs) > 0 {
		return nil, bind.JoinErrors(errs)
	}
	var changes []expr.Change
	for _, a := range s.Attrs {
		av, there := after[a.Name]
		if item.Equal(before[a.Name], av) {
			continue
		}
		c := expr.Change{Kind: expr.Set, Path: a.Path, Value: layout.Graft(image[a.Name], before[a.Name], av)}
		if !there || a.IndexPart && item.Absent(av) {
			c.Kind, c.Value = expr.Remove, nil
		}
		if err := bind.MayChange(s, a.Node, c.Kind); err != nil {
			return nil, err
		}
		if a.IsRequired && item.Empty(av) {
			return nil, bind.Invalid(s, bind.CodeRequired, a, "%s", a.WhyRequired())
		}
		if _, stored := before[a.Name]; stored && a.Role.Has(schema.SetOnce) {
			return nil, bind.Invalid(s, bind.CodeNotYours, a, "the attribute is set once")
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// NewModify plans a read, the caller's change of the value, and a Put of the item with the difference, guarded by what was read. modify
// decodes an image, changes the value, and returns it before and after the change. It runs once per attempt. It sends what changed says;
// without a difference, a check of the caller's conditions on the item that was read, if there are any.
func NewModify(s *schema.Schema, table string, v reflect.Value, spec *bind.Options, modify func(item.Item) (was, is reflect.Value, err error)) *Op {
	op := new(Op).Begin(s, table, "Modify", v, nil, spec)
	if op.Err != nil {
		return op
	}
	op.Read, op.AlsoDeleted = true, s.SoftDeletes
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
		if !layout.Live(s, in.Image, in.Now) {
			return nil, op.missing(in.Now)
		}
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return nil, err
		}
		was, is, err := modify(in.Image)
		if err != nil {
			return nil, err
		}
		changes, err := difference(s, in.Image, was, is)
		if err != nil {
			return nil, err
		}
		if changes, err = bind.DropUnsetExpiry(s, changes, bind.OnUpdate); err != nil {
			return nil, err
		}
		if len(changes) == 0 {
			return op.unchanged(in)
		}
		if err := guardError(s, changes, in.Image); err != nil {
			return nil, err
		}
		it, err := in.rewrite(s, changes, bind.OnUpdate)
		if err != nil {
			return nil, err
		}
		return op.changed(in, it)
	}
	return op
}

// unchanged plans a write that changes nothing of the item that was read. It sends nothing; with conditions of the caller, or in a
// transaction, a check of these on the item as it was read.
func (op *Op) unchanged(in *Input) (*Plan, error) {
	result := Result{Item: in.Image, Old: in.Image}
	if op.If.Op == expr.None && !in.Joined {
		return Nothing(result), nil
	}
	guard, pin, err := Unchanged(op.Schema, in.Image)
	if err != nil {
		return nil, err
	}
	check := Action{Kind: Check, Table: op.Table, Key: op.Key, Cond: expr.All(guard, op.If), Pin: pin, Refusal: asRead{op}}
	return Join([]Action{check}, 1, result), nil
}

// Reverts reports whether a revert gives an attribute its earlier value. The expiry stays, or follows from the attribute that it is counted
// from: that of the earlier state may have passed.
func Reverts(s *schema.Schema, a *schema.Attr) bool {
	return !s.KeyPart(a) && !a.IsOwned && !a.IsOnce && !a.Append && !a.Clock && !isExpiry(s, a)
}

// NewRevert plans a Put of the item with the content of an earlier state, which find finds. It changes every attribute
// that differs and that an update may change. It sends what changed says.
func NewRevert(s *schema.Schema, table string, v reflect.Value, spec *bind.Options, find func(context.Context, layout.Reader, *Op, *Input) (item.Item, error)) *Op {
	op := new(Op).Begin(s, table, "Revert", v, nil, spec)
	if op.Err != nil {
		return op
	}
	op.Read, op.More, op.AlsoDeleted = true, true, s.SoftDeletes
	op.Plan = func(ctx context.Context, r layout.Reader, in *Input) (*Plan, error) {
		past, err := find(ctx, r, op, in)
		if err != nil {
			return nil, err
		}
		if !layout.Live(s, in.Image, in.Now) {
			return nil, op.missing(in.Now)
		}
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return nil, err
		}
		var changes []expr.Change
		for _, a := range s.Attrs {
			if !Reverts(s, a) || item.Equal(in.Image[a.Name], past[a.Name]) {
				continue
			}
			c := expr.Change{Kind: expr.Set, Path: a.Path, Value: past[a.Name]}
			if c.Value == nil {
				c.Kind = expr.Remove
			}
			changes = append(changes, c)
		}
		it, err := in.rewrite(s, changes, bind.OnUpdate)
		if err != nil {
			return nil, err
		}
		if layout.PayloadOf(past) < layout.PayloadOf(it) { // a struct that reads later versions: its next upgrade has to see the earlier content
			delete(it, schema.PayloadAttr)
			if av := past[schema.PayloadAttr]; av != nil {
				it[schema.PayloadAttr] = av
			}
		}
		return op.changed(in, it)
	}
	return op
}
