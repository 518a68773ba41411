package plan

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

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
