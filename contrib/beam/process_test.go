package beamx_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/extworker"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// What a process of this test gets in its environment.
const (
	roleVar     = "BEAMX_ROLE" // server or worker; otherwise it runs the tests
	portVar     = "BEAMX_PORT" // of the job server
	tableVar    = "BEAMX_TABLE"
	endpointVar = "BEAMX_ENDPOINT" // of the database
	keyVar      = "BEAMX_KEY"
	dieVar      = "BEAMX_DIE" // the worker kills itself at this request
)

// remote is opened by workers, and by the coordinator of their pipeline.
var remote = beamx.Register("remote", func(ctx context.Context) (*view, error) {
	endpoint := os.Getenv(endpointVar)
	wire := faults.New(nil)
	if die, err := strconv.Atoi(os.Getenv(dieVar)); err == nil {
		wire.Inject(func(r faults.Request) faults.Fault {
			if r.Index == die {
				self, _ := os.FindProcess(os.Getpid())
				_ = self.Kill()
			}
			return faults.None
		})
	}
	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &endpoint, HTTPClient: wire, DisableValidateResponseChecksum: true,
		Credentials: credentials.NewStaticCredentialsProvider(os.Getenv(keyVar), "localdb", ""),
	})
	db, err := entity.Open(client, entity.Config{Table: os.Getenv(tableVar), Clock: func() time.Time { return noon.Add(24 * time.Hour) }})
	if err != nil {
		return nil, err
	}
	return sites(db, "beam")
})

// serve runs a process of another role, until its standard input ends.
func serve(role string) {
	ctx := context.Background()
	switch role {
	case "server":
		port, _ := strconv.Atoi(os.Getenv(portVar))
		if _, err := prism.CreateJobServer(ctx, prism.Options{Port: port}); err != nil {
			panic(err)
		}
		fmt.Println("ready localhost:" + os.Getenv(portVar))
	case "worker":
		pool, err := extworker.StartLoopback(ctx, 0)
		if err != nil {
			panic(err)
		}
		fmt.Println("ready", pool.EnvironmentConfig(ctx))
	}
	_, _ = bufio.NewReader(os.Stdin).ReadString(0)
}

// start starts a process of a role and returns it with its address.
func start(t *testing.T, role string, env ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(append(os.Environ(), roleVar+"="+role), env...)
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // killed
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(strings.TrimPrefix(line, "ready "))
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// flags sets the flags of Beam until the test ends.
func flags(t *testing.T, endpoint, environment, config string) {
	t.Helper()
	was := []string{*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig}
	t.Cleanup(func() {
		*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig = was[0], was[1], was[2]
	})
	*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig = endpoint, environment, config
}

// The job server is a process, and the worker another one, which is killed in the middle of the work, several times.
func TestRebuild_ByAWorkerInAnotherProcess(t *testing.T) {
	p := newPlant(t, events(t))
	key, err := p.Raw.Options().Credentials.Retrieve(p.Ctx)
	require.NoError(t, err)
	env := []string{tableVar + "=" + p.Table, endpointVar + "=" + *p.Raw.Options().BaseEndpoint, keyVar + "=" + key.AccessKeyID}
	for _, pair := range env {
		name, value, _ := strings.Cut(pair, "=")
		t.Setenv(name, value)
	}
	port := freePort(t)
	_, server := start(t, "server", portVar+"="+port)
	o := beamx.RebuildOptions{Segments: 4}

	flags(t, server, "LOOPBACK", "")
	binary := *jobopts.WorkerBinary
	t.Cleanup(func() { *jobopts.WorkerBinary = binary })
	*jobopts.WorkerBinary = os.Args[0] // or Beam would compile one
	p.OK(beamx.Rebuild(p.Ctx, run, remote, o))
	require.Equal(t, p.want, p.rows(p.view), "the worker is in the process of the coordinator")

	for _, die := range []int{4, 14} {
		worker, pool := start(t, "worker", append(env, fmt.Sprint(dieVar, "=", die))...)
		*jobopts.EnvironmentType, *jobopts.EnvironmentConfig = "EXTERNAL", pool
		ended := make(chan error, 1)
		ctx, stop := context.WithCancel(p.Ctx)
		go func() { ended <- worker.Wait(); stop() }() // a runner sees that a worker is gone; Prism may wait for it
		_, err := beamx.Rebuild(ctx, run, remote, o)
		stop()
		require.Error(t, err, "the worker is killed at request %d", die)
		require.Error(t, <-ended)
		require.Equal(t, p.want, p.rows(p.view))
	}
	_, pool := start(t, "worker", env...)
	*jobopts.EnvironmentConfig = pool
	meta, err := beamx.Rebuild(p.Ctx, run, remote, o)
	require.NoError(t, err)
	require.EqualValues(t, events(t), meta.Counters.Folded)
	require.Equal(t, p.want, p.rows(p.view))
}
