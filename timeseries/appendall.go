package timeseries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// seriesAtOnce is the number of series that one AppendAll works on at the same time.
const seriesAtOnce = 8

// AppendAll appends events of any number of series and returns the results in the order of evs. It sorts the events of
// one series by orderBy; of several with the same orderBy the first counts. It sends them in transactions of up to 99
// events and 4 MB, each of which updates the current item once. It works on eight series at the same time.
//
// It costs one request per transaction, and one more each time the current item or an event turns out to be newer or already stored. Of
// series with current:"none" it stores each event alone, by one request with one write, eight at the same time; after an error it begins no
// further one. A mistake in one event is an error before any request. If a transaction fails, the results of the earlier ones are returned
// with the error; results of undecided events have neither Applied nor Reason. Errors: those of [Series.Append], joined.
func (s *Series[T]) AppendAll(ctx context.Context, evs []T, opts ...AppendOption) ([]Result[T], error) {
	c, spec := engine.Of(s), bind.Collect(opts)
	results := make([]Result[T], len(evs))
	err := c.MeasureBatch(ctx, "AppendAll", len(evs), func(ctx context.Context) error {
		groups, err := s.groupBySeries(evs)
		if err != nil {
			return err
		}
		user, err := s.e.conditions(c, spec)
		if err != nil {
			return err
		}
		errs := make([]error, len(groups))
		if s.e.noCurrent {
			errs = append(errs, decide(groups, func(evs []*batchEvent) error { return logEach(ctx, c, evs) }))
		} else {
			engine.Parallel(len(groups), seriesAtOnce, func(i int) {
				errs[i] = decide(groups[i:i+1], func(evs []*batchEvent) error { return appendAndRecord(ctx, c, evs, user) })
			})
		}
		var all entitytype.Outcome
		for _, g := range groups {
			unknown := &current{core: c, primary: g[0].primary}
			for _, x := range g {
				errs = append(errs, setResult[T](x.Result, unknown, &results[x.index]))
				switch one := engine.OutcomeOf(x.Result); {
				case all == "":
					all = one
				case one != all:
					all = entitytype.OutcomeMixed
				}
			}
		}
		engine.Outcome(ctx, "AppendAll", all)
		return errors.Join(errs...)
	})
	return results, err
}

type batchEvent struct {
	*event
	index int // in the batch
	plan.Result
	newer     item.Item   // the current item that the event is older than, while it waits to be recorded
	original  *batchEvent // the first event of the batch with the same key; nil if this is it
	inHistory bool        // it is stored already, but the current item is older
}

// undecided is the result of an event until the answer to a request, or the event before it, decides it.
var undecided = plan.Result{Skipped: true}

// group is the events of one series, in the order of orderBy.
type group []*batchEvent

// groupBySeries encodes and sorts a batch. The error is that of the first invalid event.
func (s *Series[T]) groupBySeries(evs []T) ([]group, error) {
	c := engine.Of(s)
	byKey, now := map[string]int{}, c.Runner.Clock()
	var groups []group
	for i := range evs {
		ev, err := newEvent(c, s.e, reflect.ValueOf(evs[i]))
		if err == nil {
			_, err = ev.put(&plan.Input{Now: now, WriteID: strings.Repeat("x", 36)})
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		id := layout.KeyID(ev.primary)
		n, known := byKey[id]
		if !known {
			n, byKey[id] = len(groups), len(groups)
			groups = append(groups, nil)
		} else if err := layout.SameCase(c.Schema, ev.carried, groups[n][0].carried); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		groups[n] = append(groups[n], &batchEvent{event: ev, index: i, Result: undecided})
	}
	for _, g := range groups {
		slices.SortStableFunc(g, func(a, b *batchEvent) int { return strings.Compare(a.sortKey, b.sortKey) })
		for i := 1; i < len(g); i++ {
			if prev := g[i-1]; prev.sortKey == g[i].sortKey {
				g[i].original = cmp.Or(prev.original, prev)
			}
		}
	}
	return groups, nil
}

// decide appends the first event with each key by send, then those that collided duplicates are, and decides the others from these.
func decide(groups []group, send func([]*batchEvent) error) error {
	var first, again []*batchEvent
	for _, g := range groups {
		for _, x := range g {
			if x.original == nil {
				first = append(first, x)
			}
		}
	}
	err := send(first)
	if err == nil {
		for _, g := range groups {
			again = append(again, g.collidedDuplicates()...)
		}
		err = send(again)
	}
	for _, g := range groups {
		for _, x := range g {
			if x.original == nil {
				continue
			}
			o := x.original.Result
			switch {
			case !o.Skipped || o.Reason == string(LateRecorded):
				x.Result = x.duplicate(o.Item, x.original.carried)
			case o.Existing == nil:
				x.Result = o
			default:
				x.Result = x.duplicate(o.Item, o.Existing)
			}
		}
	}
	return err
}

// collidedDuplicates returns the events to be appended after all: an earlier event of the batch with the same key
// collided with what is stored, and they do not.
func (g group) collidedDuplicates() []*batchEvent {
	var again []*batchEvent
	for _, x := range g {
		f := x.original
		if f == nil || f.Reason != string(Collision) || !x.equals(f.Existing) {
			continue
		}
		if n := len(again); n > 0 && again[n-1].sortKey == x.sortKey {
			x.original = again[n-1] // whose current item is not that of the collision
			continue
		}
		x.original = nil
		again = append(again, x)
	}
	return again
}

// Limits of one chunk: a transaction has at most 100 actions, one of them the current item's, and 4 MB.
const (
	chunkEvents = plan.MaxActions - 1
	chunkBytes  = plan.MaxTransactionBytes - 600*1024 // leaves room for the current item's changes
)

// appendAndRecord appends events, which are in order, chunk by chunk. Then it stores the late ones that are to be recorded in the history
// of the existing item, in transactions of their own, also after an error. If the current item was removed in between, its late events are
// appended again, up to the number of attempts of a single append.
func appendAndRecord(ctx context.Context, c *engine.Core, pending []*batchEvent, user expr.Cond) error {
	for round := 0; len(pending) > 0; round++ {
		if round >= c.Runner.MaxAttempts {
			return sentinel.ErrConflict
		}
		var late, gone []*batchEvent
		var err, lateErr error
		for len(pending) > 0 && err == nil {
			n := chunkLength(pending)
			k := &chunk{user: user, rest: pending[:n]}
			pending = pending[n:]
			_, err = c.Runner.Run(ctx, &plan.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: k.rest[0].primary, Plan: k.plan})
			if err != nil {
				for _, x := range k.sent {
					x.Result = undecided
				}
			}
			late = append(late, k.late...)
		}
		for part := range slices.Chunk(late, chunkEvents) {
			for len(part) > 0 && lateErr == nil {
				n := chunkLength(part)
				r := &lateChunk{rest: part[:n]}
				part = part[n:]
				_, lateErr = c.Runner.Run(ctx, &plan.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: r.rest[0].primary, Plan: r.plan})
				gone = append(gone, r.gone...)
			}
		}
		if err != nil || lateErr != nil {
			return errors.Join(err, lateErr)
		}
		pending = gone
	}
	return nil
}

// chunkLength returns how many of the events fit into one transaction.
func chunkLength(pending []*batchEvent) int {
	bytes := 0
	for i, x := range pending {
		bytes += 2*item.Size(x.carried) + 1024
		if i == chunkEvents || i > 0 && bytes > chunkBytes {
			return i
		}
	}
	return len(pending)
}

// chunk is the events of one series in one transaction. Each failure decides some of them, and the rest is sent again.
type chunk struct {
	user expr.Cond
	in   *plan.Input   // of the plan that is sent
	rest []*batchEvent // undecided, in order
	sent []*batchEvent // rest as it was last sent; an error leaves all of it undecided
	late []*batchEvent
}

func (k *chunk) plan(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
	k.in, k.sent = in, k.rest
	evs := make([]*event, len(k.rest))
	for i, x := range k.rest {
		evs[i] = x.event
	}
	current, err := advance(&joinedAdvance{evs, k.user, in}, evs[0])
	if err != nil {
		return nil, err
	}
	return together(in, current, k.rest, k)
}

func (k *chunk) Applied(*plan.Plan, plan.Returned, *plan.Input) (plan.Result, error) {
	for _, x := range k.sent {
		if x.inHistory {
			x.Reason = string(Duplicate)
		} else {
			x.Skipped = false
		}
	}
	return plan.Result{}, nil
}

// together returns the plan of an action on the current item and, for each event, its put, or a check if it is stored already.
func together(in *plan.Input, current plan.Action, events []*batchEvent, meaning plan.Meaning) (*plan.Plan, error) {
	actions := []plan.Action{current}
	for _, x := range events {
		if x.inHistory {
			actions = append(actions, x.event.check())
			continue
		}
		put, err := x.put(in)
		if err != nil {
			return nil, err
		}
		actions = append(actions, put)
	}
	return &plan.Plan{Actions: actions, Whole: true, Meaning: meaning}, nil
}

// Refused decides the events that failed and returns the plan that sends the rest.
func (k *chunk) Refused(_ *plan.Plan, failed []plan.Failure, _ *plan.Input) plan.Resolution {
	f, err := k.rest[0].opened(failed)
	if err != nil {
		return plan.Resolution{Err: err}
	}
	current, refused := f[0], f[0].Failed()
	var rest []*batchEvent
	for i, x := range k.rest {
		older := false
		if current.Failed() {
			if older, err = x.isOlder(current.Image); err != nil {
				return plan.Resolution{Err: err}
			}
		}
		refused = refused && !(i == 0 && older)
		failed := f[i+1]
		switch {
		case x.inHistory && failed.Failed():
			x.inHistory, x.Existing = false, nil // removed meanwhile: put it after all
			rest = append(rest, x)
		case failed.Failed() && !x.equals(failed.Image):
			x.Result = notApplied(Collision, current.Image, failed.Image)
		case (failed.Failed() || x.inHistory) && older:
			stored := failed.Image
			if stored == nil {
				stored = x.Existing
			}
			x.Result = notApplied(Duplicate, current.Image, stored)
		case failed.Failed():
			x.inHistory, x.Existing = true, failed.Image
			rest = append(rest, x)
		case older && x.e.record:
			x.newer = current.Image // undecided until it is recorded
			k.late = append(k.late, x)
		case older:
			x.Result = notApplied(Older, current.Image, nil)
		default:
			rest = append(rest, x)
		}
	}
	if refused { // the caller's condition did not hold
		for _, x := range rest {
			x.Reason, x.Item = string(ConditionFailed), current.Image
			if x.inHistory {
				x.Reason = string(Duplicate)
			}
		}
		rest = nil
	}
	k.rest = rest
	return again(rest, k.in, k.plan)
}

// again resolves a refusal to the plan of the events that it left undecided.
func again(rest []*batchEvent, in *plan.Input, planned func(context.Context, layout.Reader, *plan.Input) (*plan.Plan, error)) plan.Resolution {
	if len(rest) == 0 {
		return done(plan.Result{})
	}
	next, err := planned(context.Background(), nil, in)
	if err != nil {
		return plan.Resolution{Err: err}
	}
	return plan.Resolution{Next: next}
}

// lateChunk is a transaction of late events of an existing item.
type lateChunk struct {
	in   *plan.Input // of the plan that is sent
	rest []*batchEvent
	gone []*batchEvent
}

func (r *lateChunk) plan(_ context.Context, _ layout.Reader, in *plan.Input) (*plan.Plan, error) {
	r.in = in
	return together(in, r.rest[len(r.rest)-1].kept(in.WriteID), r.rest, r)
}

func (r *lateChunk) Applied(*plan.Plan, plan.Returned, *plan.Input) (plan.Result, error) {
	for _, x := range r.rest {
		x.Result = notApplied(LateRecorded, x.newer, nil)
	}
	return plan.Result{}, nil
}

func (r *lateChunk) Refused(_ *plan.Plan, failed []plan.Failure, _ *plan.Input) plan.Resolution {
	f, err := r.rest[0].opened(failed)
	if err != nil {
		return plan.Resolution{Err: err}
	}
	var rest []*batchEvent
	for i, x := range r.rest {
		if !f[i+1].Failed() {
			rest = append(rest, x)
			continue
		}
		x.Result = x.duplicate(x.newer, f[i+1].Image)
	}
	if f[0].Failed() {
		r.gone, rest = rest, nil
	}
	r.rest = rest
	return again(rest, r.in, r.plan)
}
