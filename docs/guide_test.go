package docs_test

import (
	"go/format"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The Go blocks of the guide are the files of one program, which prints the last text block. After step 2 it prints the first; its files that a later
// step replaces are drafts.
func TestGuide_ProgramPrintsWhatItSays(t *testing.T) {
	t.Parallel()
	page := read(t, "guide.md")
	prints := blocks(page, "text")
	require.Len(t, prints, 2)
	first, _, ok := strings.Cut(page, "\n## 3.")
	require.True(t, ok)
	t.Run("after step 2", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, prints[0], locked(t, "guidefirst", guideFiles(t, first, "go", "go draft"), "technician"))
	})
	t.Run("at the end", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, prints[1], locked(t, "guide", guideFiles(t, page, "go"), "technician", "order", "machine", "ticket", "comment"))
	})
}

// guideFiles returns the files in the blocks of a page. The first line of a block is a comment with the name of its file, which later blocks continue.
func guideFiles(t *testing.T, page string, languages ...string) map[string]string {
	t.Helper()
	named := regexp.MustCompile(`^// (\w+\.go)(?:, continued)?\n\n`)
	files := map[string]string{}
	for _, language := range languages {
		for _, block := range blocks(page, language) {
			formatted, err := format.Source([]byte(block))
			require.NoError(t, err)
			require.Equal(t, string(formatted), block, "a block is not formatted")
			name := named.FindStringSubmatch(block)
			require.NotNil(t, name, "a block names no file: %s", block)
			files[name[1]] += block
		}
	}
	return files
}

// blocks returns the fenced blocks of a language.
func blocks(page, language string) (found []string) {
	for {
		_, rest, ok := strings.Cut(page, "\n"+fence+language+"\n")
		if !ok {
			return found
		}
		block, after, _ := strings.Cut(rest, "\n"+fence)
		found, page = append(found, block+"\n"), after
	}
}
