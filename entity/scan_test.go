package entity_test

import (
	"bytes"
	"context"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// stock stores n Plain items of about size bytes, and as many of another entity.
func stock(t *testing.T, b *bench, n, size int) {
	t.Helper()
	for i := range n {
		_, err := b.other.Create(t.Context(), Plain{ID: fmt.Sprintf("%04d", i), Team: "red", Rank: 1 + i%3, Name: strings.Repeat("x", size)})
		require.NoError(t, err)
		_, err = b.ver.Create(t.Context(), Counted{ID: fmt.Sprint(i), Name: strings.Repeat("x", size)})
		require.NoError(t, err)
	}
	b.faults.Reset()
}

func idsOf(items []Plain) []string {
	var ids []string
	for _, v := range items {
		ids = append(ids, v.ID)
	}
	slices.Sort(ids)
	return ids
}

func TestScan_YieldsTheEntitysItemsOnce(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 30, 60_000) // 3.6 MB: four pages
	ctx := t.Context()
	all, err := b.plain.Scan().Collect(ctx)
	require.NoError(t, err)
	require.Len(t, all, 30)
	require.GreaterOrEqual(t, b.faults.Count("Scan"), 4)
	require.Len(t, slices.Compact(idsOf(all)), 30)

	parts, err := b.plain.Scan(entity.Segments(5)).Collect(ctx)
	require.NoError(t, err)
	require.Equal(t, idsOf(all), idsOf(parts))

	n, err := b.plain.Scan(entity.Filter(entity.Eq(&entity.Fields[Plain]().Rank, 2))).Count(ctx)
	require.NoError(t, err)
	require.Equal(t, 10, n)
	n, err = b.plain.Scan(entity.Filter(entity.Eq(&entity.Fields[Plain]().ID, "0003"))).Count(ctx)
	require.NoError(t, err)
	require.Equal(t, 1, n, "a scan can filter by any attribute")

	var paged []Plain
	for cursor := ""; ; {
		page, err := b.plain.Scan(entity.Limit(7)).Page(ctx, cursor)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.Items), 7)
		paged = append(paged, page.Items...)
		if cursor = page.Next; cursor == "" {
			break
		}
	}
	require.Equal(t, idsOf(all), idsOf(paged))
	inIndex, err := entity.Must(b.plain.Index("byTeam")).Scan(entity.Segments(2)).Collect(ctx)
	require.NoError(t, err)
	require.Equal(t, idsOf(all), idsOf(inIndex))
}

// mark labels the goroutine of a test, and so all that it starts.
func mark(t *testing.T) {
	before := t.Context()
	pprof.SetGoroutineLabels(pprof.WithLabels(before, pprof.Labels("test", t.Name())))
	t.Cleanup(func() { pprof.SetGoroutineLabels(before) })
}

// children returns the stacks of the library's goroutines that a marked test has started and that have not ended.
func children(t *testing.T) (stacks []string) {
	var profile bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&profile, 1))
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, t.Name()+`"}`) && strings.Contains(stack, "dynastrata/internal/") {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}

func TestScan_SegmentsStopWhenTheLoopDoes(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 20, 60_000)
	mark(t)
	for range b.plain.Scan(entity.Segments(8)).All(t.Context()) {
		break
	}
	limited, err := b.plain.Scan(entity.Segments(8), entity.Limit(3)).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, limited, 3)
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	for _, err := range b.plain.Scan(entity.Segments(3)).All(ctx) {
		if seen == 0 {
			require.NotEmpty(t, children(t))
		}
		if seen++; err != nil {
			require.ErrorIs(t, err, context.Canceled)
			break
		}
		cancel()
	}
	cancel()
	b.faults.Inject(faults.Nth(2, faults.Hang))
	bounded, stop := context.WithTimeout(t.Context(), 200_000_000)
	defer stop()
	_, err = b.plain.Scan(entity.Segments(4)).Collect(bounded)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Eventually(t, func() bool { return len(children(t)) == 0 }, time.Minute, time.Millisecond)
}

func TestQuery_BoundsOnItsCost(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 12, 10)
	ctx, f := t.Context(), entity.Fields[Plain]()
	red := Plain{Team: "red", Rank: 1}
	byTeam := entity.Must(b.plain.Index("byTeam"))
	never := entity.Filter(entity.Eq(&f.Name, "no such name"))

	page, err := byTeam.Query(red, entity.MaxEvaluated(3), never).Page(ctx, "")
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.NotEmpty(t, page.Next, "the rest is not lost: the cursor leads on")
	require.Equal(t, 1, b.faults.Count("Query"))
	rest, err := byTeam.Query(red, entity.MaxEvaluated(3), never).Page(ctx, page.Next)
	require.NoError(t, err)
	require.Empty(t, rest.Items)

	b.faults.Reset()
	some, err := byTeam.Query(red, entity.MaxEvaluated(3)).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, some, 3)
	b.faults.Reset()
	page, err = b.plain.Scan(entity.MaxRequests(2), entity.Limit(1000), never).Page(ctx, "")
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.LessOrEqual(t, b.faults.Count("Scan"), 2)
}

func TestScan_RefusesWhatAScanCannotHave(t *testing.T) {
	b := newBench(t, 0)
	byTeam := entity.Must(b.plain.Index("byTeam"))
	for name, q := range map[string]entity.Query[Plain]{
		"no segments":         b.plain.Scan(entity.Segments(0)),
		"too many segments":   b.plain.Scan(entity.Segments(65)),
		"bounds and segments": b.plain.Scan(entity.Segments(2), entity.MaxEvaluated(1)),
		"no evaluation":       b.plain.Query(Plain{ID: "a"}, entity.MaxEvaluated(0)),
		"no request":          b.plain.Query(Plain{ID: "a"}, entity.MaxRequests(-1)),
		"consistent index":    byTeam.Scan(entity.Consistent()),
	} {
		_, err := q.Collect(t.Context())
		var input *entity.InputError
		require.ErrorAs(t, err, &input, name)
	}
	require.Empty(t, b.faults.Requests())
}

func TestAs_FetchesOnlyTheSmallerStruct(t *testing.T) {
	b := newBench(t, 0)
	stock(t, b, 3, 1000)
	ctx := t.Context()
	type small struct {
		ID   string `dynamodbav:"id"`
		Rank *int   `dynamodbav:"rank"`
	}
	got, err := entity.Project[small](b.plain.Scan(entity.Limit(2))).Collect(ctx)
	require.NoError(t, err)
	require.Len(t, got, 2)
	require.NotEmpty(t, got[0].ID)
	require.NotZero(t, *got[0].Rank)
	require.NotContains(t, string(b.faults.Requests()[0].Body), `"name"`, "the large attribute is not fetched")

	q := entity.Project[small](entity.Must(b.plain.Index("byTeam")).Query(Plain{Team: "red", Rank: 1}, entity.Limit(1)))
	first, err := q.Page(ctx, "")
	require.NoError(t, err)
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
	_, err = entity.Project[string](b.plain.Scan()).Collect(ctx)
	require.ErrorAs(t, err, &input)
}
