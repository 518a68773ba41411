package timeseries

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// seriesAtOnce is how many series one AppendAll works on at the same time.
const seriesAtOnce = 8

// AppendAll appends events of any number of series; the results are in the order of evs. The events of one series are
// a set: they are sorted by orderBy, of equal keys the first counts, and they go out in transactions of up to 99 events
// and 4 MB, each of which advances the current item once. Several series are worked on at the same time.
//
// It costs a request per chunk, one more each time the current item or an event turns out to be newer or there already,
// and one consistent read per series with an applied event (see [WithoutCurrent]). A mistake in one event is an error
// before any request. When a later chunk fails, the results of the earlier ones come with the error, and those of
// events that were not decided have neither Applied nor Reason.
func (s *Series[T]) AppendAll(ctx context.Context, evs []T, opts ...AppendOption) ([]Result[T], error) {
	c, spec := core.Of(s), opt.Appends(opts)
	results := make([]Result[T], len(evs))
	err := c.Measure(ctx, "AppendAll", "", func(ctx context.Context) error {
		groups, err := s.group(evs)
		if err != nil {
			return err
		}
		user, err := conditions(c, spec)
		if err != nil {
			return err
		}
		errs := make([]error, len(groups))
		exec.Parallel(len(groups), seriesAtOnce, func(i int) { errs[i] = s.appendGroup(ctx, groups[i], user, spec.NoReturn) })
		for _, g := range groups {
			for _, x := range g.events {
				r, err := result[T](c, x.outcome)
				errs = append(errs, err)
				results[x.at] = r
			}
		}
		return errors.Join(errs...)
	})
	return results, err
}

// placed is an event of a batch, where it stood, and what became of it.
type placed struct {
	*event
	at int
	outcome
	winner item.Item // the current item that made it late, while it waits to be recorded
	first  *placed   // an earlier event of the batch with the same key
	check  bool      // it is stored already; the current item still has to be brought up to it
}

// group is the events of one series, in order of orderBy.
type group struct{ events []*placed }

// group encodes and sorts a batch. The error names the first event that is wrong.
func (s *Series[T]) group(evs []T) ([]*group, error) {
	c := core.Of(s)
	byKey, now := map[string]*group{}, c.Runner.Clock()
	var groups []*group
	for i := range evs {
		ev, err := newEvent(c, s.e, reflect.ValueOf(evs[i]))
		if err == nil {
			err = ev.tooEarly(now)
		}
		if err == nil {
			_, err = ev.item(plan.Input{Now: now, WriteID: strings.Repeat("x", 36)})
		}
		if err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		id := plan.KeyID(ev.primary)
		if byKey[id] == nil {
			byKey[id] = &group{}
			groups = append(groups, byKey[id])
		} else if err := plan.SameCase(c.Schema, ev.carried, byKey[id].events[0].carried); err != nil {
			return nil, fmt.Errorf("event %d: %w", i, err)
		}
		byKey[id].events = append(byKey[id].events, &placed{event: ev, at: i})
	}
	for _, g := range groups {
		slices.SortStableFunc(g.events, func(a, b *placed) int { return strings.Compare(a.sortKey, b.sortKey) })
		for i := 1; i < len(g.events); i++ {
			if prev := g.events[i-1]; prev.sortKey == g.events[i].sortKey {
				g.events[i].first = prev
				if prev.first != nil {
					g.events[i].first = prev.first
				}
			}
		}
	}
	return groups, nil
}

// appendGroup works on one series until every event is decided or an error stops it.
func (s *Series[T]) appendGroup(ctx context.Context, g *group, user expr.Cond, skip bool) error {
	var pending []*placed
	for _, x := range g.events {
		if x.first == nil {
			pending = append(pending, x)
		}
	}
	err := s.appendAndRecord(ctx, pending, user)
	if again := g.underCollisions(); err == nil && again != nil {
		err = s.appendAndRecord(ctx, again, user)
	}
	for _, x := range g.events {
		if x.first != nil {
			x.outcome = x.afterFirst()
		}
	}
	if skip {
		return err
	}
	return errors.Join(err, s.fillCurrent(ctx, g))
}

// underCollisions are the events whose key an earlier event of the batch has, where that one collided with what is
// stored and they do not: they have to be appended in their own right.
func (g *group) underCollisions() []*placed {
	var again []*placed
	for _, x := range g.events {
		f := x.first
		if f == nil || f.reason != Collision || !x.same(f.stored) {
			continue
		}
		if n := len(again); n == 0 || again[n-1].sortKey != x.sortKey {
			x.first = nil
			again = append(again, x)
		}
	}
	return again
}

// appendAndRecord appends events and records those that came too late. Where the current item went away in between, its
// late events are appended again, within the bounds of a single append.
func (s *Series[T]) appendAndRecord(ctx context.Context, pending []*placed, user expr.Cond) error {
	for round := 0; len(pending) > 0; round++ {
		if round >= core.Of(s).Runner.MaxAttempts {
			return plan.ErrConflict
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

// afterFirst is the outcome of an event whose key an earlier event of the batch has too.
func (x *placed) afterFirst() outcome {
	o := x.first.outcome
	switch {
	case o.applied || o.reason == LateRecorded:
		o = outcome{stored: x.first.carried, current: o.current}
	case o.stored == nil:
		return o
	}
	o.applied, o.reason = false, Duplicate
	if !x.same(o.stored) {
		o.reason = Collision
	}
	return o
}

// fillCurrent reads the current item once for all results of the series that do not have it.
func (s *Series[T]) fillCurrent(ctx context.Context, g *group) error {
	known := outcome{applied: slices.ContainsFunc(g.events, func(x *placed) bool { return x.applied })}
	for _, x := range g.events {
		decided := x.applied || x.reason != ""
		if !decided || x.current != nil || x.reason == ConditionFailed {
			continue
		}
		if err := s.follow(ctx, &known, x.primary, false); err != nil || known.current == nil {
			return err
		}
		x.current = known.current
	}
	return nil
}
