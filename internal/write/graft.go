package write

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// graftList is graft for a list. Elements have no names, so only their places are compared. An element that has moved is taken as
// the struct encodes it.
func graftList(stored, before, after []types.AttributeValue) []types.AttributeValue {
	if !follows(stored, before) {
		return after
	}
	out := slices.Clone(after)
	for i := range min(len(before), len(after)) {
		out[i] = graftAt(stored[i], before[i], after[i], false)
	}
	return out
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
// value. An element of a list has no name and may be another one. It keeps what did not change, such as a number with more
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
