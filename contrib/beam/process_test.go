package beamx_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/util/hooks"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// What a process of these tests gets in its environment.
const (
	roleVar     = "BEAMX_ROLE" // see serve; otherwise it runs the tests
	portVar     = "BEAMX_PORT" // of the job server
	tableVar    = "BEAMX_TABLE"
	feedVar     = "BEAMX_FEED"     // the number of events of feeds that take the place of the table
	endpointVar = "BEAMX_ENDPOINT" // of the database
	keyVar      = "BEAMX_KEY"
	dieVar      = "BEAMX_DIE"      // the process kills itself at this request
	meetVar     = "BEAMX_MEET"     // the process waits at its first scan until this address answers
	serverVar   = "BEAMX_SERVER"   // the job server of a coordinator
	workersVar  = "BEAMX_WORKERS"  // and its workers, with commas between
	profilesVar = "BEAMX_PROFILES" // a directory
)

// remote is opened by workers, and by the coordinator of their pipeline.
var remote = beamx.Register("remote", func(context.Context) (*view, error) {
	endpoint := os.Getenv(endpointVar)
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: newMortal(), DisableValidateResponseChecksum: true,
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv(keyVar), "localdb", ""),
	})
	db, err := entity.Open(client, entity.Config{Table: os.Getenv(tableVar), Clock: func() time.Time { return noon.Add(24 * time.Hour) }})
	if err != nil {
		return nil, err
	}
	if events, err := strconv.Atoi(os.Getenv(feedVar)); err == nil {
		return sitesOf(db, "beam", timeline.Merge(feed(0, events), feed(1, events)), feedNames[:]...)
	}
	return sites(db, "beam")
})

// mortal sends the requests of a process, counts them, and kills the process at one of them.
type mortal struct {
	http.Client
	die int64
	met atomic.Bool // or there is nobody to meet
}

// sent is how many requests this process has sent to the database.
var sent atomic.Int64

func newMortal() *mortal {
	m := &mortal{Client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, die: -1}
	if n, err := strconv.ParseInt(os.Getenv(dieVar), 10, 64); err == nil {
		m.die = n
	}
	m.met.Store(os.Getenv(meetVar) == "")
	return m
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	if sent.Add(1) == m.die+1 {
		self, _ := os.FindProcess(os.Getpid())
		_ = self.Kill()
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Scan") && m.met.CompareAndSwap(false, true) {
		conn, err := net.Dial("tcp", os.Getenv(meetVar))
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			return nil, err
		}
	}
	return m.Client.Do(r)
}

// serve runs a process of another role. It prints "ready" and a result, waits until its standard input ends, and prints what it
// has used.
func serve(role string) error {
	if dir := os.Getenv(profilesVar); dir != "" {
		f, err := os.Create(fmt.Sprintf("%s/%s-%d.pprof", dir, role, os.Getpid()))
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	result, err := roles[role](context.Background())
	if err != nil {
		return err
	}
	fmt.Println("ready", result)
	_, _ = io.Copy(io.Discard, os.Stdin)
	fmt.Println("used", peakMemory(), sent.Load())
	return nil
}

// roles are what a process can be. The functions return the address of a server, or the seconds that the work has taken.
var roles = map[string]func(context.Context) (string, error){
	"server": func(ctx context.Context) (string, error) {
		port, err := strconv.Atoi(os.Getenv(portVar))
		if err != nil {
			return "", err
		}
		_, err = prism.CreateJobServer(ctx, prism.Options{Port: port})
		return "localhost:" + os.Getenv(portVar), err
	},
	"worker": func(ctx context.Context) (string, error) {
		if err := ownMetrics(); err != nil {
			return "", err
		}
		pool, err := extworker.StartLoopback(ctx, 0)
		if err != nil {
			return "", err
		}
		return pool.EnvironmentConfig(ctx), nil
	},
	"rebuild": func(ctx context.Context) (string, error) {
		v, err := remote.Open(ctx)
		if err != nil {
			return "", err
		}
		start := time.Now()
		_, err = v.Rebuild(ctx)
		return fmt.Sprint(time.Since(start).Seconds()), err
	},
	"coordinator": func(ctx context.Context) (string, error) {
		start := time.Now()
		err := coordinate(ctx, os.Getenv(serverVar), strings.Split(os.Getenv(workersVar), ","))
		return fmt.Sprint(time.Since(start).Seconds()), err
	},
}

// ownMetrics gives the metrics of this process names of its own. Each worker counts its metrics, and Prism takes equal numbers of two
// workers of a pipeline for one metric, which then fails.
func ownMetrics() error {
	prefix := fmt.Sprint(os.Getpid(), "-")
	hooks.RegisterHook("ownMetrics", func([]string) hooks.Hook {
		return hooks.Hook{
			Req: func(ctx context.Context, req *fnpb.InstructionRequest) (context.Context, error) {
				names := req.GetMonitoringInfos().GetMonitoringInfoId()
				for i, name := range names {
					names[i] = strings.TrimPrefix(name, prefix)
				}
				return ctx, nil
			},
			Resp: func(_ context.Context, _ *fnpb.InstructionRequest, resp *fnpb.InstructionResponse) error {
				if r := resp.GetProcessBundle(); r != nil {
					r.MonitoringData = prefixed(prefix, r.MonitoringData)
				}
				if r := resp.GetProcessBundleProgress(); r != nil {
					r.MonitoringData = prefixed(prefix, r.MonitoringData)
				}
				if r := resp.GetMonitoringInfos(); r != nil {
					r.MonitoringInfo = prefixed(prefix, r.MonitoringInfo)
				}
				return nil
			},
		}
	})
	err := hooks.EnableHook("ownMetrics")
	hooks.SerializeHooksToOptions()
	return err
}

// prefixed returns a map with a prefix before each key.
func prefixed[V any](prefix string, m map[string]V) map[string]V {
	renamed := make(map[string]V, len(m))
	for k, v := range m {
		renamed[prefix+k] = v
	}
	return renamed
}

// segments is how many parts a coordinator makes of the table.
const segments = 8

// coordinate rebuilds the remote view with the given workers.
func coordinate(ctx context.Context, server string, workers []string) error {
	v, err := remote.Open(ctx)
	if err != nil {
		return err
	}
	job, err := v.BeginJob(ctx)
	if err != nil {
		return err
	}
	parts, err := job.Split(segments)
	if err != nil {
		return err
	}
	p := beamx.Pipeline(remote, job, parts)
	if len(workers) > 1 {
		p = beamx.Shared(remote, job, parts)
	}
	if err := runOn(ctx, p, server, workers); err != nil {
		return err
	}
	_, err = job.Finish(ctx)
	return err
}

// runOn runs a pipeline on a job server. The first worker does everything but what is in the scope share1, which the second one
// does: a pipeline has an environment for each of them, as one of several languages has, and Prism a worker for each environment.
func runOn(ctx context.Context, p *beam.Pipeline, server string, workers []string) error {
	edges, _, err := p.Build()
	if err != nil {
		return err
	}
	first, err := graphx.CreateEnvironment(ctx, graphx.URNEnvExternal, func(context.Context) string { return workers[0] })
	if err != nil {
		return err
	}
	pipeline, err := graphx.Marshal(edges, &graphx.Options{Environment: first})
	if err != nil {
		return err
	}
	if len(workers) > 1 {
		second, err := graphx.CreateEnvironment(ctx, graphx.URNEnvExternal, func(context.Context) string { return workers[1] })
		if err != nil {
			return err
		}
		second.Dependencies = nil // the program that the worker runs already
		pipeline.Components.Environments["second"] = second
		for _, t := range pipeline.Components.Transforms {
			if t.EnvironmentId != "" && strings.Contains(t.UniqueName, "share1") {
				t.EnvironmentId = "second"
			}
		}
	}
	// Loopback: the workers have the program, so it is not sent to the server.
	_, err = runnerlib.Execute(ctx, pipeline, server, &runnerlib.JobOptions{Name: "rebuild", Loopback: true}, false)
	return err
}

// runBoth runs two pipelines at the same time, by workers in this process. Each has a job server of its own: Prism keeps what jobs
// stage in a map without a lock, so two of them that start at once on one server can end its process.
func runBoth(t *testing.T, pipelines [2]*beam.Pipeline) {
	t.Helper()
	var both sync.WaitGroup
	var errs [2]error
	for i, p := range pipelines {
		server := startServer(t)
		worker, err := extworker.StartLoopback(t.Context(), 0)
		require.NoError(t, err)
		both.Go(func() {
			errs[i] = runOn(t.Context(), p, server.result, []string{worker.EnvironmentConfig(t.Context())})
			_ = worker.Stop(t.Context()) // the error is always nil
		})
	}
	both.Wait()
	require.Equal(t, [2]error{}, errs)
}

// process is a process of another role.
type process struct {
	*exec.Cmd
	result string
	in     io.Closer
	out    *bufio.Reader
}

// start starts a process of a role, and waits until it is ready.
func start(t testing.TB, role string, env ...string) *process {
	t.Helper()
	p := &process{Cmd: exec.Command(os.Args[0])}
	p.Env = append(append(os.Environ(), roleVar+"="+role), env...)
	p.Stderr = os.Stderr
	in, err := p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.Start())
	p.in, p.out = in, bufio.NewReader(out)
	t.Cleanup(func() {
		_ = p.in.Close()
		_ = p.Process.Kill()
		_ = p.Wait() // killed
	})
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	p.result = strings.TrimSpace(strings.TrimPrefix(line, "ready "))
	return p
}

// startServer starts a job server.
func startServer(t testing.TB) *process {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0") // a port on which nothing listens
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return start(t, "server", fmt.Sprint(portVar, "=", l.Addr().(*net.TCPAddr).Port))
}

// usage is what a process has used.
type usage struct {
	cpu      time.Duration
	peak     int64 // bytes of memory
	requests int64
}

// end ends a process and returns what it has used.
func (p *process) end(t testing.TB) (u usage) {
	t.Helper()
	require.NoError(t, p.in.Close())
	line, err := p.out.ReadString('\n')
	require.NoError(t, err)
	_, err = fmt.Sscanf(line, "used %d %d", &u.peak, &u.requests)
	require.NoError(t, err, line)
	require.NoError(t, p.Wait())
	u.cpu = p.ProcessState.UserTime() + p.ProcessState.SystemTime()
	return u
}

// peakMemory returns the most memory that this process had; 0 where that is not known.
func peakMemory() (bytes int64) {
	status, _ := os.ReadFile("/proc/self/status")
	if _, after, ok := strings.Cut(string(status), "VmHWM:"); ok {
		_, _ = fmt.Sscan(after, &bytes)
	}
	return bytes << 10
}

// environment sets the environment in which this process and others open the remote view, and returns it.
func environment(t testing.TB, b *dbtest.Bench) []string {
	t.Helper()
	key, err := b.Raw.Options().Credentials.Retrieve(b.Ctx)
	require.NoError(t, err)
	env := []string{tableVar + "=" + b.Table, endpointVar + "=" + *b.Raw.Options().BaseEndpoint, keyVar + "=" + key.AccessKeyID}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	return env
}
