package exec_test

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// hedging is a client that sends each request twice and returns the answer to one of them. The other is still being written
// then: it reads its input whenever it likes.
type hedging struct {
	*dynamodb.Client
	losers sync.WaitGroup
	ended  atomic.Bool
	tables []*string // of writes
}

// lose reads an input on a goroutine of its own until all calls have ended. Package fmt would hide a race, because it shares
// memory between goroutines.
func (h *hedging) lose(read func() int) {
	h.losers.Go(func() {
		for read() > 0 && !h.ended.Load() {
			runtime.Gosched()
		}
	})
}

func textsIn(texts ...*string) (n int) {
	for _, text := range texts {
		if text != nil {
			n += len(*text)
		}
	}
	return n
}

func valuesIn(items ...dbtest.Item) (n int) {
	for _, it := range items {
		for name, av := range it {
			n += len(name) + len(dbtest.Text(av))
		}
	}
	return n
}

func (h *hedging) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	h.lose(func() int { return textsIn(in.TableName) + valuesIn(in.Key) + len(in.ReturnConsumedCapacity) })
	return h.Client.GetItem(ctx, in, opts...)
}

func (h *hedging) PutItem(ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	h.lose(func() int {
		return textsIn(in.TableName, in.ConditionExpression) + len(in.ExpressionAttributeNames) + valuesIn(in.Item, in.ExpressionAttributeValues)
	})
	h.tables = append(h.tables, in.TableName)
	return h.Client.PutItem(ctx, in, opts...)
}

func (h *hedging) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	h.lose(func() (n int) {
		for _, x := range in.TransactItems {
			n += textsIn(x.Put.TableName, x.Put.ConditionExpression) + valuesIn(x.Put.Item, x.Put.ExpressionAttributeValues)
		}
		return n
	})
	for _, x := range in.TransactItems {
		h.tables = append(h.tables, x.Put.TableName)
	}
	return h.Client.TransactWriteItems(ctx, in, opts...)
}

func (h *hedging) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	h.lose(func() int {
		return textsIn(in.TableName, in.KeyConditionExpression) + len(in.ReturnConsumedCapacity) + valuesIn(in.ExclusiveStartKey, in.ExpressionAttributeValues)
	})
	return h.Client.Query(ctx, in, opts...)
}

// What a client was given stays as it is, also after the call: the client may still be sending it. So no two requests have
// memory in common that a plan writes; the race detector sees other writes.
func TestHedging_NothingThatWasSentIsWrittenAgain(t *testing.T) {
	for name, opts := range map[string][]entity.WriteOption{"alone": nil, "in a transaction": {entity.Idempotent()}} {
		t.Run(name, func(t *testing.T) {
			var client *hedging
			s := newShop(t, func(c entity.Client) entity.Client {
				client = &hedging{Client: c.(*dynamodb.Client)}
				return client
			})
			s.create(Order{ID: "o"})
			calls := 0
			_, err := s.orders.Modify(s.Ctx, Order{ID: "o"}, func(o *Order) error {
				if calls++; calls < 3 { // the guard is lost twice
					_, err := s.others.orders.Update(s.Ctx, Order{ID: "o"}, entity.Add(&s.f.Count, 1))
					require.NoError(t, err)
				}
				o.Note = "x"
				return nil
			}, opts...)
			require.NoError(t, err)
			require.Equal(t, 3, calls)
			entity.Must(s.others.kept.Create(s.Ctx, Kept{ID: "k"}))
			_, err = s.kept.Modify(s.Ctx, Kept{ID: "k"}, func(k *Kept) error {
				if calls++; calls < 6 {
					entity.Must(s.others.kept.Put(s.Ctx, Kept{ID: "k"}))
				}
				k.Name += "x"
				return nil
			}, opts...)
			require.NoError(t, err)
			require.Len(t, dbtest.Pages(t, s.orders.Query(Order{ID: "o"}, entity.Limit(1)))[0], 1)
			client.ended.Store(true)
			client.losers.Wait()
			require.Greater(t, len(client.tables), 5)
			for i, table := range client.tables {
				require.False(t, slices.Contains(client.tables[i+1:], table), "request %d", i)
			}
		})
	}
}
