package demo

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Clock is the time of the story, which goes on when the story is over.
type Clock struct {
	story time.Time // zero after Resume
	end   time.Time
}

// NewClock returns a clock that begins before end, the time at which the story is over.
func NewClock(end time.Time) *Clock {
	end = end.UTC().Truncate(time.Second)
	return &Clock{story: end.Add(-40 * 24 * time.Hour), end: end}
}

// Now returns the time: of the story, and then of the day.
func (c *Clock) Now() time.Time {
	if c.story.IsZero() {
		return time.Now()
	}
	return c.story
}

// Resume lets the clock go on with the time of the day.
func (c *Clock) Resume() { c.story = time.Time{} }

func (c *Clock) move(d time.Duration) { c.story = c.story.Add(d) }

var cities = []string{"Oslo", "Bergen", "Tromsø"}

// Tell writes forty days of the shop. A customer whose address is ben@example.org was deleted last night.
func Tell(ctx context.Context, app *App, c *Clock) error {
	f := entity.Fields[Customer]()
	const day = 24 * time.Hour
	for i, name := range []string{"Ann", "Ben", "Cleo", "Dan", "Eli", "Fay"} {
		c.move(time.Hour)
		id := fmt.Sprintf("c-%d", i+1)
		_, err := app.Customers.Create(As(ctx, By{"shop", "signed up"}), Customer{
			CustomerID: id, Email: lower(name) + "@example.org", Name: name, City: cities[i%3], Since: c.Now(), Points: 10, Pin: fmt.Sprint(4711 + i),
			Address: Address{Street: fmt.Sprintf("Harbour Street %d", i+1), Notes: []string{"ring twice", "not before noon"}},
		})
		if err != nil {
			return err
		}
		for n := range 3 {
			placed, status := c.Now().Add(time.Duration(n)*day), "paid"
			if n == 2 {
				status = "open"
			}
			order := Order{CustomerID: id, OrderID: fmt.Sprintf("o-%d%d", i+1, n+1), PlacedAt: placed, Status: status, Cents: 1250 * (i + n + 1), Receipt: []byte("receipt " + id)}
			if _, err := app.Orders.Create(ctx, order); err != nil {
				return err
			}
		}
	}
	ben := Customer{CustomerID: "c-2"}
	for _, x := range []struct {
		after   time.Duration
		by      By
		changes []entity.UpdateOption
	}{
		{9 * day, By{"billing", "points of the month"}, []entity.UpdateOption{entity.Set(&f.Points, 140)}},
		{6 * day, By{"ben", "moved"}, []entity.UpdateOption{entity.Set(&f.City, "Tromsø"), entity.Set(&f.Address.Street, "North Quay 7")}},
	} {
		c.move(x.after)
		if _, err := app.Customers.Update(As(ctx, x.by), ben, x.changes...); err != nil {
			return err
		}
	}
	if err := changesHisMind(ctx, app, c, ben); err != nil {
		return err
	}
	return measured(ctx, app, c)
}

func lower(name string) string { return string(name[0]+'a'-'A') + name[1:] }

// changesHisMind deletes a customer, restores it, changes it, and deletes it again.
func changesHisMind(ctx context.Context, app *App, c *Clock, key Customer) error {
	f := entity.Fields[Customer]()
	c.move(8 * 24 * time.Hour)
	if err := app.Customers.Delete(As(ctx, By{"support", "asked to leave"}), key); err != nil {
		return err
	}
	c.move(26 * time.Hour)
	deleted, err := lifecycle.Of(app.Customers)
	if err != nil {
		return err
	}
	if _, err := deleted.Restore(As(ctx, By{"support", "changed his mind"}), key); err != nil {
		return err
	}
	c.move(5 * 24 * time.Hour)
	if _, err := app.Customers.Update(As(ctx, By{"ben", "newsletter"}), key, entity.Set(&f.Newsletter, true)); err != nil {
		return err
	}
	if _, err := app.Sessions.Create(ctx, Session{SessionID: "session-of-ann", CustomerID: "c-1"}); err != nil {
		return err
	}
	c.story = c.end.Add(-9 * time.Hour)
	return app.Customers.Delete(As(ctx, By{"import", "nightly clean-up"}), key)
}

// measured appends a day of readings; some arrive late, some twice.
func measured(ctx context.Context, app *App, c *Clock) error {
	begin := c.end.Add(-26 * time.Hour)
	var late []Reading
	c.story = c.end.Add(-8 * time.Hour)
	appended := func(r Reading, want timeseries.Reason) error {
		got, err := app.Readings.Append(ctx, r)
		if err == nil && got.Reason != want {
			err = fmt.Errorf("the reading at %s is %q, not %q", r.At, got.Reason, want)
		}
		return err
	}
	for i := range 72 {
		n := 4 + 2.5*math.Sin(float64(i)/9) + 0.4*math.Sin(float64(i)*1.7)
		if i > 40 && i < 52 {
			n += 5 // the door was open
		}
		r := Reading{Sensor: "cold-store-1", At: begin.Add(time.Duration(i) * 20 * time.Minute), Temperature: math.Round(n*10) / 10}
		if i%9 == 4 {
			late = append(late, r)
			continue
		}
		c.move(time.Second)
		if err := appended(r, ""); err != nil {
			return err
		}
	}
	for _, r := range late {
		c.move(time.Minute)
		if err := appended(r, timeseries.LateRecorded); err != nil {
			return err
		}
	}
	last := Reading{Sensor: "cold-store-1", At: begin.Add(25 * time.Hour), Temperature: 3.9}
	for _, want := range []timeseries.Reason{"", timeseries.Duplicate} {
		if err := appended(last, want); err != nil {
			return err
		}
	}
	last.At = last.At.Add(20 * time.Minute) // what it reports is what the one before reports
	if err := appended(last, ""); err != nil {
		return err
	}
	c.story = c.end
	_, err := app.Warmest.Rebuild(ctx)
	return err
}
