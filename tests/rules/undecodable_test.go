package rules_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

type readable struct {
	_ entity.Key `name:"Readable" pk:"$#{team}" sk:"$#{id}"`
	_ entity.GSI `name:"by" index:"gsi1" pk:"$#{team}" sk:"$#{id}" project:"keys"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	Team    string `dynamodbav:"team"`
	ID      string `dynamodbav:"id"`
	N       int    `dynamodbav:"n"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// corrupt gives items another type of n than the struct has.
func corrupt(b *dbtest.Bench, ids ...string) {
	b.T.Helper()
	for _, it := range b.Items() {
		for _, id := range ids {
			if dbtest.Text(it["id"]) == id {
				it["n"] = dbtest.S("secret text")
				b.PutItem(it)
			}
		}
	}
}

// names requires that an error names an item that does not decode by its key, and its attribute.
func names(t *testing.T, err error, id string) {
	t.Helper()
	require.Equal(t, "n", dbtest.As[*entity.DecodeError](t, err).Attr)
	require.Regexp(t, `sk="\$app#v1#readable#`+id, err.Error())
	require.NotContains(t, err.Error(), "secret")
}

// Every read of many items names the one that does not decode, and with SkipUndecodable reads all others.
func TestUndecodable_IsNamedAndSkippedByEveryReadOfMany(t *testing.T) {
	t.Parallel()
	b, docs := dbtest.OpenStore[readable](t)
	history, deleted, by := entity.Must(versioned.Of(docs)), entity.Must(lifecycle.Of(docs)), entity.Must(docs.Index("by"))
	f, ctx, red, skip := entity.Fields[readable](), t.Context(), readable{Team: "red"}, entity.SkipUndecodable()
	var keys []readable
	for i := range 7 {
		keys = append(keys, readable{Team: "red", ID: fmt.Sprint("d", i)})
		entity.Must(docs.Create(ctx, keys[i]))
	}
	entity.Must(docs.Update(ctx, keys[3], entity.Set(&f.N, 1)))
	entity.Must(docs.Update(ctx, keys[3], entity.Set(&f.N, 2)))
	corrupt(b, "d3")
	for name, q := range map[string]func(...entity.ReadOption) entity.Query[readable]{
		"query": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.Query(red, eachAs[entity.QueryOption](o)...)
		},
		"any": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.QueryAny([]readable{red, {Team: "blue"}}, eachAs[entity.QueryOption](o)...)
		},
		"hydrated": func(o ...entity.ReadOption) entity.Query[readable] {
			return by.Query(red, append(eachAs[entity.QueryOption](o), entity.Hydrate())...)
		},
		"scan": func(o ...entity.ReadOption) entity.Query[readable] { return docs.Scan(eachAs[entity.ScanOption](o)...) },
		"segments": func(o ...entity.ReadOption) entity.Query[readable] {
			return docs.Scan(append(eachAs[entity.ScanOption](o), entity.Segments(3))...)
		},
	} {
		all, err := q().Collect(ctx)
		names(t, err, "d3")
		require.Empty(t, all, name)
		page, err := q().Page(ctx, "")
		names(t, err, "d3")
		require.Zero(t, page, "%s: neither items nor a cursor beyond them", name)

		all, err = q(skip).Collect(ctx)
		require.ErrorIs(t, err, entity.ErrUndecodable, name)
		names(t, err, "d3")
		require.Len(t, all, 6, name)
		page, err = q(skip).Page(ctx, "")
		require.ErrorIs(t, err, entity.ErrUndecodable, name)
		require.Len(t, page.Items, 6, name)
		n, last := 0, error(nil)
		for _, err := range q(skip).All(ctx) {
			if last = err; err == nil {
				n++
			}
		}
		require.ErrorIs(t, last, entity.ErrUndecodable, name)
		require.Equal(t, 6, n, name)
	}
	// Pages go on, and each reports what it left out.
	q, cursor, got := docs.Query(red, entity.Limit(2), skip), "", 0
	for {
		page, err := q.Page(ctx, cursor)
		require.Equal(t, cursor != "" && got == 2, errors.Is(err, entity.ErrUndecodable))
		if got += len(page.Items); page.Next == "" {
			break
		}
		cursor = page.Next
	}
	require.Equal(t, 6, got)

	many, err := docs.GetMany(ctx, keys)
	names(t, err, "d3")
	require.Nil(t, many)
	many, err = docs.GetMany(ctx, keys, skip)
	names(t, err, "d3")
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Nil(t, many[3])
	require.Equal(t, "d4", many[4].ID)

	bad, good := keys[3], keys[4]
	good.N = 9
	found, err := b.DB.BatchGet(ctx, docs.Op().GetInto(&bad, skip), docs.Op().GetInto(&good, skip))
	names(t, err, "d3")
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Equal(t, []bool{false, true}, found)
	require.Zero(t, good.N)
	names(t, dbtest.ErrorOf(b.DB.BatchGet(ctx, docs.Op().GetInto(&bad))), "d3")
	names(t, b.DB.TransactGet(ctx, docs.Op().GetInto(&bad), docs.Op().GetInto(&good)), "d3")
	var into []readable
	names(t, b.DB.GetCollection(ctx, docs.Query(red).Into(&into)), "d3")
	require.Equal(t, "EDD-9108", dbtest.InputCode(b.DB.GetCollection(ctx, docs.Query(red, skip).Into(&into))))
	names(t, b.DB.GetCollection(ctx, docs.Query(red).Visit(func(readable) error { return nil })), "d3")

	names(t, dbtest.ErrorOf(history.List(keys[3]).Collect(ctx)), "d3#v#0000001")
	states, err := history.List(keys[3], skip).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Empty(t, states)
	require.NoError(t, docs.Delete(ctx, keys[4]))
	corrupt(b, "d4")
	names(t, dbtest.ErrorOf(deleted.Query(red).Collect(ctx)), "d4#deleted#")
	copies, err := deleted.Query(red, skip).Collect(ctx)
	require.ErrorIs(t, err, entity.ErrUndecodable)
	require.Empty(t, copies)
}

// eachAs returns options as those of another family.
func eachAs[O any](opts []entity.ReadOption) (all []O) {
	for _, o := range opts {
		all = append(all, any(o).(O))
	}
	return all
}

type sample struct {
	_ entity.Key        `name:"Readable" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID string `dynamodbav:"id"`
	At int    `dynamodbav:"at"`
	N  int    `dynamodbav:"n" entity:"append"`
}

// The error of a read wraps the first errors and counts the others.
func TestUndecodable_TheErrorIsBounded(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	samples := entity.Must(timeseries.New[sample](b.DB))
	b.CreateTables()
	for i := range 30 {
		b.OK(samples.Append(t.Context(), sample{ID: "s", At: i + 1}))
	}
	corrupt(b, "s")
	names(t, dbtest.ErrorOf(samples.History(sample{ID: "s"}).Collect(t.Context())), "e#")
	_, err := samples.History(sample{ID: "s"}, entity.SkipUndecodable()).Collect(t.Context())
	require.ErrorContains(t, err, "items that cannot be decoded were left out: 30, of which the first are: item ")
	joined := dbtest.As[interface{ Unwrap() []error }](t, err)
	require.Len(t, joined.Unwrap()[1].(interface{ Unwrap() []error }).Unwrap(), 20)
}

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
