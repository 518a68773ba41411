package lifecycle_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/versioned"
)

// Cased has lower-case keys, a history and a bin.
type Cased struct {
	_       entity.Key           `name:"Cased" pk:"$#{id}" sk:"$"`
	_       versioned.Retain     `ttl:"90d"`
	_       lifecycle.SoftDelete `ttl:"30d"`
	ID      string               `dynamodbav:"id"`
	Name    string               `dynamodbav:"name"`
	Version int64                `dynamodbav:"version" entity:"version"`
}

func TestKeyCase_NothingOfADeletedItemIsTakenForThatOfAnother(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table, Namespace: entity.Namespace{Casing: entity.LowerCase}}))
	store := entity.Must(entity.New[Cased](db))
	bin, history := entity.Must(lifecycle.Of(store)), entity.Must(versioned.Of(store))
	require.NoError(t, db.CreateTables(t.Context()))
	ctx, own, other := t.Context(), Cased{ID: "C-1"}, Cased{ID: "c-1"}
	_, err := store.Create(ctx, Cased{ID: "C-1", Name: "x"})
	require.NoError(t, err)
	_, err = store.Update(ctx, other, entity.Set(&entity.Fields[Cased]().Name, "y"))
	require.ErrorIs(t, err, entity.ErrKeyCase)
	require.ErrorIs(t, store.Delete(ctx, other), entity.ErrKeyCase)
	require.NoError(t, store.Delete(ctx, own))
	_, err = bin.Restore(ctx, other)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	_, err = bin.Get(ctx, other)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	_, err = history.Get(ctx, other, 1)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	_, err = history.List(other).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	require.ErrorIs(t, store.Purge(ctx, other), entity.ErrKeyCase)
	got, err := bin.Restore(ctx, own)
	require.NoError(t, err)
	require.Equal(t, "C-1", got.ID)
	require.EqualValues(t, 3, got.Version)
	_, err = history.Get(ctx, other, 1)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	require.NoError(t, store.Delete(ctx, own))
	copied, err := bin.Get(ctx, own)
	require.NoError(t, err)
	_, err = client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "$app#v1#cased#c-1"},
		"sk": &types.AttributeValueMemberS{Value: "$app#v1#cased#deleted#" + copied.DeletedAt.Format("2006-01-02T15:04:05.000000000Z")},
	}})
	require.NoError(t, err)
	_, err = history.Get(ctx, other, 1)
	require.ErrorIs(t, err, entity.ErrKeyCase, "of which there are snapshots alone")
	_, err = history.List(other).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrKeyCase)
	require.NoError(t, store.Purge(ctx, own))
	_, err = store.Create(ctx, other)
	require.NoError(t, err)
}
