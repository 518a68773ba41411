package main

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Employee is a record with all features: each replaced state is kept for 90 days, a deleted record for 30, and no two
// employees have the same e-mail address. A deleted employee gives the address up.
type Employee struct {
	_ entity.Key           `name:"Employee" pk:"$#{employeeId}" sk:"$"`
	_ entity.GSI           `name:"byTenant" index:"gsi1" pk:"$#{tenantId}" sk:"$#{department}#{employeeId}"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d"`
	_ unique.Constraint    `name:"email" fields:"email"`

	EmployeeID  string    `dynamodbav:"employeeId"`
	TenantID    string    `dynamodbav:"tenantId" entity:"immutable"`
	Department  string    `dynamodbav:"department"`
	Email       string    `dynamodbav:"email"`
	DisplayName string    `dynamodbav:"displayName" entity:"required"`
	Version     int64     `dynamodbav:"version" entity:"version"`
	CreatedAt   time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt   time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Contractor has the other policy: a deleted record keeps its address, so that it can always be restored.
type Contractor struct {
	_ entity.Key           `name:"Contractor" pk:"$#{contractorId}" sk:"$"`
	_ versioned.Retain     // for ever
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ContractorID string    `dynamodbav:"contractorId"`
	Email        string    `dynamodbav:"email"`
	DisplayName  string    `dynamodbav:"displayName" entity:"required"`
	Version      int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt    time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// handles are what entity.Bind opens: two entities on one table, and their history, deleted items and unique values.
type handles struct {
	Employees   *entity.Store[Employee]
	ByTenant    *entity.Index[Employee] `entity:"byTenant"`
	Deleted     *lifecycle.Deleted[Employee]
	Past        *versioned.History[Employee] // earlier states of employees
	ByEmail     *unique.Lookup[Employee]     `entity:"email"`
	Contractors *entity.Store[Contractor]
	Leftovers   *lifecycle.Deleted[Contractor]
}

// app is the application.
type app struct {
	*handles
	db *entity.DB
}

// open declares the entities. It does no I/O, and finds mistakes in the tags.
func open(client entity.Client, table string, now func() time.Time) (*app, error) {
	db, err := entity.Open(client, entity.Config{
		Table:         table,
		Namespace:     entity.Namespace{Name: "lifecycle", Version: 1},
		TimePrecision: time.Second, // short texts for the screen; the default is nanoseconds
		Clock:         now,
	})
	if err != nil {
		return nil, err
	}
	opened, err := entity.Bind[handles](db)
	return &app{opened, db}, err
}
