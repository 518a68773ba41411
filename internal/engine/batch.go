package engine

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// mostKeys is the most keys that BatchGetItem takes; readsAtOnce is how many batches are read concurrently.
const (
	mostKeys    = 100
	readsAtOnce = 4
)

// identities numbers items from 0, each once.
type identities struct {
	numbers map[string]int          // by identity
	keys    map[string]item.Primary // one of each table
	texts   strings.Builder         // all identities: one string for each would be an allocation
	id      []byte
	room    int // how many items may come
}

func newIdentities(room int) identities {
	return identities{numbers: make(map[string]int, room), keys: make(map[string]item.Primary, 1), room: room}
}

func (x *identities) key(table string, m item.Item) item.Primary {
	if like, ok := x.keys[table]; ok {
		return like.With(m)
	}
	return wire.KeyOf(m)
}

// number returns the number of the item with a primary key. first reports whether it is new.
func (x *identities) number(table string, key item.Primary) (n int, first bool) {
	if _, ok := x.keys[table]; !ok {
		x.keys[table] = key
	}
	x.id = item.AppendKey(x.begin(table), key)
	if n, ok := x.numbers[string(x.id)]; ok {
		return n, false
	}
	at := x.texts.Len()
	if at == 0 {
		x.texts.Grow(x.room * len(x.id)) // most identities are of about the same length
	}
	x.texts.Write(x.id)
	n = len(x.numbers)
	x.numbers[x.texts.String()[at:]] = n
	return n, true
}

func (x *identities) begin(table string) []byte { return append(append(x.id[:0], table...), 0) }

// find returns the number of an item, if it has one.
func (x *identities) find(table string, it wire.Item) (n int, ok bool) {
	key, ok := x.keys[table]
	if !ok {
		return 0, false
	}
	x.id = item.AppendKeyOf(x.begin(table), it, key)
	n, ok = x.numbers[string(x.id)]
	return n, ok
}

// wanted is the key of an item to read.
type wanted struct {
	table string
	key   item.Primary
}

// findMany reads the items of n different keys, some of which ask returns, to their places among the items that are known; it releases
// those if it fails.
func (r *Runner) findMany(ctx context.Context, n int, ask func(from, to int) asked, consistent bool, known *identities, items []wire.Item) error {
	var mu sync.Mutex
	place := func(answer []wire.Table) {
		mu.Lock()
		defer mu.Unlock()
		for _, t := range answer {
			for _, it := range t.Items {
				if at, ok := known.find(t.Name, it); ok {
					items[at] = it
				}
			}
		}
	}
	err := ParallelUntilError(ctx, (n+mostKeys-1)/mostKeys, readsAtOnce, func(ctx context.Context, i int) error {
		return r.getChunk(ctx, ask(i*mostKeys, min(n, (i+1)*mostKeys)), consistent, place)
	})
	if err != nil {
		wire.ReleaseAll(items)
	}
	return err
}

// Found is the items of keys, each once. A missing one is the zero Item.
type Found struct {
	Items []wire.Item
	At    []int // of each key the index of its item
}

func (f Found) Of(i int) wire.Item { return f.Items[f.At[i]] }

// FindMany reads the items of keys, which can be of several tables, each once; strong says which are read consistently.
// The caller releases them. It costs a request for every 100 different keys, separate ones for those read consistently, and
// more where DynamoDB leaves keys unprocessed. It sends up to four at the same time.
func (r *Runner) FindMany(ctx context.Context, keys []Key, strong func(i int) bool) (Found, error) {
	got := Found{make([]wire.Item, 0, len(keys)), make([]int, len(keys))}
	known, different := newIdentities(len(keys)), make([]wanted, 0, len(keys))
	for _, consistent := range []bool{true, false} { // consistent reads first: they also serve other keys of the item
		different = different[:0]
		for i, k := range keys {
			if strong(i) != consistent {
				continue
			}
			primary := known.key(k.Table, k.Key)
			at, first := known.number(k.Table, primary)
			if first {
				got.Items, different = append(got.Items, wire.Item{}), append(different, wanted{k.Table, primary})
			}
			got.At[i] = at
		}
		err := r.findMany(ctx, len(different), func(from, to int) asked {
			by := make(map[string][]item.Primary, 1)
			for _, k := range different[from:to] {
				of, ok := by[k.table]
				if !ok {
					of = make([]item.Primary, 0, to-from)
				}
				by[k.table] = append(of, k.key)
			}
			return asked{by, to - from}
		}, consistent, &known, got.Items)
		if err != nil {
			return Found{}, err
		}
	}
	return got, nil
}

// FindManyIn is FindMany for keys of one table, which it changes.
func (r *Runner) FindManyIn(ctx context.Context, table string, keys []item.Primary, consistent bool) (Found, error) {
	known, at := newIdentities(len(keys)), make([]int, len(keys))
	for i, key := range keys {
		n, first := known.number(table, key)
		if first {
			keys[n] = key
		}
		at[i] = n
	}
	n := len(known.numbers)
	got := Found{make([]wire.Item, n), at}
	err := r.findMany(ctx, n, func(from, to int) asked {
		return asked{map[string][]item.Primary{table: keys[from:to:to]}, to - from}
	}, consistent, &known, got.Items)
	if err != nil {
		return Found{}, err
	}
	return got, nil
}

// GetMany is FindMany for consistent reads of items as attribute values. The items come in the order of the keys, nil for
// one that is missing.
func (r *Runner) GetMany(ctx context.Context, keys []Key) ([]item.Item, error) {
	found, err := r.FindMany(ctx, keys, func(int) bool { return true })
	if err != nil {
		return nil, err
	}
	different, items := wire.DetachAll(found.Items), make([]item.Item, len(keys))
	for i, at := range found.At {
		items[i] = different[at]
	}
	return items, nil
}

// errOtherTable reports an answer under a table name that was not in the request: its keys are unknown.
var errOtherTable = errors.New("the database answered for a table that was not asked for")

// errOtherKey reports a key in an answer that cannot be one of those that were asked for.
var errOtherKey = errors.New("the database left a key unprocessed that was not asked for")

// keyLike returns an unprocessed key, which has the attributes of the keys that were asked for.
func keyLike(asked []item.Primary, it item.Item) (key item.Primary, ok bool) {
	if len(asked) == 0 {
		return key, false
	}
	key = asked[0].With(it)
	n := len(key.Values)
	if key.Names[1] == "" {
		n = 1
	}
	return key, len(it) == n && !slices.Contains(key.Values[:n], nil)
}

// asked is n keys by table.
type asked struct {
	keys map[string][]item.Primary
	n    int
}

// getChunk reads up to mostKeys items. It asks again for unprocessed keys, and gives up after MaxAttempts answers in a row without an item.
func (r *Runner) getChunk(ctx context.Context, wanted asked, consistent bool, found func([]wire.Table)) error {
	consistent = consistent || ctx.Value(decisionKey{}) != nil
	for idle := (attempts{}); ; {
		var out *dynamodb.BatchGetItemOutput
		var answer []wire.Table
		err := r.read(ctx, "BatchGetItem", slices.Collect(maps.Keys(wanted.keys)), func(ctx context.Context, q *request) (err error) {
			var client Client
			client, q.Own = r.reader(ctx, consistent)
			q.Batch = wanted.n
			in, err := newForm(q).batchGet(wanted.keys, consistent, q.capacity)
			if err != nil {
				return err
			}
			out, err = client.BatchGetItem(ctx, in, q.with[:]...)
			if err != nil {
				return err
			}
			answer = q.Call.Tables(out.Responses)
			n := 0
			for _, t := range answer {
				n += len(t.Items)
			}
			q.Returned = n
			q.answered(out.ResultMetadata, &q.ReadUnits, nil, out.ConsumedCapacity...)
			return nil
		})
		if err != nil {
			return err
		}
		for _, t := range answer {
			if _, ok := wanted.keys[t.Name]; !ok && len(t.Items) > 0 {
				for _, t := range answer {
					wire.ReleaseAll(t.Items)
				}
				return errOtherTable
			}
		}
		found(answer)
		rest := asked{keys: map[string][]item.Primary{}}
		for table, keys := range out.UnprocessedKeys {
			for _, it := range keys.Keys {
				key, ok := keyLike(wanted.keys[table], it)
				if !ok {
					return &smithy.DeserializationError{Err: errOtherKey}
				}
				rest.keys[table] = append(rest.keys[table], key)
				rest.n++
			}
		}
		if rest.n == 0 {
			idle.giveBack()
			return nil
		}
		if err := r.rest(ctx, &idle, rest.n < wanted.n, &entitytype.UnprocessedError{Count: rest.n}); err != nil {
			return err
		}
		wanted = rest
	}
}

// rest waits before the rest of a batch is sent again, which DynamoDB left unprocessed. It is a repetition if the request did
// nothing; otherwise it is the next part.
func (r *Runner) rest(ctx context.Context, idle *attempts, progress bool, left *entitytype.UnprocessedError) error {
	if progress {
		r.refund(idle, success)
		idle.sent = 0
		return r.pause(ctx, 0)
	}
	r.refund(idle, transient)
	idle.sent++
	return r.again(ctx, idle, transient, left)
}

// mostWrites is the most writes that BatchWriteItem takes; writesAtOnce is how many batches are sent concurrently.
const (
	mostWrites   = 25
	writesAtOnce = 4
)

// BatchWrite is one unconditional write of a batch.
type BatchWrite struct {
	Table string
	Key   item.Item // or Put and Names
	Put   item.Item // nil to delete the item with Key
	Names []string  // of the key attributes in Put
}

// lastOfEach returns the indexes of writes, of several of one item that of the last: DynamoDB takes only one.
func lastOfEach(writes []BatchWrite) []int {
	last, known := make([]int, 0, len(writes)), newIdentities(len(writes))
	for i, w := range writes {
		key := w.Key
		if key == nil {
			key = w.Put
			if _, ok := known.keys[w.Table]; !ok {
				known.keys[w.Table] = wire.KeyOf(pick(w.Put, w.Names))
			}
		}
		at, first := known.number(w.Table, known.key(w.Table, key))
		if first {
			last = append(last, i)
		}
		last[at] = i
	}
	return last
}

// WriteMany writes items, which can be of several tables; of several writes of one item it makes the last. It returns the
// indexes of writes that were not, or perhaps not, made, in order. A batch whose answer was lost is sent again: unconditional
// writes can be repeated. The error is ambiguous unless nothing was written.
func (r *Runner) WriteMany(ctx context.Context, writes []BatchWrite) (unwritten []int, err error) {
	all := lastOfEach(writes)
	if r.Client == nil {
		return slices.Sorted(slices.Values(all)), ErrNoClient
	}
	chunks := slices.Collect(slices.Chunk(all, mostWrites))
	batches := make([]batch, len(chunks))
	Parallel(len(chunks), writesAtOnce, func(i int) {
		batches[i].left = chunks[i]
		batches[i].err = r.writeChunk(ctx, writes, &batches[i])
	})
	wrote := false
	for _, b := range batches {
		if err == nil {
			err = b.err
		}
		unwritten, wrote = append(unwritten, b.left...), wrote || b.wrote
	}
	if err == nil && len(unwritten) > 0 {
		err = &entitytype.UnprocessedError{Count: len(unwritten)}
	}
	if err != nil && wrote {
		err = &plan.Ambiguous{Err: err, Partly: true}
	}
	slices.Sort(unwritten)
	return unwritten, err
}

// batch is the state of the writes that go out in one request.
type batch struct {
	left  []int // not, or perhaps not, made
	wrote bool  // some were made, or may have been
	err   error
}

// writeChunk sends one batch, and again what is left unprocessed. It gives up after MaxAttempts answers in a row without a write.
func (r *Runner) writeChunk(ctx context.Context, writes []BatchWrite, b *batch) error {
	for idle := (attempts{}); ; {
		tables := make([]string, 0, 1) // in order
		for _, k := range b.left {
			if !slices.Contains(tables, writes[k].Table) {
				tables = append(tables, writes[k].Table)
			}
		}
		slices.Sort(tables)
		var out *dynamodb.BatchWriteItemOutput
		err := r.read(ctx, "BatchWriteItem", tables, func(ctx context.Context, q *request) (err error) { // can be repeated like a read
			q.Batch = len(b.left)
			sent := new(request)
			sent.Own, sent.watch[0], sent.Call.Watch = r.Own, sent.Watch, sent.watch[:]
			in, err := newForm(sent).batchWrite(writes, b.left, tables, q.capacity)
			if err != nil {
				return err
			}
			out, err = r.Client.BatchWriteItem(ctx, in, sent.with[:]...)
			b.wrote = b.wrote || err != nil && sent.classify(ctx, err) == unknown
			if err == nil {
				q.answered(out.ResultMetadata, &q.WriteUnits, nil, out.ConsumedCapacity...)
			}
			return err
		})
		if err != nil {
			return err
		}
		rest, sure := remaining(writes, b.left, out.UnprocessedItems)
		b.wrote = b.wrote || !sure || len(rest) < len(b.left)
		progress := len(rest) < len(b.left)
		if b.left = rest; len(rest) == 0 {
			idle.giveBack()
			return nil
		}
		if err := r.rest(ctx, &idle, progress, &entitytype.UnprocessedError{Count: len(rest)}); err != nil {
			if idle.sent >= r.MaxAttempts {
				return nil // the caller counts what is left over all batches
			}
			return err
		}
	}
}

// remaining returns the writes among left that came back unprocessed. sure is false if that is unknown.
func remaining(writes []BatchWrite, left []int, unprocessed map[string][]types.WriteRequest) (rest []int, sure bool) {
	for _, k := range left {
		w := &writes[k]
		key := w.Key
		if key == nil {
			key = pick(w.Put, w.Names)
		}
		is := func(u types.WriteRequest) bool {
			var it item.Item
			switch {
			case u.PutRequest != nil:
				it = u.PutRequest.Item
			case u.DeleteRequest != nil:
				it = u.DeleteRequest.Key
			}
			return layout.KeyID(pick(it, slices.Collect(maps.Keys(key)))) == layout.KeyID(key)
		}
		if slices.ContainsFunc(unprocessed[w.Table], is) {
			rest = append(rest, k)
		}
	}
	came := 0
	for _, of := range unprocessed {
		came += len(of)
	}
	if came != len(rest) { // something came back in another form, so no write counts as made
		return left, false
	}
	return rest, true
}

// pick returns the attributes of it with the given names.
func pick(it item.Item, names []string) item.Item {
	picked := make(item.Item, len(names))
	for _, name := range names {
		picked[name] = it[name]
	}
	return picked
}
