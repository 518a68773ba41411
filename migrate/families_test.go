package migrate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

type reading0 struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Place  *string   `dynamodbav:"place,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

type reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$"`
	_ entity.GSI        `name:"byOwner" index:"gsi1" pk:"$#{owner}" sk:"$#{device}"`
	_ timeseries.Events `orderBy:"at"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Place  *string   `dynamodbav:"place,omitempty" entity:"append"`
	Owner  string    `dynamodbav:"owner,omitempty"`
}

// The current item of a series enters the index; its events stay as they are.
func TestRewrite_OfASeries(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now, err := timeseries.New[reading](b.DB)
	require.NoError(t, err)
	b.CreateTables()
	old, err := timeseries.New[reading0](b.Open(b.Raw))
	require.NoError(t, err)
	for i := range 3 {
		place := fmt.Sprint("dock ", i)
		b.OK(old.Append(b.Ctx, reading0{Device: "d", At: dbtest.Start.Add(time.Duration(i) * time.Second), Place: &place}))
	}
	b.OK(old.Update(b.Ctx, reading0{Device: "d"}, entity.Set(&entity.Fields[reading0]().Owner, "ada")))
	was := b.ItemsByKey()
	r, err := migrate.Rewrite(b.Ctx, now)
	require.NoError(t, err)
	assert.Equal(t, "1 of 4 items rewritten (1 index keys)", r.String())
	found, err := entity.Must(now.Index("byOwner")).Query(reading{Owner: "ada"}).Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
	for key, it := range b.ItemsByKey() {
		assert.Equal(t, without(was[key], "_w"), without(it, "_w", "gsi1pk", "gsi1sk"), key)
	}
	place := "dock 4"
	res, err := now.Append(b.Ctx, reading{Device: "d", At: dbtest.Start.Add(time.Minute), Place: &place})
	require.NoError(t, err)
	assert.True(t, res.Applied)
	done, err := migrate.Check(b.Ctx, now, func(f migrate.Finding) error { return fmt.Errorf("%v", f) })
	require.NoError(t, err)
	assert.Equal(t, 5, done.Evaluated)
}

// Items of an entity without a $ key have no write id, so they are guarded by their content.
func TestRewrite_OfAVerbatimEntity(t *testing.T) {
	t.Parallel()
	type device0 struct {
		_    entity.Key `name:"Device" pk:"id" sk:"sk=unit={unit:03}" kind:"item=device"`
		ID   string     `dynamodbav:"id"`
		Unit int        `dynamodbav:"unit" entity:"zero"`
		Hall string     `dynamodbav:"hall,omitempty"`
	}
	type device struct {
		_    entity.Key `name:"Device" pk:"id" sk:"sk=unit={unit:03}" kind:"item=device"`
		_    entity.GSI `name:"byHall" index:"gsi1" pk:"gsi1pk=hall={hall}" sk:"id"`
		ID   string     `dynamodbav:"id"`
		Unit int        `dynamodbav:"unit" entity:"zero"`
		Hall string     `dynamodbav:"hall,omitempty"`
	}
	b := dbtest.Open(t)
	now := dbtest.Declare[device](t, b.DB)
	b.CreateTables()
	old := dbtest.Declare[device0](t, b.Open(b.Raw))
	b.OK(old.Create(b.Ctx, device0{ID: "d", Unit: 1, Hall: "h"}))
	b.OK(old.Create(b.Ctx, device0{ID: "e", Unit: 2}))
	b.PutItem(texts("id", "d", "sk", "unit=009", "hall", "h")) // without the mark it is not known
	var r migrate.Report
	err := b.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() (err error) {
		r, err = migrate.Rewrite(b.Ctx, now, migrate.Checkpoint("halls"))
		return err
	}, func() {
		b.OK(old.Update(b.Ctx, device0{ID: "d", Unit: 1}, entity.Set(&entity.Fields[device0]().Hall, "i")))
	})
	require.NoError(t, err)
	assert.Equal(t, []int{1, 1, 0}, []int{r.Rewritten, r.Conflicts, r.Skipped()})
	found, err := entity.Must(now.Index("byHall")).Query(device{Hall: "i"}).Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, found, 1)
	assert.NotContains(t, b.Item("d", "unit=001"), "_w")
	all, err := now.Scan().Collect(b.Ctx)
	require.NoError(t, err)
	assert.Len(t, all, 2, "the checkpoint is no device")
}

// In a table that is shared with effect-dynamodb, keys that it composed stay, and missing ones are added.
func TestRewrite_OfASharedTable(t *testing.T) {
	t.Parallel()
	shared := func(c *entity.Config) {
		c.Interop, c.TimePrecision = true, time.Millisecond
	}
	b := dbtest.Open(t, shared)
	type user struct {
		_    entity.Key `name:"User" pk:"$#{id}" sk:"$"`
		_    entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
		ID   string     `dynamodbav:"id"`
		Team string     `dynamodbav:"team"`
	}
	users := dbtest.Declare[user](t, b.DB)
	b.CreateTables()
	b.OK(users.Create(b.Ctx, user{ID: "U-1", Team: "Red"}))
	whole := b.Items()[0]
	b.PutItem(without(whole, "gsi1pk", "gsi1sk"))
	r, err := migrate.Rewrite(b.Ctx, users)
	require.NoError(t, err)
	assert.Equal(t, "1 of 1 items rewritten (1 index keys)", r.String())
	assert.Equal(t, []dbtest.Item{whole}, b.Items())
	r, err = migrate.Rewrite(b.Ctx, users)
	require.NoError(t, err)
	assert.Zero(t, r.Rewritten+r.Skipped())
}

// A claim that does not expire with its item is put again.
func TestRewrite_OfClaimsOfItemsThatExpire(t *testing.T) {
	t.Parallel()
	type session struct {
		_       entity.Key        `name:"Session" pk:"$#{id}" sk:"$"`
		_       lifecycle.TTL     `attr:"expires" after:"1h"`
		_       unique.Constraint `name:"token" fields:"token"`
		ID      string            `dynamodbav:"id"`
		Token   string            `dynamodbav:"token"`
		Expires int64             `dynamodbav:"expires,omitempty"`
	}
	b, s := dbtest.OpenStore[session](t)
	b.OK(s.Create(b.Ctx, session{ID: "a", Token: "t"}))
	const key, sort = "$app#v1#session.token#t", "$app#v1#session.token"
	was := b.Item(key, sort)
	require.Contains(t, was, "expires")
	b.ChangeItem(key, sort, dbtest.Item{"expires": nil})
	r, err := migrate.Rewrite(b.Ctx, s)
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Reason]int{migrate.Claims: 1}, r.Reasons)
	assert.Equal(t, without(was, "_w"), without(b.Item(key, sort), "_w"))
	b.Clock.Move(2 * time.Hour)
	r, err = migrate.Rewrite(b.Ctx, s)
	require.NoError(t, err)
	assert.Equal(t, []int{1, 0}, []int{r.Expired, r.Rewritten})
}
