package rules_test

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/tables"
)

// The bare table has none of what the declarations of the second program need, and another table is missing.
func TestVerify_FindsEveryDifferenceOfEveryTable(t *testing.T) {
	t.Parallel()
	l, _ := dbtest.OpenStore[Unfollowed](t)
	l.Config.Tables = map[string]string{"logs": l.Table + "-logs"}
	equipped(&l.Config)
	l.Config.TableOptions[""] = entity.TableOptions{DeletionProtection: true, PointInTimeRecovery: true, Provisioned: &entity.Throughput{Read: 3, Write: 4}}
	db := l.Open(l.Raw)
	dbtest.Declare[Followed](t, db)
	dbtest.Declare[Pass](t, db)
	dbtest.Declare[LogEntry](t, db)
	before := l.Described(l.Table)
	err := tables.Verify(t.Context(), db)
	var found *tables.VerifyError
	require.ErrorAs(t, err, &found)
	require.Len(t, found.Tables, 2)
	require.Equal(t, l.Table, found.Tables[0].Table)
	require.Equal(t, []tables.Drift{
		{Kind: tables.MissingIndex, Index: "gsi1", Need: "the global index gsi1: gsi1pk (S) HASH"},
		{Kind: tables.MissingIndex, Index: "gsi2", Need: "the global index gsi2: gsi2pk (S) HASH"},
		{Kind: tables.DifferentStream, Need: "NEW_AND_OLD_IMAGES"},
		{Kind: tables.DifferentTTL, Need: "_ttl"},
		{Kind: tables.DifferentRecovery, Need: "on", Has: "a database without it"},
		{Kind: tables.DifferentDeletion, Need: "on", Has: "off"},
		{Kind: tables.DifferentBilling, Need: "PROVISIONED", Has: "PAY_PER_REQUEST"},
	}, found.Tables[0].Differences)
	require.Equal(t, `EDD-9049 table `+l.Table+` differs from the declarations:
  index: needs the global index gsi1: gsi1pk (S) HASH, has none
  index: needs the global index gsi2: gsi2pk (S) HASH, has none
  stream: needs NEW_AND_OLD_IMAGES, has none
  time to live: needs _ttl, has none
  point-in-time recovery: needs on, has a database without it
  deletion protection: needs on, has off
  billing: needs PROVISIONED, has PAY_PER_REQUEST`, found.Tables[0].Error())
	require.Equal(t, l.Table+"-logs", found.Tables[1].Table)
	require.ErrorIs(t, found.Tables[1], entity.ErrNoTable)
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.Equal(t, "EDD-9049", dbtest.SchemaCode(err))
	require.Equal(t, before, l.Described(l.Table), "nothing is changed")
}

func TestVerify_ComparesUnitsOfTablesAndIndexes(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, equipped)
	dbtest.Declare[Followed](t, l.DB)
	unprotect(t, l)
	l.CreateTables()
	l.Config.TableOptions = map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 3, Write: 9}}}
	db := l.Open(l.Raw)
	dbtest.Declare[Followed](t, db)
	var found *tables.VerifyError
	require.ErrorAs(t, tables.Verify(t.Context(), db), &found)
	require.Equal(t, []tables.Drift{
		{Kind: tables.DifferentThroughput, Need: "3 read, 9 write units", Has: "3 read, 4 write units"},
		{Kind: tables.DifferentThroughput, Index: "gsi1", Need: "3 read, 9 write units", Has: "3 read, 4 write units"},
		{Kind: tables.DifferentThroughput, Index: "gsi2", Need: "3 read, 9 write units", Has: "5 read, 6 write units"},
	}, found.Tables[0].Differences)
	require.Contains(t, found.Error(), "throughput of gsi2: needs 3 read, 9 write units, has 5 read, 6 write units")
	require.NoError(t, tables.Create(t.Context(), db), "a running program does not stop for what only costs")
	l.Config.TableOptions = nil
	plain := l.Open(l.Raw)
	dbtest.Declare[Followed](t, plain)
	require.NoError(t, tables.Verify(t.Context(), plain), "what nobody asked for does not matter")
}

func TestCreateTables_DoesNotChangeTheStreamOfATableThatIsThere(t *testing.T) {
	t.Parallel()
	l, _ := dbtest.OpenStore[Unfollowed](t)
	type Reader struct {
		_ entity.Key `name:"Reader" pk:"$#{id}" sk:"$" stream:"old"`

		ID string `dynamodbav:"id"`
	}
	db := l.Open(l.Raw)
	dbtest.Declare[Reader](t, db)
	err := tables.Create(t.Context(), db)
	var differs *tables.Error
	require.ErrorAs(t, err, &differs)
	require.Equal(t, []tables.Drift{{Kind: tables.DifferentStream, Need: "OLD_IMAGE"}}, differs.Differences)
	require.Nil(t, l.Described(l.Table).StreamSpecification)

	rich := dbtest.Open(t)
	dbtest.Declare[Followed](t, rich.DB)
	rich.CreateTables()
	db = rich.Open(rich.Raw)
	dbtest.Declare[Reader](t, db)
	require.NoError(t, tables.Create(t.Context(), db), "both images have the old one")
	require.NoError(t, tables.Verify(t.Context(), db))
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
	l := dbtest.Open(t)
	l.Config.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	safe := &vault{Client: l.Raw, on: map[string]bool{}, early: 2}
	db := entity.Must(entity.Open(safe, l.Config))
	dbtest.Declare[Team](t, db)
	require.NoError(t, tables.Create(t.Context(), db))
	require.Equal(t, []string{"Describe", "Update", "Describe", "Update", "Describe", "Update"}, safe.asked)
	require.Equal(t, map[string]bool{l.Table: true}, safe.on)
	safe.asked = nil
	require.NoError(t, tables.Create(t.Context(), db))
	require.NoError(t, tables.Verify(t.Context(), db))
	require.Equal(t, []string{"Describe", "Describe"}, safe.asked, "what is on stays")

	clear(safe.on)
	var found *tables.VerifyError
	require.ErrorAs(t, tables.Verify(t.Context(), db), &found)
	require.Equal(t, []tables.Drift{{Kind: tables.DifferentRecovery, Need: "on", Has: "off"}}, found.Tables[0].Differences)
	require.NoError(t, tables.Create(t.Context(), db))
	require.True(t, safe.on[l.Table], "a table that is there gets it too")

	clear(safe.on)
	safe.early = 1 << 30
	ctx, cancel := context.WithTimeout(t.Context(), 600e6)
	defer cancel()
	require.ErrorIs(t, tables.Create(ctx, db), context.DeadlineExceeded)

	safe.asked = nil
	l.Config.TableOptions = nil
	plain := entity.Must(entity.Open(safe, l.Config))
	dbtest.Declare[Team](t, plain)
	require.NoError(t, tables.Create(t.Context(), plain))
	require.NoError(t, tables.Verify(t.Context(), plain))
	require.Empty(t, safe.asked, "a program that does not need it does not need the permission either")
}

// narrow is a client with the calls of entity.Client and no others.
type narrow struct{ entity.Client }

func TestCreateTables_ClientWithoutBackupsIsRefused(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t)
	l.Config.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	client := dynamodb.New(l.Raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = l.Wire })
	db := entity.Must(entity.Open(narrow{client}, l.Config))
	dbtest.Declare[Team](t, db)
	for _, err := range []error{tables.Create(t.Context(), db), tables.Verify(t.Context(), db)} {
		require.Equal(t, "EDD-9069", dbtest.SchemaCode(err))
	}
	require.Empty(t, l.Operations())
	l.Config.TableOptions = nil
	db = entity.Must(entity.Open(narrow{client}, l.Config))
	dbtest.Declare[Team](t, db)
	require.NoError(t, tables.Create(t.Context(), db))
}

func TestCreateTables_DatabaseWithoutRecoveryMakesTheRest(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, func(c *entity.Config) {
		c.Tables = map[string]string{"logs": c.Table + "-logs"}
		c.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	})
	dbtest.Declare[Pass](t, l.DB)
	dbtest.Declare[LogEntry](t, l.DB)
	err := tables.Create(t.Context(), l.DB)
	require.ErrorIs(t, err, tables.ErrNoRecovery)
	var which *tables.Error
	require.True(t, errors.As(err, &which))
	require.Equal(t, l.Table, which.Table)
	require.Equal(t, types.TimeToLiveStatusEnabled, timeToLive(t, l).TimeToLiveStatus)
	require.Equal(t, types.TableStatusActive, l.Described(l.Table+"-logs").TableStatus)
}
