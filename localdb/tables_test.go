package localdb

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"
)

// held is a transport whose requests stay under way until they are released.
type held struct {
	mu      sync.Mutex
	arrived []string
	release chan struct{}
}

func (h *held) RoundTrip(req *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.arrived = append(h.arrived, strings.TrimPrefix(req.Header.Get("X-Amz-Target"), targetPrefix))
	h.mu.Unlock()
	<-h.release
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// seen returns the operations that have arrived, once all goroutines wait.
func (h *held) seen() []string {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string{}, h.arrived...)
}

// closed is a body that says whether it was closed.
type closed struct {
	strings.Reader
	yes bool
}

func (c *closed) Close() error { c.yes = true; return nil }

func TestTurns_ChangesOfTablesGoOneAfterTheOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &held{release: make(chan struct{})}
		order := newTurns(h)
		var all sync.WaitGroup
		send := func(ctx context.Context, operation string) {
			all.Go(func() {
				req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", strings.NewReader("{}"))
				if err == nil {
					req.Header.Set("X-Amz-Target", targetPrefix+operation)
					_, err = order.RoundTrip(req)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		send(t.Context(), "CreateTable")
		require.Equal(t, []string{"CreateTable"}, h.seen())
		send(t.Context(), "UpdateTable")
		require.Equal(t, []string{"CreateTable"}, h.seen(), "it waits")
		send(t.Context(), "PutItem")
		send(t.Context(), "DescribeTable")
		require.ElementsMatch(t, []string{"CreateTable", "PutItem", "DescribeTable"}, h.seen(), "these do not")

		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		body := &closed{}
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/", body)
		require.NoError(t, err)
		req.Header.Set("X-Amz-Target", targetPrefix+"DeleteTable")
		_, err = order.RoundTrip(req)
		require.ErrorIs(t, err, context.Canceled)
		require.True(t, body.yes)

		for range 3 {
			h.release <- struct{}{}
		}
		require.Equal(t, "UpdateTable", h.seen()[3])
		h.release <- struct{}{}
		all.Wait()
	})
}

// Without turns DynamoDB Local answers some of these requests with an InternalFailure. It may refuse others, because a table
// is still being changed or too many are.
func TestTest_TablesCanBeChangedInParallel(t *testing.T) {
	t.Parallel()
	client, table := Test(t, func(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} })
	answered := func(err error) {
		var api smithy.APIError
		if err != nil && (!errors.As(err, &api) || api.ErrorCode() == "InternalFailure") {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	for _, suffix := range strings.Fields("a b c d e f g h i j k l m n o p") {
		all.Go(func() {
			in := keyOnly(table + "-" + suffix)
			_, err := client.CreateTable(t.Context(), in)
			answered(err)
			_, err = client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
				TableName: in.TableName, AttributeDefinitions: in.AttributeDefinitions,
				GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{Create: &types.CreateGlobalSecondaryIndexAction{
					IndexName: aws.String("gsi1"), KeySchema: in.KeySchema, Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
				}}},
			})
			answered(err)
			_, err = client.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: in.TableName})
			answered(err)
			_, err = client.DeleteTable(t.Context(), &dynamodb.DeleteTableInput{TableName: in.TableName})
			answered(err)
		})
	}
	all.Wait()
}
