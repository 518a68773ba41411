package console

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVet_PrintsTheMistakesOfPackages(t *testing.T) {
	t.Parallel()
	var asked []string
	found := []Mistake{{"models.go:7:2", "EDD-9002", "EDD-9002: pk names an attribute\x1b"}}
	app := App{Vet: func(_ context.Context, patterns ...string) ([]Mistake, error) {
		if asked = patterns; patterns[0] == "./broken" {
			return nil, errors.New("it does not compile")
		}
		return found, nil
	}}
	run := func(app App, args ...string) (int, string) {
		var out, errs bytes.Buffer
		return Run(t.Context(), app, Streams{Out: &out, Err: &errs}, args), out.String()
	}
	code, text := run(app, "vet")
	require.Equal(t, ExitFindings, code)
	require.Equal(t, []string{"."}, asked)
	require.Equal(t, "models.go:7:2: EDD-9002: pk names an attribute\\x1b\n", text)
	code, text = run(app, "--json", "vet", "./a", "./b")
	require.Equal(t, ExitFindings, code)
	require.Equal(t, []string{"./a", "./b"}, asked)
	require.JSONEq(t, `{"place":"models.go:7:2","code":"EDD-9002","message":"EDD-9002: pk names an attribute\u001b"}`, text)
	code, _ = run(app, "vet", "./broken")
	require.Equal(t, ExitFailed, code)
	found = nil
	code, text = run(app, "vet", "./...")
	require.Equal(t, ExitOK, code)
	require.Empty(t, text)
	code, _ = run(App{}, "vet")
	require.Equal(t, ExitUsage, code)
}
