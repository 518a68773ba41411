package plan

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// orAbsent is out, a comparison with the values of c, such that a value which a write would not store at n, but leave
// out, is equal to an absent attribute and to any empty one. So is an empty list or map where nil is left out.
func orAbsent(s *schema.Schema, n *schema.Node, c opt.Cond, out expr.Cond) (expr.Cond, error) {
	if out.Op != expr.Eq && out.Op != expr.Ne && out.Op != expr.In {
		return out, nil
	}
	if !slices.ContainsFunc(c.Values, func(v any) bool { return leftOut(s, n, v) }) {
		return out, nil
	}
	in := expr.Cond{Op: expr.In, Path: out.Path}
	for _, av := range append(out.Values, emptyValues(n)...) {
		same := func(x types.AttributeValue) bool { return item.Equal(x, av) }
		if !emptySet(av) && !slices.ContainsFunc(in.Values, same) {
			in.Values = append(in.Values, av)
		}
	}
	var parts []expr.Cond
	for values := range slices.Chunk(in.Values, maxInValues) {
		parts = append(parts, expr.Compare(expr.In, out.Path, values...))
	}
	equal := expr.Any(append([]expr.Cond{expr.Compare(expr.NotExists, out.Path)}, parts...)...)
	if out.Op == expr.Ne {
		return expr.Negate(equal), nil
	}
	return equal, nil
}

// leftOut reports that a write of v to n would leave the attribute absent, or that v is as empty as what it leaves out.
func leftOut(s *schema.Schema, n *schema.Node, v any) bool {
	av, err := encode(s, n, v, false)
	if err != nil || av == nil {
		return err == nil
	}
	k := n.Type.Kind()
	return n.Tag.OmitEmpty && (k == reflect.Slice || k == reflect.Map) && item.Empty(av) || n.Top && item.Absent(av) && nativeIndexPart(s, n.Attr)
}

// emptyValues are what may be stored at n beside an empty value of n itself: NULL, as which a field without omitempty
// stores nil, and the empty collection.
func emptyValues(n *schema.Node) []types.AttributeValue {
	values := []types.AttributeValue{&types.AttributeValueMemberNULL{Value: true}}
	switch t := n.Type; t.Kind() {
	case reflect.Map:
		values = append(values, &types.AttributeValueMemberM{Value: item.Item{}})
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return append(values, &types.AttributeValueMemberB{Value: []byte{}})
		}
		values = append(values, &types.AttributeValueMemberL{Value: []types.AttributeValue{}})
	}
	return values
}

// emptySet reports that av is a set without elements, which DynamoDB does not have.
func emptySet(av types.AttributeValue) bool {
	switch av.(type) {
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS, *types.AttributeValueMemberBS:
		return item.Empty(av)
	}
	return false
}
