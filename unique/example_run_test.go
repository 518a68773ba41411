package unique_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	db, name := localdb.Test(t)
	client, table = db, name
	t.Cleanup(func() { client, table = nil, "app" })
	empty := directory()
	entity.Must(entity.New[User](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	examples := map[string]func(){
		"ExampleConstraint":  ExampleConstraint,
		"ExampleLookup_Find": ExampleLookup_Find,
		"ExampleOf":          ExampleOf,
	}
	require.NoError(t, exampletest.Run("example_test.go", examples))
}
