package vet

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// declaredNames returns what a blank field of an entity declares under the type of a package: the names of these declarations, "" for one without.
func declaredNames(t types.Type, declaration string) (names []string) {
	s, ok := t.Underlying().(*types.Struct)
	for i := 0; ok && i < s.NumFields(); i++ {
		if pathOf(s.Field(i).Type()) == library+declaration {
			names = append(names, reflect.StructTag(s.Tag(i)).Get("name"))
		}
	}
	return names
}

// A handleKind is a type of handles, by what an entity must declare for it.
type handleKind struct {
	declarations []string // one of these
	code         string
	missing      string // what is wrong without it
	named        bool   // by one of the declarations
}

var (
	ofIndex   = handleKind{[]string{"/entity.GSI", "/entity.LSI"}, schema.CodeUnknownIndex, "there is no index declared", true}
	ofUnique  = handleKind{[]string{"/unique.Constraint"}, schema.CodeHandle, "there is no unique constraint", true}
	ofHistory = handleKind{[]string{"/versioned.Retain"}, schema.CodeHandle, "the struct lacks the declaration versioned.Retain", false}
	ofDeleted = handleKind{[]string{"/lifecycle.SoftDelete"}, schema.CodeHandle, "the struct lacks the declaration lifecycle.SoftDelete", false}
)

// boundKinds are the types of fields of a struct that entity.Bind opens, each with what its entity must declare. Those of stores and of what
// is of no entity need nothing.
var boundKinds = map[string]*handleKind{
	library + "/entity.Store": {}, library + "/timeseries.Series": {}, library + "/lease.Leases": {}, library + "/timeline.View": {},
	library + "/entity.Index": &ofIndex, library + "/lifecycle.Index": &ofIndex, library + "/unique.Lookup": &ofUnique,
	library + "/versioned.History": &ofHistory, library + "/lifecycle.Deleted": &ofDeleted,
}

// problem returns why there is no handle of this kind with that name for the entity, "" if there is one.
func (k handleKind) problem(entity types.Type, name string) string {
	var known []string
	for _, d := range k.declarations {
		known = append(known, declaredNames(entity, d)...)
	}
	switch {
	case len(k.declarations) == 0 || k.named && slices.Contains(known, name) || !k.named && len(known) > 0:
		return ""
	case !k.named:
		return k.missing
	}
	text := fmt.Sprintf("%s with the name %q", k.missing, name)
	if len(known) > 0 {
		text += "; declared are " + strings.Join(known, ", ")
	}
	return text
}

// handleCall examines a call that opens a handle of an entity: Index, unique.Of, versioned.Of, lifecycle.Of, or entity.Bind.
func (x *examiner) handleCall(call *ast.CallExpr) {
	f, args := x.callee(call)
	if f == nil || len(call.Args) == 0 {
		return
	}
	var entity types.Type
	kind, at := handleKind{}, call.Args[len(call.Args)-1]
	switch recv := f.Signature().Recv(); {
	case is(f, "/entity", "Bind") && args.Len() == 1:
		x.bound(call, args.At(0))
		return
	case recv != nil && f.Name() == "Index" && len(call.Args) == 1:
		kind, entity = ofIndex, entityOf(recv.Type(), x.TypesInfo.TypeOf(call.Fun.(*ast.SelectorExpr).X))
	case args.Len() != 1:
		return
	case is(f, "/unique", "Of"):
		kind, entity = ofUnique, args.At(0)
	case is(f, "/versioned", "Of"):
		kind, entity = ofHistory, args.At(0)
	case is(f, "/lifecycle", "Of"):
		kind, entity = ofDeleted, args.At(0)
	}
	if entity == nil || !keyed(entity) {
		return
	}
	name := ""
	if kind.named {
		v := x.TypesInfo.Types[at].Value
		if v == nil || v.Kind() != constant.String {
			return
		}
		name = constant.StringVal(v)
	}
	if problem := kind.problem(entity, name); problem != "" {
		x.complain(at.Pos(), kind.code, problem)
	}
}

// entityOf returns the entity of a handle whose method is called, nil if that is not a handle of this library.
func entityOf(declared, handle types.Type) types.Type {
	if p, ok := declared.(*types.Pointer); ok {
		declared = p.Elem()
	}
	if handle == nil || !strings.HasPrefix(pathOf(declared), library+"/") {
		return nil
	}
	if p, ok := types.Unalias(handle).(*types.Pointer); ok {
		handle = p.Elem()
	}
	n, ok := types.Unalias(handle).(*types.Named)
	if !ok || n.TypeArgs().Len() != 1 || pathOf(n) != pathOf(declared) { // it may be embedded
		return nil
	}
	return n.TypeArgs().At(0)
}

// bound examines the fields of a struct that entity.Bind opens, each where it is declared if that is in this package.
func (x *examiner) bound(call *ast.CallExpr, t types.Type) {
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	stores := map[string]string{}
	var visit func(s *types.Struct)
	visit = func(s *types.Struct) {
		for i := range s.NumFields() {
			f, tag := s.Field(i), reflect.StructTag(s.Tag(i)).Get("entity")
			at := f.Pos()
			if !x.here(at) {
				at = call.Pos()
			}
			if inner, ok := f.Type().Underlying().(*types.Struct); ok {
				visit(inner)
				continue
			}
			p, ok := types.Unalias(f.Type()).(*types.Pointer)
			if !ok || !f.Exported() {
				continue
			}
			n, _ := types.Unalias(p.Elem()).(*types.Named)
			if n == nil || boundKinds[pathOf(n)] == nil {
				x.complain(at, schema.CodeBind, f.Name()+" is no handle that Bind opens")
				continue
			}
			if n.TypeArgs().Len() != 1 || !keyed(n.TypeArgs().At(0)) {
				continue
			}
			kind, entity := boundKinds[pathOf(n)], n.TypeArgs().At(0)
			if kind.declarations == nil {
				if other := stores[entity.String()]; other != "" {
					x.complain(at, schema.CodeBind, f.Name()+" is a second store of the entity of "+other)
				}
				stores[entity.String()] = f.Name()
			} else if problem := kind.problem(entity, tag); problem != "" {
				x.complain(at, kind.code, problem)
			}
		}
	}
	visit(s)
}

// queryCall examines the partition of a query that is given as a literal: the fields of its partition key must be in it.
func (x *examiner) queryCall(call *ast.CallExpr) {
	f, _ := x.callee(call)
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if f == nil || f.Name() != "Query" || f.Signature().Recv() == nil || !ok || len(call.Args) == 0 {
		return
	}
	entity := entityOf(f.Signature().Recv().Type(), x.TypesInfo.TypeOf(sel.X))
	lit, ok := ast.Unparen(call.Args[0]).(*ast.CompositeLit)
	if entity == nil || !ok || !keyed(entity) || generic(entity) {
		return
	}
	s := x.declaration(entity).compiled()
	if s == nil {
		return
	}
	given := map[string]bool{}
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok { // all fields are given
			return
		}
		given[kv.Key.(*ast.Ident).Name] = true
	}
	key := s.PK
	if strings.HasSuffix(pathOf(f.Signature().Recv().Type().(*types.Pointer).Elem()), ".Index") {
		i := slices.IndexFunc(s.Indexes, func(i *schema.Index) bool { return i.Name == x.readFrom(sel.X, 0) })
		if i < 0 {
			return
		}
		key = s.Indexes[i].PK
	}
	for _, part := range key.Parts {
		if field, _, _ := strings.Cut(part.Field, "."); !given[field] && !part.AllowsZero() {
			x.complain(call.Args[0].Pos(), bind.CodeKeyPart, "the query lacks "+part.Field+", a part of the partition key: a query reads one partition; Scan reads all")
		}
	}
}

// exclusive are options of one call that contradict each other.
var exclusive = [][2]string{
	{library + "/entity.Segment", library + "/entity.Segments"},
	{library + "/versioned.Expect", library + "/versioned.AnyVersion"},
	{library + "/migrate.DryRun", library + "/migrate.Checkpoint"},
	{library + "/migrate.DryRun", library + "/migrate.Restart"},
	{library + "/entity.MaxEvaluated", library + "/entity.Segments"},
	{library + "/entity.MaxRequests", library + "/entity.Segments"},
}

// optionsCall examines the options of a call that are calls themselves.
func (x *examiner) optionsCall(call *ast.CallExpr) {
	given := map[string]token.Pos{}
	for _, arg := range call.Args {
		if c, ok := ast.Unparen(arg).(*ast.CallExpr); ok {
			if f, _ := x.callee(c); f != nil && strings.HasPrefix(f.Pkg().Path(), library+"/") && f.Signature().Recv() == nil {
				given[f.Pkg().Path()+"."+f.Name()] = c.Pos()
			}
		}
	}
	for _, pair := range exclusive {
		if at, ok := given[pair[0]]; ok && given[pair[1]].IsValid() {
			x.complain(at, bind.CodeOption, pair[0][strings.LastIndex(pair[0], "/")+1:]+" and "+pair[1][strings.LastIndex(pair[1], "/")+1:]+" exclude each other")
		}
	}
}

// inert are the types of values that do nothing until they are run.
var inert = map[string]string{
	library + "/entity.Write": "the write is never run: give it to DB.Transact",
	library + "/entity.Op":    "the operation is never run: give it to DB.Transact",
	library + "/entity.Query": "the query is never run: call All, Collect, First, One, Page or Count",
}

// unrunCall examines a call that returns an operation or a query: the program must use it. around are the nodes that contain it.
func (x *examiner) unrunCall(call *ast.CallExpr, around []ast.Node) {
	f, _ := x.callee(call)
	if !checkUnrun || f == nil || !strings.HasPrefix(f.Pkg().Path(), library) {
		return
	}
	problem := inert[pathOf(x.TypesInfo.TypeOf(call))]
	ignored := false
	switch n := around[len(around)-1].(type) {
	case *ast.ExprStmt, *ast.GoStmt, *ast.DeferStmt:
		ignored = true
	case *ast.AssignStmt:
		i := slices.Index(n.Rhs, ast.Expr(call))
		ignored = len(n.Lhs) == len(n.Rhs) && i >= 0 && x.unread(n.Lhs[i])
	case *ast.ValueSpec:
		i := slices.Index(n.Values, ast.Expr(call))
		ignored = len(n.Names) == len(n.Values) && i >= 0 && x.unread(n.Names[i])
	}
	if problem != "" && ignored {
		x.complain(call.Pos(), "unrun", problem)
	}
}
