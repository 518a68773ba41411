package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

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

// A table that is there already and is not what the declarations need is told, and left alone.
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
