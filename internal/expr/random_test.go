package expr_test

import (
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tests/exprtest"
)

type (
	bin  = types.AttributeValueMemberB
	bs   = types.AttributeValueMemberBS
	flag = types.AttributeValueMemberBOOL
	null = types.AttributeValueMemberNULL
)

// Few different values, so that comparisons often meet equal ones; each number in several writings.
var (
	texts = []string{"", "a", "ab", "abc", "b", "ä", "1", "\U0001F600", "\uffff", "a b"}
	nums  = []string{"0", "-0", "1", "1.0", "0.1e1", "-1", "10", "1e1", "2.5", "2.50", "-2.5", "12345678901234567890123456789012345678", "1e-130", "9.9e125"}
	blobs = [][]byte{{}, {0}, {1}, {1, 2}, {1, 2, 3}, {0xff}, {'a'}}
	names = []string{"a", "b", "c", "size"}
)

func scalar() *rapid.Generator[av] {
	return rapid.OneOf(
		rapid.Map(rapid.SampledFrom(texts), item.S),
		rapid.Map(rapid.SampledFrom(nums), item.N),
		rapid.Map(rapid.SampledFrom(blobs), func(b []byte) av { return &bin{Value: b} }),
		rapid.Map(rapid.Bool(), func(b bool) av { return &flag{Value: b} }),
		rapid.Just(av(&null{Value: true})),
	)
}

func set() *rapid.Generator[av] {
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom(texts), 1, 3, rapid.ID[string]), func(s []string) av { return &ss{Value: s} }),
		// Different writings of one number would be the same element twice, which DynamoDB refuses.
		rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom(nums), 1, 3, canonical), func(s []string) av { return &ns{Value: s} }),
		rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom(blobs), 1, 3, func(b []byte) string { return string(b) }), func(s [][]byte) av { return &bs{Value: s} }),
	)
}

func canonical(n string) string {
	d, err := item.ParseDecimal(n)
	if err != nil {
		panic(err)
	}
	return d.String()
}

// value is any value with documents depth levels deep.
func value(depth int) *rapid.Generator[av] {
	if depth == 0 {
		return rapid.OneOf(scalar(), scalar(), set())
	}
	return rapid.Custom(func(t *rapid.T) av {
		switch rapid.IntRange(0, 5).Draw(t, "shape") {
		case 0, 1, 2:
			return value(0).Draw(t, "value")
		case 3, 4:
			return &m{Value: rapid.MapOfN(rapid.SampledFrom(names), value(depth-1), 0, 3).Draw(t, "map")}
		}
		return &l{Value: rapid.SliceOfN(value(depth-1), 0, 3).Draw(t, "list")}
	})
}

// content is what an item holds apart from its key.
func content() *rapid.Generator[item.Item] {
	return rapid.Custom(func(t *rapid.T) item.Item {
		return rapid.MapOfN(rapid.SampledFrom(names), value(2), 0, len(names)).Draw(t, "content")
	})
}

// anyPath is a path that some item may have: mostly short.
func anyPath() *rapid.Generator[expr.Path] {
	return rapid.Custom(func(t *rapid.T) expr.Path {
		p := expr.Attr(rapid.SampledFrom(names).Draw(t, "root"))
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2}).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "index") {
				p = p.Child(expr.Step{Index: rapid.IntRange(0, 3).Draw(t, "i")})
			} else {
				p = p.Child(expr.Step{Name: rapid.SampledFrom(names).Draw(t, "name")})
			}
		}
		return p
	})
}

var operators = []expr.Op{expr.Eq, expr.Ne, expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between, expr.In, expr.BeginsWith, expr.Contains, expr.Exists, expr.NotExists, expr.HasType}

// pathsIn are the paths of everything in a value, in a fixed order.
func pathsIn(it item.Item) []expr.Path {
	var all []expr.Path
	var walk func(expr.Path, av)
	walk = func(p expr.Path, v av) {
		if all = append(all, p); len(p) > 3 {
			return
		}
		switch v := v.(type) {
		case *m:
			for _, name := range slices.Sorted(maps.Keys(v.Value)) {
				walk(p.Child(expr.Step{Name: name}), v.Value[name])
			}
		case *l:
			for i, e := range v.Value {
				walk(p.Child(expr.Step{Index: i}), e)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(it)) {
		walk(expr.Attr(name), it[name])
	}
	return all
}

// like is a value of the same type.
func like(v av) *rapid.Generator[av] {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return rapid.Map(rapid.SampledFrom(texts), item.S)
	case *types.AttributeValueMemberN:
		return rapid.Map(rapid.SampledFrom(nums), item.N)
	case *bin:
		return rapid.Map(rapid.SampledFrom(blobs), func(b []byte) av { return &bin{Value: b} })
	case *flag:
		return rapid.Map(rapid.Bool(), func(b bool) av { return &flag{Value: b} })
	case *ss: // the same elements in another order
		return rapid.Map(rapid.Permutation(v.Value), func(s []string) av { return &ss{Value: s} })
	case *l:
		return rapid.Map(rapid.SliceOfN(value(0), 0, 2), func(s []av) av { return &l{Value: s} })
	case *m:
		return rapid.Map(rapid.MapOfN(rapid.SampledFrom(names), value(0), 0, 2), func(s item.Item) av { return &m{Value: s} })
	}
	return set()
}

// comparison is one condition on an item. Its operand is often what the item has there, or of the same type, so that it
// holds about as often as not.
func comparison(t *rapid.T, it item.Item) expr.Cond {
	c := expr.Cond{Op: rapid.SampledFrom(operators).Draw(t, "op"), Path: anyPath().Draw(t, "path")}
	if there := pathsIn(it); len(there) > 0 && rapid.IntRange(0, 3).Draw(t, "there") > 0 {
		c.Path = rapid.SampledFrom(there).Draw(t, "path")
	}
	stored, _ := c.Path.Lookup(it)
	operand := func() av {
		switch kind := rapid.IntRange(0, 3).Draw(t, "operand"); {
		case stored != nil && kind == 0:
			return stored
		case stored != nil && kind < 3:
			return like(stored).Draw(t, "alike")
		}
		return value(1).Draw(t, "operand")
	}
	switch c.Op {
	case expr.Exists, expr.NotExists:
	case expr.Between:
		c.Values = []av{operand(), operand()}
	case expr.In:
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			c.Values = append(c.Values, operand())
		}
	case expr.Contains:
		c.Values = []av{operand()}
		if parts := partsOf(stored); len(parts) > 0 && rapid.Bool().Draw(t, "part") {
			c.Values = []av{rapid.SampledFrom(parts).Draw(t, "element")}
		}
	case expr.HasType:
		c.Values = []av{item.S(rapid.SampledFrom([]string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}).Draw(t, "type"))}
		if stored != nil && rapid.Bool().Draw(t, "its type") {
			c.Values = []av{item.S(exprtest.Type(stored))}
		}
	default:
		c.Values = []av{operand()}
	}
	return c
}

// comparisonOfOperands is one condition whose operands are attributes, sizes and values, in any place.
func comparisonOfOperands(t *rapid.T, it item.Item) expr.Cond {
	there := pathsIn(it)
	operand := func() (o expr.Operand) {
		kind := rapid.IntRange(0, 5).Draw(t, "operand")
		switch {
		case kind == 0:
			return expr.Operand{Value: value(1).Draw(t, "value")}
		case kind == 1:
			return expr.Operand{Value: item.N(rapid.SampledFrom([]string{"0", "1", "2", "3", "4"}).Draw(t, "number"))}
		case kind == 2 && len(there) > 0:
			v, _ := rapid.SampledFrom(there).Draw(t, "stored").Lookup(it)
			return expr.Operand{Value: v}
		}
		o = expr.Operand{Path: anyPath().Draw(t, "path"), Size: kind > 3}
		if len(there) > 0 && rapid.IntRange(0, 3).Draw(t, "there") > 0 {
			o.Path = rapid.SampledFrom(there).Draw(t, "path")
		}
		return o
	}
	op, n := rapid.SampledFrom(operators[:8]).Draw(t, "op"), 2
	switch op {
	case expr.Between:
		n = 3
	case expr.In:
		n = rapid.IntRange(2, 4).Draw(t, "operands")
	}
	var all []expr.Operand
	for range n {
		all = append(all, operand())
	}
	return expr.CompareAll(op, all...)
}

// anyComparison is a comparison of either kind.
func anyComparison(t *rapid.T, it item.Item) expr.Cond {
	if rapid.IntRange(0, 2).Draw(t, "operands") == 0 {
		return comparisonOfOperands(t, it)
	}
	return comparison(t, it)
}

// partsOf are the elements of a list or set.
func partsOf(v av) (parts []av) {
	switch v := v.(type) {
	case *l:
		return v.Value
	case *ss:
		for _, e := range v.Value {
			parts = append(parts, item.S(e))
		}
	case *ns:
		for _, e := range v.Value {
			parts = append(parts, item.N(e))
		}
	case *bs:
		for _, e := range v.Value {
			parts = append(parts, &bin{Value: e})
		}
	}
	return parts
}

// condition is a tree of comparisons.
func condition(t *rapid.T, it item.Item, depth int) expr.Cond {
	kind := 0
	if depth > 0 {
		kind = rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "kind")
	}
	switch kind {
	case 0:
		return anyComparison(t, it)
	case 1:
		return expr.Negate(condition(t, it, depth-1))
	}
	c := expr.Cond{Op: expr.And}
	if kind == 3 {
		c.Op = expr.Or
	}
	for range rapid.IntRange(2, 3).Draw(t, "conds") {
		c.Conds = append(c.Conds, condition(t, it, depth-1))
	}
	return c
}

func id(i int) av { return item.S("item-" + strconv.Itoa(i)) }
