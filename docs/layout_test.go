// Package docs_test checks the documents against the library: it compares examples in fenced blocks with plans and stored
// items, compiles programs, follows links, and looks for every tag and exported error.
package docs_test

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the examples in the documents")

// pages are the documents of this folder and the README. An example in one is a fenced block that begins with "```text" and a name.
func pages(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob("*.md")
	require.NoError(t, err)
	return append(found, "../README.md")
}

const (
	fence = "```"
	begin = fence + "text "
)

func TestExamples_AreWhatTheLibraryDoes(t *testing.T) {
	t.Parallel()
	made := examples(t)
	shown := map[string]bool{}
	for _, name := range pages(t) {
		text := read(t, name)
		renewed := replaceExamples(t, text, func(example, was string) string {
			now, ok := made[example]
			require.Truef(t, ok, "%s: nothing makes the example %q", name, example)
			if !*update {
				require.Equal(t, now, was, "%s: example %s; go test ./docs -update rewrites it", name, example)
			}
			shown[example] = true
			return now
		})
		if *update && renewed != text {
			require.NoError(t, os.WriteFile(name, []byte(renewed), 0o644))
		}
	}
	for _, example := range slices.Sorted(maps.Keys(made)) {
		require.True(t, shown[example], "no document shows the example %q", example)
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}

// replaceExamples returns text with the content of each example replaced by the result of content.
func replaceExamples(t *testing.T, text string, content func(example, was string) string) string {
	t.Helper()
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, begin)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		example, rest, _ := strings.Cut(rest, "\n")
		was, after, closed := strings.Cut("\n"+rest, "\n"+fence)
		require.True(t, closed, "example %q is not closed", example)
		out.WriteString(begin + example + "\n" + content(example, strings.TrimPrefix(was, "\n")) + "\n" + fence)
		text = after
	}
}

func TestReplaceExamples_LeavesTheRestAlone(t *testing.T) {
	t.Parallel()
	text := "a\n```go\nx\n```\nb\n```text one\nold\nlines\n```\nc\n```text two\nsame\n```"
	var seen []string
	got := replaceExamples(t, text, func(example, was string) string {
		seen = append(seen, example+"="+was)
		return strings.ToUpper(was)
	})
	require.Equal(t, []string{"one=old\nlines", "two=same"}, seen)
	require.Equal(t, "a\n```go\nx\n```\nb\n```text one\nOLD\nLINES\n```\nc\n```text two\nSAME\n```", got)
}
