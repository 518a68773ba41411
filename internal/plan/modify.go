package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// NewModify plans a read, the caller's change of the value that was read, and a Put of the item with the difference,
// guarded by what was read. modify decodes an image, changes the value and returns it as it was and as it is now; it
// runs once for every round of planning.
func NewModify(s *schema.Schema, table string, v reflect.Value, spec opt.Write, modify func(item.Item) (was, is reflect.Value, err error)) *Op {
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
	op.AlsoDeleted = softDeleter(s) != nil
	op.Plan = func(in Input) (Step, error) {
		if !live(s, in.Image, in.Now) {
			return Step{}, op.missing(in.Now)
		}
		if err := op.Unexpected(in.Image, in.Now); err != nil {
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
		if changes, err = chosen(s, changes, onChange); err != nil {
			return Step{}, err
		}
		if len(changes) == 0 {
			return unchangedStep(op, in, user)
		}
		if err := broken(s, changes, in.Image); err != nil {
			return Step{}, err
		}
		it, err := rewrite(s, in, changes, onChange)
		if err != nil {
			return Step{}, err
		}
		return op.changed(in, it, user)
	}
	return op
}

// difference is what turns one value of the struct into another, of which image is the stored form.
func difference(s *schema.Schema, image item.Item, was, is reflect.Value) ([]expr.Change, error) {
	loose := s.Codec.Loose()
	before, err := loose.Encode(was)
	if err != nil {
		return nil, codecError(s, was, err)
	}
	if err := finerTimes(s, was, is); err != nil {
		return nil, err
	}
	after, err := loose.Encode(is)
	if err != nil {
		return nil, codecError(s, is, err)
	}
	if errs := validate(s, is, after); len(errs) > 0 {
		return nil, Joined(errs)
	}
	var changes []expr.Change
	for _, a := range s.Attrs {
		av, there := after[a.Name]
		if item.Equal(before[a.Name], av) {
			continue
		}
		n := &schema.Node{Path: expr.Attr(a.Name), Attr: a, Top: true}
		c := expr.Change{Kind: expr.Set, Path: n.Path, Value: graft(image[a.Name], before[a.Name], av)}
		if !there || item.Absent(av) && nativeIndexPart(s, a) {
			c.Kind, c.Value = expr.Remove, nil
		}
		if err := mayChange(s, n, c.Kind); err != nil {
			return nil, err
		}
		if a.Required() && item.Empty(av) {
			return nil, input(s, CodeRequired, a, "%s", a.WhyRequired())
		}
		if _, stored := before[a.Name]; stored && a.Role.Has(tag.SetOnce) {
			return nil, input(s, CodeNotYours, a, "the attribute is set once")
		}
		changes = append(changes, c)
	}
	return changes, nil
}

// finerTimes refuses a time that was changed to one that a key cannot hold. One that was read stays as it is.
func finerTimes(s *schema.Schema, was, is reflect.Value) error {
	for _, a := range s.Attrs {
		if !a.Time || !a.Exact() {
			continue
		}
		old, errOld := was.FieldByIndexErr(a.Index)
		now, errNow := is.FieldByIndexErr(a.Index)
		if errOld == nil && errNow == nil && reflect.DeepEqual(old.Interface(), now.Interface()) {
			continue
		}
		if _, err := EncodeAttr(s, a, is); err != nil {
			return err
		}
	}
	return nil
}

// unchangedStep writes nothing. A condition is still checked, on the item that was read.
func unchangedStep(op *Op, in Input, user expr.Cond) (Step, error) {
	step := op.over(in.Image, Step{Done: func(Returned) (Result, error) { return Stored(in.Image), nil }})
	if user.Op == expr.None {
		return step, nil
	}
	guard, pin, err := unchanged(op.Schema, in.Image)
	step.Actions = []Action{{Kind: Check, Table: op.Table, Key: op.Key, Cond: and(guard, user), Pin: pin}}
	step.Resolve = func(f []Failure) Resolution {
		if SameState(op.Schema, in.Image, f[0].Image) {
			return Resolution{Err: ErrConditionFailed}
		}
		return Resolution{Replan: ErrConflict}
	}
	return step, err
}

// NewRevert plans a Put of the item as it is with the content of an earlier state, which the op's Prepare finds: an
// update of every attribute that differs and that an update may change.
func NewRevert(s *schema.Schema, table string, v reflect.Value, spec opt.Write) *Op {
	op, user := Begin(s, table, "Revert", v, spec)
	if op.Err != nil {
		return op
	}
	op.Read, op.If, op.AlsoDeleted = true, user, softDeleter(s) != nil
	op.Plan = func(in Input) (Step, error) {
		if !live(s, in.Image, in.Now) {
			return Step{}, op.missing(in.Now)
		}
		if err := op.Unexpected(in.Image, in.Now); err != nil {
			return Step{}, err
		}
		it, err := rewrite(s, in, towards(s, in.Image, in.Found.(item.Item)), onChange)
		if err != nil {
			return Step{}, err
		}
		return op.changed(in, it, user)
	}
	return op
}

// towards are the changes that give it the content of an earlier state.
func towards(s *schema.Schema, it, past item.Item) []expr.Change {
	var changes []expr.Change
	for _, a := range s.Attrs {
		if s.KeyPart(a) || a.Owned() || a.WriteOnce() || a.Append || a.Clock || item.Equal(it[a.Name], past[a.Name]) {
			continue
		}
		c := expr.Change{Kind: expr.Set, Path: expr.Attr(a.Name), Value: past[a.Name]}
		if c.Value == nil {
			c.Kind = expr.Remove
		}
		changes = append(changes, c)
	}
	return changes
}
