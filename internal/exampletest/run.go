// Package exampletest runs examples that need a database, for tests. They have no output that go test would compare,
// because there may be no database; each says at its end, after a line "// prints", what it prints.
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

// saying stands before what an example prints.
const saying = "\t// prints\n"

// Run runs the examples of file, by their names and one after the other, since they share the standard output. The
// error joins those that print something else than they say, and names an example in file that is not among them.
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

// said is what an example says that it prints.
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

// printed is what f writes to the standard output.
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
		defer func() { _ = w.Close() }() // also when f panics
		f()
	}()
	return <-output, r.Close()
}
