package plan

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// graft brings what the caller changed into the value as it is stored: before and after are how the struct encodes the
// value that was read, without and with the change. What did not change stays as stored, inside maps and lists too, so
// that what the struct does not know, or would encode otherwise, survives.
func graft(stored, before, after types.AttributeValue) types.AttributeValue {
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
			return &types.AttributeValueMemberM{Value: graftMap(s.Value, b.Value, a.Value)}
		}
	case *types.AttributeValueMemberL:
		b, okB := before.(*types.AttributeValueMemberL)
		a, okA := after.(*types.AttributeValueMemberL)
		if okA && okB && len(a.Value) == len(s.Value) && len(b.Value) == len(s.Value) {
			list := make([]types.AttributeValue, len(a.Value))
			for i := range list {
				// Not deeper: a changed element may be another one that has moved here.
				if list[i] = a.Value[i]; item.Equal(b.Value[i], a.Value[i]) {
					list[i] = s.Value[i]
				}
			}
			return &types.AttributeValueMemberL{Value: list}
		}
	}
	return after
}

func graftMap(stored, before, after item.Item) item.Item {
	m := item.Item{}
	for name, av := range stored {
		if _, known := before[name]; !known {
			m[name] = av // the struct does not know it
		}
	}
	for name, av := range after {
		m[name] = graft(stored[name], before[name], av)
	}
	return m
}
