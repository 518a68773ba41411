package conformance_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// A new life begins above the highest version of the earlier ones. What is read for that can be outdated when it is
// used.
func TestRace_TwoCreatesAfterADeleteGiveNoVersionTwice(t *testing.T) {
	w := open[Kept](t)
	w.add("a", "a@x", "1")
	w.remove("a")
	create := func() (Kept, error) { return w.store.Create(w.Ctx, w.make(Rival{ID: "a", Email: "a@x", Name: "slow"})) }

	require.ErrorIs(t, w.overtake(w.saving(create), func() { w.add("a", "b@x", "fast") }), entity.ErrExists)
	w.sound()

	w.remove("a")
	require.NoError(t, w.overtake(w.saving(create), func() { // a whole life goes by in between
		w.add("a", "b@x", "fast")
		w.update("a", w.name("faster"))
		w.remove("a")
	}))
	d := w.sound()
	b := d.beings[address{"$app#v1#kept#a", "$app#v1#kept"}]
	require.Equal(t, int64(8), number(b.current, "version"))
	require.Len(t, b.snapshots, 8)
}

func TestRace_CreateMeetsCreate(t *testing.T) {
	t.Parallel()
	in[Plain](t, createMeetsCreate)
	in[Free](t, createMeetsCreate)
	in[Reserve](t, createMeetsCreate)
}

func createMeetsCreate[T any](t *testing.T, w *world[T]) {
	err := w.overtake(w.creating(Rival{ID: "a", Email: "slow@x", Name: "slow"}), func() { w.add("a", "fast@x", "fast") })
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "fast", got.Name)
	require.Len(t, w.sound().sentinels, 1)
}

// The item was live, in the first state of its life, when the create read its history; it is deleted before the create
// writes. The state after the delete has the version that the create wanted to give, and only the copy holds it.
func TestRace_CreateMeetsTheDeleteOfANewItem(t *testing.T) {
	t.Parallel()
	t.Run("Free", createMeetsDelete[Free])
	t.Run("Leased", createMeetsDelete[Leased])
	t.Run("Reserve", createMeetsDelete[Reserve])
}

func createMeetsDelete[T any](t *testing.T) {
	w := open[T](t)
	for name, write := range map[string]func(*world[T], T) error{
		"create": func(w *world[T], v T) error { _, err := w.store.Create(w.Ctx, v); return err },
		"put":    func(w *world[T], v T) error { _, err := w.store.Put(w.Ctx, v); return err },
		"upsert": func(w *world[T], v T) error { _, _, err := w.store.Upsert(w.Ctx, v); return err },
	} {
		for n := 1; n <= 4; n++ { // before each of its requests
			id := fmt.Sprint(name, n)
			if name == "create" {
				w.add(id, id+"@x", "1")
			}
			requests := 0
			arrived, release := w.Wire.Hold(func(faults.Request) bool { requests++; return requests == n })
			done := make(chan error, 1)
			go func() { done <- write(w, w.make(Rival{ID: id, Email: id + "@new"})) }()
			select {
			case <-arrived:
				if name == "create" {
					w.remove(id)
				} else {
					w.add(id, id+"@x", "1") // it has read no item
				}
				release()
			case err := <-done:
				done <- err
			}
			err := <-done
			release()
			if name == "create" {
				require.ErrorIs(t, err, entity.ErrExists)
			} else {
				require.NoError(t, err)
				w.written = nil
			}
			w.sound()
		}
	}
}

// What time to live has taken away does not stand in the way of a new life.
func TestCreate_AfterTheCopyExpiredBeginsAboveTheHistory(t *testing.T) {
	for name, gone := range map[string]func(item) bool{
		"the copy":             func(it item) bool { return text(it, "_k") == "d" },
		"all but one snapshot": func(it item) bool { return text(it, "_k") == "d" || text(it, "sk") == "$app#v1#reserve#v#0000002" },
	} {
		w := open[Reserve](t)
		w.add("a", "a@x", "1")
		w.remove("a")
		for _, it := range w.Items() {
			if gone(it) {
				w.RemoveItem(it)
			}
		}
		v, err := w.store.Create(w.Ctx, w.make(Rival{ID: "a", Email: "new@x"}))
		require.NoError(t, err, name)
		require.Equal(t, map[string]int64{"the copy": 3, "all but one snapshot": 2}[name], v.Version)
	}
}

func TestRace_UpdateOfTheEmailKeepsWhatAnotherUpdateWrote(t *testing.T) {
	t.Parallel()
	in[Plain](t, emailMeetsName)
	in[Locked](t, emailMeetsName)
	in[Free](t, emailMeetsName)
	in[Reserve](t, emailMeetsName)
}

func emailMeetsName[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	require.NoError(t, w.overtake(w.updating("a", w.email("new@x")), func() { w.update("a", w.name("2")) }))
	got, _ := w.current("a")
	require.Equal(t, []string{"new@x", "2"}, []string{got.Email, got.Name})
	w.sound()
}

// A touch writes the item without a version of its own, wherever it comes in between.
func TestRace_TouchBetweenUpdatesKeepsTheHistoryWhole(t *testing.T) {
	w := open[Free](t)
	touch := func() { require.True(t, entity.Must(w.look.store.Touch(w.Ctx, w.key("a"), &w.f.Seen, 0))) }
	w.add("a", "a@x", "1")
	touch() // between create and update: snapshot 1 was put by another write than the item
	w.update("a", w.name("2"))
	w.sound()
	require.NoError(t, w.overtake(w.updating("a", w.email("b@x")), touch))
	w.sound()
	require.NoError(t, w.overtake(w.deleting("a"), touch))
	w.sound()
	v, err := w.look.bin.Restore(w.Ctx, w.key("a"))
	w.done(v, err)
	touch()
	w.update("a", w.name("5"))
	d := w.sound()
	require.Equal(t, "b@x", text(d.beings[address{"$app#v1#free#a", "$app#v1#free"}].current, "email"))
}

// The value was claimed for an hour; later another item has it. The item cannot give up what is not its own.
func TestRace_StolenEmailIsNotGivenUpByUpdate(t *testing.T) {
	w := open[Leased](t)
	w.add("a", "old@x", "1")
	require.NoError(t, w.overtake(w.updating("a", w.email("new@x")), func() { w.Clock.Move(2 * time.Hour); w.add("thief", "old@x", "t") }))
	d := w.sound()
	require.Len(t, d.sentinels, 2)
	require.Equal(t, "$app#v1#leased#thief", text(d.sentinels[address{"$app#v1#leased.email#old@x", "$app#v1#leased.email"}], "_entity_pk"))
}

// The other way round: the value that an update wants is taken just before.
func TestRace_TakenEmailIsRefusedAndNothingChanges(t *testing.T) {
	t.Parallel()
	in[Plain](t, emailIsTaken)
	in[Locked](t, emailIsTaken)
	in[Free](t, emailIsTaken)
	in[Reserve](t, emailIsTaken)
}

func emailIsTaken[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	for _, write := range []func() error{
		w.updating("a", w.email("wanted@x")),
		func() error {
			return dbtest.ErrorOf(w.store.Put(w.Ctx, w.make(Rival{ID: "a", Email: "wanted@x"}), over[T]()...))
		},
		func() error { return dbtest.ErrorOf(w.store.Upsert(w.Ctx, w.make(Rival{ID: "a", Email: "wanted@x"}))) },
		w.creating(Rival{ID: "new", Email: "wanted@x"}),
	} {
		w.update("a", w.email("a@x"))
		v, _, err := w.look.store.Upsert(w.Ctx, w.make(Rival{ID: "thief", Email: "thief@x"}))
		w.done(v, err)
		err = w.overtake(write, func() { w.update("thief", w.email("wanted@x")) })
		taken := dbtest.As[*unique.ViolationError](t, err)
		require.Equal(t, "email", taken.Constraint)
		require.Contains(t, taken.Owner.PK, "#thief")
		got, _ := w.current("a")
		require.Equal(t, "a@x", got.Email)
		_, there := w.current("new")
		require.False(t, there)
		w.sound()
	}
}

func TestRace_DeleteKeepsWhatAnUpdateWrote(t *testing.T) {
	t.Parallel()
	in[Bin](t, deleteMeetsUpdate)
	in[Free](t, deleteMeetsUpdate)
	in[Reserve](t, deleteMeetsUpdate)
	in[Kept](t, deleteMeetsUpdate)
	in[Plain](t, deleteMeetsUpdate)
	in[Locked](t, deleteMeetsUpdate)
}

func deleteMeetsUpdate[T any](t *testing.T, w *world[T]) {
	w.add("a", "old@x", "1")
	require.NoError(t, w.overtake(w.deleting("a"), func() { w.update("a", w.email("new@x"), w.name("2")) }))
	_, there := w.current("a")
	require.False(t, there)
	d := w.sound()
	if w.soft {
		copies := w.copies("a")
		require.Len(t, copies, 1)
		p := *w.at(&copies[0].Item)
		require.Equal(t, []string{"new@x", "2"}, []string{p.Email, p.Name}, "the update is in the copy")
	}
	if w.reserve {
		require.Len(t, d.sentinels, 1)
	} else {
		require.Empty(t, d.sentinels)
	}
	w.add("b", "old@x", "free again")
	w.sound()
}

// The claim had an end and another item has the value, while the item still holds it.
func TestRace_StolenEmailIsNotGivenUpByDelete(t *testing.T) {
	t.Parallel()
	in[Leased](t, deleteMeetsThief)
	in[LeasedReserve](t, deleteMeetsThief)
}

func deleteMeetsThief[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	require.NoError(t, w.overtake(w.deleting("a"), func() { w.Clock.Move(2 * time.Hour); w.add("thief", "a@x", "t") }))
	d := w.sound()
	require.Len(t, d.sentinels, 1)
	for _, s := range d.sentinels {
		require.Contains(t, text(s, "_entity_pk"), "#thief")
	}
	require.Len(t, w.copies("a"), 1)
}

// The item gets its address back after a write found that another item has it. The write must give it up now.
func TestRace_StolenEmailThatComesBackIsGivenUp(t *testing.T) {
	t.Parallel()
	in[Leased](t, writesMeetAReturnedEmail)
	in[LeasedReserve](t, writesMeetAReturnedEmail)
}

func writesMeetAReturnedEmail[T any](t *testing.T, w *world[T]) {
	for id, c := range map[string]struct {
		write func() error
		kept  bool // the address stays with the item
	}{"u": {w.updating("u", w.email("new@x")), false}, "d": {w.deleting("d"), w.reserve}} {
		old := id + "@x"
		w.add(id, old, "1")
		w.Clock.Move(2 * time.Hour)
		w.add("thief"+id, old, "t")
		writes := 0
		afterRefusal := func(r faults.Request) bool {
			if isWrite(r) {
				writes++
			}
			return writes == 1 && !isWrite(r)
		}
		require.NoError(t, w.Overtake(dbtest.First(afterRefusal), c.write, func() {
			w.update("thief"+id, w.email("thief"+old))
			w.update(id, w.email("between@x"))
			w.update(id, w.email(old))
		}))
		w.sound()
		_, err := w.look.store.Create(w.Ctx, w.make(Rival{ID: id + "heir", Email: old}))
		if c.kept {
			taken := dbtest.As[*unique.ViolationError](t, err)
			require.Equal(t, w.pk(id), taken.Owner.PK)
		} else {
			require.NoError(t, err)
		}
	}
}

func TestRace_RestoreNeverOverwritesALiveItem(t *testing.T) {
	w := open[Bin](t)
	w.add("a", "old@x", "old")
	w.remove("a")
	err := w.overtake(w.restoring("a"), func() { w.add("a", "new@x", "new") })
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.ErrorIs(t, err, entity.ErrExists)
	got, _ := w.current("a")
	require.Equal(t, "new", got.Name)
	require.Len(t, w.copies("a"), 1, "the copy is still there")
	w.sound()
}

func TestRace_TwoRestoresMakeOneItem(t *testing.T) {
	t.Parallel()
	in[Bin](t, restoreMeetsRestore)
	in[Free](t, restoreMeetsRestore)
	in[Reserve](t, restoreMeetsRestore)
}

func restoreMeetsRestore[T any](t *testing.T, w *world[T]) {
	w.add("a", "a@x", "1")
	for name, restore := range map[string]func() error{
		"newest": w.restoring("a"),
		"chosen": func() error {
			c := entity.Must(w.look.bin.Get(w.Ctx, w.key("a")))
			return dbtest.ErrorOf(w.bin.RestoreCopy(w.Ctx, c))
		},
	} {
		w.remove("a")
		err := w.overtake(restore, func() {
			w.done(w.look.bin.Restore(w.Ctx, w.key("a")))
			w.update("a", w.name("after "+name), w.email(name+"@x"))
		})
		require.ErrorIs(t, err, entity.ErrNotDeleted)
		got, _ := w.current("a")
		require.Equal(t, "after "+name, got.Name, "what was written after the other restore is still there")
		require.ErrorIs(t, dbtest.ErrorOf(w.look.bin.Get(w.Ctx, w.key("a"))), entity.ErrNotFound)
		require.Len(t, w.sound().sentinels, 1)
	}
}

// The write that overtakes a purge came after it was asked for: either the purge removes it too, or it begins a new life
// of which nothing is missing.
func TestRace_PurgeRemovesWhatIsWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	in[Bin](t, purgeMeets)
	in[Free](t, purgeMeets)
	in[Reserve](t, purgeMeets)
	in[Leased](t, purgeMeets)
}

func purgeMeets[T any](t *testing.T, w *world[T]) {
	w.add("other", "other@x", "stays")
	stays, kept := len(w.Items()), w.written
	live := func() { w.add("a", "a@x", "1") }
	deleted := func() { live(); w.remove("a") }
	restore := func() { w.done(w.look.bin.Restore(w.Ctx, w.key("a"))) }
	for name, race := range map[string]struct {
		before, meanwhile func()
	}{
		"update":             {live, func() { w.update("a", w.name("2"), w.email("b@x")) }},
		"delete":             {live, func() { w.remove("a") }},
		"restore":            {deleted, restore},
		"restore and update": {deleted, func() { restore(); w.update("a", w.email("b@x")) }},
		"purge":              {live, func() { require.NoError(t, w.look.store.Purge(w.Ctx, w.key("a"))) }},
		"purge and create":   {func() { w.add("a", "a@x", "1"); w.update("a", w.name("2")) }, func() { require.NoError(t, w.look.store.Purge(w.Ctx, w.key("a"))); w.add("a", "b@x", "3") }},
	} {
		race.before()
		require.NoError(t, w.overtake(w.purging("a"), race.meanwhile), name)
		w.written = kept
		w.sound()
		require.Len(t, w.Items(), stays, "%s: nothing of the item is left, and nothing else is missing", name)
	}
}

// A create between the removal of the item and that of its snapshots: the purge goes on until there is no item.
func TestRace_PurgeMeetsACreateBeforeTheSnapshotsAreGone(t *testing.T) {
	w := open[Free](t)
	w.add("a", "a@x", "1")
	w.update("a", w.name("2"))
	w.written = nil
	snapshot := func(r faults.Request) bool { return r.Operation == "DeleteItem" }
	require.NoError(t, w.Overtake(dbtest.First(snapshot), w.purging("a"), func() {
		require.NoError(t, dbtest.ErrorOf(w.look.store.Create(w.Ctx, w.make(Rival{ID: "a", Email: "new@x"}))))
	}))
	w.sound()
	require.Empty(t, w.Items())
}

// The address of the item, or of its copy, belongs to another item by the time of the purge.
func TestRace_StolenEmailIsNotFreedByPurge(t *testing.T) {
	w := open[Leased](t)
	w.add("a", "a@x", "1")
	w.written = nil
	require.NoError(t, w.overtake(w.purging("a"), func() { w.Clock.Move(2 * time.Hour); w.add("thief", "a@x", "t") }))
	d := w.sound()
	require.Len(t, d.beings, 1)
	require.Len(t, d.sentinels, 1)

	free := open[Bin](t)
	free.add("a", "a@x", "1")
	free.remove("a")
	free.add("heir", "a@x", "2")
	require.NoError(t, free.store.Purge(t.Context(), free.key("a")))
	require.Len(t, free.sound().sentinels, 1)
}

// A whole life went by since the snapshot was read: another one has its key. Stopped then, the purge has removed only what
// it had read.
func TestRace_PurgeLeavesTheSnapshotOfALaterLife(t *testing.T) {
	w := open[Kept](t, dbtest.Attempts(1))
	w.add("a", "a@x", "1")
	snapshot := func(r faults.Request) bool { return r.Operation == "DeleteItem" }
	require.ErrorIs(t, w.Overtake(dbtest.First(snapshot), w.purging("a"), func() {
		require.NoError(t, w.look.store.Purge(w.Ctx, w.key("a")))
		w.written = nil
		w.add("a", "b@x", "2")
	}), entity.ErrConflict)
	d := w.sound()
	require.Len(t, d.beings[address{w.pk("a"), w.sk()}].snapshots, 1)
	got := entity.Must(w.look.past.Get(w.Ctx, w.key("a"), 1))
	require.Equal(t, "b@x", got.Item.Email)
}

// crowded is an item with more deleted copies than one transaction can remove, all with the address of its first life, but
// for the oldest of them, which have that of a life before.
func crowded(t *testing.T) *world[Bin] {
	w := open[Bin](t, dbtest.Attempts(1))
	w.add("a", "a@x", "1")
	w.remove("a")
	var pattern item
	for _, it := range w.Items() {
		if text(it, "_k") == "d" {
			pattern = it
		}
	}
	require.NotNil(t, pattern)
	var puts []types.WriteRequest
	for i := range 105 {
		it := maps.Clone(pattern)
		at := time.Date(2100, 1, 1, 0, i, 0, 0, time.UTC).Format(fixed)
		it["deletedAt"] = dbtest.S(at)
		it["sk"] = dbtest.S("$app#v1#bin#deleted#" + at)
		it["_w"] = dbtest.S(fmt.Sprint("w", i))
		if i < 10 {
			it["email"] = dbtest.S("old@x")
		}
		puts = append(puts, types.WriteRequest{PutRequest: &types.PutRequest{Item: it}})
	}
	for batch := range slices.Chunk(puts, 25) {
		w.OK(w.Raw.BatchWriteItem(w.Ctx, &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{w.Table: batch}}))
	}
	w.sound()
	return w
}

// A life that begins before the first of those transactions has a value of the copies which that one removes.
func TestPurge_OfManyCopiesTakesNoValueOfALifeThatBeganMeanwhile(t *testing.T) {
	w := crowded(t)
	require.ErrorIs(t, w.overtake(w.purging("a"), func() { w.add("a", "old@x", "2") }), entity.ErrConflict)
	require.Len(t, w.sound().sentinels, 1)
	_, there := w.current("a")
	require.True(t, there)
}
