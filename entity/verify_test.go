package entity_test

import (
	"context"
	"errors"
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
	_, err := b.raw.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &bare})
	require.NoError(t, err)
	name := "gsi1"
	_, err = b.raw.UpdateTable(ctx, &dynamodb.UpdateTableInput{TableName: &b.table, GlobalSecondaryIndexUpdates: []types.GlobalSecondaryIndexUpdate{{
		Delete: &types.DeleteGlobalSecondaryIndexAction{IndexName: &name},
	}}})
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		out, err := b.raw.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &b.table})
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

// The bare table has none of what the declarations of the second program need, and another table is missing.
func TestVerify_FindsEveryDifferenceOfEveryTable(t *testing.T) {
	t.Parallel()
	l, _ := open[Unfollowed](t)
	l.cfg.Tables = map[string]string{"logs": l.table + "-logs"}
	equipped(&l.cfg)
	l.cfg.TableOptions[""] = entity.TableOptions{DeletionProtection: true, PointInTimeRecovery: true, Provisioned: &entity.Throughput{Read: 3, Write: 4}}
	db := l.aside(t)
	declare[Followed](t, db)
	declare[Pass](t, db)
	declare[LogEntry](t, db)
	before := l.described(t, l.table)
	err := db.Verify(t.Context())
	var found *entity.VerifyError
	require.ErrorAs(t, err, &found)
	require.Len(t, found.Tables, 2)
	require.Equal(t, l.table, found.Tables[0].Table)
	require.Equal(t, []entity.Drift{
		{Kind: entity.MissingIndex, Index: "gsi1", Need: "the global index gsi1: gsi1pk (S) HASH"},
		{Kind: entity.MissingIndex, Index: "gsi2", Need: "the global index gsi2: gsi2pk (S) HASH"},
		{Kind: entity.DifferentStream, Need: "NEW_AND_OLD_IMAGES"},
		{Kind: entity.DifferentTTL, Need: "_ttl"},
		{Kind: entity.DifferentRecovery, Need: "on", Has: "a database without it"},
		{Kind: entity.DifferentDeletion, Need: "on", Has: "off"},
		{Kind: entity.DifferentBilling, Need: "PROVISIONED", Has: "PAY_PER_REQUEST"},
	}, found.Tables[0].Differences)
	require.Equal(t, `EDD-9049 table `+l.table+` differs from the declarations:
  index: needs the global index gsi1: gsi1pk (S) HASH, has none
  index: needs the global index gsi2: gsi2pk (S) HASH, has none
  stream: needs NEW_AND_OLD_IMAGES, has none
  time to live: needs _ttl, has none
  point-in-time recovery: needs on, has a database without it
  deletion protection: needs on, has off
  billing: needs PROVISIONED, has PAY_PER_REQUEST`, found.Tables[0].Error())
	require.Equal(t, l.table+"-logs", found.Tables[1].Table)
	require.ErrorIs(t, found.Tables[1], entity.ErrNoTable)
	require.ErrorIs(t, err, entity.ErrNoTable)
	var mistake *entity.SchemaError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9049", mistake.Code)
	require.Equal(t, before, l.described(t, l.table), "nothing is changed")
}

func TestVerify_ComparesUnitsOfTablesAndIndexes(t *testing.T) {
	t.Parallel()
	l := newLab(t, equipped)
	declare[Followed](t, l.db)
	unprotect(t, l)
	l.create(t)
	l.cfg.TableOptions = map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 3, Write: 9}}}
	db := l.aside(t)
	declare[Followed](t, db)
	var found *entity.VerifyError
	require.ErrorAs(t, db.Verify(t.Context()), &found)
	require.Equal(t, []entity.Drift{
		{Kind: entity.DifferentThroughput, Need: "3 read, 9 write units", Has: "3 read, 4 write units"},
		{Kind: entity.DifferentThroughput, Index: "gsi1", Need: "3 read, 9 write units", Has: "3 read, 4 write units"},
		{Kind: entity.DifferentThroughput, Index: "gsi2", Need: "3 read, 9 write units", Has: "5 read, 6 write units"},
	}, found.Tables[0].Differences)
	require.Contains(t, found.Error(), "throughput of gsi2: needs 3 read, 9 write units, has 5 read, 6 write units")
	require.NoError(t, db.CreateTables(t.Context()), "a running program does not stop for what only costs")
	l.cfg.TableOptions = nil
	plain := l.aside(t)
	declare[Followed](t, plain)
	require.NoError(t, plain.Verify(t.Context()), "what nobody asked for does not matter")
}

func TestCreateTables_DoesNotChangeTheStreamOfATableThatIsThere(t *testing.T) {
	t.Parallel()
	l, _ := open[Unfollowed](t)
	type Reader struct {
		_ entity.Key `name:"Reader" pk:"$#{id}" sk:"$" stream:"old"`

		ID string `dynamodbav:"id"`
	}
	db := l.aside(t)
	declare[Reader](t, db)
	err := db.CreateTables(t.Context())
	var differs *entity.TableError
	require.ErrorAs(t, err, &differs)
	require.Equal(t, []entity.Drift{{Kind: entity.DifferentStream, Need: "OLD_IMAGE"}}, differs.Differences)
	require.Nil(t, l.described(t, l.table).StreamSpecification)

	rich := newLab(t)
	declare[Followed](t, rich.db)
	rich.create(t)
	db = rich.aside(t)
	declare[Reader](t, db)
	require.NoError(t, db.CreateTables(t.Context()), "both images have the old one")
	require.NoError(t, db.Verify(t.Context()))
}

// vault is a client whose database has point-in-time recovery, which no local one has. It keeps the requests.
type vault struct {
	*dynamodb.Client
	on    map[string]bool
	early int // answers that backups are not available yet
	asked []string
}

func (v *vault) DescribeContinuousBackups(_ context.Context, in *dynamodb.DescribeContinuousBackupsInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeContinuousBackupsOutput, error) {
	v.asked = append(v.asked, "Describe")
	status := types.PointInTimeRecoveryStatusDisabled
	if v.on[*in.TableName] {
		status = types.PointInTimeRecoveryStatusEnabled
	}
	return &dynamodb.DescribeContinuousBackupsOutput{ContinuousBackupsDescription: &types.ContinuousBackupsDescription{
		ContinuousBackupsStatus: types.ContinuousBackupsStatusEnabled, PointInTimeRecoveryDescription: &types.PointInTimeRecoveryDescription{PointInTimeRecoveryStatus: status},
	}}, nil
}

func (v *vault) UpdateContinuousBackups(_ context.Context, in *dynamodb.UpdateContinuousBackupsInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateContinuousBackupsOutput, error) {
	v.asked = append(v.asked, "Update")
	if v.early > 0 {
		v.early--
		return nil, &types.ContinuousBackupsUnavailableException{}
	}
	v.on[*in.TableName] = *in.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled
	return &dynamodb.UpdateContinuousBackupsOutput{}, nil
}

func TestCreateTables_EnablesRecoveryWhenTheTableIsReady(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	safe := &vault{Client: l.raw, on: map[string]bool{}, early: 2}
	db, err := entity.Open(safe, l.cfg)
	require.NoError(t, err)
	declare[Team](t, db)
	require.NoError(t, db.CreateTables(t.Context()))
	require.Equal(t, []string{"Describe", "Update", "Describe", "Update", "Describe", "Update"}, safe.asked)
	require.Equal(t, map[string]bool{l.table: true}, safe.on)
	safe.asked = nil
	require.NoError(t, db.CreateTables(t.Context()))
	require.NoError(t, db.Verify(t.Context()))
	require.Equal(t, []string{"Describe", "Describe"}, safe.asked, "what is on stays")

	clear(safe.on)
	var found *entity.VerifyError
	require.ErrorAs(t, db.Verify(t.Context()), &found)
	require.Equal(t, []entity.Drift{{Kind: entity.DifferentRecovery, Need: "on", Has: "off"}}, found.Tables[0].Differences)
	require.NoError(t, db.CreateTables(t.Context()))
	require.True(t, safe.on[l.table], "a table that is there gets it too")

	clear(safe.on)
	safe.early = 1 << 30
	ctx, cancel := context.WithTimeout(t.Context(), 600e6)
	defer cancel()
	require.ErrorIs(t, db.CreateTables(ctx), context.DeadlineExceeded)

	safe.asked = nil
	l.cfg.TableOptions = nil
	plain, err := entity.Open(safe, l.cfg)
	require.NoError(t, err)
	declare[Team](t, plain)
	require.NoError(t, plain.CreateTables(t.Context()))
	require.NoError(t, plain.Verify(t.Context()))
	require.Empty(t, safe.asked, "a program that does not need it does not need the permission either")
}

// narrow is a client with the calls of entity.Client and no others.
type narrow struct{ entity.Client }

func TestCreateTables_ClientWithoutBackupsIsRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.cfg.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	client := dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = l.wire })
	db, err := entity.Open(narrow{client}, l.cfg)
	require.NoError(t, err)
	declare[Team](t, db)
	for _, err := range []error{db.CreateTables(t.Context()), db.Verify(t.Context())} {
		var mistake *entity.SchemaError
		require.ErrorAs(t, err, &mistake)
		require.Equal(t, "EDD-9069", mistake.Code)
	}
	require.Empty(t, l.sent())
	l.cfg.TableOptions = nil
	db, err = entity.Open(narrow{client}, l.cfg)
	require.NoError(t, err)
	declare[Team](t, db)
	require.NoError(t, db.CreateTables(t.Context()))
}

func TestCreateTables_DatabaseWithoutRecoveryMakesTheRest(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) {
		c.Tables = map[string]string{"logs": c.Table + "-logs"}
		c.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	})
	declare[Pass](t, l.db)
	declare[LogEntry](t, l.db)
	err := l.db.CreateTables(t.Context())
	require.ErrorIs(t, err, entity.ErrNoRecovery)
	var which *entity.TableError
	require.True(t, errors.As(err, &which))
	require.Equal(t, l.table, which.Table)
	require.Equal(t, types.TimeToLiveStatusEnabled, timeToLive(t, l).TimeToLiveStatus)
	require.Equal(t, types.TableStatusActive, l.described(t, l.table+"-logs").TableStatus)
}
