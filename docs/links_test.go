package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/dynastrata/dynastrata/tests/lint"
	"github.com/stretchr/testify/require"
)

// documents are all Markdown files of the repository, as paths from here.
func documents(t *testing.T) []string {
	t.Helper()
	var found []string
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != ".." && path != "../.github" && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "site", "node_modules"}, entry.Name())):
			return filepath.SkipDir
		case !entry.IsDir() && strings.HasSuffix(path, ".md"):
			found = append(found, path)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, found)
	return found
}

var (
	code = regexp.MustCompile("(?s)" + fence + ".*?\n" + fence + "|`[^`\n]*`")
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
)

func TestDocuments_LinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		prose := code.ReplaceAllString(read(t, document), "")
		for _, found := range link.FindAllStringSubmatch(prose, -1) {
			target, place, _ := strings.Cut(found[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			path := document
			if target != "" {
				path = filepath.Join(filepath.Dir(document), filepath.FromSlash(target))
			}
			_, err := os.Stat(path)
			require.NoError(t, err, "%s links to %s", document, found[1])
			if place != "" {
				require.Contains(t, anchors(read(t, path)), place, "%s links to %s", document, found[1])
			}
		}
	}
}

var anchor = regexp.MustCompile(`<a id="([^"]+)"></a>`)

// anchors are the names that can be linked to: those of anchors, and of headings in lower case, with spaces as dashes and
// only letters, digits and dashes.
func anchors(text string) []string {
	var names []string
	for _, found := range anchor.FindAllStringSubmatch(text, -1) {
		names = append(names, found[1])
	}
	inFence := false
	for line := range strings.Lines(text) {
		inFence = inFence != strings.HasPrefix(line, fence)
		if inFence || !strings.HasPrefix(line, "#") {
			continue
		}
		heading := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9':
				return r
			}
			return -1
		}, heading))
	}
	return names
}

func TestDesignNotes_AreAllInTheIndex(t *testing.T) {
	t.Parallel()
	index := read(t, "design/README.md")
	files, err := filepath.Glob("design/*.md")
	require.NoError(t, err)
	require.Greater(t, len(files), 1)
	for _, file := range files {
		require.LessOrEqual(t, strings.Count(read(t, file), "\n"), 60, "%s is longer than a design note should be", file)
		if filepath.Base(file) != "README.md" {
			require.Contains(t, index, "("+filepath.Base(file)+")")
		}
	}
}

func TestGlossary_DefinesEachTermOnce(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for line := range strings.Lines(read(t, "glossary.md")) {
		if !strings.HasPrefix(line, "- <a") {
			continue
		}
		ids := anchor.FindAllStringSubmatch(line, -1)
		require.Len(t, ids, 1, line)
		require.False(t, seen[ids[0][1]], "%s is defined twice", ids[0][1])
		seen[ids[0][1]] = true
	}
	require.NotEmpty(t, seen)
}

func TestDocuments_UsePlainWords(t *testing.T) {
	t.Parallel()
	for _, document := range documents(t) {
		prose := link.ReplaceAllString(code.ReplaceAllString(read(t, document), ""), "]")
		require.Empty(t, lint.Avoided.FindAllString(prose, -1), "%s: use plain words and the terms of glossary.md", document)
	}
}
