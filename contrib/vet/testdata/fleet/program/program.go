// Package program opens entities of another package, and writes them.
package program

import (
	"context"
	"time"

	"example.com/fleet/models"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
)

type old struct {
	ID string `dynamodbav:"id"`
}

type current struct {
	_  entity.Key `name:"Current" pk:"$#{id}" payload:"3"`
	ID string     `dynamodbav:"id"`
}

// brief has a lifetime of its store's.
type brief struct {
	_  entity.Key    `name:"Brief" pk:"$#{id}"`
	_  lifecycle.TTL `attr:"ends"`
	ID string        `dynamodbav:"id"`
}

// misspelt is reported where it is declared.
type misspelt = models.Misspelt

// columns holds prototypes.
type columns struct {
	*models.Employee
	named *models.Employee
}

func stores(db *entity.DB, ttl time.Duration, opts ...entity.StoreOption) {
	_, _ = entity.New[models.Employee](db)
	_, _ = timeseries.New[models.Telemetry](db)
	_, _ = entity.New[models.Telemetry](db)    // want `EDD-9047: _ timeseries.Events needs timeseries.New, and not entity.New`
	_, _ = timeseries.New[models.Employee](db) // want `EDD-9047: the struct lacks the declaration that timeseries.New is for: _ timeseries.Events`
	_, _ = entity.New[models.Keyless](db)      // want `EDD-9030: there is no _ entity.Key field`
	_, _ = entity.New[models.Misspelt](db)
	_, _ = entity.New[*models.Employee](db) // want `EDD-9048: an entity is a struct`

	_, _ = entity.New[models.Session](db) // want `EDD-9003: tag key "after" is missing`
	_, _ = entity.New[models.Session](db, lifecycle.After(time.Hour))
	_, _ = entity.New[models.Session](db, lifecycle.After(0)) // want `EDD-9036: After must be a number of whole seconds`
	_, _ = entity.New[models.Session](db, lifecycle.After(ttl))
	_, _ = entity.New[models.Session](db, opts...)
	_, _ = entity.New[models.Session](db, lifecycle.NoExpiry())
	_, _ = entity.New[models.Session](db, lifecycle.NoExpiry(), lifecycle.After(time.Hour)) // want `EDD-9108: After and NoExpiry exclude each other`
	_, _ = entity.New[models.Employee](db, lifecycle.NoExpiry())                            // want `EDD-9108: After and NoExpiry need a lifecycle.TTL declaration`
	_, _ = entity.New[models.Employee](db, entity.Named("staff"))
	_, _ = entity.New[models.Employee](db, entity.Named("staff#1")) // want `EDD-9003: .*a name has only letters`

	_, _ = entity.New[models.Row[string]](db)
	_, _ = entity.New[models.Row[float64]](db)          // want `EDD-9037: .*`
	_, _ = entity.New[brief](db, lifecycle.After(0))    // want `EDD-9036: After must be a number of whole seconds`
	_, _ = entity.New[current](db, entity.Named("s#1")) // want `EDD-9003: .*a name has only letters`

	up := func(o old) (current, error) { return current{ID: o.ID}, nil }
	_, _ = entity.New[current](db, entity.Upgrade(2, up))
	_, _ = entity.New[current](db, entity.Upgrade(1, up)) // want `EDD-9172: the upgrade from payload version 2 is missing`
}

var proto = entity.Fields[models.Employee]()

func addresses(ctx context.Context, employees *entity.Store[models.Employee], given *models.Employee) {
	alice, _ := employees.Get(ctx, models.Employee{})
	made, own, n := &models.Employee{}, new(models.Employee), 0
	pointer := &alice
	e := entity.Fields[models.Employee]()
	either := made
	either = e
	_ = entity.Eq(&alice.Name, "Alice")           // want `EDD-9105: &alice.Name is in a value of the program; take the address of a field of entity.Fields`
	_ = entity.Set(&alice.CreatedAt, time.Now())  // want `EDD-9105: .*`
	_ = entity.Set(&made.Name, "Alice")           // want `EDD-9105: .*`
	_ = entity.MapEntry(&own.Extra, "k").Set("v") // want `EDD-9105: .*`
	_ = entity.Exists(&(*pointer).Name)           // want `EDD-9105: .*`
	_ = entity.Add(&n, 1)                         // want `EDD-9105: .*`
	_ = entity.Set(&e.Name, "Alice")
	_ = entity.Set(&proto.Name, "Alice")
	_ = entity.Set(&given.Name, "Alice")
	_ = entity.Set(&either.Name, "Alice")
	_ = entity.Set(&e.Address.City, "Bern")
	c := &columns{e, e}
	_ = entity.Eq(&c.Name, "Alice")
	_ = entity.Eq(&c.named.Name, "Alice")
	_ = entity.Set(&entity.Fields[models.Employee]().Name, "Alice")
}

func changes() {
	e := entity.Fields[models.Employee]()
	_ = entity.Set(&e.Team, "red")                                      // want `EDD-9104: the attribute is part of the primary key`
	_ = entity.Remove(&e.EmployeeID)                                    // want `EDD-9104: .*`
	_ = entity.Set(&e.CreatedAt, time.Now())                            // want `EDD-9104: the library sets the attribute itself`
	_ = entity.Add(&proto.Stamps.Version, 1)                            // want `EDD-9104: .*`
	_ = entity.Set(&e.By, "me")                                         // want `EDD-9104: .*`
	_ = entity.Set(&e.Badge, "b-1")                                     // immutable: set once
	_ = entity.SetIfNotExists(&e.Badge, "b-1")                          // want `EDD-9104: the attribute is immutable`
	_ = entity.Elem(&e.Tags, 0).Set("a")                                // want `EDD-9104: the attribute is set once`
	_ = entity.Set(&entity.Fields[models.Employee]().Version, int64(7)) // want `EDD-9104: .*`
	_ = entity.Remove(&e.Name)                                          // want `EDD-9103: the attribute is required`
	_ = entity.Inside[string](entity.MapEntry(&e.Extra, "k"), "a").Set("v")
	_ = entity.Eq(&e.CreatedAt, time.Now())
	c := columns{e, e}
	_ = entity.Set(&c.Team, "red") // want `EDD-9104: .*`
	_ = entity.Set(&c.Parent.Team, "red")
	_ = entity.Set(&c.named.Team, "red") // want `EDD-9104: the attribute is part of the primary key`
	_ = entity.Set(&c.named.Name, "Alice")
	_ = entity.Add(&e.Tasks, 1)

	m := entity.Fields[models.Telemetry]()
	dock := "dock 4"
	_ = entity.Set(m.Location, dock)  // want `EDD-9104: only Append writes the attribute`
	_ = entity.Set(&m.At, time.Now()) // want `EDD-9104: .*`
	_ = entity.Set(&m.Account, "a-1")
}

func appends(ctx context.Context, s *timeseries.Series[models.Telemetry], ev models.Telemetry) (any, error) {
	s.Append(ctx, ev)                            // want `the result of Append is not read`
	_, _ = s.Append(ctx, ev)                     // want `the result of Append is not read`
	if _, err := s.Append(ctx, ev); err != nil { // want `the result of Append is not read`
		return nil, err
	}
	go s.AppendAll(ctx, nil)         // want `the result of AppendAll is not read`
	unread, err := s.Append(ctx, ev) // want `the result of Append is not read`
	_, err = unread.Current(ctx)
	read, err := s.Append(ctx, ev)
	if read.Applied {
		return nil, err
	}
	all, err := s.AppendAll(ctx, []models.Telemetry{ev})
	for _, r := range all {
		if r.Reason == timeseries.Duplicate {
			return nil, err
		}
	}
	passed, err := s.Append(ctx, ev)
	print(passed)
	var list results
	list, err = s.AppendAll(ctx, nil)
	var anything any
	anything, err = s.Append(ctx, ev)
	print(anything)
	print(list)
	return s.Append(ctx, ev)
}

func named(ctx context.Context, s *timeseries.Series[models.Telemetry], ev models.Telemetry) (r timeseries.Result[models.Telemetry], err error) {
	r, err = s.Append(ctx, ev)
	return
}

type results []timeseries.Result[models.Telemetry]

func print(any) {}
