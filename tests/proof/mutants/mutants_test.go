package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Every entry of the list still applies and names a test, and no two change the same. That each is caught takes minutes: make proof.
func TestList_EveryEntryApplies(t *testing.T) {
	t.Parallel()
	all, err := parse(list)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 60)
	_, err = changed("../../..", "m", all)
	require.NoError(t, err)
	seen, tests := map[string]bool{}, map[string]string{} // the text of the tests, by package
	for _, m := range all {
		if tests[m.pkg] == "" {
			files, err := filepath.Glob(filepath.Join("../../..", m.pkg, "*_test.go"))
			require.NoError(t, err)
			for _, name := range files {
				text, err := os.ReadFile(name)
				require.NoError(t, err)
				tests[m.pkg] += string(text)
			}
		}
		name, _, _ := strings.Cut(m.test, "/")
		assert.Contains(t, tests[m.pkg], "\nfunc "+name+"(t *testing.T)", "%s: %s", m.file, m.at)
		assert.Positive(t, m.line, "%s: %s", m.file, m.at)
		assert.DirExists(t, filepath.Join("../../..", m.pkg), "%s: %s", m.file, m.at)
		require.False(t, seen[m.file+m.at+m.was+m.is], "%s: %s is there twice", m.file, m.was)
		seen[m.file+m.at+m.was+m.is] = true
	}
}

func TestParse_RefusesWhatIsNoEntry(t *testing.T) {
	t.Parallel()
	got, err := parse("# why\nfile a.go\n- x\n+ z\ntest ./p TestA\n\nfile b.go\nat if w {\n- w\n+ true\ntest ./q TestB\n")
	require.NoError(t, err)
	require.Equal(t, mutant{n: 1, file: "a.go", at: "x", was: "x", is: "z", pkg: "./p", test: "TestA"}, *got[0])
	require.Equal(t, mutant{n: 2, file: "b.go", at: "if w {", was: "w", is: "true", pkg: "./q", test: "TestB"}, *got[1])
	for _, bad := range []string{
		"file a.go\n- x\n\n", "- x\n+ y\ntest ./p T\n", "file a.go\n- x\n+ x\ntest ./p T\n", "file a.go\n* x\ntest ./p T\n",
		"file a.go\nat y\n- x\n+ z\ntest ./p T\n",
	} {
		_, err := parse(bad)
		require.Error(t, err, bad)
	}
}

// A changed guard is noticed, one that changes nothing is not, and what does not apply is said.
func TestTry_TellsWhatBecameOfAChange(t *testing.T) {
	t.Parallel()
	w := &workshop{root: t.TempDir(), dir: t.TempDir(), atOnce: 1}
	for name, text := range map[string]string{
		"go.mod":    "module m\n\ngo 1.25\n",
		"a.go":      "package m\n\nimport \"strconv\"\n\n// Even is true for even numbers.\nfunc Even(n int) bool { return n%2 == 0 }\n\nvar _ = strconv.Itoa\n",
		"a_test.go": "package m\n\nimport \"testing\"\n\nfunc TestEven(t *testing.T) {\n\tif Even(1) || !Even(2) {\n\t\tt.Fail()\n\t}\n}\n\nfunc TestRed(t *testing.T) { t.Fail() }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(w.root, name), []byte(text), 0o600))
	}
	all := []*mutant{
		{n: 1, file: "a.go", at: "n%2 == 0", was: "n%2 == 0", is: "n%2 != 0", pkg: ".", test: "TestEven"},
		{n: 2, file: "a.go", at: "func Even(n int) bool", was: "int", is: "int8", pkg: ".", test: "TestOdd"},
		{n: 3, file: "a.go", at: "n%3 == 0", was: "n%3 == 0", is: "true", pkg: ".", test: "TestEven"},
	}
	all[1] = &mutant{n: 2, file: "a.go", at: "strconv.Itoa", was: "strconv.Itoa", is: "func(int) string { return \"\" }", pkg: ".", test: "TestEven"}
	require.NoError(t, w.change(all))
	require.NoError(t, w.build(t.Context(), all))
	for i, want := range []string{caught, survived, stale} {
		got, said := w.try(t.Context(), all[i])
		require.Equal(t, want, got, said)
	}
	odd, red := *all[0], *all[0]
	odd.test, red.test = "TestOdd", "TestRed"
	got, _ := w.try(t.Context(), &odd)
	require.Equal(t, noTest, got)
	got, _ = w.try(t.Context(), &red)
	require.Equal(t, redBefore, got)
}
