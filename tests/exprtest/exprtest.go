// Package exprtest evaluates conditions in memory by DynamoDB's rules. It is a double for tests: programs let DynamoDB
// decide. It shares no code with the library's own comparisons, so that a test can set one against the other.
package exprtest

import (
	"bytes"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// Holds evaluates c on it, an item that may be empty. Logic is two-valued: a comparison with an absent attribute, or
// with one of another type, is false, and its negation true. c must not be [Refused].
func Holds(c expr.Cond, it item.Item) bool {
	switch c.Op {
	case expr.None:
		return true
	case expr.And:
		return !slices.ContainsFunc(c.Conds, func(k expr.Cond) bool { return !Holds(k, it) })
	case expr.Or:
		return slices.ContainsFunc(c.Conds, func(k expr.Cond) bool { return Holds(k, it) })
	case expr.Not:
		return !Holds(c.Conds[0], it)
	}
	av, others := find(it, c.Path), c.Values
	if c.Operands != nil {
		av, others = operand(it, c.Operands[0]), nil
		for _, o := range c.Operands[1:] {
			others = append(others, operand(it, o))
		}
	}
	switch c.Op {
	case expr.Exists:
		return av != nil
	case expr.NotExists:
		return av == nil
	case expr.Ne:
		return !equal(av, others[0])
	}
	if av == nil {
		return false
	}
	switch c.Op {
	case expr.Eq, expr.In:
		return slices.ContainsFunc(others, func(v types.AttributeValue) bool { return equal(av, v) })
	case expr.Lt:
		order, ok := compare(av, others[0])
		return ok && order < 0
	case expr.Le:
		order, ok := compare(av, others[0])
		return ok && order <= 0
	case expr.Gt:
		order, ok := compare(av, others[0])
		return ok && order > 0
	case expr.Ge:
		order, ok := compare(av, others[0])
		return ok && order >= 0
	case expr.Between:
		low, okLow := compare(av, others[0])
		high, okHigh := compare(av, others[1])
		return okLow && okHigh && low >= 0 && high <= 0
	case expr.BeginsWith:
		return beginsWith(av, others[0])
	case expr.Contains:
		return contains(av, others[0])
	case expr.HasType:
		return Type(av) == others[0].(*types.AttributeValueMemberS).Value
	}
	panic("no such operator: " + string(c.Op))
}

// operand returns the value of o on it, nil where it is absent. The size of a text is what DynamoDB Local counts: 16-bit units.
func operand(it item.Item, o expr.Operand) types.AttributeValue {
	if o.Path == nil {
		return o.Value
	}
	av := find(it, o.Path)
	if !o.Size {
		return av
	}
	n := len(elements(av))
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		for _, r := range v.Value {
			n += utf16.RuneLen(r)
		}
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	default:
		if !slices.Contains([]string{"L", "SS", "NS", "BS"}, Type(av)) {
			return nil
		}
	}
	return item.N(strconv.Itoa(n))
}

// find walks a path by the rules for documents: names lead into maps, indexes into lists, anything else nowhere.
func find(it item.Item, path expr.Path) types.AttributeValue {
	var av types.AttributeValue = &types.AttributeValueMemberM{Value: it}
	for _, step := range path {
		switch v := av.(type) {
		case *types.AttributeValueMemberM:
			if step.Name == "" {
				return nil
			}
			av = v.Value[step.Name]
		case *types.AttributeValueMemberL:
			if step.Name != "" || step.Index >= len(v.Value) {
				return nil
			}
			av = v.Value[step.Index]
		default:
			return nil
		}
	}
	return av
}

// Type is DynamoDB's letters for the type of av, "" for nil.
func Type(av types.AttributeValue) string {
	switch av.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberN:
		return "N"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberL:
		return "L"
	case *types.AttributeValueMemberM:
		return "M"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberBS:
		return "BS"
	}
	return ""
}

// compare orders two strings (by their UTF-8 bytes), numbers or binaries; ok is false for anything else.
func compare(a, b types.AttributeValue) (order int, ok bool) {
	if Type(a) != Type(b) {
		return 0, false
	}
	switch x := a.(type) {
	case *types.AttributeValueMemberS:
		return strings.Compare(x.Value, b.(*types.AttributeValueMemberS).Value), true
	case *types.AttributeValueMemberN:
		return number(x.Value).Cmp(number(b.(*types.AttributeValueMemberN).Value)), true
	case *types.AttributeValueMemberB:
		return bytes.Compare(x.Value, b.(*types.AttributeValueMemberB).Value), true
	}
	return 0, false
}

func number(text string) *big.Rat {
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		panic("not a number: " + text)
	}
	return r
}

// elements are the members of a set or list as values of their own; nil for anything else.
func elements(av types.AttributeValue) []types.AttributeValue {
	var all []types.AttributeValue
	switch v := av.(type) {
	case *types.AttributeValueMemberL:
		return v.Value
	case *types.AttributeValueMemberSS:
		for _, e := range v.Value {
			all = append(all, item.S(e))
		}
	case *types.AttributeValueMemberNS:
		for _, e := range v.Value {
			all = append(all, item.N(e))
		}
	case *types.AttributeValueMemberBS:
		for _, e := range v.Value {
			all = append(all, &types.AttributeValueMemberB{Value: e})
		}
	}
	return all
}

// equal compares by type and value: numbers as numbers, sets without order, documents deeply. nil equals nothing.
func equal(a, b types.AttributeValue) bool {
	if a == nil || Type(a) != Type(b) {
		return false
	}
	if order, ok := compare(a, b); ok {
		return order == 0
	}
	switch x := a.(type) {
	case *types.AttributeValueMemberBOOL:
		return x.Value == b.(*types.AttributeValueMemberBOOL).Value
	case *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberL:
		return slices.EqualFunc(x.Value, b.(*types.AttributeValueMemberL).Value, equal)
	case *types.AttributeValueMemberM:
		y := b.(*types.AttributeValueMemberM)
		for name, v := range x.Value {
			if !equal(v, y.Value[name]) {
				return false
			}
		}
		return len(x.Value) == len(y.Value)
	}
	xs, ys := elements(a), elements(b)
	for _, e := range xs {
		if !slices.ContainsFunc(ys, func(y types.AttributeValue) bool { return equal(e, y) }) {
			return false
		}
	}
	return len(xs) == len(ys)
}

func beginsWith(av, prefix types.AttributeValue) bool {
	switch x := av.(type) {
	case *types.AttributeValueMemberS:
		p, ok := prefix.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(x.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := prefix.(*types.AttributeValueMemberB)
		return ok && bytes.HasPrefix(x.Value, p.Value)
	}
	return false
}

// contains looks for a part of a text or binary, or for an element of a set or list.
func contains(av, part types.AttributeValue) bool {
	switch x := av.(type) {
	case *types.AttributeValueMemberS:
		p, ok := part.(*types.AttributeValueMemberS)
		return ok && strings.Contains(x.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := part.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(x.Value, p.Value)
	}
	return slices.ContainsFunc(elements(av), func(e types.AttributeValue) bool { return equal(e, part) })
}

// Same reports that two items have the same attributes with equal values.
func Same(a, b item.Item) bool {
	return equal(&types.AttributeValueMemberM{Value: a}, &types.AttributeValueMemberM{Value: b})
}

var typeNames = []string{"S", "N", "B", "BOOL", "NULL", "L", "M", "SS", "NS", "BS"}

// Refused reports that DynamoDB refuses the operands of c, whatever item it is about.
func Refused(c expr.Cond) bool {
	if slices.ContainsFunc(c.Conds, Refused) {
		return true
	}
	ordered := func(v types.AttributeValue) bool { return slices.Contains([]string{"S", "N", "B"}, Type(v)) }
	if c.Operands != nil {
		return refusedOperands(c, ordered)
	}
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

// refusedOperands is Refused for a comparison of operands.
func refusedOperands(c expr.Cond, ordered func(types.AttributeValue) bool) bool {
	first := c.Operands[0]
	var bounds []types.AttributeValue
	for i, o := range c.Operands {
		switch {
		case i > 0 && first.Path != nil && !first.Size && !o.Size && slices.Equal(first.Path, o.Path):
			return true
		case o.Path != nil || c.Op == expr.Eq || c.Op == expr.Ne || c.Op == expr.In:
			continue
		case !ordered(o.Value):
			return true
		case i > 0:
			bounds = append(bounds, o.Value)
		}
	}
	if len(bounds) < 2 {
		return false
	}
	order, ok := compare(bounds[0], bounds[1])
	return !ok || order > 0
}
