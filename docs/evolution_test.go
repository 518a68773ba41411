package docs_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// These tests check what the pages of features say, At the edges, about items that were written before a struct had versions, timestamps, unique
// values, soft delete and history.

func TestAnItemFromBeforeIsRead(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	key := g.before(t, "w-1", "ada@x.org")
	want := worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada"} // no version and no times

	got, err := g.store.Get(t.Context(), key, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, want, got)
	all, err := g.store.Query(key, entity.Consistent()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []worker{want}, all)
	byTeam, err := g.store.Index("byTeam")
	require.NoError(t, err)
	all, err = byTeam.Query(worker{Team: "t-1"}).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []worker{want}, all)

	state, err := g.past.Get(t.Context(), key, 0)
	require.NoError(t, err)
	require.Equal(t, versioned.Version[worker]{Item: want}, state)
	states, err := g.past.List(key, versioned.WithCurrent()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []versioned.Version[worker]{state}, states)
	_, err = g.past.At(t.Context(), key, g.at)
	require.ErrorIs(t, err, entity.ErrNotFound, "the item does not record since when it has this state")
}

func TestTheVersionOfAnItemFromBeforeCountsFromZero(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	f := entity.Fields[worker]()
	key := g.before(t, "w-1", "ada@x.org")

	_, err := g.store.Update(t.Context(), key, entity.Set(&f.Name, "Bea"), versioned.Expect(1))
	var conflict *versioned.ConflictError
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, versioned.ConflictError{Expected: 1, Actual: 0}, *conflict)

	updated, err := g.store.Update(t.Context(), key, entity.Set(&f.Name, "Bea"), versioned.Expect(0))
	require.NoError(t, err)
	require.Equal(t, int64(1), updated.Version)
	require.True(t, updated.CreatedAt.IsZero(), "nobody knows when it was created")
	require.Equal(t, g.at, updated.UpdatedAt)
	require.Equal(t, []string{"$app#v1#worker", "$app#v1#worker#v#0000000"}, g.stored(t, "w-1"))

	_, err = g.store.Update(t.Context(), key, entity.Set(&f.Name, "Cleo"), versioned.Expect(0))
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, versioned.ConflictError{Expected: 0, Actual: 1}, *conflict)

	first, err := g.past.Get(t.Context(), key, 0)
	require.NoError(t, err)
	require.Equal(t, "Ada", first.Item.Name)
	reverted, err := g.past.Revert(t.Context(), key, 0)
	require.NoError(t, err)
	require.Equal(t, worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada", Version: 2, UpdatedAt: reverted.UpdatedAt}, reverted)
	require.True(t, reverted.UpdatedAt.After(updated.UpdatedAt))
	require.Equal(t, []int64{0, 1, 2}, versions(t, g, key))
}

// versions returns the numbers of all known states of a worker.
func versions(t *testing.T, g *generations, key worker) []int64 {
	t.Helper()
	states, err := g.past.List(key, versioned.WithCurrent()).Collect(t.Context())
	require.NoError(t, err)
	var numbers []int64
	for _, v := range states {
		numbers = append(numbers, v.Number)
	}
	return numbers
}

func TestPutAndUpsertGiveAnItemFromBeforeTheTimeOfItsCreation(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	g.before(t, "w-1", "")
	put, err := g.store.Put(t.Context(), worker{ID: "w-1", Team: "t-1", Name: "Bea"})
	require.NoError(t, err)
	require.Equal(t, worker{ID: "w-1", Team: "t-1", Name: "Bea", Version: 1, CreatedAt: g.at, UpdatedAt: g.at}, put)
	g.before(t, "w-2", "")
	upserted, created, err := g.store.Upsert(t.Context(), worker{ID: "w-2", Team: "t-2", Name: "Bea"}, versioned.Expect(0))
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, worker{ID: "w-2", Team: "t-2", Name: "Bea", Version: 1, CreatedAt: g.at, UpdatedAt: g.at}, upserted)
	require.Equal(t, []string{"$app#v1#worker", "$app#v1#worker#v#0000000"}, g.stored(t, "w-2"))
}

func TestAnItemFromBeforeIsDeletedAndRestored(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	key := g.before(t, "w-1", "ada@x.org")
	require.NoError(t, g.store.Delete(t.Context(), key, versioned.Expect(0)))
	copied, err := g.bin.Get(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, int64(1), copied.Item.Version)
	require.Equal(t, []int64{0, 1}, versions(t, g, key))

	restored, err := g.bin.Restore(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada", Version: 2, UpdatedAt: g.at}, restored)
	require.Equal(t, []int64{0, 1, 2}, versions(t, g, key))
	found, err := g.byEmail.Find(t.Context(), worker{Email: "ada@x.org"})
	require.NoError(t, err, "a restore claims the values of the item")
	require.Equal(t, restored, found)
	require.NoError(t, g.store.Purge(t.Context(), key))
	require.Empty(t, g.stored(t, "w-1"))
}

func TestAConstraintDoesNotBindItemsFromBefore(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	f := entity.Fields[worker]()
	key := g.before(t, "w-1", "ada@x.org")
	_, err := g.byEmail.Find(t.Context(), worker{Email: "ada@x.org"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	second, err := g.store.Create(t.Context(), worker{ID: "w-2", Team: "t-1", Email: "ada@x.org", Name: "Ada too"})
	require.NoError(t, err, "nobody has claimed the value")

	// A write of another field does not change the claim; a write of this field meets the owner.
	_, err = g.store.Update(t.Context(), key, entity.Set(&f.Name, "Bea"))
	require.NoError(t, err)
	_, err = g.store.Update(t.Context(), second, entity.Set(&f.Email, "ada@x.org"))
	require.NoError(t, err)
	_, err = g.store.Create(t.Context(), worker{ID: "w-3", Team: "t-1", Email: "ada@x.org", Name: "Ada again"})
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)

	// The item from before has nothing to give up, and cannot be restored while the value has an owner.
	require.NoError(t, g.store.Delete(t.Context(), key))
	_, err = g.bin.Restore(t.Context(), key)
	require.ErrorAs(t, err, &violation)
	require.Equal(t, unique.Owner{PK: "$app#v1#worker#w-2", SK: "$app#v1#worker"}, violation.Owner)
	found, err := g.byEmail.Find(t.Context(), worker{Email: "ada@x.org"})
	require.NoError(t, err)
	require.Equal(t, "w-2", found.ID)
}

// Repair applies the constraint to the items from before, except if two of them have the same value.
func TestRepairBindsItemsFromBefore(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	f := entity.Fields[worker]()
	g.before(t, "w-1", "ada@x.org")
	g.before(t, "w-2", "both@x.org")
	third := g.before(t, "w-3", "both@x.org")
	report, err := migrate.VerifyUnique(t.Context(), g.byEmail)
	require.NoError(t, err)
	require.Len(t, report.Findings, 2, "%s", report)

	done, err := migrate.RepairUnique(t.Context(), g.byEmail)
	require.NoError(t, err)
	require.Len(t, done.Fixed, 1)
	require.Equal(t, migrate.MissingClaim, done.Fixed[0].Kind)
	require.Len(t, done.Remaining, 1)
	require.Equal(t, migrate.Conflict, done.Remaining[0].Kind)
	found, err := g.byEmail.Find(t.Context(), worker{Email: "ada@x.org"})
	require.NoError(t, err)
	require.Equal(t, worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada"}, found, "the item itself is as it was")
	var violation *unique.ViolationError
	_, err = g.store.Create(t.Context(), worker{ID: "w-4", Team: "t-1", Email: "ada@x.org", Name: "Ada too"})
	require.ErrorAs(t, err, &violation)

	_, err = g.store.Update(t.Context(), third, entity.Set(&f.Email, "mine@x.org"), versioned.Expect(0))
	require.NoError(t, err)
	done, err = migrate.RepairUnique(t.Context(), g.byEmail)
	require.NoError(t, err)
	require.Empty(t, done.Remaining, "%s", done)
	report, err = migrate.VerifyUnique(t.Context(), g.byEmail)
	require.NoError(t, err)
	require.Empty(t, report.Findings, "%s", report)
	found, err = g.byEmail.Find(t.Context(), worker{Email: "both@x.org"})
	require.NoError(t, err)
	require.Equal(t, "w-2", found.ID)
}

// A changed ttl applies to what is written from then on.
func TestEvolution_AChangedTTLIsThatOfLaterWrites(t *testing.T) {
	t.Parallel()
	type brief struct {
		_ entity.Key       `name:"Doc" pk:"$#{id}" sk:"$"`
		_ versioned.Retain `ttl:"1d"`

		ID      string `dynamodbav:"id"`
		Text    string `dynamodbav:"text"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	type lasting struct {
		_ entity.Key `name:"Doc" pk:"$#{id}" sk:"$"`
		_ versioned.Retain

		ID      string `dynamodbav:"id"`
		Text    string `dynamodbav:"text"`
		Version int64  `dynamodbav:"version" entity:"version"`
	}
	g := newGenerations(t)
	first := entity.Must(entity.New[brief](g.open(t)))
	later := entity.Must(entity.New[lasting](g.open(t)))
	_, err := first.Create(t.Context(), brief{ID: "d-1", Text: "a"})
	require.NoError(t, err)
	b, l := entity.Fields[brief](), entity.Fields[lasting]()
	_, err = first.Update(t.Context(), brief{ID: "d-1"}, entity.Set(&b.Text, "b"))
	require.NoError(t, err)
	_, err = later.Update(t.Context(), lasting{ID: "d-1"}, entity.Set(&l.Text, "c"))
	require.NoError(t, err)
	text := dump(t, g.client, g.table, "pk", "sk")
	require.Equal(t, 1, strings.Count(text, "_ttl"), "the snapshot that was put under the first declaration, and no other")
	g.mu.Lock()
	g.at = g.at.Add(48 * time.Hour)
	g.mu.Unlock()
	past := entity.Must(versioned.Of(later))
	states, err := past.List(lasting{ID: "d-1"}).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 1)
	require.Equal(t, "b", states[0].Item.Text)
}

// A part that is added to a key template makes other keys: the items under the first ones are not found.
func TestEvolution_AChangedKeyTemplateLeavesItemsBehind(t *testing.T) {
	t.Parallel()
	type moved struct {
		_ entity.Key `name:"Worker" pk:"$#{team}#{id}" sk:"$"`

		ID   string `dynamodbav:"id"`
		Team string `dynamodbav:"team"`
		Name string `dynamodbav:"name"`
	}
	g := newGenerations(t)
	g.before(t, "w-1", "")
	store := entity.Must(entity.New[moved](g.open(t)))
	_, err := store.Get(t.Context(), moved{ID: "w-1", Team: "t-1"}, entity.Consistent())
	require.True(t, errors.Is(err, entity.ErrNotFound))
	items, err := store.Scan().Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, items, 1, "a scan still reads it: the entity has the same name")
}

// The next write that knows or reads the parts puts the keys of a later index on an item.
func TestEvolution_AnItemEntersALaterIndexWhenItIsWritten(t *testing.T) {
	t.Parallel()
	type unindexed struct {
		_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

		ID   string `dynamodbav:"id"`
		Team string `dynamodbav:"team"`
		Name string `dynamodbav:"name"`
	}
	g := newGenerations(t)
	first := entity.Must(entity.New[unindexed](g.open(t)))
	_, err := first.Create(t.Context(), unindexed{ID: "w-1", Team: "t-1", Name: "Ada"})
	require.NoError(t, err)
	byTeam, err := g.old.Index("byTeam")
	require.NoError(t, err)
	count := func() int {
		n, err := byTeam.Query(plainWorker{Team: "t-1"}).Count(t.Context())
		require.NoError(t, err)
		return n
	}
	require.Zero(t, count())
	f := entity.Fields[plainWorker]()
	_, err = g.old.Update(t.Context(), plainWorker{ID: "w-1"}, entity.Set(&f.Name, "Bea"))
	require.NoError(t, err)
	require.Zero(t, count(), "the update named no part of the index")
	_, err = g.old.Put(t.Context(), plainWorker{ID: "w-1", Team: "t-1", Name: "Bea"})
	require.NoError(t, err)
	require.Equal(t, 1, count())
}

// What a feature has stored is not read while its declaration is gone, and counts again when it is back.
func TestEvolution_ADroppedFeatureLeavesWhatItStored(t *testing.T) {
	t.Parallel()
	g := newGenerations(t)
	f, o := entity.Fields[worker](), entity.Fields[plainWorker]()
	key := worker{ID: "w-1"}
	_, err := g.store.Create(t.Context(), worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada"})
	require.NoError(t, err)
	_, err = g.store.Update(t.Context(), key, entity.Set(&f.Name, "Bea"))
	require.NoError(t, err)
	require.NoError(t, g.store.Delete(t.Context(), key))
	_, err = g.bin.Restore(t.Context(), key)
	require.NoError(t, err)

	// Without the features: one item, whose version stands still.
	all, err := g.old.Query(plainWorker{ID: "w-1"}, entity.Consistent()).Collect(t.Context())
	require.NoError(t, err)
	require.Equal(t, []plainWorker{{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Bea"}}, all)
	_, err = g.old.Update(t.Context(), plainWorker{ID: "w-1"}, entity.Set(&o.Name, "Cleo"))
	require.NoError(t, err)

	// With them again: the state is kept under the version that it has.
	updated, err := g.store.Update(t.Context(), key, entity.Set(&f.Name, "Dora"), versioned.Expect(4))
	require.NoError(t, err)
	require.Equal(t, int64(5), updated.Version)
	state, err := g.past.Get(t.Context(), key, 4)
	require.NoError(t, err)
	require.Equal(t, "Cleo", state.Item.Name)

	// A delete without them is for good, and leaves history and sentinel behind.
	require.NoError(t, g.old.Delete(t.Context(), plainWorker{ID: "w-1"}))
	_, err = g.bin.Get(t.Context(), key)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, []int64{1, 2, 3, 4}, versions(t, g, key))
	_, err = g.store.Create(t.Context(), worker{ID: "w-2", Team: "t-1", Email: "ada@x.org", Name: "Ada too"})
	var violation *unique.ViolationError
	require.ErrorAs(t, err, &violation)
	again, err := g.store.Create(t.Context(), worker{ID: "w-1", Team: "t-1", Email: "ada@x.org", Name: "Ada"})
	require.NoError(t, err, "the sentinel names this very item")
	require.Equal(t, int64(5), again.Version)

	// A purge without them reaches what is stored with the item, and no sentinel.
	require.NoError(t, g.old.Purge(t.Context(), plainWorker{ID: "w-1"}))
	require.Empty(t, g.stored(t, "w-1"))
	_, err = g.store.Create(t.Context(), worker{ID: "w-2", Team: "t-1", Email: "ada@x.org", Name: "Ada too"})
	require.ErrorAs(t, err, &violation)
}

// The policy applies to deletes from then on, in both directions.
func TestEvolution_AChangedPolicyCountsForLaterDeletes(t *testing.T) {
	t.Parallel()
	type free struct {
		_ entity.Key           `name:"Seat" pk:"$#{id}" sk:"$"`
		_ lifecycle.SoftDelete `unique:"free"`
		_ unique.Constraint    `name:"place" fields:"place"`

		ID    string `dynamodbav:"id"`
		Place string `dynamodbav:"place"`
	}
	type reserve struct {
		_ entity.Key           `name:"Seat" pk:"$#{id}" sk:"$"`
		_ lifecycle.SoftDelete `unique:"reserve"`
		_ unique.Constraint    `name:"place" fields:"place"`

		ID    string `dynamodbav:"id"`
		Place string `dynamodbav:"place"`
	}
	g := newGenerations(t)
	freeing := entity.Must(entity.New[free](g.open(t)))
	reserving := entity.Must(entity.New[reserve](g.open(t)))
	bin := entity.Must(lifecycle.Of(reserving))
	var violation *unique.ViolationError

	_, err := freeing.Create(t.Context(), free{ID: "a", Place: "1A"})
	require.NoError(t, err)
	require.NoError(t, freeing.Delete(t.Context(), free{ID: "a"}))
	_, err = reserving.Create(t.Context(), reserve{ID: "b", Place: "1A"})
	require.NoError(t, err, "what was deleted under free is free")
	_, err = bin.Restore(t.Context(), reserve{ID: "a"})
	require.ErrorAs(t, err, &violation)

	require.NoError(t, reserving.Delete(t.Context(), reserve{ID: "b"}))
	_, err = freeing.Create(t.Context(), free{ID: "c", Place: "1A"})
	require.ErrorAs(t, err, &violation, "what was deleted under reserve is reserved")
	require.NoError(t, freeing.Purge(t.Context(), free{ID: "b"}))
	_, err = freeing.Create(t.Context(), free{ID: "c", Place: "1A"})
	require.NoError(t, err)
}

// An old item without a required field is changed elsewhere; one without an immutable field takes the first value.
func TestEvolution_RolesThatComeLaterBindWhatIsWritten(t *testing.T) {
	t.Parallel()
	type strict struct {
		_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

		ID    string `dynamodbav:"id"`
		Name  string `dynamodbav:"name"`
		Badge string `dynamodbav:"badge,omitempty" entity:"required"`
		Site  string `dynamodbav:"site,omitempty" entity:"immutable"`
	}
	g := newGenerations(t)
	g.before(t, "w-1", "")
	store := entity.Must(entity.New[strict](g.open(t)))
	f, key := entity.Fields[strict](), strict{ID: "w-1"}
	_, err := store.Update(t.Context(), key, entity.Set(&f.Name, "Bea"))
	require.NoError(t, err)
	_, err = store.Put(t.Context(), strict{ID: "w-1", Name: "Bea"})
	var input *entity.InputError
	require.ErrorAs(t, err, &input)
	require.Equal(t, "EDD-9103", input.Code)
	put, err := store.Put(t.Context(), strict{ID: "w-1", Name: "Bea", Badge: "7", Site: "north"})
	require.NoError(t, err)
	require.Equal(t, "north", put.Site)
	_, err = store.Put(t.Context(), strict{ID: "w-1", Name: "Bea", Badge: "7", Site: "south"})
	require.ErrorIs(t, err, entity.ErrConditionFailed)
}
