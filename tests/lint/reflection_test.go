package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// compiled is what the go command says about a package.
type compiled struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// compile returns the packages of this module and all that they import.
func compile(t *testing.T) []compiled {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", "./...")
	cmd.Dir, cmd.Stderr = root, os.Stderr
	text, err := cmd.Output()
	require.NoError(t, err)
	var all []compiled
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var c compiled
		if err := d.Decode(&c); errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, c)
	}
}

// mayReflect are types of the SDK that reflection may ask about: whether a user's type implements an interface.
var mayReflect = []string{
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue.Marshaler",
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue.Unmarshaler",
}

// bySDK returns the name of the type of the SDK that t is, points to, or has as elements; "" for other types.
func bySDK(t types.Type) string {
	switch t := types.Unalias(t).(type) {
	case *types.Pointer:
		return bySDK(t.Elem())
	case *types.Slice:
		return bySDK(t.Elem())
	case *types.Array:
		return bySDK(t.Elem())
	case *types.Map:
		return bySDK(t.Elem())
	case *types.Named:
		if pkg := t.Obj().Pkg(); pkg != nil {
			for _, path := range []string{"github.com/aws/aws-sdk-go-v2", "github.com/aws/smithy-go"} {
				if pkg.Path() == path || strings.HasPrefix(pkg.Path(), path+"/") {
					return pkg.Path() + "." + t.Obj().Name()
				}
			}
		}
	}
	return ""
}

// reflections returns where files use reflection on types of the SDK: as "position: type".
func reflections(t *testing.T, fset *token.FileSet, files []*ast.File, imports types.Importer) (found []string) {
	t.Helper()
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Instances: map[*ast.Ident]types.Instance{}}
	_, err := (&types.Config{Importer: imports}).Check("checked", fset, files, info)
	require.NoError(t, err)
	note := func(at ast.Node, of types.Type) {
		if name := bySDK(of); name != "" && !slices.Contains(mayReflect, name) {
			found = append(found, fset.Position(at.Pos()).String()+": "+name)
		}
	}
	for _, f := range files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if s, ok := ast.Unparen(n.Fun).(*ast.SelectorExpr); ok {
					if of := info.Uses[s.Sel]; of != nil && of.Pkg() != nil && of.Pkg().Path() == "reflect" {
						for _, arg := range n.Args {
							note(arg, info.Types[arg].Type)
						}
					}
				}
			case *ast.Ident: // such as reflect.TypeFor[T]
				if of := info.Uses[n]; of != nil && of.Pkg() != nil && of.Pkg().Path() == "reflect" {
					for arg := range info.Instances[n].TypeArgs.Types() {
						note(n, arg)
					}
				}
			}
			return true
		})
	}
	return found
}

// What the SDK keeps in its types is the SDK's: a release can change it. Tests may look.
func TestReflection_NotOnTypesOfTheSDK(t *testing.T) {
	t.Parallel()
	all, exports := compile(t), map[string]string{}
	for _, c := range all {
		exports[c.ImportPath] = c.Export
	}
	fset := token.NewFileSet()
	imports := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	checked := 0
	for _, c := range all {
		if c.ImportPath != module && !strings.HasPrefix(c.ImportPath, module+"/") {
			continue
		}
		var files []*ast.File
		reflects := false
		for _, name := range c.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(c.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			files = append(files, f)
			for _, i := range f.Imports {
				reflects = reflects || i.Path.Value == strconv.Quote("reflect")
			}
		}
		if reflects {
			checked++
			assert.Empty(t, reflections(t, fset, files, imports), "reflection on a type of the SDK")
		}
	}
	assert.Greater(t, checked, 10)

	bad, err := parser.ParseFile(fset, "bad.go", `package bad
import (
	"reflect"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)
func f(o *dynamodb.Options, vs []types.AttributeValue) {
	_ = reflect.ValueOf(o)
	_ = reflect.Indirect(reflect.ValueOf(o.Interceptors))
	_ = reflect.TypeOf(vs)
	_ = reflect.TypeFor[dynamodb.Client]()
	_ = reflect.ValueOf(o.Region)
}`, 0)
	require.NoError(t, err)
	assert.Len(t, reflections(t, fset, []*ast.File{bad}, imports), 4)
}

// Nothing else reads what is not exported.
func TestReflection_NothingIsUnsafe(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, path := range s.imports() {
			assert.NotEqual(t, "unsafe", path, "%s", s.name)
		}
		for _, word := range []string{"reflect.NewAt", ".UnsafeAddr", "go:linkname"} {
			assert.False(t, strings.Contains(s.text, word), "%s: %s", s.name, word)
		}
	}
}
