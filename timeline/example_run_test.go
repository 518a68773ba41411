package timeline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Examples that need a database have no output that go test would compare, since there may be none. This test runs them,
// one after the other, and compares what they print with what they say at their end.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	db, name := localdb.Test(t)
	exampleClient, exampleTable, exampleTest = db, name, t
	t.Cleanup(func() { exampleClient, exampleTable, exampleTest = nil, "app", nil })
	empty := depot("empty")
	entity.Must(timeseries.New[Delivery](empty))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go",
		ExampleBudget, ExampleResume, ExampleVersions, ExampleView, ExampleView_Consume, ExampleView_BeginJob, ExampleView_CatchUp))
}
