package expr_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// parsed is what Parse makes of a condition of the SDK's.
func parsed(t require.TestingT, c expression.ConditionBuilder) expr.Cond {
	e, err := expression.NewBuilder().WithCondition(c).Build()
	require.NoError(t, err)
	out, err := expr.Parse(*e.Condition(), e.Names(), e.Values())
	require.NoError(t, err, *e.Condition())
	return out
}

// named is the SDK's name for a path.
func named(p expr.Path) expression.NameBuilder { return expression.Name(p.String()) }

// builder turns a tree into what a caller would have built it with.
func builder(c expr.Cond) expression.ConditionBuilder {
	value := func(v av) expression.ValueBuilder { return expression.Value(v) }
	conds := func() (all []expression.ConditionBuilder) {
		for _, k := range c.Conds {
			all = append(all, builder(k))
		}
		return all
	}
	switch c.Op {
	case expr.And:
		all := conds()
		return expression.And(all[0], all[1], all[2:]...)
	case expr.Or:
		all := conds()
		return expression.Or(all[0], all[1], all[2:]...)
	case expr.Not:
		return expression.Not(builder(c.Conds[0]))
	case expr.Exists:
		return expression.AttributeExists(named(c.Path))
	case expr.NotExists:
		return expression.AttributeNotExists(named(c.Path))
	case expr.HasType:
		return expression.AttributeType(named(c.Path), expression.DynamoDBAttributeType(c.Values[0].(*types.AttributeValueMemberS).Value))
	case expr.BeginsWith:
		return expression.BeginsWith(named(c.Path), c.Values[0].(*types.AttributeValueMemberS).Value)
	case expr.Contains:
		return expression.Contains(named(c.Path), c.Values[0])
	}
	var all []expression.OperandBuilder
	for _, o := range c.Compared() {
		switch {
		case o.Path == nil:
			all = append(all, value(o.Value))
		case o.Size:
			all = append(all, expression.Size(named(o.Path)))
		default:
			all = append(all, named(o.Path))
		}
	}
	switch c.Op {
	case expr.Between:
		return expression.Between(all[0], all[1], all[2])
	case expr.In:
		return expression.In(all[0], all[1], all[2:]...)
	}
	return map[expr.Op]func(a, b expression.OperandBuilder) expression.ConditionBuilder{
		expr.Eq: expression.Equal, expr.Ne: expression.NotEqual, expr.Lt: expression.LessThan,
		expr.Le: expression.LessThanEqual, expr.Gt: expression.GreaterThan, expr.Ge: expression.GreaterThanEqual,
	}[c.Op](all[0], all[1])
}

// The SDK's text of any tree is parsed to that tree.
func TestParse_ReadsWhateverTheSDKBuilds(t *testing.T) {
	t.Parallel()
	testsize.Check(t, testsize.Pick(300, 20000), func(t *rapid.T) {
		var fit func(expr.Cond) bool // the SDK's begins_with takes texts alone
		fit = func(c expr.Cond) bool {
			for _, k := range c.Conds {
				if !fit(k) {
					return false
				}
			}
			if c.Op != expr.BeginsWith {
				return true
			}
			_, ok := c.Values[0].(*types.AttributeValueMemberS)
			return ok
		}
		it := content().Draw(t, "item")
		c := condition(t, it, 3)
		if fit(c) {
			require.Equal(t, c, parsed(t, builder(c)))
		}
	})
}

func TestParse_AValueOnTheLeftChangesPlaces(t *testing.T) {
	t.Parallel()
	one, a := expression.Value(1), expression.Name("a")
	for op, c := range map[expr.Op]expression.ConditionBuilder{
		expr.Eq: expression.Equal(one, a), expr.Ne: expression.NotEqual(one, a), expr.Gt: expression.LessThan(one, a),
		expr.Ge: expression.LessThanEqual(one, a), expr.Lt: expression.GreaterThan(one, a), expr.Le: expression.GreaterThanEqual(one, a),
	} {
		require.Equal(t, expr.Compare(op, expr.Attr("a"), item.N("1")), parsed(t, c))
	}
	require.NotNil(t, parsed(t, expression.Equal(one, expression.Value(2))).Operands)
	require.NotNil(t, parsed(t, expression.Equal(one, a.Size())).Operands)
	require.NotNil(t, parsed(t, expression.In(one, a)).Operands)
}

func TestParse_NamesAreReadAsTheSDKSplitsThem(t *testing.T) {
	t.Parallel()
	for want, name := range map[string]expression.NameBuilder{
		"a.b.c":  expression.Name("a.b.c"),
		"a[0]":   expression.NameNoDotSplit("a[0]"),
		"a[1].b": expression.Name("a[1].b"),
		"b.a":    expression.Name("b").AppendName(expression.Name("a")),
	} {
		require.Equal(t, want, parsed(t, name.AttributeExists()).Path.String())
	}
	require.Len(t, parsed(t, expression.NameNoDotSplit("a.b").AttributeExists()).Path, 1)
	require.Len(t, parsed(t, expression.NameNoDotSplit("a.b[0]").AttributeExists()).Path, 2)
}

// What the grammar of conditions does not have is refused, also where the SDK writes it.
func TestParse_RefusesEverythingElse(t *testing.T) {
	t.Parallel()
	a, b, one := expression.Name("a"), expression.Name("b"), expression.Value(1)
	for what, c := range map[string]expression.ConditionBuilder{
		"arithmetic":              a.Equal(expression.Plus(b, one)),
		"a function of an update": a.Equal(expression.IfNotExists(b, one)),
		"an index inside a name":  expression.NameNoDotSplit("a[0]b[1]").AttributeExists(),
		"an index with a zero":    expression.Name("a[01]").AttributeExists(),
		"too large an index":      expression.Name("a[99999999999999999999]").AttributeExists(),
		"a nil value":             a.Equal(expression.Value((*types.AttributeValueMemberS)(nil))),
		"a nil value inside": a.Equal(expression.Value(&types.AttributeValueMemberM{Value: item.Item{
			"x": &types.AttributeValueMemberL{Value: []av{nil}},
		}})),
		"a value of no type": a.Equal(expression.Value(&types.UnknownUnionMember{})),
	} {
		e, err := expression.NewBuilder().WithCondition(c).Build()
		require.NoError(t, err, what)
		_, err = expr.Parse(*e.Condition(), e.Names(), e.Values())
		require.Error(t, err, "%s: %s", what, *e.Condition())
	}
	for _, text := range malformed {
		_, err := expr.Parse(text, placeholders, constants)
		require.Error(t, err, text)
	}
}

var (
	placeholders = map[string]string{"#0": "a", "#1": "b"}
	constants    = map[string]av{":0": item.N("1"), ":1": item.S("x")}
	wellFormed   = []string{
		"#0 = :0", "(#0 = :0) AND (#0.#1[2] <> :1)", "NOT (attribute_exists (#0))", "#0 IN (:0, #1)", "size (#0) BETWEEN :0 AND #1",
		"((#0 < :0) OR (#1 >= #0)) AND (contains (#0, :1)) AND (attribute_type (#1, :1))", ":0 <= :1", "begins_with (#0[1][2], :1)",
	}
	malformed = []string{
		"", " ", "#0", "#0 =", "#0 = ", "= :0", "#0 = :0 ", "#0 = :2", "#2 = :0", "# = :0", "#0 = :", "#0  = :0", "#0 == :0", "(#0 = :0)",
		"(#0 = :0) AND #0 = :0", "(#0 = :0) AND (#0 = :0) OR (#0 = :0)", "(#0 = :0) AND ", "NOT #0 = :0", "NOT (#0 = :0", "#0 IN ()", "#0 IN (:0",
		"#0 BETWEEN :0", "#0 BETWEEN :0 AND ", "size(#0) = :0", "size (:0) = :0", "size (size (#0)) = :0", "contains (#0)", "contains (#0, #1)",
		"attribute_exists (:0)", "attribute_exists (#0, :0)", "#0. = :0", "#0.[1] = :0", "#0[] = :0", "#0[-1] = :0", "#0[1 = :0", "a = :0", "#0 = 1",
	}
)

// FuzzParse reads any text without a panic, and what it takes can be rendered, counted and evaluated.
func FuzzParse(f *testing.F) {
	for _, text := range append(malformed, wellFormed...) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := expr.Parse(text, placeholders, constants)
		if err != nil {
			return
		}
		require.Positive(t, c.Operators())
		var r expr.Renderer
		require.Equal(t, strings.Count(text, ":"), strings.Count(r.Cond(c), ":"), text)
		c.Holds(item.Item{"a": item.N("1")})
		c.Roots(func(name string) { require.Contains(t, []string{"a", "b"}, name) })
	})
}

func TestParse_TakesTheSeedsThatAreWellFormed(t *testing.T) {
	t.Parallel()
	for _, text := range wellFormed {
		_, err := expr.Parse(text, placeholders, constants)
		require.NoError(t, err, text)
	}
}

func TestRender_EveryNameAndValueIsAPlaceholder(t *testing.T) {
	var r expr.Renderer
	c := expr.All(
		expr.Compare(expr.Eq, path("size", "a.b", 2), item.N("1")),
		expr.Any(expr.Compare(expr.Exists, path("name")), expr.Negate(expr.Compare(expr.In, path("name"), item.S("x"), item.S("y")))),
		expr.Compare(expr.Between, path("size"), item.N("1"), item.N("2")),
		expr.Cond{},
	)
	require.Equal(t, "#0.#1[2] = :0 AND (attribute_exists(#2) OR NOT (#2 IN (:1, :2))) AND #0 BETWEEN :3 AND :4", r.Cond(c))
	require.Equal(t, map[string]string{"#0": "size", "#1": "a.b", "#2": "name"}, r.NameMap())
	require.Len(t, r.Values, 5)
}

func TestCond_CombinationsDropTheEmptyAndCountOperators(t *testing.T) {
	a, b := expr.Compare(expr.Eq, path("a"), item.N("1")), expr.Compare(expr.Eq, path("b"), item.N("1"))
	require.Equal(t, a, expr.All(expr.Cond{}, a))
	require.Equal(t, expr.None, expr.Any().Op)
	require.True(t, expr.Cond{}.Holds(nil), "no condition holds")
	require.Equal(t, 3, expr.All(a, b).Operators())
	require.Equal(t, 3, expr.Compare(expr.In, path("a"), item.N("1"), item.N("2"), item.N("3")).Operators())
	var roots []string
	expr.Any(a, expr.Negate(b)).Roots(func(r string) { roots = append(roots, r) })
	require.Equal(t, []string{"a", "b"}, roots)
}

func TestPath_LookupAndOverlap(t *testing.T) {
	it := item.Item{
		"text": item.S("t"), "map": &m{Value: item.Item{"a.b": item.N("1"), "size": &l{Value: []av{item.N("1"), item.N("2"), item.N("3"), item.N("4")}}}},
		"list": &l{Value: []av{item.S("p"), item.S("q"), item.S("r"), &m{Value: item.Item{"k": item.N("7")}}}},
	}
	for _, c := range []struct {
		p     expr.Path
		found bool
	}{{path("map", "a.b"), true}, {path("map", "size", 3), true}, {path("map", "size", 4), false}, {path("list", 3, "k"), true}, {path("list", "k"), false}, {path("text", "x"), false}, {path("map", 0), false}, {path("none"), false}} {
		_, ok := c.p.Lookup(it)
		require.Equal(t, c.found, ok, c.p.String())
	}
	require.True(t, path("a").Overlaps(path("a", "b")))
	require.True(t, path("a", 1).Overlaps(path("a", 1)))
	require.False(t, path("a", 1).Overlaps(path("a", 0)))
	require.False(t, path("a", "b").Overlaps(path("a", "c")))
}

type (
	av = types.AttributeValue
	m  = types.AttributeValueMemberM
	l  = types.AttributeValueMemberL
	ss = types.AttributeValueMemberSS
	ns = types.AttributeValueMemberNS
)

func path(steps ...any) expr.Path {
	var p expr.Path
	for _, s := range steps {
		switch s := s.(type) {
		case string:
			p = append(p, expr.Step{Name: s})
		case int:
			p = append(p, expr.Step{Index: s})
		}
	}
	return p
}

func TestApply_ChangesSeeTheItemAsItWas(t *testing.T) {
	before := item.Item{"a": item.N("1"), "l": &l{Value: []av{item.S("x"), item.S("y"), item.S("z")}}}
	got, err := expr.Apply(before, []expr.Change{
		{Kind: expr.Set, Path: path("a"), Value: item.N("2")},
		{Kind: expr.SetIfNotExists, Path: path("b"), Source: path("a"), Value: item.N("9")},
		{Kind: expr.Remove, Path: path("l", 0)},
		{Kind: expr.Remove, Path: path("l", 1)},
	})
	require.NoError(t, err)
	require.Equal(t, item.Item{"a": item.N("2"), "b": item.N("1"), "l": &l{Value: []av{item.S("z")}}}, got)
	require.Equal(t, item.N("1"), before["a"], "the item that was read is not changed")
	require.Len(t, before["l"].(*l).Value, 3)
}

func TestApply_AMissingParentIsNamed(t *testing.T) {
	for _, kind := range []expr.Kind{expr.Set, expr.Remove, expr.Add} {
		_, err := expr.Apply(item.Item{"a": item.S("x")}, []expr.Change{{Kind: kind, Path: path("m", "k"), Value: item.N("1")}})
		var e *expr.ApplyError
		require.ErrorAs(t, err, &e)
		require.Equal(t, "m", e.Path.String())
	}
}
