// Package models declares entities that another package opens.
package models

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
)

type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{team}" sk:"$#{employeeId}"`

	Team       string            `dynamodbav:"team"`
	EmployeeID string            `dynamodbav:"employeeId"`
	Name       string            `dynamodbav:"name" entity:"required"`
	Badge      string            `dynamodbav:"badge" entity:"immutable"`
	Tasks      int               `dynamodbav:"tasks"`
	Tags       []string          `dynamodbav:"tags" entity:"set_once"`
	Extra      map[string]string `dynamodbav:"extra"`
	Address    *Address          `dynamodbav:"address,omitempty"`
	Boss       *Employee         `dynamodbav:"-"`
	Parent     *Group            `dynamodbav:"parent"`
	Stamps
}

// Group is an entity, and a part of another.
type Group struct {
	_ entity.Key `name:"Group" pk:"$#{team}"`

	Team string `dynamodbav:"team"`
}

type Address struct {
	City string `dynamodbav:"city"`
}

type Stamps struct {
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	By        string    `dynamodbav:"by" entity:"context=actor"`
}

type Telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{deviceId}" sk:"$"`
	_ timeseries.Events `orderBy:"at"`

	DeviceID string    `dynamodbav:"deviceId"`
	At       time.Time `dynamodbav:"at"`
	Location *string   `dynamodbav:"location,omitempty" entity:"append"`
	Account  string    `dynamodbav:"account,omitempty"`
}

// Session lives as long as an option of the store says.
type Session struct {
	_ entity.Key    `name:"Session" pk:"$#{id}" sk:"$"`
	_ lifecycle.TTL `attr:"ends"`

	ID string `dynamodbav:"id"`
}

// Row is examined where it is opened with a type.
type Row[T any] struct {
	_ entity.Key `name:"Row" pk:"$#{id}" sk:"$"`

	ID T `dynamodbav:"id"`
}

// Keyless has no primary key: whoever opens it finds out.
type Keyless struct {
	ID string `dynamodbav:"id"`
}

type Misspelt struct {
	_ entity.Key `name:"Misspelt" pk:"$#{idd}" sk:"$"` // want `EDD-9002: .* names the attribute "idd", which the struct does not have; did you mean id\?`

	ID string `dynamodbav:"id"`
}
