package calls_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// caller calls functions and methods with zero values, and what they return too, and notes who panics.
type caller struct {
	t       *testing.T
	calls   int
	panics  []string
	options []reflect.Value // what functions gave for zero values
}

// deep is how far what calls return is called in turn.
const deep = 2

var contextType = reflect.TypeFor[context.Context]()

// call calls f with zero values; of a context that is nil, and of one that is not. Variadic arguments are left out, and
// then one zero value.
func (c *caller) call(name string, f reflect.Value, depth int) {
	t := f.Type()
	for _, o := range c.options {
		if n := t.NumIn() - 1; depth == deep && t.IsVariadic() && o.Type().AssignableTo(t.In(n).Elem()) {
			in := []reflect.Value{}
			for i := range n {
				in = append(in, reflect.Zero(t.In(i)))
				if t.In(i) == contextType {
					in[i] = reflect.ValueOf(c.t.Context())
				}
			}
			c.results(name+" with an option", c.safely(name+" with an option", func() []reflect.Value { return f.Call(append(in, o)) }), 1)
		}
	}
	for variant := range 4 {
		var in []reflect.Value
		for i := range t.NumIn() {
			p := t.In(i)
			switch {
			case t.IsVariadic() && i == t.NumIn()-1:
				if variant >= 2 {
					in = append(in, reflect.Zero(p.Elem()))
				}
			case p == contextType && variant%2 == 1:
				in = append(in, reflect.ValueOf(c.t.Context()))
			default:
				in = append(in, reflect.Zero(p))
			}
		}
		if variant >= 2 && !t.IsVariadic() {
			return
		}
		c.results(name, c.safely(name, func() []reflect.Value { return f.Call(in) }), depth)
	}
}

func (c *caller) safely(name string, f func() []reflect.Value) (out []reflect.Value) {
	c.calls++
	defer func() {
		if p := recover(); p != nil {
			c.panics = append(c.panics, fmt.Sprintf("%s: %v%s", name, p, where(string(debug.Stack()))))
			out = nil
		}
	}()
	return f()
}

// where is the place of a panic in this module.
func where(stack string) string {
	for _, line := range strings.Split(stack, "\n") {
		if strings.Contains(line, ".go:") && strings.Contains(line, "dynastrata") && !strings.Contains(line, "tests/across/calls/") {
			at, _, _ := strings.Cut(strings.TrimSpace(line), " +")
			return " at " + at[strings.LastIndex(at, "dynastrata/")+len("dynastrata/"):]
		}
	}
	return ""
}

// results calls the methods of what a call returned, and runs its iterators.
func (c *caller) results(name string, out []reflect.Value, depth int) {
	for _, v := range out {
		for v.Kind() == reflect.Interface && !v.IsNil() {
			v = v.Elem()
		}
		switch {
		case v.Kind() == reflect.Interface || !v.IsValid():
		case v.Kind() == reflect.Func && v.Type().NumIn() == 1 && v.Type().NumOut() == 0 && v.Type().CanSeq2():
			c.safely(name+" range", func() []reflect.Value {
				n := 0
				for range v.Seq2() {
					if n++; n > 3 {
						break
					}
				}
				return nil
			})
		case depth > 0 && strings.Contains(v.Type().PkgPath()+pointed(v.Type()), "dynastrata"):
			c.methods(name, v, depth-1)
		}
	}
}

func pointed(t reflect.Type) string {
	if t.Kind() == reflect.Pointer {
		return t.Elem().PkgPath()
	}
	return ""
}

// methods calls every method of v.
func (c *caller) methods(name string, v reflect.Value, depth int) {
	for i := range v.NumMethod() {
		m := v.Type().Method(i).Name
		switch m { // called by this module when a store is built and when queries are joined, and by encoding/json
		case "Declare", "Source", "UnmarshalJSON":
			continue
		}
		if v.Kind() == reflect.Pointer && v.IsNil() {
			if _, byValue := v.Type().Elem().MethodByName(m); byValue {
				continue // Go itself panics
			}
		}
		c.call(name+"."+m, v.Method(i), depth)
	}
}

// declared lists the exported functions and types of a package.
func declared(t *testing.T, dir string) (funcs, types []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", dir, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					funcs = append(funcs, f.Name.Name+"."+d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && s.Name.IsExported() {
						types = append(types, f.Name.Name+"."+s.Name.Name)
					}
				}
			}
		}
	}
	return funcs, types
}

// The tables of functions and types are complete, so that what is added is called too.
func TestZero_TheTablesAreComplete(t *testing.T) {
	t.Parallel()
	for _, dir := range []string{"entity", "timeseries", "versioned", "lease", "lifecycle", "unique", "tables/schemalock", "timeline", "stream", "migrate", "tables"} {
		funcs, types := declared(t, dir)
		require.NotEmpty(t, funcs)
		for _, name := range funcs {
			_, listed := functions[name]
			assert.True(t, listed || exempt[name] != "", "list %s in functions, or say in exempt why it cannot be called", name)
		}
		for _, name := range types {
			_, listed := values[name]
			assert.True(t, listed || exempt[name] != "", "list %s in values, or say in exempt why it has nothing to call", name)
		}
	}
}

func TestZero_NoCallPanics(t *testing.T) {
	t.Parallel()
	c := &caller{t: t}
	for _, f := range functions {
		for _, instance := range f {
			if f := reflect.ValueOf(instance); !f.Type().IsVariadic() && f.Type().NumOut() == 1 {
				in := []reflect.Value{}
				for i := range f.Type().NumIn() {
					in = append(in, reflect.Zero(f.Type().In(i)))
				}
				if out := c.safely("", func() []reflect.Value { return f.Call(in) }); out != nil && out[0].IsValid() {
					c.options = append(c.options, out[0])
				}
			}
		}
	}
	for name, f := range functions {
		for i, instance := range f {
			c.call(fmt.Sprintf("%s#%d", name, i), reflect.ValueOf(instance), deep)
		}
	}
	for name, v := range values {
		p := reflect.ValueOf(v)
		if p.Kind() != reflect.Pointer { // those that must not be copied, and errors, are pointers
			p = reflect.New(p.Type())
			c.methods(name, p.Elem(), deep)
		}
		c.methods("&"+name, p, deep)
		if _, ok := v.(error); !ok {
			c.methods("nil "+name, reflect.Zero(p.Type()), deep)
		}
	}
	for name, v := range opened(t) {
		c.methods("opened "+name, reflect.ValueOf(v), deep)
	}
	t.Logf("%d calls, %d panics", c.calls, len(c.panics))
	for _, p := range c.panics {
		t.Error(p)
	}
}

// What is refused has a code, and behind the interface of each verb the same one.
func TestZero_HandlesThatWereNotOpenedAreInputErrors(t *testing.T) {
	t.Parallel()
	var input *entity.InputError
	for _, s := range []*entity.Store[Plain]{nil, {}} {
		_, err := s.Get(t.Context(), Plain{ID: "a"})
		require.ErrorAs(t, err, &input)
		require.Equal(t, "EDD-9160", input.Code)
		_, err = s.Put(t.Context(), Plain{ID: "a"})
		require.ErrorAs(t, err, &input)
		require.Equal(t, "EDD-9160", input.Code)
		require.Contains(t, s.Op().Create(Plain{ID: "a"}).String(), "EDD-9160")
		require.Contains(t, s.Query(Plain{ID: "a"}).String(), "EDD-9160")
		next, stop := iter.Pull2(s.Query(Plain{ID: "a"}).All(t.Context()))
		_, err, some := next()
		stop()
		require.True(t, some)
		require.ErrorAs(t, err, &input)
		require.Equal(t, "EDD-9160", input.Code)
	}
	for _, db := range []*entity.DB{nil, {}} {
		_, err := entity.New[Plain](db)
		require.ErrorAs(t, err, &input)
		require.Equal(t, "EDD-9160", input.Code)
		require.ErrorAs(t, tables.Create(t.Context(), db), &input)
		require.ErrorAs(t, db.Transact(t.Context()), &input)
		require.ErrorAs(t, tables.Of(db).Err(), &input)
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	s := entity.Must(entity.New[Plain](db))
	var none context.Context
	_, err := s.Get(none, Plain{ID: "a"})
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9161", input.Code)
	require.ErrorAs(t, db.Transact(t.Context(), new(entity.Ops[Plain]).Create(Plain{ID: "a"})), &input)
	require.Equal(t, "EDD-9114", input.Code, "it is of no DB")
}

// recorder is a test that Check fails.
type recorder struct{ fatal string }

func (r *recorder) Helper()                           {}
func (r *recorder) Logf(string, ...any)               {}
func (r *recorder) Errorf(string, ...any)             {}
func (r *recorder) Fatalf(format string, args ...any) { r.fatal = fmt.Sprintf(format, args...) }

func TestZero_ALockOfNoDatabaseIsNoLock(t *testing.T) {
	t.Parallel()
	for _, db := range []*entity.DB{nil, {}} {
		var test recorder
		schemalock.Check(&test, db, filepath.Join(t.TempDir(), "lock"))
		require.Contains(t, test.fatal, "EDD-9160")
		lock := schemalock.Of(db)
		var input *entity.InputError
		require.ErrorAs(t, lock.Err(), &input)
		_, err := schemalock.Parse([]byte(lock.String()))
		require.Error(t, err)
	}
}
