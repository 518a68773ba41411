package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// input returns an *InputError about attribute a, or about the type when a is nil.
func input(s *schema.Schema, code string, a *schema.Attr, format string, args ...any) error {
	field := ""
	if a != nil {
		field = a.Field
	}
	return &InputError{Code: code, Type: s.Type.String(), Field: field, Problem: fmt.Sprintf(format, args...)}
}

// Node finds the place that a target names.
func Node(s *schema.Schema, t opt.Target) (*schema.Node, error) {
	n, err := outer(s, t)
	if err != nil || t.Inside == "" {
		return n, err
	}
	path, ok := parseSteps(t.Inside)
	if !ok {
		return nil, input(s, CodePointer, n.Attr, "the path %q is malformed; write name.name[0] or [0].name", t.Inside)
	}
	for _, step := range path {
		n = n.Inside(step)
	}
	return n, nil
}

// outer finds the place that a target begins with.
func outer(s *schema.Schema, t opt.Target) (*schema.Node, error) {
	if a := s.Attr(t.Attr); a != nil && t.Pointer == nil && t.Text == "" {
		return &schema.Node{Path: expr.Attr(a.Name), Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Rule: a.Rule, Top: true}, nil
	}
	if t.Pointer == nil {
		return textNode(s, t.Text)
	}
	p := reflect.ValueOf(t.Pointer)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		return nil, input(s, CodePointer, nil, "a nil pointer of type %T names no attribute; use the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
	}
	n := s.Node(p)
	if n == nil {
		return nil, input(s, CodePointer, nil, "the pointer of type %T is not the address of a field of entity.Fields[%s]()", t.Pointer, s.Type.Name())
	}
	switch {
	case t.Entry != nil && *t.Entry == "":
		return nil, input(s, CodeValue, n.Attr, "the key of a map entry is empty")
	case t.Entry != nil:
		return n.Inside(expr.Step{Name: *t.Entry}), nil
	case t.Elem != nil && *t.Elem < 0:
		return nil, input(s, CodeValue, n.Attr, "the index of a list element is negative")
	case t.Elem != nil:
		return n.Inside(expr.Step{Index: *t.Elem}), nil
	}
	return n, nil
}

// encode turns a Go value for the field at n into an attribute value; exact demands that a time fits its format. It
// returns nil for a value that the field's tag makes absent.
func encode(s *schema.Schema, n *schema.Node, v any, exact bool) (types.AttributeValue, error) {
	rv := reflect.ValueOf(v)
	if !rv.IsValid() {
		return &types.AttributeValueMemberNULL{Value: true}, nil
	}
	if n.Top && n.Attr.Time {
		f := item.TimeField{Attr: n.Attr.Name, Format: n.Attr.Format, OmitEmpty: n.Tag.OmitEmpty, Exact: exact}
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	if n.Top && n.Attr.Text {
		f := n.Attr.TextField()
		f.OmitEmpty = n.Tag.OmitEmpty
		av, err := f.Encode(rv)
		return av, valueError(s, n.Attr, err)
	}
	options := n.Options
	if n.Tag.OmitEmpty {
		options += ",omitempty"
	}
	av, err := s.Codec.EncodeValue(rv, options)
	if n.Top {
		av = n.Attr.Stored(av)
	}
	return av, valueError(s, n.Attr, err)
}

// valueError makes an *InputError of an encoding error. The cause may quote the value, so it is not kept.
func valueError(s *schema.Schema, a *schema.Attr, err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case *item.FieldError:
		if a == nil {
			a = s.Attr(e.Attr)
		}
		return input(s, CodeValue, a, "%s", e.Problem)
	case *key.PartError:
		return input(s, CodeValue, a, "%s", e.Problem)
	}
	return input(s, CodeValue, a, "the value cannot be stored (%T)", err)
}

// Conditions resolves conditions; their conjunction is returned.
func Conditions(s *schema.Schema, list []opt.Cond) (expr.Cond, error) {
	all := make([]expr.Cond, 0, len(list))
	for _, c := range list {
		r, err := Condition(s, c)
		if err != nil {
			return expr.Cond{}, err
		}
		all = append(all, r)
	}
	joined := expr.All(all...)
	if n := joined.Operators(); n > maxUserOperators {
		return expr.Cond{}, input(s, CodeCondition, nil, "the conditions have %d operators, %d are allowed", n, maxUserOperators)
	}
	return joined, nil
}

// Condition checks one condition against the schema and encodes its values. An empty value of an attribute that is absent
// when it is empty stands for its absence, too.
func Condition(s *schema.Schema, c opt.Cond) (expr.Cond, error) {
	out, n, err := compile(s, c)
	if err != nil || n == nil {
		return out, err
	}
	return orAbsent(s, n, c, out)
}

// KeyCondition is Condition for a part of a key, which every item that is found has.
func KeyCondition(s *schema.Schema, c opt.Cond) (expr.Cond, error) {
	if c.Op == opt.Where {
		return expr.Cond{}, input(s, CodeCondition, nil, "Where cannot be a condition on a key; give it inside Filter")
	}
	out, _, err := compile(s, c)
	return out, err
}

// compile is KeyCondition, with the place that the condition is about; nil for a combination.
func compile(s *schema.Schema, c opt.Cond) (expr.Cond, *schema.Node, error) {
	switch c.Op {
	case expr.None:
		return expr.Cond{}, nil, input(s, CodeCondition, nil, "the zero Cond is not a condition")
	case expr.And, expr.Or, expr.Not:
		out, err := combination(s, c)
		return out, nil, err
	case opt.Where:
		out, err := built(s, c)
		return out, nil, err
	}
	n, err := Node(s, c.Target)
	if err != nil {
		return expr.Cond{}, nil, err
	}
	out, err := comparison(s, n, c)
	return out, n, err
}

// comparison is the condition c on the attribute at n.
func comparison(s *schema.Schema, n *schema.Node, c opt.Cond) (out expr.Cond, err error) {
	if c.Op == expr.In && (len(c.Values) == 0 || len(c.Values) > maxInValues) {
		return expr.Cond{}, input(s, CodeCondition, n.Attr, "In takes 1 to %d values, not %d", maxInValues, len(c.Values))
	}
	if err := Ordered(s, n, c.Op); err != nil {
		return expr.Cond{}, err
	}
	out = expr.Cond{Op: c.Op, Path: n.Path}
	plain := *n // in a condition an empty value is a value
	plain.Tag.OmitEmpty = false
	if c.Op == expr.Contains && n.Type.Kind() == reflect.Slice {
		plain = schema.Node{Path: n.Path, Attr: n.Attr, Type: n.Type.Elem()}
	}
	for _, v := range c.Values {
		if v, err = conform(s, &plain, c.Target, v); err != nil {
			return expr.Cond{}, err
		}
		if v, err = rounded(s, &out, n, v); err != nil {
			return expr.Cond{}, err
		}
		av, err := encode(s, &plain, v, false)
		if err != nil {
			return expr.Cond{}, err
		}
		out.Values = append(out.Values, av)
	}
	if !operandsFit(c.Op, out.Values) {
		return expr.Cond{}, input(s, CodeCondition, n.Attr, "%s needs %s", c.Op, operandsOf(c.Op))
	}
	if c.Op == expr.Between {
		if order, ok := expr.Compares(out.Values[0], out.Values[1]); ok && order > 0 {
			// DynamoDB refuses an empty range; it is a condition that never holds.
			return never(out.Path), nil
		}
	}
	return out, nil
}

// Ordered refuses conditions on the order, or the beginning, of texts that values of a type of the caller's marshal themselves
// to, unless the role text=ordered says that the order is that of the values.
func Ordered(s *schema.Schema, n *schema.Node, op expr.Op) error {
	if !n.Top || !n.Attr.Text {
		return nil
	}
	switch op {
	case expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between:
		if n.Attr.Mixed() {
			return input(s, CodeUnordered, n.Attr, `%s compares the stored texts, whose order need not be that of the values; if it is, tag the field entity:"text=ordered"`, op)
		}
	case expr.BeginsWith, expr.Contains:
		return input(s, CodeUnordered, n.Attr, "%s looks into the stored text, which is the type's own", op)
	}
	return nil
}

// maxInValues is how many values DynamoDB takes for IN.
const maxInValues = 100

// operandsFit reports that DynamoDB takes values with op: it refuses, on any item, to order what has no order.
func operandsFit(op expr.Op, values []types.AttributeValue) bool {
	switch op {
	case expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between:
		_, ok := expr.Compares(values[0], values[len(values)-1])
		return ok
	case expr.BeginsWith:
		_, ok := values[0].(*types.AttributeValueMemberS)
		return ok
	}
	return true
}

func operandsOf(op expr.Op) string {
	if op == expr.BeginsWith {
		return "an attribute that is stored as a string"
	}
	return "values that are stored as strings, numbers or binaries, of one type"
}

func combination(s *schema.Schema, c opt.Cond) (expr.Cond, error) {
	if len(c.Conds) == 0 {
		return expr.Cond{}, input(s, CodeCondition, nil, "%s needs at least one condition", c.Op)
	}
	out := expr.Cond{Op: c.Op}
	for _, k := range c.Conds {
		r, err := Condition(s, k)
		if err != nil {
			return expr.Cond{}, err
		}
		out.Conds = append(out.Conds, r)
	}
	if len(out.Conds) == 1 && c.Op != expr.Not {
		return out.Conds[0], nil
	}
	return out, nil
}

// rounded brings a time that is finer than its attribute to the attribute's format so that the comparison keeps its
// meaning; where it could not, the finer time is an error.
func rounded(s *schema.Schema, c *expr.Cond, n *schema.Node, v any) (any, error) {
	if !n.Top || !n.Attr.Time {
		return v, nil
	}
	rv := reflect.ValueOf(v)
	for rv.Kind() == reflect.Pointer && !rv.IsNil() {
		rv = rv.Elem()
	}
	if !rv.IsValid() || rv.Kind() == reflect.Pointer {
		return v, nil
	}
	t := rv.Convert(reflect.TypeFor[time.Time]()).Interface().(time.Time)
	format := n.Attr.Format
	if format.Exact(t) {
		return v, nil
	}
	floor := format.Truncate(t)
	switch first := len(c.Values) == 0; {
	case c.Op == expr.Lt, c.Op == expr.Ge, c.Op == expr.Between && first:
		return floor.Add(format.Unit()), nil
	case c.Op == expr.Le, c.Op == expr.Gt, c.Op == expr.Between:
		return floor, nil
	}
	return nil, input(s, CodeValue, n.Attr, "the time is finer than the attribute's format %s, so that %s could never hold; give it as t.Truncate(%s)", format, c.Op, format.UnitName())
}

// built checks a condition from the SDK's expression package against the schema.
func built(s *schema.Schema, c opt.Cond) (expr.Cond, error) {
	var bad *item.FieldError
	switch {
	case errors.As(c.Err, &bad):
		return expr.Cond{}, input(s, CodeValue, nil, "Where: %s", bad.Problem)
	case c.Err != nil:
		return expr.Cond{}, input(s, CodeCondition, nil, "Where: %v", c.Err)
	}
	return declared(s, c.Built)
}

// declared refuses what c says of attributes that the entity does not have, and what DynamoDB refuses on any item.
func declared(s *schema.Schema, c expr.Cond) (expr.Cond, error) {
	switch c.Op {
	case expr.And, expr.Or, expr.Not:
		out := expr.Cond{Op: c.Op}
		for _, k := range c.Conds {
			one, err := declared(s, k)
			if err != nil {
				return expr.Cond{}, err
			}
			out.Conds = append(out.Conds, one)
		}
		return out, nil
	}
	all := c.Compared()
	for _, o := range all {
		if o.Path == nil {
			continue
		}
		if _, _, ok := storedAs(s, o.Path.Root()); !ok {
			return expr.Cond{}, input(s, CodePointer, nil, "Where names %q, which is no attribute of the struct and no key attribute of its indexes; an attribute has the name of its dynamodbav tag", o.Path.Root())
		}
	}
	if err := checkOperands(s, c.Op, all); err != nil {
		return expr.Cond{}, err
	}
	if err := sameType(s, c); err != nil {
		return expr.Cond{}, err
	}
	if c.Op == expr.Between {
		return withoutEmptyRange(s, c, all)
	}
	return c, nil
}

// storedAs finds the attribute of that name, or the key attribute that is composed from others, for which a is nil. kind is
// the type under which it is stored, "" where that is not known.
func storedAs(s *schema.Schema, name string) (a *schema.Attr, kind string, ok bool) {
	if a := s.Attr(name); a != nil {
		return a, string(a.Scalar), true
	}
	for _, h := range s.Keys() {
		if h.Written() && h.Attr == name {
			return nil, string(h.Type), true
		}
	}
	return nil, "", false
}

// checkOperands refuses operands that DynamoDB refuses with op, whatever the item.
func checkOperands(s *schema.Schema, op expr.Op, all []expr.Operand) error {
	var a *schema.Attr
	if i := slices.IndexFunc(all, func(o expr.Operand) bool { return o.Path != nil }); i >= 0 {
		a = s.Attr(all[i].Path.Root())
	}
	first, others, values := all[0], all[1:], constants(all)
	isFirst := func(o expr.Operand) bool { return !o.Size && slices.Equal(o.Path, first.Path) }
	sized := func(o expr.Operand) bool { return o.Size }
	switch {
	case first.Path != nil && !first.Size && slices.ContainsFunc(others, isFirst):
		return input(s, CodeCondition, a, "%s compares the attribute with itself", op)
	case op == expr.In && len(others) > maxInValues:
		return input(s, CodeCondition, a, "In takes 1 to %d values, not %d", maxInValues, len(others))
	case slices.ContainsFunc(all, sized) && !ofTypes(values, "N"):
		return input(s, CodeCondition, a, "a size is a number, and is compared with a value that is not")
	case op == expr.HasType && !expr.IsType(values[0].(*types.AttributeValueMemberS).Value):
		return input(s, CodeCondition, a, "attribute_type needs the name of a DynamoDB type, such as expression.String")
	case op == expr.BeginsWith && !operandsFit(op, values), ordered(op) && !ofTypes(values, "S", "N", "B"):
		return input(s, CodeCondition, a, "%s needs %s", op, operandsOf(op))
	}
	return nil
}

// ofTypes reports whether each of values has one of the DynamoDB types.
func ofTypes(values []types.AttributeValue, names ...string) bool {
	return !slices.ContainsFunc(values, func(v types.AttributeValue) bool { return !slices.Contains(names, expr.TypeName(v)) })
}

func ordered(op expr.Op) bool {
	return slices.Contains([]expr.Op{expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between}, op)
}

// constants are the values among operands.
func constants(operands []expr.Operand) (values []types.AttributeValue) {
	for _, o := range operands {
		if o.Path == nil {
			values = append(values, o.Value)
		}
	}
	return values
}

// sameType refuses a value whose type is not that of the attribute which it is compared with. NULL may be stored in place
// of any type.
func sameType(s *schema.Schema, c expr.Cond) error {
	if len(c.Path) != 1 || c.Op == expr.Contains || c.Op == expr.HasType {
		return nil
	}
	a, kind, _ := storedAs(s, c.Path.Root())
	for _, v := range c.Values {
		if got := expr.TypeName(v); kind != "" && got != kind && got != "NULL" {
			return input(s, CodeValue, a, "Where compares %s, whose DynamoDB type is %s, with a value of type %s; give the value in its stored form", c.Path, kind, got)
		}
	}
	return nil
}

// withoutEmptyRange refuses bounds of two types. A range from a higher to a lower value, which DynamoDB refuses, becomes a
// condition that never holds.
func withoutEmptyRange(s *schema.Schema, c expr.Cond, all []expr.Operand) (expr.Cond, error) {
	bounds := constants(all[1:])
	if len(bounds) < 2 {
		return c, nil
	}
	order, ok := expr.Compares(bounds[0], bounds[1])
	switch path := all[0].Path; {
	case !ok:
		return expr.Cond{}, input(s, CodeCondition, nil, "the bounds of %s have different types", c.Op)
	case order <= 0:
		return c, nil
	case path == nil:
		return expr.Cond{}, input(s, CodeCondition, nil, "%s compares values alone, and its range is empty", c.Op)
	default:
		return never(path), nil
	}
}

// never is a condition that holds on no item.
func never(path expr.Path) expr.Cond {
	return expr.All(expr.Compare(expr.Exists, path), expr.Compare(expr.NotExists, path))
}

// InMemory refuses a condition with an operator that only DynamoDB evaluates. evaluator names what would evaluate it in memory.
func InMemory(s *schema.Schema, c expr.Cond, evaluator string) error {
	op := c.DatabaseOnly()
	if op == "" {
		return nil
	}
	return input(s, CodeInMemory, nil, "a condition of Where has %s, which only DynamoDB evaluates exactly, and %s evaluates it in memory", op, evaluator)
}
