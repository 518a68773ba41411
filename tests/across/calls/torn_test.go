package calls_test

import (
	"context"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// torn answers a query during which a write happens with one part of the item as it was before the write, and the other as
// it is after it. A query may meet a transaction like that.
type torn struct {
	*dynamodb.Client
	during      []func() // the write during the first query, the second and so on
	then        func()   // the write after the first query; nil for none
	copiesFirst bool     // the current item is the part that is read after the write
	refuse      error    // of the removal of the current item, if it is set
}

// Query ignores the options, with which the library would read the items of the answer before they are put together here.
func (c *torn) Query(ctx context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	before, err := c.Client.Query(ctx, in)
	if c.then != nil {
		c.then()
		c.then = nil
	}
	if err != nil || len(c.during) == 0 {
		return before, err
	}
	write := c.during[0]
	c.during = c.during[1:]
	write()
	after, err := c.Client.Query(ctx, in)
	if err != nil {
		return nil, err
	}
	current, related := before.Items, after.Items
	if c.copiesFirst {
		current, related = related, current
	}
	items := []dbtest.Item{}
	for _, it := range current {
		if dbtest.Text(it["_k"]) == "" {
			items = append(items, it)
		}
	}
	for _, it := range related {
		if dbtest.Text(it["_k"]) != "" {
			items = append(items, it)
		}
	}
	after.Items = items
	return after, nil
}

func (c *torn) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	if c.refuse != nil {
		return nil, c.refuse
	}
	return c.Client.DeleteItem(ctx, in, opts...)
}

// The query finds the current item, and the copy that a delete makes of it meanwhile. The state before the delete is a past
// one then.
func TestList_HasNoGapWhereADeleteMeetsItsRead(t *testing.T) {
	t.Parallel()
	for _, opts := range [][]versioned.ListOption{nil, {entity.Desc()}, {versioned.WithCurrent()}} {
		l := open(t)
		_, quiet := store[Kept](l)
		_, err := quiet.Create(t.Context(), Kept{ID: "a"})
		require.NoError(t, err)
		_, err = quiet.Put(t.Context(), Kept{ID: "a", Email: "a@b.c"})
		require.NoError(t, err)
		client := &torn{Client: l.Raw, during: []func(){func() { require.NoError(t, quiet.Delete(t.Context(), Kept{ID: "a"})) }}}
		past := entity.Must(versioned.Of(entity.Must(entity.New[Kept](l.Bench.Open(client)))))
		states, err := past.List(Kept{ID: "a"}, opts...).Collect(t.Context())
		require.NoError(t, err)
		numbers := []int64{}
		for _, v := range states {
			numbers = append(numbers, v.Number)
		}
		require.ElementsMatch(t, []int64{1, 2, 3}, numbers)
	}
}

// Reserved keeps the unique values of deleted items, and no versions.
type Reserved struct {
	_ entity.Key           `name:"Reserved" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID    string `dynamodbav:"id"`
	Email string `dynamodbav:"email"`
}

// Before and after the delete a create is refused. It is in between, too.
func TestCreate_IsRefusedWhereADeleteFollowsItsRead(t *testing.T) {
	t.Parallel()
	l := open(t)
	_, quiet := store[Reserved](l)
	_, err := quiet.Create(t.Context(), Reserved{ID: "a", Email: "a@b.c"})
	require.NoError(t, err)
	remove := func() { require.NoError(t, quiet.Delete(t.Context(), Reserved{ID: "a"})) }
	s := entity.Must(entity.New[Reserved](l.Bench.Open(&torn{Client: l.Raw, then: remove})))
	_, err = s.Create(t.Context(), Reserved{ID: "a", Email: "d@e.f"})
	require.ErrorIs(t, err, entity.ErrExists)
	require.Len(t, l.Items(), 2) // the copy and its value
}
