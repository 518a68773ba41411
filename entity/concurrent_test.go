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

// Writers that read first never undo each other, and every index key is that of the last writer's item.
func TestConcurrent_ReadModifyPutsLoseNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t, func(c *entity.Config) { c.MaxAttempts = 200 })
	p := entity.Fields[Profile]()
	l.OK(s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1}))
	const writers, rounds = 4, 3
	errs := make(chan error, writers*rounds)
	at(writers, func(i int) {
		for range rounds {
			changes := []entity.UpdateOption{entity.Add(&p.Count, 1), entity.Add(&p.Rank, 1)} // reads first
			if i%2 == 0 {
				changes = []entity.UpdateOption{entity.Add(&p.Count, 1), entity.ListAppend(&p.Log, "x")} // in place
			}
			_, err := s.Update(t.Context(), Profile{ID: "a"}, changes...)
			errs <- err
		}
	})
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	got := entity.Must(s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent()))
	require.Equal(t, writers*rounds, got.Count)
	require.Len(t, got.Log, writers*rounds/2)
	require.Equal(t, 1+writers*rounds/2, got.Rank)
	require.Equal(t, profileHalf("red", "7"), l.stored(profileKey)["gsi1pk"])
}

func TestConcurrent_OneOfManyCreatesWins(t *testing.T) {
	t.Parallel()
	l, s := open[Employee](t)
	op := s.Op().Create(alice())
	errs := make(chan error, 8)
	at(cap(errs), func(i int) {
		if i%2 == 0 {
			errs <- l.DB.Transact(t.Context(), op) // one op may run many times at once
		} else {
			_, err := s.Create(t.Context(), alice())
			errs <- err
		}
	})
	won := 0
	for range cap(errs) {
		if err := <-errs; err == nil {
			won++
		} else {
			require.ErrorIs(t, err, entity.ErrExists)
		}
	}
	require.Equal(t, 1, won)
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

// The read gives the other part; the write is valid only while it is unchanged.
func TestIndexKey_LostGuardIsPlannedAgain(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Profile{ID: "a", Team: "red", Rank: 1})
	p, other := entity.Fields[Profile](), dbtest.Declare[Profile](t, l.Open(l.Raw))
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("PutItem")), func() error {
		return dbtest.ErrorOf(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "blue")))
	}, func() {
		l.OK(other.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 2), entity.Set(&p.Note, "between")))
	}))
	require.Equal(t, []string{"GetItem", "PutItem", "GetItem", "PutItem"}, l.Operations())
	it := l.stored(profileKey)
	require.Equal(t, profileHalf("blue", "2"), it["gsi1pk"])
	require.Equal(t, `S"between"`, it["note"], "the other write is not lost")
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

// Verbatim items have no write id: they are guarded by what was read.
func TestIndexKey_VerbatimItemIsGuardedByItsImage(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Pallet{ID: "a", Hall: "north", Row: 1})
	p, other := entity.Fields[Pallet](), dbtest.Declare[Pallet](t, l.Open(l.Raw))
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("PutItem")), func() error {
		return dbtest.ErrorOf(s.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Hall, "south")))
	}, func() {
		l.OK(other.Update(t.Context(), Pallet{ID: "a"}, entity.Set(&p.Note, "between"))) // absent when it was read
	}))
	require.Equal(t, raw{"id": `S"a"`, "hall": `S"south"`, "row": "N1", "note": `S"between"`, "gsi1pk": `S"south/1"`}, l.stored(keys("id", "a")))
	require.Equal(t, []string{"GetItem", "PutItem", "GetItem", "PutItem"}, l.Operations())
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
