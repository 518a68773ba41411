// Package vet finds mistakes in the declarations of entities, and in calls, without running the program.
package vet

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/types/typeutil"

	"github.com/dynastrata/dynastrata/internal/bind"
)

// Analyzer reports the mistakes of declarations that entity.New and timeseries.New would return, each at its field and with its code,
// addresses that are not of a prototype, changes of attributes that the caller may not change, options that New refuses or that contradict
// each other, names of indexes and constraints and handles that the struct does not declare, also of fields for entity.Bind, queries
// without their partition key, operations and queries that are never run, results of appends that are ignored, and what versioned.Lock does
// not notice. What depends on entity.Config, or on the other entities of a table, is left to New.
var Analyzer = &analysis.Analyzer{
	Name: "dynastrata",
	Doc:  "report mistakes in the declarations and calls of github.com/dynastrata/dynastrata",
	URL:  "https://" + library + "/blob/main/docs/vet.md",
	Run:  run,
}

// checkApplied and checkUnrun are flags of the analyzer.
var checkApplied, checkUnrun bool

func init() {
	Analyzer.Flags.BoolVar(&checkLock, "lock", true, "report entities with versioned.Lock that do not notice when an item is created again, and writes of structs without their version")
	Analyzer.Flags.BoolVar(&checkUnrun, "unrun", true, "report operations and queries that are never run")
	Analyzer.Flags.BoolVar(&checkApplied, "applied", true, "report results of Append and AppendAll that are not read")
}

// examiner examines one package.
type examiner struct {
	*analysis.Pass
	declarations typeutil.Map    // by type: *declaration
	reported     map[string]bool // position and message
	calls        typeutil.Map    // by type: true if New is called for it here
	assigned     map[*types.Var][]ast.Expr
	sources      map[*types.Var][]ast.Expr // as assigned, with calls that have several results
	read         map[types.Object]bool     // variables with results of appends that are looked at
}

func run(pass *analysis.Pass) (any, error) {
	x := &examiner{Pass: pass, reported: map[string]bool{}, assigned: map[*types.Var][]ast.Expr{}, sources: map[*types.Var][]ast.Expr{}, read: map[types.Object]bool{}}
	x.each(func(n ast.Node, around []ast.Node) {
		x.assignments(n)
		x.results(n)
		if id, ok := n.(*ast.Ident); ok {
			x.use(id, around)
		}
	})
	x.each(func(n ast.Node, around []ast.Node) {
		if call, ok := n.(*ast.CallExpr); ok {
			x.newCall(call)
			x.fieldCall(call)
			x.staleCall(call)
			x.appendCall(call, around)
			x.handleCall(call)
			x.queryCall(call)
			x.optionsCall(call)
			x.unrunCall(call, around)
		}
	})
	x.each(func(n ast.Node, _ []ast.Node) {
		if spec, ok := n.(*ast.TypeSpec); ok {
			x.typeSpec(spec)
		}
	})
	return nil, nil
}

// each calls f for every node of the package, with those around it.
func (x *examiner) each(f func(n ast.Node, around []ast.Node)) {
	for _, file := range x.Files {
		ast.PreorderStack(file, nil, func(n ast.Node, around []ast.Node) bool {
			f(n, around)
			return true
		})
	}
}

func (x *examiner) complain(at token.Pos, code, problem string) {
	d := analysis.Diagnostic{Pos: at, Category: code, Message: problem}
	if strings.HasPrefix(code, "EDD-") {
		d.Message = code + ": " + problem
	}
	if once := fmt.Sprint(at, d.Message); !x.reported[once] {
		x.reported[once] = true
		x.Report(d)
	}
}

// declaration returns the entity of type t.
func (x *examiner) declaration(t types.Type) *declaration {
	if d, ok := x.declarations.At(t).(*declaration); ok {
		return d
	}
	d := newDeclaration(t)
	x.declarations.Set(t, d)
	return d
}

// here reports whether a position is in the package.
func (x *examiner) here(p token.Pos) bool {
	for _, f := range x.Files {
		if f.FileStart <= p && p <= f.FileEnd {
			return true
		}
	}
	return false
}

func (x *examiner) report(d *declaration, found []mistake, name, call token.Pos) {
	for _, m := range found {
		otherwise := name
		if m.call {
			otherwise = call
		}
		x.complain(d.position(m, x.here, otherwise), m.code, d.conv.say(m.problem))
	}
}

// typeSpec examines a declared type that has a primary key, unless a call of New has examined it, or it is another name of one.
func (x *examiner) typeSpec(spec *ast.TypeSpec) {
	obj, ok := x.TypesInfo.Defs[spec.Name].(*types.TypeName)
	if !ok || obj.IsAlias() && pathOf(obj.Type()) != "" || x.calls.At(obj.Type()) != nil || !keyed(obj.Type()) || generic(obj.Type()) {
		return
	}
	d := x.declaration(obj.Type())
	x.report(d, d.mistakes(anyStore()...), spec.Name.Pos(), spec.Name.Pos())
	x.lock(d)
}

// generic reports whether t is a generic type itself.
func generic(t types.Type) bool {
	n, ok := types.Unalias(t).(*types.Named)
	return ok && n.TypeParams().Len() > n.TypeArgs().Len()
}

// keyed reports whether a struct type declares a primary key.
func keyed(t types.Type) bool {
	s, ok := t.Underlying().(*types.Struct)
	for i := 0; ok && i < s.NumFields(); i++ {
		if markers[pathOf(s.Field(i).Type())] == keyMarker {
			return true
		}
	}
	return false
}

var keyMarker = markers[library+"/entity.Key"]

// newCall examines a call of New: its type argument and its options.
func (x *examiner) newCall(call *ast.CallExpr) {
	f, args := x.callee(call)
	if f == nil || f.Name() != "New" || args.Len() != 1 || f.Signature().Recv() != nil {
		return
	}
	spec := &bind.Options{}
	switch f.Pkg().Path() {
	case library + "/entity":
	case library + "/timeseries":
		spec.Handle = f.Pkg().Name() + "." + f.Name()
	default:
		return
	}
	t := types.Unalias(args.At(0))
	if _, param := t.(*types.TypeParam); param {
		return
	}
	d := x.declaration(t)
	specs := []*bind.Options{spec}
	if !x.options(d, call, spec) { // unknown ones
		specs = anyStore()
	}
	x.calls.Set(t, true)
	x.lock(d)
	name, found, own := call.Pos(), d.mistakes(specs...), d.mistakes(anyStore()...)
	if n, ok := t.(*types.Named); ok && x.here(n.Obj().Pos()) {
		name = n.Obj().Pos()
	} else if ok && keyed(t) && n.TypeArgs().Len() == 0 { // the struct is examined in its own package
		found = without(found, own)
	}
	for _, m := range found {
		if len(call.Args) > 1 && len(without([]mistake{m}, own)) > 0 { // the options have it
			x.complain(call.Pos(), m.code, d.conv.say(m.problem))
		} else {
			x.report(d, []mistake{m}, name, call.Pos())
		}
	}
}

// callee returns the declared function that is called, or nil, and its type arguments.
func (x *examiner) callee(call *ast.CallExpr) (*types.Func, *types.TypeList) {
	f, ok := typeutil.Callee(x.TypesInfo, call).(*types.Func)
	if !ok || f.Pkg() == nil {
		return nil, nil
	}
	return f, x.TypesInfo.Instances[calledName(call)].TypeArgs
}

// calledName returns the identifier of the called function.
func calledName(call *ast.CallExpr) *ast.Ident {
	e := ast.Unparen(call.Fun)
	switch f := e.(type) {
	case *ast.IndexExpr:
		e = f.X
	case *ast.IndexListExpr:
		e = f.X
	}
	switch f := e.(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}
