package versioned_test

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
	empty := newsroom()
	entity.Must(entity.New[Article](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	examples := map[string]func(){
		"ExampleExpect":         ExampleExpect,
		"ExampleHistory_List":   ExampleHistory_List,
		"ExampleHistory_At":     ExampleHistory_At,
		"ExampleHistory_Revert": ExampleHistory_Revert,
	}
	require.NoError(t, exampletest.Run("example_test.go", examples))
}
