package main

import (
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Telemetry is the newest state of a device, and the history of the reports that led there.
type Telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp" entity:"time=s"` // of the device's own clock, in whole seconds

	// Reported by the device and written by appends. nil means "not reported": the current item keeps what it has.
	Location *string `dynamodbav:"location,omitempty" entity:"append"`
	Alert    *bool   `dynamodbav:"alert,omitempty" entity:"append"`
	GPIO     *int    `dynamodbav:"gpio,omitempty" entity:"append"`

	// Enrichment: a background job writes it, and no append changes it.
	AccountID   string    `dynamodbav:"accountId,omitempty"`
	Diagnostics string    `dynamodbav:"diagnostics,omitempty"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

// Registration allows a device to raise alarms.
type Registration struct {
	_ entity.Key `name:"Registration" pk:"$#{channel}#{deviceId}" sk:"$"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	InService bool      `dynamodbav:"inService"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

// Alarm is raised in one transaction with the report that caused it.
type Alarm struct {
	_ entity.Key `name:"Alarm" pk:"$#{channel}#{deviceId}" sk:"$#{raisedAt}"`

	Channel  string    `dynamodbav:"channel"`
	DeviceID string    `dynamodbav:"deviceId"`
	RaisedAt time.Time `dynamodbav:"raisedAt" entity:"time=s"`
	Text     string    `dynamodbav:"text" entity:"required"`
}

// handles are what entity.Bind opens: three entities on one table.
type handles struct {
	Telemetry     *timeseries.Series[Telemetry]
	ByAccount     *entity.Index[Telemetry] `entity:"byAccount"`
	Registrations *entity.Store[Registration]
	Alarms        *entity.Store[Alarm]
}

// app is the application.
type app struct {
	*handles
	db *entity.DB
}

// open declares the entities. It does no I/O, and finds mistakes in the tags.
func open(client entity.Client, table string, costs *costs) (*app, error) {
	db, err := entity.Open(counted{client}, entity.Config{
		Table:     table,
		Namespace: entity.Namespace{Name: "app", Version: 1},
		Tracer:    costs,
	})
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	opened, err := entity.Bind[handles](db)
	return &app{opened, db}, err
}
