package engine

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
)

// keeping is a client that keeps the inputs of its reads, as one does that is still sending a second copy of a request when
// the first is answered.
type keeping struct {
	Client
	queries []*dynamodb.QueryInput
	scans   []*dynamodb.ScanInput
}

func (c *keeping) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	c.queries = append(c.queries, in)
	return &dynamodb.QueryOutput{}, nil
}

func (c *keeping) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	c.scans = append(c.scans, in)
	return &dynamodb.ScanOutput{}, nil
}

// Callers of ReadPage change the range from page to page.
func TestReads_TheNextPageDoesNotChangeARequestThatWasSent(t *testing.T) {
	t.Parallel()
	client := &keeping{}
	r := &Runner{Client: client, MaxAttempts: 1}
	query := &layout.Range{Table: "t", Key: expr.Compare(expr.Eq, expr.Attr("pk"), item.S("a"))}
	scan := &layout.Range{Table: "t"}
	for _, start := range []item.Item{nil, {"pk": item.S("a")}} {
		query.Start, scan.Start = start, start
		_, err := r.ReadPage(t.Context(), query)
		require.NoError(t, err)
		_, err = r.ReadPage(t.Context(), scan)
		require.NoError(t, err)
	}
	require.Nil(t, client.queries[0].ExclusiveStartKey)
	require.Nil(t, client.scans[0].ExclusiveStartKey)
	require.NotNil(t, client.queries[1].ExclusiveStartKey)
	require.NotNil(t, client.scans[1].ExclusiveStartKey)
}
