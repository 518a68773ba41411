package lifecycle_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Note is kept for 90 seconds after it was deleted.
type Note struct {
	_    entity.Key           `name:"Note" pk:"$#{id}" sk:"$"`
	_    lifecycle.SoftDelete `ttl:"1m30s"`
	ID   string               `dynamodbav:"id"`
	Text string               `dynamodbav:"text,omitempty"`
}

// A comparable library leaves expired items visible and restorable, writes fractions of seconds, and never enables time to
// live on the table.
func TestSoftDelete_CopiesExpireAtWholeSecondsAndAreThenGone(t *testing.T) {
	t.Parallel()
	h, s := turn[Note](t)
	bin, err := lifecycle.Of(s)
	require.NoError(t, err)
	_, err = s.Create(t.Context(), Note{ID: "n", Text: "old"})
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), Note{ID: "n"}))
	require.Equal(t, strconv.FormatInt(hour0.Unix()+90, 10), h.end(t, "_ttl"))
	out, err := h.raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &h.table})
	require.NoError(t, err)
	require.Equal(t, types.TimeToLiveStatusEnabled, out.TimeToLiveDescription.TimeToLiveStatus)

	h.run(89 * time.Second)
	_, err = bin.Get(t.Context(), Note{ID: "n"})
	require.NoError(t, err)
	h.run(time.Second)
	_, err = bin.Get(t.Context(), Note{ID: "n"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	n, err := bin.List(Note{ID: "n"}).Count(t.Context())
	require.NoError(t, err)
	require.Zero(t, n)
	_, err = bin.Restore(t.Context(), Note{ID: "n"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Len(t, h.items(t), 1, "DynamoDB has not removed it yet")
	_, err = s.Update(t.Context(), Note{ID: "n"}, entity.Set(&entity.Fields[Note]().Text, "new"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrDeleted)
}
