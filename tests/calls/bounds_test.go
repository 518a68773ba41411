package calls_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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
	verify := func(o unique.VerifyOption) error {
		return dbtest.ErrorOf(entity.Must(unique.Of(s, "email")).Verify(t.Context(), o))
	}
	for name, option := range map[string]func(int) entity.ScanOption{
		"Limit":        func(n int) entity.ScanOption { return entity.Limit(n) },
		"MaxEvaluated": func(n int) entity.ScanOption { return entity.MaxEvaluated(n) },
		"MaxRequests":  func(n int) entity.ScanOption { return entity.MaxRequests(n) },
		"Segments":     func(n int) entity.ScanOption { return entity.Segments(n) },
	} {
		for _, n := range []int{math.MinInt, -1, 0, above, math.MaxInt} {
			var input *entity.InputError
			_, err := s.Scan(option(n)).Page(t.Context(), "")
			require.ErrorAs(t, err, &input, "%s(%d)", name, n)
			require.Equal(t, "EDD-9108", input.Code)
			var plans []interface{ String() string }
			if o, ok := option(n).(unique.VerifyOption); ok {
				require.ErrorAs(t, verify(o), &input, "%s(%d)", name, n)
			}
			if o, ok := option(n).(entity.QueryOption); ok {
				plans = append(plans, s.Query(Kept{ID: "a"}, o))
			}
			if o, ok := option(n).(lifecycle.ListOption); ok {
				plans = append(plans, entity.Must(lifecycle.Of(s)).List(Kept{ID: "a"}, o))
			}
			if o, ok := option(n).(versioned.ListOption); ok {
				plans = append(plans, entity.Must(versioned.Of(s)).List(Kept{ID: "a"}, o))
			}
			for _, p := range plans {
				require.Contains(t, p.String(), "EDD-9108", "%s(%d)", name, n)
			}
		}
		if name != "Segments" {
			_, err := s.Scan(option(large)).Page(t.Context(), "")
			require.ErrorIs(t, err, entity.ErrNoClient, name)
		}
	}
}
