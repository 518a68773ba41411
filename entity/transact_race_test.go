package entity_test

import (
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// What an op planned from a read is guarded by is lost to another write: the whole transaction is planned again.
func TestTransact_LostGuardIsPlannedAnew(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	arrived, release := c.wire.Hold(func(r faults.Request) bool { return r.Operation == "TransactWriteItems" })
	defer release()
	done := make(chan error, 1)
	move := c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	go func() { done <- c.db.Transact(t.Context(), move, c.teams.Op().Create(Team{ID: "t"})) }()
	awaitHeld(t, arrived, done)
	_, err = other.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Rank, 5))
	require.NoError(t, err)
	release()
	require.NoError(t, <-done)
	require.Equal(t, []string{"GetItem", "TransactWriteItems", "GetItem", "TransactWriteItems"}, c.sent())
	it := c.everything(t)[`S"$app#v1#profile#a" S"$app#v1#profile"`]
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000005"`, it["gsi1pk"])
	require.Equal(t, 5, move.Result().Rank, "the result is the item as written")
}

func TestTransact_GuardLostMoreOftenThanMaxAttemptsIsErrConflict(t *testing.T) {
	t.Parallel()
	c := newCrew(t, func(c *entity.Config) { c.MaxAttempts = 3 })
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	c.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" || r.Operation == "PutItem" {
			_, err := other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1))
			require.NoError(t, err)
		}
		return faults.None
	})
	move := c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	err = c.db.Transact(t.Context(), c.teams.Op().Create(Team{ID: "t"}), move)
	require.ErrorIs(t, err, entity.ErrConflict)
	require.ErrorIs(t, entity.FailureOf(err, move), entity.ErrConflict)
	require.NotErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, 3, c.wire.Count("TransactWriteItems"))

	_, err = c.profiles.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Team, "blue"))
	require.ErrorIs(t, err, entity.ErrConflict)
	var sdk *types.ConditionalCheckFailedException
	require.ErrorAs(t, err, &sdk)
	require.Equal(t, 3, c.wire.Count("PutItem"))
	got, err := other.Get(t.Context(), Profile{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, "red", got.Team)
}

// An op that fails for good decides; a guard that another op lost is then no reason to plan again.
func TestTransact_AFailureForGoodEndsItAtOnce(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	other := declare[Profile](t, c.aside(t))
	_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	_, err = c.teams.Create(t.Context(), Team{ID: "t"})
	require.NoError(t, err)
	c.wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			_, err := other.Update(t.Context(), Profile{ID: "a"}, entity.Add(&p.Count, 1))
			require.NoError(t, err)
		}
		return faults.None
	})
	create := c.teams.Op().Create(Team{ID: "t"})
	err = c.db.Transact(t.Context(), c.profiles.Op().Update(Profile{ID: "a"}, entity.Set(&p.Team, "blue")), create)
	require.ErrorIs(t, entity.FailureOf(err, create), entity.ErrExists)
	require.Equal(t, 1, c.wire.Count("TransactWriteItems"))
}

func TestTransact_ReadsOfSeveralOpsComeBeforeOneWrite(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	p := entity.Fields[Profile]()
	var ops []entity.Op
	for i := range 3 {
		id := fmt.Sprint(i)
		_, err := c.profiles.Create(t.Context(), Profile{ID: id, Team: "red", Rank: 1})
		require.NoError(t, err)
		ops = append(ops, c.profiles.Op().Update(Profile{ID: id}, entity.Set(&p.Rank, 2)))
	}
	c.sent()
	require.NoError(t, c.db.Transact(t.Context(), ops...))
	require.Equal(t, []string{"GetItem", "GetItem", "GetItem", "TransactWriteItems"}, c.sent())
	for _, it := range c.everything(t) {
		require.Equal(t, `S"$app#v1#profile#red#0000000000000000002"`, it["gsi1pk"])
	}
}
