package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every entry of the list still applies, once, and no two are the same. That each is caught takes minutes: make proof.
func TestList_EveryEntryApplies(t *testing.T) {
	t.Parallel()
	all, err := parse(list)
	require.NoError(t, err)
	seen := map[mutant]bool{}
	for _, m := range all {
		text, err := os.ReadFile(filepath.Join("../../..", m.file))
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(text), m.before), "%s: %s", m.file, m.before)
		require.False(t, seen[m], "%s: %s is there twice", m.file, m.before)
		seen[m] = true
	}
}

func TestParse_RefusesWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	got, err := parse("# why\nfile a.go\n- x\n-   y\n+ z\ntest ./p TestA\n\nfile b.go\n- w\ntest ./q TestB\n")
	require.NoError(t, err)
	require.Equal(t, []mutant{{"a.go", "x\n  y", "z", "./p", "TestA"}, {"b.go", "w", "", "./q", "TestB"}}, got)
	for _, bad := range []string{"file a.go\n- x\n\n", "- x\n+ y\ntest ./p T\n", "file a.go\n- x\n+ x\ntest ./p T\n", "file a.go\n* x\ntest ./p T\n"} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

// A changed guard is noticed, one that changes nothing is not, and what does not apply is said.
func TestTry_TellsWhatBecameOfAChange(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.25\n",
		"a.go":      "package m\n\n// Even is true for even numbers.\nfunc Even(n int) bool { return n%2 == 0 }\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestEven(t *testing.T) {\n\tif Even(1) || !Even(2) {\n\t\tt.Fail()\n\t}\n}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	for want, m := range map[string]mutant{
		caught:   {"a.go", "n%2 == 0", "n%2 != 0", ".", "TestEven"},
		survived: {"a.go", "n%2 == 0", "n&1 == 0", ".", "TestEven"},
		stale:    {"a.go", "n%3 == 0", "true", ".", "TestEven"},
		broken:   {"a.go", "n%2 == 0", "n%2", ".", "TestEven"},
		noTest:   {"a.go", "n%2 == 0", "n%2 != 0", ".", "TestOdd"},
	} {
		got, said := m.try(t.Context(), root)
		require.Equal(t, want, got, said)
	}
}
