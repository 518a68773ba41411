package main

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/versioned"
)

// verb is a call whose requests and units are compared with what the SDK would need.
type verb struct {
	name    string
	byHand  string // requests/units of the least that keeps the same promises
	prepare func(context.Context) error
	run     func(context.Context) error
}

// Late is a series that keeps late events.
type Late struct {
	_ entity.Key        `name:"Late" pk:"$#{device}" sk:"$" table:"prefixed"`
	_ timeseries.Events `orderBy:"at" late:"record"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	Speed  int       `dynamodbav:"speed" entity:"append"`
}

// Numbered is a series whose events have ids.
type Numbered struct {
	_ entity.Key        `name:"Numbered" pk:"$#{device}" sk:"$" table:"prefixed"`
	_ timeseries.Events `orderBy:"at" id:"id"`

	Device string    `dynamodbav:"device"`
	At     time.Time `dynamodbav:"at"`
	ID     string    `dynamodbav:"id"`
	Speed  int       `dynamodbav:"speed" entity:"append"`
}

// Tally is the state of a timeline's row.
type Tally struct {
	Events int `dynamodbav:"events"`
}

// verbs returns the calls that only this library has.
func verbs(client *dynamodb.Client, names tables) []verb {
	o, clock := openOurs(client, names), ticking(now)
	db := entity.Must(entity.Open(client, entity.Config{Tables: map[string]string{"plain": names.plain, "prefixed": names.prefixed}, Clock: clock}))
	all := entity.Must(entity.New[Everything](db))
	past := entity.Must(versioned.Of(all))
	late := entity.Must(timeseries.New[Late](db))
	numbered, f := entity.Must(timeseries.New[Numbered](db)), entity.Fields[Prefixed]()
	two := []Numbered{{Device: "d-000", At: now, ID: "a"}, {Device: "d-000", At: now, ID: "b"}}
	view := tallies(db, late)
	one := Everything{ID: "e-1", Email: "alice@example.com", Name: "Alice"}
	created := func(ctx context.Context) error { _, err := all.Create(ctx, one); return err }
	changed := func(ctx context.Context) error {
		if err := created(ctx); err != nil {
			return err
		}
		for i := range 3 {
			_, err := all.Update(ctx, Everything{ID: one.ID}, entity.Set(&entity.Fields[Everything]().Name, fmt.Sprint("Alice ", i)))
			if err != nil {
				return err
			}
		}
		return nil
	}
	appended := func(groups, each int) func(context.Context) error {
		return func(ctx context.Context) error {
			var evs []Late
			for g := range groups {
				for i := range each {
					evs = append(evs, Late{Device: fmt.Sprintf("d-%03d", g), At: now.Add(time.Duration(i) * time.Second), Speed: i})
				}
			}
			_, err := late.AppendAll(ctx, evs)
			return err
		}
	}
	built := func(groups int) func(context.Context) error {
		return func(ctx context.Context) error {
			if err := appended(groups, 1)(ctx); err != nil {
				return err
			}
			_, err := view.Rebuild(ctx)
			return err
		}
	}
	nothing := func(context.Context) error { return nil }
	return []verb{
		{"Create, with history", "1/4", nothing, func(ctx context.Context) error { _, err := o.employees.Create(ctx, employee); return err }},
		{"Create, all features", "1/6", nothing, created},
		{"Delete, all features", "1/8", created, func(ctx context.Context) error { return all.Delete(ctx, Everything{ID: one.ID}) }},
		{"History.Get", "1/1", changed, func(ctx context.Context) error { _, err := past.Get(ctx, one, 2); return err }},
		{"History.List", "1/1", changed, func(ctx context.Context) error { _, err := past.List(one).Collect(ctx); return err }},
		{"History.At", "1/1", changed, func(ctx context.Context) error { _, err := past.At(ctx, one, clock()); return err }},
		{"Revert", "2/5", changed, func(ctx context.Context) error { _, err := past.Revert(ctx, Everything{ID: one.ID}, 2); return err }},
		{"Append of a late event, recorded", "2/5", appended(1, 5), func(ctx context.Context) error {
			_, err := late.Append(ctx, Late{Device: "d-000", At: now.Add(-time.Hour)})
			return err
		}},
		{"Append with an id", "1/4", nothing, func(ctx context.Context) error { _, err := numbered.Append(ctx, two[0]); return err }},
		{"Remove, of two events", "2/7", func(ctx context.Context) error { _, err := numbered.AppendAll(ctx, two); return err }, func(ctx context.Context) error {
			return numbered.Remove(ctx, two[1])
		}},
		{"TransactFunc: Get, two writes", "2/5", func(ctx context.Context) error {
			_, err := o.prefixed.Create(ctx, Prefixed{Tenant: "t", ID: "1"})
			return err
		}, func(ctx context.Context) error {
			return o.db.TransactFunc(ctx, func(ctx context.Context) ([]entity.Op, error) {
				is, err := o.prefixed.Get(ctx, Prefixed{Tenant: "t", ID: "1"})
				return []entity.Op{o.prefixed.Op().Update(is, entity.Set(&f.Quantity, is.Quantity+1)), o.prefixed.Op().Create(Prefixed{Tenant: "t", ID: "2"})}, err
			})
		}},
		{"Purge of 1,000 events", "12/2050", appended(1, 1000), func(ctx context.Context) error { return late.Purge(ctx, Late{Device: "d-000"}) }},
		{"Purge, nothing there", "1/1", nothing, func(ctx context.Context) error { return late.Purge(ctx, Late{Device: "d-000"}) }},
		{"Rebuild of 100 rows", "–", appended(100, 1), func(ctx context.Context) error { _, err := view.Rebuild(ctx); return err }},
		{"CatchUp with nothing new, 500 rows", "O(segments)", built(500), func(ctx context.Context) error { _, err := view.CatchUp(ctx); return err }},
		{"CatchUp with one new event, 500 rows", "O(segments)", func(ctx context.Context) error {
			if err := built(500)(ctx); err != nil {
				return err
			}
			_, err := late.Append(ctx, Late{Device: "d-000", At: now.Add(time.Hour)})
			return err
		}, func(ctx context.Context) error { _, err := view.CatchUp(ctx); return err }},
	}
}

// tallies is a timeline with a row for each device.
func tallies(db *entity.DB, late *timeseries.Series[Late]) *timeline.View[string, Tally] {
	return entity.Must(timeline.New(db, timeline.Projection[string, Tally]{
		Name: "tallies", Version: 1, Table: "prefixed",
		Source: timeline.Series(late, timeline.PartitionKey(func(device string) Late { return Late{Device: device} })),
		Handlers: []timeline.Handler[string, Tally]{
			timeline.On("late.appended", func(e Late) string { return e.Device }, func(t *Tally, _ timeline.Event[Late]) error {
				t.Events++
				return nil
			}),
		},
	}))
}

// ticking returns a clock that advances by a millisecond with each reading.
func ticking(from time.Time) func() time.Time {
	var n atomic.Int64
	return func() time.Time { return from.Add(time.Duration(n.Add(1)) * time.Millisecond) }
}

// countRows returns what each library sends and consumes for each row of the table.
func countRows(ctx context.Context, db *database, m *meter, all []row) (map[string][3]cost, error) {
	counts := map[string][3]cost{}
	for _, r := range all {
		var c [3]cost
		for lib, run := range r.run {
			if err := db.store(ctx, r.before); err != nil {
				return nil, err
			}
			m.take()
			if _, err := run(ctx); err != nil {
				return nil, fmt.Errorf("%s with %s: %w", r.name, libraries[lib], err)
			}
			c[lib] = m.take()
		}
		counts[r.name] = c
	}
	return counts, nil
}

// countVerbs returns what each verb sends and consumes.
func countVerbs(ctx context.Context, db *database, m *meter, all []verb) (map[string]cost, error) {
	counts := map[string]cost{}
	for _, v := range all {
		if err := db.store(ctx, nil); err != nil {
			return nil, err
		}
		if err := v.prepare(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		m.take()
		if err := v.run(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		counts[v.name] = m.take()
	}
	return counts, nil
}
