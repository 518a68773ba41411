package format_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// member has related items of every kind, and no time of its own.
type member struct {
	_ entity.Key `name:"Member" pk:"$#id_{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`

	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email,omitempty"`
	Name    string `dynamodbav:"name,omitempty"`
	Team    string `dynamodbav:"team,omitempty"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// rivals are two programs that share a table: the requests of the first can be held.
type rivals[T any] struct {
	*replay
	first, second       *entity.Store[T]
	firstBin, secondBin *lifecycle.Deleted[T]
}

func newRivals[T any](t *testing.T) *rivals[T] {
	t.Helper()
	dbtest.Parallel(t)
	w := &rivals[T]{replay: &replay{Bench: dbtest.Open(t, sharedTable("shop", 1))}}
	declare := func(db *entity.DB) (*entity.Store[T], *lifecycle.Deleted[T]) {
		s := dbtest.Declare[T](t, db)
		return s, entity.Must(lifecycle.Of(s))
	}
	w.first, w.firstBin = declare(w.DB)
	w.second, w.secondBin = declare(w.Open(w.Raw))
	w.create(t)
	return w
}

// overtake runs late, holds its first transaction until early is done, and returns what late returns.
func (w *rivals[T]) overtake(late func() error, early func()) error {
	w.T.Helper()
	return w.Overtake(dbtest.Is("TransactWriteItems"), late, early)
}

// unmarked demands that no item has an attribute which effect-dynamodb does not know.
func (w *rivals[T]) unmarked(t *testing.T) {
	t.Helper()
	for _, it := range w.dump(t) {
		for _, hidden := range []string{"_w", "_k", "_at", "_pv", "_op"} {
			require.NotContains(t, it, hidden, it.text("sk"))
		}
	}
}

// states are the numbers of the history, and which are deleted states.
func (w *rivals[T]) states(t *testing.T, key T) string {
	t.Helper()
	return states(t, w.replay, entity.Must(versioned.Of(w.second)), key)
}

func born(t *testing.T) *rivals[member] {
	t.Helper()
	w := newRivals[member](t)
	require.NoError(t, dbtest.ErrorOf(w.second.Create(w.Ctx, member{ID: "m", Email: "A@x", Name: "a"})))
	return w
}

func TestRace_TwoUpdatesOfAnItemWithAHistoryBothCount(t *testing.T) {
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error {
		_, err := w.first.Update(w.Ctx, key, entity.Set(&f.Name, "b"))
		return err
	}, func() { require.NoError(t, dbtest.ErrorOf(w.second.Update(w.Ctx, key, entity.Set(&f.Team, "t")))) })
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "A@x", Name: "b", Team: "t", Version: 3}, entity.Must(w.second.Get(w.Ctx, key)))
	require.Equal(t, "1 2 3", w.states(t, key))
	w.unmarked(t)
}

// effect-dynamodb's put gives the item version 1 again, which it had when the update was planned.
func TestRace_AnEqualVersionOfAnotherLifeIsNotTheItemRead(t *testing.T) {
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error { return dbtest.ErrorOf(w.first.Update(w.Ctx, key, entity.Set(&f.Name, "b"))) }, func() {
		w.ChangeItem("$shop#v1#member#id_m", "$shop#v1#member", dbtest.Item{"team": dbtest.S("put again")})
	})
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "A@x", Name: "b", Team: "put again", Version: 2}, entity.Must(w.second.Get(w.Ctx, key)))
}

func TestRace_ADeleteKeepsTheUpdateThatOvertookIt(t *testing.T) {
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error { return w.first.Delete(w.Ctx, key) }, func() {
		require.NoError(t, dbtest.ErrorOf(w.second.Update(w.Ctx, key, entity.Set(&f.Email, "b@x"))))
	})
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "b@x", Name: "a", Version: 3}, entity.Must(w.secondBin.Get(w.Ctx, key)).Item)
	require.Equal(t, "1 2 3 deleted", w.states(t, key))
	require.NoError(t, dbtest.ErrorOf(w.second.Create(w.Ctx, member{ID: "n", Email: "a@X"})))
	require.NoError(t, dbtest.ErrorOf(w.second.Create(w.Ctx, member{ID: "o", Email: "B@x"})), "the deleted item has given both of its values up")
	w.unmarked(t)
}

func TestRace_OfTwoRestoresOneWins(t *testing.T) {
	w, key := born(t), member{ID: "m"}
	require.NoError(t, w.second.Delete(w.Ctx, key))
	err := w.overtake(func() error {
		_, err := w.firstBin.Restore(w.Ctx, key)
		return err
	}, func() { require.EqualValues(t, 3, entity.Must(w.secondBin.Restore(w.Ctx, key)).Version) })
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.Equal(t, "1 2 deleted 3", w.states(t, key))
	w.unmarked(t)
}

// Without updated_at and versions, and at one instant, the second copy has the key and the time of the first.
func TestRace_ARestoreTakesTheCopyThatItHasRead(t *testing.T) {
	w, key, f := newRivals[note](t), note{ID: "N"}, entity.Fields[note]()
	require.NoError(t, dbtest.ErrorOf(w.second.Create(w.Ctx, note{ID: "N", Text: "a"})))
	require.NoError(t, w.second.Delete(w.Ctx, key))
	err := w.overtake(func() error { return dbtest.ErrorOf(w.firstBin.Restore(w.Ctx, key)) }, func() {
		require.NoError(t, dbtest.ErrorOf(w.secondBin.Restore(w.Ctx, key)))
		require.NoError(t, dbtest.ErrorOf(w.second.Update(w.Ctx, key, entity.Set(&f.Text, "b"))))
		require.NoError(t, w.second.Delete(w.Ctx, key))
	})
	require.NoError(t, err)
	require.Equal(t, "b", entity.Must(w.second.Get(w.Ctx, key)).Text)
}

func TestRace_APurgeRemovesWhatAnUpdateHasWrittenMeanwhile(t *testing.T) {
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	require.NoError(t, w.second.Delete(w.Ctx, key))
	require.NoError(t, dbtest.ErrorOf(w.secondBin.Restore(w.Ctx, key)))
	require.NoError(t, dbtest.ErrorOf(w.second.Create(w.Ctx, member{ID: "n", Email: "n@x"})))
	others := w.dump(t)
	err := w.overtake(func() error { return w.first.Purge(w.Ctx, key) }, func() {
		require.NoError(t, dbtest.ErrorOf(w.second.Update(w.Ctx, key, entity.Set(&f.Email, "later@x"))))
	})
	require.NoError(t, err)
	left := w.dump(t)
	require.Len(t, left, 3, "the other member, its snapshot and its sentinel")
	require.Subset(t, others, left)
}

// eternal are the recorded employees without any time to live.
type eternal struct {
	_ entity.Key `name:"Employee" pk:"$#employeeid_{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#tenantid_{tenantId}" sk:"$#department_{department}#employeeid_{employeeId}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	person
}

// fill puts the table as effect-dynamodb left it after a step.
func (r *replay) fill(t *testing.T, step string, edit func(stored) stored) []stored {
	t.Helper()
	all := r.scenario.table(t, r.named(t, step))
	for i, it := range all {
		all[i] = edit(it)
		values := dbtest.Item{}
		for name, v := range all[i] {
			switch {
			case v["S"] != nil:
				values[name] = dbtest.S(v["S"].(string))
			case v["N"] != nil:
				values[name] = dbtest.N(v["N"].(string))
			default:
				require.Fail(t, "no such type", "%s: %v", name, v)
			}
		}
		r.PutItem(values)
	}
	r.Clock.Set(r.named(t, step).Clock.Add(time.Minute), 0)
	return all
}

// states are the numbers of a history, and which of them are deleted states.
func states[T any](t *testing.T, r *replay, h *versioned.History[T], key T) string {
	t.Helper()
	list := entity.Must(h.List(key, versioned.WithCurrent()).Collect(r.Ctx))
	var all []string
	for _, v := range list {
		all = append(all, strconv.FormatInt(v.Number, 10))
		if v.Deleted {
			all = append(all, "deleted")
		}
	}
	return strings.Join(all, " ")
}

// The copy has version 2, as the snapshot of the state before the delete.
func TestSibling_ItsDeletedItemsAreRestoredAndTheirHistoryStays(t *testing.T) {
	r := newReplay(t, "lifecycle-no-unique")
	_, bin, history := handles[eternal](t, r.DB)
	r.create(t)
	r.fill(t, "delete-alice", func(it stored) stored { return it.with("_ttl", "", nil) })
	key := eternal{person: person{EmployeeID: "emp-alice"}}

	require.Equal(t, "1 2", states(t, r, history, key), "the snapshot is used, not the copy")
	require.False(t, entity.Must(history.Get(r.Ctx, key, 2)).Deleted)
	require.False(t, entity.Must(history.At(r.Ctx, key, time.Date(2026, 5, 1, 0, 3, 30, 0, time.UTC))).Deleted)

	got := entity.Must(bin.Restore(r.Ctx, key))
	require.EqualValues(t, 3, got.Version)
	require.Equal(t, "Alice Baker", got.DisplayName)
	require.Equal(t, "1 2 3", states(t, r, history, key))
	require.Len(t, r.dump(t), 5, "the copy is gone; an item and its snapshots, two and one")
	require.NoError(t, bin.Purge(r.Ctx, key))
	require.NoError(t, bin.Purge(r.Ctx, eternal{person: person{EmployeeID: "emp-bob"}}))
	require.Empty(t, r.dump(t))
}

// A restore there keeps the copy's deletedAt in the history.
func TestSibling_WhatItsRestoreKeepsIsADeletedState(t *testing.T) {
	r := newReplay(t, "lifecycle-free-ttl")
	_, _, history := handles[uniqueEmployee](t, r.DB)
	r.create(t)
	r.fill(t, "restore", func(it stored) stored { return it })
	require.Equal(t, "1 2 3 deleted 4", states(t, r, history, uniqueEmployee{person: person{EmployeeID: "emp-alice"}}))
}

// Its put has begun versions again at 1, with the history of the life before still there.
func TestSibling_AnItemWhoseVersionsBeganAgainCanBeWritten(t *testing.T) {
	r := newReplay(t, "versioned-retain")
	s := store[doc](t, r)
	history := entity.Must(versioned.Of(s))
	r.create(t)
	r.fill(t, "update-after-put", func(it stored) stored { return it.with("tags", "", nil) })
	key := doc{DocID: "D1"}
	for _, want := range []int64{3, 4, 5} {
		require.Equal(t, want, entity.Must(s.Update(r.Ctx, key, entity.Set(&entity.Fields[doc]().Title, "t"))).Version)
	}
	require.NoError(t, s.Delete(r.Ctx, key))
	require.True(t, entity.Must(history.Get(r.Ctx, key, 6)).Deleted)
	created := entity.Must(s.Create(r.Ctx, doc{DocID: "D1", Title: "new"}))
	require.EqualValues(t, 7, created.Version, "a new life begins after all that is there")
}

// The value has a space and a letter beyond ASCII, which is refused in new keys.
func TestSibling_AValueThatIsRefusedHereStaysClaimedUntilItGoes(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *rivals[member]) error{
		"update": func(w *rivals[member]) error {
			_, err := w.second.Update(w.Ctx, member{ID: "m"}, entity.Set(&entity.Fields[member]().Email, "n@x"))
			return err
		},
		"delete": func(w *rivals[member]) error { return w.second.Delete(w.Ctx, member{ID: "m"}) },
		"purge":  func(w *rivals[member]) error { return w.second.Purge(w.Ctx, member{ID: "m"}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newRivals[member](t)
			const pk, sk = "$shop#v1#member#id_m", "$shop#v1#member"
			claim := dbtest.Item{"pk": dbtest.S("$shop#v1#member.email#ann ü@x"), "sk": dbtest.S("$shop#v1#member.email")}
			w.PutItem(dbtest.Item{
				"pk": dbtest.S(pk), "sk": dbtest.S(sk), "__edd_e__": dbtest.S("Member"), "id": dbtest.S("m"), "email": dbtest.S("Ann Ü@x"),
				"version": dbtest.N("1"),
			})
			w.PutItem(dbtest.Item{
				"pk": claim["pk"], "sk": claim["sk"], "__edd_e__": dbtest.S("Member._unique.email"), "_entity_pk": dbtest.S(pk), "_entity_sk": dbtest.S(sk),
			})
			claimed := func() bool { return w.Item(dbtest.Text(claim["pk"]), dbtest.Text(claim["sk"])) != nil }
			require.NoError(t, dbtest.ErrorOf(w.second.Update(w.Ctx, member{ID: "m"}, entity.Set(&entity.Fields[member]().Name, "x"))))
			require.True(t, claimed())
			_, err := w.second.Update(w.Ctx, member{ID: "m"}, entity.Set(&entity.Fields[member]().Email, "Bob Ü@x"))
			require.Equal(t, "EDD-9102", dbtest.As[*entity.InputError](t, err).Code)
			require.NoError(t, end(w))
			require.False(t, claimed())
		})
	}
}
