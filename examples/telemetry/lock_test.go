package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// The file next to the program lets the command dynastrata show what the program stores.
func TestSchemaLock(t *testing.T) {
	t.Parallel()
	a, err := open(nil, "telemetry", &costs{})
	require.NoError(t, err)
	schemalock.Check(t, a.db, "dynastrata.lock")
}
