// Package reading_test is about reads of many items: whole items by an index, pages in both directions, several partitions in
// one order, several entities in one iteration, and clients for reads; and about the codecs that Config.Codec chooses from, as clients and middleware meet them.
package reading_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
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

func newLab(t testing.TB, configure ...func(*entity.Config)) *lab {
	t.Helper()
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
