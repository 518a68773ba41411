package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"maps"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// options adds those of a call of New to spec. It reports false if one of them is not known before the program runs.
func (x *examiner) options(d *declaration, call *ast.CallExpr, spec *bind.Options) bool {
	if call.Ellipsis.IsValid() || len(call.Args) == 0 {
		return false
	}
	if _, several := x.TypesInfo.TypeOf(call.Args[0]).(*types.Tuple); several {
		return false
	}
	var opts []entity.StoreOption
	var steps []bind.Upgrade
	for _, arg := range call.Args[1:] {
		c, ok := ast.Unparen(arg).(*ast.CallExpr)
		if !ok {
			return false
		}
		f, args := x.callee(c)
		var v constant.Value
		if f != nil && len(c.Args) > 0 {
			v = x.TypesInfo.Types[c.Args[0]].Value
		}
		switch {
		case f == nil:
			return false
		case is(f, "/lifecycle", "NoExpiry"):
			opts = append(opts, lifecycle.NoExpiry())
		case v == nil:
			return false
		case is(f, "/lifecycle", "After"):
			n, _ := constant.Int64Val(v)
			opts = append(opts, lifecycle.After(time.Duration(n)))
		case is(f, "/entity", "Named"):
			opts = append(opts, entity.Named(constant.StringVal(v)))
		case is(f, "/entity", "Upgrade"):
			from, _ := constant.Int64Val(v)
			before, after := x.declaration(args.At(0)), x.declaration(args.At(1))
			if before.conv.unsure+after.conv.unsure != "" {
				return false
			}
			maps.Copy(d.conv.spoken, before.conv.spoken)
			steps = append(steps, bind.Upgrade{From: int(from), Old: before.made, New: after.made})
		default:
			return false
		}
	}
	handle := spec.Handle
	*spec = *bind.Collect(opts)
	spec.Handle, spec.Upgrades = handle, steps
	return true
}

// is reports whether f is the function of that name in a package of this module.
func is(f *types.Func, pkg, name string) bool {
	return f.Name() == name && f.Pkg().Path() == library+pkg && f.Signature().Recv() == nil
}
