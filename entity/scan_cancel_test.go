package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// endless is a table whose scans never end.
type endless struct{ entity.Client }

func (endless) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	it := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "w"}}
	return &dynamodb.ScanOutput{Items: []map[string]types.AttributeValue{it}, Count: 1, ScannedCount: 1, LastEvaluatedKey: it}, nil
}

// TestSegments_ScanWhoseContextEndsNeverLooksWhole ends the context while every segment waits for its answer to be taken.
func TestSegments_ScanWhoseContextEndsNeverLooksWhole(t *testing.T) {
	t.Parallel()
	db, err := entity.Open(endless{}, entity.Config{Table: "t"})
	require.NoError(t, err)
	s, err := entity.New[Wide](db)
	require.NoError(t, err)
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		for _, err := range s.Scan(entity.Segments(2)).All(ctx) {
			last = err
			cancel()
			time.Sleep(time.Millisecond)
		}
		require.ErrorIs(t, last, context.Canceled)
		cancel()
	}
}
