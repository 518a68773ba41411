package migrate_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// handOver gives the email of a to b while do reads the sentinels of the page that has a.
func (c *club) handOver(do func() error) error {
	c.OK(c.now.Create(c.Ctx, member{ID: "a", Email: "a@x"}))
	return c.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), do, func() {
		other, f := dbtest.Declare[member](c.T, c.Open(c.Raw)), entity.Fields[member]()
		c.OK(other.Update(c.Ctx, member{ID: "a"}, entity.Set(&f.Email, "a@y")))
		c.OK(other.Create(c.Ctx, member{ID: "b", Email: "a@x"}))
	})
}

// A value that moves to another item between the read of the page and that of its sentinel belongs to no two items.
func TestRewrite_ReadsAgainWhatSeemsTaken(t *testing.T) {
	t.Parallel()
	c := open(t)
	require.NoError(t, c.handOver(func() error {
		r, err := migrate.Rewrite(c.Ctx, c.now, migrate.Strict())
		assert.Empty(t, r.Problems)
		return err
	}))
}

func TestCheck_ReadsAgainWhatSeemsTaken(t *testing.T) {
	t.Parallel()
	c := open(t)
	require.NoError(t, c.handOver(func() error {
		_, err := migrate.Check(c.Ctx, c.now, func(f migrate.Finding) error {
			assert.Fail(t, "found", "%v", f)
			return nil
		})
		return err
	}))
}

// issue0 is issue before it got a default and an end.
type issue0 struct {
	_      entity.Key `name:"Issue" pk:"$#{id}" sk:"$"`
	ID     string     `dynamodbav:"id"`
	Opened time.Time  `dynamodbav:"opened,omitempty"`
	Ends   time.Time  `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

type issue struct {
	_      entity.Key    `name:"Issue" pk:"$#{id}" sk:"$"`
	_      lifecycle.TTL `attr:"ends" from:"opened" after:"1d"`
	ID     string        `dynamodbav:"id"`
	Opened time.Time     `dynamodbav:"opened,omitempty" entity:"default=2102-06-01T00:00:00Z"`
	Ends   time.Time     `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

// With the attribute that the expiry is counted from, an item gets the expiry, unless it has one.
func TestRewrite_OfTheAttributeThatTheExpiryCountsFromSetsTheEnd(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]migrate.Option{nil, {migrate.NewVersion()}} {
		b := dbtest.Open(t)
		old, now := dbtest.Declare[issue0](t, b.Open(b.Raw)), dbtest.Declare[issue](t, b.DB)
		b.CreateTables()
		own := dbtest.Start.Add(time.Hour).UTC().Truncate(time.Second)
		b.OK(old.Create(b.Ctx, issue0{ID: "a"}))
		b.OK(old.Create(b.Ctx, issue0{ID: "b", Ends: own}))
		r, err := migrate.Rewrite(b.Ctx, now, opts...)
		require.NoError(t, err)
		assert.Equal(t, map[migrate.Reason]int{migrate.Defaults: 2}, r.Reasons)
		a, err := now.Get(b.Ctx, issue{ID: "a"})
		require.NoError(t, err)
		assert.Equal(t, time.Date(2102, 6, 2, 0, 0, 0, 0, time.UTC), a.Ends)
		kept, err := now.Get(b.Ctx, issue{ID: "b"})
		require.NoError(t, err)
		assert.Equal(t, own, kept.Ends)
	}
}

type kept struct {
	_       entity.Key       `name:"Kept" pk:"$#{id}" sk:"$"`
	_       lifecycle.TTL    `attr:"ends" from:"opened" after:"1d"`
	_       versioned.Retain `ttl:"30d"`
	ID      string           `dynamodbav:"id"`
	Opened  time.Time        `dynamodbav:"opened,omitempty" entity:"default=2102-06-01T00:00:00Z"`
	Version int64            `dynamodbav:"version" entity:"version"`
	Updated time.Time        `dynamodbav:"updated" entity:"updated_at"`
}

// Only a new version gives the snapshots of an item its end.
func TestRewrite_OfHistoryWhoseEndIsFilledNeedsNewVersion(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[kept](t)
	_, err := migrate.Rewrite(b.Ctx, s)
	assert.Equal(t, bind.CodeRewriteHistory, dbtest.InputCode(err))
	b.OK(migrate.Rewrite(b.Ctx, s, migrate.NewVersion()))
}

type endable struct {
	_     entity.Key        `name:"Endable" pk:"$#{id}" sk:"$"`
	_     lifecycle.TTL     `attr:"ends" from:"seen" after:"1d"`
	_     unique.Constraint `name:"token" fields:"token"`
	ID    string            `dynamodbav:"id"`
	Token string            `dynamodbav:"token,omitempty"`
	Seen  time.Time         `dynamodbav:"seen,omitempty"`
	Ends  time.Time         `dynamodbav:"ends,omitempty" entity:"time=unix"`
}

// The rewrite claims the value because the claim lacks its end, and so does the update that it makes: one put is enough.
func TestRewrite_EndsAsANewVersion(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[endable](t)
	b.OK(s.Create(b.Ctx, endable{ID: "a", Seen: dbtest.Start, Token: "t"}))
	b.OK(s.Update(b.Ctx, endable{ID: "a"}, entity.Remove(&entity.Fields[endable]().Ends)))
	r, err := migrate.Rewrite(b.Ctx, s, migrate.Ends(), migrate.NewVersion(), migrate.Strict())
	require.NoError(t, err)
	require.Equal(t, 1, r.Rewritten)
	ends := b.Item("$app#v1#endable#a", "$app#v1#endable")["ends"]
	require.NotNil(t, ends)
	require.Equal(t, ends, b.Item("$app#v1#endable.token#t", "$app#v1#endable.token")["ends"])
}

// A rewrite cannot know that an end was removed on purpose: without Ends it stays as it is, and Check reports it.
func TestRewrite_EndsSetsTheEndsThatAreMissing(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[endable](t)
	f := entity.Fields[endable]()
	own := dbtest.Start.Add(time.Hour).UTC().Truncate(time.Second)
	for _, v := range []endable{
		{ID: "whole", Seen: dbtest.Start}, {ID: "own", Seen: dbtest.Start, Ends: own}, {ID: "unseen"},
		{ID: "endless", Seen: dbtest.Start, Token: "t"}, {ID: "past", Seen: dbtest.Start.Add(-25 * time.Hour), Ends: own, Token: "p"},
	} {
		b.OK(s.Create(b.Ctx, v))
	}
	for _, id := range []string{"endless", "past"} {
		b.OK(s.Update(b.Ctx, endable{ID: id}, entity.Remove(&f.Ends)))
	}
	check := func() (found []string) {
		b.OK(migrate.Check(b.Ctx, s, func(f migrate.Finding) error {
			found = append(found, string(f.Kind)+" "+f.Key)
			return nil
		}))
		return found
	}
	was := b.Items()
	r, err := migrate.Rewrite(b.Ctx, s, migrate.Checkpoint("ends"))
	require.NoError(t, err)
	assert.Zero(t, r.Rewritten)
	assert.ElementsMatch(t, []string{`endless pk="$app#v1#endable#endless" sk="$app#v1#endable"`, `endless pk="$app#v1#endable#past" sk="$app#v1#endable"`}, check())
	_, err = migrate.Rewrite(b.Ctx, s, migrate.Checkpoint("ends"), migrate.Ends())
	require.ErrorIs(t, err, migrate.ErrOtherWork)
	r, err = migrate.Rewrite(b.Ctx, s, migrate.Ends(), migrate.DryRun())
	require.NoError(t, err)
	assert.Equal(t, 2, r.Rewritten)
	r, err = migrate.Rewrite(b.Ctx, s, migrate.Ends())
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Reason]int{migrate.Ending: 2, migrate.Claims: 2}, r.Reasons)
	got, err := s.Get(b.Ctx, endable{ID: "endless"})
	require.NoError(t, err)
	assert.Equal(t, dbtest.Start.Add(24*time.Hour).UTC().Truncate(time.Second), got.Ends)
	assert.Equal(t, b.Item("$app#v1#endable#endless", "$app#v1#endable")["ends"], b.Item("$app#v1#endable.token#t", "$app#v1#endable.token")["ends"], "the claim ends with the item")
	require.ErrorIs(t, dbtest.ErrorOf(s.Get(b.Ctx, endable{ID: "past"})), entity.ErrNotFound)
	b.OK(s.Create(b.Ctx, endable{ID: "next", Token: "p", Seen: dbtest.Start}))
	for _, id := range []string{"whole", "own", "unseen"} {
		assert.Contains(t, was, b.Item("$app#v1#endable#"+id, "$app#v1#endable"), id)
	}
	assert.Equal(t, []string{`leftover pk="$app#v1#endable#past" sk="$app#v1#endable"`}, check())
	r, err = migrate.Rewrite(b.Ctx, s, migrate.Ends())
	require.NoError(t, err)
	assert.Zero(t, r.Rewritten)
}

// Without from nothing that is stored says when an item ends: Check reports it, and a rewrite refuses.
func TestRewrite_EndsNeedsWhatTheEndIsCountedFrom(t *testing.T) {
	t.Parallel()
	type session struct {
		_    entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
		_    lifecycle.TTL `attr:"ends" after:"1d"`
		ID   string        `dynamodbav:"id"`
		Ends int64         `dynamodbav:"ends,omitempty"`
	}
	b, s := dbtest.OpenStore[session](t)
	b.OK(s.Create(b.Ctx, session{ID: "a"}))
	b.OK(s.Update(b.Ctx, session{ID: "a"}, entity.Remove(&entity.Fields[session]().Ends)))
	done, err := migrate.Check(b.Ctx, s, func(migrate.Finding) error { return nil })
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Kind]int{migrate.Endless: 1}, done.Findings)
	_, err = migrate.Rewrite(b.Ctx, s, migrate.Ends())
	assert.Equal(t, bind.CodeOption, dbtest.InputCode(err))

	other := b.Open(b.Raw)
	never := entity.Must(entity.New[endable](other, lifecycle.NoExpiry()))
	_, err = migrate.Rewrite(b.Ctx, never, migrate.Ends())
	assert.Equal(t, bind.CodeOption, dbtest.InputCode(err))
	b.OK(never.Create(b.Ctx, endable{ID: "n", Seen: dbtest.Start}))
	done, err = migrate.Check(b.Ctx, never, func(migrate.Finding) error { return nil })
	require.NoError(t, err)
	assert.Zero(t, done.Findings[migrate.Endless], "only the caller says when such items end")
}

// The end of an item moves that of its history, which only a new version does.
func TestRewrite_EndsOfAHistoryAreThoseOfANewVersion(t *testing.T) {
	t.Parallel()
	type member struct {
		_       entity.Key       `name:"Member" pk:"$#{id}" sk:"$"`
		_       lifecycle.TTL    `attr:"ends" from:"seen" after:"1d"`
		_       versioned.Retain `ttl:"30d"`
		ID      string           `dynamodbav:"id"`
		Seen    time.Time        `dynamodbav:"seen"`
		Ends    int64            `dynamodbav:"ends,omitempty"`
		Version int64            `dynamodbav:"version" entity:"version"`
		Updated time.Time        `dynamodbav:"updated" entity:"updated_at"`
	}
	b, s := dbtest.OpenStore[member](t)
	b.OK(s.Create(b.Ctx, member{ID: "m", Seen: dbtest.Start}))
	b.OK(s.Update(b.Ctx, member{ID: "m"}, entity.Remove(&entity.Fields[member]().Ends)))
	_, err := migrate.Rewrite(b.Ctx, s, migrate.Ends())
	assert.Equal(t, bind.CodeRewriteHistory, dbtest.InputCode(err))
	b.OK(migrate.Rewrite(b.Ctx, s, migrate.Ends(), migrate.NewVersion()))
	got, err := s.Get(b.Ctx, member{ID: "m"})
	require.NoError(t, err)
	end := dbtest.Start.Add(24 * time.Hour).Unix()
	assert.Equal(t, []int64{3, end}, []int64{got.Version, got.Ends})
	last := b.Item("$app#v1#member#m", "$app#v1#member#v#0000003")
	assert.Equal(t, dbtest.N(fmt.Sprint(end)), last["_ends"])
	assert.Equal(t, dbtest.N(fmt.Sprint(end+30*24*3600)), last["ends"], "the snapshot expires after the item")
	healthy(b, s)
}

// The history of an expired item, which DynamoDB has removed, is kept for its ttl and belongs there. That of an item that
// was removed otherwise is orphaned.
func TestCheck_KnowsTheHistoryOfExpiredItems(t *testing.T) {
	t.Parallel()
	b, s := dbtest.OpenStore[kept](t)
	f := entity.Fields[kept]()
	for _, id := range []string{"expired", "gone"} {
		b.OK(s.Create(b.Ctx, kept{ID: id, Opened: dbtest.Start}))
		b.OK(s.Update(b.Ctx, kept{ID: id}, entity.Set(&f.Opened, dbtest.Start.Add(time.Hour))))
	}
	check := func() (found []string) {
		b.OK(migrate.Check(b.Ctx, s, func(f migrate.Finding) error {
			found = append(found, string(f.Kind)+" "+f.Key)
			return nil
		}))
		return found
	}
	b.RemoveItem(b.Item("$app#v1#kept#gone", "$app#v1#kept"))
	assert.ElementsMatch(t, []string{
		`orphaned pk="$app#v1#kept#gone" sk="$app#v1#kept#v#0000001"`, `orphaned pk="$app#v1#kept#gone" sk="$app#v1#kept#v#0000002"`,
	}, check())
	b.OK(s.Delete(b.Ctx, kept{ID: "expired"}))
	assert.Len(t, check(), 5, "a deleted item has not expired")
	b.OK(s.Create(b.Ctx, kept{ID: "expired", Opened: dbtest.Start}))
	b.RemoveItem(b.Item("$app#v1#kept#expired", "$app#v1#kept"))
	b.Clock.Move(25 * time.Hour)
	assert.Empty(t, check())
}
