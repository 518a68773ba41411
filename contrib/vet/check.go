package vet

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"slices"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"
)

// Finding is a mistake in a package.
type Finding struct {
	Position token.Position
	Code     string // as in docs/codes.md, "applied" or "lock"
	Message  string // with the code
}

// Check examines the packages that patterns name, as they do for the go command in directory dir, and their tests. It returns what it
// finds in the order of files. An error says that a package cannot be loaded or compiled. It runs the go command, which compiles what
// the packages import.
func Check(ctx context.Context, dir string, patterns ...string) ([]Finding, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.LoadSyntax | packages.NeedModule, Dir: dir, Tests: true}, patterns...)
	if err != nil {
		return nil, err
	}
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("package %s: %w", p.PkgPath, p.Errors[0])
		}
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{Analyzer}, pkgs, nil)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, a := range graph.Roots {
		if a.Err != nil {
			return nil, a.Err
		}
		for _, d := range a.Diagnostics {
			found = append(found, Finding{a.Package.Fset.Position(d.Pos), d.Category, d.Message})
		}
	}
	slices.SortFunc(found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Position.Filename, b.Position.Filename), cmp.Compare(a.Position.Offset, b.Position.Offset), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(found), nil // a package and its tests have the same mistakes
}
