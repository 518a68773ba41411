package migrate_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// Desk has what an order has in each declaration of the tests.
type Desk struct {
	ID      string    `dynamodbav:"id"`
	Team    string    `dynamodbav:"team,omitempty"`
	Status  string    `dynamodbav:"status,omitempty"`
	Closed  int       `dynamodbav:"closedAt,omitempty"`
	Deleted time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at"`
}

// wide has indexes without conditions.
type wide struct {
	_ entity.Key           `name:"Desk" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"open" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ entity.GSI           `name:"gone" index:"gsi2" pk:"$#{team}" sk:"$#{deletedAt}#{id}"`
	_ lifecycle.SoftDelete ``
	Desk
}

// narrow has the same indexes with conditions.
type narrow struct {
	_ entity.Key           `name:"Desk" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"open" index:"gsi1" pk:"$#{team}" sk:"$#{id}" when:"status=open|pending,!closedAt"`
	_ entity.GSI           `name:"gone" index:"gsi2" pk:"$#{team}" sk:"$#{deletedAt}#{id}" when:"status=open"`
	_ lifecycle.SoftDelete ``
	Desk
}

// inIndex returns the ids of the items in an index of the table.
func inIndex(b *dbtest.Bench, index string) (ids []string) {
	b.T.Helper()
	out, err := b.Raw.Scan(b.Ctx, &dynamodb.ScanInput{TableName: &b.Table, IndexName: &index})
	require.NoError(b.T, err)
	for _, it := range out.Items {
		ids = append(ids, dbtest.Text(it["id"]))
	}
	slices.Sort(ids)
	return ids
}

// Items that were stored without the condition, or under another one, leave the index and enter it with a Rewrite.
func TestRewrite_PutsConditionalIndexesRight(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now, old := dbtest.Declare[narrow](t, b.DB), dbtest.Declare[wide](t, b.Open(b.Raw))
	b.CreateTables()
	for id, status := range map[string]string{"a": "open", "b": "done", "c": "pending", "x": "open", "y": "done"} {
		b.OK(old.Create(b.Ctx, wide{Desk: Desk{ID: id, Team: "red", Status: status}}))
	}
	b.OK(old.Create(b.Ctx, wide{Desk: Desk{ID: "d", Team: "red", Status: "open", Closed: 1}}))
	b.OK(old.Delete(b.Ctx, wide{Desk: Desk{ID: "x"}}))
	b.OK(old.Delete(b.Ctx, wide{Desk: Desk{ID: "y"}}))
	b.ChangeItem("$app#v1#desk#c", "$app#v1#desk", dbtest.Item{"gsi1pk": nil})
	require.Equal(t, [][]string{{"a", "b", "d"}, {"x", "y"}}, [][]string{inIndex(b, "gsi1"), inIndex(b, "gsi2")})

	var found []string
	_, err := migrate.Check(b.Ctx, now, func(f migrate.Finding) error {
		found = append(found, fmt.Sprint(f.Kind, f.Key[len(`pk="$app#v1#desk#`):][:1], f.Reasons))
		return nil
	})
	require.NoError(t, err)
	slices.Sort(found)
	assert.Equal(t, []string{"outdatedb[index keys]", "outdatedc[index keys]", "outdatedd[index keys]", "outdatedy[index keys]"}, found)

	r, err := migrate.Rewrite(b.Ctx, now, migrate.Checkpoint("narrow"))
	require.NoError(t, err)
	assert.Equal(t, map[migrate.Reason]int{migrate.IndexKeys: 4}, r.Reasons)
	require.Equal(t, [][]string{{"a", "c"}, {"x"}}, [][]string{inIndex(b, "gsi1"), inIndex(b, "gsi2")})
	again, err := migrate.Rewrite(b.Ctx, now)
	require.NoError(t, err)
	require.Zero(t, again.Rewritten)

	// The work is another one without the conditions.
	_, err = migrate.Rewrite(b.Ctx, old, migrate.Checkpoint("narrow"))
	require.ErrorIs(t, err, migrate.ErrOtherWork)
	r, err = migrate.Rewrite(b.Ctx, old)
	require.NoError(t, err)
	require.Equal(t, 4, r.Rewritten)
	require.Equal(t, [][]string{{"a", "b", "c", "d"}, {"x", "y"}}, [][]string{inIndex(b, "gsi1"), inIndex(b, "gsi2")})
}

// A Rewrite that is overtaken does not put an item where it was.
func TestRewrite_OfAConditionalIndexIsPlannedAgainIfOvertaken(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	now, quiet := dbtest.Declare[narrow](t, b.DB), dbtest.Declare[narrow](t, b.Open(b.Raw))
	b.CreateTables()
	b.OK(quiet.Create(b.Ctx, narrow{Desk: Desk{ID: "a", Team: "red", Status: "open"}}))
	b.ChangeItem("$app#v1#desk#a", "$app#v1#desk", dbtest.Item{"gsi1pk": nil})
	require.NoError(t, b.Overtake(dbtest.First(dbtest.Is("UpdateItem")), func() error { return dbtest.ErrorOf(migrate.Rewrite(b.Ctx, now)) }, func() {
		b.OK(quiet.Update(b.Ctx, narrow{Desk: Desk{ID: "a"}}, entity.Set(&entity.Fields[narrow]().Status, "done")))
	}))
	require.Empty(t, inIndex(b, "gsi1"))
}

// ticketed is the new side of a copy.
type ticketed struct {
	_      entity.Key `name:"Ticketed" pk:"$#{id}" sk:"$"`
	_      entity.GSI `name:"open" index:"gsi1" pk:"$" sk:"$#{id}" when:"status=open"`
	ID     string     `dynamodbav:"id"`
	Status string     `dynamodbav:"status,omitempty"`
}

func TestCopy_FillsConditionalIndexes(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	from, to := dbtest.Declare[wide](t, b.DB), dbtest.Declare[ticketed](t, b.DB)
	b.CreateTables()
	copier, err := migrate.Copy("tickets", from, to, func(v wide) (ticketed, error) { return ticketed{ID: v.ID, Status: v.Status}, nil })
	require.NoError(t, err)
	b.OK(from.Create(b.Ctx, wide{Desk: Desk{ID: "a", Status: "open"}}))
	b.OK(from.Create(b.Ctx, wide{Desk: Desk{ID: "b", Status: "done"}}))
	b.OK(copier.Run(b.Ctx))
	require.Equal(t, []string{"a"}, inIndex(b, "gsi1"))
	f := entity.Fields[wide]()
	b.OK(from.Update(b.Ctx, wide{Desk: Desk{ID: "a"}}, entity.Set(&f.Status, "done")))
	b.OK(from.Update(b.Ctx, wide{Desk: Desk{ID: "b"}}, entity.Set(&f.Status, "open")))
	b.OK(copier.Run(b.Ctx, migrate.Restart()))
	require.Equal(t, []string{"b"}, inIndex(b, "gsi1"))
}
