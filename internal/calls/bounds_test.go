package calls_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// DynamoDB counts in 32 bits: a larger number would arrive as another one.
func TestBounds_BeyondWhatDynamoDBCountsAreMistakes(t *testing.T) {
	t.Parallel()
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"})) // without a client: there are no requests
	s := entity.Must(entity.New[Kept](db))
	large := math.MaxInt32
	above := large
	above++ // negative where int has 32 bits
	for name, option := range map[string]func(int) entity.QueryOption{
		"Limit": entity.Limit, "MaxEvaluated": entity.MaxEvaluated, "MaxRequests": entity.MaxRequests, "Segments": entity.Segments,
	} {
		for _, n := range []int{math.MinInt, -1, 0, above, math.MaxInt} {
			var input *entity.InputError
			_, err := s.Scan(option(n)).Page(t.Context(), "")
			require.ErrorAs(t, err, &input, "%s(%d)", name, n)
			require.Equal(t, "EDD-9108", input.Code)
			_, err = entity.Must(unique.Of(s, "email")).Verify(t.Context(), option(n))
			require.ErrorAs(t, err, &input, "%s(%d)", name, n)
			for _, q := range []interface{ String() string }{
				s.Query(Kept{ID: "a"}, option(n)),
				entity.Must(lifecycle.Of(s)).List(Kept{ID: "a"}, option(n)), entity.Must(versioned.Of(s)).List(Kept{ID: "a"}, option(n)),
			} {
				require.Contains(t, q.String(), "EDD-9108", "%s(%d)", name, n)
			}
		}
		if name != "Segments" {
			_, err := s.Scan(option(large)).Page(t.Context(), "")
			require.ErrorIs(t, err, entity.ErrNoClient, name)
		}
	}
}
