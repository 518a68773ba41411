package entity

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Cond is a condition on attributes, made by [Eq], [And] and the like. Given to a query as it is, it must be about the
// next part of the sort key, where one of [Gt] and [Ge] goes together with one of [Lt] and [Le]; see [Filter] for the others.
type Cond struct {
	forOrder
	cond opt.Cond
}

func newCond(c opt.Cond) Cond {
	return Cond{forOrder{Do: func(s *opt.Order) { s.Range = append(s.Range, c) }}, c}
}

func compare[V any](op expr.Op, field *V, vs ...V) Cond {
	return target(op, opt.Target{Pointer: field}, vs...)
}

func target[V any](op expr.Op, t opt.Target, vs ...V) Cond {
	c := opt.Cond{Op: op, Target: t}
	for _, v := range vs {
		c.Values = append(c.Values, v)
	}
	return newCond(c)
}

func erase(conds []Cond) []opt.Cond {
	out := make([]opt.Cond, len(conds))
	for i, c := range conds {
		out[i] = c.cond
	}
	return out
}

// Eq holds when the attribute equals v. An absent attribute equals nothing, with one exception: where an empty v is not
// stored, since the field is tagged omitempty, it stands for what [Set] with it leaves, so that Eq holds when the
// attribute is absent, NULL or empty.
func Eq[V any](field *V, v V) Cond { return compare(expr.Eq, field, v) }

// Ne holds when Eq does not: when the attribute differs from v or is absent. Where an empty v is not stored, it holds when
// the attribute is there and not empty.
func Ne[V any](field *V, v V) Cond { return compare(expr.Ne, field, v) }

// Lt holds when the attribute is less than v and of the same DynamoDB type.
func Lt[V any](field *V, v V) Cond { return compare(expr.Lt, field, v) }

// Le holds when the attribute is at most v.
func Le[V any](field *V, v V) Cond { return compare(expr.Le, field, v) }

// Gt holds when the attribute is greater than v.
func Gt[V any](field *V, v V) Cond { return compare(expr.Gt, field, v) }

// Ge holds when the attribute is at least v.
func Ge[V any](field *V, v V) Cond { return compare(expr.Ge, field, v) }

// Between holds when the attribute is at least lo and at most hi.
func Between[V any](field *V, lo, hi V) Cond { return compare(expr.Between, field, lo, hi) }

// In holds when the attribute equals one of vs, as by [Eq]; there can be 1 to 100.
func In[V any](field *V, vs ...V) Cond { return compare(expr.In, field, vs...) }

// BeginsWith holds when the text begins with prefix.
func BeginsWith[S ~string](field *S, prefix string) Cond {
	return compare(expr.BeginsWith, field, S(prefix))
}

// Contains holds when the list or set has the element e.
func Contains[S ~[]E, E any](field *S, e E) Cond {
	return target(expr.Contains, opt.Target{Pointer: field}, e)
}

// Exists holds when the attribute is there, even as NULL.
func Exists[V any](field *V) Cond { return compare(expr.Exists, field) }

// NotExists holds when the attribute is not there.
func NotExists[V any](field *V) Cond { return compare(expr.NotExists, field) }

// And holds when all conds hold; it needs at least one.
func And(conds ...Cond) Cond { return newCond(opt.Cond{Op: expr.And, Conds: erase(conds)}) }

// Or holds when one of conds holds; it needs at least one.
func Or(conds ...Cond) Cond { return newCond(opt.Cond{Op: expr.Or, Conds: erase(conds)}) }

// Not holds when c does not.
func Not(c Cond) Cond { return newCond(opt.Cond{Op: expr.Not, Conds: erase([]Cond{c})}) }

// Where is a condition of the SDK's package expression, for what the conditions of this package do not have: size,
// attribute_type, a part of a text, one attribute compared with another. It goes into [If], [Filter] and CheckExists, and into
// [And], [Or] and [Not] beside others.
//
//	entity.If(entity.Where(expression.Name("tags").Size().LessThan(expression.Value(10))))
//	entity.Filter(entity.Where(expression.Name("spent").GreaterThan(expression.Name("budget"))))
//
// It is about attributes as they are stored:
//
//   - Names are those of the dynamodbav tags, and of the attributes in which keys are stored. Any other is an *[InputError].
//     expression.Name takes dots as steps into maps, and an index in brackets at the end of a step as one into a list.
//     NameNoDotSplit leaves dots alone but not such an index: NameNoDotSplit("x[0]") is the first element of x. For a map key that
//     looks like this use [MapEntry].
//   - Values are sent as package attributevalue encodes them when Where is called, not as a field of this struct is stored. Give
//     a time, a type that is text and a key in lower case in their stored form. A value whose type cannot be that of its
//     attribute is an *[InputError].
//   - An empty value does not stand for an absent attribute, as it may in [Eq].
//
// A condition that is empty or that the package cannot build is an *[InputError] of the call that it is given to. So is size or
// a comparison of attributes where the library evaluates conditions itself: in [DB.GetCollection], in a list of versions, and
// in a transaction with several operations on one item.
func Where(c expression.ConditionBuilder) Cond {
	built, err := build(c)
	return newCond(opt.Cond{Op: opt.Where, Built: built, Err: err})
}

// build reads what the SDK makes of a condition. It recovers, since the SDK calls operands that may be nil, and methods of the
// values.
func build(c expression.ConditionBuilder) (built expr.Cond, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("building the condition panicked: an operand is nil, or a value cannot be encoded")
		}
	}()
	e, err := expression.NewBuilder().WithCondition(c).Build()
	var unset expression.UnsetParameterError
	var invalid expression.InvalidParameterError
	switch {
	case errors.As(err, &unset) || errors.As(err, &invalid):
		return expr.Cond{}, err // it names functions and types of the package
	case err != nil: // it may quote a value
		return expr.Cond{}, fmt.Errorf("the condition cannot be built (%T)", err)
	}
	if built, err = expr.Parse(*e.Condition(), e.Names(), e.Values()); err != nil {
		return expr.Cond{}, err
	}
	return built, item.CheckStorable(e.Values())
}
