package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/write"
)

// OpFailure is the failure of one op of a transaction.
type OpFailure struct {
	Index int // of the op in the caller's list
	Err   error
}

// Transact plans ops and sends them as one transaction: all are applied, or none. Either failed has the ops that failed,
// with their errors, or err is an error of the whole transaction. results are aligned with ops.
func (r *Runner) Transact(ctx context.Context, ops []*write.Op) (results []write.Result, failed []OpFailure, err error) {
	if failed, err := refusable(ops); failed != nil || err != nil {
		return nil, failed, err
	}
	if err := r.transactions(); err != nil {
		return nil, nil, err
	}
	var last []OpFailure
	hints, there := make([][]write.Hint, len(ops)), make([]item.Item, len(ops))
	for round := 0; round < r.MaxAttempts; round++ {
		steps, failed, err := r.planAll(ctx, ops, hints, round == 0)
		if err != nil {
			return nil, nil, err
		}
		if failed != nil {
			exists := false
			if failed, exists = r.explainAll(ctx, ops, failed); !exists {
				return nil, failed, nil
			}
			last = failed
			if err := r.pause(ctx, round); err != nil {
				return nil, nil, err
			}
			continue
		}
		b, failed := merge(ops, steps)
		if failed != nil {
			return nil, failed, nil
		}
		if err := withinLimits(ops, b); err != nil {
			return nil, nil, err
		}
		token := ""
		if len(b.actions) > 1 || b.actions[0].Kind == write.Check || slices.ContainsFunc(ops, func(op *write.Op) bool { return op.Idempotent }) {
			token = r.NewID()
		}
		got, err := r.deliver(ctx, b, token, false)
		if err != nil {
			return nil, nil, err
		}
		if got.failures == nil {
			return r.done(steps, got)
		}
		again := false
		if failed, again = resolve(ops, b, got, hints, there); !again {
			if failed, again = r.explainAll(ctx, ops, failed); !again {
				return nil, failed, got.cause
			}
		}
		last = failed
		if err := r.pause(ctx, round); err != nil {
			return nil, nil, err
		}
	}
	return nil, last, nil
}

// refusable returns the errors in ops that are known without a request.
func refusable(ops []*write.Op) (failed []OpFailure, err error) {
	for i, op := range ops {
		if op.Err != nil {
			failed = append(failed, OpFailure{i, op.Err})
		}
	}
	if failed != nil {
		return failed, nil
	}
	items, at, err := sameItem(ops)
	if err != nil {
		return []OpFailure{{at, err}}, nil
	}
	if items > write.MaxActions {
		return nil, tooMany(len(ops), items)
	}
	return nil, nil
}

// planAll reads what the ops need, in parallel, and plans them with one reading of the clock.
func (r *Runner) planAll(ctx context.Context, ops []*write.Op, hints [][]write.Hint, first bool) ([]write.Step, []OpFailure, error) {
	now := r.Clock().UTC()
	steps, errs := make([]write.Step, len(ops)), make([]error, len(ops))
	input := func(i int) write.Input {
		in := r.input(ops[i], now)
		in.Joined, in.Hints = true, hints[i]
		return in
	}
	planOne := func(i int, in write.Input) { steps[i], errs[i] = r.plan(ctx, ops[i], in, first) }
	if first && !slices.ContainsFunc(ops, (*write.Op).Reads) {
		for i := range ops {
			planOne(i, input(i))
		}
	} else {
		inputs := make([]write.Input, len(ops)) // with ids in the order of the ops
		for i := range ops {
			inputs[i] = input(i)
		}
		Parallel(len(ops), 8, func(i int) { planOne(i, inputs[i]) })
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	var failed []OpFailure
	for i, err := range errs {
		if err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	return steps, failed, nil
}

// explainAll adds to the failures what the op would report alone. again is set if one of them is about an item that exists
// by now.
func (r *Runner) explainAll(ctx context.Context, ops []*write.Op, failed []OpFailure) (explained []OpFailure, again bool) {
	for i, f := range failed {
		err, exists := r.explain(ctx, ops[f.Index], f.Err)
		if exists {
			err, again = errComesAndGoes, true
		}
		failed[i].Err = err
	}
	return failed, again
}

func (r *Runner) done(steps []write.Step, got answer) ([]write.Result, []OpFailure, error) {
	results := make([]write.Result, len(steps))
	for i, s := range steps {
		var err error
		if results[i], err = s.Done(got.returned); err != nil {
			return nil, nil, err
		}
	}
	return results, nil, nil
}

// resolve returns each op's error from the failures of its own actions. again is set if one was planned from an item that
// has changed since, and no other has failed for good. A failed claim may follow from the stale plan, which would have
// given up the claimed value, so it does not count as final then. Hints for the next plan are appended to the op's hints. there has
// what was read after earlier refusals, see stillThere; nil if there is no next plan.
func resolve(ops []*write.Op, b body, got answer, hints [][]write.Hint, there []item.Item) (failed []OpFailure, again bool) {
	var lost []OpFailure
	final := false
	for i, s := range b.steps {
		own, at := b.own(i, got.failures), -1
		for j, f := range own {
			if f.Failed() && at < 0 {
				at = j
			}
		}
		if at < 0 {
			continue
		}
		v := ops[i].Resolve(s, own)
		if there != nil {
			still := true
			if there[i], still = stillThere(own, there[i]); !still {
				v.Replan = errComesAndGoes
			}
		}
		mine := got
		mine.failures = own
		err := failure(ops[i], s, v, mine, at)
		hints[i] = append(hints[i], v.Hints...)
		if v.Replan != nil {
			lost = append(lost, OpFailure{i, err})
		} else {
			failed = append(failed, OpFailure{i, err})
			final = final || !s.Actions[at].Claims
		}
	}
	if lost != nil && !final && !got.ambiguous {
		return append(lost, failed...), true
	}
	return append(failed, lost...), false
}

// sameItem returns the error of an op that writes the same item as an earlier op, and its index. items is the number of
// distinct items.
func sameItem(ops []*write.Op) (items, at int, err error) {
	all := make(places, 0, len(ops))
	for i, op := range ops {
		k, _ := all.find(op.Table, op.Key)
		if other := all[k].writer; other != nil && !write.Mergeable(other, op) {
			return len(all), i, clashed(other, op)
		}
		if !op.ChecksOnly {
			all[k].writer = op
		}
	}
	return len(all), 0, nil
}

func withinLimits(ops []*write.Op, b body) error {
	if n := len(b.actions); n > write.MaxActions {
		return tooMany(len(ops), n)
	}
	if len(b.actions) <= write.MaxTransactionBytes/mostItemBytes {
		return nil // unless one of the items is too large
	}
	if bytes := b.bytes(); bytes > write.MaxTransactionBytes {
		return &write.SizeError{Type: transaction, Problem: fmt.Sprintf("the items are %d bytes, %d are allowed", bytes, write.MaxTransactionBytes)}
	}
	return nil
}

// mostItemBytes is the largest size of an item with its key again.
const mostItemBytes = item.MaxBytes + key.MaxPartitionKey + key.MaxSortKey + 2*write.MaxKeyName

const transaction = "transaction"

func tooMany(ops, actions int) error {
	return &entitytype.InputError{Code: write.CodeTooMany, Type: transaction, Problem: fmt.Sprintf("%d ops need %d actions, a transaction can have %d", ops, actions, write.MaxActions)}
}

// TransactWithToken sends ops as one transaction under the caller's token. It does not read for the plan, and does not plan
// again. The write ids depend only on the token and the ops, so the stored items show which call wrote them. If a call is
// repeated later, its times differ and DynamoDB refuses the token; then an item with this call's write id proves that the
// transaction was applied.
func (r *Runner) TransactWithToken(ctx context.Context, id string, at time.Time, ops []*write.Op) (results []write.Result, failed []OpFailure, err error) {
	if failed, err := refusable(ops); failed != nil || err != nil {
		return nil, failed, err
	}
	if err := r.transactions(); err != nil {
		return nil, nil, err
	}
	for i, op := range ops {
		switch {
		case op.Reads():
			failed = append(failed, OpFailure{i, &entitytype.InputError{Code: write.CodeOption, Type: op.Schema.Type.String(), Problem: op.Verb + " has to read the item first, so that it would not be the same write each time; use Transact, with a Create of an item whose key is the token: if that exists, the call was applied before"}})
		case op.Generated:
			failed = append(failed, OpFailure{i, &entitytype.InputError{Code: write.CodeIDToken, Type: op.Schema.Type.String(), Problem: op.Verb + " generates an id, so that it would not be the same write each time; give the value an id that depends on the token"}})
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	if at.IsZero() {
		at = r.Clock()
	}
	call := callOf(id, ops)
	steps := make([]write.Step, len(ops))
	for i, op := range ops {
		if steps[i], err = op.Planned(write.Input{Now: at.UTC(), WriteID: call.writeID(i), Joined: true}); err != nil {
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
	for round := 0; ; round++ {
		got, err := r.deliver(ctx, b, call.token, false)
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
		hints := make([][]write.Hint, len(ops))
		failed, again := resolve(ops, b, got, hints, nil)
		if !again || round == r.MaxAttempts {
			return nil, failed, got.cause
		}
		if again, err = r.upgradeAll(ctx, ops, hints); err != nil || !again {
			return nil, failed, errors.Join(got.cause, err)
		}
	}
}

// upgradeAll stores the items of ops that were found in an earlier payload version in today's, after which the same
// transaction can be applied. It returns false if there are none.
func (r *Runner) upgradeAll(ctx context.Context, ops []*write.Op, hints [][]write.Hint) (any bool, err error) {
	for i, op := range ops {
		if !(write.Input{Hints: hints[i]}).Hinted(write.OutdatedPayload) {
			continue
		}
		if any = true; err == nil {
			err = r.upgrade(ctx, op)
		}
	}
	return any, err
}

// repeated returns the result when DynamoDB knows the token of a body with other content.
func (r *Runner) repeated(ctx context.Context, b body, refused error) ([]write.Result, error) {
	images, err := r.images(ctx, b)
	if err != nil {
		return nil, &write.Ambiguous{Err: fmt.Errorf("%w; whether it was this transaction could not be read: %w", refused, err)}
	}
	switch applied, another := b.writtenBy(images); {
	case applied:
		return b.stored(images)
	case another:
		return nil, refused
	}
	return nil, &write.Ambiguous{Err: refused} // applied and overwritten since, or another transaction
}

// images returns the current items that the actions of b write.
func (r *Runner) images(ctx context.Context, b body) ([]item.Item, error) {
	images, places := make([]item.Item, len(b.actions)), map[string]int{}
	names := map[string]item.Item{} // a key of each table
	var keys []Key
	for k, a := range b.actions {
		if a.WriteID != "" {
			places[a.Table+" "+write.KeyID(a.Key)], names[a.Table] = k, a.Key
			keys = append(keys, Key{a.Table, a.Key})
		}
	}
	err := r.GetMany(ctx, keys, true, func(table string, it item.Item) {
		key := item.Item{}
		for name := range names[table] {
			key[name] = it[name]
		}
		if k, ok := places[table+" "+write.KeyID(key)]; ok {
			images[k] = it
		}
	})
	return images, err
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

// stored returns the results of a body that an earlier call has applied, at its own time. If an item is unchanged since, it
// is the result.
func (b body) stored(images []item.Item) ([]write.Result, error) {
	results := make([]write.Result, len(b.steps))
	for i, s := range b.steps {
		var err error
		if results[i], err = s.Done(write.Returned{}); err != nil {
			return nil, err
		}
		if len(b.at[i]) == 0 {
			continue
		}
		image, id := images[b.at[i][0]], b.actions[b.at[i][0]].WriteID
		if wroteBy(image, id) && results[i].Item != nil {
			results[i].Item, results[i].Encoded = image, false
		}
	}
	return results, nil
}

// call is one transaction under a caller's token. The same id and ops are the same call.
type call struct {
	id    string
	token string // DynamoDB's token, at most 36 characters
	ops   []byte // digest of the ops
}

// halfID is the number of characters of a write id that depend on the token alone; as many depend on the ops too.
const halfID = 13

// callOf returns the call of ops under an id. The ops are identified by what they would write at two fixed times, since at
// one time the clock may hide part of an op.
func callOf(id string, ops []*write.Op) call {
	h := sha256.New()
	for _, year := range []int{1970, 3000} {
		now := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, op := range ops {
			step, err := op.Plan(write.Input{Now: now, WriteID: "-", Joined: true})
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

// writeID returns the write id of the op at index i.
func (c call) writeID(i int) string {
	return short("call", c.id, fmt.Sprint(i))[:halfID] + short("ops", c.id, fmt.Sprint(i), string(c.ops))[:halfID]
}

// short returns a digest of texts in 52 characters.
func short(texts ...string) string {
	h := sha256.New()
	digestText(h, texts...)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))
}

// digest adds an action to h. Different actions add different bytes.
func digest(h hash.Hash, a *write.Action) {
	var e expr.Renderer
	digestText(h, fmt.Sprint(a.Kind), a.Table, e.Cond(a.Cond), e.Update(a.Changes))
	names := item.Item{}
	for name, attr := range e.NameMap() {
		names[name] = item.S(attr)
	}
	for _, it := range []item.Item{a.Key, a.Item, names, e.ValueMap()} {
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
