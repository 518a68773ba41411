package console

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// spent adds up what reads cost.
type spent struct {
	requests int
	units    float64
}

func (c *spent) add(capacity *types.ConsumedCapacity) {
	c.requests++
	if capacity != nil && capacity.CapacityUnits != nil {
		c.units += *capacity.CapacityUnits
	}
}

// again is the option of requests that may be applied twice. They are repeated after an answer that cannot be read, too, which the
// SDK does not do.
func again(o *dynamodb.Options) {
	if r, ok := o.Retryer.(aws.RetryerV2); ok {
		o.Retryer = repeating{r}
	}
}

type repeating struct{ aws.RetryerV2 }

// IsErrorRetryable implements aws.Retryer.
func (r repeating) IsErrorRetryable(err error) bool {
	var unreadable *smithy.DeserializationError
	return errors.As(err, &unreadable) || r.RetryerV2.IsErrorRetryable(err)
}

// get reads one item; nil if absent.
func (s *session) get(ctx context.Context, table string, key item.Item, cost *spent) (item.Item, error) {
	strong := true
	out, err := s.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: key, ConsistentRead: &strong, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}, again)
	if err != nil {
		return nil, s.failed("read an item of "+table, err)
	}
	cost.add(out.ConsumedCapacity)
	return out.Item, nil
}

// query yields the items of a query, to the end.
func (s *session) query(ctx context.Context, in *dynamodb.QueryInput, cost *spent) iter.Seq2[item.Item, error] {
	return func(yield func(item.Item, error) bool) {
		in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal
		for {
			out, err := s.client.Query(ctx, in, again)
			if err != nil {
				yield(nil, s.failed("query "+*in.TableName, err))
				return
			}
			cost.add(out.ConsumedCapacity)
			for _, it := range out.Items {
				if !yield(it, nil) {
					return
				}
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
				return
			}
		}
	}
}

// scan yields the pages of a table, to the end. It holds one page.
func (s *session) scan(ctx context.Context, table string, cost *spent) iter.Seq2[[]item.Item, error] {
	return func(yield func([]item.Item, error) bool) {
		strong, limit := true, int32(500)
		in := &dynamodb.ScanInput{TableName: &table, ConsistentRead: &strong, Limit: &limit, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
		for {
			out, err := s.client.Scan(ctx, in, again)
			if err != nil {
				yield(nil, s.failed("scan "+table, err))
				return
			}
			cost.add(out.ConsumedCapacity)
			if !yield(out.Items, nil) {
				return
			}
			if in.ExclusiveStartKey = out.LastEvaluatedKey; len(out.LastEvaluatedKey) == 0 {
				return
			}
		}
	}
}

// failed adds to an error what was tried. It names no keys.
func (s *session) failed(what string, err error) error {
	var missing *types.ResourceNotFoundException
	if errors.As(err, &missing) {
		return &requestError{what, errors.New("there is no such table or index" + engine.Place(s.client) + "; give --table, --region or --endpoint")}
	}
	return &requestError{what, err}
}

// requestError is a request that failed after the SDK's retries.
type requestError struct {
	what string
	err  error
}

func (e *requestError) Error() string { return e.what + ": " + e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// family is everything in the table that belongs to one current item.
type family struct {
	items []stored // current item, versions, deleted copies, events, sentinels; in this order, oldest first
	cost  spent
}

// family reads everything that belongs to the item with a primary key.
func (s *session) family(ctx context.Context, e *entityModel, primary item.Item) (f family, err error) {
	now := s.app.Clock()
	if e.s.SK == nil || e.s.SK.Attr == "" || !e.s.SK.Written() {
		it, err := s.get(ctx, e.table, primary, &f.cost)
		if it != nil {
			f.items = append(f.items, s.m.decode(e.table, it, now))
		}
		return f, err
	}
	ranges := []*layout.Range{layout.QueryRelated(e.s, e.table, primary, "")}
	for _, partition := range layout.EventPartitions(e.s, primary) {
		ranges = append(ranges, layout.QueryRelated(e.s, e.table, partition, schema.EventInfix))
	}
	for _, r := range ranges {
		for it, err := range s.query(ctx, engine.QueryInput(r), &f.cost) {
			if err != nil {
				return f, err
			}
			x := s.m.decode(e.table, it, now)
			if x.model == e && x.owner != nil && layout.KeyID(x.owner) == layout.KeyID(primary) {
				f.items = append(f.items, x)
			}
		}
	}
	if len(ranges) > 1 {
		slices.SortStableFunc(f.items, func(a, b stored) int { return cmp.Compare(sortText(a), sortText(b)) })
	}
	seen := map[string]bool{}
	for _, x := range slices.Clone(f.items) {
		if x.Kind != KindCurrent && x.Kind != KindDeleted {
			continue
		}
		for _, c := range e.uniques {
			text, missing, err := c.key.Compose(x.raw)
			if err != nil || len(missing) > 0 || seen[text] {
				continue
			}
			seen[text] = true
			key := item.Item{e.s.PK.Attr: item.S(text), e.s.SK.Attr: item.S(c.key.Prefix)}
			it, err := s.get(ctx, e.table, key, &f.cost)
			if err != nil {
				return f, err
			}
			if y := s.m.decode(e.table, it, now); it != nil && y.owner != nil && layout.KeyID(y.owner) == layout.KeyID(primary) {
				f.items = append(f.items, y)
			}
		}
	}
	return f, nil
}

// sortText returns the sort key of an item of a templated entity.
func sortText(x stored) string {
	text, _ := layout.SortKey(x.model.s, x.raw)
	return text
}

// of returns the items of a kind.
func (f family) of(k Kind) []stored {
	var all []stored
	for _, x := range f.items {
		if x.Kind == k {
			all = append(all, x)
		}
	}
	return all
}
