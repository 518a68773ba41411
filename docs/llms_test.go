package docs_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// published is where the site is, with both texts.
const published = "https://dynastrata.github.io/dynastrata/"

var models = flag.String("models", "", "the folder that gets llms.txt and llms-full.txt")

// page is a link of the README to a page of the documents.
var page = regexp.MustCompile(`\]\(((?:docs|examples)/[^)#]+\.md|ARCHITECTURE\.md)\)`)

// forModels makes llms.txt, a list of the pages with the first sentence of each, and llms-full.txt, which holds them whole. Both are for programs that
// write code with the library; https://llmstxt.org describes the form.
func forModels(t *testing.T) map[string]string {
	t.Helper()
	readme := read(t, "../README.md")
	title, rest, _ := strings.Cut(readme, "\n\n")
	about, _, _ := strings.Cut(rest, "\n\n")
	var short, full strings.Builder
	fmt.Fprintf(&short, "%s\n\n> %s\n\nAll pages in one text: %sllms-full.txt\n", title, strings.NewReplacer("\n", " ", "**", "").Replace(about), published)
	full.WriteString(readme)
	seen := map[string]bool{}
	list := func(of, text string) {
		fmt.Fprintf(&short, "\n## %s\n\n", of)
		for _, found := range page.FindAllStringSubmatch(text, -1) {
			path := found[1]
			require.False(t, seen[path], "the features name %s twice", path)
			seen[path] = true
			text := read(t, "../"+path)
			heading, _, _ := strings.Cut(strings.TrimPrefix(text, "# "), "\n")
			fmt.Fprintf(&short, "- [%s](https://raw.githubusercontent.com/dynastrata/dynastrata/main/%s): %s\n", heading, path, opening(text))
			fmt.Fprintf(&full, "\n<!-- %s -->\n\n%s", path, text)
		}
	}
	list("Begin here", "](docs/guide.md)")
	for line := range strings.Lines(section(t, readme, "Features")) {
		if row := strings.Split(line, "|"); len(row) > 3 && page.MatchString(row[2]) {
			list(strings.TrimSpace(row[1]), row[2])
		}
	}
	require.Greater(t, len(seen), 15, "the README does not link to the pages")
	return map[string]string{"llms.txt": short.String(), "llms-full.txt": full.String()}
}

// opening returns the first sentence below the title of a page, without links.
func opening(text string) string {
	for _, paragraph := range strings.Split(text, "\n\n")[1:] {
		if strings.HasPrefix(paragraph, "#") || strings.HasPrefix(paragraph, fence) || strings.HasPrefix(paragraph, "|") {
			continue
		}
		plain := regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`).ReplaceAllString(strings.Join(strings.Fields(paragraph), " "), "$1")
		if end := regexp.MustCompile(`[.:] [A-Z-]`).FindStringIndex(plain); end != nil {
			plain = plain[:end[0]]
		}
		return strings.TrimRight(plain, ".:") + "."
	}
	return ""
}

// The build of the site makes the texts with this test.
func TestForModels_HoldsTheDocuments(t *testing.T) {
	t.Parallel()
	dir := *models
	if dir == "" {
		dir = t.TempDir()
	}
	made := forModels(t)
	for name, text := range made {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for _, found := range page.FindAllStringSubmatch(read(t, "../README.md"), -1) {
		require.Regexp(t, `(?m)^- \[.+\]\(https://\S+/`+regexp.QuoteMeta(found[1])+`\): .+\.$`, made["llms.txt"])
		require.Contains(t, made["llms-full.txt"], read(t, "../"+found[1]))
	}
}
