package calls_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// DynamoDB counts in 32 bits: a larger number would arrive as another one.
func TestBounds_BeyondWhatDynamoDBCountsAreMistakes(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"})) // without a client: there are no requests
	s := entity.Must(entity.New[Kept](db))
	large := math.MaxInt32
	above := large
	above++ // negative where int has 32 bits
	verify := func(o migrate.PassOption) error {
		return dbtest.ErrorOf(migrate.VerifyUnique(t.Context(), entity.Must(unique.Of(s, "email")), o))
	}
	for name, option := range map[string]func(int) entity.ScanOption{
		"Limit":        func(n int) entity.ScanOption { return entity.Limit(n) },
		"MaxEvaluated": func(n int) entity.ScanOption { return entity.MaxEvaluated(n) },
		"MaxRequests":  func(n int) entity.ScanOption { return entity.MaxRequests(n) },
		"Segments":     func(n int) entity.ScanOption { return entity.Segments(n) },
	} {
		for _, n := range []int{math.MinInt, -1, 0, above, math.MaxInt} {
			var input *entity.InputError
			_, err := s.Scan(option(n)).Page(t.Context(), "")
			require.ErrorAs(t, err, &input, "%s(%d)", name, n)
			require.Equal(t, "EDD-9108", input.Code)
			var plans []interface{ String() string }
			if o, ok := option(n).(migrate.PassOption); ok {
				require.ErrorAs(t, verify(o), &input, "%s(%d)", name, n)
			}
			if o, ok := option(n).(entity.QueryOption); ok {
				plans = append(plans, s.Query(Kept{ID: "a"}, o))
			}
			if o, ok := option(n).(lifecycle.ListOption); ok {
				plans = append(plans, entity.Must(lifecycle.Of(s)).List(Kept{ID: "a"}, o))
			}
			if o, ok := option(n).(versioned.ListOption); ok {
				plans = append(plans, entity.Must(versioned.Of(s)).List(Kept{ID: "a"}, o))
			}
			for _, p := range plans {
				require.Contains(t, p.String(), "EDD-9108", "%s(%d)", name, n)
			}
		}
		if name != "Segments" {
			_, err := s.Scan(option(large)).Page(t.Context(), "")
			require.ErrorIs(t, err, entity.ErrNoClient, name)
		}
	}
}

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
