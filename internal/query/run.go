package query

import (
	"context"
	"iter"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
)

// mostEvaluated bounds how many items one request evaluates when only some of them are wanted.
const mostEvaluated = 1000

// request is one page's request.
func (p *Plan) request(start item.Item, limit int) *dynamodb.QueryInput {
	var r expr.Renderer
	in := &dynamodb.QueryInput{
		TableName: &p.Table, ExclusiveStartKey: start,
		KeyConditionExpression: text(r.Cond(p.Key)),
		FilterExpression:       text(r.Cond(p.filter(p.Runner.Clock()))),
	}
	in.ExpressionAttributeNames, in.ExpressionAttributeValues = r.Names, r.Values
	if p.Index != nil {
		in.IndexName = &p.Index.Index
	}
	if p.Desc {
		forward := false
		in.ScanIndexForward = &forward
	}
	if p.Strong {
		in.ConsistentRead = &p.Strong
	}
	if limit > 0 {
		n := int32(limit)
		in.Limit = &n
	}
	return in
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Page is a part of a query's result. Next is the cursor of the following one, "" after the last.
type Page struct {
	Items []item.Item
	Next  string
}

// Page reads up to limit items after the cursor; limit 0 is as many as one request gives, but at least one if there is
// any.
func (p *Plan) Page(ctx context.Context, after string, limit int) (Page, error) {
	if p.Err != nil {
		return Page{}, p.Err
	}
	start, err := p.position(after)
	if err != nil || p.Nothing {
		return Page{}, err
	}
	var page Page
	ask := p.firstAsk(limit)
	for {
		out, err := p.Runner.Query(ctx, p.request(start, ask))
		if err != nil {
			return Page{}, err
		}
		page.Items = append(page.Items, out.Items...)
		start = out.LastEvaluatedKey
		if limit > 0 && len(page.Items) >= limit {
			more := len(page.Items) > limit || start != nil
			page.Items = page.Items[:limit]
			return p.finish(page, more)
		}
		if start == nil {
			return page, nil
		}
		if limit == 0 && len(page.Items) > 0 {
			return p.finish(page, true)
		}
		ask = min(ask*2, mostEvaluated)
	}
}

// firstAsk is how many items the first request evaluates. With a filter most of them may fall away, and asking for
// just limit items each time would cost a request for every few that match.
func (p *Plan) firstAsk(limit int) int {
	if limit == 0 {
		return 0
	}
	if p.User.Op != expr.None {
		limit = max(limit, 25)
	}
	return min(limit, mostEvaluated)
}

func (p *Plan) finish(page Page, more bool) (Page, error) {
	if !more {
		return page, nil
	}
	next, err := p.cursorAfter(page.Items[len(page.Items)-1])
	page.Next = next
	return page, err
}

// All yields every item, at most Limit of them; it stops at the first error.
func (p *Plan) All(ctx context.Context) iter.Seq2[item.Item, error] {
	return func(yield func(item.Item, error) bool) {
		left, cursor := p.Limit, ""
		for {
			page, err := p.Page(ctx, cursor, left)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, it := range page.Items {
				if !yield(it, nil) {
					return
				}
			}
			cursor = page.Next
			if cursor == "" || p.Limit > 0 && len(page.Items) >= left {
				return
			}
			if p.Limit > 0 {
				left -= len(page.Items)
			}
		}
	}
}

// Count counts the items without returning them, at most Limit.
func (p *Plan) Count(ctx context.Context) (int, error) {
	if p.Err != nil || p.Nothing {
		return 0, p.Err
	}
	total, start := 0, item.Item(nil)
	for {
		in := p.request(start, 0)
		in.Select = types.SelectCount
		out, err := p.Runner.Query(ctx, in)
		if err != nil {
			return 0, err
		}
		total += int(out.Count)
		if p.Limit > 0 && total >= p.Limit {
			return p.Limit, nil
		}
		if start = out.LastEvaluatedKey; start == nil {
			return total, nil
		}
	}
}
