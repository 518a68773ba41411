package migrate_test

import (
	"context"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// before is the declaration that the items of the tests were written with.
type before struct {
	_ entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete ``

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team,omitempty"`
	Email   string    `dynamodbav:"email,omitempty"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}

// member is today's declaration: with an index, an index of deleted copies, and a unique value.
type member struct {
	_ entity.Key           `name:"Member" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.GSI           `name:"gone" index:"gsi2" pk:"$#{team}" sk:"$#{deletedAt}#{id}"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete ``
	_ unique.Constraint    `name:"email" fields:"email"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team,omitempty"`
	Email   string    `dynamodbav:"email,omitempty"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
	Deleted time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

// club is a table with an old and a new program.
type club struct {
	*dbtest.Bench
	old *entity.Store[before]
	now *entity.Store[member]
}

func open(t *testing.T) *club {
	t.Helper()
	b := dbtest.Open(t, dbtest.Attempts(3))
	c := &club{Bench: b, now: dbtest.Declare[member](t, b.DB), old: dbtest.Declare[before](t, b.Open(b.Raw))}
	c.CreateTables()
	return c
}

// add makes the old program create an item.
func (c *club) add(id, team, email string) before {
	c.T.Helper()
	m, err := c.old.Create(c.Ctx, before{ID: id, Team: team, Email: email})
	require.NoError(c.T, err)
	return m
}

// rewrite runs Rewrite and requires that it succeeds.
func (c *club) rewrite(opts ...migrate.Option) migrate.Report {
	c.T.Helper()
	c.Wire.Reset()
	r, err := migrate.Rewrite(c.Ctx, c.now, opts...)
	require.NoError(c.T, err)
	return r
}

// team returns the ids of the items in the index of a team.
func (c *club) team(team string) (ids []string) {
	c.T.Helper()
	found, err := entity.Must(c.now.Index("byTeam")).Query(member{Team: team}).Collect(c.Ctx)
	require.NoError(c.T, err)
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids
}

func (c *club) get(id string) member {
	c.T.Helper()
	m, err := c.now.Get(context.Background(), member{ID: id}, entity.Consistent())
	require.NoError(c.T, err)
	return m
}

// without returns a copy of an item without some attributes.
func without(it dbtest.Item, names ...string) dbtest.Item {
	kept := dbtest.Item{}
	for name, av := range it {
		kept[name] = av
	}
	for _, name := range names {
		delete(kept, name)
	}
	return kept
}

// pk is the partition key of a member.
func pk(id string) string { return "$app#v1#member#" + id }

const sk = "$app#v1#member"

// texts returns an item of strings.
func texts(pairs ...string) dbtest.Item {
	it := dbtest.Item{}
	for i := 0; i < len(pairs); i += 2 {
		it[pairs[i]] = &types.AttributeValueMemberS{Value: pairs[i+1]}
	}
	return it
}

// indexed is an item with an index.
type indexed struct {
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.Key `name:"Worker" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team"`
	Tasks   int       `dynamodbav:"tasks"`
	Version int64     `dynamodbav:"version" entity:"version"`
	Updated time.Time `dynamodbav:"updated" entity:"updated_at"`
}
