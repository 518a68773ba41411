package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// kinds are the functions and methods that make changes.
var kinds = map[string]expr.Kind{
	"Set": expr.Set, "SetIfNotExists": expr.SetIfNotExists, "Remove": expr.Remove, "Add": expr.Add, "ListAppend": expr.ListAppend,
	"ListPrepend": expr.ListPrepend, "AddToSet": expr.AddToSet, "DeleteFromSet": expr.DeleteFromSet, "AddKeys": expr.AddToSet, "DeleteKeys": expr.DeleteFromSet,
}

// fieldCall examines a call that takes the address of a field or changes what is at one.
func (x *examiner) fieldCall(call *ast.CallExpr) {
	f, _ := x.callee(call)
	if f == nil || !strings.HasPrefix(f.Pkg().Path(), library+"/") {
		return
	}
	if takesField(f) && len(call.Args) > 0 {
		x.address(call.Args[0])
	}
	kind, ok := kinds[f.Name()]
	if !ok || f.Pkg().Path() != library+"/entity" {
		return
	}
	if f.Signature().Recv() == nil && len(call.Args) > 0 {
		x.change(kind, call.Args[0], bind.Target{})
	} else if s, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		x.changeInside(kind, s.X)
	}
}

// takesField reports whether the first parameter of a function is the address of a field.
func takesField(f *types.Func) bool {
	p := f.Signature().Params()
	return f.Signature().Recv() == nil && p.Len() > 0 && p.At(0).Name() == "field"
}

// changeInside examines a change of a map entry or a list element.
func (x *examiner) changeInside(kind expr.Kind, path ast.Expr) {
	call, ok := ast.Unparen(path).(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	f, _ := x.callee(call)
	entry, elem := "any", 0
	switch {
	case f == nil:
	case is(f, "/entity", "Inside"):
		x.changeInside(kind, call.Args[0])
	case is(f, "/entity", "MapEntry"):
		x.change(kind, call.Args[0], bind.Target{Entry: &entry})
	case is(f, "/entity", "Elem"):
		x.change(kind, call.Args[0], bind.Target{Elem: &elem})
	}
}

// selected is a field of a variable or of the result of a call, such as e.Address.City.
type selected struct {
	root     ast.Expr
	entity   types.Type // the first that is selected from by a pointer, such as that of repository.fields.City; nil without one
	index    []int      // of the field in the entity, else in root, through embedded and nested structs
	indirect int        // how many pointers the selections go through
}

// selection returns what e selects. Without a root it is something else.
func (x *examiner) selection(e ast.Expr) selected {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident, *ast.CallExpr:
		return selected{root: e}
	case *ast.StarExpr: // the selection around it does not count it
		s := x.selection(e.X)
		s.indirect++
		return s
	case *ast.SelectorExpr:
		field, ok := x.TypesInfo.Selections[e]
		if !ok { // a variable of another package
			return selected{root: e.Sel}
		}
		s := x.selection(e.X)
		s.follow(field)
		return s
	}
	return selected{}
}

// follow adds a selection to s, with the embedded fields that it goes through.
func (s *selected) follow(field *types.Selection) {
	t := field.Recv()
	for _, i := range field.Index() {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			s.indirect++
			if t = p.Elem(); s.entity == nil && keyed(t) {
				s.entity, s.index = t, nil
			}
		}
		s.index = append(s.index, i)
		if of, ok := t.Underlying().(*types.Struct); ok && i < of.NumFields() {
			t = of.Field(i).Type()
		}
	}
}

// address examines an address that names an attribute: it must be of a prototype.
func (x *examiner) address(arg ast.Expr) {
	u, ok := ast.Unparen(arg).(*ast.UnaryExpr)
	if !ok || u.Op != token.AND {
		return
	}
	s := x.selection(u.X)
	id, ok := s.root.(*ast.Ident)
	if !ok {
		return
	}
	v, ok := x.TypesInfo.Uses[id].(*types.Var)
	if ok && (s.indirect == 0 || s.indirect == 1 && len(s.index) > 0 && x.ownsTarget(v)) {
		x.complain(arg.Pos(), bind.CodePointer, types.ExprString(arg)+" is in a value of the program; take the address of a field of entity.Fields")
	}
}

// ownsTarget reports whether all that is assigned to a variable are pointers to values that the program makes.
func (x *examiner) ownsTarget(v *types.Var) bool {
	if _, pointer := v.Type().Underlying().(*types.Pointer); !pointer {
		return false
	}
	values, ok := x.assigned[v]
	if !ok || v.Exported() && v.Parent() == x.Pkg.Scope() {
		return false
	}
	for _, e := range values {
		switch e := e.(type) {
		case *ast.UnaryExpr:
			if e.Op != token.AND {
				return false
			}
			if _, made := ast.Unparen(e.X).(*ast.CompositeLit); !made && x.selection(e.X).indirect > 0 {
				return false
			}
		case *ast.CallExpr:
			if id, ok := e.Fun.(*ast.Ident); !ok || x.TypesInfo.Uses[id] != types.Universe.Lookup("new") {
				return false
			}
		default:
			return false
		}
	}
	return len(values) > 0
}

// assign notes what is assigned to a variable; nil is something that is not known.
func (x *examiner) assign(to ast.Expr, value ast.Expr) {
	id, ok := ast.Unparen(to).(*ast.Ident)
	if !ok {
		return
	}
	v, ok := x.TypesInfo.ObjectOf(id).(*types.Var)
	if ok {
		x.assigned[v] = append(x.assigned[v], value)
	}
}

// assignments notes what a node assigns to variables.
func (x *examiner) assignments(n ast.Node) {
	pair := func(to, values []ast.Expr) {
		for i, t := range to {
			if len(values) == len(to) {
				x.assign(t, ast.Unparen(values[i]))
			} else if len(values) > 0 {
				x.assign(t, nil)
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		pair(n.Lhs, n.Rhs)
	case *ast.ValueSpec:
		var names []ast.Expr
		for _, name := range n.Names {
			names = append(names, name)
		}
		pair(names, n.Values)
	case *ast.RangeStmt:
		x.assign(n.Key, nil)
		x.assign(n.Value, nil)
	case *ast.UnaryExpr:
		if n.Op == token.AND { // others can assign
			x.assign(n.X, nil)
		}
	case *ast.Field: // parameters, results and receivers
		for _, name := range n.Names {
			x.assign(name, nil)
			x.read[x.TypesInfo.Defs[name]] = true // a result, by a bare return
		}
	}
}

// change examines a change at the address in arg, or inside it as target says.
func (x *examiner) change(kind expr.Kind, arg ast.Expr, target bind.Target) {
	e := ast.Unparen(arg)
	u, isAddress := e.(*ast.UnaryExpr)
	if isAddress {
		e = u.X
	}
	s := x.selection(e)
	if s.entity == nil || generic(s.entity) {
		return
	}
	d := x.declaration(s.entity)
	compiled := d.compiled()
	if compiled == nil {
		return
	}
	v, ok := fieldOf(schema.Prototype(d.made).Elem(), s.index)
	if !ok {
		return
	}
	if isAddress {
		v = v.Addr()
	}
	if v.Kind() != reflect.Pointer || !v.CanInterface() {
		return
	}
	target.Pointer = v.Interface()
	n, err := bind.Node(compiled, target)
	if err != nil { // the prototype lacks what the program has there
		return
	}
	for _, m := range mistakesOf(bind.MayChange(compiled, n, kind), nil) {
		x.complain(arg.Pos(), m.code, d.conv.say(m.problem))
	}
}

// fieldOf returns the field at an index, through pointers.
func fieldOf(v reflect.Value, index []int) (reflect.Value, bool) {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct || i >= v.NumField() {
			return v, false
		}
		v = v.Field(i)
	}
	return v, v.CanAddr()
}
