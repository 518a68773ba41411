package expr

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Compares orders two scalar values of one type as DynamoDB does; ok is false for anything else.
func Compares(a, b types.AttributeValue) (order int, ok bool) {
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		if y, ok := b.(*types.AttributeValueMemberS); ok {
			return strings.Compare(x.Value, y.Value), true
		}
	case *types.AttributeValueMemberB:
		if y, ok := b.(*types.AttributeValueMemberB); ok {
			return bytes.Compare(x.Value, y.Value), true
		}
	case *types.AttributeValueMemberN:
		if y, ok := b.(*types.AttributeValueMemberN); ok {
			p, errP := item.ParseDecimal(x.Value)
			q, errQ := item.ParseDecimal(y.Value)
			if errP == nil && errQ == nil {
				return p.Cmp(q), true
			}
		}
	}
	return 0, false
}

// HoldsKey evaluates a key condition (comparisons and begins_with, joined by AND) on an item.
func HoldsKey(c Cond, it item.Item) bool {
	switch c.Op {
	case None:
		return true
	case And:
		for _, k := range c.Conds {
			if !HoldsKey(k, it) {
				return false
			}
		}
		return true
	}
	av, ok := c.Path.Lookup(it)
	if !ok || len(c.Values) == 0 {
		return false
	}
	if c.Op == BeginsWith {
		s, ok := av.(*types.AttributeValueMemberS)
		p, okP := c.Values[0].(*types.AttributeValueMemberS)
		return ok && okP && strings.HasPrefix(s.Value, p.Value)
	}
	order, ok := Compares(av, c.Values[0])
	if !ok {
		return false
	}
	switch c.Op {
	case Eq:
		return order == 0
	case Lt:
		return order < 0
	case Le:
		return order <= 0
	case Gt:
		return order > 0
	case Ge:
		return order >= 0
	case Between:
		high, ok := Compares(av, c.Values[1])
		return ok && order >= 0 && high <= 0
	}
	return false
}
