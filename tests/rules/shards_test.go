package rules_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
	"github.com/dynastrata/dynastrata/timeseries"
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

// Loose is a card in three spread indexes.
type Loose struct {
	_ entity.Key `name:"Card" pk:"$#{board}" sk:"$#{id}"`
	_ entity.GSI `name:"byStatus" index:"gsi1" pk:"$#{status}" sk:"$#{rank}#{id}" shards:"4"`
	_ entity.GSI `name:"byQueue" index:"gsi2" pk:"gsi2pk={queue}" sk:"gsi2sk={rank:05}" project:"keys" shards:"3"`
	_ entity.GSI `name:"all" index:"gsi3" pk:"$" shards:"5"`
	Card
}

// shardOf is the shard of an item as the documents define it: by the text of its primary key.
func shardOf(primary string, n uint64) string {
	sum := sha256.Sum256([]byte(primary))
	return fmt.Sprintf("#%02d", binary.BigEndian.Uint64(sum[:])%n)
}

// deck is a table of cards.
type deck struct {
	*dbtest.Bench
	cards   *entity.Store[Loose]
	indexes map[string]*entity.Index[Loose]
	fields  *Card
}

func of[T any](c Card) (v T) {
	*dbtest.Embedded[Card](&v) = c
	return v
}

// fill stores cards of one status in one queue.
func fill(t *testing.T, n int) *deck {
	dbtest.Parallel(t)
	d := &deck{indexes: map[string]*entity.Index[Loose]{}, fields: &entity.Fields[Loose]().Card}
	d.Bench, d.cards = dbtest.OpenStore[Loose](t)
	for _, name := range []string{"byStatus", "byQueue", "all"} {
		d.indexes[name] = entity.Must(d.cards.Index(name))
	}
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
	d := fill(t, 30)
	f, open := d.fields, of[Loose](Card{Status: "open"})
	query := func(opts ...entity.QueryOption) []Loose {
		return entity.Must(d.indexes["byStatus"].Query(open, opts...).Collect(d.Ctx))
	}
	for i, v := range query() {
		require.Equal(t, i, v.ID)
	}
	require.Len(t, query(), 30)
	first, err := d.indexes["byStatus"].Query(open).First(d.Ctx)
	require.NoError(t, err)
	require.Equal(t, query()[0], first)
	require.ErrorIs(t, dbtest.ErrorOf(d.indexes["byStatus"].Query(open).One(d.Ctx)), entity.ErrMultipleItems)
	require.Equal(t, []int{2, 2, 2, 3, 3, 3}, ranks(query(entity.Between(&f.Rank, 2, 3))))
	require.Equal(t, []int{3, 3, 3, 2, 2}, ranks(query(entity.Le(&f.Rank, 3), entity.Gt(&f.Rank, 0), entity.Desc(), entity.Limit(5))))
	require.Len(t, query(entity.Filter(entity.Eq(&f.Note, "1"))), 15)
	require.Len(t, entity.Must(d.indexes["byStatus"].Query(of[Loose](Card{Status: "open", Rank: 4})).Collect(d.Ctx)), 3)
	require.NoError(t, dbtest.ErrorOf(d.indexes["byStatus"].Query(of[Loose](Card{Status: "open", Rank: 4}), entity.Eq(&f.ID, 13)).One(d.Ctx)))
	whole := entity.Must(d.indexes["byQueue"].Query(of[Loose](Card{Queue: "q"}), entity.Hydrate(), entity.Filter(entity.Eq(&f.Note, "1"))).Collect(d.Ctx))
	require.Len(t, whole, 15)
	require.Equal(t, "open", whole[0].Status)
	r := rand.New(rand.NewPCG(testsize.Seed(t), 0))
	dbtest.Turn(t, r, 4, func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["byStatus"].Query(open, append(opts, entity.Filter(entity.Ge(&f.Rank, 0), entity.Eq(&f.Note, "1")))...)
	})
	dbtest.Turn(t, r, 3, func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["byQueue"].Query(of[Loose](Card{Queue: "q"}), append(opts, entity.Desc())...) // several have one rank
	})
	dbtest.Turn(t, r, 5, func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["all"].Query(Loose{}, opts...) // it has no sort key
	})
	require.Len(t, entity.Must(d.indexes["byQueue"].Scan().Collect(d.Ctx)), 30)

	both := []Loose{open, of[Loose](Card{Status: "done"})}
	d.OK(d.cards.Put(d.Ctx, of[Loose](Card{Board: "b", ID: 100, Status: "done", Rank: 4})))
	any := entity.Must(d.indexes["byStatus"].QueryAny(both).Collect(d.Ctx))
	require.Len(t, any, 31)
	require.True(t, slices.IsSorted(ranks(any)))
	require.Equal(t, 100, any[15].ID)

	// What looks like a shard in a value is not taken for one.
	d.OK(d.cards.Put(d.Ctx, of[Loose](Card{Board: "b", ID: 200, Status: "open#01", Queue: "q#02"})))
	require.Len(t, query(), 30)
	require.Equal(t, 200, entity.Must(d.indexes["byStatus"].Query(of[Loose](Card{Status: "open#01"})).One(d.Ctx)).ID)
	require.Len(t, entity.Must(d.indexes["byQueue"].Query(of[Loose](Card{Queue: "q"})).Collect(d.Ctx)), 30)
	require.Equal(t, "q#02", entity.Must(d.indexes["byQueue"].Query(of[Loose](Card{Queue: "q#02"})).One(d.Ctx)).Queue, "read from the index key")
	require.ErrorIs(t, dbtest.ErrorOf(d.indexes["byQueue"].Query(of[Loose](Card{Queue: "none"})).First(d.Ctx)), entity.ErrNotFound)
}

func TestShards_RefuseWhatAQueryOfSeveralPartitionsRefuses(t *testing.T) {
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
	require.ErrorContains(t, dbtest.ErrorOf(byStatus.QueryAny([]Loose{open, {}}).Collect(d.Ctx)), "partition 1: EDD-9101")
	require.ErrorContains(t, dbtest.ErrorOf(byStatus.QueryAny(many).Collect(d.Ctx)), "104 partitions, shards counted; at most 100")
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
	d, open := fill(t, 30), Card{Status: "open"}
	page := entity.Must(d.indexes["byStatus"].Query(of[Loose](open), entity.Limit(5)).Page(d.Ctx, ""))
	five := entity.Must(dbtest.Declare[Five](t, d.Open(d.Client)).Index("byStatus"))
	require.Len(t, entity.Must(five.Query(of[Five](open)).Collect(d.Ctx)), 30)
	require.Len(t, entity.Must(five.Scan().Collect(d.Ctx)), 30)
	require.ErrorIs(t, dbtest.ErrorOf(five.Query(of[Five](open), entity.Limit(5)).Page(d.Ctx, page.Next)), entity.ErrInvalidCursor)
	one := entity.Must(dbtest.Declare[One](t, d.Open(d.Client)).Index("byStatus"))
	require.Empty(t, entity.Must(one.Query(of[One](open)).Collect(d.Ctx)))
	require.ErrorIs(t, dbtest.ErrorOf(one.Query(of[One](open), entity.Limit(5)).Page(d.Ctx, page.Next)), entity.ErrInvalidCursor)

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
	d := fill(t, 30)
	query := func(opts ...entity.QueryOption) entity.Query[Loose] {
		return d.indexes["byStatus"].Query(of[Loose](Card{Status: "open"}), opts...)
	}
	d.OK(query().Collect(d.Ctx))
	require.Len(t, d.Operations(), 4)
	require.Equal(t, 30, entity.Must(query().Count(d.Ctx)))
	require.Len(t, d.Operations(), 4)
	require.Len(t, entity.Must(query(entity.Limit(6)).Page(d.Ctx, "")).Items, 6)
	require.GreaterOrEqual(t, len(d.Operations()), 4)
	// A write costs what it costs without shards.
	d.OK(d.cards.Update(d.Ctx, of[Loose](Card{Board: "b", ID: 1}), entity.Set(&d.fields.Status, "done")))
	require.Equal(t, []string{"UpdateItem"}, d.Operations())
	require.Equal(t, `Query Card: 4 partitions in one order`, strings.SplitN(query().String(), "\n", 2)[0])
}

// A fault at each request of a query, in turn, is retried or returned; it never leaves a part out.
func TestShards_AFaultAtEachRequestLeavesNothingOut(t *testing.T) {
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
			require.Error(t, dbtest.ErrorOf(once.Query(open, entity.Limit(9)).Page(d.Ctx, "")), "%d %s", n, fault)
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
	b, probes := following[Probe](t)
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
	d := fill(t, 1)
	want := d.Items()[0]["gsi1pk"]
	d.Clock.Move(time.Second)
	it := d.Items()[0]
	delete(it, "board")
	delete(it, "gsi1pk")
	d.PutItem(it)
	d.OK(d.cards.Modify(d.Ctx, of[Loose](Card{Board: "b"}), func(v *Loose) error { v.Note = "x"; v.Rank = 3; return nil }))
	require.Equal(t, want, d.Items()[0]["gsi1pk"])
}

// A key that copies created_at has a shard too, so a write that may be of a stored item cannot copy it without a read.
func TestShards_OfAKeyThatIsWrittenOnce(t *testing.T) {
	t.Parallel()
	type log struct {
		_       entity.Key `name:"Log" pk:"$#{id}" sk:"$"`
		_       entity.GSI `name:"byTime" index:"gsi1" pk:"gsi1pk={at}" shards:"4"`
		ID      string     `dynamodbav:"id"`
		Note    string     `dynamodbav:"note"`
		Created time.Time  `dynamodbav:"at" entity:"created_at,time=s"`
	}
	b, s := dbtest.OpenStore[log](t)
	byTime := entity.Must(s.Index("byTime"))
	var first log
	for _, note := range []string{"a", "b"} {
		v, _, err := s.Upsert(b.Ctx, log{ID: "l", Note: note})
		require.NoError(t, err)
		if first.ID == "" {
			first = v
		}
		b.Clock.Move(time.Hour)
		require.Equal(t, note, entity.Must(byTime.Query(log{Created: first.Created}).One(b.Ctx)).Note)
	}
}
