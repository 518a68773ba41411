package vet

import (
	"go/ast"

	"github.com/dynastrata/dynastrata/internal/write"
)

// options adds those of a call of New to spec. It reports false if one is not known before the program runs.
func (x *examiner) options(call *ast.CallExpr, spec *write.Options) bool { return len(call.Args) == 1 }
