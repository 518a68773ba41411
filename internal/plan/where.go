package plan

import (
	"errors"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

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
