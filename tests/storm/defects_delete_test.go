package storm_test

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

func TestADeleteKeepsToItsCondition(t *testing.T) {
	t.Parallel()
	t.Run("plain", func(t *testing.T) { t.Parallel(); deleteIf(t, asPlain) })
	t.Run("locked", func(t *testing.T) { t.Parallel(); deleteIf(t, asLocked) })
	t.Run("kept", func(t *testing.T) { t.Parallel(); deleteIf(t, asKept) })
	t.Run("bin", func(t *testing.T) { t.Parallel(); deleteIf(t, asBin) })
	t.Run("retained", func(t *testing.T) { t.Parallel(); deleteIf(t, asFree) })
	t.Run("reserved", func(t *testing.T) { t.Parallel(); deleteIf(t, asReserve) })
}

func deleteIf[T any](t *testing.T, k kind[T]) {
	w := open(t, k)
	w.add("a", "a@x", "1")
	before := w.of("a")
	holds := entity.If(entity.Eq(&w.f.Name, "1"))
	require.ErrorIs(t, w.Delete(w.Ctx, w.key("a"), entity.If(entity.Eq(&w.f.Name, "2"))), entity.ErrConditionFailed)
	require.Equal(t, before, w.of("a"))
	// The condition held when the item was read, and does not when it is deleted.
	require.ErrorIs(t, w.overtake(func() error { return w.Delete(w.Ctx, w.key("a"), holds) }, func() { w.update("a", w.name("2")) }), entity.ErrConditionFailed)
	_, there := w.current("a")
	require.True(t, there)
	w.update("a", w.name("1"))
	require.NoError(t, w.Delete(w.Ctx, w.key("a"), holds))
	_, there = w.current("a")
	require.False(t, there)
	w.sound()
}

func TestRestoreLeavesALiveItemAndItsEmailAlone(t *testing.T) {
	t.Parallel()
	t.Run("race", func(t *testing.T) { t.Parallel(); restoreMeetsRestore(t, asFree) })
	w := open(t, asBin)
	w.add("a", "old@x", "old")
	w.remove("a")
	w.add("a", "new@x", "new")
	before := w.of("a")
	_, err := w.bin.Restore(w.Ctx, w.key("a"))
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.ErrorIs(t, err, entity.ErrExists)
	require.Equal(t, before, w.of("a"))
	w.remove("a")
	_, err = w.bin.RestoreCopy(w.Ctx, w.copies("a")[1])
	require.NoError(t, err)
	got, _ := w.current("a")
	require.Equal(t, "old", got.Name)
	require.Len(t, w.copies("a"), 1)
	w.sound()
}

// Archived keeps its history for ever and its deleted copies for a month.
type Archived struct {
	_ entity.Key `name:"Archived" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

var asArchived = kind[Archived]{traits{retain: true, soft: true}, func(v *Archived) *Person { return &v.Person }, func(v Archived) int64 { return v.Version }}

func TestTheExpiryOfACopyNeverReachesTheHistory(t *testing.T) {
	t.Parallel()
	w := open(t, asArchived)
	w.add("a", "a@x", "1")
	w.remove("a")
	require.NotContains(t, w.sound().beings[address{w.pk("a"), w.sk()}].snapshots[2], "_ttl")
	w.done(w.bin.Restore(w.Ctx, w.key("a")))
	w.update("a", w.name("4"))
	b := w.sound().beings[address{w.pk("a"), w.sk()}]
	require.Len(t, b.snapshots, 3)
	for n, s := range b.snapshots {
		require.NotContains(t, s, "_ttl", "snapshot %d", n)
		require.Equal(t, n == 2, text(s, "deletedAt") != "", "snapshot %d", n)
	}

	r := open(t, asReserve) // a history that expires, by its own time
	r.add("a", "a@x", "1")
	r.remove("a")
	r.done(r.bin.Restore(r.Ctx, r.key("a")))
	r.update("a", r.name("4"))
	quarter := int64(90 * 24 * time.Hour / time.Second)
	for n, s := range r.sound().beings[address{r.pk("a"), r.sk()}].snapshots {
		require.InDelta(t, r.Clock.Now().Unix()+quarter, number(s, "_ttl"), 5, "snapshot %d", n)
	}
}

func TestDeletesLoseNothingAndFreeOnlyTheirOwn(t *testing.T) {
	t.Parallel()
	t.Run("soft, update", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asFree) })
	t.Run("hard, update", func(t *testing.T) { t.Parallel(); deleteMeetsUpdate(t, asPlain) })
	t.Run("two deletes", func(t *testing.T) { t.Parallel(); deleteMeetsDelete(t, asBin) })
	t.Run("soft, stolen", func(t *testing.T) { t.Parallel(); deleteMeetsHeir(t, asFree) })
	t.Run("hard, stolen", func(t *testing.T) { t.Parallel(); deleteMeetsHeir(t, asPlain) })
}

func TestPurgeTakesWhatIsTheItemsAndNothingElse(t *testing.T) {
	t.Parallel()
	t.Run("siblings", func(t *testing.T) {
		t.Parallel()
		w := open(t, asShelf)
		full := func(id string) {
			_, err := w.look.Create(w.Ctx, w.make(Person{Root: "r", ID: id, Email: id + "@x"}))
			require.NoError(t, err)
			_, err = w.look.Update(w.Ctx, w.make(Person{Root: "r", ID: id}), w.name("2"))
			require.NoError(t, err)
		}
		for _, id := range []string{"ab", "a!", "b"} {
			full(id)
		}
		stays := w.Items()
		full("a")
		require.NoError(t, w.Purge(w.Ctx, w.make(Person{Root: "r", ID: "a"})))
		require.ElementsMatch(t, stays, w.Items())
	})
	t.Run("values of every copy, and no others", func(t *testing.T) {
		t.Parallel()
		w := open(t, asBin)
		for i := range 3 {
			w.add("a", fmt.Sprintf("%d@x", i), "life")
			w.remove("a")
		}
		w.add("heir", "1@x", "has the value of a copy")
		w.add("a", "3@x", "live")
		require.NoError(t, w.Purge(w.Ctx, w.key("a")))
		d := w.sound()
		require.Len(t, d.sentinels, 1)
		require.Len(t, d.beings, 1)
	})
	t.Run("an expired reserved copy", func(t *testing.T) {
		t.Parallel()
		w := open(t, asReserve)
		w.add("a", "a@x", "1")
		w.remove("a")
		w.Clock.Move(31 * 24 * time.Hour)
		w.told = nil
		require.NoError(t, w.Purge(w.Ctx, w.key("a")))
		require.Empty(t, w.Items())
	})
	t.Run("more than a page", func(t *testing.T) {
		t.Parallel()
		w := open(t, asKept)
		w.add("a", "a@x", "1")
		for i := range 6 {
			w.update("a", w.name(fmt.Sprint(i)+strings.Repeat("x", 300_000)))
		}
		w.told = nil
		require.NoError(t, w.Purge(w.Ctx, w.key("a")))
		require.Empty(t, w.Items())
	})
}

func TestConflictsAreRetriedAndReadsAreConsistent(t *testing.T) {
	t.Parallel()
	t.Run("loser", func(t *testing.T) { t.Parallel(); emailMeetsName(t, asFree) })
	w := open(t, asFree, dbtest.Attempts(4))
	w.add("a", "a@x", "1")
	for _, fault := range []faults.Fault{faults.Conflict, faults.Throttle, faults.Lost} {
		w.Wire.Inject(faults.Nth(1, fault, "TransactWriteItems"))
		v, err := w.Update(w.Ctx, w.key("a"), w.name(fault.String()))
		w.done(v, err)
		w.sound()
	}
	w.Wire.Inject(func(r faults.Request) faults.Fault {
		if isWrite(r) {
			return faults.Conflict
		}
		return faults.None
	})
	_, err := w.Update(w.Ctx, w.key("a"), w.name("never"))
	require.ErrorIs(t, err, entity.ErrConflict)
	require.False(t, entity.IsAmbiguous(err))
	w.Wire.Inject(nil)

	w.Wire.Reset()
	_, err = w.Update(w.Ctx, w.key("a"), w.email("b@x"))
	require.NoError(t, err)
	require.NoError(t, w.Delete(w.Ctx, w.key("a")))
	_, err = w.bin.Restore(w.Ctx, w.key("a"))
	require.NoError(t, err)
	_, err = w.past.Revert(w.Ctx, w.key("a"), 1)
	require.NoError(t, err)
	_, err = w.past.Get(w.Ctx, w.key("a"), 1)
	require.NoError(t, err)
	_, err = w.Create(w.Ctx, w.make(Person{ID: "b"}))
	require.NoError(t, err)
	require.NoError(t, w.Purge(w.Ctx, w.key("a")))
	reads := 0
	for _, r := range w.Wire.Requests() {
		if isWrite(r) {
			continue
		}
		var in struct{ ConsistentRead bool }
		require.NoError(t, json.Unmarshal(r.Body, &in))
		require.True(t, in.ConsistentRead, "%s", r.Body)
		reads++
	}
	require.Greater(t, reads, 8)
}

// The caller's own token makes a repetition by another process harmless.
func TestATransactionUnderTheCallersTokenIsAppliedOnce(t *testing.T) {
	t.Parallel()
	w := open(t, asPlain)
	token := entity.Token{ID: rand.Text(), At: w.Clock.Now()}
	for range 2 {
		require.NoError(t, w.db.TransactWithToken(w.Ctx, token, w.Op().Create(w.make(Person{ID: "a", Email: "a@x"}))))
	}
	w.sound()
}
