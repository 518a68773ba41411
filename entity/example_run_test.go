package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/exampletest"
	"github.com/dynastrata/dynastrata/localdb"
)

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	shelves.client, shelves.table = localdb.Test(t)
	empty := desk()
	entity.Must(entity.New[Loan](empty))
	entity.Must(entity.New[Book](empty))
	entity.Must(entity.New[Author](empty))
	entity.Must(entity.New[Edition](empty))
	require.NoError(t, empty.CreateTables(t.Context()))
	examples := map[string]func(){
		"ExampleStore_Purge":        ExampleStore_Purge,
		"ExampleReturning":          ExampleReturning,
		"ExampleKeepImage":          ExampleKeepImage,
		"ExampleDB_Transact_merged": ExampleDB_Transact_merged,
		"ExampleDB_Verify":          ExampleDB_Verify,
		"ExampleDB_GetCollection":   ExampleDB_GetCollection,
		"ExampleDB_BatchGet":        ExampleDB_BatchGet,
		"ExampleDB_BatchWrite":      ExampleDB_BatchWrite,
		"ExampleOnPage":             ExampleOnPage,
	}
	require.NoError(t, exampletest.Run("example_stored_test.go", examples))
}
