package layout

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

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

// follows reports whether before has the elements of stored in the same order. A type that encodes itself may reorder them.
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
			for k, s := range stored {
				texts[item.ValueText(s)] = texts[item.ValueText(s)] || !item.Equal(s, before[k])
			}
		}
		if texts[item.ValueText(b)] {
			return false
		}
	}
	return true
}

// alike counts the attributes that two maps have in common.
func alike(x, y types.AttributeValue) (n int) {
	a, okA := x.(*types.AttributeValueMemberM)
	b, okB := y.(*types.AttributeValueMemberM)
	if !okA || !okB {
		return 0
	}
	for name, av := range a.Value {
		if other := b.Value[name]; other != nil && item.Equal(av, other) {
			n++
		}
	}
	return n
}

// reach is how far apart two elements can be that are compared, so that long lists do not take long.
const reach = 100

// origins returns for each element of after the index of the one in before that it was, or -1 if it is new. Equal ones are the same, in
// order. Those that are left behind one of them are compared: the most alike are the same, of these the first. Maps without a common
// attribute are not, unless as many are left on both sides and the struct knows one attribute alone.
func origins(before, after []types.AttributeValue) []int {
	from, used, places := make([]int, len(after)), make([]bool, len(before)), map[string][]int{}
	for i, av := range before {
		text := item.ValueText(av)
		places[text] = append(places[text], i)
	}
	for j, av := range after {
		text := item.ValueText(av)
		if from[j] = -1; len(places[text]) > 0 {
			from[j], used[places[text][0]], places[text] = places[text][0], true, places[text][1:]
		}
	}
	var pairs [][3]int // indexes, and how alike they are
	for j := 0; j < len(after); j++ {
		first, left := j, 0
		for ; j < len(after) && from[j] < 0; j++ {
		}
		if first > 0 {
			left = from[first-1] + 1
		}
		right := left
		for ; right < len(before) && !used[right]; right++ {
		}
		for i := left; i < right; i++ {
			at := first + i - left
			for k := max(at-reach, first); k < min(at+reach+1, j); k++ {
				m, isMap := after[k].(*types.AttributeValueMemberM)
				inPlace := right-left == j-first && k == at && (!isMap || len(m.Value) < 2)
				if n := alike(before[i], after[k]); n > 0 || inPlace {
					pairs = append(pairs, [3]int{i, k, n})
				}
			}
		}
	}
	slices.SortStableFunc(pairs, func(a, b [3]int) int { return b[2] - a[2] })
	for _, p := range pairs {
		if i, j := p[0], p[1]; !used[i] && from[j] < 0 {
			from[j], used[i] = i, true
		}
	}
	return from
}

// Graft applies the caller's change to the stored form of a value. before and after are the struct's encodings of the
// value without and with the change. Whatever did not change stays as stored, also inside maps and lists. So content
// that the struct does not know, or would encode differently, survives.
func Graft(stored, before, after types.AttributeValue) types.AttributeValue {
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
		if !okA || !okB {
			break
		}
		m := item.Item{}
		for name, av := range s.Value {
			if _, known := b.Value[name]; !known {
				m[name] = av // the struct does not know it
			}
		}
		for name, av := range a.Value {
			m[name] = Graft(s.Value[name], b.Value[name], av)
		}
		return &types.AttributeValueMemberM{Value: m}
	case *types.AttributeValueMemberL:
		b, okB := before.(*types.AttributeValueMemberL)
		a, okA := after.(*types.AttributeValueMemberL)
		if !okA || !okB || !follows(s.Value, b.Value) {
			break
		}
		list := slices.Clone(a.Value)
		for j, i := range origins(b.Value, a.Value) { // elements have no names
			if i >= 0 {
				list[j] = Graft(s.Value[i], b.Value[i], a.Value[j])
			}
		}
		return &types.AttributeValueMemberL{Value: list}
	case *types.AttributeValueMemberNS:
		b, okB := before.(*types.AttributeValueMemberNS)
		a, okA := after.(*types.AttributeValueMemberNS)
		if !okA || !okB || !slices.EqualFunc(s.Value, b.Value, sameFloat) {
			break
		}
		numbers := slices.Clone(a.Value)
		for i, n := range a.Value {
			if at := slices.Index(b.Value, n); at >= 0 {
				numbers[i] = s.Value[at] // with all its digits
			}
		}
		return &types.AttributeValueMemberNS{Value: numbers}
	}
	return after
}
