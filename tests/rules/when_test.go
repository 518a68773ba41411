package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// job is in the index open while it is open and nobody has closed it; the sort key is not in the primary key.
type job struct {
	_ entity.Key `name:"Job" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$" sk:"$#{rank}" when:"status=open|pending,!closedAt"`
	_ entity.GSI `name:"named" index:"gsi2" pk:"$#{name}" when:"urgent=true"`
	_ entity.GSI `name:"noon" index:"gsi3" pk:"$#{id}#{rank}" when:"seen=2101-05-06T12:00:00Z"`
	_ entity.GSI `name:"due" index:"gsi4" pk:"$#{days}" when:"note=due"`

	ID     string     `dynamodbav:"id"`
	Status string     `dynamodbav:"status,omitempty"`
	Closed *time.Time `dynamodbav:"closedAt,omitempty"`
	Rank   int        `dynamodbav:"rank"`
	Name   string     `dynamodbav:"name,omitempty"`
	Urgent bool       `dynamodbav:"urgent"`
	Seen   *time.Time `dynamodbav:"seen,omitempty" entity:"time=s"`
	Note   string     `dynamodbav:"note,omitempty"`
	Days   int        `dynamodbav:"days"`
}

// in returns the ids of the jobs in an index, by a scan of it.
func in(t *testing.T, s *entity.Store[job], name string) []string {
	t.Helper()
	found := entity.Must(entity.Must(s.Index(name)).Scan().Collect(t.Context()))
	ids := []string{}
	for _, v := range found {
		ids = append(ids, v.ID)
	}
	return ids
}

func TestWhen_AnUpdateReadsOnlyIfItMust(t *testing.T) {
	b, s := opened[job](t)
	f, at := entity.Fields[job](), dbtest.Start
	read, direct := []string{"GetItem", "PutItem"}, []string{"UpdateItem"}
	open := job{ID: "a", Status: "open", Rank: 1, Name: "n", Urgent: true}
	closed := job{ID: "a", Status: "open", Closed: &at, Name: "n"}
	for name, c := range map[string]struct {
		from    job
		changes []entity.UpdateOption
		sent    []string
		in      []string // "open" and "named" after it
	}{
		"one clause refuted":                    {open, []entity.UpdateOption{entity.Set(&f.Status, "done")}, direct, []string{"named"}},
		"a clause removed":                      {open, []entity.UpdateOption{entity.Remove(&f.Status)}, direct, []string{"named"}},
		"the absent one set":                    {open, []entity.UpdateOption{entity.Set(&f.Closed, &at)}, direct, []string{"named"}},
		"all clauses said":                      {closed, []entity.UpdateOption{entity.Set(&f.Status, "pending"), entity.Remove(&f.Closed)}, direct, []string{"open"}},
		"a clause set to nil":                   {closed, []entity.UpdateOption{entity.Set(&f.Status, "open"), entity.Set(&f.Closed, nil)}, direct, []string{"open"}},
		"one of two clauses said":               {closed, []entity.UpdateOption{entity.Set(&f.Status, "pending")}, read, nil},
		"the other of two clauses said":         {closed, []entity.UpdateOption{entity.Remove(&f.Closed)}, read, []string{"open"}},
		"nothing of it":                         {open, []entity.UpdateOption{entity.Set(&f.Note, "x")}, direct, []string{"open", "named"}},
		"the other key":                         {open, []entity.UpdateOption{entity.Set(&f.Rank, 7)}, read, []string{"open", "named"}},
		"a condition refuted, a part unknown":   {open, []entity.UpdateOption{entity.Set(&f.Urgent, false)}, direct, []string{"open"}},
		"a condition said, a part unknown":      {closed, []entity.UpdateOption{entity.Set(&f.Urgent, true)}, read, []string{"named"}},
		"a condition said with its part":        {closed, []entity.UpdateOption{entity.Set(&f.Urgent, true), entity.Set(&f.Name, "m")}, direct, []string{"named"}},
		"a part said, the condition unknown":    {closed, []entity.UpdateOption{entity.Set(&f.Name, "m")}, read, nil},
		"a clause set if it does not exist":     {closed, []entity.UpdateOption{entity.SetIfNotExists(&f.Status, "done"), entity.Remove(&f.Closed)}, read, []string{"open"}},
		"refuted, although a clause is unknown": {open, []entity.UpdateOption{entity.SetIfNotExists(&f.Status, "x"), entity.Set(&f.Closed, &at)}, direct, []string{"named"}},
	} {
		t.Run(name, func(t *testing.T) {
			b.OK(s.Put(b.Ctx, c.from))
			b.Sent()
			b.OK(s.Update(b.Ctx, job{ID: "a"}, c.changes...))
			require.Equal(t, c.sent, b.Operations())
			for _, index := range []string{"open", "named"} {
				want := []string{}
				for _, name := range c.in {
					if name == index {
						want = append(want, "a")
					}
				}
				require.Equal(t, want, in(t, s, index), index)
			}
		})
	}
}

func TestWhen_AnOvertakenUpdateIsPlannedAgain(t *testing.T) {
	b, s := opened[job](t)
	other, f, at := dbtest.Declare[job](t, b.Open(b.Raw)), entity.Fields[job](), dbtest.Start
	b.OK(s.Create(b.Ctx, job{ID: "a"}))
	b.Sent()
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("PutItem")),
		func() error { _, err := s.Update(b.Ctx, job{ID: "a"}, entity.Set(&f.Status, "open")); return err },
		func() { b.OK(other.Update(b.Ctx, job{ID: "a"}, entity.Set(&f.Closed, &at))) }))
	require.Equal(t, []string{"GetItem", "PutItem", "GetItem", "PutItem"}, b.Operations())
	require.Empty(t, in(t, s, "open"), "it was closed before it was opened")
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("PutItem")),
		func() error { _, err := s.Update(b.Ctx, job{ID: "a"}, entity.Remove(&f.Closed)); return err },
		func() { b.OK(other.Update(b.Ctx, job{ID: "a"}, entity.Set(&f.Rank, 3))) }))
	require.Equal(t, []string{"a"}, in(t, s, "open"))
}

// An Upsert leaves closedAt as it is stored, and a new item lacks it.
func TestWhen_AnUpsertThatSaysNothingOfAnAbsence(t *testing.T) {
	b, s := opened[trip](t)
	f, at := &entity.Fields[trip]().Chore, dbtest.Start
	of := func(c Chore) trip { return trip{Chore: c} }
	open := func() int { return len(entity.Must(entity.Must(s.Index("going")).Query(trip{}).Collect(b.Ctx))) }
	b.OK(s.Upsert(b.Ctx, of(Chore{ID: "a"})))
	require.Equal(t, []string{"GetItem", "PutItem"}, b.Operations())
	require.Equal(t, 1, open())
	b.OK(s.Update(b.Ctx, of(Chore{ID: "a"}), entity.Set(&f.Closed, &at)))
	b.OK(s.Upsert(b.Ctx, of(Chore{ID: "a", Team: "x"})))
	require.Zero(t, open())
	b.OK(s.Put(b.Ctx, of(Chore{ID: "a"})))
	require.Equal(t, 1, open())
	require.NotContains(t, s.Op().Update(of(Chore{ID: "a"}), entity.Set(&f.Team, "x")).String(), "gsi11", "a condition on the key never changes")
	b.OK(s.Upsert(b.Ctx, of(Chore{ID: "b"})))
	require.Len(t, entity.Must(entity.Must(s.Index("b")).Scan().Collect(b.Ctx)), 1)

	b.OK(s.Create(b.Ctx, of(Chore{ID: "c", Owner: "ann", Closed: &at})))
	b.Sent()
	b.OK(s.Put(b.Ctx, of(Chore{ID: "c"})))
	require.Equal(t, []string{"GetItem", "PutItem"}, b.Operations(), "it leaves the owner as stored")
	require.Len(t, entity.Must(entity.Must(s.Index("theirs")).Query(of(Chore{Owner: "ann"})).Collect(b.Ctx)), 1)
}

// A Touch knows the time that it sets, but not the parts of a key that the item gets at that time.
func TestWhen_ATouchAtATimeThatAConditionNames(t *testing.T) {
	b, s := opened[job](t)
	noon := time.Date(2101, 5, 6, 12, 0, 0, 0, time.UTC)
	b.OK(s.Create(b.Ctx, job{ID: "a", Seen: &noon}))
	require.Equal(t, []string{"a"}, in(t, s, "noon"))
	f := entity.Fields[job]()
	touch := func(at time.Time) error {
		b.Clock.Set(at, 0)
		return dbtest.ErrorOf(s.Touch(b.Ctx, job{ID: "a"}, f.Seen, 0))
	}
	require.NoError(t, touch(noon.Add(time.Hour)))
	require.Empty(t, in(t, s, "noon"))
	require.Equal(t, "EDD-9104", dbtest.InputCode(touch(noon)))
	require.Empty(t, in(t, s, "noon"))
}

func TestWhen_AKeyThatCannotBeComposedCountsOnlyInTheIndex(t *testing.T) {
	b, s := opened[job](t)
	f, a := entity.Fields[job](), job{ID: "a"}
	b.OK(s.Create(b.Ctx, job{ID: "a", Days: -1}))
	b.OK(s.Put(b.Ctx, job{ID: "a", Days: -2, Note: "lent"}))
	b.OK(s.Update(b.Ctx, a, entity.Add(&f.Days, -1)))
	for verb, err := range map[string]error{
		"update": dbtest.ErrorOf(s.Update(b.Ctx, a, entity.Set(&f.Note, "due"))),
		"put":    dbtest.ErrorOf(s.Put(b.Ctx, job{ID: "a", Days: -1, Note: "due"})),
		"modify": dbtest.ErrorOf(s.Modify(b.Ctx, a, func(v *job) error { v.Note = "due"; return nil })),
	} {
		require.Equal(t, "EDD-9102", dbtest.InputCode(err), verb)
	}
	b.OK(s.Update(b.Ctx, a, entity.Set(&f.Note, "due"), entity.Set(&f.Days, 1)))
	require.Len(t, entity.Must(entity.Must(s.Index("due")).Query(job{Days: 1}).Collect(b.Ctx)), 1)
}

// atEachRequest makes a call again and again, with a fault at each of its requests in turn. Each time it begins from the items
// that reset leaves, and afterwards the indexes must have what the stored items say.
func atEachRequest(t *testing.T, b *dbtest.Bench, reset func(), call func() error) {
	for _, round := range testsize.Rounds(faults.Throttle, faults.Conflict, faults.Lost, faults.Drop, faults.InternalApplied) {
		for n, hit := 1, true; hit; n++ {
			b.Wipe()
			reset()
			b.Sent()
			nth := faults.Nth(n, round.At(n))
			b.Wire.Inject(func(r faults.Request) faults.Fault { return nth(r) })
			err := call()
			b.Wire.Inject(nil)
			hit = len(b.Sent()) >= n
			if !entity.IsAmbiguous(err) {
				require.NoError(t, err, "%s at request %d", round.At(n), n)
			}
			requireMembers(t, b, plainIndexes, fmt.Sprintf("%s at request %d: %v", round.At(n), n, err))
		}
	}
}

func TestWhen_AFaultAtEachRequestLeavesTheIndexesTrue(t *testing.T) {
	b, s := opened[errand](t, dbtest.Attempts(4))
	f, bob, ctx, a := &entity.Fields[errand]().Chore, "bob", t.Context(), errand{Chore: Chore{ID: "a"}}
	for name, call := range map[string]func() error{
		"create": func() error {
			return dbtest.ErrorOf(s.Create(ctx, errand{Chore: Chore{ID: "b", Status: "open", Assignee: &bob}}))
		},
		"put": func() error {
			return dbtest.ErrorOf(s.Put(ctx, errand{Chore: Chore{ID: "a", Status: "done", Assignee: &bob}}))
		},
		"update that decides": func() error { return dbtest.ErrorOf(s.Update(ctx, a, entity.Set(&f.Status, "done"))) },
		"update that reads": func() error {
			return dbtest.ErrorOf(s.Update(ctx, a, entity.Set(&f.Assignee, &bob), entity.Set(&f.Level, 0)))
		},
		"upsert": func() error { return dbtest.ErrorOf(s.Upsert(ctx, errand{Chore: Chore{ID: "b", Assignee: &bob}})) },
		"modify": func() error {
			return dbtest.ErrorOf(s.Modify(ctx, a, func(v *errand) error { v.Status, v.Assignee = "pending", &bob; return nil }))
		},
		"transact": func() error {
			return b.DB.Transact(ctx, s.Op().Update(a, entity.Set(&f.Assignee, &bob)), s.Op().Put(errand{Chore: Chore{ID: "b", Status: "open"}}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			atEachRequest(t, b, func() { b.OK(s.Create(ctx, errand{Chore: Chore{ID: "a", Status: "open", Team: "red"}})) }, call)
		})
	}
}
