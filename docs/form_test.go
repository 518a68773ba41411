package docs_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// features are the pages about one feature each.
var features = []string{
	"entities", "values", "indexes", "changes", "reading", "batches-and-transactions", "unique", "versions", "soft-delete", "expiry", "series", "timestamps",
	"leases", "streams", "timelines", "evolution", "tables", "testing", "production", "sharing",
}

// form are the sections of a page about a feature. A page leaves out those that it has nothing for.
var form = []string{"Declare", "Use", "The plan", "What is stored", "What it costs", "What comes back", "At the edges", "Limits"}

func TestPages_HaveOneForm(t *testing.T) {
	t.Parallel()
	for _, name := range features {
		var found []string
		inFence := false
		for line := range strings.Lines(read(t, name+".md")) {
			inFence = inFence != strings.HasPrefix(line, fence)
			if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok && !inFence {
				found = append(found, heading)
			}
		}
		assert.Contains(t, found, "Use", name)
		last := -1
		for _, heading := range found {
			at := slices.Index(form, heading)
			assert.Greater(t, at, last, "%s: the section %s does not belong to the form of a page, or is not in its place", name, heading)
			last = at
		}
	}
}

// The documents stay as short as a reader needs them: all together, and each.
func TestPages_AreShort(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*.md")
	require.NoError(t, err)
	total := 0
	for _, path := range append(paths, "../README.md", "../ARCHITECTURE.md") {
		n := len(strings.Fields(read(t, path)))
		most := 3000
		if path == "../README.md" {
			most = 900
		}
		assert.LessOrEqual(t, n, most, path)
		total += n
	}
	require.LessOrEqual(t, total, 44_300)
}
