package entity_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// at runs f on n goroutines at once.
func at(n int, f func(i int)) {
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func TestConcurrent_NewReturnsOneStore(t *testing.T) {
	t.Parallel()
	db := paper(t)
	stores := make([]*entity.Store[Employee], 8)
	at(len(stores), func(i int) {
		stores[i] = entity.Must(entity.New[Employee](db))
		_ = stores[i].Op().Update(employeeKey("a"), rename("x")).String()
		_ = stores[i].Query(employeeKey("a")).String()
	})
	for _, s := range stores {
		require.Same(t, stores[0], s)
	}
}

func TestIndexKey_ItemDeletedBetweenReadAndWriteIsErrNotFound(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	other := dbtest.Declare[Profile](t, l.Open(l.Raw))
	l.OK(other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1}))
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "PutItem" {
			require.NoError(t, other.Delete(t.Context(), Profile{ID: "a"}))
		}
		return faults.None
	})
	_, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Empty(t, l.everything(), "nothing comes back to life")
}

// Pallet is verbatim, with an index key of two parts.
type Pallet struct {
	_ entity.Key `name:"Pallet" pk:"id"`
	_ entity.GSI `name:"byPlace" index:"gsi1" pk:"gsi1pk={hall}/{row:01}"`

	ID   string `dynamodbav:"id"`
	Hall string `dynamodbav:"hall,omitempty"`
	Row  int    `dynamodbav:"row,omitempty"`
	Note string `dynamodbav:"note,omitempty"`
}
