package reading_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

var statuses = []string{"blocked", "done", "new", "open", "waiting"}

// spread stores n tasks of random statuses and ranks.
func (l *lab) spread(t *testing.T, n int) {
	random := seeded(t)
	var all []task
	for i := range n {
		all = append(all, task{
			Project: fmt.Sprint("p", random.IntN(4)), ID: i, Status: statuses[random.IntN(len(statuses))], Rank: random.IntN(12), Owner: fmt.Sprint("o", random.IntN(3)),
			Title: fmt.Sprint("title ", i%2), Points: i, Body: "body",
		})
	}
	l.put(all...)
	l.Wire.Reset()
}

// some returns partitions of the index by status.
func some(names ...string) (partitions []task) {
	for _, name := range names {
		partitions = append(partitions, task{Status: name})
	}
	return partitions
}

// merged is the model of QueryAny: the queries of the partitions, sorted by rank and status.
func (l *lab) merged(names []string, desc bool, opts ...entity.QueryOption) []int {
	l.T.Helper()
	var all []task
	for _, name := range names {
		part := entity.Must(l.byStatus.Query(task{Status: name}, opts...).Collect(l.Ctx))
		for i := range part {
			part[i].Status = name
		}
		all = append(all, part...)
	}
	slices.SortStableFunc(all, func(a, b task) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Status, b.Status)) })
	if desc {
		slices.Reverse(all)
	}
	return ids(all)
}

func TestQueryAny_ReadsPartitionsInOneOrder(t *testing.T) {
	l := newLab(t)
	l.spread(t, 60)
	e := entity.Fields[task]()
	for _, names := range [][]string{{"open", "blocked"}, {"waiting", "new", "done", "none", "open", "blocked"}, {"none", "nobody"}} {
		for _, desc := range []bool{false, true} {
			opts := []entity.QueryOption{}
			if desc {
				opts = append(opts, entity.Desc())
			}
			want, q := l.merged(names, desc), l.byStatus.QueryAny(some(names...), opts...)
			require.Equal(t, want, l.collect(q), "%v %v", names, desc)
			n := entity.Must(q.Count(l.Ctx))
			require.Equal(t, len(want), n)
			first, err := q.First(l.Ctx)
			if len(want) == 0 {
				require.ErrorIs(t, err, entity.ErrNotFound)
				continue
			}
			require.Equal(t, want[0], first.ID)
			require.ErrorIs(t, dbtest.ErrorOf(q.One(l.Ctx)), entity.ErrMultipleItems)
			few := l.byStatus.QueryAny(some(names...), append(opts, entity.Limit(7))...)
			require.Equal(t, want[:7], l.collect(few))
			n = entity.Must(few.Count(l.Ctx))
			require.Equal(t, 7, n)
			ranged := l.byStatus.QueryAny(some(names...), append(opts, entity.Ge(&e.Rank, 3), entity.Le(&e.Rank, 8))...)
			require.Equal(t, l.merged(names, desc, entity.Ge(&e.Rank, 3), entity.Le(&e.Rank, 8)), l.collect(ranged))
		}
	}
	whole := entity.Must(l.byStatus.QueryAny(some("open", "new"), entity.Hydrate(), entity.Filter(entity.Lt(&e.Points, 60))).Collect(l.Ctx))
	require.Equal(t, l.merged([]string{"open", "new"}, false, entity.Hydrate(), entity.Filter(entity.Lt(&e.Points, 60))), ids(whole))
	require.Equal(t, "body", whole[0].Body)
	require.Equal(t, l.collect(l.byStatus.QueryAny(some("open", "new"))), l.collect(l.byStatus.QueryAny(some("new", "open"))), "the order of partitions does not matter")
}

func TestQueryAny_Refuses(t *testing.T) {
	l, many := newLab(t), make([]task, 101)
	for i := range many {
		many[i].Status = fmt.Sprint("s", i)
	}
	for _, c := range []struct {
		q    entity.Query[task]
		code string
	}{
		{l.byStatus.QueryAny(nil), "EDD-9166"},
		{l.byStatus.QueryAny(many), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done", "open")), "EDD-9166"},
		{l.byStatus.QueryAny([]task{{Status: "open"}, {Status: "open", Rank: 3}}), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done"), entity.MaxRequests(1)), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "done"), entity.MaxEvaluated(1)), "EDD-9166"},
		{l.byStatus.QueryAny(some("open", "")), "EDD-9101"},
		{l.byStatus.QueryAny(some("open"), entity.Limit(0)), "EDD-9108"},
		{l.tasks.QueryAny([]task{{Project: "p"}}, entity.Hydrate()), "EDD-9165"},
		{new(entity.Index[task]).QueryAny(some("open")), "EDD-9160"},
	} {
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.Collect(l.Ctx))), c.q)
		require.Contains(t, c.q.String(), c.code)
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.Page(l.Ctx, ""))))
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.First(l.Ctx))))
		require.Equal(t, c.code, dbtest.InputCode(dbtest.ErrorOf(c.q.Count(l.Ctx))))
	}
	q := l.byStatus.QueryAny(some("open", "done"))
	var all []task
	require.Equal(t, "EDD-9127", dbtest.InputCode(l.DB.GetCollection(l.Ctx, q.Into(&all))))
	require.Equal(t, "EDD-9108", dbtest.InputCode(dbtest.ErrorOf(entity.Project[struct {
		ID int `dynamodbav:"id"`
	}](q).Collect(l.Ctx))))
	require.Empty(t, l.Operations())

	l.spread(t, 60) // at least four in two of five statuses, whatever the seed
	page := l.page(l.byStatus.QueryAny(some("open", "done"), entity.Limit(2)), "")
	for _, other := range []entity.Query[task]{l.byStatus.QueryAny(some("open", "new")), l.byStatus.QueryAny(some("open")), l.byStatus.Query(task{Status: "open"})} {
		require.ErrorIs(t, dbtest.ErrorOf(other.Page(l.Ctx, page.Next)), entity.ErrInvalidCursor)
	}
	require.Len(t, l.page(l.byStatus.QueryAny(some("done", "open"), entity.Limit(2)), page.Next).Items, 2, "the order of partitions does not matter")
	ctx, stop := context.WithCancel(l.Ctx)
	for _, err := range q.All(ctx) {
		require.NoError(t, err)
		break
	}
	stop()
	require.ErrorIs(t, dbtest.ErrorOf(q.Collect(ctx)), context.Canceled)
}

// Each partition is asked for its share, and not again unless more of it is needed.
func TestQueryAny_ReadsNoMoreThanItNeeds(t *testing.T) {
	l := newLab(t)
	var all []task
	for i := range 40 {
		all = append(all, task{Project: fmt.Sprint("p", i%4), ID: i})
	}
	l.put(all...)
	l.Wire.Reset()
	q := l.tasks.QueryAny([]task{{Project: "p0"}, {Project: "p1"}, {Project: "p2"}, {Project: "p3"}}, entity.Limit(8))
	require.Len(t, l.page(q, "").Items, 8)
	sent := l.Sent()
	require.Len(t, sent, 4)
	for _, r := range sent {
		require.Contains(t, string(r.Body), `"Limit":3`)
	}
}

// mixed stores tasks and errands of one owner, whose ranks alternate and repeat, and returns their places in the index.
func (l *lab) mixed(t *testing.T) (order []string) {
	l.fill(12)
	for i := range 8 {
		l.OK(l.errands.Create(l.Ctx, errand{ID: fmt.Sprint("e", i), Owner: "ada", Rank: i / 2}))
	}
	l.OK(l.errands.Create(l.Ctx, errand{ID: "other", Owner: "bob", Rank: 1}))
	out := entity.Must(l.Raw.Query(l.Ctx, &dynamodb.QueryInput{
		TableName: &l.Table, IndexName: aws.String("gsi2"), KeyConditionExpression: aws.String("gsi2pk = :p"),
		ExpressionAttributeValues: dbtest.Item{":p": dbtest.S("OWNER#ada")},
	}))
	for _, it := range out.Items {
		pk, sk := l.KeyOf(it)
		order = append(order, pk+" "+sk)
	}
	l.Wire.Reset()
	return order
}

func taskPlace(v task) string     { return fmt.Sprintf("$r#v1#task#%s $r#v1#task#%019d", v.Project, v.ID) }
func errandPlace(v errand) string { return "$r#v1#errand#" + v.ID + " $r#v1#errand" }

func TestGetCollection_VisitsEveryTypeInTheOrderOfTheKey(t *testing.T) {
	l := newLab(t)
	want := l.mixed(t)
	require.Len(t, want, 20)
	errands, e := entity.Must(l.errands.Index("byOwner")), entity.Fields[task]()
	var seen []string
	task1 := func(v task) error { seen = append(seen, taskPlace(v)); return nil }
	errand1 := func(v errand) error { seen = append(seen, errandPlace(v)); return nil }
	require.NoError(t, l.DB.GetCollection(l.Ctx, l.byOwner.Query(task{Owner: "ada"}).Visit(task1), errands.Query(errand{Owner: "ada"}).Visit(errand1)))
	require.Equal(t, want, seen)
	require.Equal(t, []string{"Query"}, l.Operations(), "one pass")

	seen = nil
	require.NoError(t, l.DB.GetCollection(l.Ctx, l.byOwner.Query(task{Owner: "ada"}, entity.Desc()).Visit(task1), errands.Query(errand{Owner: "ada"}, entity.Desc()).Visit(errand1)))
	require.Len(t, seen, 20)
	for i, place := range seen {
		require.Equal(t, want[len(want)-1-i], place)
	}

	// Each query keeps its own bounds, and an item can go to several.
	counts := [3]int{}
	require.NoError(t, l.DB.GetCollection(l.Ctx,
		l.byOwner.Query(task{Owner: "ada"}, entity.Limit(3)).Visit(func(task) error { counts[0]++; return nil }),
		l.byOwner.Query(task{Owner: "ada"}, entity.Ge(&e.Rank, 2), entity.Filter(entity.Eq(&e.Title, "title 1"))).Visit(func(v task) error { counts[1]++; return nil }),
		errands.Query(errand{Owner: "ada"}, entity.Limit(1)).Visit(func(errand) error { counts[2]++; return nil }),
	))
	require.Equal(t, [3]int{3, 3, 1}, counts)
}

// stopping does not decode. Its error is the one with which a Visit ends a collection.
type stopping string

func (*stopping) UnmarshalDynamoDBAttributeValue(types.AttributeValue) error { return entity.ErrStop }

type halt struct {
	_ entity.Key `name:"Halt" pk:"$#{id}" sk:"$"`

	ID   string   `dynamodbav:"id"`
	Text stopping `dynamodbav:"text"`
}

// What one entity has in a partition of the table is read together with its neighbours.
func TestGetCollection_EndsWithAnErrorOrWithErrStop(t *testing.T) {
	l := newLab(t)
	l.mixed(t)
	failure, n, q := errors.New("enough"), 0, l.byOwner.Query(task{Owner: "ada"})
	err := l.DB.GetCollection(l.Ctx, q.Visit(func(task) error {
		if n++; n == 4 {
			return failure
		}
		return nil
	}))
	require.ErrorIs(t, err, failure)
	verb := dbtest.As[*entity.Error](t, err)
	require.Equal(t, []string{"GetCollection", "Task"}, []string{verb.Verb, verb.Entity})
	require.Equal(t, 4, n)
	n = 0
	var before []task
	unchanged := []task{{ID: 7}}
	require.NoError(t, l.DB.GetCollection(l.Ctx, q.Into(&before), q.Visit(func(task) error {
		if n++; n == 2 {
			return fmt.Errorf("as asked: %w", entity.ErrStop)
		}
		return nil
	})))
	require.Equal(t, 2, n)
	require.Len(t, before, 2, "a slice gets the items up to there")
	require.ErrorIs(t, l.DB.GetCollection(l.Ctx, q.Into(&unchanged), q.Visit(func(task) error { return failure })), failure)
	require.Equal(t, []task{{ID: 7}}, unchanged)

	halts := dbtest.Declare[halt](t, l.DB)
	l.OK(halts.PutMany(l.Ctx, []halt{{ID: "a", Text: "x"}}, entity.Unconditional()))
	same := []halt{{ID: "b"}}
	dbtest.As[*entity.DecodeError](t, l.DB.GetCollection(l.Ctx, halts.Query(halt{ID: "a"}).Into(&same)), "only the function of a Visit ends it")
	require.Equal(t, []halt{{ID: "b"}}, same)
}

func TestGetCollection_RefusesPartsWithFunctions(t *testing.T) {
	l, other := newLab(t), newLab(t)
	visit := func(task) error { return nil }
	for _, c := range []struct {
		code  string
		parts []entity.CollectionPart
	}{
		{"EDD-9127", nil},
		{"EDD-9127", []entity.CollectionPart{l.byOwner.Query(task{Owner: "ada"}).Visit(nil)}},
		{"EDD-9127", []entity.CollectionPart{l.tasks.Scan().Visit(visit)}},
		{"EDD-9127", []entity.CollectionPart{l.byOwner.QueryAny([]task{{Owner: "ada"}}).Visit(visit)}},
		{"EDD-9114", []entity.CollectionPart{nil}},
		{"EDD-9114", []entity.CollectionPart{other.byOwner.Query(task{Owner: "ada"}).Visit(visit)}},
		{"EDD-9126", []entity.CollectionPart{l.byOwner.Query(task{Owner: "ada"}).Visit(visit), l.byOwner.Query(task{Owner: "bob"}).Visit(visit)}},
		{"EDD-9108", []entity.CollectionPart{l.byOwner.Query(task{Owner: "ada"}, entity.MaxRequests(3)).Visit(visit)}},
		{"EDD-9165", []entity.CollectionPart{l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate()).Visit(visit)}},
		{"EDD-9101", []entity.CollectionPart{l.byOwner.Query(task{}).Visit(visit)}},
	} {
		require.Equal(t, c.code, dbtest.InputCode(l.DB.GetCollection(l.Ctx, c.parts...)))
	}
	require.Empty(t, l.Operations())
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

// The previous page ends right before the first item of the page, whatever was written in between.
func TestPrev_IsExactWhileItemsComeAndGo(t *testing.T) {
	random, l := seeded(t), newLab(t)
	for range rounds {
		project, there := string(rune('a'+random.IntN(26))), map[int]bool{}
		set := func(id int, exists bool) {
			if there[id] = exists; exists {
				l.put(task{Project: project, ID: id})
			} else {
				l.OK(l.tasks.DeleteMany(l.Ctx, []task{{Project: project, ID: id}}, entity.Unconditional()))
				delete(there, id)
			}
		}
		before := entity.Must(l.tasks.Query(task{Project: project}).Collect(l.Ctx))
		for _, v := range before {
			there[v.ID] = true
		}
		for range 12 {
			set(1+random.IntN(60), true)
		}
		limit, desc := 1+random.IntN(4), random.IntN(2) == 0
		opts := []entity.QueryOption{entity.Limit(limit)}
		if desc {
			opts = append(opts, entity.Desc())
		}
		q := l.tasks.Query(task{Project: project}, opts...)
		page := l.page(q, "")
		for range random.IntN(4) {
			if page.Next != "" {
				page = l.page(q, page.Next)
			}
		}
		for page.Prev != "" && len(page.Items) > 0 {
			for range random.IntN(6) {
				set(1+random.IntN(60), random.IntN(2) == 0)
			}
			first := page.Items[0].ID
			var earlier []int // in the order of the query
			for id := range there {
				if desc && id > first || !desc && id < first {
					earlier = append(earlier, id)
				}
			}
			slices.Sort(earlier)
			if desc {
				slices.Reverse(earlier)
			}
			turned := l.page(q, page.Prev)
			if len(earlier) == 0 {
				require.Equal(t, l.page(q, ""), turned, "the first page")
				break
			}
			from := max(len(earlier)-limit, 0)
			require.Equal(t, earlier[from:], ids(turned.Items))
			require.Equal(t, from > 0, turned.Prev != "", "a page before the first item")
			page = turned
		}
	}
}

// Random turns of pages of random sizes under random bounds: each page is the next piece of the whole query in its direction.
func TestPrev_PagesOfAnySizeUnderAnyBoundAreTheQueryInPieces(t *testing.T) {
	random, l := seeded(t), newLab(t)
	l.fill(25)
	l.spread(t, 30)
	for i := range 4 {
		l.OK(l.errands.Create(l.Ctx, errand{ID: string(rune('a' + i)), Owner: "ada", Rank: 2 * i}))
	}
	e := entity.Fields[task]()
	type kind struct {
		parts int // the least bound
		of    func(...entity.QueryOption) entity.Query[task]
	}
	all := some(statuses...)
	filters := []entity.QueryOption{entity.Filter(entity.Ge(&e.Points, 12)), entity.Filter(entity.Eq(&e.Points, 7)), entity.Filter(entity.Eq(&e.Points, -1))}
	kinds := []kind{
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.tasks.Query(task{Project: "p"}, o...) }},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.Query(task{Project: "p"}, append(o, entity.Gt(&e.ID, 3), entity.Lt(&e.ID, 12))...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.Query(task{Project: "p", ID: 3}, o...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.tasks.Query(task{Project: "none"}, o...) }},
		{1, func(o ...entity.QueryOption) entity.Query[task] {
			return l.byStatus.Query(task{Status: "open"}, append(o, entity.Hydrate())...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { // errands are in it too
			return l.byOwner.Query(task{Owner: "ada"}, append(o, entity.Hydrate())...)
		}},
		{1, func(o ...entity.QueryOption) entity.Query[task] { return l.byTitle.Query(task{Title: "title 1"}, o...) }},
		{5, func(o ...entity.QueryOption) entity.Query[task] {
			return l.byStatus.QueryAny(all, append(o, entity.Hydrate())...)
		}},
		{3, func(o ...entity.QueryOption) entity.Query[task] {
			return l.tasks.QueryAny([]task{{Project: "p"}, {Project: "p1"}, {Project: "none"}}, o...)
		}},
	}
	for range testsize.Pick(1, 15) {
		for number, k := range kinds {
			fixed := []entity.QueryOption{}
			if random.IntN(2) == 0 {
				fixed = append(fixed, entity.Desc())
			}
			if number != 2 && random.IntN(2) == 0 {
				fixed = append(fixed, filters[random.IntN(len(filters))])
			}
			dbtest.Turn(t, random, k.parts, func(o ...entity.QueryOption) entity.Query[task] { return k.of(append(o, fixed...)...) })
		}
	}
}

// What going back costs: one request where one is enough.
func TestPrev_CostsOneRequest(t *testing.T) {
	l := newLab(t)
	l.fill(30)
	q := l.tasks.Query(task{Project: "p"}, entity.Limit(5))
	page := l.page(q, l.page(q, "").Next)
	l.Wire.Reset()
	first := l.page(q, page.Prev)
	require.Equal(t, []int{0, 1, 2, 3, 4}, ids(first.Items))
	require.Empty(t, first.Prev)
	sent := l.Sent()
	require.Len(t, sent, 1)
	require.Contains(t, string(sent[0].Body), `"Limit":6`)
	require.Contains(t, string(sent[0].Body), `"ScanIndexForward":false`)
}

func TestPrev_ScansHaveNone(t *testing.T) {
	l := newLab(t)
	l.fill(9)
	scan := l.tasks.Scan(entity.Limit(3))
	page := l.page(scan, l.page(scan, "").Next)
	require.NotEmpty(t, page.Items)
	require.Empty(t, page.Prev)
}

// A cursor works for its query only, in both directions.
func TestPrev_IsBoundToTheQuery(t *testing.T) {
	for _, key := range [][]byte{nil, []byte("0123456789abcdef")} {
		l := newLab(t, func(c *entity.Config) { c.CursorKey = key })
		l.fill(9)
		q := l.byStatus.Query(task{Status: "open"}, entity.Limit(3))
		page := l.page(q, l.page(q, "").Next)
		l.Wire.Reset()
		for _, other := range []entity.Query[task]{
			l.byStatus.Query(task{Status: "done"}, entity.Limit(3)), l.byStatus.Query(task{Status: "open"}, entity.Desc()), l.tasks.Query(task{Project: "p"}), l.tasks.Scan(),
		} {
			_, err := other.Page(l.Ctx, page.Prev)
			require.ErrorIs(t, err, entity.ErrInvalidCursor)
			require.Empty(t, dbtest.InputCode(err))
		}
		require.Empty(t, l.Operations())
		require.Len(t, l.page(l.byStatus.Query(task{Status: "open"}, entity.Limit(2)), page.Prev).Items, 2, "the size of a page can change")
	}
}
