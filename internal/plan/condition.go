package plan

import (
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

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
