package rules_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/internal/testsize"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// Card is what the entities in spread indexes have in common.
type Card struct {
	Board  string    `dynamodbav:"board"`
	ID     int       `dynamodbav:"id" entity:"zero"`
	Status string    `dynamodbav:"status,omitempty"`
	Queue  string    `dynamodbav:"queue,omitempty"`
	Rank   int       `dynamodbav:"rank" entity:"zero"`
	Note   string    `dynamodbav:"note,omitempty"`
	Seen   time.Time `dynamodbav:"seen,omitempty"`

	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Loose has no feature, so that batches write it.
type Loose struct {
	_ entity.Key `name:"Card" pk:"$#{board}" sk:"$#{id}"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}#{id}" shards:"4"`
	_ entity.GSI `name:"byQueue" index:"gsi2" pk:"gsi2pk={queue}" sk:"gsi2sk={rank:05}" project:"keys" shards:"3"`
	_ entity.GSI `name:"all" index:"gsi3" pk:"$" shards:"5"`
	Card
}

// Kept has a history and deleted copies, which are in a spread index too.
type Kept struct {
	_ entity.Key `name:"Card" pk:"$#{board}" sk:"$#{id}"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}#{id}" shards:"4"`
	_ entity.GSI `name:"byQueue" index:"gsi2" pk:"gsi2pk={queue}" sk:"gsi2sk={rank:05}" project:"keys" shards:"3"`
	_ entity.GSI `name:"all" index:"gsi3" pk:"$" shards:"5"`
	_ entity.GSI `name:"deleted" index:"gsi4" pk:"$#{board}" sk:"$#{removed}" shards:"2"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	Card
	Version int64     `dynamodbav:"version" entity:"version"`
	Removed time.Time `dynamodbav:"removed,omitempty" entity:"deleted_at"`
}

// shardOf is the shard of an item as the documents define it: by the text of its primary key.
func shardOf(primary string, n uint64) string {
	sum := sha256.Sum256([]byte(primary))
	return fmt.Sprintf("#%02d", binary.BigEndian.Uint64(sum[:])%n)
}

// deck is a table with cards of type T.
type deck[T any] struct {
	*dbtest.Bench
	cards   *entity.Store[T]
	indexes map[string]*entity.Index[T]
	fields  *Card
	write   func(rt *rapid.T, c Card) error // by a verb that only T has
	bin     *lifecycle.Deleted[T]           // nil for a T without soft delete
}

func cardOf[T any](v T) Card { return *dbtest.Embedded[Card](&v) }

func of[T any](c Card) (v T) {
	*dbtest.Embedded[Card](&v) = c
	return v
}

func newDeck[T any](t *testing.T, db ...func(*entity.Config)) *deck[T] {
	d := &deck[T]{indexes: map[string]*entity.Index[T]{}, fields: dbtest.Embedded[Card](entity.Fields[T]())}
	d.Bench, d.cards = dbtest.OpenStore[T](t, db...)
	for _, name := range []string{"byStatus", "byQueue", "all"} {
		d.indexes[name] = entity.Must(d.cards.Index(name))
	}
	d.Clock.Set(dbtest.Start, time.Millisecond)
	return d
}

// draw returns a card of few possible ones.
func draw(rt *rapid.T) Card {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
	return Card{
		Board: pick("board", "b-1", "b-2"), ID: rapid.IntRange(0, 9).Draw(rt, "id"), Status: pick("status", "", "open", "open#01", "done"),
		Queue: pick("queue", "", "q", "q", "q#02"), Rank: rapid.IntRange(0, 3).Draw(rt, "rank"), Note: pick("note", "", "x", "y"),
	}
}

// any performs one verb of every entity. What it gives does not matter: the table is the model.
func (d *deck[T]) any(rt *rapid.T) error {
	c, ctx := draw(rt), d.Ctx
	v, key, f := of[T](c), of[T](Card{Board: c.Board, ID: c.ID}), d.fields
	changes := []entity.UpdateOption{entity.Set(&f.Note, c.Note+"!")}
	switch what := rapid.IntRange(0, 5).Draw(rt, "change"); {
	case what == 0 && c.Status != "":
		changes = append(changes, entity.Set(&f.Status, c.Status))
	case what == 1:
		changes = append(changes, entity.Set(&f.Rank, c.Rank))
	case what == 2:
		changes = append(changes, entity.Add(&f.Rank, 1))
	case what == 3:
		changes = append(changes, entity.Remove(&f.Status))
	case what == 4 && c.Queue != "":
		changes = append(changes, entity.SetIfNotExists(&f.Queue, c.Queue))
	}
	o := d.cards.Op()
	switch rapid.IntRange(0, 11).Draw(rt, "verb") {
	case 0, 1:
		return dbtest.ErrorOf(d.cards.Create(ctx, v))
	case 2:
		return dbtest.ErrorOf(d.cards.Put(ctx, v))
	case 3:
		return dbtest.ErrorOf(d.cards.Upsert(ctx, v))
	case 4, 5:
		return dbtest.ErrorOf(d.cards.Update(ctx, key, changes...))
	case 6:
		return dbtest.ErrorOf(d.cards.Modify(ctx, key, func(was *T) error {
			c.UpdatedAt = cardOf(*was).UpdatedAt
			*dbtest.Embedded[Card](was) = c
			return nil
		}))
	case 7:
		return d.cards.Delete(ctx, key)
	case 8:
		return dbtest.ErrorOf(d.cards.Touch(ctx, key, &f.Seen, 0))
	case 9:
		other := draw(rt)
		return d.DB.Transact(ctx, o.Upsert(v), o.Put(of[T](Card{Board: other.Board + "-t", ID: other.ID, Status: other.Status, Rank: other.Rank})))
	case 10:
		return dbtest.ErrorOf(d.cards.Put(ctx, v, entity.Idempotent()))
	}
	return d.write(rt, c)
}

// entry is an item in an index.
type entry struct{ partition, sort, id string }

// entries are the brute-force index: what the items of a kind ("" for current ones) must have in the attributes attr+"pk" and attr+"sk".
// partition and sort compose these of an item, without its shard; "" is no key.
func (d *deck[T]) entries(t require.TestingT, kind, attr string, n uint64, compose func(dbtest.Item) (partition, sort string)) (all []entry) {
	for _, it := range d.Items() {
		if dbtest.Text(it["_k"]) != kind {
			require.True(t, it[attr+"pk"] == nil || it[attr+"sk"] == nil, "%v is in the index", it)
			continue
		}
		partition, sort := compose(it)
		if partition != "" {
			primary := "$app#v1#card#" + dbtest.Text(it["board"]) + "$app#v1#card#" + fmt.Sprintf("%019s", dbtest.Text(it["id"]))
			partition += shardOf(primary, n)
		}
		require.Equal(t, []string{partition, sort}, []string{dbtest.Text(it[attr+"pk"]), dbtest.Text(it[attr+"sk"])}, "%v", it)
		if partition != "" {
			all = append(all, entry{partition, sort, dbtest.Text(it["board"]) + " " + dbtest.Text(it["id"]) + " " + dbtest.Text(it["removed"])})
		}
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.sort, b.sort), cmp.Compare(a.partition, b.partition), cmp.Compare(a.id, b.id))
	})
	return all
}

// inOrder requires that values, whose ids are given, are the entries of the partition, in the order of the query. What is equal for that order
// can come in any.
func inOrder(t require.TestingT, all []entry, partition string, desc bool, got []string) {
	byID, want := map[string]entry{}, []entry{}
	for _, e := range all {
		if e.partition[:len(e.partition)-3] == partition {
			byID[e.id] = e
			want = append(want, e)
		}
	}
	if desc {
		slices.Reverse(want)
	}
	require.Len(t, got, len(want))
	seen := map[string]bool{}
	for i, id := range got {
		require.False(t, seen[id], id)
		seen[id] = true
		require.Equal(t, []string{want[i].partition, want[i].sort}, []string{byID[id].partition, byID[id].sort}, "%d: %s", i, id)
	}
}

// turned returns what a query gives, at once and by pages in both directions, which must be the same.
func turned[V any](t require.TestingT, ctx context.Context, limit int, query func(...entity.QueryOption) entity.Query[V], id func(V) string) (ids []string) {
	add := func(all []string, values []V) []string {
		for _, v := range values {
			all = append(all, id(v))
		}
		return all
	}
	whole, err := query().Collect(ctx)
	require.NoError(t, err)
	ids = add(nil, whole)
	n, err := query().Count(ctx)
	require.NoError(t, err)
	require.Len(t, ids, n)
	q := query(entity.Limit(limit))
	page, err := q.Page(ctx, "")
	require.NoError(t, err)
	require.Empty(t, page.Prev)
	forth := add(nil, page.Items)
	for page.Next != "" {
		page, err = q.Page(ctx, page.Next)
		require.NoError(t, err)
		require.NotEmpty(t, page.Prev)
		forth = add(forth, page.Items)
	}
	require.Equal(t, ids, forth, q)
	back := add(nil, page.Items)
	for page.Prev != "" {
		page, err = q.Page(ctx, page.Prev)
		require.NoError(t, err)
		back = append(add(nil, page.Items), back...)
	}
	require.Equal(t, ids, back, q)
	first, err := q.First(ctx)
	if len(ids) == 0 {
		require.ErrorIs(t, err, entity.ErrNotFound)
		return nil
	}
	require.NoError(t, err)
	require.Equal(t, ids[0], id(first))
	_, err = q.One(ctx)
	require.Equal(t, len(ids) > 1, errors.Is(err, entity.ErrMultipleItems), err)
	return ids
}

// agree compares the table with what queries of each index give.
func (d *deck[T]) agree(rt *rapid.T) {
	desc, limit := rapid.Bool().Draw(rt, "desc"), rapid.IntRange(1, 7).Draw(rt, "limit")
	direction := func(opts []entity.QueryOption) []entity.QueryOption {
		if desc {
			opts = append(opts, entity.Desc())
		}
		return opts
	}
	id := func(v T) string { c := cardOf(v); return c.Board + " " + strconv.Itoa(c.ID) + " " }
	ask := func(index string, partition Card) []string {
		return turned(rt, d.Ctx, limit, func(opts ...entity.QueryOption) entity.Query[T] {
			return d.indexes[index].Query(of[T](partition), direction(opts)...)
		}, id)
	}
	byStatus := d.entries(rt, "", "gsi1", 4, func(it dbtest.Item) (string, string) {
		status := dbtest.Text(it["status"])
		sort := fmt.Sprintf("$app#v1#card#%019s#%019s", dbtest.Text(it["rank"]), dbtest.Text(it["id"]))
		if status == "" {
			return "", sort
		}
		return "$app#v1#card#" + strings.ReplaceAll(status, "#", "%23"), sort
	})
	for _, status := range []string{"open", "open#01", "done"} {
		inOrder(rt, byStatus, "$app#v1#card#"+strings.ReplaceAll(status, "#", "%23"), desc, ask("byStatus", Card{Status: status}))
	}
	byQueue := d.entries(rt, "", "gsi2", 3, func(it dbtest.Item) (string, string) {
		return dbtest.Text(it["queue"]), fmt.Sprintf("%05s", dbtest.Text(it["rank"]))
	})
	for _, queue := range []string{"q", "q#02"} {
		inOrder(rt, byQueue, queue, desc, ask("byQueue", Card{Queue: queue}))
		found, err := d.indexes["byQueue"].Query(of[T](Card{Queue: queue})).Collect(d.Ctx)
		require.NoError(rt, err)
		for _, v := range found {
			require.Equal(rt, queue, cardOf(v).Queue, "it is read from the index key")
		}
	}
	all := d.entries(rt, "", "gsi3", 5, func(dbtest.Item) (string, string) { return "$app#v1#card", "" })
	inOrder(rt, all, "$app#v1#card", desc, ask("all", Card{}))
	if d.bin != nil {
		deleted := d.entries(rt, "d", "gsi4", 2, func(it dbtest.Item) (string, string) {
			return "$app#v1#card#" + dbtest.Text(it["board"]), "$app#v1#card#" + dbtest.Text(it["removed"])
		})
		x := entity.Must(d.bin.Index("deleted"))
		inOrder(rt, deleted, "$app#v1#card#b-1", desc, turned(rt, d.Ctx, limit, func(opts ...entity.QueryOption) entity.Query[lifecycle.DeletedItem[T]] {
			return x.Query(of[T](Card{Board: "b-1"}), direction(opts)...)
		}, func(v lifecycle.DeletedItem[T]) string {
			return id(v.Item) + v.DeletedAt.Format("2006-01-02T15:04:05.000000000Z")
		}))
	}
}

// play writes with every verb, while requests fail, and compares the table with what the queries give.
func (d *deck[T]) play(t *testing.T) {
	testsize.Check(t, testsize.Pick(10, 150), func(rt *rapid.T) {
		d.Wire.Inject(faults.Random(rapid.Uint64().Draw(rt, "faults"), .1, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost))
		for range rapid.IntRange(1, 25).Draw(rt, "writes") {
			err := d.any(rt)
			require.Empty(rt, dbtest.InputCode(err), "%v", err)
		}
		d.Wire.Inject(nil)
		d.agree(rt)
	})
}

func TestShards_EveryVerbKeepsTheIndexAndQueriesAreInOneOrder(t *testing.T) {
	t.Parallel()
	t.Run("without features", func(t *testing.T) {
		t.Parallel()
		d := newDeck[Loose](t, dbtest.Attempts(3))
		d.write = func(rt *rapid.T, c Card) error {
			other := draw(rt)
			other.Board = c.Board + "-m"
			v, w, o := of[Loose](c), of[Loose](other), d.cards.Op()
			switch rapid.IntRange(0, 2).Draw(rt, "batch") {
			case 0:
				return dbtest.ErrorOf(d.cards.PutMany(d.Ctx, []Loose{v, w}, entity.Unconditional()))
			case 1:
				return dbtest.ErrorOf(d.cards.DeleteMany(d.Ctx, []Loose{v, w}, entity.Unconditional()))
			}
			return dbtest.ErrorOf(d.DB.BatchWrite(d.Ctx, o.BatchPut(v, entity.Unconditional()), o.BatchDelete(w, entity.Unconditional())))
		}
		d.play(t)
	})
	t.Run("with history and deleted copies", func(t *testing.T) {
		t.Parallel()
		d := newDeck[Kept](t, dbtest.Attempts(3))
		history := entity.Must(versioned.Of(d.cards))
		d.bin = entity.Must(lifecycle.Of(d.cards))
		d.write = func(rt *rapid.T, c Card) error {
			key := of[Kept](Card{Board: c.Board, ID: c.ID})
			switch rapid.IntRange(0, 3).Draw(rt, "verb of a feature") {
			case 0, 1:
				return dbtest.ErrorOf(d.bin.Restore(d.Ctx, key))
			case 2:
				return dbtest.ErrorOf(history.Revert(d.Ctx, key, int64(rapid.IntRange(1, 4).Draw(rt, "version"))))
			}
			return d.cards.Purge(d.Ctx, key)
		}
		d.play(t)
	})
}

// fill stores cards of one status, with and without a queue.
func fill(t *testing.T, n int) *deck[Loose] {
	d := newDeck[Loose](t)
	var all []Loose
	for i := range n {
		all = append(all, of[Loose](Card{Board: "b", ID: i, Status: "open", Queue: "q", Rank: i / 3, Note: strconv.Itoa(i % 2)}))
	}
	d.OK(d.cards.PutMany(d.Ctx, all, entity.Unconditional()))
	d.Wire.Reset()
	return d
}

func ranks(all []Loose) (ranks []int) {
	for _, v := range all {
		ranks = append(ranks, v.Rank)
	}
	return ranks
}

func TestShards_TakeWhatAQueryTakes(t *testing.T) {
	t.Parallel()
	d := fill(t, 30)
	f, open := d.fields, of[Loose](Card{Status: "open"})
	query := func(opts ...entity.QueryOption) []Loose {
		return entity.Must(d.indexes["byStatus"].Query(open, opts...).Collect(d.Ctx))
	}
	require.Len(t, query(), 30)
	require.Equal(t, []int{2, 2, 2, 3, 3, 3}, ranks(query(entity.Between(&f.Rank, 2, 3))))
	require.Equal(t, []int{3, 3, 3, 2, 2}, ranks(query(entity.Le(&f.Rank, 3), entity.Gt(&f.Rank, 0), entity.Desc(), entity.Limit(5))))
	require.Len(t, query(entity.Filter(entity.Eq(&f.Note, "1"))), 15)
	require.Len(t, entity.Must(d.indexes["byStatus"].Query(of[Loose](Card{Status: "open", Rank: 4})).Collect(d.Ctx)), 3)
	_, err := d.indexes["byStatus"].Query(of[Loose](Card{Status: "open", Rank: 4}), entity.Eq(&f.ID, 13)).One(d.Ctx)
	require.NoError(t, err)
	whole := entity.Must(d.indexes["byQueue"].Query(of[Loose](Card{Queue: "q"}), entity.Hydrate(), entity.Filter(entity.Eq(&f.Note, "1"))).Collect(d.Ctx))
	require.Len(t, whole, 15)
	require.Equal(t, "open", whole[0].Status)
	dbtest.Turn(t, rand.New(rand.NewPCG(testsize.Seed(t), 0)), 4, func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["byStatus"].Query(open, append(opts, entity.Filter(entity.Ge(&f.Rank, 0), entity.Eq(&f.Note, "1")))...)
	})
	require.Len(t, entity.Must(d.indexes["byQueue"].Scan().Collect(d.Ctx)), 30)

	both := []Loose{open, of[Loose](Card{Status: "done"})}
	d.OK(d.cards.Put(d.Ctx, of[Loose](Card{Board: "b", ID: 100, Status: "done", Rank: 4})))
	any := entity.Must(d.indexes["byStatus"].QueryAny(both).Collect(d.Ctx))
	require.Len(t, any, 31)
	require.True(t, slices.IsSorted(ranks(any)))
	require.Equal(t, 100, any[15].ID)
}

func TestShards_RefuseWhatAQueryOfSeveralPartitionsRefuses(t *testing.T) {
	t.Parallel()
	d := fill(t, 30)
	byStatus, open := d.indexes["byStatus"], of[Loose](Card{Status: "open"})
	var many []Loose
	for i := range 26 {
		many = append(many, of[Loose](Card{Status: fmt.Sprint("s", i)}))
	}
	for code, q := range map[string][]entity.Query[Loose]{
		"EDD-9166": {byStatus.Query(open, entity.MaxRequests(3)), byStatus.Query(open, entity.MaxEvaluated(3)), byStatus.QueryAny(many), byStatus.QueryAny([]Loose{open, open})},
		"EDD-9101": {byStatus.Query(Loose{})},
		"EDD-9108": {byStatus.Query(open, entity.Limit(0)), byStatus.Query(open, entity.Consistent()), entity.Project[Loose](byStatus.Query(open))},
		"EDD-9006": {byStatus.Query(of[Loose](Card{Status: "open", Note: "x"}))},
		"EDD-9165": {byStatus.Query(open, entity.Hydrate())},
	} {
		for _, q := range q {
			_, err := q.Collect(d.Ctx)
			require.Equal(t, code, dbtest.InputCode(err), "%v", err)
			require.NotContains(t, err.Error(), "partition 0")
			require.Contains(t, q.String(), code)
		}
	}
	_, err := byStatus.QueryAny([]Loose{open, {}}).Collect(d.Ctx)
	require.ErrorContains(t, err, "partition 1: EDD-9101")
	_, err = byStatus.QueryAny(many).Collect(d.Ctx)
	require.ErrorContains(t, err, "104 partitions, shards counted; at most 100")
	require.Len(t, entity.Must(byStatus.QueryAny(many[:25]).Collect(d.Ctx)), 0)
	d.Wire.Reset()
	var all []Loose
	require.Equal(t, "EDD-9127", dbtest.InputCode(d.DB.GetCollection(d.Ctx, byStatus.Query(open).Into(&all))))
	require.Empty(t, d.Operations())
}

// Five has the cards of Loose in one partition more.
type Five struct {
	_ entity.Key `name:"Card" pk:"$#{board}" sk:"$#{id}"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}#{id}" shards:"5"`
	Card
}

// One has them in one.
type One struct {
	_ entity.Key `name:"Card" pk:"$#{board}" sk:"$#{id}"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}#{id}"`
	Card
}

// A query of more shards finds the items that were stored with fewer, and takes no cursor of these. One of fewer, or of none, misses some.
func TestShards_OfAnotherNumber(t *testing.T) {
	t.Parallel()
	d := fill(t, 30)
	open := Card{Status: "open"}
	page := entity.Must(d.indexes["byStatus"].Query(of[Loose](open), entity.Limit(5)).Page(d.Ctx, ""))
	five := entity.Must(dbtest.Declare[Five](t, d.Open(d.Client)).Index("byStatus"))
	require.Len(t, entity.Must(five.Query(of[Five](open)).Collect(d.Ctx)), 30)
	require.Len(t, entity.Must(five.Scan().Collect(d.Ctx)), 30)
	_, err := five.Query(of[Five](open), entity.Limit(5)).Page(d.Ctx, page.Next)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)
	one := entity.Must(dbtest.Declare[One](t, d.Open(d.Client)).Index("byStatus"))
	require.Empty(t, entity.Must(one.Query(of[One](open)).Collect(d.Ctx)))
	_, err = one.Query(of[One](open), entity.Limit(5)).Page(d.Ctx, page.Next)
	require.ErrorIs(t, err, entity.ErrInvalidCursor)

	id := 0
	for shardOf("$app#v1#card#b$app#v1#card#"+fmt.Sprintf("%019d", id), 5) != "#04" {
		id++
	}
	fives := dbtest.Declare[Five](t, d.Open(d.Client))
	d.OK(fives.Put(d.Ctx, of[Five](Card{Board: "b", ID: id, Status: "open"})))
	require.Equal(t, dbtest.S("$app#v1#card#open#04"), d.Item("$app#v1#card#b", fmt.Sprintf("$app#v1#card#%019d", id))["gsi1pk"])
	require.Len(t, entity.Must(five.Query(of[Five](open)).Collect(d.Ctx)), 30)
	require.Len(t, entity.Must(d.indexes["byStatus"].Query(of[Loose](open)).Collect(d.Ctx)), 29)
}

func TestShards_EachCostsARequest(t *testing.T) {
	t.Parallel()
	d := fill(t, 30)
	query := func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["byStatus"].Query(of[Loose](Card{Status: "open"}), opts...)
	}
	d.OK(query().Collect(d.Ctx))
	require.Len(t, d.Operations(), 4)
	d.OK(query().Count(d.Ctx))
	require.Len(t, d.Operations(), 4)
	page := entity.Must(query(entity.Limit(6)).Page(d.Ctx, ""))
	require.Len(t, page.Items, 6)
	require.GreaterOrEqual(t, len(d.Operations()), 4)
	// A write costs what it costs without shards.
	d.OK(d.cards.Update(d.Ctx, of[Loose](Card{Board: "b", ID: 1}), entity.Set(&d.fields.Status, "done")))
	require.Equal(t, []string{"UpdateItem"}, d.Operations())
	require.Equal(t, `Query Card: 2 partitions in one order`, strings.SplitN(entity.Must(dbtest.Declare[two](t, d.Open(d.Client)).Index("byStatus")).Query(two{Status: "x"}).String(), "\n", 2)[0])
}

// two is spread over two partitions.
type two struct {
	_      entity.Key `name:"Card" pk:"$#{board}" sk:"$"`
	_      entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" shards:"2"`
	Board  string     `dynamodbav:"board"`
	Status string     `dynamodbav:"status"`
}

// A fault at each request of a query, in turn, is retried or returned; it never leaves a part out.
func TestShards_AFaultAtEachRequestLeavesNothingOut(t *testing.T) {
	t.Parallel()
	d := fill(t, 30)
	once := entity.Must(dbtest.Declare[Loose](t, d.Open(d.Client, dbtest.Attempts(1))).Index("byStatus"))
	open := of[Loose](Card{Status: "open"})
	want := entity.Must(d.indexes["byStatus"].Query(open).Collect(d.Ctx))
	for n := 1; n <= 4; n++ {
		for _, fault := range []faults.Fault{faults.Throttle, faults.Internal, faults.Lost, faults.Cut} {
			d.Wire.Inject(faults.Nth(n, fault, "Query"))
			require.Equal(t, want, entity.Must(d.indexes["byStatus"].Query(open).Collect(d.Ctx)), "%d %s", n, fault)
			d.Wire.Inject(faults.Nth(n, fault, "Query"))
			all, err := once.Query(open).Collect(d.Ctx)
			require.Error(t, err, "%d %s", n, fault)
			require.Empty(t, all)
			require.ErrorContains(t, err, "Query Card (gsi1pk = \"$app#v1#card#open\")")
			d.Wire.Inject(faults.Nth(n, fault, "Query"))
			_, err = once.Query(open, entity.Limit(9)).Page(d.Ctx, "")
			require.Error(t, err, "%d %s", n, fault)
		}
	}
}

// Probe is a series whose current items are in a spread index.
type Probe struct {
	_     entity.Key        `name:"Probe" pk:"$#{id}" sk:"$"`
	_     entity.GSI        `name:"byState" index:"gsi1" pk:"$#{state}" sk:"$#{at}" shards:"3"`
	_     timeseries.Events `orderBy:"at"`
	ID    string            `dynamodbav:"id"`
	At    time.Time         `dynamodbav:"at"`
	State string            `dynamodbav:"state" entity:"append"`
}

func TestShards_OfASeries(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	probes := entity.Must(timeseries.New[Probe](b.DB))
	b.CreateTables()
	for i := range 12 {
		b.OK(probes.Append(b.Ctx, Probe{ID: strconv.Itoa(i), At: dbtest.Start.Add(time.Duration(i)), State: "on"}))
	}
	require.Equal(t, []string{"TransactWriteItems"}, slices.Compact(b.Operations()))
	off := []Probe{{ID: "3", At: dbtest.Start.Add(20), State: "off"}, {ID: "4", At: dbtest.Start.Add(21), State: "on"}}
	b.OK(probes.AppendAll(b.Ctx, off))
	byState := entity.Must(probes.Index("byState"))
	var ids []string
	for _, v := range entity.Must(byState.Query(Probe{State: "on"}).Collect(b.Ctx)) {
		ids = append(ids, v.ID)
	}
	require.Equal(t, []string{"0", "1", "2", "5", "6", "7", "8", "9", "10", "11", "4"}, ids)
	require.Len(t, entity.Must(byState.Query(Probe{State: "off"}).Collect(b.Ctx)), 1)
}

// Attributes that are the primary key decide the shard as they are stored: what a write without a read knows, and what a read gives.
func TestShards_OfPrimaryKeysOfEachType(t *testing.T) {
	t.Parallel()
	type native struct {
		_     entity.Key `name:"Native" pk:"place" sk:"at"`
		_     entity.GSI `name:"byState" index:"gsi1" pk:"gsi1pk={state}" shards:"7"`
		Place []byte     `dynamodbav:"place"`
		At    int        `dynamodbav:"at"`
		State string     `dynamodbav:"state"`
		Note  string     `dynamodbav:"note,omitempty"`
	}
	b, s := dbtest.OpenStore[native](t)
	f, byState := entity.Fields[native](), entity.Must(s.Index("byState"))
	for i := range 8 {
		v := native{Place: []byte{byte(i), 255}, At: -i * 1e9, State: "on"}
		if i == 0 {
			v.At = 5
		}
		b.OK(s.Create(b.Ctx, v))
		created := b.Items()
		b.OK(s.Update(b.Ctx, v, entity.Set(&f.State, "off")))
		b.OK(s.Update(b.Ctx, v, entity.Set(&f.State, "on")))
		require.ElementsMatch(t, created, b.Items(), "the same shard")
		b.OK(s.Modify(b.Ctx, v, func(v *native) error { v.Note = "x"; v.State = "off"; return nil }))
		b.OK(s.Modify(b.Ctx, v, func(v *native) error { v.Note = ""; v.State = "on"; return nil }))
		require.ElementsMatch(t, created, b.Items())
		require.Contains(t, created, map[string]types.AttributeValue{
			"place": &types.AttributeValueMemberB{Value: v.Place}, "at": dbtest.N(strconv.Itoa(v.At)), "state": dbtest.S("on"),
			"gsi1pk": dbtest.S("on" + shardOf(string(v.Place)+strconv.Itoa(v.At), 7)),
		})
	}
	require.Len(t, entity.Must(byState.Query(native{State: "on"}).Collect(b.Ctx)), 8)
}

// Another program may store the parts of a primary key only in its text, which decides then.
func TestShards_OfItemsThatLackTheirKeyParts(t *testing.T) {
	t.Parallel()
	d := newDeck[Loose](t)
	d.OK(d.cards.Create(d.Ctx, of[Loose](Card{Board: "b", ID: 1, Status: "open"})))
	want := d.Items()[0]["gsi1pk"]
	d.Clock.Move(time.Second)
	it := d.Items()[0]
	delete(it, "board")
	delete(it, "gsi1pk")
	d.PutItem(it)
	d.OK(d.cards.Modify(d.Ctx, of[Loose](Card{Board: "b", ID: 1}), func(v *Loose) error { v.Note = "x"; v.Rank = 3; return nil }))
	require.Equal(t, want, d.Items()[0]["gsi1pk"])
}
