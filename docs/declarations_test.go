package docs_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// The declarations of the examples that are not those of one page, and that of the README.

type employee struct {
	_ entity.Key `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`

	EmployeeID string    `dynamodbav:"employeeId"`
	TenantID   string    `dynamodbav:"tenantId"`
	Department string    `dynamodbav:"department,omitempty"`
	Version    int64     `dynamodbav:"version"   entity:"version"`
	CreatedAt  time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt  time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=ms"`
}

type telemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#{channel}#{deviceId}" sk:"$" payload:"2"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#{accountId}" sk:"$#{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp"`
	Location  *string   `dynamodbav:"location,omitempty" entity:"append"`
	Alert     *bool     `dynamodbav:"alert,omitempty"    entity:"append"`
	AccountID string    `dynamodbav:"accountId,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}

type member struct {
	_ entity.Key           `name:"Member" pk:"$#{memberId}" sk:"$"`
	_ entity.GSI           `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{memberId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	MemberID  string    `dynamodbav:"memberId"`
	Team      string    `dynamodbav:"team"`
	Email     string    `dynamodbav:"email,omitempty"`
	Version   int64     `dynamodbav:"version"   entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

type pass struct {
	_ entity.Key        `name:"Pass" pk:"$#{passId}" sk:"$"`
	_ lifecycle.TTL     `attr:"expiresAt" after:"8h"`
	_ versioned.Retain  `ttl:"90d"`
	_ unique.Constraint `name:"badge" fields:"badge"`

	PassID    string    `dynamodbav:"passId"`
	Badge     string    `dynamodbav:"badge,omitempty"`
	ExpiresAt time.Time `dynamodbav:"expiresAt,omitempty" entity:"time=unix"`
	Version   int64     `dynamodbav:"version"   entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at,time=s"`
}

// part is an entity whose partition key has one part, of any type.
type part[V any] struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V V `dynamodbav:"v" entity:"zero"`
}

type lowerPart struct {
	_ entity.Key `name:"Part" pk:"$#{v|lower}"`

	V string `dynamodbav:"v"`
}

type literalPart struct {
	_ entity.Key `name:"Part" pk:"$#id_{v}#end"`

	V string `dynamodbav:"v"`
}

type widePart struct {
	_ entity.Key `name:"Part" pk:"$#{v:06}"`

	V int64 `dynamodbav:"v" entity:"zero"`
}

type microPart struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V time.Time `dynamodbav:"v" entity:"time=us"`
}

type milliPart struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V time.Time `dynamodbav:"v" entity:"time=ms"`
}

type secondPart struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V time.Time `dynamodbav:"v" entity:"time=s"`
}

type unixPart struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V time.Time `dynamodbav:"v" entity:"time=unix"`
}

type unixMilliPart struct {
	_ entity.Key `name:"Part" pk:"$#{v}"`

	V time.Time `dynamodbav:"v" entity:"time=unixms"`
}

type verbatimPart struct {
	_ entity.Key `name:"Part" pk:"pk=order-{v}-x"`

	V string `dynamodbav:"v"`
}

type readmeCustomer struct {
	_ entity.Key           `name:"Customer" pk:"$#{id}" sk:"$"`
	_ unique.Constraint    `name:"email" fields:"email"`
	_ versioned.Retain     `ttl:"365d"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

type interopTelemetry struct {
	_ entity.Key        `name:"Telemetry" pk:"$#channel_{channel}#deviceId_{deviceId}" sk:"$"`
	_ entity.GSI        `name:"byAccount" index:"gsi1" pk:"$#accountId_{accountId}" sk:"$#deviceId_{deviceId}"`
	_ timeseries.Events `orderBy:"timestamp" ttl:"7d"`

	Channel   string    `dynamodbav:"channel"`
	DeviceID  string    `dynamodbav:"deviceId"`
	Timestamp time.Time `dynamodbav:"timestamp"`
	Location  *string   `dynamodbav:"location,omitempty" entity:"append"`
	Alert     *bool     `dynamodbav:"alert,omitempty"    entity:"append"`
	AccountID string    `dynamodbav:"accountId,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
}
