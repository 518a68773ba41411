package declaretest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
)

// scope has the types that a section declares, and those of the archive around it.
type scope struct {
	types Types
	outer *scope
	exprs map[string]ast.Expr
	order []string
	built map[string]reflect.Type // nil while a type is being built
	cases []written
}

// read parses the type declarations in text.
func read(text string, outer *scope) (*scope, error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package declarations\n"+text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	s := &scope{types: outer.types, outer: outer, exprs: map[string]ast.Expr{}, built: map[string]reflect.Type{}}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.TYPE {
			return nil, errors.New("a section declares types only")
		}
		for _, one := range group.Specs {
			spec := one.(*ast.TypeSpec)
			name := spec.Name.Name
			if s.exprs[name] != nil {
				return nil, errors.New("the section declares " + name + " twice")
			}
			s.exprs[name], s.order = spec.Type, append(s.order, name)
			if spec.Comment != nil {
				verdicts, err := parseVerdicts(spec.Comment.Text())
				if err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
				s.cases = append(s.cases, written{name, verdicts})
			}
		}
	}
	return s, nil
}

// unused are the types that were never built: neither a case nor part of one.
func (s *scope) unused() []string {
	var names []string
	for _, name := range s.order {
		if s.built[name] == nil {
			names = append(names, name)
		}
	}
	return names
}

var basic = Types{
	"any": reflect.TypeFor[any](), "bool": reflect.TypeFor[bool](), "byte": reflect.TypeFor[byte](), "error": reflect.TypeFor[error](), "string": reflect.TypeFor[string](),
	"int": reflect.TypeFor[int](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](), "int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](),
	"uint": reflect.TypeFor[uint](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](), "uint32": reflect.TypeFor[uint32](), "uint64": reflect.TypeFor[uint64](),
	"float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](), "complex128": reflect.TypeFor[complex128](),
}

// named returns the type that name stands for.
func (s *scope) named(name string) (reflect.Type, error) {
	for in := s; in != nil; in = in.outer {
		e, ok := in.exprs[name]
		if !ok {
			continue
		}
		typ, begun := in.built[name]
		if typ != nil {
			return typ, nil
		}
		if begun {
			return nil, errors.New(name + " contains itself, which reflect cannot build")
		}
		in.built[name] = nil
		typ, err := in.typeOf(e)
		in.built[name] = typ
		return typ, err
	}
	if typ, ok := s.types[name]; ok {
		return typ, nil
	}
	if typ, ok := basic[name]; ok {
		return typ, nil
	}
	return nil, errors.New("nothing declares the type " + name)
}

// typeOf builds the type that e denotes.
func (s *scope) typeOf(e ast.Expr) (reflect.Type, error) {
	switch e := e.(type) {
	case *ast.Ident:
		return s.named(e.Name)
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			return s.named(pkg.Name + "." + e.Sel.Name)
		}
	case *ast.StarExpr:
		return derive(s, e.X, reflect.PointerTo)
	case *ast.ArrayType:
		if e.Len == nil {
			return derive(s, e.Elt, reflect.SliceOf)
		}
		if lit, ok := e.Len.(*ast.BasicLit); ok {
			n, err := strconv.Atoi(lit.Value)
			if err != nil {
				return nil, err
			}
			return derive(s, e.Elt, func(elem reflect.Type) reflect.Type { return reflect.ArrayOf(n, elem) })
		}
	case *ast.MapType:
		k, err := s.typeOf(e.Key)
		if err != nil {
			return nil, err
		}
		return derive(s, e.Value, func(elem reflect.Type) reflect.Type { return reflect.MapOf(k, elem) })
	case *ast.ChanType:
		return derive(s, e.Value, func(elem reflect.Type) reflect.Type { return reflect.ChanOf(reflect.BothDir, elem) })
	case *ast.FuncType:
		if e.Params.NumFields() == 0 && e.Results.NumFields() == 0 {
			return reflect.TypeFor[func()](), nil
		}
	case *ast.StructType:
		fields, err := s.fieldsOf(e)
		if err != nil {
			return nil, err
		}
		return structOf(fields)
	}
	return nil, fmt.Errorf("a type of this kind is not supported: %T", e)
}

func derive(s *scope, from ast.Expr, f func(reflect.Type) reflect.Type) (reflect.Type, error) {
	elem, err := s.typeOf(from)
	if err != nil {
		return nil, err
	}
	return f(elem), nil
}

// structOf is reflect.StructOf with an error for what it cannot build.
func structOf(fields []reflect.StructField) (typ reflect.Type, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return reflect.StructOf(fields), nil
}

// fieldsOf builds the fields of e; those of an included struct stand where they are included.
func (s *scope) fieldsOf(e *ast.StructType) ([]reflect.StructField, error) {
	var all []reflect.StructField
	for _, f := range e.Fields.List {
		typ, err := s.typeOf(f.Type)
		if err != nil {
			return nil, err
		}
		if len(f.Names) == 1 && f.Names[0].Name == "include" {
			for i := range typ.NumField() {
				all = append(all, typ.Field(i))
			}
			continue
		}
		field := reflect.StructField{Type: typ}
		if f.Tag != nil {
			text, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				return nil, err
			}
			field.Tag = reflect.StructTag(text)
		}
		names := f.Names
		if len(names) == 0 {
			field.Anonymous = true
			names = []*ast.Ident{embeddedName(f.Type)}
		}
		for _, name := range names {
			if field.Name = name.Name; !name.IsExported() {
				field.PkgPath = "declarations"
			}
			all = append(all, field)
		}
	}
	return all, nil
}

// embeddedName is the name that an embedded field of type e has.
func embeddedName(e ast.Expr) *ast.Ident {
	switch e := e.(type) {
	case *ast.StarExpr:
		return embeddedName(e.X)
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.Ident:
		return e
	}
	return ast.NewIdent("")
}
