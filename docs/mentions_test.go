package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var mention = regexp.MustCompile(`\bdocs/((?:design/)?[a-z-]+\.md)`)

// Comments and messages of the code name pages that exist.
func TestDocuments_ThatTheCodeNamesExist(t *testing.T) {
	t.Parallel()
	found := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == ".git" || entry.Name() == "node_modules" || path == "../site"):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".yml") && entry.Name() != "Makefile":
			return nil
		}
		for _, page := range mention.FindAllStringSubmatch(read(t, path), -1) {
			found++
			_, err := os.Stat(filepath.FromSlash(page[1]))
			assert.NoError(t, err, "%s names docs/%s", path, page[1])
		}
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, found, 20)
}
