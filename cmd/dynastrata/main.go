// Command dynastrata shows what is in tables, from the schema lock of a program, and finds mistakes in its source text.
// docs/command.md has its commands.
package main

import (
	"context"
	"os"
	"path/filepath"

	"github.com/dynastrata/dynastrata/cmd/dynastrata/console"
	"github.com/dynastrata/dynastrata/contrib/vet"
)

func main() { console.Main(console.App{Vet: examine}) }

// examine finds mistakes in packages.
func examine(ctx context.Context, patterns ...string) (all []console.Mistake, err error) {
	found, err := vet.Check(ctx, "", patterns...)
	dir, _ := os.Getwd() // without it places are absolute
	for _, f := range found {
		if near, err := filepath.Rel(dir, f.Position.Filename); err == nil && filepath.IsLocal(near) {
			f.Position.Filename = near
		}
		all = append(all, console.Mistake{Place: f.Position.String(), Code: f.Code, Message: f.Message})
	}
	return all, err
}
