package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/stream"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// feed brings the changes of tickets from the stream of their table, out of order and some of them twice.
type feed struct {
	mu      sync.Mutex
	random  *rand.Rand
	waiting []stream.Change[ticket]
	applied int
}

func (f *feed) add(changes ...stream.Change[ticket]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, changes...)
}

// take returns one of the changes that wait longest, which may come again later.
func (f *feed) take() (c stream.Change[ticket], ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waiting) == 0 {
		return c, false
	}
	i := f.random.IntN(min(len(f.waiting), 30))
	c = f.waiting[i]
	f.applied++
	if f.random.IntN(5) > 0 {
		f.waiting = append(f.waiting[:i], f.waiting[i+1:]...)
	}
	return c, true
}

// read reads the stream until ctx is done.
func (s *station) read(ctx context.Context, from *dbtest.Stream, f *feed) error {
	for ctx.Err() == nil {
		records, err := from.Next(s.Ctx)
		if err != nil {
			return err
		}
		for _, r := range records {
			c, ok, err := stream.Of(s.tickets, stream.FromSDK(from.ARN, r))
			if err != nil {
				return err
			}
			if ok {
				f.add(c)
			}
		}
	}
	return nil
}

// newSplitStation is a station whose sides are in two tables, and the bench of the old one.
func newSplitStation(t *testing.T) (s *station, old *dbtest.Bench) {
	t.Helper()
	old = dbtest.Open(t)
	b := dbtest.Open(t, dbtest.Attempts(4))
	s = &station{Bench: b, tickets: dbtest.Declare[ticket](t, old.Open(old.Raw)), passes: dbtest.Declare[pass](t, b.Open(b.Raw))}
	dbtest.Declare[ticket](t, old.DB)
	dbtest.Declare[pass](t, b.DB)
	old.CreateTables()
	b.CreateTables()
	return s, old
}

// Items are copied while eight writers change, move, remove and create them, and two consumers apply the changes out of order
// and twice. The run is killed ten times, the consumers again and again, and the cut over once. Both sides are equal then, and
// no update is lost. The usual run has fewer writers, which are killed less often.
func TestStorm_ACopyFollowsWritersUntilTheCutOver(t *testing.T) {
	const consumers = 2
	writers, kills := testsize.Pick(3, 8), testsize.Pick(3, 10)
	count, seed := int(testsize.Number(t, "DYNASTRATA_ITEMS", uint64(testsize.Pick(40, 400)))), testsize.Seed(t)
	random := rand.New(rand.NewPCG(seed, 1))
	s, old := newSplitStation(t)
	id := func(i int) string { return fmt.Sprintf("t%05d", i) }
	bulk := old.Open(old.Raw)
	bare := dbtest.Declare[ticket](t, bulk)
	for from := 0; from < count; from += 1000 {
		var puts []entity.BatchOp
		for i := from; i < min(from+1000, count); i++ {
			puts = append(puts, bare.Op().BatchPut(ticket{ID: id(i), Owner: fmt.Sprint("o", i%97)}, entity.Unconditional()))
		}
		s.OK(bulk.BatchWrite(s.Ctx, puts...))
	}
	changes, err := dbtest.OpenStream(s.Ctx, s.Raw, old.Table, types.StreamViewTypeNewAndOldImages)
	require.NoError(t, err)

	// open returns the copier of a program whose requests for the new side are answered by inject.
	open := func(inject func(faults.Request) faults.Fault) *migrate.Copier[ticket, pass] {
		wire := faults.New(s.Raw.Options().HTTPClient)
		wire.Inject(inject)
		c, err := migrate.Copy("passes", dbtest.Declare[ticket](t, old.Open(s.Through(wire), dbtest.Attempts(3))), dbtest.Declare[pass](t, s.Open(s.Through(wire), dbtest.Attempts(3))), toPass)
		require.NoError(t, err)
		return c
	}
	estimate, err := open(nil).Run(s.Ctx, migrate.DryRun(), entity.Segments(4))
	require.NoError(t, err)
	require.Equal(t, count, estimate.Rewritten)

	var working, consuming sync.WaitGroup
	stop := make(chan struct{})
	reading, unread := context.WithCancel(s.Ctx)
	f := &feed{random: rand.New(rand.NewPCG(seed, 99))}
	consuming.Go(func() { assert.NoError(t, s.read(reading, changes, f)) })
	consumed := make(chan struct{})
	var died atomic.Int64
	for n := range consumers {
		r := rand.New(rand.NewPCG(seed, uint64(n)+200))
		consuming.Go(func() {
			c := open(dead(50 + r.IntN(300)))
			for {
				change, ok := f.take()
				if !ok {
					select {
					case <-consumed:
						return
					default:
						time.Sleep(time.Millisecond) // the stream has nothing yet
						continue
					}
				}
				switch err := c.Handle(s.Ctx, change); {
				case errors.Is(err, migrate.ErrCutOver):
					return
				case err != nil: // this program is dead; another takes over
					died.Add(1)
					f.add(change)
					c = open(dead(50 + r.IntN(300)))
				}
			}
		})
	}

	updates := make([]atomic.Int64, count)
	var writes atomic.Int64
	for n := range writers {
		mine := dbtest.Declare[ticket](t, old.Open(old.Raw))
		r := rand.New(rand.NewPCG(seed, uint64(n)+2))
		working.Go(func() {
			field := entity.Fields[ticket]()
			for {
				select {
				case <-stop:
					return
				default:
				}
				i := r.IntN(count)
				var err error
				switch kind := r.IntN(10); {
				case i%10 == 0 && kind < 4: // these come and go
					err = mine.Delete(s.Ctx, ticket{ID: id(i)})
				case i%10 == 0 && kind < 8:
					_, err = mine.Create(s.Ctx, ticket{ID: id(i), Owner: fmt.Sprint("o", r.IntN(97))})
				case kind == 8:
					owner := []string{"nobody", fmt.Sprint("o", r.IntN(97))}[r.IntN(2)]
					_, err = mine.Update(s.Ctx, ticket{ID: id(i)}, entity.Set(&field.Owner, owner))
				case kind == 9:
					_, err = mine.Update(s.Ctx, ticket{ID: id(i)}, entity.Set(&field.Code, fmt.Sprintf("c%d-%d", i, r.IntN(3))))
				default:
					if _, err = mine.Update(s.Ctx, ticket{ID: id(i)}, entity.Add(&field.Uses, 1)); err == nil {
						updates[i].Add(1)
					}
				}
				writes.Add(1)
				if err != nil && !errors.Is(err, entity.ErrNotFound) && !errors.Is(err, entity.ErrExists) {
					assert.NoError(t, err)
					return
				}
			}
		})
	}

	opts := []migrate.CopyOption{entity.Segments(4)}
	for killed := 0; killed < kills; s.Clock.Move(31 * time.Second) {
		if _, err := open(dead(1+random.IntN(max(count/20, 15)))).Run(s.Ctx, opts...); err != nil {
			killed++
			opts = opts[:1]
		} else {
			opts = append(opts[:1], migrate.Restart())
		}
	}
	done, err := open(nil).Run(s.Ctx, entity.Segments(4))
	require.NoError(t, err)
	require.True(t, done.Done && done.Resumed)
	verified, err := open(nil).Verify(s.Ctx, entity.Segments(4))
	require.NoError(t, err)

	close(stop) // the old program has stopped, and its last changes are under way
	working.Wait()
	_, err = open(dead(1 + random.IntN(40))).CutOver(s.Ctx)
	require.Error(t, err)
	last, err := open(nil).CutOver(s.Ctx, entity.Segments(4))
	require.NoError(t, err)
	unread()
	close(consumed)
	consuming.Wait()

	s.requireEqual()
	total := int64(0)
	found, err := s.passes.Scan(entity.Consistent()).Collect(s.Ctx)
	require.NoError(t, err)
	for _, p := range found {
		var i int
		_, err := fmt.Sscanf(p.ID, "t%d", &i)
		require.NoError(t, err)
		if n := updates[i].Load(); i%10 > 0 {
			total += n
			require.EqualValues(t, n, p.Rides, p.ID)
		}
	}
	after, err := open(nil).Verify(s.Ctx)
	require.NoError(t, err)
	require.True(t, after.Clean(), "%s", after)
	t.Logf("%d items, %d writes by %d writers, %d kills: %s, %d conflicts", count, writes.Load(), writers, kills, done, done.Conflicts)
	t.Logf("%d changes applied by %d consumers, which were killed %d times; %d copies with %d counted updates", f.applied, consumers, died.Load(), len(found), total)
	t.Logf("while writers work: %s", verified)
	t.Logf("cut over: %s: %s", last, last.Cost)
	t.Logf("estimate: %s", estimate.Estimate)
	t.Logf("cost:     %s", done.Cost)
}
