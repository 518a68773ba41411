package rules_test

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
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
	t.Helper()
	dbtest.Parallel(t)
	d := &deck[T]{indexes: map[string]*entity.Index[T]{}, fields: dbtest.Embedded[Card](entity.Fields[T]())}
	d.Bench, d.cards = dbtest.OpenStore[T](t, db...)
	for _, name := range []string{"byStatus", "byQueue", "all"} {
		d.indexes[name] = entity.Must(d.cards.Index(name))
	}
	d.Clock.Set(dbtest.Start, time.Millisecond)
	return d
}

// dealt returns a card of few possible ones.
func dealt(rt *rapid.T) Card {
	pick := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
	return Card{
		Board: pick("board", "b-1", "b-2"), ID: rapid.IntRange(0, 9).Draw(rt, "id"), Status: pick("status", "", "open", "open#01", "done"),
		Queue: pick("queue", "", "q", "q", "q#02"), Rank: rapid.IntRange(0, 3).Draw(rt, "rank"), Note: pick("note", "", "x", "y"),
	}
}

// any performs one verb of every entity. What it gives does not matter: the table is the model.
func (d *deck[T]) any(rt *rapid.T) error {
	c, ctx := dealt(rt), d.Ctx
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
		other := dealt(rt)
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
	whole := entity.Must(query().Collect(ctx))
	ids = add(nil, whole)
	require.Len(t, ids, entity.Must(query().Count(ctx)))
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
		found := entity.Must(d.indexes["byQueue"].Query(of[T](Card{Queue: queue})).Collect(d.Ctx))
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
	testsize.Check(t, testsize.Pick(6, 12), func(rt *rapid.T) {
		d.Wire.Inject(faults.Random(rapid.Uint64().Draw(rt, "faults"), .1, faults.Throttle, faults.Conflict, faults.Internal, faults.InternalApplied, faults.Drop, faults.Lost))
		for range rapid.IntRange(1, 25).Draw(rt, "writes") {
			err := d.any(rt)
			require.Empty(rt, dbtest.InputCode(err), "%v", err)
		}
		d.Wire.Inject(nil)
		d.agree(rt)
		if all := d.Items(); len(all) > 150 { // deleted copies become many
			for _, it := range all {
				d.RemoveItem(it)
			}
		}
	})
}

func TestShards_EveryVerbKeepsTheIndexAndQueriesAreInOneOrder(t *testing.T) {
	t.Parallel()
	t.Run("without features", func(t *testing.T) {
		d := newDeck[Loose](t, dbtest.Attempts(3))
		d.write = func(rt *rapid.T, c Card) error {
			other := dealt(rt)
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
