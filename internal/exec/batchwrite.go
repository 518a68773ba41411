package exec

import (
	"context"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// mostWrites is how many writes BatchWriteItem takes, writesAtOnce how many batches are sent at the same time.
const (
	mostWrites   = 25
	writesAtOnce = 4
)

// BatchWrite is one unconditional write of a batch.
type BatchWrite struct {
	Table string
	Key   item.Item
	Put   item.Item // nil: the item with Key is deleted
}

func (w BatchWrite) request() types.WriteRequest {
	if w.Put != nil {
		return types.WriteRequest{PutRequest: &types.PutRequest{Item: w.Put}}
	}
	return types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: w.Key}}
}

// WriteMany sends writes of different items, of one or several tables, and returns the indexes of those that were not, or perhaps not, written, in
// order. A batch whose answer was lost is sent again: its writes have no condition, and twice is the same as once.
func (r *Runner) WriteMany(ctx context.Context, writes []BatchWrite) (unwritten []int, err error) {
	all := make([]int, len(writes))
	for i := range all {
		all[i] = i
	}
	if r.Client == nil {
		return all, ErrNoClient
	}
	chunks := slices.Collect(slices.Chunk(all, mostWrites))
	left, errs := make([][]int, len(chunks)), make([]error, len(chunks))
	Parallel(len(chunks), writesAtOnce, func(i int) { left[i], errs[i] = r.writeChunk(ctx, writes, chunks[i]) })
	for _, e := range errs {
		if err == nil {
			err = e
		}
	}
	unwritten = slices.Concat(left...)
	if err == nil && len(unwritten) > 0 {
		err = &UnprocessedError{len(unwritten)}
	}
	return unwritten, err
}

// writeChunk sends one batch, and what is left unprocessed again; it gives up after MaxAttempts answers in a row without
// any write. It returns what is left.
func (r *Runner) writeChunk(ctx context.Context, writes []BatchWrite, left []int) ([]int, error) {
	for idle := 0; ; {
		requests := map[string][]types.WriteRequest{}
		for _, k := range left {
			requests[writes[k].Table] = append(requests[writes[k].Table], writes[k].request())
		}
		var out *dynamodb.BatchWriteItemOutput
		err := r.read(ctx, slices.Collect(maps.Keys(requests)), func() (err error) { // as harmless to repeat as a read
			out, err = r.Client.BatchWriteItem(ctx, &dynamodb.BatchWriteItemInput{RequestItems: requests, ReturnConsumedCapacity: r.capacity()}, once)
			return err
		})
		if err != nil {
			return left, err
		}
		for i := range out.ConsumedCapacity {
			meterOf(ctx).writes(&out.ConsumedCapacity[i])
		}
		rest := remaining(writes, left, out.UnprocessedItems)
		if len(rest) == 0 {
			return nil, nil
		}
		if len(rest) < len(left) {
			idle = 0
		} else if idle++; idle >= r.MaxAttempts {
			return rest, nil
		}
		left = rest
		if err := r.pause(ctx, idle); err != nil {
			return left, err
		}
	}
}

// remaining are the writes among left that came back unprocessed.
func remaining(writes []BatchWrite, left []int, unprocessed map[string][]types.WriteRequest) []int {
	var rest []int
	for _, k := range left {
		if slices.ContainsFunc(unprocessed[writes[k].Table], writes[k].isOf) {
			rest = append(rest, k)
		}
	}
	came := 0
	for _, of := range unprocessed {
		came += len(of)
	}
	if came != len(rest) { // something came back in another form: what it was cannot be told, so nothing counts as written
		return left
	}
	return rest
}

// isOf reports that u writes the item that w writes.
func (w BatchWrite) isOf(u types.WriteRequest) bool {
	it := item.Item(nil)
	switch {
	case u.PutRequest != nil:
		it = u.PutRequest.Item
	case u.DeleteRequest != nil:
		it = u.DeleteRequest.Key
	}
	key := item.Item{}
	for name := range w.Key {
		key[name] = it[name]
	}
	return plan.KeyID(key) == plan.KeyID(w.Key)
}
