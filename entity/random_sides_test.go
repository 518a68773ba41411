package entity_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

func oneOf[V any](vs ...V) *rapid.Generator[V] { return rapid.SampledFrom(vs) }

// someOf draws a few different values; none comes out as nil.
func someOf[V any](id func(V) string, vs ...V) *rapid.Generator[[]V] {
	return rapid.Map(rapid.SliceOfNDistinct(rapid.SampledFrom(vs), 0, 3, id), func(s []V) []V {
		if len(s) == 0 {
			return nil
		}
		return s
	})
}

func inside(steps ...string) expr.Path {
	p := expr.Attr(steps[0])
	for _, s := range steps[1:] {
		p = p.Child(expr.Step{Name: s})
	}
	return p
}

func whole(n int) av                   { return num(strconv.Itoa(n)) }
func binary(b []byte) av               { return &types.AttributeValueMemberB{Value: b} }
func null() av                         { return &types.AttributeValueMemberNULL{Value: true} }
func document(m map[string]av) av      { return &types.AttributeValueMemberM{Value: m} }
func pointer[V any](v V) *V            { return &v }
func under[V ~string](encode V) string { return string(encode) }
func stringsOf[S ~string](s S) av      { return str(string(s)) }
func distinctInt(n int) string         { return strconv.Itoa(n) }
func distinctBytes(b []byte) string    { return string(b) }

// sides are the attributes of samples, but for those in its keys.
func sides() []*side {
	f := entity.Fields[Sample]()
	words := []string{"", "a", "ab", "abc", "b", "ä", "10", "9"}
	moments := []time.Time{time.Unix(0, 0).UTC(), dawn.Truncate(time.Second), dawn.Truncate(time.Second).Add(time.Second)}
	encodeSet := func(s []string) av {
		if s == nil {
			return null()
		}
		return &types.AttributeValueMemberSS{Value: s}
	}
	floor := f.Place.Floor
	return []*side{
		text2(inside("text"), &f.Text, oneOf(words...), stringsOf[string]),
		text2(inside("opt"), &f.Opt, rapid.Map(oneOf(words...), func(s string) colour { return colour(s) }), func(c colour) av {
			if c == "" {
				return nil
			}
			return str(under(c))
		}),
		field(inside("note"), &f.Note, oneOf(nil, pointer(""), pointer("a"), pointer("b")), func(s *string) av {
			if s == nil {
				return null()
			}
			return str(*s)
		}, false),
		text2(inside("note"), f.Note, oneOf(words...), stringsOf[string]),
		number(inside("num"), &f.Num, oneOf(-10, -1, 0, 1, 2, 10, 100), whole),
		number(inside("small"), f.Small, oneOf[int8](-128, -1, 0, 1, 127), func(n int8) av { return whole(int(n)) }),
		number(inside("ratio"), &f.Ratio, oneOf(-0.5, 0, 0.1, 0.3, 1, 1e20), func(r float64) av { return num(strconv.FormatFloat(r, 'e', -1, 64)) }),
		field(inside("exact"), &f.Exact, oneOf[attributevalue.Number]("0", "1", "1.0", "1e0", "-1", "12345678901234567890123456789012345678", "0.1", "1e-20"), func(n attributevalue.Number) av { return num(n.String()) }, true),
		field(inside("digits"), &f.Digits, oneOf(1, 2, 9, 10), func(n int) av { return str(strconv.Itoa(n)) }, true),
		field(inside("flag"), &f.Flag, rapid.Bool(), func(b bool) av { return &types.AttributeValueMemberBOOL{Value: b} }, false),
		field(inside("blob"), &f.Blob, oneOf([]byte{}, []byte{0}, []byte{1}, []byte{1, 2}, []byte{255}), binary, true),
		field(inside("at"), &f.At, oneOf(moments...), func(m time.Time) av { return str(m.Format("2006-01-02T15:04:05.000Z")) }, true),
		field(inside("unix"), &f.Unix, oneOf(moments...), func(m time.Time) av { return num(strconv.FormatInt(m.Unix(), 10)) }, true),
		members(inside("tags"), &f.Tags, someOf(under[string], "a", "b", "c", "d"), encodeSet, stringsOf[string], true),
		members(inside("nums"), &f.Nums, someOf(distinctInt, -1, 0, 1, 10), func(s []int) av {
			if s == nil {
				return null()
			}
			ns := &types.AttributeValueMemberNS{}
			for _, n := range s {
				ns.Value = append(ns.Value, strconv.Itoa(n))
			}
			return ns
		}, whole, true),
		members(inside("blobs"), &f.Blobs, someOf(distinctBytes, []byte{0}, []byte{1}, []byte{1, 2}), func(s [][]byte) av {
			if s == nil {
				return null()
			}
			return &types.AttributeValueMemberBS{Value: s}
		}, binary, true),
		members(inside("log"), &f.Log, rapid.SliceOfN(oneOf("a", "b", ""), 0, 3), func(s []string) av {
			list := &types.AttributeValueMemberL{}
			for _, e := range s {
				list.Value = append(list.Value, str(e))
			}
			return list
		}, stringsOf[string], false),
		beneath(inside("log").Child(expr.Step{Index: 1}), entity.Attr[string]("log[1]"), oneOf("a", "b"), stringsOf[string]),
		field(inside("place"), &f.Place, rapid.Map(oneOf(words...), func(s string) Place { return Place{City: s} }), func(p Place) av { return document(map[string]av{"city": str(p.City)}) }, false),
		text2(inside("place", "city"), &f.Place.City, oneOf(words...), stringsOf[string]),
		number(inside("place", "floor"), floor, oneOf(-1, 0, 3), whole),
		members(inside("place", "doors"), &f.Place.Doors, someOf(under[string], "a", "b", "c").Filter(func(s []string) bool { return s != nil }), encodeSet, stringsOf[string], true),
		field(inside("labels"), &f.Labels, rapid.MapOfN(oneOf("x", "y.z"), oneOf("a", "b"), 0, 2), func(m map[string]string) av {
			all := map[string]av{}
			for name, v := range m {
				all[name] = str(v)
			}
			return document(all)
		}, false),
		beneath(inside("labels", "y.z"), entity.MapEntry(&f.Labels, "y.z"), oneOf("a", "b"), stringsOf[string]),
	}
}

// odd are values that no field of a sample is meant to have, as another program may have stored them.
var odd = []av{null(), str("a"), str(""), num("1"), num("1.0"), num("-7.5"), binary([]byte{1}), &types.AttributeValueMemberBOOL{Value: true}, document(map[string]av{}),
	document(map[string]av{"city": num("1"), "x": str("a")}), &types.AttributeValueMemberL{Value: []av{str("a"), num("1")}}, &types.AttributeValueMemberSS{Value: []string{"a"}}, &types.AttributeValueMemberNS{Value: []string{"1"}}}

// sample is a stored sample: most attributes have a value of their type, some another, some none.
func sample(t *rapid.T, all []*side, i int) item.Item {
	it := item.Item{
		"pk": str("$app#v1#sample#g"), "sk": str("$app#v1#sample#" + strconv.Itoa(i)), "__edd_e__": str("Sample"), "_w": str("before"),
		"group": str("g"), "id": str(strconv.Itoa(i)),
	}
	if rapid.Bool().Draw(t, "team") {
		it["team"] = str("red")
	}
	for _, s := range all {
		if len(s.path) > 1 {
			continue
		}
		switch kind := rapid.IntRange(0, 9).Draw(t, "kind"); {
		case kind < 6:
			it[s.path.Root()] = s.fitted.Draw(t, "value")
		case kind < 8:
			it[s.path.Root()] = rapid.SampledFrom(odd).Draw(t, "odd")
		}
	}
	if place, ok := it["place"].(*types.AttributeValueMemberM); ok && rapid.Bool().Draw(t, "furnished") {
		m := item.Clone(place.Value)
		for _, s := range all {
			if len(s.path) == 2 && s.path.Root() == "place" && rapid.Bool().Draw(t, "nested") {
				m[s.path[1].Name] = s.fitted.Draw(t, "value")
			}
		}
		it["place"] = document(m)
	}
	return it
}

// conditions draws a condition in Go, and what it means.
func conditions(t *rapid.T, all []*side, depth int) (entity.Cond, expr.Cond) {
	kind := 0
	if depth > 0 {
		kind = rapid.SampledFrom([]int{0, 0, 0, 1, 2, 3}).Draw(t, "kind")
	}
	switch kind {
	case 0:
		return rapid.SampledFrom(all).Draw(t, "side").cond(t)
	case 1:
		g, m := conditions(t, all, depth-1)
		return entity.Not(g), expr.Negate(m)
	}
	var goes []entity.Cond
	means := expr.Cond{Op: expr.And}
	if kind == 3 {
		means.Op = expr.Or
	}
	for range rapid.IntRange(1, 3).Draw(t, "conds") {
		g, m := conditions(t, all, depth-1)
		goes, means.Conds = append(goes, g), append(means.Conds, m)
	}
	if kind == 3 {
		return entity.Or(goes...), means
	}
	return entity.And(goes...), means
}

// alterationsOf draws changes in Go, and what they mean: at least one, none of which meets another.
func alterationsOf(t *rapid.T, all []*side) (goes []entity.UpdateOption, means []expr.Change) {
	for range rapid.SampledFrom([]int{1, 1, 2, 3}).Draw(t, "changes") {
		g, m := rapid.SampledFrom(all).Draw(t, "side").change(t)
		if !slices.ContainsFunc(means, func(o expr.Change) bool { return o.Path.Overlaps(m.Path) || o.Path.Disagrees(m.Path) }) {
			goes, means = append(goes, g), append(means, m)
		}
	}
	return goes, means
}
