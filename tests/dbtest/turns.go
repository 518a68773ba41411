package dbtest

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Turn turns pages of a query in random directions, with random sizes and random bounds of the cost, which are at least least.
// Each page must be the next piece of what the query gives without them.
func Turn[T any](t testing.TB, random *rand.Rand, least int, query func(...entity.QueryOption) entity.Query[T]) {
	t.Helper()
	whole, err := query().Collect(t.Context())
	require.NoError(t, err)
	page, begin, end := entity.Page[T]{}, 0, 0
	for turn := range 30 {
		var opts []entity.QueryOption
		limit := random.IntN(7)
		if limit > 0 {
			opts = append(opts, entity.Limit(limit))
		}
		if random.IntN(5) > 0 {
			opts = append(opts, entity.MaxEvaluated(least+random.IntN(7)))
		} else {
			opts = append(opts, entity.MaxRequests(least+random.IntN(3)))
		}
		text, back := page.Next, page.Prev != "" && (page.Next == "" || random.IntN(3) > 0)
		if back {
			text = page.Prev
		}
		if turn > 0 && text == "" {
			return // one page has everything
		}
		q := query(opts...)
		page, err = q.Page(t.Context(), text)
		require.NoError(t, err, "turn %d, back %t: %s", turn, back, q)
		if back {
			begin, end = begin-len(page.Items), begin
		} else {
			begin, end = end, end+len(page.Items)
		}
		require.True(t, begin >= 0 && end <= len(whole), "turn %d, back %t: %d to %d of %d: %s", turn, back, begin, end, len(whole), q)
		require.Equal(t, append([]T{}, whole[begin:end]...), append([]T{}, page.Items...), "turn %d, back %t: %s", turn, back, q)
		require.True(t, limit == 0 || len(page.Items) <= limit, q)
		require.True(t, page.Prev != "" || begin == 0, "turn %d, back %t: %s", turn, back, q)
		require.True(t, page.Next != "" || end == len(whole), "turn %d, back %t: %s", turn, back, q)
	}
}
