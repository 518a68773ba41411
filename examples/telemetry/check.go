package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// violation is a rule that does not hold for a device.
type violation struct{ device, rule, detail string }

func (v *violation) Error() string { return v.device + ": " + v.rule + ": " + v.detail }

// Rules that must hold at the end of the simulation.
const (
	ruleAnswer  = "every event was answered as a series must"
	ruleCurrent = "the current item is the newest event with its enrichment kept"
	ruleHistory = "the history is exactly the applied events"
)

// check compares what is stored with what must be stored. The error joins a *violation for every rule that a device breaks.
func check(ctx context.Context, a *app, fleet []*device) error {
	var broken []error
	for _, d := range fleet {
		found, err := d.check(ctx, a)
		if err != nil {
			return fmt.Errorf("check %s: %w", d.name(), err)
		}
		broken = append(broken, found...)
	}
	return errors.Join(broken...)
}

func (d *device) check(ctx context.Context, a *app) (broken []error, err error) {
	rule := func(rule, format string, args ...any) {
		broken = append(broken, &violation{d.name(), rule, fmt.Sprintf(format, args...)})
	}
	want := d.replay(rule)

	current, err := a.Telemetry.Get(ctx, d.key, entity.Consistent())
	switch {
	case errors.Is(err, entity.ErrNotFound):
		rule(ruleCurrent, "it does not exist")
	case err != nil:
		return nil, err
	case !reflect.DeepEqual(current, want.current):
		rule(ruleCurrent, "stored %s, want %s", current, want.current)
	}

	history, err := a.Telemetry.History(d.key, entity.Consistent()).Collect(ctx)
	if err != nil {
		return nil, err
	}
	for len(history) > 0 || len(want.history) > 0 {
		switch stored, applied := first(history), first(want.history); {
		case applied == nil || stored != nil && stored.Timestamp.Before(applied.Timestamp):
			rule(ruleHistory, "%s was never applied", stored)
			history = history[1:]
		case stored == nil || applied.Timestamp.Before(stored.Timestamp):
			rule(ruleHistory, "%s is missing", applied)
			want.history = want.history[1:]
		default:
			if !reflect.DeepEqual(stored, applied) {
				rule(ruleHistory, "stored %s, applied %s", stored, applied)
			}
			history, want.history = history[1:], want.history[1:]
		}
	}
	return broken, nil
}

func first(events []Telemetry) *Telemetry {
	if len(events) == 0 {
		return nil
	}
	return &events[0]
}

// An outcome holds what must be stored for a device.
type outcome struct {
	current Telemetry
	history []Telemetry // in order of time
}

// replay feeds the receipts to a model of a series, a map and the newest event, and reports results that the model would
// not have given.
func (d *device) replay(rule func(rule, format string, args ...any)) outcome {
	must := outcome{current: d.key}
	must.current.AccountID, must.current.Diagnostics, must.current.CreatedAt = d.enriched.AccountID, d.enriched.Diagnostics, d.createdAt
	stored := map[int64]Telemetry{}
	for _, r := range d.receipts {
		at := r.event.Timestamp
		known, duplicate := stored[at.Unix()]
		var want timeseries.Reason
		switch {
		case duplicate && reflect.DeepEqual(known, r.event):
			want = timeseries.Duplicate
		case duplicate:
			want = timeseries.Collision
		case !at.After(must.current.Timestamp):
			want = timeseries.Older
		}
		if r.answer.Reason != want || r.answer.Applied != (want == "") {
			rule(ruleAnswer, "%s: applied %t, reason %q, want reason %q", r.event, r.answer.Applied, r.answer.Reason, want)
		}
		if r.current.Timestamp.Before(at) {
			rule(ruleAnswer, "%s: the answer's current item is of %s", r.event, clock(r.current.Timestamp))
		}
		if r.answer.Applied {
			stored[at.Unix()] = r.event
			must.history = append(must.history, r.event)
			must.current.advance(r.event)
		}
	}
	slices.SortFunc(must.history, func(a, b Telemetry) int { return a.Timestamp.Compare(b.Timestamp) })
	return must
}

// advance updates a current item to an event: what the event does not report stays.
func (it *Telemetry) advance(ev Telemetry) {
	it.Timestamp = ev.Timestamp
	if ev.Location != nil {
		it.Location = ev.Location
	}
	if ev.Alert != nil {
		it.Alert = ev.Alert
	}
	if ev.GPIO != nil {
		it.GPIO = ev.GPIO
	}
}
