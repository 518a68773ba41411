package lease_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/exampletest"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/schemalock"
	"github.com/dynastrata/dynastrata/tables"
)

// account is what holders write.
type account struct {
	_ entity.Key `name:"Account" pk:"$#{id}" sk:"$"`

	ID   string `dynamodbav:"id"`
	By   string `dynamodbav:"by"`
	Sum  int    `dynamodbav:"sum"`
	Last int64  `dynamodbav:"last"`
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
	leases, err := lease.New(db, lease.Options{Holder: holder})
	require.NoError(l.T, err)
	return leases
}

// move moves all clocks.
func (l *lab) move(d time.Duration) {
	l.Clock.Move(d)
	l.late.Move(d)
}

func (l *lab) acquire(leases *lease.Leases) *lease.Held {
	l.T.Helper()
	h, err := leases.Acquire(l.Ctx, "job")
	require.NoError(l.T, err)
	return h
}

func (l *lab) taken(leases *lease.Leases, holder string, until time.Time) {
	l.T.Helper()
	_, err := leases.Acquire(l.Ctx, "job")
	var taken *lease.TakenError
	require.ErrorAs(l.T, err, &taken)
	require.ErrorIs(l.T, err, lease.ErrTaken)
	assert.Equal(l.T, lease.TakenError{Name: "job", Holder: holder, Until: until.UTC()}, *taken)
}

func TestAcquire_OneHolderAtATime(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.acquire(l.a)
	assert.Equal(t, []string{"GetItem", "UpdateItem"}, l.Operations())
	assert.EqualValues(t, 1, a.Fence())
	l.taken(l.b, "a", dbtest.Start.Add(30*time.Second))
	l.taken(l.a, "a", dbtest.Start.Add(30*time.Second))
	assert.Equal(t, []string{"GetItem", "GetItem"}, l.Operations())
	other, err := l.b.Acquire(l.Ctx, "other")
	require.NoError(t, err)
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
	t.Parallel()
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
	t.Parallel()
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
	b := l.acquire(l.a)
	op := a.Op()
	err := l.DB.Transact(l.Ctx, op, l.accounts.Op().Put(account{ID: "1"}))
	assert.ErrorIs(t, err, lease.ErrLost)
	assert.ErrorIs(t, entity.FailureOf(err, op), lease.ErrLost)
	assert.False(t, entity.IsAmbiguous(err))
	assert.ErrorIs(t, write(a, "y"), lease.ErrLost)
	l.OK(write(b, ""))
	got, err := l.accounts.Get(l.Ctx, account{ID: "1"}, entity.Consistent())
	require.NoError(t, err)
	assert.EqualValues(t, 2, got.Last)
}

func TestSkew_BeyondWhatIsDeclaredIsReported(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.acquire(l.a)
	l.late.Move(-2 * time.Second)
	l.taken(l.b, "a", dbtest.Start.Add(30*time.Second))
	l.late.Move(-1)
	var skew *lease.SkewError
	_, err := l.b.Acquire(l.Ctx, "job")
	require.ErrorAs(t, err, &skew)
	assert.Equal(t, lease.SkewError{Name: "job", Holder: "a", By: 2*time.Second + 1}, *skew)
	assert.NotErrorIs(t, err, lease.ErrTaken)

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

// onceFaults are given to one request, which the library then repeats.
var onceFaults = []faults.Fault{
	faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Unsent, faults.Lost, faults.Cut, faults.Twice, faults.Late,
}

// Whatever request fails once, before or after it was applied, the lease is held and given up as if none had, and nothing that arrives late changes it.
func TestFaults_AtEachRequest(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	fence := int64(0)
	for _, f := range onceFaults {
		for n := 1; ; n++ {
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
			_, err := l.Wire.Deliver()
			require.NoError(t, err)
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
	t.Parallel()
	l := newLab(t)
	db := l.Open(l.Client, dbtest.Attempts(1))
	a, err := lease.New(db, lease.Options{Holder: "a"})
	require.NoError(t, err)
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
		_, err := a.Acquire(l.Ctx, "job")
		require.True(t, entity.IsAmbiguous(err), "%v", f)
		l.Wire.Inject(nil)
		h := l.acquire(a)
		_, err = l.Wire.Deliver()
		require.NoError(t, err)
		l.OK(h.Renew(l.Ctx))
		l.taken(a, "a", dbtest.Start.Add(30*time.Second))
		l.OK(h.Release(l.Ctx))
		require.GreaterOrEqual(t, h.Fence(), int64(n+1))
	}
}

// A renewal or release that failed, and arrives after another took the lease, changes nothing.
func TestRenew_ThatArrivesLateIsRefused(t *testing.T) {
	t.Parallel()
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
			var err error
			b, err = other.Acquire(l.Ctx, "job")
			require.NoError(t, err)
		})
		require.ErrorIs(t, err, lease.ErrLost)
		l.OK(b.Release(l.Ctx))
	}
}

func TestKeep_ReturnsWhatTheWorkReturns(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	h := l.acquire(l.a)
	mine := errors.New("mine")
	assert.Equal(t, mine, h.Keep(l.Ctx, func(context.Context) error { return mine }))
	l.OK(h.Keep(l.Ctx, func(ctx context.Context) error { return ctx.Err() }))
	l.OK(h.Renew(l.Ctx))
	dbtest.RequireInput(t, h.Keep(l.Ctx, nil), "EDD-9221", "")
}

func TestNew_RefusesDurationsThatDoNotFit(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, o := range []lease.Options{{Duration: -1}, {Skew: -1}, {Duration: time.Second}, {Duration: 4 * time.Second, Skew: 2*time.Second + 1}} {
		_, err := lease.New(l.DB, o)
		dbtest.RequireInput(t, err, "EDD-9220", "Skew")
	}
	_, err := l.a.Acquire(l.Ctx, "")
	dbtest.RequireInput(t, err, "EDD-9101", "Name")
}

// The example needs a database, so go test does not compare its output. This test does.
func TestExamples_PrintWhatTheySay(t *testing.T) {
	db, name := localdb.Test(t)
	client, table = db, name
	t.Cleanup(func() { client, table = nil, "app" })
	empty := entity.Must(entity.Open(db, entity.Config{Table: name}))
	entity.Must(lease.New(empty, lease.Options{}))
	require.NoError(t, tables.Create(t.Context(), empty))
	require.NoError(t, exampletest.Run("example_test.go", map[string]func(){"ExampleLeases": ExampleLeases}))
}

// Leases are items of an ordinary entity, which the schema lock lists; those of another table have an entity of their own.
func TestNew_DeclaresAnEntityForEachTable(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app", Tables: map[string]string{"jobs": "prod-jobs"}}))
	for _, o := range []lease.Options{{}, {Table: "jobs"}, {Holder: "again"}} {
		_, err := lease.New(db, o)
		require.NoError(t, err)
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
