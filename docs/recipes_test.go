package docs_test

import (
	"fmt"
	"go/format"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// recipe is a section of recipes.md: its code, an example of its use in testdata/recipes, and what that prints.
type recipe struct{ name, code, example, prints string }

func recipes(t *testing.T) (found []recipe) {
	t.Helper()
	for _, text := range strings.Split(read(t, "recipes.md"), "\n## ")[1:] {
		heading, _, _ := strings.Cut(text, "\n")
		code := blocks(text, "go")
		require.Len(t, code, 1, heading)
		formatted, err := format.Source([]byte(code[0]))
		require.NoError(t, err, heading)
		require.Equal(t, string(formatted), code[0], "%s: the code is not formatted", heading)
		name := strings.ToLower(strings.NewReplacer(" ", "", "-", "", "+", "").Replace(heading))
		example, ok := strings.CutPrefix(read(t, "testdata/recipes/"+name+".go"), "package "+name+"\n")
		require.True(t, ok, heading)
		_, prints, ok := strings.Cut(strings.TrimSuffix(example, "}\n"), "\t// prints\n")
		require.True(t, ok, heading)
		found = append(found, recipe{name, code[0], example, strings.ReplaceAll(prints, "\t// ", "")})
	}
	return found
}

// setUp is what a recipe takes for granted.
const setUp = `
var (
	table   = os.Args[2]
	client  = entity.Must(localdb.Start(context.Background())).Client()
	streams = dynamodbstreams.New(dynamodbstreams.Options{
		Region: client.Options().Region, BaseEndpoint: client.Options().BaseEndpoint, Credentials: client.Options().Credentials,
	})
)

func Run(ctx context.Context) error {
	if err := tables.Create(ctx, db); err != nil {
		return err
	}
	err := example(ctx)
	_, gone := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table})
	return errors.Join(err, gone)
}
`

// open is how a recipe opens its db that does not show it.
const open = `
var db = entity.Must(entity.Open(client, entity.Config{Table: table}))
`

// Each recipe does what its page says, also while requests are throttled, conflict and lose their answers.
func TestRecipes_PrintWhatTheySay(t *testing.T) {
	t.Parallel()
	all := recipes(t)
	require.Len(t, all, 11)
	files := map[string]string{}
	var imports, runs strings.Builder
	for _, r := range all {
		dir, needs := "recipes/"+r.name, setUp
		if !strings.Contains(r.code, "entity.Open(") {
			needs += open
		}
		files[dir+"/recipe.go"], files[dir+"/example.go"], files[dir+"/setup.go"] = importing(r.name, r.code), importing(r.name, r.example), importing(r.name, needs)
		fmt.Fprintf(&imports, "import %q\n", module+"/docs/recipes/"+r.name)
		fmt.Fprintf(&runs, "\t%q: %s.Run,\n", r.name, r.name)
	}
	files["recipes/main.go"] = importing("main", "\n"+imports.String()+`
var runs = map[string]func(context.Context) error{
`+runs.String()+`}

func main() {
	if err := runs[os.Args[1]](context.Background()); err != nil {
		fmt.Println(err)
	}
}
`)
	binary := compile(t, "recipes", files)
	client, table := localdb.Test(t)
	endpoint := *client.Options().BaseEndpoint
	for _, r := range all {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			run := func(endpoint, of string) string {
				return printed(t, endpoint, exec.CommandContext(t.Context(), binary, r.name, table+of+r.name))
			}
			require.Equal(t, r.prints, run(endpoint, "-"))
			address, failed := faulty(t, endpoint)
			require.Equal(t, r.prints, run(address, "-faulty-"))
			require.NotZero(t, failed.Load())
		})
	}
}

// faulty returns the address of the database at endpoint behind a network that fails, and how often it failed.
func faulty(t *testing.T, endpoint string) (address string, failed *atomic.Int64) {
	t.Helper()
	target, err := url.Parse(endpoint)
	require.NoError(t, err)
	failed = new(atomic.Int64)
	random := faults.Random(1, 0.2, faults.Throttle, faults.Conflict, faults.Internal, faults.Lost)
	transport := faults.New(nil)
	transport.Inject(func(r faults.Request) faults.Fault {
		if strings.Contains(r.Operation, "Table") || strings.Contains(r.Operation, "TimeToLive") {
			return faults.None
		}
		fault := random(r)
		if fault == faults.Internal && strings.HasSuffix(r.Operation, "Item") {
			fault = faults.Lost // after status 500 nothing could prove what became of a single write
		}
		if fault != faults.None {
			failed.Add(1)
		}
		return fault
	})
	proxy := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.RequestURI = "" // an http.Client takes a URL alone
		},
		Transport: roundTrips(transport.Do),
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) {
			panic(http.ErrAbortHandler) // closes the connection without an answer
		},
	})
	t.Cleanup(proxy.Close)
	return proxy.URL, failed
}

type roundTrips func(*http.Request) (*http.Response, error)

func (f roundTrips) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
