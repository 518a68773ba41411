package timeseries

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/write"
)

// seriesAtOnce is how many series one AppendAll works on at the same time.
const seriesAtOnce = 8

// AppendAll appends events of any number of series and returns the results in the order of evs. It sorts the events of
// one series by orderBy; of several with the same orderBy the first counts. It sends them in transactions of up to 99
// events and 4 MB, each of which updates the current item once. It works on eight series at the same time.
//
// It costs one request per transaction, and one more each time the current item or an event turns out to be newer or
// already stored. Of series with current:"none" it stores each event alone, by one request with one write, eight at the same
// time; after an error it begins no further one. A mistake in one event is an error before any request. If a transaction fails, the results of the
// earlier ones are returned with the error; results of undecided events have neither Applied nor Reason. Errors: those of
// [Series.Append], joined.
func (s *Series[T]) AppendAll(ctx context.Context, evs []T, opts ...AppendOption) ([]Result[T], error) {
	c, spec := engine.Of(s), write.Collect(opts)
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
			errs = append(errs, s.logEvents(ctx, groups))
		} else {
			engine.Parallel(len(groups), seriesAtOnce, func(i int) { errs[i] = s.appendSeries(ctx, groups[i], user) })
		}
		for _, g := range groups {
			unknown := &current{core: c, primary: g.events[0].primary, events: s.e}
			for _, x := range g.events {
				r, err := result[T](c, x.outcome.result(), unknown)
				errs = append(errs, err)
				results[x.index] = r
			}
		}
		engine.Outcome(ctx, "AppendAll", common(groups))
		return errors.Join(errs...)
	})
	return results, err
}

// common returns the outcome of all events, or that they had several.
func common(groups []*group) (all entitytype.Outcome) {
	for _, g := range groups {
		for _, x := range g.events {
			one := engine.OutcomeOf(x.result())
			if all != "" && one != all {
				return entitytype.OutcomeMixed
			}
			all = one
		}
	}
	return all
}

// batchEvent is an event of a batch and its outcome.
type batchEvent struct {
	*event
	index int // in the batch
	outcome
	newer     item.Item   // the current item that the event is older than, while it waits to be recorded
	original  *batchEvent // the first event of the batch with the same key; nil if this is it
	inHistory bool        // it is stored already, but the current item is older
}

// group is the events of one series, in the order of orderBy.
type group struct{ events []*batchEvent }

// groupBySeries encodes and sorts a batch. The error is that of the first invalid event.
func (s *Series[T]) groupBySeries(evs []T) ([]*group, error) {
	c := engine.Of(s)
	byKey, now := map[string]*group{}, c.Runner.Clock()
	var groups []*group
	for i := range evs {
		ev, err := newEvent(c, s.e, reflect.ValueOf(evs[i]))
		if err == nil {
			err = ev.checkAhead(now)
		}
		if err == nil {
			_, err = ev.item(write.Input{Now: now, WriteID: strings.Repeat("x", 36)})
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		id := write.KeyID(ev.primary)
		if byKey[id] == nil {
			byKey[id] = &group{}
			groups = append(groups, byKey[id])
		} else if err := write.SameCase(c.Schema, ev.carried, byKey[id].events[0].carried); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		byKey[id].events = append(byKey[id].events, &batchEvent{event: ev, index: i})
	}
	for _, g := range groups {
		slices.SortStableFunc(g.events, func(a, b *batchEvent) int { return strings.Compare(a.sortKey, b.sortKey) })
		for i := 1; i < len(g.events); i++ {
			if prev := g.events[i-1]; prev.sortKey == g.events[i].sortKey {
				g.events[i].original = prev
				if prev.original != nil {
					g.events[i].original = prev.original
				}
			}
		}
	}
	return groups, nil
}

// appendSeries appends the events of one series, until each is decided or an error stops it.
func (s *Series[T]) appendSeries(ctx context.Context, g *group, user expr.Cond) error {
	var pending []*batchEvent
	for _, x := range g.events {
		if x.original == nil {
			pending = append(pending, x)
		}
	}
	err := s.appendAndRecord(ctx, pending, user)
	if again := g.collidedDuplicates(); err == nil && again != nil {
		err = s.appendAndRecord(ctx, again, user)
	}
	for _, x := range g.events {
		if x.original != nil {
			x.outcome = x.afterOriginal()
		}
	}
	return err
}

// collidedDuplicates returns the events to be appended after all: an earlier event of the batch with the same key
// collided with what is stored, and they do not.
func (g *group) collidedDuplicates() []*batchEvent {
	var again []*batchEvent
	for _, x := range g.events {
		f := x.original
		if f == nil || f.reason != Collision || !x.equals(f.stored) {
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

// appendAndRecord appends events and records the late ones. If the current item was removed in between, its late events
// are appended again, up to the number of attempts of a single append.
func (s *Series[T]) appendAndRecord(ctx context.Context, pending []*batchEvent, user expr.Cond) error {
	for round := 0; len(pending) > 0; round++ {
		if round >= engine.Of(s).Runner.MaxAttempts {
			return entitytype.ErrConflict
		}
		late, err := s.appendChunks(ctx, pending, user)
		gone, lateErr := s.recordLate(ctx, late)
		if err != nil || lateErr != nil {
			return errors.Join(err, lateErr)
		}
		pending = gone
	}
	return nil
}

// afterOriginal returns the outcome of an event from that of the first event with the same key.
func (x *batchEvent) afterOriginal() outcome {
	o := x.original.outcome
	switch {
	case o.applied || o.reason == LateRecorded:
		o = outcome{stored: x.original.carried, current: o.current}
	case o.stored == nil:
		return o
	}
	o.applied, o.reason = false, Duplicate
	if !x.equals(o.stored) {
		o.reason = Collision
	}
	return o
}

// Limits of one chunk: a transaction has at most 100 actions, one of them the current item's, and 4 MB.
const (
	chunkEvents = write.MaxActions - 1
	chunkBytes  = write.MaxTransactionBytes - 600*1024 // leaves room for the current item's changes
)

// appendChunks sends pending, which is in order, chunk by chunk. It returns the late events that are to be recorded.
func (s *Series[T]) appendChunks(ctx context.Context, pending []*batchEvent, user expr.Cond) (late []*batchEvent, err error) {
	c := engine.Of(s)
	for len(pending) > 0 {
		n := chunkLength(pending)
		k := &chunk{c: c, e: s.e, user: user, rest: pending[:n]}
		pending = pending[n:]
		_, err := c.Runner.Run(ctx, &write.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: k.rest[0].primary, Planner: k})
		late = append(late, k.late...)
		if err != nil {
			for _, x := range k.sent {
				x.outcome = outcome{}
			}
			return late, err
		}
	}
	return late, nil
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
	c    *engine.Core
	e    *events
	user expr.Cond
	in   write.Input   // of the plan that is sent
	rest []*batchEvent // undecided, in order
	sent []*batchEvent // rest as it was last sent; an error leaves all of it undecided
	late []*batchEvent
}

func (k *chunk) Plan(in write.Input) (write.Step, error) {
	k.in, k.sent = in, k.rest
	evs := make([]*event, len(k.rest))
	for i, x := range k.rest {
		evs[i] = x.event
	}
	current, err := advance(&joinedAdvance{evs, k.user, in}, evs[0])
	if err != nil {
		return write.Step{}, err
	}
	return together(in, current, k.rest, k)
}

// Done implements write.Outcome.
func (k *chunk) Done(write.Returned) (write.Result, error) {
	for _, x := range k.sent {
		if x.inHistory {
			x.reason = Duplicate
		} else {
			x.applied = true
		}
	}
	return write.Result{}, nil
}

// together returns the step of an action on the current item and, for each event, its put, or a check if it is stored already.
func together(in write.Input, current write.Action, events []*batchEvent, outcome write.Outcome) (write.Step, error) {
	actions := []write.Action{current}
	for _, x := range events {
		if x.inHistory {
			actions = append(actions, x.event.check())
			continue
		}
		put, err := x.put(in)
		if err != nil {
			return write.Step{}, err
		}
		actions = append(actions, put)
	}
	return write.Step{Actions: actions, Whole: true, Outcome: outcome}, nil
}

// Resolve decides the events that failed and returns the step that sends the rest.
func (k *chunk) Resolve(failed []write.Failure) write.Resolution {
	f, err := k.rest[0].opened(failed)
	if err != nil {
		return write.Resolution{Err: err}
	}
	current, refused := f[0], f[0].Failed()
	var rest []*batchEvent
	for i, x := range k.rest {
		older := false
		if current.Failed() {
			if older, err = x.isOlder(current.Image); err != nil {
				return write.Resolution{Err: err}
			}
		}
		refused = refused && !(i == 0 && older)
		failed := f[i+1]
		switch {
		case x.inHistory && failed.Failed():
			x.inHistory, x.stored = false, nil // removed meanwhile: put it after all
			rest = append(rest, x)
		case failed.Failed() && !x.equals(failed.Image):
			x.outcome = outcome{reason: Collision, current: current.Image, stored: failed.Image}
		case (failed.Failed() || x.inHistory) && older:
			x.outcome = outcome{reason: Duplicate, current: current.Image, stored: firstSet(failed.Image, x.stored)}
		case failed.Failed():
			x.inHistory, x.stored = true, failed.Image
			rest = append(rest, x)
		case older && k.e.record:
			x.newer = current.Image // undecided until it is recorded
			k.late = append(k.late, x)
		case older:
			x.outcome = outcome{reason: Older, current: current.Image}
		default:
			rest = append(rest, x)
		}
	}
	if refused {
		k.conditionFailed(rest, current.Image)
		rest = nil
	}
	if k.rest = rest; len(rest) == 0 {
		return write.Resolution{Result: &write.Result{}}
	}
	next, err := k.Plan(k.in)
	return write.Resolution{Next: &next, Err: err}
}

// conditionFailed decides the rest after the caller's condition did not hold.
func (k *chunk) conditionFailed(rest []*batchEvent, current item.Item) {
	for _, x := range rest {
		x.reason, x.current = ConditionFailed, current
		if x.inHistory {
			x.reason = Duplicate
		}
	}
}

// firstSet returns a, or b if a is nil.
func firstSet(a, b item.Item) item.Item {
	if a != nil {
		return a
	}
	return b
}

// recordLate stores late events in the history of an existing item, in transactions of their own. It returns those
// whose current item was removed meanwhile, so that they are no longer late.
func (s *Series[T]) recordLate(ctx context.Context, late []*batchEvent) (gone []*batchEvent, err error) {
	c := engine.Of(s)
	for part := range slices.Chunk(late, chunkEvents) {
		for len(part) > 0 {
			n := chunkLength(part)
			r := &lateChunk{c: c, rest: part[:n]}
			part = part[n:]
			_, err := c.Runner.Run(ctx, &write.Op{Verb: "AppendAll", Schema: c.Schema, Table: c.Table, Key: r.rest[0].primary, Planner: r})
			if err != nil {
				return gone, err
			}
			gone = append(gone, r.gone...)
		}
	}
	return gone, nil
}

// lateChunk is a transaction of late events with a check that the current item exists.
type lateChunk struct {
	c    *engine.Core
	in   write.Input // of the plan that is sent
	rest []*batchEvent
	gone []*batchEvent
}

func (r *lateChunk) Plan(in write.Input) (write.Step, error) {
	r.in = in
	exists := write.Action{Kind: write.Check, Table: r.c.Table, Key: r.rest[0].primary, Cond: r.rest[0].exists()}
	return together(in, exists, r.rest, r)
}

// Done implements write.Outcome.
func (r *lateChunk) Done(write.Returned) (write.Result, error) {
	for _, x := range r.rest {
		x.outcome = outcome{reason: LateRecorded, current: x.newer}
	}
	return write.Result{}, nil
}

// Resolve implements write.Outcome.
func (r *lateChunk) Resolve(failed []write.Failure) write.Resolution {
	f, err := r.rest[0].opened(failed)
	if err != nil {
		return write.Resolution{Err: err}
	}
	var rest []*batchEvent
	for i, x := range r.rest {
		if !f[i+1].Failed() {
			rest = append(rest, x)
			continue
		}
		x.outcome = x.duplicate(x.newer, f[i+1].Image)
	}
	if f[0].Failed() {
		r.gone, rest = rest, nil
	}
	if r.rest = rest; len(rest) == 0 {
		return write.Resolution{Result: &write.Result{}}
	}
	next, err := r.Plan(r.in)
	return write.Resolution{Next: &next, Err: err}
}
