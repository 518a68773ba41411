package plan

import (
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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
