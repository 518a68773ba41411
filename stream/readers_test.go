package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// process is a program that reads a stream, with a connection and a context of its own. The checkpoints are in a real table; the stream is
// that of the table, or a brook.
type process struct {
	t      *testing.T
	l      *lab
	wire   *faults.Transport
	db     *entity.DB
	reader *stream.Reader
	stop   context.CancelFunc
	done   chan error

	dead atomic.Bool
	mu   sync.Mutex
	seen []string
	each func(id string) // called for each change, before it is seen
}

// tableOf is a client whose table has the stream of a brook.
type tableOf struct {
	entity.Client
	b *brook
}

func (c tableOf) DescribeTable(ctx context.Context, in *dynamodb.DescribeTableInput, opts ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	return c.b.DescribeTable(ctx, in, opts...)
}

// process opens a process. b is nil for the stream of the table.
func (l *lab) process(t *testing.T, b *brook, o stream.ReaderOptions) *process {
	p := &process{t: t, l: l, wire: faults.New(l.Raw.Options().HTTPClient)}
	var client entity.Client = l.Through(p.wire)
	var streams stream.Client = b
	if b != nil {
		client = tableOf{client, b}
	} else {
		streams = streamsOf(l)
	}
	p.db = l.Open(client)
	if o.Poll = 2 * time.Millisecond; o.Name == "" {
		o.Name = "search"
	}
	if o.OnLost == nil {
		o.OnLost = func(_ context.Context, gap *stream.LostError) error { p.note("lost " + gap.Shard); return nil }
	}
	p.reader = stream.NewReader(streams, p.db, o)
	return p
}

// streamsOf returns a client of the streams of the database.
func streamsOf(l *lab) *dynamodbstreams.Client {
	o := l.Raw.Options()
	return dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials, HTTPClient: o.HTTPClient})
}

func (p *process) note(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, text)
}

// has reports whether the process has seen something.
func (p *process) has(text string) func() bool {
	return func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return slices.Contains(p.seen, text)
	}
}

// start runs the reader.
func (p *process) start() *process {
	ctx, stop := context.WithCancel(p.t.Context())
	p.stop, p.done = stop, make(chan error, 1)
	teams := entity.Must(entity.New[Team](p.db))
	go func() {
		p.done <- p.reader.Run(ctx, stream.On(teams, func(ctx context.Context, c stream.Change[Team]) error {
			v := entity.Must(c.Item())
			if p.each != nil {
				p.each(v.ID)
			}
			if ctx.Err() == nil {
				p.note(v.ID)
			}
			return ctx.Err()
		}))
	}()
	return p
}

// end stops the reader and returns what it has seen.
func (p *process) end() []string {
	p.t.Helper()
	p.stop()
	require.NoError(p.t, <-p.done)
	return p.seen
}

func eventually(t *testing.T, what string, f func() bool) {
	t.Helper()
	require.Eventually(t, f, 2*time.Minute, 5*time.Millisecond, what)
}

// shardItem returns the checkpoint of a shard.
func (l *lab) shardItem(shard string) dbtest.Item {
	for _, it := range l.Items() {
		if s, ok := it["shard"].(*types.AttributeValueMemberS); ok && s.Value == shard {
			return it
		}
	}
	return nil
}

func brookLab(t *testing.T) (*lab, *brook) {
	t.Helper()
	dbtest.Parallel(t)
	l := newLab(t)
	store[Team](l)
	require.NoError(t, tables.Create(l.Ctx, l.DB))
	return l, &brook{arn: "arn:aws:dynamodb:eu-central-1:1:table/" + l.Table + "/stream/2026"}
}

// A process that is stopped saves what it did and gives up its leases at once, so the next goes on with the next record.
func TestReader_GoesOnWhereItWasStopped(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2", "t-3", "t-4", "t-5")
	p := l.process(t, b, stream.ReaderOptions{})
	p.each = func(id string) {
		if id == "t-4" {
			p.stop()
		}
	}
	p.start()
	require.NoError(t, <-p.done)
	require.Equal(t, []string{"t-1", "t-2", "t-3"}, p.seen)
	require.Equal(t, "3", dbtest.Text(l.shardItem("a")["sequence"]))
	require.Empty(t, dbtest.Text(l.shardItem("a")["token"]))
	next := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the rest", next.has("t-5"))
	require.Equal(t, []string{"t-4", "t-5"}, next.end())
	other := l.process(t, b, stream.ReaderOptions{Name: "other"}).start()
	eventually(t, "another reader begins at the beginning", other.has("t-5"))
	other.end()
}

// A process that hangs, or is cut off, loses its shard to another, and cannot move the checkpoint back.
func TestReader_AnotherTakesOverFromOneThatHangs(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-2", "t-3", "t-4", "t-5", "t-6")
	hangs, wake, old := make(chan bool), make(chan bool), l.process(t, b, stream.ReaderOptions{})
	old.each = func(id string) {
		if id == "t-3" {
			close(hangs)
			<-wake
		}
	}
	old.start()
	<-hangs
	fresh := l.process(t, b, stream.ReaderOptions{}).start()
	polls := func() int { return fresh.wire.Count("Query") }
	before := polls()
	eventually(t, "the other looks for free leases", func() bool { return polls() > before+5 })
	require.Empty(t, fresh.seen, "while the lease lasts")
	l.Clock.Move(31 * time.Second)
	eventually(t, "the other goes on", fresh.has("t-6"))
	eventually(t, "it saves how far it came", func() bool { return dbtest.Text(l.shardItem("a")["sequence"]) == "6" })
	require.Equal(t, []string{"t-3", "t-4", "t-5", "t-6"}, fresh.seen)
	close(wake)
	eventually(t, "the one that hung knows that it has lost", func() bool { return old.wire.Count("Query") > 5 })
	require.Equal(t, "6", dbtest.Text(l.shardItem("a")["sequence"]))
	b.do(func() { b.shards[0].add(time.Now(), "t-7") })
	eventually(t, "only one goes on", func() bool { return old.has("t-7")() || fresh.has("t-7")() })
	require.Subset(t, []string{"t-1", "t-2", "t-3", "t-4"}, old.end())
	require.Equal(t, []string{"t-3", "t-4", "t-5", "t-6", "t-7"}, fresh.end())
}

// A process that comes back after its shard is read, and gone, does not store a checkpoint again.
func TestReader_DoesNotBringBackWhatIsGone(t *testing.T) {
	l, b := brookLab(t)
	b.shard("a", "", time.Now(), "t-1", "t-1b", "t-1c").closed = true
	hangs, wake, old := make(chan bool), make(chan bool), l.process(t, b, stream.ReaderOptions{})
	old.each = func(id string) {
		if id == "t-1" {
			close(hangs)
			<-wake
		}
	}
	old.start()
	<-hangs
	l.Clock.Move(31 * time.Second)
	fresh := l.process(t, b, stream.ReaderOptions{}).start()
	eventually(t, "the other reads the shard", func() bool { return fresh.has("t-1c")() && dbtest.Text(l.shardItem("a")["token"]) == "" })
	b.do(func() { b.shards[0].gone = true; b.shard("b", "a", time.Now(), "t-2") })
	eventually(t, "its child is read", func() bool { return fresh.has("t-2")() || old.has("t-2")() })
	l.Clock.Move(25 * time.Hour) // before, an answer may have left it out
	eventually(t, "the checkpoint is removed", func() bool { return l.shardItem("a") == nil })
	gets := old.wire.Count("GetItem")
	close(wake)
	eventually(t, "the one that hung finds no checkpoint", func() bool { return old.wire.Count("GetItem") > gets || old.has("lost a")() })
	require.Contains(t, fresh.end(), "t-1")
	b.do(func() { b.shards[1].add(time.Now(), "t-3") })
	eventually(t, "with what there is", old.has("t-3"))
	require.Nil(t, l.shardItem("a"))
	require.NotContains(t, old.end(), "lost a")
}

// requireInOrder checks that each record of a family, such as "a-7", came for the first time after the one before it.
func requireInOrder(t *testing.T, order []string) {
	t.Helper()
	next := map[string]int{}
	for _, id := range order {
		var family string
		var n int
		require.NoError(t, dbtest.ErrorOf(fmt.Sscanf(id, "%1s-%d", &family, &n)))
		require.LessOrEqual(t, n, next[family], "%s came too early", id)
		next[family] = max(next[family], n+1)
	}
}

// Whatever request fails, before or after it is applied, records are handled in order, and at the end all of them.
func TestReader_GoesOnAfterAFaultOfEachRequest(t *testing.T) {
	l, b := brookLab(t)
	b.shard("0", "", time.Now(), "a-0", "a-1", "a-2").closed = true
	b.shard("1", "0", time.Now(), "a-3", "a-4")
	total := 0
	for n := 0; n == 0 || n <= total; n++ {
		for _, round := range testsize.Rounds(faults.Throttle, faults.Drop, faults.Lost, faults.InternalApplied, faults.Twice, faults.Conflict) {
			fault := round.At(n + 1)
			p := l.process(t, b, stream.ReaderOptions{Name: fmt.Sprintf("r%d-%v", n, fault)})
			if n > 0 {
				p.wire.Inject(faults.Nth(n, fault))
			}
			p.start()
			eventually(t, fmt.Sprintf("%v of request %d", fault, n), p.has("a-4"))
			requireInOrder(t, p.end())
			done := slices.DeleteFunc(l.Items(), func(it dbtest.Item) bool {
				return dbtest.Text(it["reader"]) != fmt.Sprintf("r%d-%v", n, fault) || dbtest.Text(it["shard"]) != "1"
			})
			require.Len(t, done, 1)
			require.Equal(t, "2", dbtest.Text(done[0]["sequence"]), "%v of request %d", fault, n)
			total = max(total, len(p.wire.Requests()))
			if n == 0 {
				require.Equal(t, []string{"a-0", "a-1", "a-2", "a-3", "a-4"}, p.seen)
				break
			}
		}
	}
	require.Greater(t, total, 10)
}

// Records that may have been removed while no process read are reported: those after a checkpoint, and those of shards that were never seen.
func TestReader_ReportsWhatWasRemovedWhileNothingRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		away     time.Duration
		finished bool // before the reader was stopped
		change   func(b *brook)
		seen     []string
	}{
		{"less than a day", 23 * time.Hour, true, func(b *brook) { b.shard("1", "0", time.Now(), "t-2") }, []string{"t-2"}},
		{"the shard is gone", time.Hour, false, func(b *brook) { b.shards[0].gone = true; b.shard("1", "0", time.Now(), "t-2") }, []string{"lost 0", "t-2"}},
		{"its child was not known", 25 * time.Hour, true, func(b *brook) { b.shard("1", "0", time.Now(), "t-2") }, []string{"lost 1", "t-2"}},
		{"both are gone", 50 * time.Hour, true, func(b *brook) { b.shards[0].gone = true; b.shard("2", "1", time.Now(), "t-2") }, []string{"lost 2", "t-2"}},
		{"the stream is another one", 50 * time.Hour, true, func(b *brook) { b.shards, b.arn = nil, b.arn+"b"; b.shard("2", "1", time.Now(), "t-2") }, []string{"lost 2", "t-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, b := brookLab(t)
			b.shard("0", "", time.Now(), "t-1").closed = c.finished
			p := l.process(t, b, stream.ReaderOptions{}).start()
			eventually(t, "the first record", p.has("t-1"))
			if c.finished {
				eventually(t, "the end", func() bool {
					return dbtest.Text(l.shardItem("0")["sequence"]) == "1" && dbtest.Text(l.shardItem("0")["token"]) == ""
				})
			}
			require.Equal(t, []string{"t-1"}, p.end())
			l.Clock.Move(c.away)
			b.do(func() { c.change(b) })
			p = l.process(t, b, stream.ReaderOptions{}).start()
			eventually(t, "the second record", p.has("t-2"))
			if c.finished && (b.shards[0].gone || b.shards[0].id != "0") {
				eventually(t, "the checkpoint of what is gone is removed", func() bool { return l.shardItem("0") == nil })
			}
			require.Equal(t, c.seen, p.end())
		})
	}
}

// Processes are killed, hang and come back, while shards split and requests fail. Each record is handled, after the one before it.
func TestReaders_Storm(t *testing.T) {
	for range testsize.Pick(2, 40) {
		seed := testsize.Seed(t)
		rnd := rand.New(rand.NewPCG(seed, 0))
		l, b := brookLab(t)
		b.page = 4
		var mu sync.Mutex
		var order []string
		var all []*process
		start := func() *process {
			p := l.process(t, b, stream.ReaderOptions{MaxShards: 1 + rnd.IntN(3), Batch: 1 + rnd.IntN(4)})
			p.wire.Inject(faults.Random(rnd.Uint64(), 0.03, faults.Throttle, faults.Lost, faults.Internal, faults.Conflict, faults.Twice))
			p.each = func(id string) {
				mu.Lock()
				defer mu.Unlock()
				if p.dead.Load() {
					return
				}
				order = append(order, id)
			}
			all = append(all, p)
			return p.start()
		}
		live := []*process{start(), start(), start()}
		last, written, shards := map[string]*brookShard{}, map[string]int{}, 0
		for range 60 {
			b.do(func() {
				f := string(rune('a' + rnd.IntN(3)))
				x := last[f]
				if x == nil || rnd.IntN(4) == 0 {
					parent := ""
					if x != nil {
						x.closed, parent = true, x.id
					}
					shards++
					last[f] = b.shard(fmt.Sprintf("%03d", shards), parent, time.Now())
					x = last[f]
				}
				for range 1 + rnd.IntN(3) {
					x.add(time.Now(), fmt.Sprintf("%s-%d", f, written[f]))
					written[f]++
				}
				if rnd.IntN(10) == 0 {
					b.epoch++
				}
			})
			switch i := rnd.IntN(3); rnd.IntN(8) {
			case 0: // it is killed: no request of it is answered any more, and it does nothing
				live[i].wire.Inject(func(faults.Request) faults.Fault { return faults.Hang })
				live[i].dead.Store(true) // after the last save: what it saved, it has noted
				live[i].stop()
				live[i] = start()
			case 1: // it ends
				live[i].stop()
				live[i] = start()
			case 2:
				l.Clock.Move(31 * time.Second)
			}
		}
		total := 0
		for _, n := range written {
			total += n
		}
		eventually(t, fmt.Sprintf("all records of seed %d", seed), func() bool {
			l.Clock.Move(100 * time.Millisecond) // so that leases of the killed end, and not those of the living
			mu.Lock()
			defer mu.Unlock()
			return len(slices.Compact(slices.Sorted(slices.Values(order)))) == total
		})
		for _, p := range all {
			p.stop()
			<-p.done
		}
		requireInOrder(t, order)
	}
}

// counting counts the reads of a stream.
type counting struct {
	stream.Client
	reads atomic.Int64
}

func (c *counting) GetRecords(ctx context.Context, in *dynamodbstreams.GetRecordsInput, opts ...func(*dynamodbstreams.Options)) (*dynamodbstreams.GetRecordsOutput, error) {
	c.reads.Add(1)
	return c.Client.GetRecords(ctx, in, opts...)
}

// The checkpoints are in the stream that they are about. They are not handled, and lead to no other checkpoint.
func TestReader_DoesNotReadItsOwnCheckpoints(t *testing.T) {
	l := newLab(t)
	teams := store[Team](l)
	l.create()
	p, streams := l.process(t, nil, stream.ReaderOptions{}), &counting{Client: streamsOf(l)}
	p.reader = stream.NewReader(streams, p.db, stream.ReaderOptions{Name: "search", Poll: time.Millisecond})
	ctx, stop := context.WithCancel(l.Ctx)
	p.done = make(chan error, 1)
	go func() {
		p.done <- p.reader.Run(ctx, stream.On(teams, func(context.Context, stream.Change[Team]) error { p.note("team"); return nil }),
			stream.OnUnrouted(func(_ context.Context, r stream.Record) error {
				p.note("unrouted " + dbtest.Text(r.Keys["pk"]))
				return nil
			}))
	}()
	l.OK(teams.Create(l.Ctx, Team{ID: "t-1"}))
	eventually(t, "the change", p.has("team"))
	eventually(t, "its checkpoint", func() bool {
		return slices.ContainsFunc(l.Items(), func(it dbtest.Item) bool { return it["sequence"] != nil })
	})
	reads := streams.reads.Load()
	eventually(t, "reads of the checkpoints", func() bool { return streams.reads.Load() > reads+20 })
	puts := p.wire.Count("PutItem") + p.wire.Count("UpdateItem")
	stop()
	require.NoError(t, <-p.done)
	require.Equal(t, []string{"team"}, p.seen)
	require.LessOrEqual(t, puts, 16, "a beginning, and for each of at most four shards a checkpoint, a lease, and the save of a batch")
}
