package entity_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestTransact_TwoWritesOfOneItemAreRefusedBeforeAnyRequest(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	f := entity.Fields[Team]()
	again := c.teams.Op().Update(Team{ID: "a"}, entity.Set(&f.Size, 1))
	for _, first := range []entity.Op{c.teams.Op().Create(Team{ID: "a"}), again, c.teams.Op().Put(Team{ID: "a"}), c.teams.Op().Delete(Team{ID: "a"})} {
		err := c.db.Transact(t.Context(), c.teams.Op().Create(Team{ID: "b"}), first, again)
		requireInput(t, err, "EDD-9109", "")
		var failed *entity.TransactError
		require.ErrorAs(t, err, &failed)
		require.Equal(t, 2, failed.Failed[0].Index)
		require.Empty(t, c.sent())
	}
	require.Empty(t, c.everything(t))
}

func TestTransact_NilOpAndOpOfAnotherDBAreRefused(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	other := declare[Team](t, c.aside(t))
	fine := c.teams.Op().Create(Team{ID: "a"})
	var none entity.Op
	var write entity.Write[Team]
	for _, bad := range []entity.Op{none, write, other.Op().Create(Team{ID: "b"})} {
		requireInput(t, c.db.Transact(t.Context(), fine, bad), "EDD-9114", "")
		requireInput(t, c.db.Transact(t.Context(), bad), "EDD-9114", "")
		require.Empty(t, c.sent())
	}
	require.Empty(t, c.everything(t))
}

func TestTransact_BadArgumentsOfAnOpAreItsFailure(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	fine, bad := c.teams.Op().Create(Team{ID: "a"}), c.teams.Op().Create(Team{})
	err := c.db.Transact(t.Context(), fine, bad)
	requireInput(t, entity.FailureOf(err, bad), "EDD-9101", "ID")
	require.NoError(t, entity.FailureOf(err, fine))
	require.Empty(t, c.sent())
}

func TestTransact_HundredActionsAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	var ops []entity.Op
	for i := range 100 {
		ops = append(ops, c.teams.Op().Create(Team{ID: fmt.Sprint(i)}))
	}
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Equal(t, []string{"TransactWriteItems"}, c.sent())
	require.Len(t, c.everything(t), 100)
	for i := range ops {
		ops[i] = c.teams.Op().CheckExists(Team{ID: fmt.Sprint(i)})
	}
	ops = append(ops, c.profiles.Op().Update(Profile{ID: "p"}, entity.Set(&entity.Fields[Profile]().Team, "x"))) // would read first
	requireInput(t, c.db.Transact(t.Context(), ops...), "EDD-9110", "")
	require.Empty(t, c.sent())
}

func TestTransact_FourMegabytesAreTheMost(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	big := strings.Repeat("x", 380*1024)
	var creates, upserts, updates []entity.Op
	for i := range 12 {
		id := fmt.Sprint(i)
		creates = append(creates, c.teams.Op().Create(Team{ID: id, Name: big}))
		upserts = append(upserts, c.teams.Op().Upsert(Team{ID: id, Name: big}))
		updates = append(updates, c.teams.Op().Update(Team{ID: id}, entity.Set(&entity.Fields[Team]().Name, big)))
	}
	for name, ops := range map[string][]entity.Op{"creates": creates, "upserts": upserts, "updates": updates} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, c.db.Transact(t.Context(), ops...), entity.ErrTooLarge)
			require.Empty(t, c.sent())
		})
	}
	require.NoError(t, c.db.Transact(t.Context(), creates[:10]...))
}

func TestTransact_MissingTableIsErrNoTable(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	s := declare[Team](t, l.db)
	err := l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a"}), s.Op().Create(Team{ID: "b"}))
	require.ErrorIs(t, err, entity.ErrNoTable)
	var sdk *types.ResourceNotFoundException
	require.ErrorAs(t, err, &sdk)
	_, err = s.Get(t.Context(), Team{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNotFound)
	_, err = s.Create(t.Context(), Team{ID: "a"})
	require.ErrorIs(t, err, entity.ErrNoTable)
	_, err = s.Query(Team{ID: "a"}).First(t.Context())
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNotFound)
}
