package beamx_test

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

func init() {
	register.DoFn1x1[beamx.Rewritten, error](&keepReport{})
	register.DoFn1x1[migrate.UniqueFinding, error](&keepFinding{})
	register.DoFn1x1[migrate.UniqueReport, error](&keepCounts{})
}

func TestMain(m *testing.M) {
	flag.Parse()
	beam.Init()
	slog.SetDefault(slog.New(slog.NewTextHandler(io.Discard, nil))) // Prism logs each stage of each job
	if role := os.Getenv(roleVar); role != "" {
		if err := serve(role); err != nil {
			panic(err)
		}
		return
	}
	beamx.SetLeasePoll(10 * time.Millisecond)
	os.Exit(m.Run())
}

// run runs a pipeline on Prism in this process, or on a job server that a test has started.
func run(ctx context.Context, p *beam.Pipeline) error {
	_, err := prism.Execute(ctx, p)
	return err
}

// kept has the results of pipelines by the name of the test.
var kept struct {
	sync.Mutex
	of map[string][]string
}

func keep(name string, result any) error {
	text, err := json.Marshal(result)
	kept.Lock()
	defer kept.Unlock()
	if kept.of == nil {
		kept.of = map[string][]string{}
	}
	kept.of[name] = append(kept.of[name], string(text))
	return err
}

// taken returns the results that were kept under a name, and forgets them.
func taken[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	kept.Lock()
	defer kept.Unlock()
	for _, text := range kept.of[name] {
		var x T
		require.NoError(t, json.Unmarshal([]byte(text), &x))
		all = append(all, x)
	}
	delete(kept.of, name)
	return all
}

type keepReport struct{ Name string }

func (f *keepReport) ProcessElement(r beamx.Rewritten) error { return keep(f.Name, r.Report()) }

type keepFinding struct{ Name string }

func (f *keepFinding) ProcessElement(x migrate.UniqueFinding) error { return keep(f.Name, x) }

type keepCounts struct{ Name string }

func (f *keepCounts) ProcessElement(r migrate.UniqueReport) error { return keep(f.Name, r) }

// dying makes every request fail from the nth on, before or after it is applied: the worker that sends them dies there.
func dying(wire *faults.Transport, n int) {
	wire.Inject(func(r faults.Request) faults.Fault {
		switch {
		case r.Index < n:
			return faults.None
		case r.Index == n && n%2 == 0:
			return faults.Lost
		}
		return faults.Drop
	})
}

// untilDone runs a pipeline until it succeeds. Its worker dies at each of the given requests first, which makes Prism fail
// the job, as it repeats no bundles. It returns how many runs failed.
func untilDone(b *dbtest.Bench, requests []int, once func() error) (failed int) {
	b.T.Helper()
	for _, n := range requests {
		b.Wire.Reset()
		dying(b.Wire, n)
		err := once()
		b.Wire.Inject(nil)
		b.Clock.Move(31 * time.Second) // leases of the dead end
		if err == nil {
			return failed
		}
		failed++
	}
	b.Wire.Reset()
	require.NoError(b.T, once())
	return failed
}
