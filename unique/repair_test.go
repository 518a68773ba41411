package unique_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
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
			func(t *testing.T, b *lab) { b.remove(t, b.sentinel(t, "x")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "y"))
				return err
			},
		},
		"missing claim, and the owner is deleted": {
			func(t *testing.T, b *lab) { b.remove(t, b.sentinel(t, "x")) },
			func(ctx context.Context, s *entity.Store[Person]) error { return s.Delete(ctx, Person{ID: "p"}) },
		},
		"missing claim, and the owner claims it itself": {
			func(t *testing.T, b *lab) { b.remove(t, b.sentinel(t, "x")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "y"))
				if err == nil {
					_, err = s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "x"))
				}
				return err
			},
		},
		"orphaned, and the item comes back": {
			func(t *testing.T, b *lab) { b.remove(t, b.item(t, "p")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Create(ctx, Person{ID: "p", Email: "x"})
				return err
			},
		},
		"orphaned, and the item comes back with another value": {
			func(t *testing.T, b *lab) { b.remove(t, b.item(t, "p")) },
			func(ctx context.Context, s *entity.Store[Person]) error {
				_, err := s.Create(ctx, Person{ID: "p", Email: "y"})
				return err
			},
		},
		"wrong owner, and the one that it names takes the value": {
			func(t *testing.T, b *lab) {
				it := b.item(t, "p")
				other := b.item(t, "q")
				it["email"], other["email"] = text("y"), text("x")
				b.put(t, it)
				b.put(t, other) // the sentinel of x names p, which has y
			},
			func(ctx context.Context, s *entity.Store[Person]) error {
				if err := s.Delete(ctx, Person{ID: "q"}); err != nil {
					return err
				}
				_, err := s.Update(ctx, Person{ID: "p"}, entity.Set(&f.Email, "x"))
				return err
			},
		},
		"wrong owner, and its owner goes": {
			func(t *testing.T, b *lab) {
				it := b.sentinel(t, "x")
				it["_entity_pk"] = text("$app#v1#person#nobody")
				b.put(t, it)
			},
			func(ctx context.Context, s *entity.Store[Person]) error { return s.Delete(ctx, Person{ID: "p"}) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newLab(t, "pk", "sk")
			s, l := prepare[Person](t, b, "email")
			_, err := s.Create(t.Context(), Person{ID: "p", Email: "x"})
			require.NoError(t, err)
			_, err = s.Create(t.Context(), Person{ID: "q"})
			require.NoError(t, err)
			c.damage(t, b)
			beside, err := entity.New[Person](b.open(t, faults.New(b.raw.Options().HTTPClient), 0))
			require.NoError(t, err)

			arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
			failed := make(chan error, 1)
			go func() {
				_, err := l.Repair(t.Context())
				failed <- err
			}()
			select {
			case <-arrived:
			case err := <-failed:
				require.FailNow(t, "nothing was to be repaired", "error: %v", err)
			}
			require.NoError(t, c.write(t.Context(), beside))
			release()
			require.NoError(t, <-failed)

			_, err = l.Repair(t.Context()) // what the write could not know of
			require.NoError(t, err)
			r, err := l.Verify(t.Context())
			require.NoError(t, err)
			require.Empty(t, r.Findings)
			b.bijective(t, "email")
		})
	}
}

// Repair runs while others create, change and delete; no claim is lost and no sentinel remains without an item.
func TestRepair_DuringAStormOfWrites(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	b := newLab(t, "pk", "sk")
	s, l := prepare[Person](t, b, "email")
	f := entity.Fields[Person]()
	ctx := t.Context()
	var writers sync.WaitGroup
	errs := make([]error, 4)
	for w := range errs {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(w)))
			for n := 0; n < 60 && errs[w] == nil; n++ {
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
		done, err := l.Repair(t.Context())
		require.NoError(t, err)
		require.Empty(t, done.Fixed, "the library keeps both in step; run %d found damage where there is none", runs)
		require.Empty(t, done.Remaining)
	}
	for _, err := range errs {
		require.NoError(t, err)
	}
	require.Greater(t, runs, 1)
	b.bijective(t, "email")
}

// Stopped at any request, Repair can be run again.
func TestRepair_CanBeStoppedAndRunAgain(t *testing.T) {
	t.Parallel()
	b := newLab(t, "pk", "sk")
	s, l := prepare[Person](t, b, "email")
	damaged(t, b, "email", func(id string) error {
		_, err := s.Create(t.Context(), Person{ID: id, Email: "value-" + id})
		return err
	})
	d := b.item(t, "d")
	d["email"] = text("value-d2")
	b.put(t, d)
	broken := faults.New(b.raw.Options().HTTPClient)
	fragile, err := entity.New[Person](b.open(t, broken, 1))
	require.NoError(t, err)
	m, err := unique.Of(fragile, "email")
	require.NoError(t, err)
	fixed, stops := 0, 0
	for n := 1; ; n++ {
		for _, fault := range []faults.Fault{faults.Throttle, faults.Lost} {
			broken.Inject(faults.Nth(n, fault))
			done, err := m.Repair(t.Context())
			fixed += len(done.Fixed)
			require.Empty(t, done.Remaining)
			if err != nil {
				stops++
			} else {
				broken.Inject(func(faults.Request) faults.Fault { return faults.None })
			}
		}
		r, err := l.Verify(t.Context())
		require.NoError(t, err)
		if len(r.Findings) == 0 {
			break
		}
		require.Less(t, n, 60)
	}
	require.Greater(t, stops, 3)
	require.Positive(t, fixed)
	b.bijective(t, "email")
}

// between runs Repair, and write just before the first transaction of it arrives.
func between[T any](t *testing.T, b *lab, l *unique.Lookup[T], write func(*entity.Store[T])) unique.Repaired {
	t.Helper()
	beside, err := entity.New[T](b.open(t, faults.New(b.raw.Options().HTTPClient), 0))
	require.NoError(t, err)
	arrived, release := b.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
	type result struct {
		done unique.Repaired
		err  error
	}
	results := make(chan result, 1)
	go func() {
		done, err := l.Repair(t.Context())
		results <- result{done, err}
	}()
	select {
	case <-arrived:
	case r := <-results:
		require.FailNow(t, "nothing was to be repaired", "error: %v", r.err)
	}
	write(beside)
	release()
	r := <-results
	require.NoError(t, r.err)
	return r.done
}

func TestRepair_DoesNotTakeAValueFromAnItemThatClaimsItMeanwhile(t *testing.T) {
	t.Parallel()
	b := newLab(t, "pk", "sk")
	s, l := prepare[Person](t, b, "email")
	_, err := s.Create(t.Context(), Person{ID: "p", Email: "x"})
	require.NoError(t, err)
	b.remove(t, b.sentinel(t, "x"))
	done := between(t, b, l, func(s *entity.Store[Person]) {
		_, err := s.Create(t.Context(), Person{ID: "q", Email: "x"})
		require.NoError(t, err, "nobody claims it")
	})
	require.Empty(t, done.Fixed)
	require.Equal(t, []string{"conflict of 2 items"}, kinds(done.Remaining))
	require.Equal(t, "$app#v1#person#q", str(b.sentinel(t, "x")["_entity_pk"]))
}

func TestRepair_LeavesAValueThatADeletedCopyHasReservedMeanwhile(t *testing.T) {
	t.Parallel()
	b := newLab(t, "pk", "sk")
	s, l := prepare[Member](t, b, "handle")
	_, err := s.Create(t.Context(), Member{ID: "m", Handle: "x"})
	require.NoError(t, err)
	b.remove(t, b.item(t, "m")) // without a copy
	done := between(t, b, l, func(s *entity.Store[Member]) {
		_, err := s.Create(t.Context(), Member{ID: "m", Handle: "x"})
		require.NoError(t, err)
		require.NoError(t, s.Delete(t.Context(), Member{ID: "m"}))
	})
	require.Empty(t, done.Fixed)
	require.NotNil(t, b.sentinel(t, "x"))
	r, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.Equal(t, unique.Report{Items: 1, Sentinels: 1}, r)
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
	b := newLab(t, "pk", "sk")
	shared := func(wire *faults.Transport) *entity.DB {
		db, err := entity.Open(dynamodb.New(b.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = wire }), entity.Config{
			Table: b.table, Clock: b.now, Interop: true, TimePrecision: time.Millisecond, Namespace: entity.Namespace{Casing: entity.LowerCase},
		})
		require.NoError(t, err)
		return db
	}
	b.db = shared(b.wire)
	s, l := prepare[account](t, b, "email")
	beside, err := entity.New[account](shared(faults.New(b.raw.Options().HTTPClient)))
	require.NoError(t, err)
	_, err = s.Create(t.Context(), account{ID: "p", Email: "x"})
	require.NoError(t, err)
	it := b.item(t, "p")
	it["email"] = text("y")
	b.put(t, it) // by something that knows of no sentinels
	n := 0
	b.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				_, err := beside.Update(t.Context(), account{ID: "p"}, entity.Set(&entity.Fields[account]().Email, "x"))
				require.NoError(t, err)
			}
		}
		return faults.None
	})
	_, err = l.Repair(t.Context())
	require.NoError(t, err)
	require.Positive(t, n)
	found, err := l.Find(t.Context(), account{Email: "x"})
	require.NoError(t, err)
	require.Equal(t, "p", found.ID)
	r, err := l.Verify(t.Context())
	require.NoError(t, err)
	require.Empty(t, r.Findings)
}
