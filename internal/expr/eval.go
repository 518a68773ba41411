package expr

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Holds evaluates c on it as DynamoDB would; see [Cond.DatabaseOnly] for the exceptions. A nil item has no attributes.
func (c Cond) Holds(it item.Item) bool {
	switch c.Op {
	case None:
		return true
	case And:
		return !slices.ContainsFunc(c.Conds, func(k Cond) bool { return !k.Holds(it) })
	case Or:
		return slices.ContainsFunc(c.Conds, func(k Cond) bool { return k.Holds(it) })
	case Not:
		return !c.Conds[0].Holds(it)
	}
	if c.Operands != nil {
		return c.compareOperands(it)
	}
	av, there := c.Path.Lookup(it)
	switch {
	case c.Op == Exists:
		return there
	case c.Op == NotExists:
		return !there
	case c.Op == Ne:
		return !there || !item.Equal(av, c.Values[0])
	case !there:
		return false
	}
	return c.compare(av)
}

// OnNone evaluates c without an item, where every attribute is absent. known is false if that depends on what only DynamoDB
// evaluates, see [Cond.DatabaseOnly].
func (c Cond) OnNone() (holds, known bool) {
	switch {
	case c.Op == Not:
		holds, known = c.Conds[0].OnNone()
		return !holds, known
	case c.Op == And || c.Op == Or:
		known = true
		for _, k := range c.Conds {
			one, sure := k.OnNone()
			if sure && one == (c.Op == Or) {
				return one, true
			}
			known = known && sure
		}
		return c.Op == And, known
	}
	return c.Holds(nil), c.Operands == nil
}

// compareOperands evaluates a comparison of operands, any of which may be absent.
func (c Cond) compareOperands(it item.Item) bool {
	first := c.Operands[0].in(it)
	var others []types.AttributeValue
	for _, o := range c.Operands[1:] {
		if v := o.in(it); v != nil {
			others = append(others, v)
		}
	}
	whole := first != nil && (len(others) == len(c.Operands)-1 || c.Op == In)
	if c.Op == Ne {
		return !whole || !item.Equal(first, others[0])
	}
	return whole && Cond{Op: c.Op, Values: others}.compare(first)
}

// in returns the value of o on an item, nil where it is absent.
func (o Operand) in(it item.Item) types.AttributeValue {
	if o.Path == nil {
		return o.Value
	}
	av, _ := o.Path.Lookup(it)
	if !o.Size {
		return av
	}
	n := 0
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		n = len(utf16.Encode([]rune(v.Value)))
	case *types.AttributeValueMemberB:
		n = len(v.Value)
	case *types.AttributeValueMemberSS:
		n = len(v.Value)
	case *types.AttributeValueMemberNS:
		n = len(v.Value)
	case *types.AttributeValueMemberBS:
		n = len(v.Value)
	case *types.AttributeValueMemberL:
		n = len(v.Value)
	case *types.AttributeValueMemberM:
		n = len(v.Value)
	default:
		return nil
	}
	return item.N(strconv.Itoa(n))
}

// compare evaluates a comparison of av, which is not nil.
func (c Cond) compare(av types.AttributeValue) bool {
	switch c.Op {
	case Eq, In:
		return slices.ContainsFunc(c.Values, func(v types.AttributeValue) bool { return item.Equal(av, v) })
	case BeginsWith:
		return beginsWith(av, c.Values[0])
	case Contains:
		return contains(av, c.Values[0])
	case HasType:
		name, ok := c.Values[0].(*types.AttributeValueMemberS)
		return ok && name.Value == item.TypeName(av)
	}
	low, ok := Compares(av, c.Values[0])
	if !ok {
		return false
	}
	switch c.Op {
	case Lt:
		return low < 0
	case Le:
		return low <= 0
	case Gt:
		return low > 0
	case Ge:
		return low >= 0
	case Between:
		high, ok := Compares(av, c.Values[1])
		return ok && low >= 0 && high <= 0
	}
	return false
}

func beginsWith(av, prefix types.AttributeValue) bool {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		p, ok := prefix.(*types.AttributeValueMemberS)
		return ok && strings.HasPrefix(v.Value, p.Value)
	case *types.AttributeValueMemberB:
		p, ok := prefix.(*types.AttributeValueMemberB)
		return ok && bytes.HasPrefix(v.Value, p.Value)
	}
	return false
}

// contains reports whether e is a part of a text or binary, or an element of a set or list.
func contains(av, e types.AttributeValue) bool {
	among := func(elements []types.AttributeValue) bool {
		return slices.ContainsFunc(elements, func(x types.AttributeValue) bool { return item.Equal(x, e) })
	}
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		part, ok := e.(*types.AttributeValueMemberS)
		return ok && strings.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberB:
		part, ok := e.(*types.AttributeValueMemberB)
		return ok && bytes.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberL:
		return among(v.Value)
	case *types.AttributeValueMemberSS:
		part, ok := e.(*types.AttributeValueMemberS)
		return ok && slices.Contains(v.Value, part.Value)
	case *types.AttributeValueMemberNS:
		return slices.ContainsFunc(v.Value, func(n string) bool { return item.Equal(item.N(n), e) })
	case *types.AttributeValueMemberBS:
		part, ok := e.(*types.AttributeValueMemberB)
		return ok && slices.ContainsFunc(v.Value, func(b []byte) bool { return bytes.Equal(b, part.Value) })
	}
	return false
}

// Compares orders two strings, numbers or binaries as DynamoDB does. ok is false for any other pair.
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
