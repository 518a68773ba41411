package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
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
	teams, logs := declare[Team](t, l.db), declare[MapEntry](t, l.db)
	l.create(t)
	_, err := teams.Create(t.Context(), Team{ID: "a"})
	require.NoError(t, err)
	_, err = logs.Create(t.Context(), MapEntry{ID: "a"})
	require.NoError(t, err)
	require.Len(t, l.everything(t), 1)
	require.Equal(t, types.TableStatusActive, l.described(t, l.table+"-logs").TableStatus)
	require.NoError(t, l.db.Transact(t.Context(), teams.Op().Create(Team{ID: "b"}), logs.Op().Create(MapEntry{ID: "b"})), "a transaction spans tables")
}

// Entry lives in a table of its own.
type MapEntry struct {
	_ entity.Key `name:"Entry" pk:"$#{id}" table:"logs"`

	ID string `dynamodbav:"id"`
}
