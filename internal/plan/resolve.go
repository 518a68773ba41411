package plan

import (
	"fmt"
	"reflect"
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
	return &InputError{code, s.Type.String(), field, fmt.Sprintf(format, args...)}
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
		return &schema.Node{Path: expr.Attr(a.Name), Attr: a, Type: a.Type, Tag: a.Tag, Options: a.Options, Top: true}, nil
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

// Condition checks one condition against the schema and encodes its values.
func Condition(s *schema.Schema, c opt.Cond) (expr.Cond, error) {
	switch c.Op {
	case expr.None:
		return expr.Cond{}, input(s, CodeCondition, nil, "the zero Cond is not a condition")
	case expr.And, expr.Or, expr.Not:
		return combination(s, c)
	}
	n, err := Node(s, c.Target)
	if err != nil {
		return expr.Cond{}, err
	}
	if c.Op == expr.In && (len(c.Values) == 0 || len(c.Values) > 100) {
		return expr.Cond{}, input(s, CodeCondition, n.Attr, "In takes 1 to 100 values, not %d", len(c.Values))
	}
	out := expr.Cond{Op: c.Op, Path: n.Path}
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
			return expr.All(expr.Compare(expr.Exists, out.Path), expr.Compare(expr.NotExists, out.Path)), nil
		}
	}
	return out, nil
}

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
	return nil, input(s, CodeValue, n.Attr, "the time is finer than the attribute's format, so %s could never hold", c.Op)
}
