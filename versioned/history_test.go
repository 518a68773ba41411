package versioned_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/versioned"
)

type page struct {
	_         entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
	_         versioned.Retain
	ID        string    `dynamodbav:"id"`
	Text      string    `dynamodbav:"text"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// pages is a store in a database of its own, whose clock moves on by an hour with each reading.
func pages(t *testing.T, cfg entity.Config) (*dynamodb.Client, string, *entity.Store[page], time.Time) {
	t.Helper()
	client, table := localdb.Test(t)
	start := time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
	at := start
	cfg.Table, cfg.Clock = table, func() time.Time { at = at.Add(time.Hour); return at }
	db, err := entity.Open(client, cfg)
	require.NoError(t, err)
	s, err := entity.New[page](db)
	require.NoError(t, err)
	require.NoError(t, db.CreateTables(t.Context()))
	return client, table, s, start
}

func TestAt_AMissingStateIsErrVersionExpiredAndNotAnOlderOne(t *testing.T) {
	t.Parallel()
	client, table, s, start := pages(t, entity.Config{})
	h := entity.Must(versioned.Of(s))
	f := entity.Fields[page]()
	_, err := s.Create(t.Context(), page{ID: "p"})
	require.NoError(t, err)
	var written []time.Time
	for i := range 3 {
		v, err := s.Update(t.Context(), page{ID: "p"}, entity.Set(&f.Text, fmt.Sprint(i)))
		require.NoError(t, err)
		written = append(written, v.UpdatedAt)
	}
	str := func(v string) types.AttributeValue { return &types.AttributeValueMemberS{Value: v} }
	_, err = client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{
		"pk": str("$app#v1#page#p"), "sk": str("$app#v1#page#v#0000002"),
	}})
	require.NoError(t, err)
	_, err = h.At(t.Context(), page{ID: "p"}, written[0])
	require.ErrorIs(t, err, versioned.ErrVersionExpired)
	got, err := h.At(t.Context(), page{ID: "p"}, written[1])
	require.NoError(t, err)
	require.EqualValues(t, 3, got.Number)
	_, err = h.At(t.Context(), page{ID: "p"}, start)
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestGet_OfAnItemWhoseKeyDiffersInCaseIsRefused(t *testing.T) {
	t.Parallel()
	_, _, s, _ := pages(t, entity.Config{Namespace: entity.Namespace{Casing: entity.LowerCase}})
	_, err := s.Create(t.Context(), page{ID: "C-1"})
	require.NoError(t, err)
	_, err = entity.Must(versioned.Of(s)).Get(t.Context(), page{ID: "c-1"}, 1)
	require.ErrorIs(t, err, entity.ErrKeyCase)
}
