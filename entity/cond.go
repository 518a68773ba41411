package entity

import (
	"github.com/dynastrata/dynastrata/internal/expr"
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
