package beamx_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// The examples need a database, so go test does not run them. This test runs them, one after the other, and compares what they
// print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampleClient, exampleTable = localdb.Test(t)
	empty := entity.Must(shops())
	entity.Must(revenue(empty))
	entity.Must(entity.New[IndexedClient](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleRebuild, ExampleRewrite, ExampleVerifyUnique))
}
