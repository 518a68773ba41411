package docs_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// codeLine is the declaration of a code, with its cause, its remedy and the page of its feature.
var codeLine = regexp.MustCompile(`(?m)^\tCode\w+ += "(EDD-\d{4})"(?: // (.+?): (.+) \[([a-z-]+)\])?$`)

// TestCodes_AreListedWithCauseAndRemedy compares the lists of codes.md with the comments of the constants; -update rewrites them.
func TestCodes_AreListedWithCauseAndRemedy(t *testing.T) {
	t.Parallel()
	for name, file := range map[string]string{"declarations": "../internal/schema/codes.go", "calls": "../internal/bind/errors.go"} {
		var rows []string
		for _, found := range codeLine.FindAllStringSubmatch(read(t, file), -1) {
			require.NotEmpty(t, found[4], "%s needs a comment of the form: cause: remedy [page]", found[1])
			rows = append(rows, fmt.Sprintf("- [%s](%s.md) %s: %s\n", found[1], found[4], found[2], found[3]))
		}
		slices.Sort(rows)
		generated(t, "codes.md", "codes "+name, strings.Join(rows, ""))
	}
}

// generated compares the part of a page between the comments <!-- name --> and <!-- /name --> with text; with -update it rewrites the part.
func generated(t *testing.T, page, name, text string) {
	t.Helper()
	before, rest, begins := strings.Cut(read(t, page), "<!-- "+name+" -->\n")
	was, after, ends := strings.Cut(rest, "<!-- /"+name+" -->\n")
	require.True(t, begins && ends, "%s has no part %s", page, name)
	if *update {
		all := before + "<!-- " + name + " -->\n" + text + "<!-- /" + name + " -->\n" + after
		require.NoError(t, os.WriteFile(page, []byte(all), 0o644))
		return
	}
	require.Equal(t, text, was, "%s: go test ./docs -update rewrites %s", page, name)
}
