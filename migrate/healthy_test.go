package migrate_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// keeper reserves the values of its deleted copies.
type keeper struct {
	_ entity.Key           `name:"Keeper" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byEmail" index:"gsi1" pk:"$#{email}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID      string    `dynamodbav:"id"`
	Email   string    `dynamodbav:"email,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// healthy requires that neither Check nor a dry run of Rewrite find anything.
func healthy(b *dbtest.Bench, store migrate.Store) {
	b.T.Helper()
	healthyBut(b, store)
}

// healthyBut is healthy with regard to findings of other kinds.
func healthyBut(b *dbtest.Bench, store migrate.Store, but ...migrate.Kind) {
	b.T.Helper()
	done, err := migrate.Check(b.Ctx, store, func(f migrate.Finding) error {
		if !slices.Contains(but, f.Kind) {
			assert.Fail(b.T, "found", "%+v", f)
		}
		return nil
	})
	require.NoError(b.T, err)
	require.Positive(b.T, done.Evaluated)
	r, err := migrate.Rewrite(b.Ctx, store, migrate.DryRun())
	require.NoError(b.T, err)
	assert.True(b.T, r.Clean(), "%v %v", r, r.Examples)
}

// busy makes writers change, delete and restore items, and move values from one to another. Conflicts and values that are taken are
// part of it.
func busy[T any](b *dbtest.Bench, wg *sync.WaitGroup, seed uint64, store *entity.Store[T], of func(id, email string) T, email *string) {
	deleted := entity.Must(lifecycle.Of(store))
	for w := range 4 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(w)))
			for range testsize.Pick(40, 80) {
				key, value := of(fmt.Sprint("i", r.IntN(4)), ""), fmt.Sprint(r.IntN(12), "@x")
				switch r.IntN(6) {
				case 0:
					_ = store.Delete(b.Ctx, key)
				case 1, 2:
					_, _ = deleted.Restore(b.Ctx, key)
				case 3:
					_, _ = store.Put(b.Ctx, of(fmt.Sprint("i", r.IntN(4)), value))
				default:
					_, _ = store.Update(b.Ctx, key, entity.Set(email, value))
				}
			}
		})
	}
}

// A table in which nothing is wrong has no findings while programs write.
func TestCheck_FindsNothingInAHealthyTableThatProgramsWrite(t *testing.T) {
	t.Parallel()
	seed := testsize.Seed(t)
	b := dbtest.Open(t)
	writers := b.Open(b.Raw)
	members, keepers := dbtest.Declare[member](t, b.DB), dbtest.Declare[keeper](t, b.DB)
	m, k := dbtest.Declare[member](t, writers), dbtest.Declare[keeper](t, writers)
	b.CreateTables()
	for i := range 4 {
		b.OK(m.Create(b.Ctx, member{ID: fmt.Sprint("i", i)}))
		b.OK(k.Create(b.Ctx, keeper{ID: fmt.Sprint("i", i)}))
	}
	b.Clock.Set(b.Clock.Now(), time.Millisecond)
	var wg sync.WaitGroup
	busy(b, &wg, seed, m, func(id, email string) member { return member{ID: id, Email: email} }, &entity.Fields[member]().Email)
	busy(b, &wg, seed+1, k, func(id, email string) keeper { return keeper{ID: id, Email: email} }, &entity.Fields[keeper]().Email)
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	n := 0
	for quiet := false; !quiet && !t.Failed(); n++ {
		select {
		case <-done:
			quiet = true
		default:
		}
		healthy(b, members)
		healthy(b, keepers)
	}
	<-done
	t.Logf("seed %d: %d rounds, %d items in the end", seed, n, len(b.Items()))
}

// An item that gets another value between the read of the page and that of its sentinel is not outdated.
func TestCheck_ReadsAgainWhatSeemsUnclaimed(t *testing.T) {
	t.Parallel()
	for what, do := range map[string]func(c *club) error{
		"check": func(c *club) error {
			_, err := migrate.Check(c.Ctx, c.now, func(f migrate.Finding) error { return fmt.Errorf("found %v", f) })
			return err
		},
		"dry run": func(c *club) error {
			r, err := migrate.Rewrite(c.Ctx, c.now, migrate.DryRun())
			assert.Zero(c.T, r.Rewritten, "%v", r)
			return err
		},
	} {
		c := open(t)
		c.OK(c.now.Create(c.Ctx, member{ID: "a", Email: "a@x"}))
		require.NoError(t, c.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() error { return do(c) }, func() {
			other := dbtest.Declare[member](t, c.Open(c.Raw))
			c.OK(other.Update(c.Ctx, member{ID: "a"}, entity.Set(&entity.Fields[member]().Email, "a@y")))
		}), what)
	}
}

// An item that is restored while its copy is looked for is no reason to call its snapshots orphaned.
func TestCheck_LooksForTheItemWhereItLooksForTheCopy(t *testing.T) {
	t.Parallel()
	c := open(t)
	c.OK(c.now.Create(c.Ctx, member{ID: "a", Email: "a@x"}))
	require.NoError(t, c.now.Delete(c.Ctx, member{ID: "a"}))
	require.NoError(t, c.Overtake(dbtest.First(dbtest.Is("Query")), func() error {
		_, err := migrate.Check(c.Ctx, c.now, func(f migrate.Finding) error { return fmt.Errorf("found %v", f) })
		return err
	}, func() {
		other := dbtest.Declare[member](t, c.Open(c.Raw))
		c.OK(entity.Must(lifecycle.Of(other)).Restore(c.Ctx, member{ID: "a"}))
	}))
}

// Programs of other namespaces, and of other versions of one, can share the table: what is theirs is no finding.
func TestCheck_LeavesWhatBelongsToAnotherNamespace(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	spaces := []entity.Namespace{{}, {Version: 2}, {Name: "shop"}, {Name: "app2", Version: 12}}
	var stores []*entity.Store[member]
	for _, n := range spaces {
		db := b.Open(b.Raw, func(c *entity.Config) { c.Namespace = n })
		stores = append(stores, dbtest.Declare[member](t, db))
		leases, err := lease.New(db, lease.Options{})
		require.NoError(t, err)
		if n == (entity.Namespace{}) {
			b.DB = db
			b.CreateTables()
		}
		held, err := leases.Acquire(b.Ctx, "work")
		require.NoError(t, err)
		require.NoError(t, held.Release(b.Ctx))
	}
	for i, s := range stores {
		for _, id := range []string{"a", "b", "c"} {
			b.OK(s.Create(b.Ctx, member{ID: id, Email: id + "@x"}))
		}
		require.NoError(t, s.Delete(b.Ctx, member{ID: "b"}))
		b.OK(s.Update(b.Ctx, member{ID: "c"}, entity.Add(&entity.Fields[member]().Tasks, 1)))
		b.OK(migrate.Rewrite(b.Ctx, s, migrate.Checkpoint(fmt.Sprint("run", i))))
	}
	b.OK(stores[1].Update(b.Ctx, member{ID: "a"}, entity.Set(&entity.Fields[member]().Email, "new@x"))) // the others have the old value
	for _, s := range stores {
		healthy(b, s)
		v, err := migrate.VerifyUnique(b.Ctx, entity.Must(unique.Of(s, "email")))
		require.NoError(t, err)
		assert.Equal(t, []int{2, 2, 0}, []int{v.Items, v.Sentinels, len(v.Findings)})
	}
	b.PutItem(texts("pk", "$app#v3#member#d", "sk", "$app#v3#member")) // without a mark
	b.PutItem(texts("pk", "$app#vX#member#d", "sk", "$app#vX#member", "__edd_e__", "Member"))
	b.PutItem(texts("pk", "app#v3#member#d", "sk", "app#v3#member", "__edd_e__", "Member"))
	var unknown []string
	b.OK(migrate.Check(b.Ctx, stores[0], func(f migrate.Finding) error { unknown = append(unknown, f.Key); return nil }))
	assert.Len(t, unknown, 3)
}

// permit has a value that is unique for an hour, and that a deleted copy reserves.
type permit struct {
	_ entity.Key           `name:"Permit" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"code" fields:"code" ttl:"1h"`

	ID   string `dynamodbav:"id"`
	Code string `dynamodbav:"code"`
}

// Neither a delete nor a repair claims a value again whose claim has ended.
func TestRepair_LeavesEndedClaimsOfDeletedItems(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[permit](t)
	b.OK(s.Create(b.Ctx, permit{ID: "a", Code: "k"}))
	b.Clock.Move(time.Hour)
	require.NoError(t, s.Delete(b.Ctx, permit{ID: "a"}))
	repaired, err := migrate.RepairUnique(b.Ctx, entity.Must(unique.Of(s, "code")))
	require.NoError(t, err)
	assert.Empty(t, repaired.Report.Findings)
	healthyBut(b, s, migrate.Leftover)
	b.OK(s.Create(b.Ctx, permit{ID: "b", Code: "k"}))
	require.NoError(t, s.Delete(b.Ctx, permit{ID: "b"}))
	b.OK(entity.Must(lifecycle.Of(s)).Restore(b.Ctx, permit{ID: "b"}))
	healthyBut(b, s)
}
