// Package reading_test is about reads of many items: whole items by an index, pages in both directions, several partitions in
// one order, several entities in one iteration, and clients for reads; and about the codecs that Config.Codec chooses from, as clients and middleware meet them.
package reading_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/expression"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// task is in indexes that carry keys only, some attributes, and everything. Several tasks can have one rank.
type task struct {
	_ entity.Key    `name:"Task" pk:"$#{project}" sk:"$#{id}"`
	_ entity.GSI    `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}" project:"keys"`
	_ entity.GSI    `name:"byOwner" index:"gsi2" pk:"gsi2pk=OWNER#{owner}" sk:"gsi2sk={rank}" project:"title"`
	_ entity.GSI    `name:"byTitle" index:"gsi3" pk:"$#{title}" sk:"$#{rank}"`
	_ lifecycle.TTL `attr:"_ttl" from:"seen" after:"1h"`

	Project string    `dynamodbav:"project"`
	ID      int       `dynamodbav:"id" entity:"zero"`
	Status  string    `dynamodbav:"status,omitempty"`
	Rank    int       `dynamodbav:"rank" entity:"zero"`
	Owner   string    `dynamodbav:"owner,omitempty"`
	Title   string    `dynamodbav:"title,omitempty"`
	Points  int       `dynamodbav:"points,omitempty"`
	Body    string    `dynamodbav:"body,omitempty"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
}

// errand shares the index gsi2 with tasks.
type errand struct {
	_ entity.Key `name:"Errand" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byOwner" index:"gsi2" pk:"gsi2pk=OWNER#{owner}" sk:"gsi2sk={rank}" project:"title"`

	ID    string `dynamodbav:"id"`
	Owner string `dynamodbav:"owner,omitempty"`
	Rank  int    `dynamodbav:"rank" entity:"zero"`
	Title string `dynamodbav:"title,omitempty"`
}

type lab struct {
	*dbtest.Bench
	tasks                      *entity.Store[task]
	errands                    *entity.Store[errand]
	byStatus, byOwner, byTitle *entity.Index[task]
}

// newLab opens a table for a test that runs in parallel with others.
func newLab(t testing.TB, configure ...func(*entity.Config)) *lab {
	t.Helper()
	dbtest.Parallel(t)
	l := &lab{Bench: dbtest.Open(t, append([]func(*entity.Config){func(c *entity.Config) { c.Namespace.Name = "r" }}, configure...)...)}
	l.open(l.DB)
	l.CreateTables()
	return l
}

// open declares the entities on db.
func (l *lab) open(db *entity.DB) {
	l.tasks, l.errands = dbtest.Declare[task](l.T, db), dbtest.Declare[errand](l.T, db)
	l.byStatus, l.byOwner, l.byTitle = entity.Must(l.tasks.Index("byStatus")), entity.Must(l.tasks.Index("byOwner")), entity.Must(l.tasks.Index("byTitle"))
}

// put stores tasks.
func (l *lab) put(tasks ...task) {
	l.T.Helper()
	l.OK(l.tasks.PutMany(l.Ctx, tasks, entity.Unconditional()))
}

// fill stores n tasks of status open and one owner, whose ranks repeat three times each.
func (l *lab) fill(n int) []task {
	l.T.Helper()
	var all []task
	for i := range n {
		all = append(all, task{Project: "p", ID: i, Status: "open", Rank: i / 3, Owner: "ada", Title: fmt.Sprint("title ", i%2), Points: i, Body: "body"})
	}
	l.put(all...)
	l.Wire.Reset()
	return all
}

func ids(tasks []task) []int {
	var all []int
	for _, v := range tasks {
		all = append(all, v.ID)
	}
	return all
}

// collect returns the ids of what a query gives.
func (l *lab) collect(q entity.Query[task]) []int {
	l.T.Helper()
	all, err := q.Collect(l.Ctx)
	require.NoError(l.T, err, q)
	return ids(all)
}

// page returns a page of a query.
func (l *lab) page(q entity.Query[task], cursor string) entity.Page[task] {
	l.T.Helper()
	page, err := q.Page(l.Ctx, cursor)
	require.NoError(l.T, err, q)
	return page
}

// seeded returns a source of random numbers, whose seed it logs.
func seeded(t *testing.T) *rand.Rand { t.Helper(); return rand.New(rand.NewPCG(testsize.Seed(t), 0)) }

// rounds is how often random tests try.
var rounds = testsize.Pick(3, 60)

// sorted returns a sorted copy.
func sorted(all []int) []int { return slices.Sorted(slices.Values(all)) }

func TestHydrate_ReturnsWholeItemsInTheOrderOfTheIndex(t *testing.T) {
	l := newLab(t)
	stored := l.fill(201)
	l.OK(l.errands.Create(l.Ctx, errand{ID: "e", Owner: "ada", Rank: 5, Title: "milk"}))
	l.Wire.Reset()
	byEntry := entity.Must(l.byStatus.Query(task{Status: "open"}).Collect(l.Ctx))
	require.Empty(t, byEntry[0].Body, "the index carries keys only")
	l.Wire.Reset()
	for name, q := range map[string]entity.Query[task]{
		"keys":       l.byStatus.Query(task{Status: "open"}, entity.Hydrate()),
		"some":       l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate()),
		"descending": l.byStatus.Query(task{Status: "open"}, entity.Desc(), entity.Hydrate()),
	} {
		all, err := q.Collect(l.Ctx)
		require.NoError(t, err, name)
		require.Len(t, all, len(stored), name)
		for i, v := range all {
			require.Equal(t, stored[v.ID], v, name)
			if i > 0 && name != "descending" {
				require.LessOrEqual(t, all[i-1].Rank, v.Rank, name)
			}
		}
		if name == "keys" {
			require.Equal(t, ids(byEntry), ids(all))
		}
		require.Equal(t, []string{"Query", "BatchGetItem", "BatchGetItem", "BatchGetItem"}, l.Operations(), name)
	}
	scanned := entity.Must(l.byStatus.Scan(entity.Hydrate()).Collect(l.Ctx))
	require.Len(t, scanned, 201)
	require.Equal(t, "body", scanned[7].Body)
	parallel := entity.Must(l.byStatus.Scan(entity.Hydrate(), entity.Segments(3)).Collect(l.Ctx))
	require.Equal(t, sorted(ids(scanned)), sorted(ids(parallel)))
	require.Equal(t, "body", parallel[7].Body)
}

// Every way to run a query reads whole items, and no more batches than it needs.
func TestHydrate_WorksWithEveryWayToRunAQuery(t *testing.T) {
	l := newLab(t)
	stored := l.fill(101)
	q := l.byStatus.Query(task{Status: "open"}, entity.Hydrate())
	first := entity.Must(q.First(l.Ctx))
	require.Equal(t, stored[first.ID], first)
	require.ErrorIs(t, dbtest.ErrorOf(q.One(l.Ctx)), entity.ErrMultipleItems)
	l.Wire.Reset()
	n := entity.Must(q.Count(l.Ctx))
	require.Equal(t, 101, n)
	require.Equal(t, []string{"Query", "BatchGetItem", "BatchGetItem"}, l.Operations())
	n = entity.Must(l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Limit(7)).Count(l.Ctx))
	require.Equal(t, 7, n)
	l.Wire.Reset()
	for range q.All(l.Ctx) {
		break
	}
	require.Equal(t, []string{"Query", "BatchGetItem"}, l.Operations(), "one batch at a time")

	whole := l.collect(q)
	for _, opts := range [][]entity.QueryOption{nil, {entity.Limit(30)}, {entity.Limit(100)}, {entity.MaxRequests(1)}, {entity.MaxEvaluated(30)}} {
		paged := l.byStatus.Query(task{Status: "open"}, append(opts, entity.Hydrate())...)
		var all []task
		for _, page := range dbtest.Pages(t, paged) {
			all = append(all, page...)
		}
		require.Equal(t, whole, ids(all), paged)
		require.Equal(t, "body", all[3].Body)
	}
	l.Wire.Reset()
	require.Len(t, l.page(l.byStatus.Query(task{Status: "open"}, entity.Limit(20), entity.Hydrate()), "").Items, 20)
	require.Equal(t, []string{"Query", "BatchGetItem"}, l.Operations())

	type small struct {
		ID   int    `dynamodbav:"id"`
		Body string `dynamodbav:"body"`
	}
	some := entity.Must(entity.Project[small](q).Collect(l.Ctx))
	require.Equal(t, small{ID: whole[9], Body: "body"}, some[9])
}

// What was written between the two reads is not returned under an entry that it no longer has.
func TestHydrate_LeavesOutWhatNoLongerStandsBehindTheEntry(t *testing.T) {
	l := newLab(t)
	l.fill(6)
	l.put(task{Project: "p", ID: 4, Status: "open", Rank: 1, Seen: l.Clock.Now()})
	l.Wire.Reset()
	e := entity.Fields[task]()
	var got []task
	err := l.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() (err error) {
		got, err = l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Consistent()).Collect(l.Ctx)
		return err
	}, func() {
		l.OK(l.tasks.Delete(l.Ctx, task{Project: "p", ID: 0}))
		l.OK(l.tasks.Update(l.Ctx, task{Project: "p", ID: 1}, entity.Set(&e.Status, "done")))
		l.OK(l.tasks.Update(l.Ctx, task{Project: "p", ID: 2}, entity.Set(&e.Rank, 9)))
		l.OK(l.tasks.Update(l.Ctx, task{Project: "p", ID: 3}, entity.Set(&e.Body, "new")))
		l.Clock.Move(2 * time.Hour) // 4 expires
	})
	require.NoError(t, err)
	require.ElementsMatch(t, []int{3, 5}, ids(got))
	for _, v := range got {
		require.Equal(t, map[int]string{3: "new", 5: "body"}[v.ID], v.Body)
	}
	reads := l.Sent()
	require.Equal(t, "BatchGetItem", reads[1].Operation)
	require.Contains(t, string(reads[1].Body), `"ConsistentRead":true`)
	require.NotContains(t, string(reads[0].Body), `"ConsistentRead":true`)

	hidden := l.byStatus.Query(task{Status: "open"}, entity.Hydrate())
	require.NotContains(t, l.collect(hidden), 4)
	require.Contains(t, l.collect(l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.IncludeExpired())), 4)
}

// A page has as many items as asked for although some entries have none.
func TestHydrate_PagesAreFullAlthoughItemsVanish(t *testing.T) {
	l := newLab(t)
	l.fill(40)
	var page entity.Page[task]
	err := l.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() (err error) {
		page, err = l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Limit(10)).Page(l.Ctx, "")
		return err
	}, func() {
		for i := range 9 {
			l.OK(l.tasks.Delete(l.Ctx, task{Project: "p", ID: i}))
		}
	})
	require.NoError(t, err)
	require.Len(t, page.Items, 10)
	rest := l.page(l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Limit(50)), "").Items
	require.Len(t, rest, 31)
}

// DynamoDB filters the entries by what they carry; whole items are filtered in memory.
func TestHydrate_FiltersByEveryAttribute(t *testing.T) {
	l := newLab(t)
	l.fill(30)
	e := entity.Fields[task]()
	q := l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate(), entity.Filter(entity.Eq(&e.Title, "title 1")), entity.Filter(entity.Ge(&e.Points, 10), entity.Lt(&e.Points, 20)))
	require.Equal(t, []int{11, 13, 15, 17, 19}, sorted(l.collect(q)))
	sent := l.Sent()
	require.Contains(t, string(sent[0].Body), "title")
	require.NotContains(t, string(sent[0].Body), "points", "the index does not carry it")
	require.Len(t, sent, 2)
	text := q.String()
	require.Contains(t, text, "then   read the whole items, keep ")
	require.Contains(t, text, "points")

	require.Equal(t, 5, entity.Must(q.Count(l.Ctx)))
	var all []int
	for _, page := range dbtest.Pages(t, l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate(), entity.Limit(2), entity.Filter(entity.Ge(&e.Points, 10)))) {
		all = append(all, ids(page)...)
	}
	require.Len(t, all, 20)
	require.Len(t, entity.Must(l.byOwner.Scan(entity.Hydrate(), entity.Filter(entity.Ge(&e.Points, 25))).Collect(l.Ctx)), 5)
}

func TestHydrate_RefusesWhereItMakesNoSense(t *testing.T) {
	l := newLab(t)
	for code, queries := range map[string][]entity.Query[task]{
		"EDD-9165": {
			l.tasks.Query(task{Project: "p"}, entity.Hydrate()), l.tasks.Scan(entity.Hydrate()), l.byTitle.Query(task{Title: "x"}, entity.Hydrate()), l.byTitle.Scan(entity.Hydrate()),
		},
		"EDD-9140": {l.byStatus.Query(task{Status: "open"}, entity.Hydrate(), entity.Filter(entity.Where(expression.Name("title").Size().GreaterThan(expression.Value(2)))))},
		"EDD-9108": {l.byStatus.Query(task{Status: "open"}, entity.Consistent())},
	} {
		for _, q := range queries {
			require.Equal(t, code, dbtest.InputCode(dbtest.ErrorOf(q.Collect(l.Ctx))), q)
			require.Equal(t, code, dbtest.InputCode(dbtest.ErrorOf(q.Count(l.Ctx))), q)
			require.Equal(t, code, dbtest.InputCode(dbtest.ErrorOf(q.Page(l.Ctx, ""))), q)
		}
	}
	var all []task
	require.Equal(t, "EDD-9165", dbtest.InputCode(l.DB.GetCollection(l.Ctx, l.byOwner.Query(task{Owner: "ada"}, entity.Hydrate()).Into(&all))))
	require.Empty(t, l.Operations(), "no request")
}

// An error of the second read ends the query, and a cancelled context does.
func TestHydrate_FailsWithTheSecondRead(t *testing.T) {
	l := newLab(t, dbtest.Attempts(1))
	l.fill(5)
	q := l.byStatus.Query(task{Status: "open"}, entity.Hydrate())
	l.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "BatchGetItem" {
			return faults.Throttle
		}
		return faults.None
	})
	for _, err := range []error{dbtest.ErrorOf(q.Collect(l.Ctx)), dbtest.ErrorOf(q.First(l.Ctx)), dbtest.ErrorOf(q.Page(l.Ctx, "")), dbtest.ErrorOf(q.Count(l.Ctx)),
		dbtest.ErrorOf(l.byStatus.Scan(entity.Hydrate(), entity.Segments(2)).Collect(l.Ctx))} {
		require.Error(t, err)
		var verb *entity.Error
		require.True(t, errors.As(err, &verb), fmt.Sprint(err))
	}
	l.Wire.Inject(nil)
	ctx, stop := context.WithCancel(l.Ctx)
	stop()
	require.ErrorIs(t, dbtest.ErrorOf(q.Collect(ctx)), context.Canceled)
}
