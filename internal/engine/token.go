package engine

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"reflect"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// TransactWithToken sends ops as one transaction under the caller's token. It does not read for the plan, and does not plan again. The
// write ids depend only on the token and the ops, so the stored items show which call wrote them. If a call is repeated later, its times
// differ and DynamoDB refuses the token; then an item with this call's write id proves that the transaction was applied.
func (r *Runner) TransactWithToken(ctx context.Context, id string, at time.Time, ops []*plan.Op) (results []plan.Result, failed []OpFailure, err error) {
	t := newTransaction(r, ops...)
	t.once = true
	if failed, err := t.refusable(); failed != nil || err != nil {
		return nil, failed, err
	}
	if err := r.NoTransactions; err != nil {
		return nil, nil, err
	}
	for i, op := range ops {
		switch {
		case op.Reads():
			failed = append(failed, OpFailure{i, &entitytype.InputError{Code: bind.CodeOption, Type: op.Schema.Type.String(), Problem: op.Verb + " has to read the item first, so that it would not be the same write each time; use Transact, with a Create of an item whose key is the token: if that exists, the call was applied before"}})
		case op.Generated:
			failed = append(failed, OpFailure{i, &entitytype.InputError{Code: bind.CodeIDToken, Type: op.Schema.Type.String(), Problem: op.Verb + " generates an id, so that it would not be the same write each time; give the value an id that depends on the token"}})
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	if at.IsZero() {
		at = r.Clock()
	}
	for i := range t.ops {
		op := &t.ops[i]
		if op.in.Joined = true; op.Context {
			if op.in.Context, err = plan.InContext(ctx, op.Schema); err != nil {
				failed = append(failed, OpFailure{i, err})
			}
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	call := callOf(ctx, id, t.ops)
	for i := range t.ops {
		op := &t.ops[i]
		op.in.Now, op.in.WriteID = at.UTC(), short("call", call.id, fmt.Sprint(i))[:halfID]+short("ops", call.id, fmt.Sprint(i), string(call.ops))[:halfID]
		if op.plan, err = plan.Make(ctx, r, op.Op, &op.in); err != nil {
			failed = append(failed, OpFailure{i, err})
		}
	}
	if failed != nil {
		return nil, failed, nil
	}
	if failed, err := t.merge(); failed != nil || err != nil {
		return nil, failed, err
	}
	if r.Client == nil {
		return nil, nil, ErrNoClient
	}
	for round := 0; ; round++ {
		got, err := t.deliver(ctx, call.token)
		switch {
		case errors.Is(err, ErrTokenReused):
			err = t.repeated(ctx, err)
			return t.results(), nil, err
		case err != nil:
			return nil, t.oversized(ctx, err), err
		case got.failures == nil:
			err = t.done(got.returned)
			return t.results(), nil, err
		}
		images := make([]item.Item, len(t.actions))
		for k, f := range got.failures {
			images[k] = f.Image
		}
		if applied, _ := t.writtenBy(images); applied { // DynamoDB has forgotten the token
			err = t.stored(images)
			return t.results(), nil, err
		}
		for i := range t.ops {
			t.ops[i].in.Learned = plan.Learned{}
		}
		failed, again, _, _ := t.resolve(got)
		if !again || round == r.MaxAttempts {
			return nil, failed, got.cause
		}
		if again, err = t.prepare(ctx); err != nil || !again {
			return nil, failed, errors.Join(got.cause, err)
		}
	}
}

// prepare stores the items that were found in an earlier payload version in today's, and removes those that had expired. Then the
// same transaction can be applied. It returns false if there are none.
func (t *transaction) prepare(ctx context.Context) (any bool, err error) {
	for i := range t.ops {
		op, one := &t.ops[i], error(nil)
		switch {
		case op.in.Learned.Outdated:
			one = t.r.upgrade(ctx, op.Op)
		case op.in.Learned.Expired:
			_, one = t.r.Run(ctx, plan.NewDeleteExpired(op.Op))
		default:
			continue
		}
		if any = true; err == nil {
			err = one
		}
	}
	return any, err
}

// written reads the items that the actions write under an id, in the order of the actions.
func (t *transaction) written(ctx context.Context) ([]item.Item, error) {
	var places []int // of the actions that write
	var keys []Key
	for k, a := range t.actions {
		if a.WriteID != "" {
			places, keys = append(places, k), append(keys, Key{a.Table, a.Key})
		}
	}
	images := make([]item.Item, len(t.actions))
	found, err := t.r.GetMany(ctx, keys)
	for i, it := range found {
		images[places[i]] = it
	}
	return images, err
}

// repeated makes the results when DynamoDB knows the token of a transaction with other content.
func (t *transaction) repeated(ctx context.Context, refused error) error {
	images, err := t.written(ctx)
	if err != nil {
		return &plan.Ambiguous{Err: fmt.Errorf("%w; whether it was this transaction could not be read: %w", refused, err)}
	}
	switch applied, another := t.writtenBy(images); {
	case applied:
		return t.stored(images)
	case another:
		return refused
	}
	return &plan.Ambiguous{Err: refused} // applied and overwritten since, or another transaction
}

// writtenBy reports what the write ids of items, in the order of the actions, prove: that the transaction was applied, or
// that another one was under the same token.
func (t *transaction) writtenBy(images []item.Item) (applied, another bool) {
	for k, a := range t.actions {
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

// stored makes the results of a transaction that an earlier call has applied, at its own time. If an item is unchanged since, it
// is the result.
func (t *transaction) stored(images []item.Item) error {
	if err := t.done(plan.Returned{}); err != nil {
		return err
	}
	for i := range t.ops {
		op := &t.ops[i]
		if len(op.at) == 0 {
			continue
		}
		image, id := images[op.at[0]], t.actions[op.at[0]].WriteID
		if wroteBy(image, id) && op.result.Item != nil {
			op.result.Item, op.result.Given = image, reflect.Value{}
		}
	}
	return nil
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
func callOf(ctx context.Context, id string, ops []operation) call {
	h := sha256.New()
	for _, year := range []int{1970, 3000} {
		now := time.Date(year, 1, 2, 0, 0, 0, 0, time.UTC)
		for _, op := range ops {
			in := op.in
			in.Now, in.WriteID = now, "-"
			p, err := op.Plan(ctx, nil, &in)
			digestText(h, op.Verb, op.Table)
			if err != nil {
				digestText(h, "error")
				continue
			}
			for i := range p.Actions {
				digest(h, &p.Actions[i])
			}
		}
	}
	return call{id, short("token", id)[:36], h.Sum(nil)}
}

// short returns a digest of texts in 52 characters.
func short(texts ...string) string {
	h := sha256.New()
	digestText(h, texts...)
	return base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil))
}

// digest adds an action to h. Different actions add different bytes.
func digest(h hash.Hash, a *plan.Action) {
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
