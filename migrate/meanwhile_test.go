package migrate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
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
