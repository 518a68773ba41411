package beamx_test

import (
	"context"
	"fmt"
	"iter"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeline"
)

// BenchmarkRebuild measures one rebuild of DYNASTRATA_ITEMS events, of a half and of a quarter of them, into 2,000 rows: by
// View.Rebuild in one process, and by Beam with one worker and with two. The events are items of a table, or those of two feeds
// that make them up, which leaves the database out. Each process has metrics of its own. The CPU time and memory of the database
// do not count, and the time to start a process does. Run it with -benchtime 1x; docs/beam.md has results.
func BenchmarkRebuild(b *testing.B) {
	most := int(testsize.Number(b, "DYNASTRATA_ITEMS", 20_000))
	for _, source := range []string{"feeds", "table"} {
		b.Run(source, func(b *testing.B) {
			bench := dbtest.Open(b)
			bench.Clock.Set(noon, time.Microsecond)
			v := entity.Must(sites(bench.DB, "beam"))
			bench.CreateTables()
			environment(b, bench)
			loaded := 0
			for _, events := range []int{most / 4, most / 2, most} {
				if source == "feeds" {
					b.Setenv(feedVar, strconv.Itoa(events))
				} else {
					load(bench, loaded, events)
					loaded = events
				}
				b.Run(fmt.Sprintf("events=%d", events), func(b *testing.B) { benchmark(b, events) })
				meta, err := v.Meta(b.Context())
				require.NoError(b, err)
				require.EqualValues(b, events, meta.Counters.Folded)
				x, err := v.Explain(b.Context())
				require.NoError(b, err)
				b.Logf("%d events: %d rows; a scan costs about %.0f read units", events, meta.Rows, x.ReadUnits())
			}
		})
	}
}

// benchmark rebuilds the remote view in each way.
func benchmark(b *testing.B, events int) {
	b.Run("one process", func(b *testing.B) {
		for b.Loop() {
			p := start(b, "rebuild")
			report(b, events, p.result, map[string]*process{"builder": p})
		}
	})
	for workers := range shares {
		b.Run(fmt.Sprintf("workers=%d", workers+1), func(b *testing.B) {
			for b.Loop() {
				crew := map[string]*process{"engine": startServer(b)}
				addresses := ""
				for i := range workers + 1 {
					w := start(b, "worker")
					crew[fmt.Sprintf("worker%d", i+1)] = w
					addresses += "," + w.result
				}
				c := start(b, "coordinator", serverVar+"="+crew["engine"].result, workersVar+"="+addresses[1:])
				crew["coordinator"] = c
				report(b, events, c.result, crew)
			}
		})
	}
}

// shares is how many workers share a pipeline at most.
const shares = 2

// report ends the processes and reports what they have used.
func report(b *testing.B, events int, seconds string, of map[string]*process) {
	b.Helper()
	var cpu time.Duration
	var requests int64
	for name, p := range of {
		u := p.end(b)
		cpu += u.cpu
		requests += u.requests
		b.ReportMetric(u.cpu.Seconds(), name+"-CPU-s")
		b.ReportMetric(float64(u.peak)/1e6, name+"-MB")
	}
	took, err := strconv.ParseFloat(seconds, 64)
	require.NoError(b, err)
	b.ReportMetric(took, "s")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(cpu.Seconds()*1e6/float64(events), "CPU-µs/event")
	b.ReportMetric(float64(requests), "requests")
}

// groups is how many devices and sites the readings of a benchmark have.
const groups = 2000

// made returns reading i of a benchmark.
func made(i int) reading {
	return reading{
		Device: fmt.Sprintf("d%05d", i%groups), At: noon.Add(time.Duration(i) * time.Millisecond),
		Site: fmt.Sprintf("s%04d", (i/groups*7919+i)%groups), Value: i % 1000,
	}
}

// feedNames are the names of the events of two feeds.
var feedNames = [2]string{"reading.even", "reading.odd"}

// feed returns a source of every second reading.
func feed(from, to int) timeline.Source {
	return timeline.Feed(fmt.Sprint("half", from), feedNames[from:from+1], func(context.Context) iter.Seq2[timeline.Event[reading], error] {
		return func(yield func(timeline.Event[reading], error) bool) {
			for i := from; i < to; i += 2 {
				r := made(i)
				if !yield(timeline.Event[reading]{Name: feedNames[from], Key: strconv.Itoa(i), At: r.At, AcceptedAt: r.At, Payload: r}, nil) {
					return
				}
			}
		}
	})
}

// load writes readings from one number to another in their stored form, as docs/series.md describes it, many at a time.
func load(b *dbtest.Bench, from, to int) {
	b.T.Helper()
	const writers, atOnce = 8, 25
	work, errs := make(chan []types.WriteRequest), make(chan error, writers)
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			var failed error
			for puts := range work {
				for len(puts) > 0 && failed == nil {
					out, err := b.Raw.BatchWriteItem(b.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{b.Table: puts}})
					if failed = err; err == nil {
						puts = out.UnprocessedItems[b.Table]
					}
				}
			}
			errs <- failed
		})
	}
	var puts []types.WriteRequest
	for i := from; i < to; i++ {
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: stored(i)}})
		if len(puts) == atOnce || i == to-1 {
			work <- puts
			puts = nil
		}
	}
	close(work)
	all.Wait()
	for range writers {
		require.NoError(b.T, <-errs)
	}
}

// stored returns reading i as its item.
func stored(i int) dbtest.Item {
	r := made(i)
	at := r.At.Format("2006-01-02T15:04:05.000000000Z")
	return dbtest.Item{
		"pk": dbtest.S("$app#v1#reading#" + r.Device), "sk": dbtest.S("$app#v1#reading#e#" + at),
		"__edd_e__": dbtest.S("Reading"), "_k": dbtest.S("e"), "_at": dbtest.S(at), "_w": dbtest.S(fmt.Sprintf("load-%021d", i)),
		"device": dbtest.S(r.Device), "at": dbtest.S(at), "site": dbtest.S(r.Site), "value": dbtest.N(strconv.Itoa(r.Value)),
	}
}
