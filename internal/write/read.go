package write

import (
	"context"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Range is what one request reads of a partition or, without Key, of a whole table or index.
type Range struct {
	Table    string
	Index    string    // "" for the table itself
	Key      expr.Cond // on the partition key and the sort key
	Filter   expr.Cond
	Project  []string  // attributes to return; nil: all
	Count    bool      // return no items
	Start    item.Item // where the page before ended; nil for the first page
	Limit    int       // how many items to evaluate; 0: as many as an answer holds
	Strong   bool
	Desc     bool
	Segment  int  // of Segments, to be scanned
	Segments int  // 0: the whole
	Units    bool // return the consumed capacity
}

// Page is the answer to one request for a Range.
type Page struct {
	Rows      []wire.Item // to be released
	Count     int         // items that passed the filter
	Evaluated int         // items that were read and charged
	Last      item.Item   // where the next page starts; nil after the last
	Units     float64     // read units, if the range asked for them
}

// Items returns the rows as attribute values and releases them.
func (p Page) Items() []item.Item { return wire.DetachAll(p.Rows) }

// request is a query with what it points to.
type request struct {
	dynamodb.QueryInput
	table, index, key, filter, project string
	limit                              int32
	strong, forward                    bool
}

// Query returns the input of the request that reads a range with a Key; without its expressions and where it starts unless whole is
// set. It does not point into g.
func (g *Range) Query(whole bool) *dynamodb.QueryInput {
	var e expr.Renderer
	in := &request{table: g.Table, index: g.Index, limit: int32(g.Limit), strong: g.Strong}
	in.TableName = &in.table
	if g.Index != "" {
		in.IndexName = &in.index
	}
	if g.Limit > 0 {
		in.Limit = &in.limit
	}
	if g.Strong {
		in.ConsistentRead = &in.strong
	}
	if g.Desc {
		in.ScanIndexForward = &in.forward
	}
	if g.Count {
		in.Select = types.SelectCount
	}
	if g.Units {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
	}
	if !whole {
		return &in.QueryInput
	}
	if g.Key.Op != expr.None {
		in.key = e.Cond(g.Key)
		in.KeyConditionExpression = &in.key
	}
	if g.Filter.Op != expr.None {
		in.filter = e.Cond(g.Filter)
		in.FilterExpression = &in.filter
	}
	if g.Project != nil {
		in.project = e.Project(g.Project)
		in.ProjectionExpression = &in.project
	}
	in.ExclusiveStartKey = maps.Clone(g.Start)
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = e.NameMap(), e.ValueMap()
	return &in.QueryInput
}

// Scan is [Range.Query] for a range without a Key.
func (g *Range) Scan(whole bool) *dynamodb.ScanInput {
	q := g.Query(whole)
	in := &dynamodb.ScanInput{
		TableName: q.TableName, IndexName: q.IndexName, ExclusiveStartKey: q.ExclusiveStartKey, FilterExpression: q.FilterExpression,
		ProjectionExpression: q.ProjectionExpression, Limit: q.Limit, ConsistentRead: q.ConsistentRead, Select: q.Select,
		ReturnConsumedCapacity:   q.ReturnConsumedCapacity,
		ExpressionAttributeNames: q.ExpressionAttributeNames, ExpressionAttributeValues: q.ExpressionAttributeValues,
	}
	if g.Segments > 0 {
		number, all := int32(g.Segment), int32(g.Segments)
		in.Segment, in.TotalSegments = &number, &all
	}
	return in
}

func queryItems(s *schema.Schema, table string, primary item.Item, sk expr.Cond) *Range {
	pk := s.PK.Attribute()
	return &Range{Table: table, Strong: true, Key: expr.All(expr.Compare(expr.Eq, expr.Attr(pk), primary[pk]), sk)}
}

// QueryRelated returns a consistent query of the related items under infix, ordered by sort key.
func QueryRelated(s *schema.Schema, table string, primary item.Item, infix string) *Range {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.BeginsWith, expr.Attr(s.SK.Attr), item.S(sk+infix)))
}

// QueryBetween returns a consistent query of the items between two suffixes of an item's sort key, both included. The
// suffix "" stands for the current item.
func QueryBetween(s *schema.Schema, table string, primary item.Item, from, to string) *Range {
	sk, _ := SortKey(s, primary)
	return queryItems(s, table, primary, expr.Compare(expr.Between, expr.Attr(s.SK.Attr), item.S(sk+from), item.S(sk+to)))
}

// Reader reads stored items as they stand in the table, for [Open]. It retries reads that may succeed later.
type Reader interface {
	Get(ctx context.Context, table string, key item.Item, consistent bool) (item.Item, error)
	ReadPage(ctx context.Context, in *Range) (Page, error)
}
