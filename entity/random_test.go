package entity_test

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

type av = types.AttributeValue

// Sample has an attribute of every type that conditions and changes can be about. Its index half has two parts:
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
	return testsize.Pick(6, 1000) * int(testsize.Number(t, "DYNASTRATA_ROUNDS", 1))
}

// check tries a property that often.
func check(t *testing.T, property func(*rapid.T)) {
	t.Helper()
	testsize.Check(t, tries(t), property)
}

// side is one attribute of samples: how conditions and changes of it are written in Go, and beside them what they mean,
// encoded by code of this test.
type side struct {
	path   expr.Path
	fitted *rapid.Generator[av] // stored values of its type
	cond   func(*rapid.T) (entity.Cond, expr.Cond)
	change func(*rapid.T) (entity.UpdateOption, expr.Change)
}

// field makes a side of a field of type V; ops beside those of every type are for ordered ones.
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
