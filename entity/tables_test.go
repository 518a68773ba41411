package entity_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func (l *lab) described(t *testing.T, table string) *types.TableDescription {
	t.Helper()
	out, err := l.raw.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &table})
	require.NoError(t, err)
	return out.Table
}

// keyText is a key schema as text: pk HASH, sk RANGE.
func keyText(key []types.KeySchemaElement) []string {
	var parts []string
	for _, k := range key {
		parts = append(parts, *k.AttributeName+" "+string(k.KeyType))
	}
	return parts
}

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

func TestCreateTables_MakesKeysIndexesAndProjections(t *testing.T) {
	t.Parallel()
	l, _ := open[Report](t)
	got := l.described(t, l.table)
	require.Equal(t, types.TableStatusActive, got.TableStatus)
	require.Equal(t, types.BillingModePayPerRequest, got.BillingModeSummary.BillingMode)
	require.Equal(t, []string{"pk HASH", "sk RANGE"}, keyText(got.KeySchema))
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range got.AttributeDefinitions {
		kinds[*a.AttributeName] = a.AttributeType
	}
	require.Equal(t, map[string]types.ScalarAttributeType{"pk": "S", "sk": "S", "gsi1pk": "S", "gsi1sk": "S", "gsi2pk": "S", "gsi3pk": "S", "gsi3sk": "S"}, kinds)
	indexes := map[string][2][]string{}
	for _, x := range got.GlobalSecondaryIndexes {
		require.Equal(t, types.IndexStatusActive, x.IndexStatus)
		projection := projectionText(x.Projection)
		indexes[*x.IndexName] = [2][]string{keyText(x.KeySchema), projection}
	}
	require.Equal(t, map[string][2][]string{
		"gsi1": {{"gsi1pk HASH", "gsi1sk RANGE"}, {"ALL"}},
		"gsi2": {{"gsi2pk HASH"}, {"INCLUDE", "__edd_e__"}},
		"gsi3": {{"gsi3pk HASH", "gsi3sk RANGE"}, {"INCLUDE", "id", "title", "__edd_e__"}},
	}, indexes, "a projection holds what the library's own filter needs")
}

func TestCreateTables_ProjectedIndexesCanBeQueried(t *testing.T) {
	t.Parallel()
	l, s := open[Report](t)
	_, err := s.Create(t.Context(), Report{ID: "a", Kind: "k", Day: "mon", Title: "t", Body: "b"})
	require.NoError(t, err)
	l.put(t, keys("pk", "stranger", "sk", "x", "gsi2pk", "k", "gsi3pk", "k", "gsi3sk", "mon"))
	f := entity.Fields[Report]()
	some, err := s.Index("some")
	require.NoError(t, err)
	got, err := some.Query(Report{Kind: "k"}, entity.Filter(entity.Eq(&f.Title, "t"))).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, Report{ID: "a", Kind: "k", Day: "mon", Title: "t"}, got, "an index gives what it and its keys hold")
	only, err := s.Index("keys")
	require.NoError(t, err)
	n, err := only.Query(Report{Kind: "k"}).Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestCreateTables_NativeKeysAndLocalIndexes(t *testing.T) {
	t.Parallel()
	l, _ := open[Order](t)
	got := l.described(t, l.table)
	require.Equal(t, []string{"customer HASH", "number RANGE"}, keyText(got.KeySchema))
	kinds := map[string]types.ScalarAttributeType{}
	for _, a := range got.AttributeDefinitions {
		kinds[*a.AttributeName] = a.AttributeType
	}
	require.Equal(t, map[string]types.ScalarAttributeType{"customer": "S", "number": "N", "status": "S", "placed": "N", "amount": "N"}, kinds)
	require.Len(t, got.LocalSecondaryIndexes, 1)
	require.Equal(t, []string{"customer HASH", "amount RANGE"}, keyText(got.LocalSecondaryIndexes[0].KeySchema))
	require.Equal(t, []string{"ALL"}, projectionText(got.LocalSecondaryIndexes[0].Projection))
	require.Equal(t, []string{"status HASH", "placed RANGE"}, keyText(got.GlobalSecondaryIndexes[0].KeySchema))
}

func TestCreateTables_SharedIndexIsMadeOnceForAllEntities(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Invoice](t, l.db)
	declare[Receipt](t, l.db)
	l.create(t)
	require.Len(t, l.described(t, l.table).GlobalSecondaryIndexes, 1)

	shared := newLab(t)
	declare[Narrow](t, shared.db)
	declare[Narrower](t, shared.db)
	shared.create(t)
	require.ElementsMatch(t, []string{"INCLUDE", "title", "body", "__edd_e__"}, projectionText(shared.described(t, shared.table).GlobalSecondaryIndexes[0].Projection))
}

// Narrow and Narrower put different attributes into one index.
type Narrow struct {
	_ entity.Key `name:"Narrow" pk:"$#{id}"`
	_ entity.GSI `name:"x" index:"gsi1" pk:"gsi1pk={id}" project:"title"`

	ID    string `dynamodbav:"id"`
	Title string `dynamodbav:"title,omitempty"`
}

type Narrower struct {
	_ entity.Key `name:"Narrower" pk:"$#{id}"`
	_ entity.GSI `name:"x" index:"gsi1" pk:"gsi1pk={id}" project:"body"`

	ID   string `dynamodbav:"id"`
	Body string `dynamodbav:"body,omitempty"`
}

func TestCreateTables_MakesEveryTableThatIsNamed(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *entity.Config) { c.Tables = map[string]string{"logs": c.Table + "-logs"} })
	teams, logs := declare[Team](t, l.db), declare[LogEntry](t, l.db)
	l.create(t)
	_, err := teams.Create(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	_, err = logs.Create(t.Context(), LogEntry{ID: "a"})
	require.NoError(t, err)
	require.Len(t, l.everything(t), 1)
	require.Equal(t, types.TableStatusActive, l.described(t, l.table+"-logs").TableStatus)
	require.NoError(t, l.db.Transact(t.Context(), teams.Op().Create(Team{ID: "b"}), logs.Op().Create(LogEntry{ID: "b"})), "a transaction spans tables")
}

// Entry lives in a table of its own.
type LogEntry struct {
	_ entity.Key `name:"Entry" pk:"$#{id}" table:"logs"`

	ID string `dynamodbav:"id"`
}

func TestCreateTables_IsIdempotent(t *testing.T) {
	t.Parallel()
	l, s := open[Report](t)
	_, err := s.Create(t.Context(), Report{ID: "a", Kind: "k"})
	require.NoError(t, err)
	made := l.described(t, l.table)
	require.NoError(t, l.db.CreateTables(t.Context()))
	require.NoError(t, l.db.CreateTables(t.Context()))
	again := declare[Report](t, l.aside(t))
	_, err = again.Get(t.Context(), Report{ID: "a"})
	require.NoError(t, err, "what was there is still there")
	require.Equal(t, made.CreationDateTime, l.described(t, l.table).CreationDateTime)
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
			l := newLab(t)
			in.TableName, in.BillingMode = &l.table, types.BillingModePayPerRequest
			_, err := l.raw.CreateTable(t.Context(), &in)
			require.NoError(t, err)
			made := l.described(t, l.table)
			declare[Employee](t, l.db)
			err = l.db.CreateTables(t.Context())
			var differs *entity.SchemaError
			require.ErrorAs(t, err, &differs)
			require.Equal(t, "EDD-9049", differs.Code)
			require.Zero(t, l.wire.Count("UpdateTable"))
			require.Equal(t, made, l.described(t, l.table))
		})
	}
}

// More than is needed does no harm.
func TestCreateTables_RicherExistingTableIsFine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Employee](t, l.db)
	l.create(t)
	lean := declare[Team](t, l.aside(t))
	other := l.aside(t)
	declare[Team](t, other)
	require.NoError(t, other.CreateTables(t.Context()), "it has an index that teams do not need")
	_, err := lean.Create(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
}

// What DynamoDB says about an index that is not there has no type of its own; it must not look like "nothing found".
func TestQuery_OfAnIndexThatTheTableLacksIsAnError(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Team](t, l.db)
	l.create(t)
	s := declare[Employee](t, l.aside(t))
	byTenant, err := s.Index("byTenant")
	require.NoError(t, err)
	_, err = byTenant.Query(Employee{TenantID: "t"}).First(t.Context())
	require.Error(t, err)
	require.NotErrorIs(t, err, entity.ErrNotFound)
	var e *entity.Error
	require.ErrorAs(t, err, &e)
}

func timeToLive(t *testing.T, l *lab) types.TimeToLiveDescription {
	t.Helper()
	out, err := l.raw.DescribeTimeToLive(t.Context(), &dynamodb.DescribeTimeToLiveInput{TableName: &l.table})
	require.NoError(t, err)
	return *out.TimeToLiveDescription
}

func TestCreateTables_EnablesTimeToLiveWhereItIsUsed(t *testing.T) {
	t.Parallel()
	for name, attr := range map[string]string{"": "_ttl", "expires": "expires"} {
		l, _ := open[Token](t, func(c *entity.Config) { c.TTL = name })
		ttl := timeToLive(t, l)
		require.Equal(t, types.TimeToLiveStatusEnabled, ttl.TimeToLiveStatus)
		require.Equal(t, attr, *ttl.AttributeName)
		require.NoError(t, l.db.CreateTables(t.Context()), "a second time changes nothing")
		require.Zero(t, l.wire.Count("UpdateTimeToLive"))
	}
	l, _ := open[Team](t)
	require.Equal(t, types.TimeToLiveStatusDisabled, timeToLive(t, l).TimeToLiveStatus)
}

func TestCreateTables_EnablesTimeToLiveOfATableThatIsThere(t *testing.T) {
	t.Parallel()
	l, _ := open[Invoice](t)
	db := l.aside(t)
	declare[Pass](t, db)
	require.NoError(t, db.CreateTables(t.Context()))
	require.Equal(t, types.TimeToLiveStatusEnabled, timeToLive(t, l).TimeToLiveStatus)
}

// Pass expires, and needs no index.
type Pass struct {
	_ entity.Key `name:"Pass" pk:"$#{id}" sk:"$"`
	_ mortal

	ID string `dynamodbav:"id"`
}

func TestCreateTables_TimeToLiveOnAnotherAttributeIsASchemaError(t *testing.T) {
	t.Parallel()
	l, _ := open[Team](t)
	_, err := l.raw.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               &l.table,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires"), Enabled: aws.Bool(true)},
	})
	require.NoError(t, err)
	db := l.aside(t)
	declare[Pass](t, db)
	err = db.CreateTables(t.Context())
	var differs *entity.SchemaError
	require.ErrorAs(t, err, &differs)
	require.Equal(t, "EDD-9041", differs.Code)
	require.Equal(t, "expires", *timeToLive(t, l).AttributeName)
}

// slowTable answers the first looks at a table as if something of it were still being made.
type slowTable struct {
	next     faults.HTTPClient
	old, new string
	looks    int
}

func (s *slowTable) Do(req *http.Request) (*http.Response, error) {
	resp, err := s.next.Do(req)
	if err != nil || !strings.HasSuffix(req.Header.Get("X-Amz-Target"), ".DescribeTable") || s.looks == 0 {
		return resp, err
	}
	s.looks--
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
		l := newLab(t)
		wire := faults.New(&slowTable{l.raw.Options().HTTPClient, old, slow, 2})
		db := l.open(t, wire)
		declare[Report](t, db)
		require.NoError(t, db.CreateTables(t.Context()))
		require.Equal(t, 3, wire.Count("DescribeTable"), slow)

		ctx, cancel := context.WithCancel(t.Context())
		wire = faults.New(&slowTable{l.raw.Options().HTTPClient, old, slow, 1000})
		wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation == "DescribeTable" && wire.Count("DescribeTable") > 1 {
				cancel()
			}
			return faults.None
		})
		db = l.open(t, wire)
		declare[Report](t, db)
		require.ErrorIs(t, db.CreateTables(ctx), context.Canceled)
	}
}

func TestCreateTables_EndsWithItsContext(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Team](t, l.db)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.db.CreateTables(ctx), context.Canceled)
	_, err := l.raw.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: aws.String(l.table)})
	var missing *types.ResourceNotFoundException
	require.ErrorAs(t, err, &missing, "nothing was made")

	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	l.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "DescribeTable" {
			cancel()
			return faults.Hang
		}
		return faults.None
	})
	require.ErrorIs(t, l.db.CreateTables(ctx), context.Canceled)
}

func TestCreateTables_TwoProgramsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	declare[Report](t, l.db)
	errs := make(chan error, 4)
	for range cap(errs) {
		db := l.aside(t)
		declare[Report](t, db)
		go func() { errs <- db.CreateTables(t.Context()) }()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
}
