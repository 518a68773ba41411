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
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/localdb/faults"
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

// Whatever request of a call fails, before or after it was applied, the next call finds the lease as it should be.
func TestAcquire_ALostAnswerNeverMakesAHolderWaitForItself(t *testing.T) {
	t.Parallel()
	for _, fault := range []faults.Fault{faults.Lost, faults.Unsent, faults.Throttle} {
		for n := 1; n <= 2; n++ {
			l := newLab(t)
			l.Wire.Inject(faults.Nth(n, fault))
			h := l.acquire(l.a)
			assert.EqualValues(t, 1, h.Fence(), "%v of request %d", fault, n)
		}
	}
	l := newLab(t)
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "UpdateItem" {
			return faults.Lost
		}
		return faults.Nth(2, faults.Throttle)(r)
	})
	ctx, cancel := context.WithTimeout(l.Ctx, 2*time.Second)
	defer cancel()
	_, err := l.a.Acquire(ctx, "job")
	l.Wire.Inject(nil)
	t.Log(err)
	if err != nil {
		require.True(t, entity.IsAmbiguous(err))
		h := l.acquire(l.a)
		assert.EqualValues(t, 2, h.Fence())
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
