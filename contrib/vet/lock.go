package vet

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// checkLock is the flag lock of the analyzer.
var checkLock bool

// lock reports an entity with versioned.Lock that does not notice when an item is created again, at its declaration if that is here.
func (x *examiner) lock(d *declaration) {
	s := d.compiled()
	if !checkLock || s == nil || !s.LocksGiven || s.KeepsHistory || s.CreatedAt != nil {
		return
	}
	of, _ := d.typ.Underlying().(*types.Struct)
	for f := range of.Fields() {
		if pathOf(f.Type()) == library+"/versioned.Lock" && x.here(f.Pos()) {
			x.complain(f.Pos(), "lock", `versioned.Lock does not notice that an item was deleted and created again, since its versions begin at 1 again: add a time with entity:"created_at", or versioned.Retain`)
		}
	}
}

// results notes the variable that gets the first result of a call.
func (x *examiner) results(n ast.Node) {
	note := func(to, value ast.Expr) {
		if id, ok := to.(*ast.Ident); ok {
			if v, ok := x.TypesInfo.ObjectOf(id).(*types.Var); ok {
				x.sources[v] = append(x.sources[v], value)
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		for i, to := range n.Lhs {
			if len(n.Rhs) == len(n.Lhs) {
				note(to, n.Rhs[i])
			} else if i == 0 {
				note(to, n.Rhs[0])
			}
		}
	case *ast.ValueSpec:
		for i, to := range n.Names {
			if len(n.Values) == len(n.Names) {
				note(to, n.Values[i])
			} else if i == 0 && len(n.Values) > 0 {
				note(to, n.Values[0])
			}
		}
	case *ast.RangeStmt:
		note(n.Key, n.X) // of a query
		note(n.Value, n.X)
	}
}

// overwriting are the verbs that expect the state in a given struct.
var overwriting = map[string]bool{"Put": true, "Update": true, "Upsert": true, "Delete": true}

// staleCall examines a write of a struct that was read from an index which does not carry its version.
func (x *examiner) staleCall(call *ast.CallExpr) {
	f, _ := x.callee(call)
	if !checkLock || f == nil || f.Pkg().Path() != library+"/entity" || f.Signature().Recv() == nil || !overwriting[f.Name()] {
		return
	}
	for _, arg := range call.Args[:min(2, len(call.Args))] { // after the context, if there is one
		t := x.TypesInfo.TypeOf(arg)
		if t == nil || !keyed(t) || generic(t) {
			continue
		}
		s := x.declaration(types.Unalias(t)).compiled()
		if s == nil || !s.LocksGiven {
			return
		}
		name := x.readFrom(arg, 0)
		for _, index := range s.Indexes {
			if index.Name == name && !s.Carries(index, s.Version.Name) {
				x.complain(arg.Pos(), "lock", types.ExprString(arg)+" was read from the index "+name+", which does not carry its version: read the whole item before it is written, by Get or with entity.Hydrate")
			}
		}
		return
	}
}

// readFrom returns the name of the index that a value was read from, "" if that cannot be seen. Variables that get several values
// are not followed.
func (x *examiner) readFrom(e ast.Expr, depth int) string {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		v, ok := x.TypesInfo.ObjectOf(e).(*types.Var)
		if from := x.sources[v]; ok && len(from) == 1 && depth < 9 {
			return x.readFrom(from[0], depth+1)
		}
	case *ast.IndexExpr:
		return x.readFrom(e.X, depth)
	case *ast.UnaryExpr:
		if e.Op == token.AND {
			return x.readFrom(e.X, depth)
		}
	case *ast.CallExpr:
		f, _ := x.callee(e)
		s, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr)
		switch {
		case f == nil || f.Pkg().Path() != library+"/entity" && f.Pkg().Path() != library+"/internal/query":
		case f.Name() == "Must" && len(e.Args) == 1:
			return x.readFrom(e.Args[0], depth)
		case f.Signature().Recv() == nil || !ok:
		case f.Name() == "Index" && len(e.Args) == 1:
			if v := x.TypesInfo.Types[e.Args[0]].Value; v != nil && v.Kind() == constant.String {
				return constant.StringVal(v)
			}
		case f.Name() == "Query" || f.Name() == "QueryAny" || f.Name() == "Scan":
			for _, option := range e.Args {
				if c, ok := option.(*ast.CallExpr); !ok {
					continue
				} else if o, _ := x.callee(c); o != nil && is(o, "/entity", "Hydrate") {
					return ""
				}
			}
			return x.readFrom(s.X, depth)
		case f.Name() == "One" || f.Name() == "First" || f.Name() == "Collect" || f.Name() == "All":
			return x.readFrom(s.X, depth)
		}
	}
	return ""
}
