package write

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

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

// sameFloat reports whether two numbers are equal as floating-point values of Go.
func sameFloat(a, b string) bool {
	for _, bits := range []int{64, 32} {
		x, errX := strconv.ParseFloat(a, bits)
		y, errY := strconv.ParseFloat(b, bits)
		if errX == nil && errY == nil && x == y {
			return true
		}
	}
	return false
}

// follows reports whether before has the elements of stored in the same order. A type that encodes itself may reorder
// them.
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
			if !sameFloat(x.Value, y.Value) {
				return false
			}
			continue
		}
		if texts == nil {
			texts = map[string]bool{}
			for _, s := range stored {
				texts[item.ValueText(s)] = true
			}
		}
		if texts[item.ValueText(b)] {
			return false
		}
	}
	return true
}

// listGraft is the state of graftList. out holds the elements of after until their stored forms are found.
type listGraft struct {
	stored, before, out []types.AttributeValue
	used, done          []bool // elements of before that are matched, elements of out that are matched
}

// keep matches element from of before with element at of out if they are equal.
func (g *listGraft) keep(from, at int) bool {
	if g.used[from] || g.done[at] || !item.Equal(g.before[from], g.out[at]) {
		return false
	}
	g.out[at], g.used[from], g.done[at] = g.stored[from], true, true
	return true
}

// moved matches elements that changed their position.
func (g *listGraft) moved() {
	places := map[string][]int{}
	for from, used := range g.used {
		if !used {
			text := item.ValueText(g.before[from])
			places[text] = append(places[text], from)
		}
	}
	for at, done := range g.done {
		if done {
			continue
		}
		text := item.ValueText(g.out[at])
		if i := slices.IndexFunc(places[text], func(from int) bool { return g.keep(from, at) }); i >= 0 {
			places[text] = slices.Delete(places[text], i, i+1)
		}
	}
}

// nearby limits the search for the origin of a changed element, so that long lists stay cheap.
const nearby = 100

// inCommon counts the equal parts of two maps or lists.
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

// changed matches elements that have changed with the most similar ones.
func (g *listGraft) changed() {
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

// graftList is graft for a list. Elements have no names, so an element of after that equals one of before is taken for
// the same element, at any position, and stays as stored. Each other element keeps what it has in common with the most
// similar element of before.
func graftList(stored, before, after []types.AttributeValue) []types.AttributeValue {
	if !follows(stored, before) {
		return after
	}
	g := listGraft{stored, before, slices.Clone(after), make([]bool, len(before)), make([]bool, len(after))}
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

// graftNumbers keeps the digits of the numbers that were in the set before.
func graftNumbers(stored, before, after []string) []string {
	if !slices.EqualFunc(stored, before, sameFloat) {
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

// graftAt is graft at one place. named reports that the place has a name, so stored and after are states of the same
// value. An element of a list has no name and may have moved. It keeps what did not change, such as a number with more
// digits than its Go type has, but not what the struct does not know.
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

// graft applies the caller's change to the stored form of a value. before and after are the struct's encodings of the
// value without and with the change. Whatever did not change stays as stored, also inside maps and lists. So content
// that the struct does not know, or would encode differently, survives.
func graft(stored, before, after types.AttributeValue) types.AttributeValue {
	return graftAt(stored, before, after, true)
}
