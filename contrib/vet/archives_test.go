package vet_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/txtar"

	"github.com/dynastrata/dynastrata/contrib/vet"
)

// archives are those of tests/declaretest.
var archives = []string{
	"../../internal/schema/testdata/declarations/*.txt", "../../lifecycle/testdata/declarations/*.txt",
	"../../unique/testdata/declarations/*.txt", "../../versioned/testdata/declarations/*.txt",
}

// leftToNew are the mistakes that the analyzer does not report, by the reason.
var leftToNew = map[string][]string{
	"another Config.PK, SK or TTL makes it right": {
		"attributes/attributes of the library are not for fields/tableKey: EDD-9034 A",
		"attributes/attributes of the library are not for fields/indexKey: EDD-9034 A",
		"attributes/attributes of the library are not for fields/expiry: EDD-9034 A",
		"indexes/keys do not share an attribute/withTable: EDD-9032",
		"indexes/keys do not share an attribute/withIndex: EDD-9032",
		"tags/all mistakes are reported together/wrong: EDD-9032",
		"tags/all mistakes are reported together/wrong: EDD-9034 Expiry",
		"ttl/attr is no key and belongs to nobody else/stored: EDD-9034",
	},
	"a sentence is reported once at its field": {"indexes/a constant of a condition stands between = and | without spaces/between: EDD-9003 _ entity.GSI"},
	"a method of a field's type decides":       {"filled/the constant of a default fits the type/refusedText: EDD-9091 A"},
	"a declaration of a type that only the test has": {
		"features/the tag of a feature is as strict as the others/unknown: EDD-9003 _ schema_test.quota",
		"features/the tag of a feature is as strict as the others/missing: EDD-9003 _ schema_test.quota",
		"features/the tag of a feature is as strict as the others/empty: EDD-9003 _ schema_test.quota",
		"features/the tag of a feature is as strict as the others/zero: EDD-9036 _ schema_test.quota",
		"features/the tag of a feature is as strict as the others/keyless: EDD-9030",
		"features/the tag of a feature is as strict as the others/keyless: EDD-9003 _ schema_test.quota",
		"features/series is neither versioned nor soft deleted/versioned_: EDD-9012 _ timeseries.Events",
		"features/series is neither versioned nor soft deleted/versionedFirst: EDD-9012 _ timeseries.Events",
		"features/series is neither versioned nor soft deleted/deleted: EDD-9015 _ timeseries.Events",
		"features/satellites need a sort key with a prefix/partitionOnly: EDD-9038",
		"features/satellites need a sort key with a prefix/verbatim: EDD-9038",
		"series/mistakes are reported together/wrong: EDD-9011 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9014 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9017 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9036 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9003 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9012 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9015 _ timeseries.Events",
		"series/mistakes are reported together/wrong: EDD-9042 A",
		"series/mistakes are reported together/wrong: EDD-9043 _ timeseries.Events",
		"tags/a tag is read to its end/feature_: EDD-9003 _ schema_test.quota",
	},
}

// testTypes are the types that the tests of the archives declare in Go.
const testTypes = `
type (
	uid    [4]byte
	name   string
	moment time.Time
	stamp  time.Time
	red    string
	sealed string
	level  byte
	money  struct{ text string }
	Tree   struct { Name string; Children []*Tree }
	quota      struct{ _ declaration }
	retain     struct{ _ declaration }
	softDelete struct{ _ declaration }
	declaration struct{}
)

func (h *red) UnmarshalText(text []byte) error { return nil }
func (u uid) MarshalText() ([]byte, error)     { return nil, nil }
func (u *uid) UnmarshalText(text []byte) error { return nil }
func (sealed) MarshalText() ([]byte, error)    { return nil, nil }
func (money) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) { return nil, nil }
func (declaration) Declare(*schema.Decl) {}
`

const imports = `import (
	"encoding/json"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

var (
	_ json.Number
	_ big.Int
	_ net.IP
	_ http.SameSite
	_ netip.Addr
	_ attributevalue.Number
	_ entity.Key
	_ lifecycle.TTL
	_ timeseries.Events
	_ unique.Constraint
	_ versioned.Lock
	_ schema.Decl
)
`

// taken are the names that source declares itself.
var taken = regexp.MustCompile(`\w+`).FindAllString(imports+testTypes, -1)

// declared is a case of an archive.
type declared struct {
	name  string       // archive/rule/type
	all   []string     // the mistakes that New finds in it alone, as code and field
	want  []string     // those that the analyzer has not found yet
	lines map[int]bool // of the type, and of those that are for it
}

// takes reports whether the case wants a message at a line, and strikes it off.
func (c *declared) takes(message string, line int, text string) bool {
	code, _, _ := strings.Cut(message, ":")
	at := slices.IndexFunc(c.want, func(w string) bool {
		wanted, field, _ := strings.Cut(w, " ")
		field = strings.TrimPrefix(field[strings.LastIndex(field, " ")+1:], "_ ")
		if !strings.HasPrefix(w[len(wanted):], " _ ") {
			field = field[strings.LastIndex(field, ".")+1:]
		}
		return wanted == code && strings.Contains(text, field)
	})
	if at < 0 || !c.lines[line] {
		return false
	}
	c.want = slices.Delete(slices.Clone(c.want), at, at+1)
	return true
}

var (
	alone = regexp.MustCompile(`^[a-z][^:"]*: `)
	one   = regexp.MustCompile(`^(EDD-\d{4})(?: ((?:_ )?[\w.]+))?`)
)

// want returns the mistakes of a verdict for a struct in no particular place.
func want(verdict string) (codes []string) {
	for _, part := range strings.Split(strings.TrimSpace(verdict), "; ") {
		if alone.MatchString(part) || part == "ok" {
			continue
		}
		for _, m := range strings.Split(part, ", ") {
			codes = append(codes, strings.TrimSpace(one.FindStringSubmatch(m)[1]+" "+one.FindStringSubmatch(m)[2]))
		}
	}
	return codes
}

// source writes a section as a Go package. Each case is a type, and a call of New for it.
func source(t *testing.T, at, head, section string) (text string, cases []*declared) {
	t.Helper()
	specs, structs := map[string]*ast.TypeSpec{}, []*ast.TypeSpec{}
	fset := token.NewFileSet()
	for i, part := range []string{head, section} {
		file, err := parser.ParseFile(fset, "", "package p\n"+part, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, d := range file.Decls {
			for _, s := range d.(*ast.GenDecl).Specs {
				spec := s.(*ast.TypeSpec)
				specs[spec.Name.Name] = spec
				if i == 1 && spec.Comment != nil {
					structs = append(structs, spec)
				}
			}
		}
	}
	for name, spec := range specs { // a section may name a type as an imported package or a type of the tests is named
		if slices.Contains(taken, name) {
			spec.Name.Name = name + "_"
		}
	}
	var fields func(s *ast.StructType) []*ast.Field
	fields = func(s *ast.StructType) (all []*ast.Field) {
		for _, f := range s.Fields.List {
			if len(f.Names) == 1 && f.Names[0].Name == "include" {
				all = append(all, fields(specs[f.Type.(*ast.Ident).Name].Type.(*ast.StructType))...)
				continue
			}
			all = append(all, f)
		}
		return all
	}
	var series func(e ast.Expr) bool
	series = func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.Ident:
			return specs[e.Name] != nil && series(specs[e.Name].Type)
		case *ast.StructType:
			return slices.ContainsFunc(fields(e), func(f *ast.Field) bool {
				of, ok := f.Type.(*ast.SelectorExpr)
				return ok && of.Sel.Name == "Events"
			})
		}
		return false
	}
	var out strings.Builder
	fmt.Fprintf(&out, "package p\n%s", imports+testTypes)
	written := map[string]int{}
	number := func() int { return strings.Count(out.String(), "\n") + 1 }
	var write func(spec *ast.TypeSpec, d *declared, call bool)
	write = func(spec *ast.TypeSpec, d *declared, call bool) {
		if begin := written[spec.Name.Name]; begin > 0 {
			for n := begin; n <= begin+spec.Type.(*ast.StructType).Fields.NumFields()+1; n++ {
				d.lines[n] = true
			}
			return
		}
		written[spec.Name.Name] = number()
		var uses []string
		body := spec.Type
		note := func(e ast.Expr) {
			ast.Inspect(e, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && specs[id.Name] != nil {
					uses = append(uses, id.Name)
					id.Name = specs[id.Name].Name.Name
				}
				if qualified, ok := n.(*ast.SelectorExpr); ok {
					uses = append(uses, qualified.Sel.Name)
					return false
				}
				return true
			})
		}
		if s, ok := body.(*ast.StructType); ok {
			all := fields(s)
			for _, f := range all {
				f.Comment, f.Doc = nil, nil
				note(f.Type)
			}
			body = &ast.StructType{Fields: &ast.FieldList{List: all}}
		} else {
			note(body)
		}
		begin := number()
		fmt.Fprintf(&out, "type %s ", spec.Name.Name)
		if spec.Assign.IsValid() {
			out.WriteString("= ")
		}
		var b bytes.Buffer
		require.NoError(t, format.Node(&b, token.NewFileSet(), body))
		out.WriteString(b.String() + "\n")
		if call {
			construct := "entity.New"
			if series(body) {
				construct = "timeseries.New"
			}
			fmt.Fprintf(&out, "var _, _ = %s[%s](nil)\n", construct, spec.Name.Name)
		}
		for n := begin; n < number(); n++ {
			d.lines[n] = true
		}
		for _, name := range uses {
			if used := specs[name]; used != nil && !slices.Contains(structs, used) {
				write(used, d, false)
			}
		}
	}
	for _, spec := range structs {
		mistakes := want(spec.Comment.Text())
		d := &declared{at + "/" + spec.Name.Name, mistakes, mistakes, map[int]bool{}}
		cases = append(cases, d)
		write(spec, d, true)
	}
	return out.String(), cases
}

// packagesOf loads the types of what source imports.
func packagesOf(t *testing.T) map[string]*types.Package {
	t.Helper()
	var paths []string
	for _, m := range regexp.MustCompile(`"(.+)"`).FindAllStringSubmatch(imports, -1) {
		paths = append(paths, m[1])
	}
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadTypes}, paths...)
	require.NoError(t, err)
	all := map[string]*types.Package{}
	for _, p := range pkgs {
		require.Empty(t, p.Errors, p.PkgPath)
		all[p.PkgPath] = p.Types
	}
	return all
}

type importer map[string]*types.Package

func (i importer) Import(path string) (*types.Package, error) { return i[path], nil }

// examine runs the analyzer on one file, and returns what it reports by line.
func examine(t *testing.T, from importer, name, text string) (found map[int][]string) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	require.NoError(t, err)
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Instances: map[*ast.Ident]types.Instance{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	pkg, err := (&types.Config{Importer: from}).Check(library+"/"+name, fset, []*ast.File{file}, info)
	require.NoError(t, err, text)
	found = map[int][]string{}
	_, err = vet.Analyzer.Run(&analysis.Pass{
		Analyzer: vet.Analyzer, Fset: fset, Files: []*ast.File{file}, Pkg: pkg, TypesInfo: info,
		Report: func(d analysis.Diagnostic) {
			if d.Category == "lock" { // New accepts it
				return
			}
			line := fset.Position(d.Pos).Line
			found[line] = append(found[line], d.Message)
		},
	})
	require.NoError(t, err)
	return found
}

const library = "github.com/dynastrata/dynastrata"

// The analyzer finds in every archive of declarations what New finds, at the same fields, and nothing else.
func TestDeclarations_AreReportedAsNewRefusesThem(t *testing.T) {
	t.Parallel()
	from := importer(packagesOf(t))
	total, found, wrong := 0, 0, 0
	var missed []string
	for _, pattern := range archives {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			archive := txtar.Parse(text)
			for _, section := range archive.Files {
				name := strings.TrimSuffix(filepath.Base(path), ".txt") + "/" + section.Name
				code, cases := source(t, name, string(archive.Comment), string(section.Data))
				lines := strings.Split(code, "\n")
				for line, messages := range examine(t, from, "examined", code) {
					for _, m := range messages {
						at := slices.IndexFunc(cases, func(c *declared) bool { return c.takes(m, line, lines[line-1]) })
						if at < 0 {
							wrong++
							t.Errorf("%s: false: %s\n%s", name, m, lines[line-1])
						}
					}
				}
				for _, c := range cases {
					total++
					found += len(c.all) - len(c.want)
					for _, w := range c.want {
						missed = append(missed, c.name+": "+w)
					}
				}
			}
		}
	}
	left := slices.Concat(slices.Collect(maps.Values(leftToNew))...)
	unexpected := slices.DeleteFunc(slices.Clone(missed), func(m string) bool { return slices.Contains(left, m) })
	t.Logf("%d declarations: %d mistakes found, %d missed, %d false; %d left to New", total, found, len(unexpected), wrong, len(left))
	require.Zero(t, wrong)
	require.ElementsMatch(t, left, missed)
}
