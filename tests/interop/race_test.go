package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// member has everything that lies beside items, and no time of its own.
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
	_, err := w.second.Create(w.Ctx, member{ID: "m", Email: "A@x", Name: "a"})
	require.NoError(t, err)
	return w
}

func TestRace_TwoUpdatesOfAnItemWithAHistoryBothCount(t *testing.T) {
	t.Parallel()
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error {
		_, err := w.first.Update(w.Ctx, key, entity.Set(&f.Name, "b"))
		return err
	}, func() {
		_, err := w.second.Update(w.Ctx, key, entity.Set(&f.Team, "t"))
		require.NoError(t, err)
	})
	require.NoError(t, err)
	got, err := w.second.Get(w.Ctx, key)
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "A@x", Name: "b", Team: "t", Version: 3}, got)
	require.Equal(t, "1 2 3", w.states(t, key))
	w.unmarked(t)
}

// effect-dynamodb's put gives the item version 1 again, which it had when the update was planned.
func TestRace_AnEqualVersionOfAnotherLifeIsNotTheItemRead(t *testing.T) {
	t.Parallel()
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error {
		_, err := w.first.Update(w.Ctx, key, entity.Set(&f.Name, "b"))
		return err
	}, func() {
		w.ChangeItem("$shop#v1#member#id_m", "$shop#v1#member", dbtest.Item{"team": dbtest.S("put again")})
	})
	require.NoError(t, err)
	got, err := w.second.Get(w.Ctx, key)
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "A@x", Name: "b", Team: "put again", Version: 2}, got)
}

func TestRace_ADeleteKeepsTheUpdateThatOvertookIt(t *testing.T) {
	t.Parallel()
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	err := w.overtake(func() error { return w.first.Delete(w.Ctx, key) }, func() {
		_, err := w.second.Update(w.Ctx, key, entity.Set(&f.Email, "b@x"))
		require.NoError(t, err)
	})
	require.NoError(t, err)
	copied, err := w.secondBin.Get(w.Ctx, key)
	require.NoError(t, err)
	require.Equal(t, member{ID: "m", Email: "b@x", Name: "a", Version: 3}, copied.Item)
	require.Equal(t, "1 2 3 deleted", w.states(t, key))
	_, err = w.second.Create(w.Ctx, member{ID: "n", Email: "a@X"})
	require.NoError(t, err)
	_, err = w.second.Create(w.Ctx, member{ID: "o", Email: "B@x"})
	require.NoError(t, err, "the deleted item has given both of its values up")
	w.unmarked(t)
}

func TestRace_OfTwoRestoresOneWins(t *testing.T) {
	t.Parallel()
	w, key := born(t), member{ID: "m"}
	require.NoError(t, w.second.Delete(w.Ctx, key))
	err := w.overtake(func() error {
		_, err := w.firstBin.Restore(w.Ctx, key)
		return err
	}, func() {
		got, err := w.secondBin.Restore(w.Ctx, key)
		require.NoError(t, err)
		require.EqualValues(t, 3, got.Version)
	})
	require.ErrorIs(t, err, entity.ErrNotDeleted)
	require.Equal(t, "1 2 deleted 3", w.states(t, key))
	w.unmarked(t)
}

// Without updated_at and versions, and at one instant, the second copy has the key and the time of the first.
func TestRace_ARestoreTakesTheCopyThatItHasRead(t *testing.T) {
	t.Parallel()
	w, key, f := newRivals[note](t), note{ID: "N"}, entity.Fields[note]()
	_, err := w.second.Create(w.Ctx, note{ID: "N", Text: "a"})
	require.NoError(t, err)
	require.NoError(t, w.second.Delete(w.Ctx, key))
	err = w.overtake(func() error {
		_, err := w.firstBin.Restore(w.Ctx, key)
		return err
	}, func() {
		_, err := w.secondBin.Restore(w.Ctx, key)
		require.NoError(t, err)
		_, err = w.second.Update(w.Ctx, key, entity.Set(&f.Text, "b"))
		require.NoError(t, err)
		require.NoError(t, w.second.Delete(w.Ctx, key))
	})
	require.NoError(t, err)
	got, err := w.second.Get(w.Ctx, key)
	require.NoError(t, err)
	require.Equal(t, "b", got.Text)
}

func TestRace_APurgeRemovesWhatAnUpdateHasWrittenMeanwhile(t *testing.T) {
	t.Parallel()
	w, key, f := born(t), member{ID: "m"}, entity.Fields[member]()
	require.NoError(t, w.second.Delete(w.Ctx, key))
	_, err := w.secondBin.Restore(w.Ctx, key)
	require.NoError(t, err)
	_, err = w.second.Create(w.Ctx, member{ID: "n", Email: "n@x"})
	require.NoError(t, err)
	others := w.dump(t)
	err = w.overtake(func() error { return w.first.Purge(w.Ctx, key) }, func() {
		_, err := w.second.Update(w.Ctx, key, entity.Set(&f.Email, "later@x"))
		require.NoError(t, err)
	})
	require.NoError(t, err)
	left := w.dump(t)
	require.Len(t, left, 3, "the other member, its snapshot and its sentinel")
	require.Subset(t, others, left)
}
