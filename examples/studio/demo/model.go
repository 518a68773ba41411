// Package demo has a shop with an item of every kind, for the studio to show.
package demo

import (
	"context"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeline"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Customer keeps versions, can be restored after a delete, and has an e-mail address of its own.
type Customer struct {
	_ entity.Key           `name:"Customer" pk:"$#{customerId}" sk:"$"`
	_ entity.GSI           `name:"byCity" index:"gsi1" pk:"$#{city}" sk:"$#{since}#{customerId}"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`

	CustomerID string    `dynamodbav:"customerId"`
	Email      string    `dynamodbav:"email" entity:"required"`
	Name       string    `dynamodbav:"name" entity:"required"`
	City       string    `dynamodbav:"city"`
	Since      time.Time `dynamodbav:"since" entity:"time=s"`
	Points     int       `dynamodbav:"points"`
	Discount   *float64  `dynamodbav:"discount,omitempty"`
	Newsletter bool      `dynamodbav:"newsletter"`
	Address    Address   `dynamodbav:"address"`
	Pin        string    `dynamodbav:"pin" entity:"secret"`
	Actor      string    `dynamodbav:"actor,omitempty" entity:"required,context=actor"`
	Reason     string    `dynamodbav:"reason,omitempty" entity:"context=reason"`
	Version    int64     `dynamodbav:"version" entity:"version"`
	CreatedAt  time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt  time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Address is nested in a customer.
type Address struct {
	Street string   `dynamodbav:"street"`
	Notes  []string `dynamodbav:"notes,omitempty"`
}

// Order is in the partition of its customer.
type Order struct {
	_ entity.Key `name:"Order" pk:"$#{customerId}" sk:"$#{placedAt}#{orderId}"`
	_ entity.GSI `name:"open" index:"gsi1" pk:"$#{status}" sk:"$#{placedAt}" when:"status=open"`

	CustomerID string    `dynamodbav:"customerId"`
	OrderID    string    `dynamodbav:"orderId"`
	PlacedAt   time.Time `dynamodbav:"placedAt" entity:"time=s"`
	Status     string    `dynamodbav:"status" entity:"required"`
	Cents      int       `dynamodbav:"cents"`
	Receipt    []byte    `dynamodbav:"receipt,omitempty"`
}

// Session ends by itself.
type Session struct {
	_ entity.Key    `name:"Session" pk:"$#{sessionId}" sk:"$"`
	_ lifecycle.TTL `attr:"_ttl" after:"12h"`

	SessionID  string    `dynamodbav:"sessionId" entity:"secret"`
	CustomerID string    `dynamodbav:"customerId"`
	Ends       time.Time `dynamodbav:"_ttl,omitempty" entity:"time=unix"`
}

// Reading is an event of a cold store.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{sensor}" sk:"$"`
	_ timeseries.Events `orderBy:"at" ttl:"90d" late:"record"`

	Sensor      string    `dynamodbav:"sensor"`
	At          time.Time `dynamodbav:"at" entity:"time=s"`
	Temperature float64   `dynamodbav:"temperature" entity:"append"`
	Humidity    *int      `dynamodbav:"humidity,omitempty" entity:"append"`
}

// Warmest is the state of the read model warmest.
type Warmest struct {
	Temperature float64   `dynamodbav:"temperature"`
	At          time.Time `dynamodbav:"at"`
}

// App has the handles of the program.
type App struct {
	Customers *entity.Store[Customer]
	Orders    *entity.Store[Order]
	Sessions  *entity.Store[Session]
	Readings  *timeseries.Series[Reading]
	Warmest   *timeline.View[string, Warmest]
}

// By is who writes, and why.
type By struct{ Actor, Reason string }

type byKey struct{}

// As returns a context with who writes, and why.
func As(ctx context.Context, by By) context.Context { return context.WithValue(ctx, byKey{}, by) }

// Open declares the entities on a table. now is the clock.
func Open(client entity.Client, table string, now func() time.Time) (*entity.DB, *App, error) {
	db, err := entity.Open(client, entity.Config{
		Table: table, Namespace: entity.Namespace{Name: "shop"}, TimePrecision: time.Second, Clock: now, CursorKey: []byte("the demonstration"),
		FromContext: func(ctx context.Context, name string) (string, bool) {
			by, _ := ctx.Value(byKey{}).(By)
			text := map[string]string{"actor": by.Actor, "reason": by.Reason}[name]
			return text, text != ""
		},
	})
	if err != nil {
		return nil, nil, err
	}
	app := &App{}
	if app.Customers, err = entity.New[Customer](db); err != nil {
		return nil, nil, err
	}
	if app.Orders, err = entity.New[Order](db); err != nil {
		return nil, nil, err
	}
	if app.Sessions, err = entity.New[Session](db); err != nil {
		return nil, nil, err
	}
	if app.Readings, err = timeseries.New[Reading](db); err != nil {
		return nil, nil, err
	}
	app.Warmest, err = timeline.New(db, timeline.Projection[string, Warmest]{
		Name: "warmest", Version: 1, Retention: 90 * 24 * time.Hour, Source: timeline.Series(app.Readings), Start: func() Warmest { return Warmest{} },
		Handlers: []timeline.Handler[string, Warmest]{timeline.On("reading.appended", func(r Reading) string { return r.Sensor },
			func(w *Warmest, e timeline.Event[Reading]) error {
				if e.Payload.Temperature > w.Temperature {
					w.Temperature, w.At = e.Payload.Temperature, e.Payload.At
				}
				return nil
			})},
	})
	return db, app, err
}
