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

// stock stores n Plain items of about size bytes, and as many of another entity.
func stock(t *testing.T, b *bench, n, size int) {
	t.Helper()
	for i := range n {
		b.OK(b.other.Create(t.Context(), Plain{ID: fmt.Sprintf("%04d", i), Team: "red", Rank: 1 + i%3, Name: strings.Repeat("x", size)}))
		b.OK(b.ver.Create(t.Context(), Counted{ID: fmt.Sprint(i), Name: strings.Repeat("x", size)}))
	}
	b.Sent()
}

func idsOf(items []Plain) []string {
	var ids []string
	for _, v := range items {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids
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
	var input *entity.InputError
	require.ErrorAs(t, err, &input)
	require.ErrorAs(t, dbtest.ErrorOf(entity.Project[string](b.plain.Scan()).Collect(ctx)), &input)
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
	s := entity.Must(entity.New[Wide](db))
	for range 200 {
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
	t.Parallel()
	var reports []entity.Report // of calls that come one after the other
	o := newOffice(t, func(c *entity.Config) {
		c.Tracer = dbtest.Observer(func(r entity.Report) { reports = append(reports, r) })
	})
	o.staff(t, rand.New(rand.NewPCG(3, 4)), "a", 20, 30_000) // 1.8 MB, with four other items
	f := entity.Fields[Member]()
	half, inIndex := entity.Filter(entity.Lt(&f.ID, "a-010")), entity.Must(o.member.Index("byTenant"))
	count := func(q entity.Query[Member]) (n int, err error) { return q.Count(t.Context()) }
	collect := func(q entity.Query[Member]) (n int, err error) {
		all, err := q.Collect(t.Context())
		return len(slices.Compact(slices.Sorted(func(yield func(string) bool) {
			for _, v := range all {
				if !yield(v.ID) {
					return
				}
			}
		}))), err
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
			time.Sleep(50 * time.Millisecond) // other parts have their answers ready meanwhile
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
