package docs_test

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/schema"
)

// go doc of package entity lists every declaration with its keys, and every role.
func TestTags_PackageCommentListsDeclarationsAndRoles(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "../entity/doc.go", nil, parser.ParseComments|parser.PackageClauseOnly)
	require.NoError(t, err)
	text := file.Doc.Text()
	listed := map[string][]string{}
	for line := range strings.Lines(text) {
		if m := regexp.MustCompile(`^\t([a-z]+\.[A-Z]\w*)  +(.+)\n$`).FindStringSubmatch(line); m != nil {
			if listed[m[1]] = strings.Split(m[2], ", "); m[2] == "none" {
				listed[m[1]] = nil
			}
		}
	}
	schemaMethods := methods(t, "internal/schema")
	declared := 0
	for _, dir := range declaring {
		own, fieldTypes := methods(t, dir), byField(t, dir)
		for _, f := range own["Declare"] {
			if name := fieldTypes[receiver(f)]; name != "" {
				require.Contains(t, listed, dir+"."+name)
				require.ElementsMatch(t, tagKeys(f, own, schemaMethods), listed[dir+"."+name], "keys of %s", name)
				declared++
			}
		}
	}
	require.Len(t, listed, declared)

	_, roles, ok := strings.Cut(text, "# Roles")
	require.True(t, ok)
	roles, _, _ = strings.Cut(roles, "\n# ")
	want := append(stringValues(t, "internal/schema/field.go", "Role"), "text=ordered", "time=…", "default=…", "context=…", "id="+schema.UUIDv7, "id="+schema.ULID)
	for _, f := range stringValues(t, "internal/schema/field.go", "timeFormats") {
		want = append(want, "time="+f)
	}
	for _, role := range want {
		require.Regexp(t, `(?m)(^|[ \t])`+regexp.QuoteMeta(role)+`([ ,;\n]|$)`, roles)
	}
}
