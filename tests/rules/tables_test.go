package rules_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
)

// projectionText is a projection as text.
func projectionText(p *types.Projection) []string {
	return append([]string{string(p.ProjectionType)}, p.NonKeyAttributes...)
}

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
	t.Parallel()
	l, s := dbtest.OpenStore[Report](t)
	l.OK(s.Create(t.Context(), Report{ID: "a", Kind: "k", Day: "mon", Title: "t", Body: "b"}))
	text := dbtest.S
	l.PutItem(dbtest.Item{"pk": text("stranger"), "sk": text("x"), "gsi2pk": text("k"), "gsi3pk": text("k"), "gsi3sk": text("mon")})
	f := entity.Fields[Report]()
	some := entity.Must(s.Index("some"))
	got := entity.Must(some.Query(Report{Kind: "k"}, entity.Filter(entity.Eq(&f.Title, "t"))).One(t.Context()))
	require.Equal(t, Report{ID: "a", Kind: "k", Day: "mon", Title: "t"}, got, "an index gives what it and its keys hold")
	only := entity.Must(s.Index("keys"))
	n := entity.Must(only.Query(Report{Kind: "k"}).Count(t.Context()))
	require.Equal(t, 1, n)
}

// Entry lives in a table of its own.
type LogEntry struct {
	_ entity.Key `name:"Entry" pk:"$#{id}" table:"logs"`

	ID string `dynamodbav:"id"`
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
			dbtest.Declare[Employee](t, l.DB)
			err := tables.Create(t.Context(), l.DB)
			require.Equal(t, "EDD-9049", dbtest.SchemaCode(err))
			require.Zero(t, l.Wire.Count("UpdateTable"))
			require.Equal(t, made, l.Described(l.Table))
		})
	}
}

func timeToLive(t *testing.T, l *dbtest.Bench) types.TimeToLiveDescription {
	t.Helper()
	out, err := l.Raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &l.Table})
	require.NoError(t, err)
	return *out.TimeToLiveDescription
}

func TestCreateTables_EnablesTimeToLiveWhereItIsUsed(t *testing.T) {
	t.Parallel()
	for name, attr := range map[string]string{"": "_ttl", "expires": "expires"} {
		l, _ := dbtest.OpenStore[Token](t, func(c *entity.Config) { c.TTL = name })
		ttl := timeToLive(t, l)
		require.Equal(t, types.TimeToLiveStatusEnabled, ttl.TimeToLiveStatus)
		require.Equal(t, attr, *ttl.AttributeName)
		require.NoError(t, tables.Create(t.Context(), l.DB), "a second time changes nothing")
		require.Zero(t, l.Wire.Count("UpdateTimeToLive"))
	}
	l, _ := dbtest.OpenStore[Team](t)
	require.Equal(t, types.TimeToLiveStatusDisabled, timeToLive(t, l).TimeToLiveStatus)
}

// Pass expires, and needs no index.
type Pass struct {
	_ entity.Key `name:"Pass" pk:"$#{id}" sk:"$"`
	_ mortal

	ID string `dynamodbav:"id"`
}

func TestCreateTables_TimeToLiveOnAnotherAttributeIsASchemaError(t *testing.T) {
	t.Parallel()
	l, _ := dbtest.OpenStore[Team](t)
	_, err := l.Raw.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &l.Table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	require.NoError(t, err)
	db := l.Open(l.Raw)
	dbtest.Declare[Pass](t, db)
	err = tables.Create(t.Context(), db)
	require.Equal(t, "EDD-9041", dbtest.SchemaCode(err))
	require.Equal(t, "expires", *timeToLive(t, l).AttributeName)
}

// slowTable answers the first looks at a table as if something of it were still being made.
type slowTable struct {
	next     faults.HTTPClient
	old, new string
	looks    int
	answered int // looks so far; not those that the database failed
}

func (s *slowTable) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.next.Do(req)
	if err != nil || !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".DescribeTable") || resp.StatusCode != http.StatusOK {
		return resp, err
	}
	if s.answered++; s.answered > s.looks {
		return resp, err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	body = bytes.ReplaceAll(body, []byte(s.old), []byte(s.new))
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

// paper returns a DB without a client.
func paper(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app", Clock: func() time.Time { return time.Unix(0, 0) }})
	require.NoError(t, err)
	return db
}

// Team needs no index.
type Team struct {
	_ entity.Key `name:"Team" pk:"$#{id}" sk:"$"`

	ID string `dynamodbav:"id"`
}

// Employee has one index.
type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{employeeId}"`

	EmployeeID string `dynamodbav:"employeeId"`
	TenantID   string `dynamodbav:"tenantId"`
}

// mortal represents any feature whose current items can expire.
type mortal struct{}

func (mortal) Declare(d *schema.Decl) { d.Schema.Expires, d.Schema.UsesTTL = true, true }

// Token expires.
type Token struct {
	_ entity.Key `name:"Token" pk:"$#{user}" sk:"$#{id}"`
	_ mortal

	User string `dynamodbav:"user"`
	ID   string `dynamodbav:"id"`
}
