package entity_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestKeep_SavesTheReadOfAWriteThatIsPlannedFromTheItem(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	l.patch(t, at, "unknown", &types.AttributeValueMemberS{Value: "stays"})
	l.sent()

	var h entity.Image
	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h), entity.Consistent())
	require.NoError(t, err)
	f := entity.Fields[Profile]()
	got, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 2), entity.FromImage(&h))
	require.NoError(t, err)
	require.Equal(t, 2, got.Rank)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.sent(), "the Get was the caller's")
	require.Equal(t, `S"stays"`, l.stored(t, at)["unknown"], "the handle has what the struct does not know")

	got, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Rank, 3), entity.FromImage(&h))
	require.NoError(t, err)
	require.Equal(t, 3, got.Rank)
	require.Equal(t, []string{"PutItem", "GetItem", "PutItem"}, l.sent(), "a stale handle is as none")

	_, err = s.Modify(t.Context(), Profile{ID: "a"}, func(p *Profile) error { p.Note += "!"; return nil }, entity.FromImage(&h))
	require.NoError(t, err)
	stored, err := s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 3, stored.Rank, "what came after the handle was filled is kept")

	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h))
	require.NoError(t, err)
	l.sent()
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 4), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems"}, l.sent())
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Update(Profile{ID: "a"}, entity.Set(&f.Rank, 5), entity.FromImage(&h)), s.Op().CheckNotExists(Profile{ID: "b"})))
	require.Equal(t, []string{"TransactWriteItems", "GetItem", "TransactWriteItems"}, l.sent())
}

func TestKeep_AStaleHandleOfAnItemThatIsGoneFindsNothing(t *testing.T) {
	t.Parallel()
	_, s := open[Profile](t)
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	var h entity.Image
	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h))
	require.NoError(t, err)
	require.NoError(t, s.Delete(t.Context(), Profile{ID: "a"}))
	_, err = s.Modify(t.Context(), Profile{ID: "a"}, func(p *Profile) error { p.Rank++; return nil }, entity.FromImage(&h))
	require.ErrorIs(t, err, entity.ErrNotFound)
}

func TestKeep_HandlesThatCannotServeAreRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	_, err := s.Create(t.Context(), Profile{ID: "a"})
	require.NoError(t, err)
	var h, empty entity.Image
	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h))
	require.NoError(t, err)
	l.sent()
	set := func(p *Profile) error { p.Rank++; return nil }
	_, err = s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&empty))
	requireInput(t, err, "EDD-9108", "")
	_, err = s.Modify(t.Context(), Profile{ID: "b"}, set, entity.FromImage(&h))
	requireInput(t, err, "EDD-9108", "")
	_, err = s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage((*entity.Image)(nil)))
	requireInput(t, err, "EDD-9108", "")
	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(nil))
	requireInput(t, err, "EDD-9108", "")
	require.Empty(t, l.sent())

	_, err = s.Get(t.Context(), Profile{ID: "none"}, entity.KeepImage(&h))
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = s.Modify(t.Context(), Profile{ID: "a"}, set, entity.FromImage(&h))
	requireInput(t, err, "EDD-9108", "")
}

func TestKeep_AStaleHandleIsNotTakenAtItsWord(t *testing.T) {
	t.Parallel()
	_, s := open[Profile](t)
	f := entity.Fields[Profile]()
	_, err := s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	var h entity.Image
	_, err = s.Get(t.Context(), Profile{ID: "a"}, entity.KeepImage(&h))
	require.NoError(t, err)
	_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&f.Note, "theirs"))
	require.NoError(t, err)
	same := func(p *Profile) error { p.Note = ""; return nil } // as the handle has it: nothing to write
	got, err := s.Modify(t.Context(), Profile{ID: "a"}, same, entity.FromImage(&h))
	require.NoError(t, err)
	require.Empty(t, got.Note)
	stored, err := s.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Empty(t, stored.Note, "what somebody else has written since is changed, too")
}
