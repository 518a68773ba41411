package conformance_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Batches have neither conditions nor transactions: what needs them refuses batches, whatever the caller says.
func TestABatchWeakensNoOperation(t *testing.T) {
	t.Parallel()
	refused := func(t *testing.T, err error) {
		t.Helper()
		var mistake *entity.InputError
		require.ErrorAs(t, err, &mistake)
		require.Equal(t, "EDD-9117", mistake.Code)
	}
	l, s := dbtest.OpenStore[u1VRetainSReserve](t)
	p := as[u1VRetainSReserve](Person{ID: "p-1", Tenant: "t", Email: "a@example.com"})
	_, err := s.Create(t.Context(), p)
	require.NoError(t, err)
	before := l.ItemsByKey()
	left, err := s.PutMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional())
	refused(t, err)
	require.Len(t, left, 1)
	_, err = s.DeleteMany(t.Context(), []u1VRetainSReserve{p}, entity.Unconditional())
	refused(t, err)
	require.Equal(t, before, l.ItemsByKey())
}

// Whoever reads a stored item, from a stream for one, can tell what it is and decode it: related items say their kind, and
// every kind has the attributes of the struct under the names of its tags.
func TestStoredItemsSayWhatTheyAreAndDecode(t *testing.T) {
	t.Parallel()
	type T = u1VRetainSReserve
	l, s := dbtest.OpenStore[T](t)
	p := as[T](Person{ID: "p-1", Tenant: "t", Email: "a@example.com"})
	_, err := s.Create(t.Context(), p)
	require.NoError(t, err)
	l.Clock.Move(time.Second)
	_, err = s.Update(t.Context(), p, entity.Set(&fields[T]().Email, "b@example.com"))
	require.NoError(t, err)
	kinds := map[string]int{}
	look := func() {
		out, err := l.Raw.Scan(t.Context(), &dynamodb.ScanInput{TableName: &l.Table})
		require.NoError(t, err)
		for _, it := range out.Items {
			var said struct {
				Entity string `dynamodbav:"__edd_e__"`
				Kind   string `dynamodbav:"_k"`
			}
			require.NoError(t, attributevalue.UnmarshalMap(it, &said))
			what := said.Entity + " " + said.Kind
			kinds[what]++
			if strings.Contains(said.Entity, "._unique.") {
				continue
			}
			var decoded T
			require.NoError(t, attributevalue.UnmarshalMap(it, &decoded), what)
			require.Equal(t, p.ID, decoded.ID, what)
			require.NotEmpty(t, decoded.Email, what)
		}
	}
	look()
	require.Equal(t, map[string]int{"Person ": 1, "Person v": 1, "Person._unique.email": 1}, trimmed(kinds))
	l.Clock.Move(time.Second)
	require.NoError(t, s.Delete(t.Context(), p))
	clear(kinds)
	look()
	require.Equal(t, map[string]int{"Person d": 1, "Person v": 2, "Person._unique.email": 1}, trimmed(kinds))
}

func trimmed(kinds map[string]int) map[string]int {
	out := map[string]int{}
	for what, n := range kinds {
		if strings.Contains(what, "._unique.") {
			what = strings.TrimSpace(what)
		}
		out[what] = n
	}
	return out
}
