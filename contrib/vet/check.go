package vet

import (
	"context"
	"fmt"
	"io"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Check examines the packages that patterns name, as the go command does, in directory dir, "" for the current one, and their tests.
// It writes a line to out for each mistake and returns how many there are. An error says that a package cannot be loaded or compiled.
// It runs the go command and compiles what the packages import, as go build does.
func Check(ctx context.Context, out io.Writer, dir string, patterns ...string) (int, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir, Tests: true}, patterns...)
	if err != nil {
		return 0, err
	}
	if len(pkgs) == 0 {
		return 0, fmt.Errorf("no packages match %q", patterns)
	}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return 0, p.Errors[0]
		}
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, pkgs, nil)
	if err != nil {
		return 0, err
	}
	lines := map[string]bool{} // a package and its test variant have the same mistakes
	for _, a := range graph.Roots {
		if a.Err != nil {
			return 0, a.Err
		}
		for _, d := range a.Diagnostics {
			line := fmt.Sprintf("%s: %s\n", a.Package.Fset.Position(d.Pos), d.Message)
			if lines[line] {
				continue
			}
			lines[line] = true
			if _, err := io.WriteString(out, line); err != nil {
				return len(lines), err
			}
		}
	}
	return len(lines), nil
}
