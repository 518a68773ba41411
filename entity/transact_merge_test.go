package entity_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestMerge_ACheckAndAWriteOfOneItemAreOneAction(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 1})
	require.NoError(t, err)
	c.sent()
	small := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Lt(&f.Size, 5))
	grow := c.teams.Op().Update(Team{ID: "a"}, entity.Add(&f.Size, 4))
	require.NoError(t, c.db.Transact(t.Context(), small, grow), "the conditions are about the item as it was before")
	require.Equal(t, []string{"UpdateItem"}, c.sent(), "one action needs no transaction")

	err = c.db.Transact(t.Context(), small, grow)
	require.ErrorIs(t, entity.FailureOf(err, small), entity.ErrConditionFailed)
	require.NoError(t, entity.FailureOf(err, grow), "the update itself could have been made")
	stored, ok := entity.StoredItem[Team](entity.FailureOf(err, small))
	require.True(t, ok)
	require.Equal(t, 5, stored.Size)
}

func TestMerge_TellsWhichOfTheConditionsFailed(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 7})
	require.NoError(t, err)
	holds := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Eq(&f.Size, 7))
	fails := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1), entity.If(entity.Gt(&f.Size, 100)))
	other := c.teams.Op().Create(Team{ID: "b"})
	for _, ops := range [][]entity.Op{{holds, fails, other}, {fails, other, holds}} {
		err = c.db.Transact(t.Context(), ops...)
		require.ErrorIs(t, entity.FailureOf(err, fails), entity.ErrConditionFailed)
		require.NoError(t, entity.FailureOf(err, holds))
		require.NoError(t, entity.FailureOf(err, other))
	}

	gone := c.teams.Op().CheckExists(Team{ID: "none"})
	missing := c.teams.Op().Delete(Team{ID: "none"})
	err = c.db.Transact(t.Context(), gone, missing, other)
	require.ErrorIs(t, entity.FailureOf(err, gone), entity.ErrNotFound)
	require.ErrorIs(t, entity.FailureOf(err, missing), entity.ErrNotFound)
	_, err = c.teams.Get(t.Context(), Team{ID: "b"})
	require.ErrorIs(t, err, entity.ErrNotFound, "nothing was written")
}

func TestMerge_ChecksOfOneItemAreOneCheck(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	_, err := c.teams.Create(t.Context(), Team{ID: "a", Size: 7})
	require.NoError(t, err)
	c.sent()
	low, high := c.teams.Op().CheckExists(Team{ID: "a"}, entity.Gt(&f.Size, 1)), c.teams.Op().CheckExists(Team{ID: "a"}, entity.Lt(&f.Size, 9))
	require.NoError(t, c.db.Transact(t.Context(), low, high, low))
	require.Equal(t, []string{"TransactWriteItems"}, c.sent())
	absent := c.teams.Op().CheckNotExists(Team{ID: "a"})
	err = c.db.Transact(t.Context(), low, absent)
	require.ErrorIs(t, entity.FailureOf(err, absent), entity.ErrExists)
	require.NoError(t, entity.FailureOf(err, low))
}

func TestMerge_CountsItemsAndNotOps(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	var ops []entity.Op
	for i := range 100 {
		team := Team{ID: fmt.Sprint(i)}
		ops = append(ops, c.teams.Op().CheckNotExists(team), c.teams.Op().Create(team))
	}
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Len(t, c.everything(t), 100)
	c.sent()
	requireInput(t, c.db.Transact(t.Context(), append(ops, c.teams.Op().CheckNotExists(Team{ID: "x"}))...), "EDD-9110", "")
	require.Empty(t, c.sent())
}
