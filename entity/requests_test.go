package entity_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestQuery_LimitWithAFilterDoesNotCostARequestAnItem(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	for i := range 30 {
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i, Owner: "o", Due: dawn.Truncate(time.Second)}))
	}
	byOwner := entity.Must(s.Index("byOwner"))
	last := entity.Filter(entity.Eq(&f.Points, 29))
	for name, q := range map[string]entity.Query[Task]{
		"table": s.Query(Task{Project: "p"}, last), "index": byOwner.Query(Task{Owner: "o"}, last), "scan": s.Scan(last),
		"with a limit": s.Query(Task{Project: "p"}, last, entity.Limit(1)),
	} {
		l.Sent()
		first, err := q.First(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 29, first.Points, name)
		one, err := q.One(t.Context())
		require.NoError(t, err, "%s: the only item that passes is the last that is read", name)
		require.Equal(t, 29, one.Points)
		require.LessOrEqual(t, len(l.Operations()), 8, name)
		page, err := q.Page(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		require.LessOrEqual(t, len(l.Operations()), 5, name)
	}
}

func TestReads_ConsistentIsSentOrRefused(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Order{Customer: "c", Number: 1, Status: "s", Placed: 1, Amount: 1})
	byStatus := entity.Must(s.Index("byStatus"))
	for name, q := range map[string]entity.Query[Order]{
		"table": s.Query(Order{Customer: "c"}, entity.Consistent()), "scan": s.Scan(entity.Consistent()),
		"local index": entity.Must(s.Index("byAmount")).Query(Order{Customer: "c"}, entity.Consistent()),
	} {
		_, err := q.One(t.Context())
		require.NoError(t, err, name)
		for operation, consistent := range l.consistent() {
			require.True(t, consistent, "%s: %s", name, operation)
		}
	}
	for _, q := range []entity.Query[Order]{byStatus.Query(Order{Status: "s"}, entity.Consistent()), byStatus.Scan(entity.Consistent())} {
		l.requireRefused(t, dbtest.ErrorOf(q.Collect(t.Context())), "EDD-9108", "")
		l.requireRefused(t, dbtest.ErrorOf(q.Count(t.Context())), "EDD-9108", "")
	}
}

// Waits between attempts end with the context, and what was refused all the time was certainly not applied.
func TestContext_NoWaitOutlastsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t, dbtest.Attempts(1000))
	for name, call := range map[string]func(context.Context) error{
		"write": func(ctx context.Context) error { return dbtest.ErrorOf(s.Put(ctx, Team{ID: "a"})) },
		"transaction": func(ctx context.Context) error {
			return l.DB.Transact(ctx, s.Op().Put(Team{ID: "a"}), s.Op().Put(Team{ID: "b"}))
		},
		"get":                func(ctx context.Context) error { return dbtest.ErrorOf(s.Get(ctx, Team{ID: "a"})) },
		"batch":              func(ctx context.Context) error { return dbtest.ErrorOf(s.GetMany(ctx, []Team{{ID: "a"}})) },
		"batch, unprocessed": func(ctx context.Context) error { return dbtest.ErrorOf(s.GetMany(ctx, []Team{{ID: "a"}})) },
		"query":              func(ctx context.Context) error { return dbtest.ErrorOf(s.Query(Team{ID: "a"}).Collect(ctx)) },
	} {
		fault := faults.Throttle
		if name == "batch, unprocessed" {
			fault = faults.Unprocessed
		}
		l.Wire.Inject(func(faults.Request) faults.Fault { return fault })
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := call(ctx)
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
		require.False(t, entity.IsAmbiguous(err), name)
	}
}

// A call that is refused before it does anything is reported like any other, and its error is a verb's.
func TestTracer_RefusedCallsAreReportedToo(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	foreign := dbtest.Declare[Profile](t, paper(t))
	v, p := Profile{ID: "a"}, entity.Fields[Profile]()
	for name, call := range map[string]func() error{
		"Transact":                 func() error { return l.DB.Transact(t.Context(), nil) },
		"Transact of nothing":      func() error { return l.DB.Transact(t.Context()) },
		"Transact, foreign":        func() error { return l.DB.Transact(t.Context(), s.Op().Create(v), foreign.Op().Create(v)) },
		"TransactWithToken":        func() error { return l.DB.TransactWithToken(t.Context(), entity.Token{ID: "x", At: dawn}, nil) },
		"TransactWithToken, token": func() error { return l.DB.TransactWithToken(t.Context(), entity.Token{}, s.Op().Create(v)) },
		"TransactGet":              func() error { return l.DB.TransactGet(t.Context(), nil) },
		"TransactGet, foreign":     func() error { return l.DB.TransactGet(t.Context(), foreign.Op().GetInto(&v)) },
		"TransactGet, too many":    func() error { return l.DB.TransactGet(t.Context(), make([]entity.GetOp, 101)...) },
		"Create":                   func() error { return dbtest.ErrorOf(s.Create(t.Context(), Profile{})) },
		"Get":                      func() error { return dbtest.ErrorOf(s.Get(t.Context(), Profile{})) },
		"GetMany":                  func() error { return dbtest.ErrorOf(s.GetMany(t.Context(), []Profile{v, {}})) },
		"Update":                   func() error { return dbtest.ErrorOf(s.Update(t.Context(), Profile{}, entity.Set(&p.Note, "x"))) },
		"Modify": func() error {
			return dbtest.ErrorOf(s.Modify(t.Context(), Profile{}, func(*Profile) error { return nil }))
		},
		"Modify, nil": func() error { return dbtest.ErrorOf(s.Modify(t.Context(), v, nil)) },
		"Touch":       func() error { return dbtest.ErrorOf(s.Touch(t.Context(), Profile{}, &p.SeenAt, 0)) },
		"Delete":      func() error { return s.Delete(t.Context(), Profile{}) },
	} {
		reports = nil
		err := call()
		var verb *entity.Error
		require.ErrorAs(t, err, &verb, name)
		var bad *entity.InputError
		require.ErrorAs(t, err, &bad, name)
		require.Len(t, reports, 1, name)
		require.Equal(t, []any{verb.Verb, 0}, []any{reports[0].Verb, reports[0].Requests}, name)
		require.Error(t, reports[0].Err, name)
		require.Empty(t, l.Operations())
	}
	reports = nil
	require.NoError(t, l.DB.TransactGet(t.Context()))
	require.Len(t, reports, 1, "a call that does nothing costs nothing, and is a call")
}
