package console

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock of format 1 does not say what is secret: values are hidden, and the rest is shown.
func TestFormat1_HidesValues(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.story()
	text, err := os.ReadFile(l.lock)
	require.NoError(t, err)
	old := strings.NewReplacer("format 2", "format 1", " secret\n", "\n", "  index gsi1 name = byTenant\n", "", "  index gsi1 name = byAccount\n", "").Replace(string(text))
	old, _, _ = strings.Cut(old, "\nderived ")
	require.NoError(t, os.WriteFile(l.lock, []byte(old), 0o600))
	r := l.run("show", "Employee", "employeeId=e-1")
	require.Equal(t, ExitOK, r.code, r.err)
	require.NotContains(t, r.out, "Alice")
	golden(t, "format1.txt", r.out+r.err)
	require.Equal(t, ExitUsage, l.run("dump").code)
	require.Equal(t, ExitOK, l.run("query", "Employee", "gsi1", "tenantId=t-1").code)
}

// --endpoint local uses the database that all programs of the user share.
func TestConnect_StartsTheLocalDatabase(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var errs strings.Builder
	code := Run(t.Context(), App{}, Streams{In: strings.NewReader(""), Out: &errs, Err: &errs},
		[]string{"--endpoint", "local", "--lock", l.lock, "--table", "no-such-table-of-the-console", "get", "Employee", "employeeId=e-1"})
	require.Equal(t, ExitFailed, code, errs.String())
	require.Contains(t, errs.String(), "there is no such table or index in Region ")
}

// Every format shows under which condition an item is in an index.
func TestSchema_ShowsTheConditionOfAnIndex(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	text, err := os.ReadFile(l.lock)
	require.NoError(t, err)
	name := "  index gsi1 name = byTenant\n"
	require.NoError(t, os.WriteFile(l.lock, []byte(strings.Replace(string(text), name, "  index gsi1 when = !left,role=\"a\"|\"b\"\n"+name, 1)), 0o600))
	for format, want := range map[string]string{
		"text": `  when !left,role="a"|"b"`, "markdown": `all  when !left,role="a"\|"b" |`, "json": `"when": "!left,role=\"a\"|\"b\""`,
		"mermaid": `when !left,role=#quot;a#quot;|#quot;b#quot;`, "html": `all  when !left,role=&#34;a&#34;|&#34;b&#34;</td>`,
	} {
		r := l.run("schema", "Employee", "--format", format)
		require.Equal(t, ExitOK, r.code, r.err)
		require.Equal(t, 1, strings.Count(r.out, "when"), format)
		require.Contains(t, r.out, want, format)
	}
}
