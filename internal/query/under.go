package query

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Under returns the key condition for everything in s's table under the key fields of v: the partition key's, which must be
// set, and as many of the sort key's, from the left, as are set. With all of them it holds for the item and its satellites.
func Under(s *schema.Schema, v reflect.Value) (expr.Cond, error) {
	b := &builder{p: &Plan{Source: Source{Schema: s, PK: s.PK, SK: s.SK}}, s: s, v: v, given: item.Item{}}
	if err := b.partition(); err != nil {
		return expr.Cond{}, err
	}
	if err := b.present(); err != nil {
		return expr.Cond{}, err
	}
	if err := b.keyCondition(); err != nil {
		return expr.Cond{}, err
	}
	if b.p.Nothing {
		return expr.Cond{}, b.fail(plan.CodeValue, nil, "the sort key is too long")
	}
	if h := s.SK; h != nil && h.Prefixed && s.Satellites > 0 && b.lead == len(h.Parts) {
		// Satellites go on with a "#", and no key of another item sorts between it and the "$" that follows it.
		text := b.p.Sort.Values[0].(*types.AttributeValueMemberS).Value
		return flat(b.p.Partition, expr.Compare(expr.Between, expr.Attr(h.Attr), item.S(text), item.S(text+"$"))), nil
	}
	return b.p.Key, nil
}

// present takes the leading sort-key parts that are set in v.
func (b *builder) present() error {
	if b.p.SK == nil {
		return nil
	}
	for _, a := range b.p.SK.Parts {
		av, err := plan.EncodeAttr(b.s, a, b.v)
		if err != nil {
			return err
		}
		if plan.Present(b.s, a, av) != nil {
			return nil
		}
		b.given[a.Name] = av
		b.lead++
	}
	return nil
}
