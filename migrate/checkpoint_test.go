package migrate_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// fill makes n items that lack their index keys.
func (c *club) fill(n int) {
	c.T.Helper()
	var puts []entity.BatchOp
	type bare struct {
		_    entity.Key `name:"Member" pk:"$#{id}" sk:"$"`
		ID   string     `dynamodbav:"id"`
		Team string     `dynamodbav:"team"`
	}
	db := c.Open(c.Raw)
	store := dbtest.Declare[bare](c.T, db)
	for i := range n {
		puts = append(puts, store.Op().BatchPut(bare{ID: fmt.Sprintf("m%05d", i), Team: "red"}, entity.Unconditional()))
	}
	c.OK(db.BatchWrite(c.Ctx, puts...))
}

// A run that was ended goes on where it was, and a finished one does nothing.
func TestCheckpoint_GoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.fill(252)
	ctx, stop := context.WithCancel(c.Ctx)
	var seen []migrate.Progress
	part, err := migrate.Rewrite(ctx, c.now, migrate.Checkpoint("fill"), migrate.OnProgress(func(p migrate.Progress) {
		seen = append(seen, p)
		stop()
	}))
	require.ErrorIs(t, err, context.Canceled)
	require.Len(t, seen, 1)
	assert.Equal(t, []int{250, part.Items, 1, 0}, []int{seen[0].Evaluated, seen[0].Rewritten, seen[0].Segments, seen[0].SegmentsDone})
	assert.False(t, part.Done)

	whole := c.rewrite(migrate.Checkpoint("fill")) // the lease was given up, although the context has ended
	assert.Equal(t, []int{252, 252}, []int{whole.Items, whole.Rewritten})
	assert.True(t, whole.Resumed && whole.Done)
	assert.Equal(t, 252-part.Items, c.Wire.Count("UpdateItem"))
	assert.Len(t, c.team("red"), 252)

	again := c.rewrite(migrate.Checkpoint("fill"))
	assert.Equal(t, []string{"GetItem"}, c.Operations())
	assert.Equal(t, whole.Reasons, again.Reasons)
	assert.True(t, again.Done)

	assert.Zero(t, c.rewrite(migrate.Checkpoint("fill"), migrate.Restart()).Rewritten)
}

// Two runs do not work under one checkpoint. A run whose lease has ended can be replaced, and notices that it was.
func TestCheckpoint_HasALease(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.fill(252)
	other := dbtest.Declare[member](t, c.Open(c.Raw))
	var running error
	var once sync.Once
	_, err := migrate.Rewrite(c.Ctx, c.now, migrate.Checkpoint("fill"), migrate.OnProgress(func(migrate.Progress) {
		once.Do(func() {
			_, running = migrate.Rewrite(c.Ctx, other, migrate.Checkpoint("fill"))
			c.Clock.Move(31 * time.Second)
			c.OK(migrate.Rewrite(c.Ctx, other, migrate.Checkpoint("fill")))
		})
	}))
	require.ErrorIs(t, err, migrate.ErrLeaseLost)
	var busy *migrate.RunningError
	require.ErrorAs(t, running, &busy)
	assert.Equal(t, "fill", busy.Checkpoint)
	assert.Len(t, c.team("red"), 252)
}

// atRequest is a tracer that is called for each request.
type atRequest func(entity.Attempt)

func (f atRequest) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }
func (f atRequest) Request(_ context.Context, a entity.Attempt)              { f(a) }
func (f atRequest) End(context.Context, entity.Report)                       {}

// A run saves its progress and gives up its lease although its budget allows no request for hours.
func TestCheckpoint_IsSavedWhateverTheBudget(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.fill(3)
	ctx, stop := context.WithCancel(c.Ctx)
	db := c.Open(c.Raw, func(x *entity.Config) {
		x.Tracer = atRequest(func(a entity.Attempt) {
			if a.Operation == "PutItem" { // which takes the lease
				stop()
			}
		})
	})
	_, err := migrate.Rewrite(ctx, dbtest.Declare[member](t, db), migrate.Checkpoint("fill"), entity.Budget(0, .0001))
	require.ErrorIs(t, err, context.Canceled)
	assert.NotErrorIs(t, err, context.DeadlineExceeded, "of the request that gives up the lease")
	assert.Equal(t, 3, c.rewrite(migrate.Checkpoint("fill")).Rewritten)
}

// A default that was added or changed is other work: items that were examined lack it.
func TestCheckpoint_NoticesChangedDefaults(t *testing.T) {
	t.Parallel()
	type plain struct {
		_    entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		ID   string     `dynamodbav:"id"`
		Lang string     `dynamodbav:"lang,omitempty"`
	}
	type english struct {
		_    entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		ID   string     `dynamodbav:"id"`
		Lang string     `dynamodbav:"lang,omitempty" entity:"default=en"`
	}
	type german struct {
		_    entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
		ID   string     `dynamodbav:"id"`
		Lang string     `dynamodbav:"lang,omitempty" entity:"default=de"`
	}
	b, s := dbtest.OpenStore[plain](t)
	b.OK(s.Create(b.Ctx, plain{ID: "p"}))
	b.OK(migrate.Rewrite(b.Ctx, s, migrate.Checkpoint("fill")))
	en := dbtest.Declare[english](t, b.Open(b.Raw))
	_, err := migrate.Rewrite(b.Ctx, en, migrate.Checkpoint("fill"))
	require.ErrorIs(t, err, migrate.ErrOtherWork)
	b.OK(migrate.Rewrite(b.Ctx, en, migrate.Checkpoint("fill"), migrate.Restart()))
	_, err = migrate.Rewrite(b.Ctx, dbtest.Declare[german](t, b.Open(b.Raw)), migrate.Checkpoint("fill"))
	require.ErrorIs(t, err, migrate.ErrOtherWork)
}

// dead makes every request from the n-th on fail, as if the program had been killed.
func dead(n int) func(faults.Request) faults.Fault {
	var mu sync.Mutex
	return func(faults.Request) faults.Fault {
		mu.Lock()
		defer mu.Unlock()
		if n--; n < 0 {
			return faults.Drop
		}
		return faults.None
	}
}
