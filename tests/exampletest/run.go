// Package exampletest runs examples that need a database, for tests. Such examples have no output for go test to compare,
// because there may be no database. Each has its output at its end, after a line "// prints".
package exampletest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
)

// Database sets the client and the table of the examples to those of a local database, until the test ends.
func Database(t testing.TB, client *entity.Client, table *string) {
	t.Helper()
	before, name := *client, *table
	t.Cleanup(func() { *client, *table = before, name })
	*client, *table = localdb.Test(t)
}

// saying precedes the output of an example.
const saying = "\t// prints\n"

// Run runs the examples of file in the order of their names, one after the other, since they share the standard output. The
// error joins those whose output differs, and reports an example in file that is not in examples.
func Run(file string, examples ...func()) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	source := string(text)
	var errs []error
	if n := strings.Count(source, saying); n != len(examples) || n == 0 {
		errs = append(errs, fmt.Errorf("%s has %d examples that say what they print, %d are run", file, n, len(examples)))
	}
	slices.SortFunc(examples, func(a, b func()) int { return strings.Compare(nameOf(a), nameOf(b)) })
	for _, example := range examples {
		name := nameOf(example)
		want, err := said(source, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		got, err := printed(example)
		if err != nil {
			return err
		}
		if got != want {
			errs = append(errs, fmt.Errorf("%s says that it prints\n%sand prints\n%s", name, want, got))
		}
	}
	return errors.Join(errs...)
}

// nameOf returns the name of a function without that of its package.
func nameOf(f func()) string {
	name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}

// said returns the output that an example's comment gives.
func said(source, example string) (string, error) {
	_, body, found := strings.Cut(source, "func "+example+"() {")
	if !found {
		return "", fmt.Errorf("there is no function %s", example)
	}
	body, _, _ = strings.Cut(body, "\n}\n")
	_, lines, found := strings.Cut(body, saying)
	if !found {
		return "", fmt.Errorf("%s does not say what it prints", example)
	}
	return strings.ReplaceAll(lines, "\t// ", "") + "\n", nil
}

// printed returns what f writes to the standard output.
func printed(f func()) (string, error) {
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	os.Stdout = w
	output := make(chan string)
	go func() {
		text, err := io.ReadAll(r)
		if err != nil {
			text = append(text, err.Error()...)
		}
		output <- string(text)
	}()
	func() {
		defer func() { _ = w.Close() }() // even if f panics
		f()
	}()
	return <-output, r.Close()
}
