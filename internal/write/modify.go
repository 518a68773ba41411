package write

import (
	"context"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// finerTimes rejects a changed time that is too precise for a key. An unchanged one stays as stored.
func finerTimes(s *schema.Schema, was, is reflect.Value) error {
	for _, a := range s.Attrs {
		if !a.Time || !a.Exact {
			continue
		}
		old, errOld := was.FieldByIndexErr(a.Index)
		now, errNow := is.FieldByIndexErr(a.Index)
		if errOld == nil && errNow == nil && reflect.DeepEqual(old.Interface(), now.Interface()) {
			continue
		}
		if _, err := EncodeAttr(s, a, is, nil); err != nil {
			return err
		}
	}
	return nil
}

// difference returns the changes that turn was into is. image is the stored form of was.
func difference(s *schema.Schema, image item.Item, was, is reflect.Value) ([]expr.Change, error) {
	loose := s.Codec.Loose()
	before, err := loose.Encode(was)
	if err != nil {
		return nil, CodecError(s, was, err)
	}
	if err := finerTimes(s, was, is); err != nil {
		return nil, err
	}
	after, err := loose.Encode(is)
	if err != nil {
		return nil, CodecError(s, is, err)
	}
	if errs := Validate(s, is, after); len(errs) > 0 {
		return nil, JoinErrors(errs)
	}
	var changes []expr.Change
	for _, a := range s.Attrs {
		av, there := after[a.Name]
		if item.Equal(before[a.Name], av) {
			continue
		}
		n := &schema.Node{Path: a.Path, Attr: a, Top: true}
		c := expr.Change{Kind: expr.Set, Path: n.Path, Value: graft(image[a.Name], before[a.Name], av)}
		if !there || a.IndexPart && item.Absent(av) {
			c.Kind, c.Value = expr.Remove, nil
		}
		if err := MayChange(s, n, c.Kind); err != nil {
			return nil, err
		}
		if a.IsRequired && item.Empty(av) {
			return nil, Invalid(s, CodeRequired, a, "%s", a.WhyRequired())
		}
		if _, stored := before[a.Name]; stored && a.Role.Has(schema.SetOnce) {
			return nil, Invalid(s, CodeNotYours, a, "the attribute is set once")
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// unmodified writes nothing. It still checks a condition, on the item that was read.
func (op *Op) unmodified(in Input, user expr.Cond) (Step, error) {
	result := Result{Item: in.Image, Old: in.Image}
	if user.Op == expr.None {
		return Nothing(result), nil
	}
	guard, pin, err := Unchanged(op.Schema, in.Image)
	check := Action{Kind: Check, Table: op.Table, Key: op.Key, Cond: expr.All(guard, user), Pin: pin}
	return Step{Actions: []Action{check}, Outcome: &single{op.resolveGuarded(in), result}}, err
}

// NewModify plans a read, the caller's change of the value, and a Put of the item with the difference, guarded by what
// was read. modify decodes an image, changes the value, and returns it before and after the change. It runs once per
// attempt.
func NewModify(s *schema.Schema, table string, v reflect.Value, spec *Options, modify func(item.Item) (was, is reflect.Value, err error)) *Op {
	op, _ := newOp(s, table, "Modify", v, spec)
	if op.Err != nil {
		return op
	}
	user, err := Conditions(s, spec.If)
	if err != nil {
		op.Err = err
		return op
	}
	op.Read, op.If = true, user
	op.AlsoDeleted = s.SoftDeletes
	op.Planner = PlanFunc(func(in Input) (Step, error) {
		if !Live(s, in.Image, in.Now) {
			return Step{}, op.missing(in.Now)
		}
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return Step{}, err
		}
		was, is, err := modify(in.Image)
		if err != nil {
			return Step{}, err
		}
		changes, err := difference(s, in.Image, was, is)
		if err != nil {
			return Step{}, err
		}
		if changes, err = DropUnsetExpiry(s, changes, OnUpdate); err != nil {
			return Step{}, err
		}
		if len(changes) == 0 {
			return op.unmodified(in, user)
		}
		if err := guardError(s, changes, in.Image); err != nil {
			return Step{}, err
		}
		it, err := rewrite(s, in, changes, OnUpdate)
		if err != nil {
			return Step{}, err
		}
		return op.changed(in, it, user)
	})
	return op
}

// revertChanges returns the changes that give it the content of an earlier state. The expiry stays, or follows from the
// attribute that it is counted from: that of the earlier state may have passed.
func revertChanges(s *schema.Schema, it, past item.Item) []expr.Change {
	var changes []expr.Change
	for _, a := range s.Attrs {
		if s.KeyPart(a) || a.IsOwned || a.IsOnce || a.Append || a.Clock || isExpiry(s, a) || item.Equal(it[a.Name], past[a.Name]) {
			continue
		}
		c := expr.Change{Kind: expr.Set, Path: a.Path, Value: past[a.Name]}
		if c.Value == nil {
			c.Kind = expr.Remove
		}
		changes = append(changes, c)
	}
	return changes
}

// NewRevert plans a Put of the item with the content of an earlier state, which find finds. It changes every attribute
// that differs and that an update may change.
func NewRevert(s *schema.Schema, table string, v reflect.Value, spec *Options, find func(context.Context, Reader, *Op, Input) (item.Item, error)) *Op {
	op, user := Begin(s, table, "Revert", v, spec)
	if op.Err != nil {
		return op
	}
	op.Read, op.If, op.AlsoDeleted = true, user, s.SoftDeletes
	PlanFrom(op, func(ctx context.Context, r Reader, in *Input) (item.Item, error) {
		return find(ctx, r, op, *in)
	}, func(in Input, past item.Item) (Step, error) {
		if !Live(s, in.Image, in.Now) {
			return Step{}, op.missing(in.Now)
		}
		if err := op.CheckExpected(in.Image, in.Now); err != nil {
			return Step{}, err
		}
		it, err := rewrite(s, in, revertChanges(s, in.Image, past), OnUpdate)
		if err != nil {
			return Step{}, err
		}
		if PayloadOf(past) < PayloadOf(it) { // a struct that reads later versions: its next upgrade has to see the earlier content
			delete(it, schema.PayloadAttr)
			if av := past[schema.PayloadAttr]; av != nil {
				it[schema.PayloadAttr] = av
			}
		}
		return op.changed(in, it, user)
	})
	return op
}
