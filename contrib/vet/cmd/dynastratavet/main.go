// Command dynastratavet examines the declarations and calls of packages: by itself, or as a tool of go vet. docs/vet.md has its use.
package main

import (
	"golang.org/x/tools/go/analysis/singlechecker"

	"github.com/dynastrata/dynastrata/contrib/vet"
)

func main() { singlechecker.Main(vet.Analyzer) }
