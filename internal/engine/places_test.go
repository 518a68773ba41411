package engine

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// somePart returns one of few key values, some of which are equal in another form.
func somePart(r *rand.Rand) types.AttributeValue {
	n := r.IntN(3)
	switch r.IntN(4) {
	case 0:
		return item.S(strconv.Itoa(n))
	case 1:
		return item.N([...]string{"0", "1", "2"}[n])
	case 2:
		return item.N([...]string{"0.0", "1e0", "+2.00"}[n])
	}
	return &types.AttributeValueMemberB{Value: []byte(strconv.Itoa(n))}
}

// However many items there are, one is found by its key and table.
func TestPlaces_AreFoundByKeyAndTable(t *testing.T) {
	t.Parallel()
	r, found := rand.New(rand.NewPCG(testsize.Seed(t), 6)), 0
	for range testsize.Pick(300, 30_000) {
		var all places
		seen := map[string]int{}
		for range 1 + r.IntN(20) {
			table, key := [...]string{"a", "b"}[r.IntN(2)], item.Item{"pk": somePart(r)}
			if r.IntN(2) == 0 {
				key["sk"] = somePart(r)
			}
			want, known := seen[table+" "+layout.KeyID(key)]
			if !known {
				want = len(seen)
				seen[table+" "+layout.KeyID(key)] = want
			} else {
				found++
			}
			at, was := all.find(table, key)
			require.Equal(t, known, was)
			require.Equal(t, want, at)
		}
		require.Len(t, all, len(seen))
	}
	require.NotZero(t, found)
}
