package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tables/schemalock"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/exampletest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// account is what holders write.
type account struct {
	_    entity.Key `name:"Account" pk:"$#{id}" sk:"$"`
	ID   string     `dynamodbav:"id"`
	By   string     `dynamodbav:"by"`
	Last int64      `dynamodbav:"last"`
}

// lab is a table, and programs that share leases in it, each with a clock of its own.
type lab struct {
	*dbtest.Bench
	accounts *entity.Store[account]
	a, b     *lease.Leases
	late     *dbtest.Clock // of b
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dbtest.Parallel(t)
	l := &lab{Bench: dbtest.Open(t), late: &dbtest.Clock{}}
	l.accounts = dbtest.Declare[account](t, l.DB)
	l.a = l.leases(l.DB, "a")
	l.late.Set(dbtest.Start, 0)
	l.b = l.leases(l.Open(l.Client, func(c *entity.Config) { c.Clock = l.late.Now }), "b")
	l.CreateTables()
	return l
}

func (l *lab) leases(db *entity.DB, holder string) *lease.Leases {
	l.T.Helper()
	return entity.Must(lease.New(db, lease.Options{Holder: holder}))
}

// move moves all clocks.
func (l *lab) move(d time.Duration) {
	l.Clock.Move(d)
	l.late.Move(d)
}

func (l *lab) acquire(leases *lease.Leases) *lease.Held {
	l.T.Helper()
	return entity.Must(leases.Acquire(l.Ctx, "job"))
}

func (l *lab) taken(leases *lease.Leases, holder string, until time.Time) {
	l.T.Helper()
	_, err := leases.Acquire(l.Ctx, "job")
	taken := dbtest.As[*lease.TakenError](l.T, err)
	require.ErrorIs(l.T, err, lease.ErrTaken)
	assert.Equal(l.T, lease.TakenError{Name: "job", Holder: holder, Until: until.UTC()}, *taken)
}

func TestAcquire_OneHolderAtATime(t *testing.T) {
	l := newLab(t)
	a := l.acquire(l.a)
	assert.Equal(t, []string{"GetItem", "UpdateItem"}, l.Operations())
	assert.EqualValues(t, 1, a.Fence())
	l.taken(l.b, "a", dbtest.Start.Add(30*time.Second))
	l.taken(l.a, "a", dbtest.Start.Add(30*time.Second))
	assert.Equal(t, []string{"GetItem", "GetItem"}, l.Operations())
	other := entity.Must(l.b.Acquire(l.Ctx, "other"))
	assert.EqualValues(t, 1, other.Fence(), "each name has fences of its own")

	l.move(30 * time.Second)
	l.taken(l.b, "a", dbtest.Start.Add(30*time.Second))
	l.move(1)
	b := l.acquire(l.b)
	assert.EqualValues(t, 2, b.Fence())
	l.Sent()
	assert.ErrorIs(t, a.Renew(l.Ctx), lease.ErrLost)
	assert.Equal(t, []string{"UpdateItem", "GetItem"}, l.Operations())
	assert.ErrorIs(t, a.Renew(l.Ctx), lease.ErrLost)
	assert.ErrorIs(t, a.Release(l.Ctx), lease.ErrLost)
	assert.Empty(t, l.Operations(), "what is lost stays lost")
	l.OK(b.Renew(l.Ctx))
}

func TestRelease_KeepsTheFence(t *testing.T) {
	l := newLab(t)
	for fence := range int64(3) {
		h := l.acquire(l.a)
		assert.Equal(t, fence+1, h.Fence())
		ctx, cancel := context.WithCancel(l.Ctx)
		cancel()
		l.Sent()
		l.OK(h.Release(ctx))
		assert.Equal(t, []string{"UpdateItem"}, l.Operations())
		assert.ErrorIs(t, h.Release(ctx), lease.ErrLost)
		assert.Empty(t, l.Operations())
		assert.ErrorIs(t, h.Renew(l.Ctx), lease.ErrLost)
		assert.ErrorIs(t, l.DB.Transact(l.Ctx, h.Op(), l.accounts.Op().Put(account{ID: "1"})), lease.ErrLost)
	}
}

func TestOp_RefusesTransactionsOnceAnotherHoldsTheLease(t *testing.T) {
	l := newLab(t)
	a := l.acquire(l.a)
	write := func(h *lease.Held, token string) error {
		ops := []entity.Op{h.Op(), l.accounts.Op().Put(account{ID: "1", Last: h.Fence()})}
		if token != "" {
			return l.DB.TransactWithToken(l.Ctx, entity.Token{ID: token + l.Table, At: dbtest.Start}, ops...)
		}
		return l.DB.Transact(l.Ctx, ops...)
	}
	l.Sent()
	l.OK(write(a, ""))
	assert.Equal(t, []string{"TransactWriteItems"}, l.Operations())
	l.OK(write(a, "x"))
	l.OK(write(a, "x"))
	l.OK(l.DB.Transact(l.Ctx, a.Op(), a.Op()))
	l.OK(l.DB.Transact(l.Ctx, a.Op()))
	l.move(time.Hour)
	l.OK(write(a, ""), "nobody took it")
	l.OK(a.Renew(l.Ctx), "late")
	l.OK(write(a, ""))
	l.move(time.Hour)
	b, op := l.acquire(l.a), a.Op()
	err := l.DB.Transact(l.Ctx, op, l.accounts.Op().Put(account{ID: "1"}))
	assert.ErrorIs(t, err, lease.ErrLost)
	assert.ErrorIs(t, entity.FailureOf(err, op), lease.ErrLost)
	assert.False(t, entity.IsAmbiguous(err))
	assert.ErrorIs(t, write(a, "y"), lease.ErrLost)
	l.OK(write(b, ""))
	assert.EqualValues(t, 2, entity.Must(l.accounts.Get(l.Ctx, account{ID: "1"}, entity.Consistent())).Last)
}

func TestSkew_BeyondWhatIsDeclaredIsReported(t *testing.T) {
	l := newLab(t)
	l.acquire(l.a)
	l.late.Move(-2 * time.Second)
	l.taken(l.b, "a", dbtest.Start.Add(30*time.Second))
	l.late.Move(-1)
	var skew *lease.SkewError
	var taken *lease.TakenError
	_, err := l.b.Acquire(l.Ctx, "job")
	require.ErrorAs(t, err, &skew)
	assert.Equal(t, lease.SkewError{Name: "job", Holder: "a", By: 2*time.Second + 1}, *skew)
	require.ErrorAs(t, err, &taken)
	assert.WithinRange(t, taken.Until, l.late.Now(), l.late.Now().Add(30*time.Second), "by the clock of b")

	l.move(31 * time.Second)
	l.late.Move(3 * time.Second)
	b := l.acquire(l.b)
	assert.EqualValues(t, 2, b.Fence())
	l.Clock.Move(32 * time.Second) // a is ahead and takes it too early
	l.late.Move(time.Second)
	l.acquire(l.a)
	err = b.Renew(l.Ctx)
	require.ErrorIs(t, err, lease.ErrLost)
	assert.ErrorAs(t, err, &skew)
}

// A lease that is seen unchanged for the Duration of its holder is taken, whatever end is stored in it, and not before.
func TestAcquire_TakesWhatItHasSeenForLongEnough(t *testing.T) {
	t.Parallel()
	for name, ahead := range map[string]time.Duration{"of a clock that is ahead": 5 * time.Hour, "by a clock that stands still": 0} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.Clock.Move(ahead)
			longer := entity.Must(lease.New(l.DB, lease.Options{Holder: "a", Duration: time.Minute}))
			a := l.acquire(longer)
			var passed time.Duration // for b, whose wall clock does not move
			db := l.Open(l.Client, func(c *entity.Config) { c.Clock = l.late.Now })
			engine.DatabaseOf(db).Runner.Elapsed = func() time.Duration { return passed }
			b := l.leases(db, "b")
			refused := func(left time.Duration) {
				t.Helper()
				if ahead == 0 { // the stored end is the one to wait for
					left = time.Minute
				}
				l.taken(b, "a", dbtest.Start.Add(left))
			}
			refused(time.Minute)
			passed += time.Minute - 1
			refused(1)
			l.OK(a.Renew(l.Ctx))
			passed++
			refused(time.Minute)
			passed += time.Minute - 1
			l.Sent()
			refused(1)
			assert.Equal(t, []string{"GetItem"}, l.Operations())
			assert.Equal(t, ahead > 0, errors.As(dbtest.ErrorOf(b.Acquire(l.Ctx, "job")), new(*lease.SkewError)))
			passed++
			err := l.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() error { _, err := b.Acquire(l.Ctx, "job"); return err }, func() {
				l.Wire.Inject(nil)
				l.OK(a.Renew(l.Ctx))
			})
			require.ErrorIs(t, err, lease.ErrTaken, "a renewal came before")
			passed += time.Minute
			h := l.acquire(l.leases(db, "again"))
			assert.EqualValues(t, 2, h.Fence(), "all leases of a DB have seen it")
			assert.ErrorIs(t, a.Renew(l.Ctx), lease.ErrLost)
			l.OK(h.Release(l.Ctx))
			l.acquire(l.a)
			require.ErrorIs(t, dbtest.ErrorOf(b.Acquire(l.Ctx, "job")), lease.ErrTaken, "what was seen was another acquisition")
		})
	}
}

// An acquisition whose context ends gives up what its write took, or may take later.
func TestAcquire_GivesUpTheLeaseWhenItsContextEnds(t *testing.T) {
	l := newLab(t)
	l.OK(l.acquire(l.a).Release(l.Ctx))
	for i, f := range []faults.Fault{faults.Lost, faults.Late, faults.InternalApplied, faults.Drop, faults.Throttle} {
		ctx, stop := context.WithCancel(l.Ctx)
		sent := false
		l.Wire.Inject(func(r faults.Request) faults.Fault {
			switch {
			case ctx.Err() != nil:
			case sent:
				stop()
			case r.Operation == "UpdateItem":
				sent = true
				return f
			}
			return faults.None
		})
		require.Error(t, dbtest.ErrorOf(l.a.Acquire(ctx, "job")), "%v", f)
		l.Wire.Inject(nil)
		l.OK(l.Wire.Deliver())
		b := l.acquire(l.b)
		l.OK(b.Renew(l.Ctx), "%v", f)
		l.taken(l.a, "b", dbtest.Start.Add(30*time.Second))
		l.OK(b.Release(l.Ctx))
		assert.GreaterOrEqual(t, b.Fence(), int64(i+2))
	}
	ctx, stop := context.WithCancel(l.Ctx)
	stop()
	l.Sent()
	require.ErrorIs(t, dbtest.ErrorOf(l.a.Acquire(ctx, "job")), context.Canceled)
	assert.Empty(t, l.Operations())
	held := l.acquire(l.b)
	ctx, stop = context.WithCancel(l.Ctx)
	l.Wire.Inject(func(faults.Request) faults.Fault { stop(); return faults.None })
	require.Error(t, dbtest.ErrorOf(l.a.Acquire(ctx, "job")))
	l.Wire.Inject(nil)
	l.OK(held.Renew(l.Ctx), "of another it is left alone")
	l.OK(held.Release(l.Ctx))

	c := l.leases(l.Open(l.Client, dbtest.Attempts(1)), "c")
	l.Wire.Inject(func(r faults.Request) faults.Fault { // the read that would prove it fails too
		if r.Operation == "UpdateItem" {
			return faults.Lost
		}
		return map[bool]faults.Fault{true: faults.Drop}[len(l.Wire.Requests()) > 1]
	})
	l.Wire.Reset()
	require.True(t, entity.IsAmbiguous(dbtest.ErrorOf(c.Acquire(l.Ctx, "job"))))
	l.Wire.Inject(nil)
	require.ErrorIs(t, dbtest.ErrorOf(c.Acquire(ctx, "job")), context.Canceled)
	l.OK(l.acquire(l.b).Release(l.Ctx), "what an earlier call took is given up too")
}

// onceFaults are given to one request, which the library then repeats.
var onceFaults = []faults.Fault{
	faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Unsent, faults.Lost, faults.Cut, faults.Twice, faults.Late,
}

// Whatever request fails once, before or after it was applied, the lease is held and given up as if none had, and nothing that arrives late changes it.
func TestFaults_AtEachRequest(t *testing.T) {
	l, fence := newLab(t), int64(0)
	step := testsize.Pick(2, 1)
	for i, f := range onceFaults {
		for n := 1 + i%step; ; n += step {
			l.Wire.Reset()
			l.Wire.Inject(faults.Nth(n, f))
			a := l.acquire(l.a)
			require.Greater(t, a.Fence(), fence, "%v of request %d", f, n)
			l.OK(a.Renew(l.Ctx))
			l.OK(l.DB.Transact(l.Ctx, a.Op(), l.accounts.Op().Put(account{ID: "1", Last: a.Fence()})))
			l.OK(a.Release(l.Ctx))
			sent := len(l.Wire.Requests())
			l.Wire.Inject(nil)
			b := l.acquire(l.b)
			fence = b.Fence()
			l.OK(l.Wire.Deliver())
			require.ErrorIs(t, a.Renew(l.Ctx), lease.ErrLost)
			require.ErrorIs(t, l.DB.Transact(l.Ctx, a.Op(), l.accounts.Op().Put(account{ID: "1"})), lease.ErrLost)
			l.OK(b.Renew(l.Ctx), "%v of request %d", f, n)
			l.OK(b.Release(l.Ctx))
			if n >= sent {
				break
			}
		}
	}
}

// An acquire that has failed, and may have been applied, does not make its process wait.
func TestAcquire_ALostAnswerNeverMakesAHolderWaitForItself(t *testing.T) {
	l := newLab(t)
	db := l.Open(l.Client, dbtest.Attempts(1))
	a := entity.Must(lease.New(db, lease.Options{Holder: "a"}))
	for n, f := range []faults.Fault{faults.Lost, faults.Late, faults.InternalApplied, faults.Drop} {
		l.Wire.Inject(func(r faults.Request) faults.Fault { // the read that would prove it fails too
			if r.Operation == "UpdateItem" {
				return f
			}
			if len(l.Wire.Requests()) > 1 {
				return faults.Drop
			}
			return faults.None
		})
		l.Wire.Reset()
		require.True(t, entity.IsAmbiguous(dbtest.ErrorOf(a.Acquire(l.Ctx, "job"))), "%v", f)
		l.Wire.Inject(nil)
		h := l.acquire(a)
		l.OK(l.Wire.Deliver())
		l.OK(h.Renew(l.Ctx))
		l.taken(a, "a", dbtest.Start.Add(30*time.Second))
		l.OK(h.Release(l.Ctx))
		require.GreaterOrEqual(t, h.Fence(), int64(n+1))
	}
}

// A renewal or release that failed, and arrives after another took the lease, changes nothing.
func TestRenew_ThatArrivesLateIsRefused(t *testing.T) {
	l := newLab(t)
	for _, call := range []func(*lease.Held) error{
		func(h *lease.Held) error { return h.Renew(l.Ctx) },
		func(h *lease.Held) error { return h.Release(l.Ctx) },
	} {
		a := l.acquire(l.a)
		l.move(31 * time.Second)
		var b *lease.Held
		err := l.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() error { return call(a) }, func() {
			l.Wire.Inject(nil)
			other := l.leases(l.Open(l.Raw), "c")
			b = entity.Must(other.Acquire(l.Ctx, "job"))
		})
		require.ErrorIs(t, err, lease.ErrLost)
		l.OK(b.Release(l.Ctx))
	}
}

func TestKeep_ReturnsWhatTheWorkReturns(t *testing.T) {
	l := newLab(t)
	h, mine := l.acquire(l.a), errors.New("mine")
	assert.Equal(t, mine, h.Keep(l.Ctx, func(context.Context) error { return mine }))
	l.OK(h.Keep(l.Ctx, func(ctx context.Context) error { return ctx.Err() }))
	l.OK(h.Renew(l.Ctx))
	dbtest.RequireInput(t, h.Keep(l.Ctx, nil), "EDD-9221", "")
}

func TestNew_RefusesDurationsThatDoNotFit(t *testing.T) {
	l := newLab(t)
	for _, o := range []lease.Options{{Duration: -1}, {Skew: -1}, {Duration: time.Second}, {Duration: 4 * time.Second, Skew: 2*time.Second + 1}} {
		dbtest.RequireInput(t, dbtest.ErrorOf(lease.New(l.DB, o)), "EDD-9220", "Skew")
	}
	dbtest.RequireInput(t, dbtest.ErrorOf(l.a.Acquire(l.Ctx, "")), "EDD-9101", "Name")
}

// The example needs a database, so go test does not compare its output. This test does.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	exampletest.Database(t, &client, &table)
	empty := entity.Must(entity.Open(client, entity.Config{Table: table}))
	entity.Must(lease.New(empty, lease.Options{}))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", ExampleLeases))
}

// Leases are items of an ordinary entity, which the schema lock lists; those of another table have an entity of their own.
func TestNew_DeclaresAnEntityForEachTable(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app", Tables: map[string]string{"jobs": "prod-jobs"}}))
	for _, o := range []lease.Options{{}, {Table: "jobs"}, {Holder: "again"}} {
		require.NoError(t, dbtest.ErrorOf(lease.New(db, o)))
	}
	text := schemalock.Of(db).String()
	for _, want := range []string{"entity Leases\n", "entity Leases-jobs\n", "until", "token"} {
		assert.Contains(t, text, want)
	}
	var names []string
	for _, x := range tables.Of(db).Tables {
		names = append(names, x.Name)
	}
	assert.Equal(t, []string{"app", "prod-jobs"}, names)
}
