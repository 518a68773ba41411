package write

import (
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

func combination(s *schema.Schema, c Cond) (expr.Cond, error) {
	if len(c.Conds) == 0 {
		return expr.Cond{}, Invalid(s, CodeCondition, nil, "%s needs at least one condition", c.Op)
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
		_, ok := values[0].(*types.AttributeValueMemberS)
		return ok
	}
	return true
}

func ordered(op expr.Op) bool {
	return slices.Contains([]expr.Op{expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between}, op)
}

func operandsOf(op expr.Op) string {
	if op == expr.BeginsWith {
		return "an attribute that is stored as a string"
	}
	return "values that are stored as strings, numbers or binaries, of one type"
}

// checkOperands rejects operands of op that DynamoDB rejects for every item.
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
		return Invalid(s, CodeCondition, a, "%s compares the attribute with itself", op)
	case op == expr.In && len(others) > maxInValues:
		return Invalid(s, CodeCondition, a, "In takes 1 to %d values, not %d", maxInValues, len(others))
	case slices.ContainsFunc(all, sized) && !ofTypes(values, "N"):
		return Invalid(s, CodeCondition, a, "a size is a number, and is compared with a value that is not")
	case op == expr.HasType && !expr.IsType(values[0].(*types.AttributeValueMemberS).Value):
		return Invalid(s, CodeCondition, a, "attribute_type needs the name of a DynamoDB type, such as expression.String")
	case op == expr.BeginsWith && !operandsFit(op, values), ordered(op) && !ofTypes(values, "S", "N", "B"):
		return Invalid(s, CodeCondition, a, "%s needs %s", op, operandsOf(op))
	}
	return nil
}

// sameType rejects a value whose type differs from that of the attribute it is compared with. NULL is allowed, because
// any attribute may be stored as NULL.
func sameType(s *schema.Schema, c expr.Cond) error {
	if len(c.Path) == 0 || c.Op == expr.Contains || c.Op == expr.HasType {
		return nil
	}
	a, kind, _ := storedAs(s, c.Path.Root())
	switch {
	case len(c.Path) == 1:
	case a == nil:
		return nil
	default:
		n, err := Node(s, Target{Attr: a.Name})
		if err != nil {
			return err
		}
		for _, step := range c.Path[1:] {
			n = n.Inside(step)
		}
		kind = string(n.Scalar())
	}
	for _, v := range c.Values {
		if got := item.TypeName(v); kind != "" && got != kind && got != "NULL" {
			return Invalid(s, CodeValue, a, "Where compares %s, whose DynamoDB type is %s, with a value of type %s; give the value in its stored form", c.Path, kind, got)
		}
	}
	return nil
}

// checkRange rejects constant bounds that DynamoDB rejects: of different types, or the lower one above the upper one.
func checkRange(s *schema.Schema, all []expr.Operand) error {
	bounds := constants(all[1:])
	if len(bounds) < 2 {
		return nil
	}
	var a *schema.Attr
	if all[0].Path != nil {
		a = s.Attr(all[0].Path.Root())
	}
	switch order, ok := expr.Compares(bounds[0], bounds[1]); {
	case !ok:
		return Invalid(s, CodeCondition, a, "the bounds of BETWEEN have different types")
	case order > 0:
		return Invalid(s, CodeCondition, a, "the range of BETWEEN in Where is empty: the lower bound is above the upper one")
	}
	return nil
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
			return expr.Cond{}, Invalid(s, CodePointer, nil, "Where names %q, which is neither an attribute of the struct nor a key attribute of its indexes; an attribute has the name of its dynamodbav tag", o.Path.Root())
		}
	}
	if err := checkOperands(s, c.Op, all); err != nil {
		return expr.Cond{}, err
	}
	if err := sameType(s, c); err != nil {
		return expr.Cond{}, err
	}
	if c.Op == expr.Between {
		return c, checkRange(s, all)
	}
	return c, nil
}

// sdkCondition checks a condition that was built with the SDK's expression package.
func sdkCondition(s *schema.Schema, c Cond) (expr.Cond, error) {
	var bad *item.FieldError
	switch {
	case errors.As(c.Err, &bad):
		return expr.Cond{}, Invalid(s, CodeValue, nil, "Where: %s", bad.Problem)
	case c.Err != nil:
		return expr.Cond{}, Invalid(s, CodeCondition, nil, "Where: %v", c.Err)
	}
	return checkDeclared(s, c.Built)
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

// comparison compiles condition c on the attribute at n.
func comparison(s *schema.Schema, n *schema.Node, c Cond) (out expr.Cond, err error) {
	if c.Op == expr.In && (len(c.Values) == 0 || len(c.Values) > maxInValues) {
		return expr.Cond{}, Invalid(s, CodeCondition, n.Attr, "In takes 1 to %d values, not %d", maxInValues, len(c.Values))
	}
	if err := Ordered(s, n, c.Op); err != nil {
		return expr.Cond{}, err
	}
	out = expr.Cond{Op: c.Op, Path: n.Path}
	plain := *n // in a condition, an empty value is encoded
	plain.Tag.OmitEmpty = false
	if c.Op == expr.Contains && n.Type.Kind() == reflect.Slice {
		plain = schema.Node{Path: n.Path, Attr: n.Attr, Type: n.Type.Elem()}
		if schema.BytesOf(n.Type) {
			plain.Type = n.Type // bytes contain bytes
		}
	}
	for _, v := range c.Values {
		if c.Target.Pointer == nil || c.Target.Inside != "" {
			if v, err = conform(s, &plain, v); err != nil {
				return expr.Cond{}, err
			}
		}
		if v, err = roundTime(s, &out, n, v); err != nil {
			return expr.Cond{}, err
		}
		av, err := encode(s, &plain, reflect.ValueOf(v), false, nil)
		if err != nil {
			return expr.Cond{}, err
		}
		out.Values = append(out.Values, av)
	}
	if !operandsFit(c.Op, out.Values) {
		return expr.Cond{}, Invalid(s, CodeCondition, n.Attr, "%s needs %s", c.Op, operandsOf(c.Op))
	}
	if c.Op == expr.Between {
		if order, ok := expr.Compares(out.Values[0], out.Values[1]); ok && order > 0 {
			// DynamoDB rejects an empty range. It stands for a condition that never holds.
			return expr.All(expr.Compare(expr.Exists, out.Path), expr.Compare(expr.NotExists, out.Path)), nil
		}
	}
	return out, nil
}

// compile implements KeyCondition. It also returns the place that the condition is about, or nil for a combination.
func compile(s *schema.Schema, c Cond) (expr.Cond, *schema.Node, error) {
	switch c.Op {
	case expr.None:
		return expr.Cond{}, nil, Invalid(s, CodeCondition, nil, "the zero Cond is not a condition")
	case expr.And, expr.Or, expr.Not:
		out, err := combination(s, c)
		return out, nil, err
	case Where:
		out, err := sdkCondition(s, c)
		return out, nil, err
	}
	n, err := Node(s, c.Target)
	if err != nil {
		return expr.Cond{}, nil, err
	}
	out, err := comparison(s, n, c)
	return out, n, err
}

// storedAsAbsent reports whether a write of v to n would leave the attribute out, or v is equally empty.
func storedAsAbsent(s *schema.Schema, n *schema.Node, v any) bool {
	av, err := encode(s, n, reflect.ValueOf(v), false, nil)
	if err != nil || av == nil {
		return err == nil
	}
	k := n.Type.Kind()
	return n.Tag.OmitEmpty && (k == reflect.Slice || k == reflect.Map) && item.Empty(av) || n.Top && n.Attr.IndexPart && item.Absent(av)
}

// emptyValues returns what may be stored at n for an empty value, in addition to the value's own encoding: NULL, for nil
// without omitempty, and the empty collection.
func emptyValues(n *schema.Node) []types.AttributeValue {
	values := []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}}
	switch t := n.Type; t.Kind() {
	case reflect.Map:
		values = append(values, &types.AttributeValueMemberM{Value: item.Item{}})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return append(values, &types.AttributeValueMemberB{Value: []byte{}})
		}
		values = append(values, &types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	}
	return values
}

// emptySet reports whether av is a set without elements, which DynamoDB cannot store.
func emptySet(av types.AttributeValue) bool {
	switch av.(type) {
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return item.Empty(av)
	}
	return false
}

// orAbsent extends the comparison out. If a write would leave a compared value out, the value also equals an absent
// attribute and any empty one. Likewise, if nil is left out, an empty list or map equals an absent one.
func orAbsent(s *schema.Schema, n *schema.Node, c Cond, out expr.Cond) (expr.Cond, error) {
	if out.Op != expr.Eq && out.Op != expr.Ne && out.Op != expr.In {
		return out, nil
	}
	if !slices.ContainsFunc(c.Values, func(v any) bool { return storedAsAbsent(s, n, v) }) {
		return out, nil
	}
	in := expr.Cond{Op: expr.In, Path: out.Path}
	for _, av := range append(out.Values, emptyValues(n)...) {
		same := func(x types.AttributeValue) bool { return item.Equal(x, av) }
		if !emptySet(av) && !slices.ContainsFunc(in.Values, same) {
			in.Values = append(in.Values, av)
		}
	}
	var parts []expr.Cond
	for values := range slices.Chunk(in.Values, maxInValues) {
		parts = append(parts, expr.Compare(expr.In, out.Path, values...))
	}
	equal := expr.Any(append([]expr.Cond{expr.Compare(expr.NotExists, out.Path)}, parts...)...)
	if out.Op == expr.Ne {
		return expr.Negate(equal), nil
	}
	return equal, nil
}

// Condition compiles one condition: it checks it against the schema and encodes its values. If an attribute is left out
// when it is empty, an empty value also matches its absence.
func Condition(s *schema.Schema, c Cond) (expr.Cond, error) {
	out, n, err := compile(s, c)
	if err != nil || n == nil {
		return out, err
	}
	return orAbsent(s, n, c, out)
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

// KeyCondition compiles a condition on a part of a key. Unlike [Condition], an empty value never matches an absent
// attribute.
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
