// Package exampletest runs examples that need a database, for tests. Such examples have no output for go test to compare,
// because there may be no database. Each has its output at its end, after a line "// prints".
package exampletest

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// saying precedes the output of an example.
const saying = "\t// prints\n"

// Run runs the examples of file in the order of their names, one after the other, since they share the standard output. The
// error joins those whose output differs, and reports an example in file that is not in examples.
func Run(file string, examples map[string]func()) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	source := string(text)
	var errs []error
	if n := strings.Count(source, saying); n != len(examples) || n == 0 {
		errs = append(errs, fmt.Errorf("%s has %d examples that say what they print, %d are run", file, n, len(examples)))
	}
	for _, name := range slices.Sorted(maps.Keys(examples)) {
		want, err := said(source, name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		got, err := printed(examples[name])
		if err != nil {
			return err
		}
		if got != want {
			errs = append(errs, fmt.Errorf("%s says that it prints\n%sand prints\n%s", name, want, got))
		}
	}
	return errors.Join(errs...)
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
