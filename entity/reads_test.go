package entity_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// Whatever bound ends a page, and however the bounds change from page to page, the cursor goes on exactly where it ended. tests/reading
// turns the pages of queries.
func TestBounds_CursorOfAScanContinuesWhereTheyEnded(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	var tasks []Task
	for i := range testsize.Pick(19, 37) {
		tasks = append(tasks, Task{Project: "p", Status: "s", Priority: 1 + i/10, TaskID: fmt.Sprintf("%02d", i), Points: i % 5, Owner: "o", Due: dawn.Truncate(1e9)})
	}
	fill(t, l, s, tasks...)
	for which, filter := range map[string][]entity.ScanOption{
		"all": nil, "some": {entity.Filter(entity.Eq(&f.Points, 3))}, "none": {entity.Filter(entity.Gt(&f.Points, 9))}, "most": {entity.Filter(entity.Lt(&f.Points, 4))},
	} {
		want := entity.Must(s.Scan(filter...).Collect(t.Context()))
		for name, bounds := range map[string][][]entity.ScanOption{
			"evaluated":       {{entity.MaxEvaluated(1)}, {entity.MaxEvaluated(7)}},
			"requests":        {{entity.MaxRequests(1), entity.Limit(3)}},
			"limit":           {{entity.Limit(1)}, {entity.Limit(4)}},
			"all three":       {{entity.Limit(2), entity.MaxEvaluated(5), entity.MaxRequests(2)}},
			"in turn":         {{entity.Limit(2)}, {entity.MaxEvaluated(3)}, {entity.MaxRequests(1), entity.Limit(5)}, {entity.MaxEvaluated(4), entity.Limit(1)}},
			"limit first":     {{entity.MaxEvaluated(4), entity.Limit(4)}, {entity.MaxEvaluated(2), entity.Limit(5)}},
			"larger than all": {{entity.MaxEvaluated(1000), entity.Limit(1000)}},
		} {
			var got []Task
			for cursor, turn := "", 0; ; turn++ {
				require.Less(t, turn, 100, "the pages have no end")
				page := entity.Must(s.Scan(append(filter[:len(filter):len(filter)], bounds[turn%len(bounds)]...)...).Page(t.Context(), cursor))
				got = append(got, page.Items...)
				if cursor = page.Next; cursor == "" {
					break
				}
				if name == "limit" {
					require.Len(t, page.Items, []int{1, 4}[turn%2], "only the last page is shorter")
				}
			}
			require.Equal(t, ids(want), ids(got), "%s, %s", which, name)
		}
	}
}

// What a bound promises is the most that a page costs and gives.
func TestBounds_AreTheMostThatAPageCosts(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	for i := range 30 {
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i}))
	}
	rare := entity.Filter(entity.Eq(&f.Points, 17))
	for n := range 5 {
		l.Sent()
		page := entity.Must(s.Query(Task{Project: "p"}, rare, entity.Limit(1), entity.MaxRequests(n+1)).Page(t.Context(), ""))
		require.LessOrEqual(t, len(l.Operations()), n+1)
		require.LessOrEqual(t, len(page.Items), 1)
		page = entity.Must(s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10*(n+1))).Page(t.Context(), ""))
		require.Equal(t, n >= 1, len(page.Items) == 1, "the 18th item is among the first %d or not", 10*(n+1))
	}
	require.Equal(t, 7, entity.Must(s.Query(Task{Project: "p"}, entity.MaxEvaluated(7)).Count(t.Context())))
	all := entity.Must(s.Query(Task{Project: "p"}, entity.MaxEvaluated(7), entity.Filter(entity.Ge(&f.Points, 5))).Collect(t.Context()))
	require.Len(t, all, 2)
	require.ErrorIs(t, dbtest.ErrorOf(s.Query(Task{Project: "p"}, rare, entity.MaxEvaluated(10)).First(t.Context())), entity.ErrNotFound)
}

// Count adds up what passes the filter on every one of many pages, and transfers no items.
func TestCount_OverManyPagesWithFilters(t *testing.T) {
	l, s := open[Task](t)
	f, title := entity.Fields[Task](), strings.Repeat("x", 120*1024)
	for i := range 30 { // 3.6 MB
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i % 3, Title: title}))
	}
	for name, c := range map[string]struct {
		q    entity.Query[Task]
		want int
	}{
		"all":        {s.Query(Task{Project: "p"}), 30},
		"filtered":   {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 2))), 10},
		"descending": {s.Query(Task{Project: "p"}, entity.Desc(), entity.Filter(entity.Ne(&f.Points, 2))), 20},
		"none":       {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 9))), 0},
		"limited":    {s.Query(Task{Project: "p"}, entity.Filter(entity.Eq(&f.Points, 2)), entity.Limit(7)), 7},
		"scan":       {s.Scan(entity.Filter(entity.Eq(&f.Points, 2))), 10},
		"range":      {s.Query(Task{Project: "p", Status: "s", Priority: 1}, entity.Ge(&f.TaskID, "15"), entity.Filter(entity.Eq(&f.Points, 0))), 5},
	} {
		l.Sent()
		n, err := c.q.Count(t.Context())
		require.NoError(t, err, name)
		require.Equal(t, c.want, n, name)
		requests := l.Wire.Requests()
		for _, r := range requests {
			require.Contains(t, string(r.Body), `"Select":"COUNT"`, name)
		}
		if name == "all" || name == "filtered" {
			require.Greater(t, len(requests), 1, name)
		}
	}
}

func TestQuery_LimitWithAFilterDoesNotCostARequestAnItem(t *testing.T) {
	l, s := open[Task](t)
	f := entity.Fields[Task]()
	for i := range 30 {
		l.OK(s.Create(t.Context(), Task{Project: "p", Status: "s", Priority: 1, TaskID: fmt.Sprintf("%02d", i), Points: i, Owner: "o", Due: dawn.Truncate(time.Second)}))
	}
	byOwner, last := entity.Must(s.Index("byOwner")), entity.Filter(entity.Eq(&f.Points, 29))
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
		require.Len(t, entity.Must(q.Page(t.Context(), "")).Items, 1)
		require.LessOrEqual(t, len(l.Operations()), 5, name)
	}
}

func TestReads_ConsistentIsSentOrRefused(t *testing.T) {
	l, s := opened(t, Order{Customer: "c", Number: 1, Status: "s", Placed: 1, Amount: 1})
	byStatus := entity.Must(s.Index("byStatus"))
	for name, q := range map[string]entity.Query[Order]{
		"table": s.Query(Order{Customer: "c"}, entity.Consistent()), "scan": s.Scan(entity.Consistent()),
		"local index": entity.Must(s.Index("byAmount")).Query(Order{Customer: "c"}, entity.Consistent()),
	} {
		require.NoError(t, dbtest.ErrorOf(q.One(t.Context())), name)
		for _, r := range l.Sent() {
			require.Contains(t, string(r.Body), `"ConsistentRead":true`, "%s: %s", name, r.Operation)
		}
	}
	for _, q := range []entity.Query[Order]{byStatus.Query(Order{Status: "s"}, entity.Consistent()), byStatus.Scan(entity.Consistent())} {
		l.requireRefused(t, dbtest.ErrorOf(q.Collect(t.Context())), "EDD-9108", "")
		l.requireRefused(t, dbtest.ErrorOf(q.Count(t.Context())), "EDD-9108", "")
	}
}

// A call that is refused before it does anything is reported like any other, and its error is a verb's.
func TestTracer_RefusedCallsAreReportedToo(t *testing.T) {
	var reports []entity.Report
	l, s := open[Profile](t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	foreign, v, p := dbtest.Declare[Profile](t, paper(t)), Profile{ID: "a"}, entity.Fields[Profile]()
	again, load := v, s.Op().GetInto(&v)
	var none entity.Op
	var write entity.Write[Profile]
	codes := map[string]string{
		"Transact": "EDD-9114", "Transact, foreign": "EDD-9114", "Transact, nil after another": "EDD-9114", "Transact, nil write": "EDD-9114", "Transact, foreign alone": "EDD-9114",
		"TransactGet, too many": "EDD-9110", "BatchGet, nil": "EDD-9114", "BatchGet, foreign": "EDD-9114", "BatchGet, nil pointer": "EDD-9105", "BatchGet, no key": "EDD-9101", "BatchGet, nil option": "EDD-9108",
	}
	for name, call := range map[string]func() error{
		"Transact":                 func() error { return l.DB.Transact(t.Context(), nil) },
		"Transact, nothing":        func() error { return l.DB.Transact(t.Context()) },
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
		"Modify, nil":                 func() error { return dbtest.ErrorOf(s.Modify(t.Context(), v, nil)) },
		"Touch":                       func() error { return dbtest.ErrorOf(s.Touch(t.Context(), Profile{}, &p.SeenAt, 0)) },
		"Delete":                      func() error { return s.Delete(t.Context(), Profile{}) },
		"Query":                       func() error { return dbtest.ErrorOf(s.Query(Profile{}).Collect(t.Context())) },
		"QueryAny":                    func() error { return dbtest.ErrorOf(s.QueryAny([]Profile{v, v}).Collect(t.Context())) },
		"QueryAny, 0":                 func() error { return dbtest.ErrorOf(s.QueryAny(nil).Count(t.Context())) },
		"QueryAny, a mistake":         func() error { return dbtest.ErrorOf(s.QueryAny([]Profile{v, {}}).Page(t.Context(), "")) },
		"Transact, nil after another": func() error { return l.DB.Transact(t.Context(), s.Op().Create(v), none) },
		"Transact, nil write":         func() error { return l.DB.Transact(t.Context(), s.Op().Create(v), write) },
		"Transact, foreign alone":     func() error { return l.DB.Transact(t.Context(), foreign.Op().Create(v)) },
		"TransactGet, nil pointer":    func() error { return l.DB.TransactGet(t.Context(), s.Op().GetInto(nil)) },
		"TransactGet, no key":         func() error { return l.DB.TransactGet(t.Context(), s.Op().GetInto(&Profile{})) },
		"TransactGet, twice":          func() error { return l.DB.TransactGet(t.Context(), s.Op().GetInto(&v), s.Op().GetInto(&again)) },
		"BatchGet, nil pointer":       func() error { return dbtest.ErrorOf(l.DB.BatchGet(t.Context(), load, s.Op().GetInto(nil))) },
		"BatchGet, no key":            func() error { return dbtest.ErrorOf(l.DB.BatchGet(t.Context(), load, s.Op().GetInto(&Profile{}))) },
		"BatchGet, nil option":        func() error { return dbtest.ErrorOf(l.DB.BatchGet(t.Context(), load, s.Op().GetInto(&v, nil))) },
		"BatchGet, nil":               func() error { return dbtest.ErrorOf(l.DB.BatchGet(t.Context(), load, nil)) },
		"BatchGet, foreign":           func() error { return dbtest.ErrorOf(l.DB.BatchGet(t.Context(), load, foreign.Op().GetInto(&v))) },
	} {
		reports = nil
		err := call()
		verb, _, _ := strings.Cut(name, ",")
		require.Contains(t, []string{verb, "GetInto"}, dbtest.As[*entity.Error](t, err, name).Verb, name)
		code := dbtest.As[*entity.InputError](t, err, name).Code
		if want, ok := codes[name]; ok {
			require.Equal(t, want, code, name)
		}
		require.Len(t, reports, 1, name)
		require.Equal(t, []any{verb, 0}, []any{reports[0].Verb, reports[0].Requests}, name)
		require.Error(t, reports[0].Err, name)
		require.True(t, reports[0].Entity == "" || reports[0].Table == l.Table, "%s: the table of a call of one entity", name)
		require.Empty(t, l.Operations())
	}
	reports = nil
	require.NoError(t, l.DB.TransactGet(t.Context()))
	require.Len(t, reports, 1, "a call that does nothing costs nothing, and is a call")
}

// stock stores n Plain items of about size bytes, and as many of another entity.
func stock(t *testing.T, b *bench, n, size int) {
	t.Helper()
	for i := range n {
		b.OK(b.other.Create(t.Context(), Plain{ID: fmt.Sprintf("%04d", i), Team: "red", Rank: 1 + i%3, Name: strings.Repeat("x", size)}))
		b.OK(b.teams.Create(t.Context(), Team{ID: fmt.Sprint(i), Name: strings.Repeat("x", size)}))
	}
	b.Sent()
}

func idsOf(items []Plain) []string {
	return slices.Sorted(slices.Values(each(items, func(v Plain) string { return v.ID })))
}

func TestSegment_TheSegmentsOfATableTogetherHaveEachItemOnce(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 30, 10)
	ctx, byTeam := t.Context(), entity.Must(b.plain.Index("byTeam"))
	var all, inPages, inIndex []Plain
	count := 0
	const of = 4
	for i := range of {
		one := b.plain.Scan(entity.Segment(i, of))
		all = append(all, entity.Must(one.Collect(ctx))...)
		count += entity.Must(one.Count(ctx))
		inPages = append(inPages, slices.Concat(dbtest.Pages(t, b.plain.Scan(entity.Segment(i, of), entity.Limit(3)))...)...)
		inIndex = append(inIndex, entity.Must(byTeam.Scan(entity.Segment(i, of)).Collect(ctx))...)
	}
	want := idsOf(entity.Must(b.plain.Scan().Collect(ctx)))
	require.Len(t, want, 30)
	require.Equal(t, want, idsOf(all))
	require.Equal(t, want, idsOf(inPages))
	require.Equal(t, want, idsOf(inIndex))
	require.Equal(t, 30, count)

	half := entity.Must(b.plain.Scan(entity.Segment(0, 1), entity.Limit(15)).Page(ctx, ""))
	require.NotEmpty(t, half.Next)
	for _, other := range []entity.Query[Plain]{b.plain.Scan(), b.plain.Scan(entity.Segment(0, 2)), b.plain.Scan(entity.Segment(1, 2))} {
		require.ErrorIs(t, dbtest.ErrorOf(other.Page(ctx, half.Next)), entity.ErrInvalidCursor)
	}
}

func TestScan_RefusesWhatAScanCannotHave(t *testing.T) {
	b := newBench(t, 0)
	byTeam := entity.Must(b.plain.Index("byTeam"))
	for name, q := range map[string]entity.Query[Plain]{
		"no segments":         b.plain.Scan(entity.Segments(0)),
		"too many segments":   b.plain.Scan(entity.Segments(65)),
		"bounds and segments": b.plain.Scan(entity.Segments(2), entity.MaxEvaluated(1)),
		"segment 4 of 4":      b.plain.Scan(entity.Segment(4, 4)),
		"segment -1":          b.plain.Scan(entity.Segment(-1, 4)),
		"segment of none":     b.plain.Scan(entity.Segment(0, 0)),
		"too many parts":      b.plain.Scan(entity.Segment(0, 1_000_001)),
		"segment, segments":   b.plain.Scan(entity.Segment(0, 2), entity.Segments(2)),
		"no evaluation":       b.plain.Query(Plain{ID: "a"}, entity.MaxEvaluated(0)),
		"no request":          b.plain.Query(Plain{ID: "a"}, entity.MaxRequests(-1)),
		"consistent index":    byTeam.Scan(entity.Consistent()),
		"no function":         b.plain.Scan(entity.OnPage(nil)),
	} {
		dbtest.As[*entity.InputError](t, dbtest.ErrorOf(q.Collect(t.Context())), name)
	}
	require.Empty(t, b.Wire.Requests())
}

func TestProject_FetchesOnlyTheSmallerStruct(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 3, 1000)
	ctx := t.Context()
	type small struct {
		ID   string `dynamodbav:"id"`
		Rank *int   `dynamodbav:"rank"`
	}
	got := entity.Must(entity.Project[small](b.plain.Scan(entity.Limit(2))).Collect(ctx))
	require.Len(t, got, 2)
	require.NotEmpty(t, got[0].ID)
	require.NotZero(t, *got[0].Rank)
	require.NotContains(t, string(b.Wire.Requests()[0].Body), `"name"`, "the large attribute is not fetched")

	q := entity.Project[small](entity.Must(b.plain.Index("byTeam")).Query(Plain{Team: "red", Rank: 1}, entity.Limit(1)))
	first := entity.Must(q.Page(ctx, ""))
	require.Len(t, first.Items, 1)
	last, err := q.Page(ctx, first.Next)
	require.NoError(t, err, "a projected page has what a cursor needs")
	require.Empty(t, last.Items, "one item has rank 1")

	type wrong struct {
		ID    int    `dynamodbav:"id"`
		Other string `dynamodbav:"other"`
	}
	_, err = entity.Project[wrong](b.plain.Scan()).Collect(ctx)
	dbtest.As[*entity.InputError](t, err)
	dbtest.As[*entity.InputError](t, dbtest.ErrorOf(entity.Project[string](b.plain.Scan()).Collect(ctx)))
}

// endless is a table whose scans never end.
type endless struct{ entity.Client }

func (endless) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	it := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: "w"}}
	return &dynamodb.ScanOutput{Items: []map[string]types.AttributeValue{it}, Count: 1, ScannedCount: 1, LastEvaluatedKey: it}, nil
}

// TestSegments_ScanWhoseContextEndsNeverLooksWhole ends the context while every segment waits for its answer to be taken.
func TestSegments_ScanWhoseContextEndsNeverLooksWhole(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(endless{}, entity.Config{Table: "t"}))
	s := entity.Must(entity.New[Pallet](db))
	for range testsize.Pick(50, 200) {
		ctx, cancel := context.WithCancel(t.Context())
		var last error
		for _, err := range s.Scan(entity.Segments(2)).All(ctx) {
			last = err
			cancel()
			time.Sleep(time.Millisecond)
		}
		require.ErrorIs(t, last, context.Canceled)
		cancel()
	}
}

// grows checks that p is further than what came before it.
func grows(t *testing.T, before, p entity.ScanProgress) {
	t.Helper()
	require.Equal(t, before.Pages+1, p.Pages)
	require.GreaterOrEqual(t, p.Evaluated, before.Evaluated)
	require.GreaterOrEqual(t, p.Found, before.Found)
	require.GreaterOrEqual(t, p.SegmentsDone, before.SegmentsDone)
	require.LessOrEqual(t, p.SegmentsDone, p.Segments)
	require.GreaterOrEqual(t, p.ReadUnits, before.ReadUnits)
}

func TestOnPage_CountsWhatEachRunReads(t *testing.T) {
	var reports []entity.Report // of calls that come one after the other
	o := newOffice(t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	o.staff(t, rand.New(rand.NewPCG(3, 4)), "a", 20, 20_000) // 1.2 MB, with four other items
	f := entity.Fields[Member]()
	half, inIndex := entity.Filter(entity.Lt(&f.ID, "a-010")), entity.Must(o.member.Index("byTenant"))
	count := func(q entity.Query[Member]) (n int, err error) { return q.Count(t.Context()) }
	collect := func(q entity.Query[Member]) (n int, err error) {
		all, err := q.Collect(t.Context())
		return len(slices.Compact(slices.Sorted(slices.Values(each(all, func(v Member) string { return v.ID }))))), err
	}
	for name, c := range map[string]struct {
		scan  func(...entity.ScanOption) entity.Query[Member]
		opts  []entity.ScanOption
		run   func(entity.Query[Member]) (int, error)
		parts int
		found int
	}{
		"table":             {o.member.Scan, nil, collect, 1, 20},
		"filter":            {o.member.Scan, []entity.ScanOption{half}, collect, 1, 10},
		"count":             {o.member.Scan, nil, count, 1, 20},
		"count by segments": {o.member.Scan, []entity.ScanOption{entity.Segments(4)}, count, 4, 20},
		"segments":          {o.member.Scan, []entity.ScanOption{entity.Segments(5)}, collect, 5, 20},
		"segments, filter":  {o.member.Scan, []entity.ScanOption{entity.Segments(3), half}, collect, 3, 10},
		"index":             {inIndex.Scan, nil, collect, 1, 20},
		"index by segments": {inIndex.Scan, []entity.ScanOption{entity.Segments(4)}, collect, 4, 20},
	} {
		var last entity.ScanProgress
		reports = nil
		o.Sent()
		n, err := c.run(c.scan(append(c.opts, entity.OnPage(func(p entity.ScanProgress) { grows(t, last, p); last = p }))...))
		require.NoError(t, err, name)
		require.Equal(t, c.found, n, name)
		require.Equal(t, c.found, last.Found, name)
		require.Equal(t, 64, last.Evaluated, name)
		require.Equal(t, len(o.Operations()), last.Pages, name)
		require.Equal(t, [2]int{c.parts, c.parts}, [2]int{last.Segments, last.SegmentsDone}, name)
		require.Len(t, reports, 1, name)
		require.Positive(t, last.ReadUnits, name)
		require.InDelta(t, reports[0].ReadUnits, last.ReadUnits, 0.001, name)
	}
}

// The calls are made by the goroutine of the loop, before the items they count come, and end with it.
func TestOnPage_TheCallsBelongToTheLoop(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 20, 60_000)
	for _, segments := range []int{1, 8} {
		calls, inBody := 0, false
		var last entity.ScanProgress
		seen := 0
		scan := b.plain.Scan(entity.Segments(segments), entity.OnPage(func(p entity.ScanProgress) {
			require.False(t, inBody, "while the loop's body runs")
			calls++
			last = p
		}))
		for _, err := range scan.All(t.Context()) {
			require.NoError(t, err)
			inBody = true
			seen++
			require.LessOrEqual(t, seen, last.Found)
			if seen == 3 {
				break
			}
			time.Sleep(20 * time.Millisecond) // other parts have their answers ready meanwhile
			inBody = false
		}
		require.Equal(t, 3, seen)
		at := calls
		time.Sleep(20 * time.Millisecond)
		require.Equal(t, at, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.plain.Scan(entity.Segments(4), entity.OnPage(func(entity.ScanProgress) { cancel() })).Collect(ctx)
	require.ErrorIs(t, err, context.Canceled, "a listener can end the scan")
}

// One part fails while all others wait for answers that will never come.
func TestSegments_AnErrorOfOneEndsAll(t *testing.T) {
	b := newBench(t, 1)
	stock(t, b, 10, 10)
	b.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Index == 0 {
			return faults.Internal
		}
		return faults.Hang
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	failures := 0
	for _, err := range b.plain.Scan(entity.Segments(6)).All(ctx) {
		require.Error(t, err)
		require.NotErrorIs(t, err, context.Canceled)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		failures++
	}
	require.Equal(t, 1, failures)
	require.NoError(t, ctx.Err(), "the others were given up")
}

func TestSegments_FaultsNeitherLoseNorRepeatItems(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 30, 60_000)
	seed := testsize.Seed(t)
	b.Wire.Inject(faults.Random(seed, 0.3, faults.Throttle, faults.Lost, faults.Internal, faults.Drop))
	var last entity.ScanProgress
	got := entity.Must(b.plain.Scan(entity.Segments(4), entity.OnPage(func(p entity.ScanProgress) { grows(t, last, p); last = p })).Collect(t.Context()))
	var want []string
	for i := range 30 {
		want = append(want, fmt.Sprintf("%04d", i))
	}
	require.Equal(t, want, idsOf(got))
	require.Equal(t, []int{60, 30, 4}, []int{last.Evaluated, last.Found, last.SegmentsDone})
}
