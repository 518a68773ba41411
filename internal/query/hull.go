package query

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
)

// hull is a condition on the sort key that every item meets which meets one of sorts. What lies between their ranges may
// meet it too.
func hull(sorts []expr.Cond) expr.Cond {
	var out []expr.Cond
	for i := 0; ; i++ {
		var at []expr.Cond // what each of them says about the i-th attribute of the key
		for _, s := range sorts {
			list := terms(s)
			if i >= len(list) {
				return expr.All(out...)
			}
			at = append(at, list[i])
		}
		wide := widest(at)
		if out = append(out, wide); wide.Op != expr.Eq {
			return expr.All(out...)
		}
	}
}

// widest is one condition for several on the same attribute; the empty one where there is none.
func widest(conds []expr.Cond) expr.Cond {
	same := true
	lo, hi := ends(conds[0])
	for _, c := range conds[1:] {
		same = same && reflect.DeepEqual(c, conds[0])
		from, to := ends(c)
		lo, hi = further(lo, from, -1), further(hi, to, +1)
	}
	path := conds[0].Path
	switch {
	case same:
		return conds[0]
	case lo == nil && hi == nil:
		return expr.Cond{}
	case hi == nil:
		return expr.Compare(expr.Ge, path, lo)
	case lo == nil:
		return expr.Compare(expr.Le, path, hi)
	case item.Equal(lo, hi):
		return expr.Compare(expr.Eq, path, lo)
	}
	return expr.Compare(expr.Between, path, lo, hi)
}

// further is the one of two ends that lies further in the direction; nil is an open end.
func further(a, b types.AttributeValue, direction int) types.AttributeValue {
	if a == nil || b == nil {
		return nil
	}
	switch order, ok := expr.Compares(b, a); {
	case !ok:
		return nil
	case order*direction > 0:
		return b
	}
	return a
}

// ends are values between which, both included, the attribute lies where c holds; nil is an open end.
func ends(c expr.Cond) (lo, hi types.AttributeValue) {
	switch c.Op {
	case expr.Eq:
		return c.Values[0], c.Values[0]
	case expr.Between:
		return c.Values[0], c.Values[1]
	case expr.Gt, expr.Ge:
		return c.Values[0], nil
	case expr.Lt, expr.Le:
		return nil, c.Values[0]
	case expr.BeginsWith:
		return c.Values[0], beyond(c.Values[0])
	}
	return nil, nil
}

// beyond is a sort key above all that begin with prefix; nil if absent.
func beyond(prefix types.AttributeValue) types.AttributeValue {
	s, ok := prefix.(*types.AttributeValueMemberS)
	if !ok {
		return nil
	}
	end := key.Successor(s.Value)
	if end == "" || len(end) > key.MaxSortKey {
		return nil
	}
	return item.S(end)
}
