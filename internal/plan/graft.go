package plan

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// graft brings what the caller changed into the value as it is stored: before and after are how the struct encodes the
// value that was read, without and with the change. What did not change stays as stored, inside maps and lists too, so
// that what the struct does not know, or would encode otherwise, survives.
func graft(stored, before, after types.AttributeValue) types.AttributeValue {
	return graftAt(stored, before, after, true)
}

// graftAt is graft at one place. named says that the place has a name, so that what is there now is a new state of what
// was there before. An element of a list has none: it can be another one that has come here, so it takes over what did
// not change, such as a number with more digits than its Go value has, but not what the struct does not know.
func graftAt(stored, before, after types.AttributeValue, named bool) types.AttributeValue {
	if stored == nil || before == nil || after == nil {
		return after
	}
	if item.Equal(before, after) {
		return stored
	}
	switch s := stored.(type) {
	case *types.AttributeValueMemberM:
		b, okB := before.(*types.AttributeValueMemberM)
		a, okA := after.(*types.AttributeValueMemberM)
		if okA && okB {
			return &types.AttributeValueMemberM{Value: graftMap(s.Value, b.Value, a.Value, named)}
		}
	case *types.AttributeValueMemberL:
		b, okB := before.(*types.AttributeValueMemberL)
		a, okA := after.(*types.AttributeValueMemberL)
		if okA && okB {
			return &types.AttributeValueMemberL{Value: graftList(s.Value, b.Value, a.Value)}
		}
	case *types.AttributeValueMemberNS:
		b, okB := before.(*types.AttributeValueMemberNS)
		a, okA := after.(*types.AttributeValueMemberNS)
		if okA && okB {
			return &types.AttributeValueMemberNS{Value: graftNumbers(s.Value, b.Value, a.Value)}
		}
	}
	return after
}

func graftMap(stored, before, after item.Item, named bool) item.Item {
	m := item.Item{}
	for name, av := range stored {
		if _, known := before[name]; !known && named {
			m[name] = av // the struct does not know it
		}
	}
	for name, av := range after {
		m[name] = graftAt(stored[name], before[name], av, named)
	}
	return m
}

// graftNumbers keeps the digits of the numbers of a set that were in it before.
func graftNumbers(stored, before, after []string) []string {
	if !slices.EqualFunc(stored, before, alike) {
		return after
	}
	out := slices.Clone(after)
	for i, n := range after {
		if at := slices.Index(before, n); at >= 0 {
			out[i] = stored[at]
		}
	}
	return out
}

// alike reports that two numbers are the same as far as a floating-point type of Go can show.
func alike(a, b string) bool {
	for _, bits := range []int{64, 32} {
		x, errX := strconv.ParseFloat(a, bits)
		y, errY := strconv.ParseFloat(b, bits)
		if errX == nil && errY == nil && x == y {
			return true
		}
	}
	return false
}

// graftList is graft for a list. Elements have no names, so each element of after that equals one of before is taken to
// be that one, wherever it is now, and stays as stored. Of the others, each takes over what did not change from the
// element of before that it has most in common with.
func graftList(stored, before, after []types.AttributeValue) []types.AttributeValue {
	if !follows(stored, before) {
		return after
	}
	g := grafting{stored, before, slices.Clone(after), make([]bool, len(before)), make([]bool, len(after))}
	first, shorter := 0, min(len(before), len(after))
	for first < shorter && g.keep(first, first) {
		first++
	}
	for n := 1; n <= shorter-first && g.keep(len(before)-n, len(after)-n); n++ {
	}
	if len(before) == len(after) {
		for i := range after {
			g.keep(i, i)
		}
	}
	g.moved()
	g.changed()
	return g.out
}

// grafting is a list that is being put together. out has the elements of after until they are found to be old ones.
type grafting struct {
	stored, before, out []types.AttributeValue
	used, done          []bool // elements of before that were taken, elements of out that were found
}

// keep takes element from of before for element at of out, if they are equal.
func (g *grafting) keep(from, at int) bool {
	if g.used[from] || g.done[at] || !item.Equal(g.before[from], g.out[at]) {
		return false
	}
	g.out[at], g.used[from], g.done[at] = g.stored[from], true, true
	return true
}

// moved finds elements that are in another place now.
func (g *grafting) moved() {
	places := map[string][]int{}
	for from, used := range g.used {
		if !used {
			text := ValueText(g.before[from])
			places[text] = append(places[text], from)
		}
	}
	for at, done := range g.done {
		if done {
			continue
		}
		text := ValueText(g.out[at])
		if i := slices.IndexFunc(places[text], func(from int) bool { return g.keep(from, at) }); i >= 0 {
			places[text] = slices.Delete(places[text], i, i+1)
		}
	}
}

// nearby is among how many elements the origin of a changed one is looked for, which bounds the work for long lists.
const nearby = 100

// changed finds elements that are no longer equal to what they were.
func (g *grafting) changed() {
	var left []int
	for from, used := range g.used {
		if !used {
			left = append(left, from)
		}
	}
	for at, done := range g.done {
		if done {
			continue
		}
		best, most := -1, -1
		for i, from := range left[:min(nearby, len(left))] {
			if expr.TypeName(g.before[from]) != expr.TypeName(g.out[at]) {
				continue
			}
			if n := inCommon(g.before[from], g.out[at]); n > most {
				best, most = i, n
			}
		}
		if best >= 0 {
			from := left[best]
			g.out[at] = graftAt(g.stored[from], g.before[from], g.out[at], false)
			left = slices.Delete(left, best, best+1)
		}
	}
}

// inCommon counts the parts of two maps or lists that are equal.
func inCommon(a, b types.AttributeValue) (n int) {
	part := func(x, y types.AttributeValue) int {
		if x != nil && y != nil && item.Equal(x, y) {
			return 1
		}
		return inCommon(x, y)
	}
	switch x := a.(type) {
	case *types.AttributeValueMemberM:
		if y, ok := b.(*types.AttributeValueMemberM); ok {
			for name, v := range x.Value {
				n += part(v, y.Value[name])
			}
		}
	case *types.AttributeValueMemberL:
		if y, ok := b.(*types.AttributeValueMemberL); ok {
			for i := range min(len(x.Value), len(y.Value)) {
				n += part(x.Value[i], y.Value[i])
			}
		}
	case *types.AttributeValueMemberNS:
		if y, ok := b.(*types.AttributeValueMemberNS); ok {
			for _, e := range x.Value {
				if slices.Contains(y.Value, e) {
					n++
				}
			}
		}
	}
	return n
}

// follows reports that before has the elements of stored in their order. A type that encodes itself may give another one.
func follows(stored, before []types.AttributeValue) bool {
	if len(stored) != len(before) {
		return false
	}
	var texts map[string]bool
	for i, b := range before {
		if item.Equal(stored[i], b) {
			continue
		}
		x, isNumber := stored[i].(*types.AttributeValueMemberN)
		if y, ok := b.(*types.AttributeValueMemberN); ok && isNumber {
			if !alike(x.Value, y.Value) {
				return false
			}
			continue
		}
		if texts == nil {
			texts = map[string]bool{}
			for _, s := range stored {
				texts[ValueText(s)] = true
			}
		}
		if texts[ValueText(b)] {
			return false
		}
	}
	return true
}
