package stream_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Team has no feature but a version.
type Team struct {
	_ entity.Key `name:"Team" pk:"$#{id}" sk:"$"`

	ID      string    `dynamodbav:"id"`
	Name    string    `dynamodbav:"name,omitempty"`
	Seen    time.Time `dynamodbav:"seen,omitempty"`
	Version int64     `dynamodbav:"version" entity:"version"`
}

// Person has everything that leaves items beside it but events.
type Person struct {
	_ entity.Key           `name:"Person" pk:"$#{id}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email,omitempty"`
	Team      string    `dynamodbav:"team,omitempty"`
	Seen      time.Time `dynamodbav:"seen,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Note is deleted softly, frees its value and keeps no history.
type Note struct {
	_ entity.Key           `name:"Note" pk:"$#{owner}" sk:"$#{id}"`
	_ lifecycle.SoftDelete `unique:"free"`
	_ unique.Constraint    `name:"title" fields:"title"`

	Owner     string    `dynamodbav:"owner"`
	ID        string    `dynamodbav:"id"`
	Title     string    `dynamodbav:"title,omitempty"`
	DeletedAt time.Time `dynamodbav:"deletedAt,omitempty" entity:"deleted_at,time=ms"`
}

// Ledger keeps a history and is deleted for good.
type Ledger struct {
	_ entity.Key       `name:"Ledger" pk:"$#{id}" sk:"$"`
	_ versioned.Retain ``

	ID      string `dynamodbav:"id"`
	Balance int    `dynamodbav:"balance"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// Reading is a series; what stands in its table is named otherwise than its fields.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{dev}" sk:"$#{chan}"`
	_ timeseries.Events `orderBy:"ts" ttl:"7d" late:"record"`

	Device  string    `dynamodbav:"dev"`
	Channel string    `dynamodbav:"chan"`
	At      time.Time `dynamodbav:"ts" entity:"time=ms"`
	Celsius *float64  `dynamodbav:"c,omitempty" entity:"append"`
	Door    *bool     `dynamodbav:"d,omitempty" entity:"append"`
	Account string    `dynamodbav:"acc,omitempty"`
	Since   time.Time `dynamodbav:"since" entity:"created_at,time=unix"`
}

// Device has its table as it was before the library came.
type Device struct {
	_ entity.Key    `name:"Device" table:"devices" pk:"device_id" sk:"batch"`
	_ lifecycle.TTL `attr:"expires" after:"1h"`

	ID      string `dynamodbav:"device_id"`
	Batch   int    `dynamodbav:"batch"`
	State   string `dynamodbav:"state,omitempty"`
	Expires int64  `dynamodbav:"expires,omitempty"`
}

// Car and Bike share a table by their kind; a car's plate is unique.
type Car struct {
	_ entity.Key        `name:"Car" table:"garage" pk:"pk=vehicle-{id}" sk:"sk=v" kind:"type=car"`
	_ unique.Constraint `name:"plate" fields:"plate"`

	ID    string `dynamodbav:"id"`
	Plate string `dynamodbav:"plate,omitempty"`
}

// Bike is beside Car.
type Bike struct {
	_ entity.Key `name:"Bike" table:"garage" pk:"pk=vehicle-{id}" sk:"sk=v" kind:"type=bike"`

	ID    string `dynamodbav:"id"`
	Gears int    `dynamodbav:"gears"`
}

// Lamp is a `$` entity in the table of Car and Bike.
type Lamp struct {
	_ entity.Key `name:"Lamp" table:"garage" pk:"$#{id}" sk:"$"`

	ID string `dynamodbav:"id"`
}

func ptr[V any](v V) *V { return &v }
