package entity_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestVerify_AcceptsWhatCreateTablesMade(t *testing.T) {
	b := newBench(t, 0)
	require.NoError(t, b.db.Verify(t.Context()))
}

func TestVerify_NamesEachDifferenceOfEachTable(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	bare := b.table + "-bare"
	_, err := b.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &bare})
	require.NoError(t, err)
	name := "gsi1"
	_, err = b.client.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &b.table, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
		Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &name},
	}}})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		out, err := b.client.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.table})
		return err == nil && len(out.Table.GlobalSecondaryIndexes) == 0
	}, 5*time.Minute, 100*time.Millisecond)
	err = b.db.Verify(ctx)
	require.ErrorIs(t, err, entity.ErrNoTable)
	var differs *entity.SchemaError
	require.ErrorAs(t, err, &differs)
	require.Contains(t, differs.Problem, "gsi1")
	quiet := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	require.ErrorIs(t, quiet.Verify(ctx), entity.ErrNoClient)
}
