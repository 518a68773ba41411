package expr

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

var errSetType = errors.New("the stored attribute is not a set of that type")

// changeSet adds the elements of delta to the set old, or takes them out; nil when nothing is left.
func changeSet(old, delta types.AttributeValue, insert bool) (types.AttributeValue, error) {
	if old == nil {
		if insert {
			return delta, nil
		}
		return nil, nil
	}
	switch d := delta.(type) {
	case *types.AttributeValueMemberSS:
		if o, ok := old.(*types.AttributeValueMemberSS); ok {
			if kept := merge(o.Value, d.Value, item.S, insert); len(kept) > 0 {
				return &types.AttributeValueMemberSS{Value: kept}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberNS:
		if o, ok := old.(*types.AttributeValueMemberNS); ok {
			if kept := merge(o.Value, d.Value, item.N, insert); len(kept) > 0 {
				return &types.AttributeValueMemberNS{Value: kept}, nil
			}
			return nil, nil
		}
	case *types.AttributeValueMemberBS:
		if o, ok := old.(*types.AttributeValueMemberBS); ok {
			wrap := func(b []byte) types.AttributeValue { return &types.AttributeValueMemberB{Value: b} }
			if kept := merge(o.Value, d.Value, wrap, insert); len(kept) > 0 {
				return &types.AttributeValueMemberBS{Value: kept}, nil
			}
			return nil, nil
		}
	}
	return nil, errSetType
}

func merge[E any](old, delta []E, value func(E) types.AttributeValue, insert bool) []E {
	in := func(set []E, e E) bool {
		for _, x := range set {
			if item.Equal(value(x), value(e)) {
				return true
			}
		}
		return false
	}
	var kept []E
	for _, e := range old {
		if insert || !in(delta, e) {
			kept = append(kept, e)
		}
	}
	if insert {
		for _, e := range delta {
			if !in(kept, e) {
				kept = append(kept, e)
			}
		}
	}
	return kept
}
