package beamx_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
)

// flags sets the flags of Beam until the test ends.
func flags(t *testing.T, endpoint, environment, config string) {
	t.Helper()
	was := []string{*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig}
	t.Cleanup(func() {
		*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig = was[0], was[1], was[2]
	})
	*jobopts.Endpoint, *jobopts.EnvironmentType, *jobopts.EnvironmentConfig = endpoint, environment, config
}

// untilEnd returns a context that ends with a process, as a runner sees that a worker is gone, while Prism may wait for it.
func untilEnd(ctx context.Context, p *process) (context.Context, <-chan error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- p.Wait(); stop() }()
	return ctx, ended
}

// The job server is a process, and the worker another one, which is killed in the middle of the work, several times.
func TestRebuild_ByAWorkerInAnotherProcess(t *testing.T) {
	p := newPlant(t, events(t))
	environment(t, p.Bench)
	server := startServer(t)
	o := beamx.RebuildOptions{Segments: 4}

	flags(t, server.result, "LOOPBACK", "")
	binary := *jobopts.WorkerBinary
	t.Cleanup(func() { *jobopts.WorkerBinary = binary })
	*jobopts.WorkerBinary = os.Args[0] // or Beam would compile one
	p.OK(beamx.Rebuild(p.Ctx, run, remote, o))
	require.Equal(t, p.want, p.rows(p.view), "the worker is in the process of the coordinator")

	for _, die := range []int{4, 14} {
		worker := start(t, "worker", fmt.Sprint(dieVar, "=", die))
		*jobopts.EnvironmentType, *jobopts.EnvironmentConfig = "EXTERNAL", worker.result
		ctx, ended := untilEnd(p.Ctx, worker)
		_, err := beamx.Rebuild(ctx, run, remote, o)
		require.Error(t, err, "the worker is killed at request %d", die)
		require.Error(t, <-ended)
		require.Equal(t, p.want, p.rows(p.view))
	}
	*jobopts.EnvironmentConfig = start(t, "worker").result
	meta, err := beamx.Rebuild(p.Ctx, run, remote, o)
	require.NoError(t, err)
	require.EqualValues(t, events(t), meta.Counters.Folded)
	require.Equal(t, p.want, p.rows(p.view))
}

// Two workers in processes of their own do one pipeline on one job server, at the same time. One of them is killed in the middle
// of the work, several times, while the other goes on, and the pipeline runs again.
func TestRebuild_ByTwoWorkersAtOnce(t *testing.T) {
	p := newPlant(t, events(t))
	environment(t, p.Bench)
	server := startServer(t)
	job, err := p.view.BeginJob(p.Ctx) // remote is open on the table of another test
	require.NoError(t, err)
	parts, err := job.Split(segments)
	require.NoError(t, err)

	steady := start(t, "worker")
	for _, die := range []int{3, 7, 12} {
		killed := start(t, "worker", fmt.Sprint(dieVar, "=", die))
		ctx, ended := untilEnd(p.Ctx, killed)
		require.Error(t, runOn(ctx, beamx.Shared(remote, job, parts), server.result, []string{steady.result, killed.result}), "killed at request %d", die)
		require.Error(t, <-ended)
	}

	meeting, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer meeting.Close()
	meet := meetVar + "=" + meeting.Addr().String()
	workers := []*process{start(t, "worker", meet), start(t, "worker", meet)}
	go func() { // each waits at its first scan for the other
		var both []net.Conn
		for range workers {
			conn, err := meeting.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			both = append(both, conn)
		}
		for _, conn := range both {
			_, _ = conn.Write([]byte{1})
		}
	}()
	require.NoError(t, runOn(p.Ctx, beamx.Shared(remote, job, parts), server.result, []string{workers[0].result, workers[1].result}))
	meta, err := job.Finish(p.Ctx)
	require.NoError(t, err)
	require.EqualValues(t, events(t), meta.Counters.Folded)
	require.Equal(t, p.want, p.rows(p.view))
	for _, w := range workers {
		require.Greater(t, w.end(t).requests, int64(segments/2), "each has read, and stored rows")
	}
}
