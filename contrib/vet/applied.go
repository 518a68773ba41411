package vet

import (
	"go/ast"
	"go/types"
)

// The results of appends that are examined.
const resultType = library + "/timeseries.Result"

// outcome are the fields of a timeseries.Result that say what became of the event.
var outcome = map[string]bool{"Applied": true, "Reason": true, "Existing": true}

// appendCall examines a call of Append or AppendAll: what it returns must be looked at. around are the nodes that contain it.
func (x *examiner) appendCall(call *ast.CallExpr, around []ast.Node) {
	f, _ := x.callee(call)
	if !checkApplied || f == nil || f.Pkg().Path() != library+"/timeseries" || f.Signature().Results().Len() != 2 || !isResult(f.Signature().Results().At(0).Type()) {
		return
	}
	ignored := false
	switch n := around[len(around)-1].(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		ignored = true
	case *ast.AssignStmt:
		ignored = x.unread(n.Lhs[0])
	case *ast.ValueSpec:
		ignored = x.unread(n.Names[0])
	}
	if ignored {
		x.complain(call.Pos(), "applied", "the result of "+f.Name()+" is not read: its Applied and Reason say whether the event was stored")
	}
}

// isResult reports whether t is a timeseries.Result or a list of them.
func isResult(t types.Type) bool {
	if s, ok := t.(*types.Slice); ok {
		t = s.Elem()
	}
	return pathOf(t) == resultType
}

// unread reports whether a result that is assigned to e is not looked at.
func (x *examiner) unread(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	v := x.TypesInfo.ObjectOf(id)
	return id.Name == "_" || v != nil && v.Parent() != x.Pkg.Scope() && !x.read[v]
}

// use notes that a variable is looked at. around are the nodes that contain its identifier.
func (x *examiner) use(id *ast.Ident, around []ast.Node) {
	v, ok := x.TypesInfo.Uses[id].(*types.Var)
	if !ok {
		return
	}
	switch n := around[len(around)-1].(type) {
	case *ast.SelectorExpr:
		if n.X == id && isResult(v.Type()) && !outcome[n.Sel.Name] {
			return
		}
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			blank, ok := to.(*ast.Ident)
			if to == id || ok && blank.Name == "_" && i < len(n.Rhs) && n.Rhs[i] == id {
				return
			}
		}
	}
	x.read[v] = true
}
