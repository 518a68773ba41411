package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
)

// ours returns the side of Dynastrata.
func ours(t *testing.T, guide string) string {
	t.Helper()
	return source(t, guide, "dynastrata", "context", "errors", "time", awsPackages+"service/dynamodb", module+"/entity")
}

// buildShop builds one side, with the program that calls its functions.
func buildShop(t *testing.T, name string, files ...string) (binary string) {
	t.Helper()
	return build(t, name, append(files, read(t, "testdata/slice/main.go"))...)
}

// shops are both programs of a guide on one table.
type shops struct {
	t      *testing.T
	client *dynamodb.Client
	table  string
	sides  [2]string // the programs: theirs, ours
}

// run runs one of the programs with the given arguments and returns what it prints.
func (s shops) run(side int, args ...string) string {
	s.t.Helper()
	return onDatabase(s.t, s.client, s.sides[side], append([]string{s.table}, args...)...)
}

// alternate lets both sides write in turn. Each also ships an order that the other has written.
func (s shops) alternate() {
	s.t.Helper()
	var printed []string
	for i, customer := range []string{"ada", "bob", "cyd"} {
		did, _, found := strings.Cut(s.run(i%2, customer), "all ")
		require.True(s.t, found)
		printed = append(printed, strings.ReplaceAll(did, customer, "ada"))
	}
	require.Contains(s.t, printed[0], "pages [[2,2,2,1]]")
	require.Equal(s.t, printed[0], printed[1], "both do the same")
	require.Equal(s.t, printed[0], printed[2])
	s.readAlike()
	all := s.run(0)
	require.Equal(s.t, 5, strings.Count(all, `"Status":"shipped"`), "of each customer the first, and the third of ada and bob")
	require.Equal(s.t, 21-5-3, strings.Count(all, `"Status":"open"`))
	of := func(customer string) (items []string) {
		for _, item := range strings.Split(dump(s.t, s.client, s.table), "\n\n") {
			if strings.Contains(item, customer) {
				items = append(items, strings.ReplaceAll(item, customer, "ada"))
			}
		}
		return items
	}
	require.Len(s.t, of("ada"), 7)
	require.Equal(s.t, of("ada"), of("bob"), "both store the same")
}

// readAlike checks that both sides read the same.
func (s shops) readAlike() {
	s.t.Helper()
	require.Equal(s.t, s.run(0), s.run(1))
}

// makeOrders makes the table of a guide with an index, both with a partition key and a sort key, and the keys' types in pairs.
func makeOrders(t *testing.T, client *dynamodb.Client, table, index string, keys ...string) {
	t.Helper()
	in := &dynamodb.CreateTableInput{TableName: &table, BillingMode: types.BillingModePayPerRequest}
	for pair := range slices.Chunk(keys, 2) {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &pair[0], AttributeType: types.ScalarAttributeType(pair[1])})
	}
	key := func(partition, sort string) []types.KeySchemaElement {
		return []types.KeySchemaElement{{AttributeName: &partition, KeyType: types.KeyTypeHash}, {AttributeName: &sort, KeyType: types.KeyTypeRange}}
	}
	in.KeySchema = key(keys[0], keys[2])
	in.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String(index), KeySchema: key(keys[4], keys[6]), Projection: &types.Projection{ProjectionType: types.ProjectionTypeAll},
	}}
	_, err := client.CreateTable(t.Context(), in)
	require.NoError(t, err)
}
