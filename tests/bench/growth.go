package main

import (
	"context"
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
)

// grown is a call whose cost is measured with more and more events.
type grown struct {
	name string
	run  func(ctx context.Context, events int) error
}

// grow measures every call with each number of events: requests, and milliseconds of CPU time of this process.
func grow(ctx context.Context, db *database, m *meter, sizes []int, progress func(string)) (table, error) {
	calls := growing(db)
	t := table{name: "growth", head: []string{"events in the history"}, rows: make([][]string, len(calls))}
	for i, c := range calls {
		t.rows[i] = []string{c.name}
	}
	for _, n := range sizes {
		progress(fmt.Sprintf("growth: %d events", n))
		t.head = append(t.head, fmt.Sprint(n))
		stored := seeds(db.prefixed, many(n, func(i int) item { return encode(eventOf(reading(i)), "Reading", "e") })...)
		stored = append(stored, seeds(db.prefixed, encode(currentOf(reading(n-1)), "Reading", ""))...)
		stored = append(stored, seeds(db.plain, many(n, func(i int) item { return encode(order(i), "", "") })...)...)
		if err := db.store(ctx, stored); err != nil {
			return t, err
		}
		for i, c := range calls {
			m.take()
			start := cpuTime()
			if err := c.run(ctx, n); err != nil {
				return t, fmt.Errorf("%s, %d events: %w", c.name, n, err)
			}
			used := float64((cpuTime() - start).Microseconds()) / 1000
			t.rows[i] = append(t.rows[i], fmt.Sprintf("%d / %s ms", m.take().requests, number(used)))
		}
	}
	return t, nil
}

// growing returns the calls in an order in which none disturbs the next.
func growing(db *database) []grown {
	o := openOurs(db.client, db.tables)
	device := Reading{Device: "device-7"}
	clocked := entity.Must(entity.Open(db.client, entity.Config{
		Tables: map[string]string{"plain": db.plain, "prefixed": db.prefixed}, Clock: ticking(now),
	}))
	source := timeline.Series(entity.Must(timeseries.New[Reading](clocked)))
	view := entity.Must(timeline.New(clocked, timeline.Projection[int, Tally]{
		Name: "speeds", Version: 1, Table: "plain", Source: source, Retention: 24 * time.Hour,
		Handlers: []timeline.Handler[int, Tally]{
			timeline.On("reading.appended", func(r Reading) int { return *r.Speed % 100 }, func(t *Tally, _ timeline.Event[Reading]) error {
				t.Events++
				return nil
			}),
		},
	}))
	return []grown{
		{"Get", func(ctx context.Context, n int) error { _, err := o.readings.Get(ctx, device); return err }},
		{"At, in the middle", func(ctx context.Context, n int) error {
			_, err := o.readings.At(ctx, device, reading(n/2).At)
			return err
		}},
		{"a page of 100", func(ctx context.Context, n int) error {
			_, err := o.readings.History(device, entity.Limit(100)).Page(ctx, "")
			return err
		}},
		{"the whole history, streamed", func(ctx context.Context, n int) error {
			for _, err := range o.readings.History(device).All(ctx) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
		{"Scan of as many items", func(ctx context.Context, n int) error { _, err := o.orders.Scan().Collect(ctx); return err }},
		{"timeline build, 100 rows", func(ctx context.Context, n int) error { _, err := view.Rebuild(ctx); return err }},
		{"Append", func(ctx context.Context, n int) error { _, err := o.readings.Append(ctx, reading(n)); return err }},
		{"AppendAll of as many events", func(ctx context.Context, n int) error {
			evs := many(n, reading)
			for i := range evs {
				evs[i].Device = "device-8"
			}
			_, err := o.readings.AppendAll(ctx, evs)
			return err
		}},
		{"Purge", func(ctx context.Context, n int) error { return o.readings.Purge(ctx, device) }},
	}
}
