package migrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
)

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := shop()
	entity.Must(entity.New[Purchase](empty))
	entity.Must(entity.New[Invoice](empty))
	entity.Must(entity.New[User](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go",
		ExampleRewrite, ExampleCheck, ExampleCheckpoint, ExampleCopy, ExampleOnProgress, ExampleVerifyUniqueSegment))
}
