package exec

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// TransactWithToken sends ops as one transaction under the caller's token; nothing is read for the plan, and nothing planned
// again. What is stored says which token and ops wrote it: the write ids follow from these alone. Repeated at another time
// the bytes differ by their times, and DynamoDB refuses the token; then an item with the write id of this call proves that
// the transaction was applied.
func (r *Runner) TransactWithToken(ctx context.Context, id string, at time.Time, ops []*plan.Op) (results []plan.Result, failed []OpFailure, err error) {
	if failed, err := refusable(ops); failed != nil || err != nil {
		return nil, failed, err
	}
	for i, op := range ops {
		if op.Reads() {
			failed = append(failed, OpFailure{i, &plan.InputError{Code: plan.CodeOption, Type: op.Schema.Type.String(), Problem: op.Verb + " has to read the item first, so that it would not be the same write each time"}})
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	if at.IsZero() {
		at = r.Clock()
	}
	call := callOf(id, ops)
	steps := make([]plan.Step, len(ops))
	for i, op := range ops {
		if steps[i], err = op.Plan(plan.Input{Now: at.UTC(), WriteID: call.writeID(i), Joined: true}); err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	b, failed := merge(ops, steps)
	if failed != nil {
		return nil, failed, nil
	}
	if err := withinLimits(ops, b); err != nil {
		return nil, nil, err
	}
	if r.Client == nil {
		return nil, nil, ErrNoClient
	}
	got, err := r.sendTransaction(ctx, b, call.token)
	switch {
	case errors.Is(err, ErrTokenReused):
		results, err := r.repeated(ctx, b, err)
		return results, nil, err
	case err != nil:
		return nil, nil, err
	case got.failures == nil:
		return r.done(steps, got)
	}
	images := make([]item.Item, len(b.actions))
	for k, f := range got.failures {
		images[k] = f.Image
	}
	if applied, _ := b.writtenBy(images); applied { // DynamoDB has forgotten the token
		results, err := b.stored(images)
		return results, nil, err
	}
	failed, _ = resolve(ops, b, got, make([][]any, len(ops)))
	return nil, failed, got.cause
}

// repeated decides what it means that DynamoDB knows the token of a body, with other bytes.
func (r *Runner) repeated(ctx context.Context, b body, refused error) ([]plan.Result, error) {
	images, err := r.images(ctx, b)
	if err != nil {
		return nil, &plan.Ambiguous{Err: fmt.Errorf("%w; whether it was this transaction could not be read: %w", refused, err)}
	}
	switch applied, another := b.writtenBy(images); {
	case applied:
		return b.stored(images)
	case another:
		return nil, refused
	}
	return nil, &plan.Ambiguous{Err: refused} // applied and overwritten since, or another transaction
}

// images are the items that the actions of b write, as they are now.
func (r *Runner) images(ctx context.Context, b body) ([]item.Item, error) {
	images, places := make([]item.Item, len(b.actions)), map[string]int{}
	names := map[string]item.Item{} // a key of each table
	var keys []Key
	for k, a := range b.actions {
		if a.WriteID != "" {
			places[a.Table+" "+plan.KeyID(a.Key)], names[a.Table] = k, a.Key
			keys = append(keys, Key{a.Table, a.Key})
		}
	}
	err := r.GetMany(ctx, keys, true, func(table string, it item.Item) {
		key := item.Item{}
		for name := range names[table] {
			key[name] = it[name]
		}
		if k, ok := places[table+" "+plan.KeyID(key)]; ok {
			images[k] = it
		}
	})
	return images, err
}

// writeIDIn is the id of the write that left the item as it is, "" when it says none.
func writeIDIn(it item.Item) string {
	if w, ok := it[schema.WriteAttr].(*types.AttributeValueMemberS); ok {
		return w.Value
	}
	return ""
}

// writtenBy reports what the write ids of items, in the order of the body's actions, prove: that the body was applied, or
// that another one was under the same token.
func (b body) writtenBy(images []item.Item) (applied, another bool) {
	for k, a := range b.actions {
		switch stored := writeIDIn(images[k]); {
		case a.WriteID == "" || stored == "":
		case stored == a.WriteID:
			return true, false
		case strings.HasPrefix(stored, a.WriteID[:halfID]):
			another = true
		}
	}
	return false, another
}

// stored are the results of the body's steps, which an earlier call has applied, at its own time: where an item is still
// as it was written, it is the result.
func (b body) stored(images []item.Item) ([]plan.Result, error) {
	results := make([]plan.Result, len(b.steps))
	for i, s := range b.steps {
		var err error
		if results[i], err = s.Done(plan.Returned{}); err != nil {
			return nil, err
		}
		if len(b.at[i]) == 0 {
			continue
		}
		image, id := images[b.at[i][0]], b.actions[b.at[i][0]].WriteID
		if id != "" && writeIDIn(image) == id && results[i].Item != nil {
			results[i].Item = image
		}
	}
	return results, nil
}

// call is one transaction under a token of the caller's: the same id and ops are the same call.
type call struct {
	id    string
	token string // DynamoDB's, of at most 36 characters
	ops   []byte // digest of the ops
}

// halfID is how many characters of a write id follow from the token alone; as many follow from the ops too.
const halfID = 13

// callOf is the call of ops under an id. The ops are known by what they would write at two fixed times: what the clock
// decides may hide something of an op at one of them.
func callOf(id string, ops []*plan.Op) call {
	h := sha256.New()
	for _, year := range []int{1970, 3000} {
		now := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, op := range ops {
			step, err := op.Plan(plan.Input{Now: now, WriteID: "-", Joined: true})
			digestText(h, op.Verb, op.Table)
			if err != nil {
				digestText(h, "error")
				continue
			}
			for i := range step.Actions {
				digest(h, &step.Actions[i])
			}
		}
	}
	return call{id, short("token", id)[:36], h.Sum(nil)}
}

// writeID is the write id of the op at index i.
func (c call) writeID(i int) string {
	return short("call", c.id, fmt.Sprint(i))[:halfID] + short("ops", c.id, fmt.Sprint(i), string(c.ops))[:halfID]
}

// short is a digest of texts in 52 characters.
func short(texts ...string) string {
	h := sha256.New()
	digestText(h, texts...)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))
}

// digest adds an action to h: two actions that differ give different bytes.
func digest(h hash.Hash, a *plan.Action) {
	var e expr.Renderer
	digestText(h, fmt.Sprint(a.Kind), a.Table, e.Cond(a.Cond), e.Update(a.Changes))
	names := item.Item{}
	for name, attr := range e.Names {
		names[name] = item.S(attr)
	}
	for _, it := range []item.Item{a.Key, a.Item, names, e.Values} {
		digestText(h, string(item.AppendBinary(nil, it)))
	}
}

// digestText adds texts to h, each after its length.
func digestText(h hash.Hash, texts ...string) {
	for _, text := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write([]byte(text))
	}
}
