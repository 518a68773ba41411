package entity_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// Elsewhere a limit is sent as the size of a page although a filter drops most of it: thirty items, thirty requests.
func TestQuery_LimitWithAFilterDoesNotCostARequestAnItem(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	for i := range 30 {
		_, err := s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i, Owner: "o", Due: dawn.Truncate(time.Second)})
		require.NoError(t, err)
	}
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	last := entity.Filter(entity.Eq(&f.Points, 29))
	for name, q := range map[string]entity.Query[Task]{
		"table": s.Query(Task{Project: "p"}, last), "index": byOwner.Query(Task{Owner: "o"}, last), "scan": s.Scan(last),
		"with a limit": s.Query(Task{Project: "p"}, last, entity.Limit(1)),
	} {
		l.sent()
		first, err := q.First(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, 29, first.Points, name)
		one, err := q.One(t.Context())
		require.NoError(t, err, "%s: the only item that passes is the last that is read", name)
		require.Equal(t, 29, one.Points)
		require.LessOrEqual(t, len(l.sent()), 8, name)
		page, err := q.Page(t.Context(), "")
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
		require.LessOrEqual(t, len(l.sent()), 5, name)
	}
}

// Elsewhere a page that Limit cuts is followed by a DescribeTable, for which many programs have no permission.
func TestRequests_NoVerbDescribesTheTable(t *testing.T) {
	t.Parallel()
	l, s := open[Order](t)
	f, key := entity.Fields[Order](), Order{Customer: "c", Number: 1}
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Order{Customer: "c", Number: 1, Status: "s", Placed: 1, Amount: 1}), s.Op().Put(Order{Customer: "c", Number: 2, Status: "s", Placed: 2, Amount: 2})))
	queries := []entity.Query[Order]{
		s.Query(Order{Customer: "c"}, entity.Limit(1)), s.Scan(entity.Limit(1)),
		entity.Must(s.Index("byStatus")).Query(Order{Status: "s"}, entity.Limit(1)), entity.Must(s.Index("byAmount")).Query(Order{Customer: "c"}, entity.Limit(1)),
	}
	for _, q := range queries {
		page, err := q.Page(t.Context(), "")
		require.NoError(t, err)
		page, err = q.Page(t.Context(), page.Next)
		require.NoError(t, err)
		require.Len(t, page.Items, 1)
	}
	_, err := s.Update(t.Context(), key, entity.Set(&f.Note, "x"))
	require.NoError(t, err)
	_, err = s.GetMany(t.Context(), []Order{key})
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), key))
	for _, name := range l.sent() {
		require.Contains(t, []string{"Query", "Scan", "PutItem", "UpdateItem", "DeleteItem", "BatchGetItem", "TransactWriteItems"}, name)
	}
}

// Elsewhere keys that DynamoDB left unprocessed are lost, or asked for twice while others are not asked for at all.
func TestGetMany_UnprocessedKeysAreAskedForAgain(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	var keys []Team
	for i := range 250 {
		keys = append(keys, Team{ID: fmt.Sprint(i)})
	}
	for ops := range slices.Chunk(keys, 100) {
		var puts []entity.Op
		for _, v := range ops {
			v.Size = 1 + len(v.ID)
			puts = append(puts, s.Op().Put(v))
		}
		require.NoError(t, l.db.Transact(t.Context(), puts...))
	}
	given := slices.Clone(keys)
	for _, n := range []int{1, 2, 3} {
		l.wire.Reset()
		l.wire.Inject(faults.Nth(n, faults.Unprocessed, "BatchGetItem"))
		got, err := s.GetMany(t.Context(), keys, entity.Consistent())
		l.wire.Inject(nil)
		require.NoError(t, err)
		require.Equal(t, given, keys, "the caller's keys are as they were")
		for i, v := range got {
			require.Equal(t, &Team{ID: keys[i].ID, Size: 1 + len(keys[i].ID)}, v)
		}
		require.Len(t, l.sent(), 4)
	}
}

// Elsewhere a key field that is missing or misspelt makes a scan of the whole table of what was to be a query.
func TestQuery_WithoutItsPartitionIsRefusedAndNeverAScan(t *testing.T) {
	t.Parallel()
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	byOwner, err := s.Index("byOwner")
	require.NoError(t, err)
	for name, q := range map[string]entity.Query[Task]{
		"nothing given": s.Query(Task{}), "sort key only": s.Query(Task{Status: "open"}), "in a filter": s.Query(Task{}, entity.Filter(entity.Eq(&f.Project, "p"))),
		"index": byOwner.Query(Task{Project: "p"}), "other field": s.Query(Task{Project: "p", Title: "t"}), "condition elsewhere": s.Query(Task{Project: "p"}, entity.Eq(&f.Title, "t")),
	} {
		_, err := q.Collect(t.Context())
		var in *entity.InputError
		require.ErrorAs(t, err, &in, name)
	}
	require.Empty(t, l.sent())
}

// Elsewhere a consistent read is silently an eventual one on an index.
func TestReads_ConsistentIsSentOrRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Order](t)
	_, err := s.Create(t.Context(), Order{Customer: "c", Number: 1, Status: "s", Placed: 1, Amount: 1})
	require.NoError(t, err)
	for name, q := range map[string]entity.Query[Order]{
		"table": s.Query(Order{Customer: "c"}, entity.Consistent()), "scan": s.Scan(entity.Consistent()),
		"local index": entity.Must(s.Index("byAmount")).Query(Order{Customer: "c"}, entity.Consistent()),
	} {
		l.wire.Reset()
		_, err := q.One(t.Context())
		require.NoError(t, err, name)
		require.Contains(t, string(l.wire.Requests()[0].Body), `"ConsistentRead":true`, name)
	}
	l.wire.Reset()
	for _, q := range []entity.Query[Order]{entity.Must(s.Index("byStatus")).Query(Order{Status: "s"}, entity.Consistent()), entity.Must(s.Index("byStatus")).Scan(entity.Consistent())} {
		_, err := q.Collect(t.Context())
		l.requireRefused(t, err, "EDD-9108", "")
		_, err = q.Count(t.Context())
		l.requireRefused(t, err, "EDD-9108", "")
	}
}

// Elsewhere a parallel scan reads the whole table in each of its parts.
func TestScan_SegmentsTogetherReadTheTableOnce(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	var want []string
	for i := range 40 {
		want = append(want, fmt.Sprint(i))
		_, err := s.Create(t.Context(), Team{ID: fmt.Sprint(i)})
		require.NoError(t, err)
	}
	l.wire.Reset()
	var got []string
	for v, err := range s.Scan(entity.Segments(4)).All(t.Context()) {
		require.NoError(t, err)
		got = append(got, v.ID)
	}
	require.ElementsMatch(t, want, got)
	segments := map[string]bool{}
	for _, r := range l.wire.Requests() {
		var body struct{ Segment, TotalSegments json.Number }
		require.NoError(t, json.Unmarshal(r.Body, &body))
		segments[body.Segment.String()+" of "+body.TotalSegments.String()] = true
	}
	require.ElementsMatch(t, []string{"0 of 4", "1 of 4", "2 of 4", "3 of 4"}, slices.Collect(maps.Keys(segments)))
}

// Elsewhere waits between attempts do not end with the context.
func TestContext_NoWaitOutlastsIt(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t, func(c *entity.Config) { c.MaxAttempts = 1000 })
	for name, call := range map[string]func(context.Context) error{
		"write": func(ctx context.Context) error { _, err := s.Put(ctx, Team{ID: "a"}); return err },
		"transaction": func(ctx context.Context) error {
			return l.db.Transact(ctx, s.Op().Put(Team{ID: "a"}), s.Op().Put(Team{ID: "b"}))
		},
		"get":   func(ctx context.Context) error { _, err := s.Get(ctx, Team{ID: "a"}); return err },
		"batch": func(ctx context.Context) error { _, err := s.GetMany(ctx, []Team{{ID: "a"}}); return err },
		"query": func(ctx context.Context) error { _, err := s.Query(Team{ID: "a"}).Collect(ctx); return err },
	} {
		for _, fault := range []faults.Fault{faults.Throttle, faults.Unprocessed} {
			if fault == faults.Unprocessed && name != "batch" {
				continue
			}
			l.wire.Inject(func(faults.Request) faults.Fault { return fault })
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			begun := time.Now()
			err := call(ctx)
			cancel()
			require.ErrorIs(t, err, context.DeadlineExceeded, name)
			require.Less(t, time.Since(begun), 5*time.Second, name)
		}
	}
}

// Elsewhere the text of one and the same expression changes from call to call with the order of a map.
func TestRequests_TheSameCallSendsTheSameExpressions(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t, func(c *entity.Config) { c.NewID = func() string { return "always-the-same" } })
	p := entity.Fields[Profile]()
	v := Profile{ID: "a", Team: "t", Rank: 1, Labels: map[string]string{"a": "1", "b": "2", "c": "3"}, Tags: []string{"a", "b"}, Count: 1, Note: "n"}
	_, err := s.Put(t.Context(), v)
	require.NoError(t, err)
	for name, call := range map[string]func() error{
		"Update": func() error {
			_, err := s.Update(t.Context(), v, entity.Set(&p.Note, "x"), entity.MapEntry(&p.Labels, "d").Set("4"), entity.Add(&p.Count, 0), entity.If(entity.Or(entity.Eq(&p.Plain, ""), entity.In(&p.Rank, 1, 2))))
			return err
		},
		"Put":    func() error { _, err := s.Put(t.Context(), v); return err },
		"Upsert": func() error { _, _, err := s.Upsert(t.Context(), v); return err },
		"Query": func() error {
			_, err := s.Query(Profile{ID: "a"}, entity.Filter(entity.Eq(&p.Note, "x"), entity.Gt(&p.Count, 1))).Count(t.Context())
			return err
		},
	} {
		seen := map[string]int{}
		for range 30 {
			l.wire.Reset()
			require.NoError(t, call())
			requests := l.wire.Requests()
			require.Len(t, requests, 1, name)
			var body map[string]any
			require.NoError(t, json.Unmarshal(requests[0].Body, &body))
			canonical, err := json.Marshal(body)
			require.NoError(t, err)
			seen[string(canonical)]++
		}
		require.Len(t, seen, 1, name)
	}
}

// Elsewhere queries use the legacy parameters, and one attribute of an index's sort key at most.
func TestQuery_UsesExpressions(t *testing.T) {
	t.Parallel()
	l, s := open[Parcel](t)
	f := entity.Fields[Parcel]()
	_, err := s.Create(t.Context(), Parcel{Depot: "d", Code: "c", Country: "no", Zone: 1, Day: "mon", Weight: 5})
	require.NoError(t, err)
	l.wire.Reset()
	one, err := entity.Must(s.Index("byRoute")).Query(Parcel{Country: "no", Zone: 1}, entity.Eq(&f.Day, "mon"), entity.Between(&f.Weight, 1, 9)).One(t.Context())
	require.NoError(t, err)
	require.Equal(t, "c", one.Code)
	body := string(l.wire.Requests()[0].Body)
	for _, legacy := range []string{`"KeyConditions"`, `"QueryFilter"`, `"AttributesToGet"`, `"ConditionalOperator"`} {
		require.NotContains(t, body, legacy)
	}
	require.Contains(t, body, `"#0 = :0 AND #1 = :1 AND #2 = :2 AND #3 BETWEEN :3 AND :4"`)
}

// Elsewhere "sparse" and "project" of an index are read and forgotten.
func TestIndex_IsSparseAndProjectsWhatItDeclares(t *testing.T) {
	t.Parallel()
	l, s := open[Report](t)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Put(Report{ID: "a", Kind: "k", Title: "t", Body: "b"}), s.Op().Put(Report{ID: "b", Kind: "k", Day: "mon", Title: "t", Body: "b"})))
	require.Len(t, l.indexed(t, "gsi1"), 1, "the item without a day is in no index by day")
	require.Len(t, l.indexed(t, "gsi2"), 2)
	some := l.indexed(t, "gsi3")
	require.Len(t, some, 1)
	require.Contains(t, some[0], "title")
	require.NotContains(t, some[0], "body")
}

func TestObserve_ReportsTheCostOfEachVerb(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	p := entity.Fields[Profile]()
	last := func() entity.Report {
		t.Helper()
		require.Len(t, reports, 1, "one report for each verb")
		r := reports[0]
		reports = nil
		require.Len(t, l.sent(), r.Requests)
		return r
	}
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	r := last()
	require.Equal(t, []any{"Create", "Profile", 1, nil}, []any{r.Verb, r.Entity, r.Requests, r.Err})
	require.Positive(t, r.WriteUnits)
	require.Zero(t, r.ReadUnits)

	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 2))
	require.NoError(t, err)
	r = last()
	require.Equal(t, []any{"Update", 2}, []any{r.Verb, r.Requests})
	require.Positive(t, r.WriteUnits)
	require.Positive(t, r.ReadUnits)

	_, err = s.Create(t.Context(), Profile{ID: "a"})
	r = last()
	require.Equal(t, err, r.Err)
	require.ErrorIs(t, r.Err, entity.ErrExists)

	_, err = s.Query(Profile{ID: "a"}).Collect(t.Context())
	require.NoError(t, err)
	r = last()
	require.Equal(t, []any{"Query", "Profile", 1}, []any{r.Verb, r.Entity, r.Requests})

	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Profile{ID: "b"}), s.Op().CheckExists(Profile{ID: "a"})))
	r = last()
	require.Equal(t, []any{"Transact", "", 1}, []any{r.Verb, r.Entity, r.Requests})
	require.Positive(t, r.WriteUnits)
}

// A call that is refused before it does anything is reported like any other, and its error is a verb's.
func TestObserve_RefusedCallsAreReportedToo(t *testing.T) {
	t.Parallel()
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Observe = func(_ context.Context, r entity.Report) { reports = append(reports, r) }
	})
	foreign := declare[Profile](t, paper(t))
	v := Profile{ID: "a"}
	for name, call := range map[string]func() error{
		"Transact":                 func() error { return l.db.Transact(t.Context(), nil) },
		"Transact, foreign":        func() error { return l.db.Transact(t.Context(), s.Op().Create(v), foreign.Op().Create(v)) },
		"TransactWithToken":        func() error { return l.db.TransactWithToken(t.Context(), entity.Token{ID: "x", At: dawn}, nil) },
		"TransactWithToken, token": func() error { return l.db.TransactWithToken(t.Context(), entity.Token{}, s.Op().Create(v)) },
		"TransactGet":              func() error { return l.db.TransactGet(t.Context(), nil) },
		"TransactGet, foreign":     func() error { return l.db.TransactGet(t.Context(), foreign.Op().GetInto(&v)) },
		"TransactGet, too many":    func() error { return l.db.TransactGet(t.Context(), make([]entity.GetOp, 101)...) },
		"Create":                   func() error { _, err := s.Create(t.Context(), Profile{}); return err },
		"Get":                      func() error { _, err := s.Get(t.Context(), Profile{}); return err },
	} {
		reports = nil
		err := call()
		var verb *entity.Error
		require.ErrorAs(t, err, &verb, name)
		var bad *entity.InputError
		require.ErrorAs(t, err, &bad, name)
		require.Len(t, reports, 1, name)
		require.Equal(t, []any{verb.Verb, 0, err}, []any{reports[0].Verb, reports[0].Requests, reports[0].Err}, name)
		require.Empty(t, l.sent())
	}
	reports = nil
	require.NoError(t, l.db.Transact(t.Context()))
	require.NoError(t, l.db.TransactGet(t.Context()))
	require.Len(t, reports, 2, "a call that does nothing costs nothing, and is a call")
}
