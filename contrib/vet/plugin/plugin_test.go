package plugin_test

import (
	"testing"

	"github.com/golangci/plugin-module-register/register"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/contrib/vet"
	_ "github.com/dynastrata/dynastrata/contrib/vet/plugin"
)

func TestPlugin_IsRegisteredUnderTheNameOfTheAnalyzer(t *testing.T) {
	create, err := register.GetPlugin("dynastrata")
	require.NoError(t, err)
	applied := vet.Analyzer.Flags.Lookup("applied").Value
	for _, c := range []struct {
		settings any
		applied  string
	}{{nil, "true"}, {map[string]any{"applied": false}, "false"}, {map[string]any{"applied": true}, "true"}} {
		l, err := create(c.settings)
		require.NoError(t, err)
		require.Equal(t, c.applied, applied.String())
		require.Equal(t, register.LoadModeTypesInfo, l.GetLoadMode())
		analyzers, err := l.BuildAnalyzers()
		require.NoError(t, err)
		require.Equal(t, "dynastrata", analyzers[0].Name)
	}
	for _, wrong := range []any{map[string]any{"aplied": true}, map[string]any{"applied": "no"}} {
		_, err := create(wrong)
		require.Error(t, err)
	}
}
