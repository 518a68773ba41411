package main

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/dynastrata/dynastrata/timeseries"
)

// receipt is the result of one event.
type receipt struct {
	event   Telemetry
	answer  timeseries.Result[Telemetry]
	current Telemetry // the current item then
}

// receive makes the receipt of an event. It reads the current item unless the answer has it.
func receive(ctx context.Context, ev Telemetry, answer timeseries.Result[Telemetry]) (receipt, error) {
	current, err := answer.Current(counting(ctx))
	return receipt{ev, answer, current}, err
}

// publish sends the device's deliveries in the order of their arrival, and calls seen for the first and every eighth after it.
func (d *device) publish(ctx context.Context, a *app, seen chan<- sighting) error {
	for i, out := range d.deliveries {
		copies := make([]receipt, out.copies)
		send := func(ctx context.Context, n int) error {
			answer, err := a.Telemetry.Append(counting(ctx), out.event)
			if err == nil {
				copies[n], err = receive(ctx, out.event, answer)
			}
			if err != nil {
				return fmt.Errorf("publish %s: %w", d.name(), err)
			}
			return nil
		}
		if err := together(ctx, out.copies, send); err != nil {
			return err
		}
		d.note(copies)
		if i%8 == 0 {
			seen <- sighting{d, i + 1}
		}
	}
	return nil
}

// note keeps the receipts of copies that were sent at the same moment. The order of their arrival is unknown; the one that
// was applied counts as the first.
func (d *device) note(copies []receipt) {
	slices.SortStableFunc(copies, func(a, b receipt) int {
		switch {
		case a.answer.Applied && !b.answer.Applied:
			return -1
		case b.answer.Applied && !a.answer.Applied:
			return 1
		}
		return 0
	})
	if d.createdAt.IsZero() {
		d.createdAt = copies[0].current.CreatedAt
	}
	d.receipts = append(d.receipts, copies...)
}

// uploadBacklog sends what all devices collected while they were offline, in one bulk call, and returns the results.
func uploadBacklog(ctx context.Context, a *app, fleet []*device) (map[*device][]receipt, error) {
	var events []Telemetry
	var from []*device
	for _, d := range fleet {
		for _, ev := range d.backlog {
			events, from = append(events, ev), append(from, d)
		}
	}
	answers, err := a.Telemetry.AppendAll(counting(ctx), events)
	if err != nil {
		return nil, fmt.Errorf("upload the backlog: %w", err)
	}
	uploaded := map[*device][]receipt{}
	for i, answer := range answers {
		got, err := receive(ctx, events[i], answer)
		if err != nil {
			return nil, fmt.Errorf("upload the backlog: %w", err)
		}
		uploaded[from[i]] = append(uploaded[from[i]], got)
	}
	// A bulk append applies the events of a series in the order of their time; of events with equal times the first counts.
	for d, receipts := range uploaded {
		slices.SortStableFunc(receipts, func(a, b receipt) int { return a.event.Timestamp.Compare(b.event.Timestamp) })
		d.receipts = append(d.receipts, receipts...)
	}
	return uploaded, nil
}

// together runs f(0) … f(n-1) at the same time and waits for all. The first error ends the context of the others.
func together(ctx context.Context, n int, f func(ctx context.Context, i int) error) (first error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var wg sync.WaitGroup
	var once sync.Once
	for i := range n {
		wg.Go(func() {
			if err := f(ctx, i); err != nil {
				once.Do(func() { first = err })
				cancel()
			}
		})
	}
	wg.Wait()
	return first
}
