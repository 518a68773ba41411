package rules_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Report has an index of each projection.
type Report struct {
	_ entity.Key `name:"Report" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"all" index:"gsi1" pk:"$#{kind}" sk:"$#{day}"`
	_ entity.GSI `name:"keys" index:"gsi2" pk:"gsi2pk={kind}" project:"keys"`
	_ entity.GSI `name:"some" index:"gsi3" pk:"gsi3pk={kind}" sk:"gsi3sk={day}" project:"id, title"`

	ID    string `dynamodbav:"id"`
	Kind  string `dynamodbav:"kind"`
	Day   string `dynamodbav:"day,omitempty"`
	Title string `dynamodbav:"title,omitempty"`
	Body  string `dynamodbav:"body,omitempty"`
}

func TestCreateTables_ProjectedIndexesCanBeQueried(t *testing.T) {
	l, s := opened[Report](t)
	l.OK(s.Create(t.Context(), Report{ID: "a", Kind: "k", Day: "mon", Title: "t", Body: "b"}))
	text := dbtest.S
	l.PutItem(dbtest.Item{"pk": text("stranger"), "sk": text("x"), "gsi2pk": text("k"), "gsi3pk": text("k"), "gsi3sk": text("mon")})
	f, some := entity.Fields[Report](), entity.Must(s.Index("some"))
	got := entity.Must(some.Query(Report{Kind: "k"}, entity.Filter(entity.Eq(&f.Title, "t"))).One(t.Context()))
	require.Equal(t, Report{ID: "a", Kind: "k", Day: "mon", Title: "t"}, got, "an index gives what it and its keys hold")
	only := entity.Must(s.Index("keys"))
	require.Equal(t, 1, entity.Must(only.Query(Report{Kind: "k"}).Count(t.Context())))
}

// A table that is there already and differs from the declarations is reported, and left alone.
func TestCreateTables_DifferentExistingTableIsASchemaError(t *testing.T) {
	t.Parallel()
	attr := func(name string, kind types.ScalarAttributeType) types.AttributeDefinition {
		return types.AttributeDefinition{AttributeName: &name, AttributeType: kind}
	}
	key := func(hash, sort string) []types.KeySchemaElement {
		k := []types.KeySchemaElement{{AttributeName: &hash, KeyType: types.KeyTypeHash}}
		if sort != "" {
			k = append(k, types.KeySchemaElement{AttributeName: &sort, KeyType: types.KeyTypeRange})
		}
		return k
	}
	index := func(name, hash, sort string, projection types.ProjectionType) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{IndexName: &name, KeySchema: key(hash, sort), Projection: &types.Projection{ProjectionType: projection}}
	}
	right := []types.GlobalSecondaryIndex{index("gsi1", "gsi1pk", "gsi1sk", types.ProjectionTypeAll)}
	for name, in := range map[string]dynamodb.CreateTableInput{
		"sort key missing": {KeySchema: key("pk", ""), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("gsi1pk", "S"), attr("gsi1sk", "S")}, GlobalSecondaryIndexes: right},
		"other key":        {KeySchema: key("id", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("id", "S"), attr("sk", "S"), attr("gsi1pk", "S"), attr("gsi1sk", "S")}, GlobalSecondaryIndexes: right},
		"other type":       {KeySchema: key("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("sk", "N"), attr("gsi1pk", "S"), attr("gsi1sk", "S")}, GlobalSecondaryIndexes: right},
		"no index":         {KeySchema: key("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("sk", "S")}},
		"other index key": {KeySchema: key("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("sk", "S"), attr("gsi1pk", "S")},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index("gsi1", "gsi1pk", "", types.ProjectionTypeAll)}},
		"other index type": {KeySchema: key("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("sk", "S"), attr("gsi1pk", "S"), attr("gsi1sk", "N")}, GlobalSecondaryIndexes: right},
		"lean projection": {KeySchema: key("pk", "sk"), AttributeDefinitions: []types.AttributeDefinition{attr("pk", "S"), attr("sk", "S"), attr("gsi1pk", "S"), attr("gsi1sk", "S")},
			GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index("gsi1", "gsi1pk", "gsi1sk", types.ProjectionTypeKeysOnly)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := dbtest.Open(t)
			in.TableName, in.BillingMode = &l.Table, types.BillingModePayPerRequest
			l.OK(l.Raw.CreateTable(t.Context(), &in))
			made := l.Described(l.Table)
			dbtest.Declare[One](t, l.DB)
			require.Equal(t, "EDD-9049", dbtest.SchemaCode(tables.Create(t.Context(), l.DB)))
			require.Zero(t, l.Wire.Count("UpdateTable"))
			require.Equal(t, made, l.Described(l.Table))
		})
	}
}

func timeToLive(t *testing.T, l *dbtest.Bench) types.TimeToLiveDescription {
	t.Helper()
	out := entity.Must(l.Raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &l.Table}))
	return *out.TimeToLiveDescription
}

func TestCreateTables_EnablesTimeToLiveWhereItIsUsed(t *testing.T) {
	t.Parallel()
	for name, attr := range map[string]string{"": "_ttl", "expires": "expires"} {
		l, _ := dbtest.OpenStore[keyed](t, func(c *entity.Config) { c.TTL = name })
		ttl := timeToLive(t, l)
		require.Equal(t, types.TimeToLiveStatusEnabled, ttl.TimeToLiveStatus)
		require.Equal(t, attr, *ttl.AttributeName)
		require.NoError(t, tables.Create(t.Context(), l.DB), "a second time changes nothing")
		require.Zero(t, l.Wire.Count("UpdateTimeToLive"))
	}
	l, _ := dbtest.OpenStore[note](t)
	require.Equal(t, types.TimeToLiveStatusDisabled, timeToLive(t, l).TimeToLiveStatus)
}

func TestCreateTables_TimeToLiveOnAnotherAttributeIsASchemaError(t *testing.T) {
	l, _ := opened[note](t)
	_, err := l.Raw.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &l.Table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	require.NoError(t, err)
	db := l.Open(l.Raw)
	dbtest.Declare[keyed](t, db)
	require.Equal(t, "EDD-9041", dbtest.SchemaCode(tables.Create(t.Context(), db)))
	require.Equal(t, "expires", *timeToLive(t, l).AttributeName)
}

// slowTable answers the first looks at a table as if something of it were still being made, two of them after a request of
// that operation.
type slowTable struct {
	next     aws.HTTPClient
	old, new string
	looks    int
	after    string
	answered int // looks so far; not those that the database failed
}

func (s *slowTable) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.next.Do(req)
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if operation == s.after {
		s.looks = s.answered + 2
	}
	if err != nil || operation != "DescribeTable" || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if s.answered++; s.answered > s.looks {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if at := bytes.LastIndex(body, []byte(s.old)); at >= 0 {
		body = slices.Concat(body[:at], []byte(s.new), body[at+len(s.old):])
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

func TestCreateTables_WaitsUntilTableAndIndexesAreActive(t *testing.T) {
	t.Parallel()
	for old, slow := range map[string]string{`"TableStatus":"ACTIVE"`: `"TableStatus":"CREATING"`, `"IndexStatus":"ACTIVE"`: `"IndexStatus":"CREATING"`} {
		l := dbtest.Open(t)
		making := &slowTable{next: l.Raw.Options().HTTPClient, old: old, new: slow, looks: 2}
		db := l.Open(l.Through(faults.New(making)))
		dbtest.Declare[Report](t, db)
		require.NoError(t, tables.Create(t.Context(), db))
		require.Equal(t, 3, making.answered, slow)

		ctx, cancel := context.WithCancel(t.Context())
		wire := faults.New(&slowTable{next: l.Raw.Options().HTTPClient, old: old, new: slow, looks: 1000})
		wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == "DescribeTable" && wire.Count("DescribeTable") > 1 {
				cancel()
			}
			return faults.None
		})
		db = l.Open(l.Through(wire))
		dbtest.Declare[Report](t, db)
		require.ErrorIs(t, tables.Create(ctx, db), context.Canceled)
	}
}

// The bare table has none of what the declarations of the second program need, and another table is missing.
func TestVerify_FindsEveryDifferenceOfEveryTable(t *testing.T) {
	l, _ := opened[note](t)
	l.Config.Tables = map[string]string{"logs": l.Table + "-logs"}
	equipped(&l.Config)
	l.Config.TableOptions[""] = entity.TableOptions{DeletionProtection: true, PointInTimeRecovery: true, Provisioned: &entity.Throughput{Read: 3, Write: 4}}
	db := l.Open(l.Raw)
	dbtest.Declare[Followed](t, db)
	dbtest.Declare[keyed](t, db)
	dbtest.Declare[Line](t, db)
	before, err := l.Described(l.Table), tables.Verify(t.Context(), db)
	found := dbtest.As[*tables.VerifyError](t, err)
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
	require.NoError(t, tables.Verify(t.Context(), l.DB))
	got := l.Described(l.Table)
	require.True(t, *got.DeletionProtectionEnabled)
	require.True(t, *got.StreamSpecification.StreamEnabled)
	require.Equal(t, types.StreamViewTypeNewAndOldImages, got.StreamSpecification.StreamViewType)
	l.Config.TableOptions = map[string]entity.TableOptions{"": {Provisioned: &entity.Throughput{Read: 3, Write: 9}}}
	db := l.Open(l.Raw)
	dbtest.Declare[Followed](t, db)
	found := dbtest.As[*tables.VerifyError](t, tables.Verify(t.Context(), db))
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
	l, _ := opened[note](t)
	type Reader struct {
		_ entity.Key `name:"Reader" pk:"$#{id}" sk:"$" stream:"old"`

		ID string `dynamodbav:"id"`
	}
	db := l.Open(l.Raw)
	dbtest.Declare[Reader](t, db)
	err := tables.Create(t.Context(), db)
	require.Equal(t, []tables.Drift{{Kind: tables.DifferentStream, Need: "OLD_IMAGE"}}, dbtest.As[*tables.Error](t, err).Differences)
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
	db := dbtest.LookOften(entity.Must(entity.Open(safe, l.Config)))
	dbtest.Declare[note](t, db)
	require.NoError(t, tables.Create(t.Context(), db))
	require.Equal(t, []string{"Describe", "Update", "Describe", "Update", "Describe", "Update"}, safe.asked)
	require.Equal(t, map[string]bool{l.Table: true}, safe.on)
	safe.asked = nil
	require.NoError(t, tables.Create(t.Context(), db))
	require.NoError(t, tables.Verify(t.Context(), db))
	require.Equal(t, []string{"Describe", "Describe"}, safe.asked, "what is on stays")

	clear(safe.on)
	found := dbtest.As[*tables.VerifyError](t, tables.Verify(t.Context(), db))
	require.Equal(t, []tables.Drift{{Kind: tables.DifferentRecovery, Need: "on", Has: "off"}}, found.Tables[0].Differences)
	require.NoError(t, tables.Create(t.Context(), db))
	require.True(t, safe.on[l.Table], "a table that is there gets it too")

	clear(safe.on)
	safe.early = 1 << 30
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, tables.Create(ctx, db), context.DeadlineExceeded)

	safe.asked, l.Config.TableOptions = nil, nil
	plain := entity.Must(entity.Open(safe, l.Config))
	dbtest.Declare[note](t, plain)
	require.NoError(t, tables.Create(t.Context(), plain))
	require.NoError(t, tables.Verify(t.Context(), plain))
	require.Empty(t, safe.asked, "a program that does not need it does not need the permission either")
}

// narrow is a client with the calls of entity.Client and no others. Without one inside it must not be called.
type narrow struct{ entity.Client }

func TestCreateTables_ClientWithoutBackupsIsRefused(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t)
	l.Config.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	client := dynamodb.New(l.Raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = l.Wire })
	db := entity.Must(entity.Open(narrow{client}, l.Config))
	dbtest.Declare[note](t, db)
	for _, err := range []error{tables.Create(t.Context(), db), tables.Verify(t.Context(), db)} {
		require.Equal(t, "EDD-9069", dbtest.SchemaCode(err))
	}
	require.Empty(t, l.Operations())
	l.Config.TableOptions = nil
	db = entity.Must(entity.Open(narrow{client}, l.Config))
	dbtest.Declare[note](t, db)
	require.NoError(t, tables.Create(t.Context(), db))
}

func TestCreateTables_DatabaseWithoutRecoveryMakesTheRest(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t, func(c *entity.Config) {
		c.Tables = map[string]string{"logs": c.Table + "-logs"}
		c.TableOptions = map[string]entity.TableOptions{"": {PointInTimeRecovery: true}}
	})
	dbtest.Declare[keyed](t, l.DB)
	dbtest.Declare[Line](t, l.DB)
	err := tables.Create(t.Context(), l.DB)
	require.ErrorIs(t, err, tables.ErrNoRecovery)
	var which *tables.Error
	require.True(t, errors.As(err, &which))
	require.Equal(t, l.Table, which.Table)
	require.Equal(t, types.TimeToLiveStatusEnabled, timeToLive(t, l).TimeToLiveStatus)
	require.Equal(t, types.TableStatusActive, l.Described(l.Table+"-logs").TableStatus)
}
