package docs_test

import (
	"fmt"
	"go/format"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
)

// pageMain runs the program of a page on the database and table that it is given.
const pageMain = `
func Run(ctx context.Context) error {
	client, table := entity.Must(localdb.Start(ctx)).Client(), os.Args[2]
	err := run(ctx, client, table)
	_, gone := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
	return errors.Join(err, gone)
}
`

// TestPages_ProgramsPrintWhatTheySay compiles the Go blocks of each page's sections Declare and Use as one program, runs it on a new table, and
// compares what it prints with the block marked output.
func TestPages_ProgramsPrintWhatTheySay(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	require.NoError(t, err)
	files, prints := map[string]string{}, map[string]string{}
	var imports, runs strings.Builder
	for _, page := range pages {
		text := "\n" + read(t, page)
		if !strings.Contains(text, "\n## Use\n") {
			continue
		}
		name := "page" + strings.ReplaceAll(strings.TrimSuffix(page, ".md"), "-", "") // never that of a package of the library
		var program strings.Builder
		for _, part := range []string{"Declare", "Use"} {
			if !strings.Contains(text, "\n## "+part+"\n") {
				continue
			}
			for _, block := range blocks(section(t, text, part), "go") {
				formatted, err := format.Source([]byte(block))
				require.NoError(t, err, page)
				require.Equal(t, string(formatted), block, "%s: a block is not formatted", page)
				program.WriteString("\n" + block)
			}
		}
		prints[name] = strings.Join(blocks(section(t, text, "Use"), "output"), "")
		files["pages/"+name+"/page.go"], files["pages/"+name+"/run.go"] = importing(name, program.String()), importing(name, pageMain)
		fmt.Fprintf(&imports, "import %q\n", module+"/docs/pages/"+name)
		fmt.Fprintf(&runs, "\t%q: %s.Run,\n", name, name)
	}
	require.Greater(t, len(prints), 15, "the programs were not found")
	files["pages/main.go"] = importing("main", "\n"+imports.String()+`
var runs = map[string]func(context.Context) error{
`+runs.String()+`}

func main() {
	if err := runs[os.Args[1]](context.Background()); err != nil {
		fmt.Println(err)
	}
}
`)
	binary := compile(t, "pages", files)
	client, table := localdb.Test(t)
	for name, want := range prints {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := onDatabase(t, client, binary, name, table+"-"+name)
			require.Equal(t, want, got)
		})
	}
}
