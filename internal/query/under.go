package query

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Under returns the key condition for everything in s's table under the key fields of v: the partition key's, which must be
// set, and as many of the sort key's, from the left, as are set. With all of them it holds for the item and its satellites.
func Under(s *schema.Schema, v reflect.Value) (expr.Cond, error) {
	b := newBuilder(Source{Schema: s, PK: s.PK, SK: s.SK}, v, opt.Bounded{})
	if err := b.partition(); err != nil {
		return expr.Cond{}, err
	}
	if err := b.present(); err != nil {
		return expr.Cond{}, err
	}
	pk, err := b.fixed(s.PK)
	if err != nil {
		return expr.Cond{}, err
	}
	sk, err := b.sortCondition()
	if err != nil {
		return expr.Cond{}, err
	}
	if b.p.Nothing {
		return expr.Cond{}, b.fail(plan.CodeValue, nil, "the sort key is too long")
	}
	if h := s.SK; h != nil && h.Prefixed && s.Satellites > 0 && b.lead == len(h.Parts) {
		// Satellites continue with "#". No key of another item sorts between the item's and the same text with "$".
		text := sk.Values[0].(*types.AttributeValueMemberS).Value
		sk = expr.Compare(expr.Between, expr.Attr(h.Attr), item.S(text), item.S(text+"$"))
	}
	return flat(pk, sk), nil
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
