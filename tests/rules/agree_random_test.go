package rules_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

type av = types.AttributeValue

func str(s string) av { return dbtest.S(s) }
func num(s string) av { return dbtest.N(s) }

// dawn is a time that samples have.
var dawn = time.Date(2024, 5, 6, 7, 8, 9, 123456789, time.UTC)

// Sample has an attribute of every type that conditions and changes can be about. Its index key has two parts:
// changing only one makes an update read the item first, so that changes are tried on both routes.
type Sample struct {
	_ entity.Key `name:"Sample" pk:"$#{group}" sk:"$#{id}"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}#{rank}"`

	Group string `dynamodbav:"group"`
	ID    string `dynamodbav:"id"`
	Team  string `dynamodbav:"team,omitempty"`
	Rank  int    `dynamodbav:"rank,omitempty"`

	Text   string                `dynamodbav:"text"`
	Opt    colour                `dynamodbav:"opt,omitempty"`
	Note   *string               `dynamodbav:"note"`
	Num    int                   `dynamodbav:"num"`
	Small  *int8                 `dynamodbav:"small,omitempty"`
	Ratio  float64               `dynamodbav:"ratio"`
	Exact  attributevalue.Number `dynamodbav:"exact"`
	Digits int                   `dynamodbav:"digits,string"`
	Flag   bool                  `dynamodbav:"flag"`
	Blob   []byte                `dynamodbav:"blob"`
	At     time.Time             `dynamodbav:"at" entity:"time=ms"`
	Unix   time.Time             `dynamodbav:"unix" entity:"time=unix"`
	Tags   []string              `dynamodbav:"tags,stringset"`
	Nums   []int                 `dynamodbav:"nums,numberset"`
	Blobs  [][]byte              `dynamodbav:"blobs,binaryset"`
	Log    []string              `dynamodbav:"log"`
	Place  Place                 `dynamodbav:"place"`
	Labels map[string]string     `dynamodbav:"labels"`
}

// Place is nested, and has a set inside.
type Place struct {
	City  string   `dynamodbav:"city"`
	Floor *int     `dynamodbav:"floor,omitempty"`
	Doors []string `dynamodbav:"doors,stringset,omitempty"`
}

type colour string

// tries is how often a property is tried. DYNASTRATA_ROUNDS multiplies it.
func tries(t *testing.T) int {
	t.Helper()
	return testsize.Pick(3, 500) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
}

// check tries a property that often.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	testsize.Check(t, tries(t), property)
}

// side is one attribute of samples: how conditions and changes of it are written in Go, and what they mean,
// encoded by code of this test.
type side struct {
	path   expr.Path
	fitted *rapid.Generator[av] // stored values of its type
	cond   func(*rapid.T) (entity.Cond, expr.Cond)
	change func(*rapid.T) (entity.UpdateOption, expr.Change)
}

// field makes a side of a field of type V; ops has those for ordered types, in addition to those of every type.
func field[V any](path expr.Path, f *V, values *rapid.Generator[V], encode func(V) av, ordered bool) *side {
	s := &side{path: path, fitted: rapid.Map(values, encode).Filter(func(v av) bool { return v != nil })}
	s.cond = func(t *rapid.T) (entity.Cond, expr.Cond) {
		ops := []expr.Op{expr.Eq, expr.Ne, expr.In, expr.Exists, expr.NotExists}
		if ordered {
			ops = append(ops, expr.Lt, expr.Le, expr.Gt, expr.Ge, expr.Between)
		}
		op := rapid.SampledFrom(ops).Draw(t, "op")
		v, w := values.Draw(t, "v"), values.Draw(t, "w")
		one := expr.Compare(op, path, operand(encode, v))
		two := expr.Compare(op, path, operand(encode, v), operand(encode, w))
		switch op {
		case expr.Eq:
			return entity.Eq(f, v), leftOut(one, encode, v)
		case expr.Ne:
			if encode(v) == nil {
				one.Op = expr.Eq
				return entity.Ne(f, v), expr.Negate(leftOut(one, encode, v))
			}
			return entity.Ne(f, v), one
		case expr.Lt:
			return entity.Lt(f, v), one
		case expr.Le:
			return entity.Le(f, v), one
		case expr.Gt:
			return entity.Gt(f, v), one
		case expr.Ge:
			return entity.Ge(f, v), one
		case expr.Between:
			return entity.Between(f, v, w), two
		case expr.In:
			return entity.In(f, v, w), leftOut(two, encode, v, w)
		case expr.Exists:
			return entity.Exists(f), expr.Compare(op, path)
		}
		return entity.NotExists(f), expr.Compare(op, path)
	}
	s.change = func(t *rapid.T) (entity.UpdateOption, expr.Change) {
		v := values.Draw(t, "v")
		given := encode(v)
		switch kind := rapid.SampledFrom([]expr.Kind{expr.Set, expr.Set, expr.SetIfAbsent, expr.Remove}).Draw(t, "kind"); {
		case kind == expr.Remove:
			return entity.Remove(f), expr.Change{Kind: kind, Path: path}
		case kind == expr.SetIfAbsent && given != nil:
			return entity.SetIfNotExists(f, v), expr.Change{Kind: kind, Path: path, Value: given}
		case given == nil: // omitempty: what whole values leave out is absent after a Set too
			return entity.Set(f, v), expr.Change{Kind: expr.Remove, Path: path}
		}
		return entity.Set(f, v), expr.Change{Kind: expr.Set, Path: path, Value: given}
	}
	return s
}

// leftOut is an equality with vs, where a value that is not stored is equal to an absent attribute, and to NULL.
func leftOut[V any](means expr.Cond, encode func(V) av, vs ...V) expr.Cond {
	if !slices.ContainsFunc(vs, func(v V) bool { return encode(v) == nil }) {
		return means
	}
	return expr.Any(means, expr.Compare(expr.NotExists, means.Path), expr.Compare(expr.Eq, means.Path, null()))
}

// operand is v in a condition, where an empty value is a value.
func operand[V any](encode func(V) av, v V) av {
	if given := encode(v); given != nil {
		return given
	}
	return str("")
}

// alsoCond makes every third condition of s one of another kind.
func (s *side) alsoCond(other func(*rapid.T) (entity.Cond, expr.Cond)) *side {
	first := s.cond
	s.cond = func(t *rapid.T) (entity.Cond, expr.Cond) {
		if rapid.IntRange(0, 2).Draw(t, "other") == 0 {
			return other(t)
		}
		return first(t)
	}
	return s
}

// alsoChange makes every second change of s one of another kind.
func (s *side) alsoChange(other func(*rapid.T) (entity.UpdateOption, expr.Change)) *side {
	first := s.change
	s.change = func(t *rapid.T) (entity.UpdateOption, expr.Change) {
		if rapid.Bool().Draw(t, "other") {
			return other(t)
		}
		return first(t)
	}
	return s
}

func text2[S ~string](path expr.Path, f *S, values *rapid.Generator[S], encode func(S) av) *side {
	return field(path, f, values, encode, true).alsoCond(func(t *rapid.T) (entity.Cond, expr.Cond) {
		prefix := rapid.SampledFrom([]string{"", "a", "ab", "ä"}).Draw(t, "prefix")
		return entity.BeginsWith(f, prefix), expr.Compare(expr.BeginsWith, path, str(prefix))
	})
}

func number[N entity.Number](path expr.Path, f *N, values *rapid.Generator[N], encode func(N) av) *side {
	return field(path, f, values, encode, true).alsoChange(func(t *rapid.T) (entity.UpdateOption, expr.Change) {
		d := values.Draw(t, "delta")
		return entity.Add(f, d), expr.Change{Kind: expr.Increment, Path: path, Value: encode(d)}
	})
}

// members makes a side of a list or set; single encodes one element.
func members[E any](path expr.Path, f *[]E, values *rapid.Generator[[]E], encode func([]E) av, single func(E) av, set bool) *side {
	s := field(path, f, values, encode, false)
	full := values.Filter(func(v []E) bool { return len(v) > 0 })
	return s.alsoCond(func(t *rapid.T) (entity.Cond, expr.Cond) {
		e := full.Draw(t, "set")[0]
		return entity.Contains(f, e), expr.Compare(expr.Contains, path, single(e))
	}).alsoChange(func(t *rapid.T) (entity.UpdateOption, expr.Change) {
		es := full.Draw(t, "elements")
		switch {
		case !set && rapid.Bool().Draw(t, "prepend"):
			return entity.ListPrepend(f, es...), expr.Change{Kind: expr.Prepend, Path: path, Value: encode(es)}
		case !set:
			return entity.ListAppend(f, es...), expr.Change{Kind: expr.Push, Path: path, Value: encode(es)}
		case rapid.Bool().Draw(t, "insert"):
			return entity.AddToSet(f, es...), expr.Change{Kind: expr.Insert, Path: path, Value: encode(es)}
		}
		return entity.DeleteFromSet(f, es...), expr.Change{Kind: expr.Discard, Path: path, Value: encode(es)}
	})
}

// beneath makes a side of a path to a text.
func beneath[V any](path expr.Path, p entity.Path[V], values *rapid.Generator[V], encode func(V) av) *side {
	return &side{path: path, fitted: rapid.Map(values, encode),
		cond: func(t *rapid.T) (entity.Cond, expr.Cond) {
			v := values.Draw(t, "v")
			switch rapid.IntRange(0, 4).Draw(t, "op") {
			case 0:
				return p.Exists(), expr.Compare(expr.Exists, path)
			case 1:
				return p.NotExists(), expr.Compare(expr.NotExists, path)
			case 2:
				return p.Ne(v), expr.Compare(expr.Ne, path, encode(v))
			case 3:
				return p.Le(v), expr.Compare(expr.Le, path, encode(v))
			}
			return p.Eq(v), expr.Compare(expr.Eq, path, encode(v))
		},
		change: func(t *rapid.T) (entity.UpdateOption, expr.Change) {
			if rapid.Bool().Draw(t, "remove") {
				return p.Remove(), expr.Change{Kind: expr.Remove, Path: path}
			}
			v := values.Draw(t, "v")
			if rapid.Bool().Draw(t, "once") {
				return p.SetIfNotExists(v), expr.Change{Kind: expr.SetIfAbsent, Path: path, Value: encode(v)}
			}
			return p.Set(v), expr.Change{Kind: expr.Set, Path: path, Value: encode(v)}
		},
	}
}

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
