package entity_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/versioned"
)

// Owner keeps its states, so that each write of it is a transaction.
type Owner struct {
	_       entity.Key `name:"Owner" pk:"$#{id}" sk:"$"`
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Active  int    `dynamodbav:"active"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// subscriptions is a lab with an owner, who has a number of subscriptions at most, and with a tally. A subscription is an invoice; the tally is
// a team, which has no version, so that a write that reads nothing has the guard of its caller alone. others writes past the client under test.
type subscriptions struct {
	*lab
	owners  *entity.Store[Owner]
	all     *entity.Store[Invoice]
	tallies *entity.Store[Team]
	others  *entity.Store[Team]
	owner   *entity.Store[Owner] // of others
	reports []entity.Report
	numbers []int // of the decisions of requests
}

// decisionTracer is a Tracer that keeps what TransactFunc reports.
type decisionTracer struct {
	mu sync.Mutex
	s  *subscriptions
}

func (*decisionTracer) Start(ctx context.Context, _ entity.Call) context.Context { return ctx }

func (w *decisionTracer) Request(_ context.Context, a entity.Attempt) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.s.numbers = append(w.s.numbers, a.Decision)
}

func (w *decisionTracer) End(_ context.Context, r entity.Report) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if r.Verb == "TransactFunc" {
		w.s.reports = append(w.s.reports, r)
	}
}

func newSubscriptions(t *testing.T, configure ...func(*entity.Config)) *subscriptions {
	t.Helper()
	s := &subscriptions{}
	watch := &decisionTracer{s: s}
	s.lab = newLab(t, append(configure, func(c *entity.Config) { c.Tracer = watch })...)
	s.owners, s.all, s.tallies = dbtest.Declare[Owner](t, s.DB), dbtest.Declare[Invoice](t, s.DB), dbtest.Declare[Team](t, s.DB)
	quiet := s.Open(s.Raw, func(c *entity.Config) { c.Tracer = nil })
	s.owner, s.others = dbtest.Declare[Owner](t, quiet), dbtest.Declare[Team](t, quiet)
	s.CreateTables()
	s.OK(s.owner.Create(s.Ctx, Owner{ID: "o"}))
	s.OK(s.others.Create(s.Ctx, Team{ID: "t"}))
	s.Sent()
	s.numbers, s.reports = nil, nil
	return s
}

// subscribe adds a subscription, if the owner has less than most.
func (s *subscriptions) subscribe(ctx context.Context, id string, most int, opts ...entity.DecideOption) error {
	f := entity.Fields[Owner]()
	return s.DB.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
		owner, err := s.owners.Get(ctx, Owner{ID: "o"})
		if err != nil {
			return nil, err
		}
		if owner.Active >= most {
			return nil, errFull
		}
		return []entity.Op{
			s.owners.Op().Update(owner, entity.Set(&f.Active, owner.Active+1), versioned.Expect(owner.Version)),
			s.all.Op().Create(Invoice{Customer: "o", ID: id}),
		}, nil
	}, opts...)
}

var errFull = errors.New("the owner has all subscriptions")

// count adds one to the tally by what it read, and creates a subscription of that number. before is called between.
func (s *subscriptions) count(ctx context.Context, before func(), opts ...entity.DecideOption) (op entity.Write[Team], err error) {
	f := entity.Fields[Team]()
	err = s.DB.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
		is, err := s.tallies.Get(ctx, Team{ID: "t"})
		if before != nil {
			before()
		}
		op = s.tallies.Op().Update(is, entity.Set(&f.Quota, is.Quota+1), entity.If(entity.Eq(&f.Quota, is.Quota)))
		return []entity.Op{op, s.all.Op().Create(Invoice{Customer: "t", ID: fmt.Sprint(is.Quota + 1)})}, err
	}, opts...)
	return op, err
}

// overtake adds one to the tally as another program does.
func (s *subscriptions) overtake() {
	s.OK(s.others.Update(s.Ctx, Team{ID: "t"}, entity.Add(&entity.Fields[Team]().Quota, 1)))
}

func (s *subscriptions) tally() int {
	s.T.Helper()
	is, err := s.others.Get(s.Ctx, Team{ID: "t"}, entity.Consistent())
	require.NoError(s.T, err)
	return is.Quota
}

// decided requires one report, of so many decisions.
func (s *subscriptions) decided(n int) {
	s.T.Helper()
	require.Len(s.T, s.reports, 1)
	require.Equal(s.T, n, s.reports[0].Decisions)
	s.reports = nil
}

func TestTransactFunc_ManyAtOnceAreAllApplied(t *testing.T) {
	s, n := newSubscriptions(t), testsize.Pick(20, 100)
	errs := make([]error, n)
	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() { errs[i] = s.subscribe(t.Context(), fmt.Sprint(i), n) })
	}
	calls.Wait()
	require.NoError(t, errors.Join(errs...))
	owner, err := s.owner.Get(t.Context(), Owner{ID: "o"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, n, owner.Active)
	require.Equal(t, 1+n+n+1, len(s.Items()), "the owner, its earlier states, the subscriptions, the tally")
	require.ErrorIs(t, s.subscribe(t.Context(), "one more", n), errFull)
}

// A decision that holds costs what its function reads, and what Transact costs.
func TestTransactFunc_CostsWhatTransactCosts(t *testing.T) {
	s := newSubscriptions(t)
	ops := func(id string) []entity.Op {
		return []entity.Op{s.all.Op().Create(Invoice{Customer: "o", ID: id}), s.all.Op().Create(Invoice{Customer: "p", ID: id})}
	}
	require.NoError(t, s.DB.Transact(t.Context(), ops("a")...))
	plain := s.Sent()
	require.NoError(t, s.DB.TransactFunc(t.Context(), func(context.Context) ([]entity.Op, error) { return ops("b"), nil }))
	decided := s.Sent()
	require.Equal(t, []string{"TransactWriteItems"}, dbtest.Operations(plain))
	require.Equal(t, dbtest.Operations(plain), dbtest.Operations(decided))
	require.Equal(t, []int{0, 1}, s.numbers)
	s.decided(1)
}

func TestTransactFunc_DecidesAgainWhenWhatItReadHasChanged(t *testing.T) {
	s := newSubscriptions(t)
	left := 2
	op, err := s.count(t.Context(), func() {
		if left--; left >= 0 {
			s.overtake()
		}
	})
	require.NoError(t, err)
	require.Equal(t, 3, s.tally())
	require.Equal(t, 3, entity.Must(s.tallies.Get(t.Context(), Team{ID: "t"})).Quota)
	require.Equal(t, "t", op.Result().ID, "of the last decision")
	require.Equal(t, []int{1, 1, 2, 2, 3, 3}, s.numbers[:6], "a read and a write each")
	require.Equal(t, entitytype.OutcomeApplied, s.reports[0].Outcome)
	require.Equal(t, []string{"Invoice", "Team"}, s.reports[0].Entities)
	s.decided(3)

	// A guard of the library's own is lost too: the state that the history keeps is no longer the newest.
	left = 1
	err = s.DB.TransactFunc(t.Context(), func(ctx context.Context) ([]entity.Op, error) {
		if left--; left >= 0 {
			s.Wire.Inject(faults.Nth(1, faults.Conflict, "TransactWriteItems"))
		}
		return []entity.Op{s.owners.Op().Update(Owner{ID: "o"}, entity.Add(&entity.Fields[Owner]().Active, 1))}, nil
	})
	require.NoError(t, err)
	s.decided(2)

	overtake := sync.OnceFunc(func() {
		s.OK(s.owner.Update(s.Ctx, Owner{ID: "o"}, entity.Set(&entity.Fields[Owner]().Active, 5)))
	})
	_, release := s.Wire.Hold(func(r faults.Request) bool {
		if r.Operation == "TransactWriteItems" {
			overtake()
		}
		return false
	})
	defer release()
	require.NoError(t, s.DB.TransactFunc(t.Context(), func(context.Context) ([]entity.Op, error) {
		return []entity.Op{s.owners.Op().Update(Owner{ID: "o"}, entity.Add(&entity.Fields[Owner]().Active, 1))}, nil
	}))
	s.decided(2)
}

// Of two reads of one item the first one guards the ops: what was derived from it may be in others.
func TestTransactFunc_GuardsOpsByTheFirstRead(t *testing.T) {
	s, f := newSubscriptions(t), entity.Fields[Team]()
	overtake := sync.OnceFunc(s.overtake)
	require.NoError(t, s.DB.TransactFunc(t.Context(), func(ctx context.Context) ([]entity.Op, error) {
		is, err := s.tallies.Get(ctx, Team{ID: "t"})
		overtake()
		if err == nil {
			_, err = s.tallies.Get(ctx, Team{ID: "t"})
		}
		return []entity.Op{s.tallies.Op().Update(is, entity.Set(&f.Quota, is.Quota+10))}, err
	}))
	s.decided(2)
	require.Equal(t, 11, s.tally())
}

// What the function has read by Get guards the ops on it, also those without a condition.
func TestTransactFunc_GuardsOpsByWhatItsFunctionHasRead(t *testing.T) {
	f := entity.Fields[Team]()
	for name, op := range map[string]func(*entity.Store[Team], Team) entity.Op{
		"Update": func(s *entity.Store[Team], is Team) entity.Op {
			return s.Op().Update(is, entity.Set(&f.Quota, is.Quota+10))
		},
		"Put":         func(s *entity.Store[Team], is Team) entity.Op { return s.Op().Put(Team{ID: "t", Quota: is.Quota + 10}) },
		"Delete":      func(s *entity.Store[Team], is Team) entity.Op { return s.Op().Delete(is) },
		"CheckExists": func(s *entity.Store[Team], is Team) entity.Op { return s.Op().CheckExists(is) },
	} {
		t.Run(name, func(t *testing.T) {
			s, before, saw := newSubscriptions(t), 0, 0
			overtake := sync.OnceFunc(s.overtake)
			require.NoError(t, s.DB.TransactFunc(t.Context(), func(ctx context.Context) ([]entity.Op, error) {
				is, err := s.tallies.Get(ctx, Team{ID: "t"})
				before, saw = saw, is.Quota
				overtake()
				return []entity.Op{op(s.tallies, is), s.all.Op().Create(Invoice{Customer: "t", ID: fmt.Sprint(is.Quota)})}, err
			}))
			require.Equal(t, []int{0, 1}, []int{before, saw})
			s.decided(2)
			if name == "Update" {
				require.Equal(t, 11, s.tally())
			}
		})
	}
}

// An error that every decision would repeat is returned at once, or after a second decision that the same state refuses.
func TestTransactFunc_ReturnsWhatEveryDecisionWouldMeet(t *testing.T) {
	own := errors.New("own")
	f := entity.Fields[Team]()
	for name, c := range map[string]struct {
		ops       func(*subscriptions) []entity.Op
		fault     faults.Fault
		want      error
		decisions int
	}{
		"its own error": {want: own, decisions: 1},
		"a condition": {ops: func(s *subscriptions) []entity.Op {
			return []entity.Op{s.tallies.Op().Update(Team{ID: "t"}, entity.Set(&f.Quota, 9), entity.If(entity.Ge(&f.Quota, 5)))}
		}, want: entity.ErrConditionFailed, decisions: 2},
		"an item that exists": {ops: func(s *subscriptions) []entity.Op { return []entity.Op{s.tallies.Op().Create(Team{ID: "t"})} }, want: entity.ErrExists, decisions: 2},
		"an item that is not": {ops: func(s *subscriptions) []entity.Op { return []entity.Op{s.tallies.Op().CheckExists(Team{ID: "none"})} }, want: entity.ErrNotFound, decisions: 2},
		"the same, as planned": {ops: func(s *subscriptions) []entity.Op {
			return []entity.Op{s.owners.Op().Delete(Owner{ID: "none"}, versioned.Expect(3))}
		}, want: entity.ErrNotFound, decisions: 2},
		"a version": {ops: func(s *subscriptions) []entity.Op {
			return []entity.Op{s.owners.Op().Update(Owner{ID: "o"}, entity.Set(&entity.Fields[Owner]().Active, 1), versioned.Expect(7))}
		}, want: entity.ErrConflict, decisions: 2},
		"an item too large": {ops: func(s *subscriptions) []entity.Op {
			return []entity.Op{s.tallies.Op().Create(Team{ID: strings.Repeat("x", 3000)})}
		}, want: entity.ErrTooLarge, decisions: 1},
		"throttling that lasts": {ops: func(s *subscriptions) []entity.Op { return []entity.Op{s.tallies.Op().Create(Team{ID: "n"})} }, fault: faults.Throttle, decisions: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSubscriptions(t, dbtest.Attempts(2))
			s.Wire.Inject(func(faults.Request) faults.Fault { return c.fault })
			err := s.DB.TransactFunc(t.Context(), func(context.Context) ([]entity.Op, error) {
				if c.ops == nil {
					return nil, own
				}
				return c.ops(s), nil
			}, entity.MaxDecisions(5))
			require.Error(t, err)
			if c.want != nil {
				require.ErrorIs(t, err, c.want)
			}
			require.False(t, entity.IsAmbiguous(err))
			s.decided(c.decisions)
		})
	}
}

// A refusal by another state is no repetition.
func TestTransactFunc_IsRefusedByOtherStatesUntilItsBound(t *testing.T) {
	s := newSubscriptions(t)
	_, err := s.count(t.Context(), s.overtake, entity.MaxDecisions(4))
	require.ErrorIs(t, err, entity.ErrConflict)
	dbtest.As[*entity.TransactError](t, err)
	s.decided(4)

	s.reports = nil
	engine.Of(s.tallies).Runner.Pause = func(context.Context, int) error { return context.DeadlineExceeded }
	_, err = s.count(t.Context(), s.overtake)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.ErrorIs(t, err, entity.ErrConflict, "the last failure")
	s.decided(1)

	ctx, cancel := context.WithCancel(t.Context())
	_, err = s.count(ctx, cancel)
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, entity.IsAmbiguous(err))
	s.decided(1)
}

func TestTransactFunc_MistakesAreFoundBeforeRequests(t *testing.T) {
	s := newSubscriptions(t)
	other := dbtest.Declare[Team](t, s.Open(s.Raw))
	returns := func(ops ...entity.Op) func(context.Context) ([]entity.Op, error) {
		return func(context.Context) ([]entity.Op, error) { return ops, nil }
	}
	var many []entity.Op
	for i := range 101 {
		many = append(many, s.tallies.Op().Create(Team{ID: fmt.Sprint(i)}))
	}
	one := s.tallies.Op().Create(Team{ID: "n"})
	for name, c := range map[string]struct {
		code string
		f    func(context.Context) ([]entity.Op, error)
		opts []entity.DecideOption
	}{
		"no function":      {"EDD-9108", nil, nil},
		"no decision":      {"EDD-9108", returns(one), []entity.DecideOption{entity.MaxDecisions(0)}},
		"a nil option":     {"EDD-9108", returns(one), []entity.DecideOption{nil}},
		"a nil op":         {"EDD-9114", returns(one, nil), nil},
		"an op of another": {"EDD-9114", returns(other.Op().Create(Team{ID: "n"})), nil},
		"too many ops":     {"EDD-9110", returns(many...), nil},
		"one item twice":   {"EDD-9109", returns(one, one), nil},
		"a key part":       {"EDD-9101", returns(s.tallies.Op().Create(Team{})), nil},
	} {
		dbtest.RequireInput(t, s.DB.TransactFunc(t.Context(), c.f, c.opts...), c.code, map[string]string{"a key part": "ID"}[name])
	}
	var none context.Context
	dbtest.RequireInput(t, s.DB.TransactFunc(none, returns(one)), "EDD-9161", "")
	var unopened *entity.DB
	dbtest.RequireInput(t, unopened.TransactFunc(t.Context(), returns(one)), "EDD-9160", "")
	require.Empty(t, s.Operations())

	s.reports = nil
	require.NoError(t, s.DB.TransactFunc(t.Context(), returns()), "nothing to write")
	require.Empty(t, s.Operations())
	require.Equal(t, entitytype.OutcomeUnchanged, s.reports[0].Outcome)
	s.decided(1)
}

// What may have been applied is cleared up or reported, and never decided again.
func TestTransactFunc_AfterALostAnswerNothingElseIsDecided(t *testing.T) {
	for name, c := range map[string]struct {
		fault    faults.Fault
		unsure   bool
		counted  int
		requests []string // after the read
	}{
		"applied, found by its write id": {faults.Lost, false, 1, []string{"TransactWriteItems", "BatchGetItem"}},
		"not applied, as far as is seen": {faults.Drop, true, 0, []string{"TransactWriteItems", "BatchGetItem"}},
		"not sent at all":                {faults.Unsent, false, 0, []string{"TransactWriteItems"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSubscriptions(t, dbtest.Attempts(1))
			s.Wire.Inject(faults.Nth(1, c.fault, "TransactWriteItems"))
			op, err := s.count(t.Context(), nil)
			require.Equal(t, c.unsure, entity.IsAmbiguous(err), "%v", err)
			require.Equal(t, c.counted == 0, err != nil)
			if err == nil {
				require.Equal(t, "t", op.Result().ID)
			}
			require.Equal(t, c.counted, s.tally())
			sent := s.Operations()
			require.Equal(t, append([]string{"GetItem"}, c.requests...), slices.DeleteFunc(sent, func(o string) bool { return o == "Query" }))
			s.decided(1)
		})
	}
	t.Run("late, and refused since", func(t *testing.T) {
		s := newSubscriptions(t)
		s.Wire.Inject(faults.Nth(1, faults.Late, "TransactWriteItems"))
		_, err := s.count(t.Context(), sync.OnceFunc(s.overtake))
		require.NoError(t, err)
		entity.Must(s.Wire.Deliver())
		require.Equal(t, 2, s.tally(), "the first decision was of a state that never comes back")
		s.decided(2)
	})
	t.Run("late, and not guarded by what Get read", func(t *testing.T) {
		s, f := newSubscriptions(t), entity.Fields[Team]()
		s.Wire.Inject(faults.Nth(1, faults.Late, "TransactWriteItems"))
		err := s.DB.TransactFunc(t.Context(), func(ctx context.Context) ([]entity.Op, error) {
			is, err := s.tallies.GetMany(ctx, []Team{{ID: "t"}})
			s.overtake()
			return []entity.Op{
				s.tallies.Op().Update(*is[0], entity.Set(&f.Quota, 9), entity.If(entity.Eq(&f.Quota, is[0].Quota))), s.all.Op().Create(Invoice{Customer: "t", ID: "9"}),
			}, err
		})
		require.ErrorIs(t, err, entity.ErrConditionFailed)
		require.True(t, entity.IsAmbiguous(err), "it would be applied if the tally were as it was read")
		s.decided(1)
	})
	t.Run("late, and refused for good", func(t *testing.T) {
		s := newSubscriptions(t)
		s.Wire.Inject(faults.Nth(1, faults.Late, "TransactWriteItems"))
		_, release := s.Wire.Hold(func(r faults.Request) bool {
			if r.Operation == "TransactWriteItems" && s.Wire.Count(r.Operation) == 2 {
				s.OK(s.owner.Update(s.Ctx, Owner{ID: "o"}, entity.Add(&entity.Fields[Owner]().Active, 10)))
			}
			return false
		})
		defer release()
		require.NoError(t, s.subscribe(t.Context(), "a", 100))
		entity.Must(s.Wire.Deliver())
		require.Equal(t, 11, entity.Must(s.owner.Get(t.Context(), Owner{ID: "o"}, entity.Consistent())).Active)
		s.decided(2)
	})
	t.Run("conflict after a lost answer", func(t *testing.T) {
		s, n := newSubscriptions(t), 0
		s.Wire.Inject(func(r faults.Request) faults.Fault {
			if r.Operation != "TransactWriteItems" {
				return faults.None
			}
			n++
			return []faults.Fault{faults.Late, faults.Conflict, faults.None}[min(n, 3)-1]
		})
		_, err := s.count(t.Context(), nil)
		require.NoError(t, err)
		entity.Must(s.Wire.Deliver())
		require.Equal(t, 1, s.tally())
		s.decided(1)
	})
}

func TestTransactFunc_ReadsOfItsFunctionAreConsistent(t *testing.T) {
	s := newSubscriptions(t)
	byDay := entity.Must(s.all.Index("byDay"))
	read := func(ctx context.Context) {
		s.OK(s.tallies.Get(ctx, Team{ID: "t"}))
		s.OK(s.tallies.GetMany(ctx, []Team{{ID: "t"}, {ID: "u"}}))
		s.OK(s.all.Query(Invoice{Customer: "o"}).Collect(ctx))
		s.OK(s.all.Scan().Count(ctx))
		s.OK(byDay.Query(Invoice{Day: "mon"}).Collect(ctx))
	}
	read(t.Context())
	before := s.Sent()
	require.NoError(t, s.DB.TransactFunc(t.Context(), func(ctx context.Context) ([]entity.Op, error) { read(ctx); return nil, nil }))
	after := s.Sent()
	require.Equal(t, dbtest.Operations(before), dbtest.Operations(after))
	for i, r := range after {
		require.NotContains(t, string(before[i].Body), `"ConsistentRead":true`)
		require.Equal(t, i < 4, strings.Contains(string(r.Body), `"ConsistentRead":true`), "%s %s", r.Operation, r.Body)
	}
}
