// Package handles opens handles of entities, and makes queries and operations.
package handles

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lease"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Guest declares everything.
type Guest struct {
	_ entity.Key           `name:"Guest" pk:"$#{house}#{id}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	House   string `dynamodbav:"house"`
	ID      string `dynamodbav:"id"`
	Team    string `dynamodbav:"team"`
	Email   string `dynamodbav:"email"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// Plain declares a key alone.
type Plain struct {
	_  entity.Key `name:"Plain" pk:"$#{id}" sk:"$#{n}"`
	ID string     `dynamodbav:"id" entity:"zero"`
	N  int        `dynamodbav:"n"`
}

// Reading is a series.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{id}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	ID    string `dynamodbav:"id"`
	At    int64  `dynamodbav:"at"`
	Value int    `dynamodbav:"value" entity:"append"`
}

func open(guests *entity.Store[Guest], plain *entity.Store[Plain], readings *timeseries.Series[Reading], name string) {
	_, _ = guests.Index("byTeam")
	_, _ = guests.Index("byteam") // want `EDD-9051: there is no index declared with the name "byteam"; declared are byTeam`
	_, _ = guests.Index(name)
	_, _ = plain.Index("byTeam")    // want `EDD-9051: there is no index declared with the name "byTeam"$`
	_, _ = readings.Index("byTeam") // want `EDD-9051`
	_, _ = unique.Of(guests, "email")
	_, _ = unique.Of(guests, "mail")     // want `EDD-9047: there is no unique constraint with the name "mail"; declared are email`
	_, _ = unique.Of(readings, "serial") // want `EDD-9047: there is no unique constraint with the name "serial"`
	_, _ = versioned.Of(guests)
	_, _ = versioned.Of(plain) // want `EDD-9047: the struct lacks the declaration versioned.Retain`
	gone, _ := lifecycle.Of(guests)
	_, _ = gone.Index("byTeams") // want `EDD-9051`
	_, _ = lifecycle.Of(plain)   // want `EDD-9047: the struct lacks the declaration lifecycle.SoftDelete`
}

// Tables are the handles of the program.
type Tables struct {
	Guests  *entity.Store[Guest]
	ByTeam  *entity.Index[Guest]  `entity:"byTeam"`
	ByTeams *entity.Index[Guest]  `entity:"byTeams"` // want `EDD-9051: there is no index declared with the name "byTeams"`
	Email   *unique.Lookup[Guest] `entity:"email"`
	Mail    *unique.Lookup[Guest] `entity:"mail"` // want `EDD-9047`
	Past    *versioned.History[Guest]
	Trash   *lifecycle.Deleted[Guest]
	Again   *entity.Store[Guest] // want `EDD-9055: Again is a second store of the entity of Guests`
	Leases  *lease.Leases
	Name    string
	Inner
}

// Inner are more of them.
type Inner struct {
	Plain    *entity.Store[Plain]
	Lost     *versioned.History[Plain] // want `EDD-9047: the struct lacks the declaration versioned.Retain`
	Readings *timeseries.Series[Reading]
	Stray    *Guest // want `EDD-9055: Stray is no handle that Bind opens`
	stray    *Guest
}

func bind(db *entity.DB) (*Tables, error) { return entity.Bind[Tables](db) }

func queries(ctx context.Context, t *Tables, g Guest) error {
	f := entity.Fields[Guest]()
	_, _ = t.Guests.Query(Guest{House: "h", ID: "1"}).Collect(ctx)
	_, _ = t.Guests.Query(Guest{House: "h"}).Collect(ctx) // want `EDD-9101: the query lacks ID, a part of the partition key`
	_, _ = t.Guests.Query(Guest{}).Collect(ctx)           // want `the query lacks House` `the query lacks ID`
	_, _ = t.Guests.Query(g).Collect(ctx)
	_, _ = t.Plain.Query(Plain{}).Collect(ctx)
	byTeam := entity.Must(t.Guests.Index("byTeam"))
	_, _ = byTeam.Query(Guest{Team: "t"}).Collect(ctx)
	_, _ = byTeam.Query(Guest{ID: "1"}).Collect(ctx) // want `the query lacks Team`
	_, _ = t.ByTeam.Query(Guest{ID: "1"}).Collect(ctx)
	_, _ = t.Guests.Scan(entity.Segment(0, 2), entity.Segments(2)).Collect(ctx) // want `EDD-9108: entity.Segment and entity.Segments exclude each other`
	_, _ = t.Guests.Put(ctx, g, versioned.Expect(1), versioned.AnyVersion())    // want `EDD-9108: versioned.Expect and versioned.AnyVersion exclude each other`

	t.Guests.Op().Put(g)             // want `the write is never run: give it to DB.Transact`
	_ = t.Guests.Op().CheckExists(g) // want `the operation is never run`
	t.Guests.Scan()                  // want `the query is never run: call All`
	lost := t.ByTeam.Query(g)        // want `the query is never run`
	_ = lost
	fmt.Println(t.Guests.Op().Update(g, entity.Set(&f.Team, "x")))
	printed := t.Guests.Op().Delete(g)
	fmt.Println(printed.String())
	for _, err := range t.Guests.Scan().All(ctx) {
		return err
	}
	return nil
}
