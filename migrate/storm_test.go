package migrate_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
)

// worker is an item of the storm, without its index.
type worker struct {
	_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// indexed is the same item with its index.
type indexed struct {
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// Items get a new index while eight writers work, and the run is killed at ten random requests: in the end every item is in
// the index, no update is lost, and the versions are those of the writers.
func TestStorm_ANewIndexIsFilledAmongWriters(t *testing.T) {
	const writers, kills = 8, 10
	count, seed := int(testsize.Number(t, "DYNASTRATA_ITEMS", uint64(testsize.Pick(60, 3000)))), testsize.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	b, store := dbtest.OpenStore[indexed](t)
	old := b.Open(b.Raw)
	bare := dbtest.Declare[worker](t, old)
	id := func(i int) string { return fmt.Sprintf("w%05d", i) }
	for from := 0; from < count; from += 1000 {
		var puts []entity.BatchOp
		for i := from; i < min(from+1000, count); i++ {
			puts = append(puts, bare.Op().BatchPut(worker{ID: id(i), Team: fmt.Sprintf("t%d", i%7)}, entity.Unconditional()))
		}
		b.OK(old.BatchWrite(b.Ctx, puts...))
	}
	was := b.ItemsByKey()

	estimate, err := migrate.Rewrite(b.Ctx, store, migrate.DryRun(), entity.Segments(4))
	require.NoError(t, err)
	require.Equal(t, count, estimate.Rewritten)

	updates := make([]atomic.Int64, count)
	stop := make(chan struct{})
	var working sync.WaitGroup
	for n := range writers {
		mine := dbtest.Declare[indexed](t, b.Open(b.Raw))
		r := rand.New(rand.NewPCG(seed, uint64(n)+2))
		working.Go(func() {
			f := entity.Fields[indexed]()
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := r.IntN(count)
				changes := []entity.UpdateOption{entity.Add(&f.Tasks, 1)}
				if r.IntN(3) == 0 {
					changes = append(changes, entity.Set(&f.Team, fmt.Sprintf("t%d", r.IntN(7))))
				}
				if _, err := mine.Update(b.Ctx, indexed{ID: id(i)}, changes...); !assert.NoError(t, err) {
					return
				}
				updates[i].Add(1)
			}
		})
	}

	var report migrate.Report
	run := func(inject func(faults.Request) faults.Fault) error {
		wire := faults.New(b.Raw.Options().HTTPClient)
		wire.Inject(inject)
		mine := dbtest.Declare[indexed](t, b.Open(b.Through(wire), dbtest.Attempts(3)))
		report, err = migrate.Rewrite(b.Ctx, mine, migrate.Checkpoint("byTeam"), entity.Segments(4))
		return err
	}
	killed := 0
	for range kills {
		if run(dead(1+random.IntN(max(count/kills, 2)))) != nil {
			killed++
		}
		b.Clock.Move(31 * time.Second)
	}
	require.Equal(t, kills, killed)
	require.NoError(t, run(nil))
	close(stop)
	working.Wait()

	require.True(t, report.Done && report.Resumed)
	require.Zero(t, report.Skipped())
	total := int64(0)
	found, err := entity.Must(store.Index("byTeam")).Scan().Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, found, count)
	is := b.ItemsByKey()
	for _, w := range found {
		var i int
		_, err := fmt.Sscanf(w.ID, "w%d", &i)
		require.NoError(t, err)
		n := updates[i].Load()
		total += n
		require.Equal(t, []int64{n, 1 + n}, []int64{int64(w.Tasks), w.Version}, w.ID)
		key := "$app#v1#worker#" + w.ID + " $app#v1#worker"
		require.Equal(t, "$app#v1#worker#"+w.Team, dbtest.Text(is[key]["gsi1pk"]))
		if n == 0 {
			require.Equal(t, without(was[key], "_w"), without(is[key], "_w", "gsi1pk", "gsi1sk"))
		}
	}
	clean, err := migrate.Rewrite(b.Ctx, store, migrate.DryRun())
	require.NoError(t, err)
	require.Zero(t, clean.Rewritten+clean.Skipped())
	t.Logf("%d items, %d updates by %d writers, %d kills: %s, %d conflicts", count, total, writers, killed, report, report.Conflicts)
	t.Logf("estimate: %s", estimate.Estimate)
	t.Logf("cost:     %s", report.Cost)
}
