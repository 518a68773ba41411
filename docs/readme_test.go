package docs_test

import (
	"encoding/json"
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// The Go blocks of the README are the struct and the calls, the program that they belong to, and the test that keeps its lock. The test writes the
// lock, and the program runs with it.
func TestReadme_ProgramRuns(t *testing.T) {
	t.Parallel()
	found := blocks(read(t, "../README.md"), "go")
	require.Len(t, found, 4)
	for _, block := range found {
		formatted, err := format.Source([]byte(block))
		require.NoError(t, err)
		require.Equal(t, string(formatted), block, "a block is not formatted")
	}
	declared := strings.Replace(found[0], "type Customer struct", "type readmeCustomer struct", 1)
	require.Contains(t, read(t, "declarations_test.go"), declared, "the plan is of another declaration")

	_, table := localdb.Test(t) // the database may have that of an earlier run
	main := strings.Replace(found[2], `Table: "app"`, fmt.Sprintf("Table: %q", table), 1)
	require.NotEqual(t, found[2], main)
	program := map[string]string{"main.go": main + found[0] + found[1], "main_test.go": found[3]}
	require.Equal(t, "2 ada@example.com\n", locked(t, "readme", program, "customer"))
}

// locked runs the test of a program whose lock is still empty, then the program with the lock that the test has written and checks the entities in it.
// It returns what the program prints on a database of its own.
func locked(t *testing.T, name string, program map[string]string, entities ...string) string {
	t.Helper()
	files := map[string]string{name + "/dynastrata.lock": ""}
	for file, text := range program {
		files[name+"/"+file] = text
	}
	dir := t.TempDir()
	test := exec.CommandContext(t.Context(), compileAs(t, name, files, "test", "-c", "-vet=off"), "-test.count=1")
	test.Dir, test.Env = dir, append(test.Environ(), schemalock.UpdateVariable+"=1")
	out, err := test.CombinedOutput()
	require.NoError(t, err, string(out))
	files[name+"/dynastrata.lock"] = read(t, filepath.Join(dir, "dynastrata.lock"))
	for _, of := range entities {
		require.Contains(t, strings.ToLower(files[name+"/dynastrata.lock"]), "entity "+of)
	}
	client, _ := localdb.Test(t)
	return printed(t, *client.Options().BaseEndpoint, exec.CommandContext(t.Context(), compile(t, name, files)))
}

// importing makes a file of a package from a block without imports. It imports the packages that the block names.
func importing(name, block string) string {
	const sdk = "github.com/aws/aws-sdk-go-v2"
	statements := regexp.MustCompile("//.*").ReplaceAllString(block, "")
	var file strings.Builder
	file.WriteString("package " + name + "\n")
	for _, path := range []string{
		"context", "crypto/sha256", "encoding/json", "errors", "fmt", "hash/crc32", "iter", "log/slog", "maps", "net/http", "net/netip", "os", "slices", "strconv", "strings",
		"sync", "time",
		sdk + "/feature/dynamodb/attributevalue", sdk + "/feature/dynamodb/expression", sdk + "/service/dynamodb", sdk + "/service/dynamodb/types", sdk + "/service/dynamodbstreams",
		module + "/entity", module + "/timeseries", module + "/versioned", module + "/lifecycle", module + "/unique",
		module + "/lease", module + "/localdb", module + "/stream", module + "/tables", module + "/tables/iac", module + "/timeline",
		module + "/localdb/faults", module + "/migrate", module + "/tables/schemalock",
	} {
		if regexp.MustCompile(`\b` + filepath.Base(path) + `\.[A-Z]`).MatchString(statements) {
			fmt.Fprintf(&file, "import %q\n", path)
		}
	}
	return file.String() + block
}

const module = "github.com/dynastrata/dynastrata"

// build compiles a program of one or more files as a package of this folder, and returns the path of the executable.
func build(t *testing.T, name string, files ...string) string {
	t.Helper()
	paths := map[string]string{}
	for i, text := range files {
		paths[fmt.Sprintf("%s/file%d.go", name, i)] = text
	}
	return compile(t, name, paths)
}

// compile is build for a program of several packages, whose files are given by their paths in this folder. An overlay puts them
// into the module for this build only.
func compile(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	return compileAs(t, name, files, "build")
}

// compileAs is compile with another command of go: that which makes the executable.
func compileAs(t *testing.T, name string, files map[string]string, command ...string) string {
	t.Helper()
	dir := t.TempDir()
	overlay, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "program")
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	replaced := map[string]string{}
	for path, text := range files {
		file := filepath.Join(dir, strings.ReplaceAll(path, "/", "-"))
		replaced[filepath.Join(here, filepath.FromSlash(path))] = file
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, text, 0o600))
	out, err := exec.CommandContext(t.Context(), "go", append(command, "-o", binary, "-overlay", overlay, "./"+name)...).CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// printed runs a program on the database at endpoint, and returns what it prints.
func printed(t *testing.T, endpoint string, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Env = append(cmd.Environ(), "DYNAMODB_ENDPOINT="+endpoint)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	require.NoError(t, err, complaints.String())
	require.Empty(t, complaints.String())
	return string(out)
}
