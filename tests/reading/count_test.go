package reading_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

type counted struct {
	_ entity.Key `name:"Counted" pk:"$#{team}" sk:"$#{id}"`

	Team string `dynamodbav:"team"`
	ID   string `dynamodbav:"id"`
}

// A Count with a Limit evaluates no more items than it needs.
func TestCount_WithALimitReadsNoMoreThanThat(t *testing.T) {
	t.Parallel()
	b, lists := dbtest.OpenStore[counted](t)
	ctx := t.Context()
	for i := range 30 {
		entity.Must(lists.Create(ctx, counted{Team: []string{"red", "blue"}[i%2], ID: fmt.Sprint("d", i)}))
	}
	for name, c := range map[string]struct {
		q    entity.Query[counted]
		want []string // what each request evaluates
	}{
		"query":    {lists.Query(counted{Team: "red"}, entity.Limit(3)), []string{"3"}},
		"any":      {lists.QueryAny([]counted{{Team: "red"}, {Team: "blue"}}, entity.Limit(17)), []string{"17", "2"}},
		"segments": {lists.Scan(entity.Limit(3), entity.Segments(2)), []string{"25", "25"}},
	} {
		b.Wire.Reset()
		n := entity.Must(c.q.Count(ctx))
		var limits []string
		for _, r := range b.Sent() {
			limits = append(limits, string(regexp.MustCompile(`"Limit":(\d+)`).FindSubmatch(r.Body)[1]))
		}
		require.Equal(t, map[string]int{"query": 3, "any": 17, "segments": 3}[name], n)
		require.Subset(t, c.want, limits, name)
	}
}

// ending answers the first query as if more could follow the item with the key last.
type ending struct {
	entity.Client
	last    dbtest.Item
	queries int
}

func (c *ending) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out, err := c.Client.Query(ctx, in, opts...)
	if c.queries++; err == nil && c.queries == 1 {
		out.LastEvaluatedKey = c.last
	}
	return out, err
}

// DynamoDB refuses to go on at the end of a range, where an answer can end.
func TestRange_NothingIsAskedBeyondTheLastItem(t *testing.T) {
	t.Parallel()
	b, lists := dbtest.OpenStore[counted](t)
	for _, id := range []string{"a", "b", "c"} {
		entity.Must(lists.Create(b.Ctx, counted{Team: "red", ID: id}))
	}
	f, key := entity.Fields[counted](), dbtest.Item{}
	for _, it := range b.Items() {
		if pk, sk := b.KeyOf(it); strings.HasSuffix(sk, "#b") {
			key = b.Key(pk, sk)
		}
	}
	for name, read := range map[string]func(*entity.DB, entity.Query[counted]) (int, error){
		"Count": func(_ *entity.DB, q entity.Query[counted]) (int, error) { return q.Count(b.Ctx) },
		"Collect": func(_ *entity.DB, q entity.Query[counted]) (int, error) {
			all, err := q.Collect(b.Ctx)
			return len(all), err
		},
		"GetCollection": func(db *entity.DB, q entity.Query[counted]) (n int, err error) {
			err = db.GetCollection(b.Ctx, q.Visit(func(counted) error { n++; return nil }))
			return n, err
		},
	} {
		client := &ending{Client: b.Client, last: key}
		db := b.Open(client)
		n, err := read(db, dbtest.Declare[counted](t, db).Query(counted{Team: "red"}, entity.Le(&f.ID, "b")))
		require.NoError(t, err, name)
		require.Equal(t, []int{2, 1}, []int{n, client.queries}, name)
	}
}
