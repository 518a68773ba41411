package migrate_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
)

// Another program writes just before Repair does; sentinel and item must still agree then.
func TestRepair_IsSafeAgainstAWriteInBetween(t *testing.T) {
	t.Parallel()
	f := entity.Fields[Person]()
	for name, c := range map[string]struct {
		damage func(*testing.T, *lab)
		write  func(context.Context, *entity.Store[Person]) error
	}{
		"missing claim, and the owner changes its value": {
			func(t *testing.T, b *lab) { b.RemoveItem(b.Sentinel("x")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "y"))
				return err
			},
		},
		"missing claim, and the owner is deleted": {
			func(t *testing.T, b *lab) { b.RemoveItem(b.Sentinel("x")) },
			func(ctx context.Context, s *entity.Store[Person]) error { return s.Delete(ctx, Person{ID: "p"}) },
		},
		"missing claim, and the owner claims it itself": {
			func(t *testing.T, b *lab) { b.RemoveItem(b.Sentinel("x")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "y"))
				if err == nil {
					_, err = s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "x"))
				}
				return err
			},
		},
		"orphaned, and the item comes back": {
			func(t *testing.T, b *lab) { b.RemoveItem(b.Current("p")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Create(ctx, Person{ID: "p", Email: "x"})
				return err
			},
		},
		"wrong owner, and the one that it names takes the value": {
			func(t *testing.T, b *lab) {
				it := b.Current("p")
				other := b.Current("q")
				it["email"], other["email"] = dbtest.S("y"), dbtest.S("x")
				b.PutItem(it)
				b.PutItem(other) // the sentinel of x names p, which has y
			},
			func(ctx context.Context, s *entity.Store[Person]) error {
				if err := s.Delete(ctx, Person{ID: "q"}); err != nil {
					return err
				}
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "x"))
				return err
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLab(t)
			s, l := prepare[Person](t, b, "email")
			entity.Must(s.Create(t.Context(), Person{ID: "p", Email: "x"}))
			entity.Must(s.Create(t.Context(), Person{ID: "q"}))
			c.damage(t, b)
			beside := entity.Must(entity.New[Person](b.Open(b.Raw)))

			require.NoError(t, b.Overtake(dbtest.Is("TransactWriteItems"), func() error {
				_, err := migrate.RepairUnique(t.Context(), l)
				return err
			}, func() { require.NoError(t, c.write(t.Context(), beside)) }))

			_, err := migrate.RepairUnique(t.Context(), l) // what the write could not know of
			require.NoError(t, err)
			r := entity.Must(migrate.VerifyUnique(t.Context(), l))
			require.Empty(t, r.Findings)
			b.bijective("email")
		})
	}
}

// Repair runs while others create, change and delete; no claim is lost and no sentinel remains without an item.
func TestRepair_DuringAStormOfWrites(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	f := entity.Fields[Person]()
	ctx := t.Context()
	var writers sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for n := 0; n < testsize.Pick(12, 100) && errs[w] == nil; n++ {
				key, v := Person{ID: fmt.Sprint("p", rng.IntN(6))}, fmt.Sprint("v", rng.IntN(8))
				var err error
				switch rng.IntN(4) {
				case 0:
					_, err = s.Create(ctx, Person{ID: key.ID, Email: v})
				case 1:
					err = s.Delete(ctx, key)
				case 2:
					_, err = s.Put(ctx, Person{ID: key.ID, Email: v})
				default:
					_, err = s.Update(ctx, key, entity.Set(&f.Email, v))
				}
				var taken *unique.ViolationError
				switch {
				case err == nil, errors.As(err, &taken), errors.Is(err, entity.ErrExists), errors.Is(err, entity.ErrNotFound),
					errors.Is(err, entity.ErrConflict):
				default:
					errs[w] = err
				}
			}
		})
	}
	finished := make(chan struct{})
	go func() { writers.Wait(); close(finished) }()
	runs := 0
	for running := true; running; runs++ {
		select {
		case <-finished:
			running = false
		default:
		}
		done := entity.Must(migrate.RepairUnique(t.Context(), l))
		require.Empty(t, done.Fixed, "the library keeps both in step; run %d found damage in correct data", runs)
		require.Empty(t, done.Remaining)
	}
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Greater(t, runs, 1)
	b.bijective("email")
}

// between runs Repair, and write just before the first transaction of it arrives.
func between[T any](t *testing.T, b *lab, l *unique.Lookup[T], write func(*entity.Store[T])) migrate.UniqueRepair {
	t.Helper()
	beside := dbtest.Declare[T](t, b.Open(b.Raw))
	var done migrate.UniqueRepair
	require.NoError(t, b.Overtake(dbtest.Is("TransactWriteItems"), func() (err error) {
		done, err = migrate.RepairUnique(t.Context(), l)
		return err
	}, func() { write(beside) }))
	return done
}

func TestRepair_DoesNotTakeAValueFromAnItemThatClaimsItMeanwhile(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Person](t, b, "email")
	entity.Must(s.Create(t.Context(), Person{ID: "p", Email: "x"}))
	b.RemoveItem(b.Sentinel("x"))
	done := between(t, b, l, func(s *entity.Store[Person]) {
		_, err := s.Create(t.Context(), Person{ID: "q", Email: "x"})
		require.NoError(t, err, "nobody claims it")
	})
	require.Empty(t, done.Fixed)
	require.Equal(t, []string{"conflict of 2 items"}, dbtest.Sorted(done.Remaining))
	require.Equal(t, "$app#v1#person#q", dbtest.Text(b.Sentinel("x")["_entity_pk"]))
}

func TestRepair_LeavesAValueThatADeletedCopyHasReservedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	s, l := prepare[Member](t, b, "handle")
	entity.Must(s.Create(t.Context(), Member{ID: "m", Handle: "x"}))
	b.RemoveItem(b.Current("m")) // without a copy
	done := between(t, b, l, func(s *entity.Store[Member]) {
		entity.Must(s.Create(t.Context(), Member{ID: "m", Handle: "x"}))
		require.NoError(t, s.Delete(t.Context(), Member{ID: "m"}))
	})
	require.Empty(t, done.Fixed)
	require.NotNil(t, b.Sentinel("x"))
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Equal(t, migrate.UniqueReport{Items: 1, Sentinels: 1}, r)
}

// In a shared table a sentinel that is put again is the same to the byte, so that only the item that it names shows that
// the value is claimed by now. Nobody had it when Repair looked.
func TestRepair_LeavesASentinelThatItsItemHasMadeTrueMeanwhile(t *testing.T) {
	t.Parallel()
	type account struct {
		_     entity.Key        `name:"Account" pk:"$#id_{id}" sk:"$"`
		_     unique.Constraint `name:"email" fields:"email"`
		ID    string            `dynamodbav:"id"`
		Email string            `dynamodbav:"email,omitempty"`
	}
	b := newLab(t, shared)
	s, l := prepare[account](t, b, "email")
	beside := dbtest.Declare[account](t, b.Open(b.Raw))
	entity.Must(s.Create(t.Context(), account{ID: "p", Email: "x"}))
	it := b.Current("p")
	it["email"] = dbtest.S("y")
	b.PutItem(it) // by something that knows of no sentinels
	n := 0
	b.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				entity.Must(beside.Update(t.Context(), account{ID: "p"}, entity.Set(&entity.Fields[account]().Email, "x")))
			}
		}
		return faults.None
	})
	entity.Must(migrate.RepairUnique(t.Context(), l))
	require.Positive(t, n)
	found := entity.Must(l.Find(t.Context(), account{Email: "x"}))
	require.Equal(t, "p", found.ID)
	r := entity.Must(migrate.VerifyUnique(t.Context(), l))
	require.Empty(t, r.Findings)
}
