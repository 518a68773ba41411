package docs_test

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/versioned"
)

type invoice struct {
	_ entity.Key       `name:"Invoice" pk:"$#{customer}" sk:"$#{number}" stream:"both"`
	_ entity.GSI       `name:"byMonth" index:"gsi1" pk:"$#{month}" project:"keys"`
	_ versioned.Retain `ttl:"365d"`

	Customer string `dynamodbav:"customer"`
	Number   int64  `dynamodbav:"number"`
	Month    string `dynamodbav:"month,omitempty"`
	Total    int    `dynamodbav:"total"`
	Version  int64  `dynamodbav:"version" entity:"version"`
}

type auditLine struct {
	_ entity.Key `name:"AuditLine" table:"audit" pk:"actor" sk:"line={at_ms:013}"`
	_ entity.GSI `name:"byAction" index:"gsi1" pk:"action"`

	Actor  string `dynamodbav:"actor"`
	At     int64  `dynamodbav:"at_ms" entity:"time=unixms"`
	Action string `dynamodbav:"action,omitempty"`
}

// tableExamples makes a spec, and the differences of a table that lacks much of it.
func tableExamples(t *testing.T, made map[string]string) {
	t.Helper()
	cfg := entity.Config{
		Table: "prod-app", Tables: map[string]string{"audit": "prod-audit"},
		TableOptions: map[string]entity.TableOptions{
			"":      {PointInTimeRecovery: true, DeletionProtection: true},
			"audit": {Provisioned: &entity.Throughput{Read: 5, Write: 20}, Indexes: map[string]entity.Throughput{"gsi1": {Read: 5, Write: 5}}},
		},
	}
	db := declaredTables[invoice](t, nil, cfg)
	made["tables-spec"], _, _ = strings.Cut(tables.Of(db).String(), "\ntable prod-audit")

	client, table := localdb.Test(t)
	_, err := client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName: &table, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
		StreamSpecification:  &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeKeysOnly},
	})
	require.NoError(t, err)
	cfg.Table, cfg.Tables = table, map[string]string{"audit": table + "-audit"}
	cfg.TableOptions = map[string]entity.TableOptions{"": {DeletionProtection: true, Provisioned: &entity.Throughput{Read: 5, Write: 20}}}
	err = tables.Verify(t.Context(), declaredTables[invoice](t, client, cfg))
	var found *tables.VerifyError
	require.ErrorAs(t, err, &found)
	made["tables-verify"] = strings.ReplaceAll(found.Tables[0].Error(), table, "prod-app")
}

func declaredTables[T any](t *testing.T, client entity.Client, cfg entity.Config) *entity.DB {
	t.Helper()
	db := entity.Must(entity.Open(client, cfg))
	_ = entity.Must(entity.New[T](db))
	_ = entity.Must(entity.New[auditLine](db))
	return db
}
