package calls_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
)

// weighing is a client without a network that notes the size of the last item it was given.
type weighing struct {
	answers
	bytes *int
}

func (w weighing) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	*w.bytes = item.Size(in.Item)
	return &dynamodb.PutItemOutput{}, nil
}

func (w weighing) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	*w.bytes = item.Size(in.TransactItems[0].Put.Item)
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func (w weighing) BatchWriteItem(_ context.Context, in *dynamodb.BatchWriteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.BatchWriteItemOutput, error) {
	*w.bytes = item.Size(in.RequestItems["app"][0].PutRequest.Item)
	return &dynamodb.BatchWriteItemOutput{}, nil
}

// The size that is counted while a value is encoded only saves work: the limit stays exact, with keys and hidden attributes.
func TestSize_TheLimitIsExact(t *testing.T) {
	t.Parallel()
	sent := 0
	db := entity.Must(entity.Open(weighing{bytes: &sent}, entity.Config{Table: "app"}))
	orders := entity.Must(entity.New[order](db))
	of := func(n int) order {
		note := strings.Repeat("x", n)
		return order{Customer: "c", Number: 7, State: "open", Due: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), Note: &note, Tags: []string{"a"}}
	}
	for name, write := range map[string]func(order) error{
		"Create":   func(o order) error { _, err := orders.Create(t.Context(), o); return err },
		"Transact": func(o order) error { return db.Transact(t.Context(), orders.Op().Create(o)) },
		"PutMany": func(o order) error {
			_, err := orders.PutMany(t.Context(), []order{o}, entity.Unconditional())
			return err
		},
	} {
		require.NoError(t, write(of(1)), name)
		require.NotZero(t, sent)
		fits := 1 + item.MaxBytes - sent
		require.NoError(t, write(of(fits)), name)
		assert.Equal(t, item.MaxBytes, sent, name)
		require.ErrorIs(t, write(of(fits+1)), entity.ErrTooLarge, name)
		assert.Equal(t, item.MaxBytes, sent, name)
	}
}
