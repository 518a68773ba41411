package bind

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/layout"
)

// storedAs finds the attribute with this name. a is nil for a key attribute that is composed from others. kind is its
// DynamoDB type, or "" if that is unknown.
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

// constants returns the operands that are values.
func constants(operands []expr.Operand) (values []types.AttributeValue) {
	for _, o := range operands {
		if o.Path == nil {
			values = append(values, o.Value)
		}
	}
	return values
}

// maxInValues is DynamoDB's limit for the operands of IN.
const maxInValues = 100

// ofTypes reports whether each of values has one of the DynamoDB types.
func ofTypes(values []types.AttributeValue, names ...string) bool {
	return !slices.ContainsFunc(values, func(v types.AttributeValue) bool { return !slices.Contains(names, item.TypeName(v)) })
}

// operandsFit reports whether DynamoDB accepts values as operands of op. It rejects values that have no order.
func operandsFit(op expr.Op, values []types.AttributeValue) bool {
	switch op {
	case expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between:
		_, ok := expr.Compares(values[0], values[len(values)-1])
		return ok
	case expr.BeginsWith:
		return ofTypes(values[:1], "S")
	}
	return true
}

func operandsOf(op expr.Op) string {
	if op == expr.BeginsWith {
		return "an attribute that is stored as a string"
	}
	return "values that are stored as strings, numbers or binaries, of one type"
}

// checkDeclared rejects attributes that the entity does not have, and operands that DynamoDB rejects for every item.
func checkDeclared(s *schema.Schema, c expr.Cond) (expr.Cond, error) {
	switch c.Op {
	case expr.And, expr.Or, expr.Not:
		out := expr.Cond{Op: c.Op}
		for _, k := range c.Conds {
			one, err := checkDeclared(s, k)
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
			return expr.Cond{}, Invalid(s, CodePointer, nil, "Where names %q, which is neither an attribute of the struct nor a key attribute of its indexes; an attribute has the name of its dynamodbav tag", layout.GivenText(s, o.Path.Root()))
		}
	}
	var a *schema.Attr // that a mistake is about
	if i := slices.IndexFunc(all, func(o expr.Operand) bool { return o.Path != nil }); i >= 0 {
		a = s.Attr(all[i].Path.Root())
	}
	op, first, others, values := c.Op, all[0], all[1:], constants(all)
	isFirst := func(o expr.Operand) bool { return !o.Size && slices.Equal(o.Path, first.Path) }
	sized := func(o expr.Operand) bool { return o.Size }
	ordered := slices.Contains([]expr.Op{expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between}, op)
	switch {
	case first.Path != nil && !first.Size && slices.ContainsFunc(others, isFirst):
		return expr.Cond{}, Invalid(s, CodeCondition, a, "%s compares the attribute with itself", op)
	case op == expr.In && len(others) > maxInValues:
		return expr.Cond{}, Invalid(s, CodeCondition, a, "In takes 1 to %d values, not %d", maxInValues, len(others))
	case slices.ContainsFunc(all, sized) && !ofTypes(values, "N"):
		return expr.Cond{}, Invalid(s, CodeCondition, a, "a size is a number, and is compared with a value that is not")
	case op == expr.HasType && !slices.Contains([]string{"S", "N", "B", "BOOL", "NULL", "M", "L", "SS", "NS", "BS"}, values[0].(*types.AttributeValueMemberS).Value):
		return expr.Cond{}, Invalid(s, CodeCondition, a, "attribute_type needs the name of a DynamoDB type, such as expression.String")
	case op == expr.BeginsWith && !operandsFit(op, values), ordered && !ofTypes(values, "S", "N", "B"):
		return expr.Cond{}, Invalid(s, CodeCondition, a, "%s needs %s", op, operandsOf(op))
	}
	// A value has the type of the attribute that it is compared with, or is NULL, as which any attribute may be stored.
	if len(c.Path) > 0 && op != expr.Contains && op != expr.HasType {
		about, kind, _ := storedAs(s, c.Path.Root())
		if about == nil && len(c.Path) > 1 {
			kind = ""
		} else if len(c.Path) > 1 {
			n, err := Node(s, Target{Attr: about.Name})
			if err != nil {
				return expr.Cond{}, err
			}
			for _, step := range c.Path[1:] {
				n = n.Inside(step)
			}
			kind = string(n.Scalar())
		}
		for _, v := range c.Values {
			if got := item.TypeName(v); kind != "" && got != kind && got != "NULL" {
				return expr.Cond{}, Invalid(s, CodeValue, about, "Where compares %s, whose DynamoDB type is %s, with a value of type %s; give the value in its stored form", layout.PathText(s, c.Path), kind, got)
			}
		}
	}
	if bounds := constants(others); op == expr.Between && len(bounds) == 2 {
		if first.Path == nil {
			a = nil
		}
		switch order, ok := expr.Compares(bounds[0], bounds[1]); {
		case !ok:
			return expr.Cond{}, Invalid(s, CodeCondition, a, "the bounds of BETWEEN have different types")
		case order > 0:
			return expr.Cond{}, Invalid(s, CodeCondition, a, "the range of BETWEEN in Where is empty: the lower bound is above the upper one")
		}
	}
	return c, nil
}

// Ordered rejects conditions on the order or the beginning of texts that a type marshals itself to, unless the role
// text=ordered says that the texts sort as their values.
func Ordered(s *schema.Schema, n *schema.Node, op expr.Op) error {
	if !n.Top || !n.Attr.Text {
		return nil
	}
	switch op {
	case expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between:
		if n.Attr.Mixed() {
			return Invalid(s, CodeUnordered, n.Attr, `%s compares the stored texts, whose order need not be that of the values; if it is, tag the field entity:"text=ordered"`, op)
		}
	case expr.BeginsWith, expr.Contains:
		return Invalid(s, CodeUnordered, n.Attr, "%s depends on the stored text, whose form is up to the type", op)
	}
	return nil
}

// roundTime rounds a time that is more precise than its attribute so that the comparison keeps its meaning. If that is
// impossible, it returns an error.
func roundTime(s *schema.Schema, c *expr.Cond, n *schema.Node, v any) (any, error) {
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
	return nil, Invalid(s, CodeValue, n.Attr, "the time is finer than the attribute's format %s, so that %s could never hold; give it as t.Truncate(%s)", format, c.Op, format.UnitName())
}

// compile compiles a condition, see [Condition] and [KeyCondition]. It also returns the place that the condition is about, or nil for a
// combination.
func compile(s *schema.Schema, c Cond) (out expr.Cond, n *schema.Node, err error) {
	switch c.Op {
	case expr.None:
		return out, nil, Invalid(s, CodeCondition, nil, "the zero Cond is not a condition")
	case expr.And, expr.Or, expr.Not:
		if len(c.Conds) == 0 {
			return out, nil, Invalid(s, CodeCondition, nil, "%s needs at least one condition", c.Op)
		}
		out.Op = c.Op
		for _, k := range c.Conds {
			r, err := Condition(s, k)
			if err != nil {
				return expr.Cond{}, nil, err
			}
			out.Conds = append(out.Conds, r)
		}
		if len(out.Conds) == 1 && c.Op != expr.Not {
			return out.Conds[0], nil, nil
		}
		return out, nil, nil
	case Where: // built with the SDK's expression package
		var bad *item.FieldError
		switch {
		case errors.As(c.Err, &bad):
			return out, nil, Invalid(s, CodeValue, nil, "Where: %s", bad.Problem)
		case c.Err != nil:
			return out, nil, Invalid(s, CodeCondition, nil, "Where: %v", c.Err)
		}
		out, err = checkDeclared(s, c.Built)
		return out, nil, err
	}
	if n, err = Node(s, c.Target); err != nil {
		return out, nil, err
	}
	if c.Op == expr.In && (len(c.Values) == 0 || len(c.Values) > maxInValues) {
		return out, n, Invalid(s, CodeCondition, n.Attr, "In takes 1 to %d values, not %d", maxInValues, len(c.Values))
	}
	if err := Ordered(s, n, c.Op); err != nil {
		return out, n, err
	}
	out.Op, out.Path = c.Op, n.Path
	plain := *n // in a condition, an empty value is encoded
	plain.Tag.OmitEmpty = false
	list := n.Type
	switch {
	case n.Tag.Set != "":
		list = item.Listed(n.Type)
	case c.Op == expr.Contains && item.IsKeySet(n.Type):
		return out, n, Invalid(s, CodeCondition, n.Attr, "the map is not stored as a set; tag the field stringset, numberset or binaryset")
	}
	if c.Op == expr.Contains && list.Kind() == reflect.Slice {
		plain = schema.Node{Path: n.Path, Attr: n.Attr, Type: list.Elem()}
		if schema.BytesOf(n.Type) {
			plain.Type = n.Type // bytes contain bytes
		}
	}
	for _, v := range c.Values {
		if c.Target.Pointer == nil || c.Target.Inside != "" {
			if v, err = conform(s, &plain, v); err != nil {
				return expr.Cond{}, n, err
			}
		}
		if v, err = roundTime(s, &out, n, v); err != nil {
			return expr.Cond{}, n, err
		}
		av, err := encode(s, &plain, reflect.ValueOf(v), false, nil)
		if err != nil {
			return expr.Cond{}, n, err
		}
		out.Values = append(out.Values, av)
	}
	if !operandsFit(c.Op, out.Values) {
		return expr.Cond{}, n, Invalid(s, CodeCondition, n.Attr, "%s needs %s", c.Op, operandsOf(c.Op))
	}
	if c.Op == expr.Between {
		if order, ok := expr.Compares(out.Values[0], out.Values[1]); ok && order > 0 {
			// DynamoDB rejects an empty range. It stands for a condition that never holds.
			return expr.All(expr.Compare(expr.Exists, out.Path), expr.Compare(expr.NotExists, out.Path)), n, nil
		}
	}
	return out, n, nil
}

// Condition compiles one condition: it checks it against the schema and encodes its values. If a write would leave a compared value out,
// the value also equals an absent attribute and any empty one. Likewise, if nil is left out, an empty list or map equals an absent one.
func Condition(s *schema.Schema, c Cond) (expr.Cond, error) {
	out, n, err := compile(s, c)
	if err != nil || n == nil || out.Op != expr.Eq && out.Op != expr.Ne && out.Op != expr.In {
		return out, err
	}
	asAbsent := func(v any) bool {
		av, err := encode(s, n, reflect.ValueOf(v), false, nil)
		if err != nil || av == nil {
			return err == nil
		}
		k := n.Type.Kind()
		return n.Tag.OmitEmpty && (k == reflect.Slice || k == reflect.Map) && item.Empty(av) || n.Top && n.Attr.IndexPart && item.Absent(av)
	}
	if !slices.ContainsFunc(c.Values, asAbsent) {
		return out, nil
	}
	// Besides its own encoding, an empty value may be stored as NULL, for nil without omitempty, and as the empty collection.
	empty := append(out.Values, &types.AttributeValueMemberNULL{Value: true})
	switch k := n.Type.Kind(); {
	case k == reflect.Map:
		empty = append(empty, &types.AttributeValueMemberM{Value: item.Item{}})
	case k == reflect.Slice && n.Type.Elem().Kind() == reflect.Uint8:
		empty = append(empty, &types.AttributeValueMemberB{Value: []byte{}})
	case k == reflect.Slice:
		empty = append(empty, &types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	}
	var values []types.AttributeValue
	for _, av := range empty {
		same := func(x types.AttributeValue) bool { return item.Equal(x, av) }
		set := ofTypes([]types.AttributeValue{av}, "SS", "NS", "BS")
		if !(set && item.Empty(av)) && !slices.ContainsFunc(values, same) { // DynamoDB cannot store a set without elements
			values = append(values, av)
		}
	}
	equal := []expr.Cond{expr.Compare(expr.NotExists, out.Path)}
	for some := range slices.Chunk(values, maxInValues) {
		equal = append(equal, expr.Compare(expr.In, out.Path, some...))
	}
	if out.Op == expr.Ne {
		return expr.Negate(expr.Any(equal...)), nil
	}
	return expr.Any(equal...), nil
}

// Conditions compiles conditions and joins them with AND.
func Conditions(s *schema.Schema, list []Cond) (expr.Cond, error) {
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
		return expr.Cond{}, Invalid(s, CodeCondition, nil, "the conditions have %d operators, %d are allowed", n, maxUserOperators)
	}
	return joined, nil
}

// KeyCondition compiles a condition on a part of a key. Unlike [Condition], an empty value never matches an absent attribute.
func KeyCondition(s *schema.Schema, c Cond) (expr.Cond, error) {
	if c.Op == Where {
		return expr.Cond{}, Invalid(s, CodeCondition, nil, "Where cannot be a condition on a key; give it inside Filter")
	}
	out, _, err := compile(s, c)
	return out, err
}

// InMemory rejects a condition with an operator that only DynamoDB evaluates. evaluator names the verb that would have
// to evaluate it in memory.
func InMemory(s *schema.Schema, c expr.Cond, evaluator string) error {
	op := c.DatabaseOnly()
	if op == "" {
		return nil
	}
	return Invalid(s, CodeInMemory, nil, "a condition of Where has %s, which only DynamoDB evaluates exactly, and %s evaluates it in memory", op, evaluator)
}

// MaxOperators and MaxExpression (in bytes) are DynamoDB's limits for one expression.
const (
	MaxOperators     = 300
	MaxExpression    = 4096
	maxUserOperators = MaxOperators - 30 // for the caller, so that the guard fits too
)
