package exprtest

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
)

var typeNames = []string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}

// Refused reports that DynamoDB refuses the operands of c, whatever item it is about.
func Refused(c expr.Cond) bool {
	if slices.ContainsFunc(c.Conds, Refused) {
		return true
	}
	ordered := func(v types.AttributeValue) bool { return slices.Contains([]string{"S", "N", "B"}, Type(v)) }
	switch c.Op {
	case expr.Lt, expr.Le, expr.Gt, expr.Ge:
		return !ordered(c.Values[0])
	case expr.Between:
		order, ok := compare(c.Values[0], c.Values[1])
		return !ok || order > 0
	case expr.BeginsWith:
		return Type(c.Values[0]) != "S" && Type(c.Values[0]) != "B"
	case expr.HasType:
		s, ok := c.Values[0].(*types.AttributeValueMemberS)
		return !ok || !slices.Contains(typeNames, s.Value)
	}
	return false
}
