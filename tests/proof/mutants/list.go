package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// mutant is one expression changed to another, and the test that has to fail with it.
type mutant struct {
	n         int    // its place in the list, from 1
	file      string // from the root of the library's module
	at        string // text around the expression, of one or several lines, which is in the file once
	was, is   string
	pkg, test string

	line int // set when it is applied; 0: it does not apply
}

// parse reads the list.
func parse(text string) ([]*mutant, error) {
	var all []*mutant
	m := &mutant{}
	for n, line := range strings.Split(text+"\n", "\n") {
		key, rest, _ := strings.Cut(line, " ")
		switch key {
		case "#":
		case "file":
			m.file = rest
		case "at":
			if m.at != "" {
				m.at += "\n"
			}
			m.at += rest
		case "-":
			m.was = rest
		case "+":
			m.is = rest
		case "test":
			m.pkg, m.test, _ = strings.Cut(rest, " ")
		case "":
			if *m == (mutant{}) {
				continue
			}
			if m.at == "" {
				m.at = m.was
			}
			if m.file == "" || m.was == "" || m.is == "" || m.test == "" || m.was == m.is || strings.Count(m.at, m.was) != 1 {
				return nil, fmt.Errorf("mutants.txt:%d: an entry needs file, -, + and test, and - once in at", n)
			}
			m.n = len(all) + 1
			all, m = append(all, m), &mutant{}
		default:
			return nil, fmt.Errorf("mutants.txt:%d: unknown word %q", n+1, key)
		}
	}
	return all, nil
}

// apply puts the choice between both expressions into the text of the file; it is as it was when the mutant is stale.
func (m *mutant) apply(text string) string {
	if strings.Count(text, m.at) != 1 {
		return text
	}
	before, after, _ := strings.Cut(text, m.at)
	m.line = strings.Count(before, "\n") + 1
	choice := fmt.Sprintf("mutation.Pick(%d, %s, %s)", m.n, m.was, m.is)
	if m.is == zero {
		choice = fmt.Sprintf("mutation.Drop(%d, %s)", m.n, m.was)
	}
	return before + strings.Replace(m.at, m.was, choice, 1) + after
}

// zero stands for the zero value of the expression's type: no condition.
const zero = "zero"

// chooser is the file of the package that chooses, and helper its text.
const chooser = "internal/mutation/mutation.go"

const helper = `// Package mutation chooses between an expression and a changed one.
package mutation

import (
	"os"
	"strconv"
)

var chosen, _ = strconv.Atoi(os.Getenv("DYNASTRATA_MUTANT"))

// Pick returns is when change n is in force, else was.
func Pick[T any](n int, was, is T) T {
	if n == chosen {
		return is
	}
	return was
}

// Drop returns nothing when change n is in force, else was.
func Drop[T any](n int, was T) (is T) {
	return Pick(n, was, is)
}
`

// changed are the files with all changes in them, by path from the root, the helper among them.
func changed(root, module string, all []*mutant) (map[string]string, error) {
	files := map[string]string{chooser: helper}
	for _, m := range all {
		text, known := files[m.file]
		if !known {
			content, err := os.ReadFile(filepath.Join(root, m.file))
			if os.IsNotExist(err) {
				continue // stale
			}
			if err != nil {
				return nil, err
			}
			text = string(content)
		}
		if files[m.file] = m.apply(text); !known && m.line == 0 {
			delete(files, m.file)
		}
	}
	for name, text := range files {
		if name == chooser {
			continue
		}
		at := strings.Index("\n"+text, "\npackage ")
		end := at + strings.Index(text[at:], "\n")
		files[name] = text[:end] + "; import \"" + module + "/internal/mutation\"" + text[end:]
	}
	return files, nil
}
