package console

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// lock writes the lock of the declarations, from nothing, from an empty file that a program embeds, and over one that stored items survive. Over another
// one it asks.
func TestLock_WritesWhatTheProgramDeclares(t *testing.T) {
	t.Parallel()
	l := &lab{t: t, now: noon, table: "app", lock: filepath.Join(t.TempDir(), "dynastrata.lock")}
	l.declare(nil, "app")
	want := schemalock.Of(l.db).String()
	lock := func(input string, args ...string) result {
		return l.embedded(input, append([]string{"--endpoint", "http://127.0.0.1:1", "--region", "eu-central-1", "--lock", l.lock, "lock"}, args...)...)
	}
	stored := func() string {
		text, err := os.ReadFile(l.lock)
		require.NoError(t, err)
		return string(text)
	}
	r := lock("", "--dry-run")
	require.Equal(t, ExitFindings, r.code, r.err)
	require.NoFileExists(t, l.lock)
	r = lock("")
	require.Equal(t, ExitOK, r.code, r.err)
	require.Equal(t, want, stored())
	require.Contains(t, r.err, "LOCK is written")

	r = lock("", "--dry-run")
	require.Equal(t, result{code: ExitOK}, r)

	require.NoError(t, os.WriteFile(l.lock, nil, 0o600))
	require.Equal(t, ExitOK, lock("").code)
	require.Equal(t, want, stored())

	broken := strings.Replace(want, "#{employeeId string}", "#{email string}", 1)
	require.NotEqual(t, want, broken)
	require.NoError(t, os.WriteFile(l.lock, []byte(broken), 0o600))
	r = lock("n\n")
	require.Equal(t, ExitDeclined, r.code, r.err)
	require.Contains(t, r.out, "breaking: Employee: ")
	require.Contains(t, r.err, "Stored items do not survive 1 change. Write LOCK?")
	require.Equal(t, broken, stored())
	r = l.embedded("", "--endpoint", "http://127.0.0.1:1", "--region", "eu-central-1", "--json", "--lock", l.lock, "lock", "--dry-run")
	require.Equal(t, ExitFindings, r.code)
	require.Contains(t, r.out, `"breaking":true`)
	require.Equal(t, ExitOK, lock("y\n").code)
	require.Equal(t, want, stored())

	require.NoError(t, os.WriteFile(l.lock, []byte("no lock"), 0o600))
	require.Equal(t, ExitUsage, lock("").code)
	require.Equal(t, "no lock", stored())
	require.Equal(t, ExitUsage, l.run("lock").code, "the binary alone has no declarations")
}
