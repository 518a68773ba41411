package write

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

func queryItems(s *schema.Schema, table string, primary item.Item, sk expr.Cond) *dynamodb.QueryInput {
	pk := s.PK.Attribute()
	strong := true
	in := &dynamodb.QueryInput{TableName: &table, ConsistentRead: &strong}
	var e expr.Renderer
	cond := e.Cond(expr.All(expr.Compare(expr.Eq, expr.Attr(pk), primary[pk]), sk))
	in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = &cond, e.NameMap(), e.ValueMap()
	return in
}

// QueryRelated returns a consistent query of the related items under infix, ordered by sort key.
func QueryRelated(s *schema.Schema, table string, primary item.Item, infix string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(sk+infix)))
}

// QueryBetween returns a consistent query of the items between two suffixes of an item's sort key, both included. The
// suffix "" stands for the current item.
func QueryBetween(s *schema.Schema, table string, primary item.Item, from, to string) *dynamodb.QueryInput {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(sk+from), item.S(sk+to)))
}

// Reader reads stored items as they stand in the table, for [Open]. It retries reads that may succeed later.
type Reader interface {
	Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error)
	Query(ctx context.Context, in *dynamodb.QueryInput) (*dynamodb.QueryOutput, error)
}
