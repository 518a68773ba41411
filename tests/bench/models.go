package main

import (
	"fmt"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// tables has the names of the tables of the measured entities. Their keys are the strings pk and sk.
type tables struct {
	plain    string // of items whose keys are attributes of the struct
	prefixed string // of items whose keys this library composes: `$` keys
}

// now is the time of every clock here, so that each round sends the same requests.
var now = time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC)

// Order is the item of most rows: ten fields, and keys that every library can write.
type Order struct {
	_ entity.Key `name:"Order" pk:"pk" sk:"sk" table:"plain"`

	PK       string    `dynamodbav:"pk" dynamo:"pk,hash"`
	SK       string    `dynamodbav:"sk" dynamo:"sk,range"`
	Customer string    `dynamodbav:"customer" dynamo:"customer"`
	Status   string    `dynamodbav:"status" dynamo:"status"`
	Note     string    `dynamodbav:"note" dynamo:"note"`
	Placed   time.Time `dynamodbav:"placed" dynamo:"placed"`
	Quantity int       `dynamodbav:"quantity" dynamo:"quantity"`
	Cents    int64     `dynamodbav:"cents" dynamo:"cents"`
	Paid     bool      `dynamodbav:"paid" dynamo:"paid"`
	Tags     []string  `dynamodbav:"tags" dynamo:"tags"`
}

func order(i int) Order {
	return Order{
		PK: "tenant-7", SK: fmt.Sprintf("order-%06d", i), Customer: "customer-4711", Status: "open", Note: "leave it at the door",
		Placed: now, Quantity: i + 3, Cents: 129900 + int64(i), Paid: i%2 == 0, Tags: []string{"new", "priority", "gift"},
	}
}

func orders(n int) []Order { return many(n, order) }

// Prefixed is an Order with keys that begin with `$`.
type Prefixed struct {
	_ entity.Key `name:"Prefixed" pk:"$#{tenant}" sk:"$#{id}" table:"prefixed"`

	Tenant   string    `dynamodbav:"tenant" dynamo:"tenant"`
	ID       string    `dynamodbav:"id" dynamo:"id"`
	Customer string    `dynamodbav:"customer" dynamo:"customer"`
	Status   string    `dynamodbav:"status" dynamo:"status"`
	Note     string    `dynamodbav:"note" dynamo:"note"`
	Placed   time.Time `dynamodbav:"placed" dynamo:"placed"`
	Quantity int       `dynamodbav:"quantity" dynamo:"quantity"`
	Cents    int64     `dynamodbav:"cents" dynamo:"cents"`
	Paid     bool      `dynamodbav:"paid" dynamo:"paid"`
	Tags     []string  `dynamodbav:"tags" dynamo:"tags"`
}

func prefixed(i int) Prefixed {
	o := order(i)
	return Prefixed{
		Tenant: o.PK, ID: o.SK, Customer: o.Customer, Status: o.Status, Note: o.Note,
		Placed: o.Placed, Quantity: o.Quantity, Cents: o.Cents, Paid: o.Paid, Tags: o.Tags,
	}
}

// Reading is a series: a current item and its events.
type Reading struct {
	_ entity.Key        `name:"Reading" pk:"$#{device}" sk:"$" table:"prefixed"`
	_ timeseries.Events `orderBy:"at" ttl:"7d"`

	Device   string    `dynamodbav:"device" dynamo:"device"`
	At       time.Time `dynamodbav:"at" dynamo:"at"`
	Location *string   `dynamodbav:"location,omitempty" dynamo:"location,omitempty" entity:"append"`
	Battery  *int      `dynamodbav:"battery,omitempty" dynamo:"battery,omitempty" entity:"append"`
	Speed    *int      `dynamodbav:"speed,omitempty" dynamo:"speed,omitempty" entity:"append"`
	Account  string    `dynamodbav:"account,omitempty" dynamo:"account,omitempty"`
}

func reading(i int) Reading {
	return Reading{Device: "device-7", At: now.Add(time.Duration(i) * time.Second), Location: ptr("dock 4"), Battery: ptr(80), Speed: ptr(i)}
}

// Employee keeps a snapshot of every version.
type Employee struct {
	_ entity.Key `name:"Employee" pk:"$#{id}" sk:"$" table:"prefixed"`
	_ versioned.Retain

	ID      string `dynamodbav:"id" dynamo:"id"`
	Name    string `dynamodbav:"name" dynamo:"name"`
	Team    string `dynamodbav:"team" dynamo:"team"`
	Level   int    `dynamodbav:"level" dynamo:"level"`
	Version int64  `dynamodbav:"version" dynamo:"version" entity:"version"`
}

var employee = Employee{ID: "employee-7", Name: "Alice Baker", Team: "research", Level: 4, Version: 1}

// Document is moved to a copy when it is deleted.
type Document struct {
	_ entity.Key           `name:"Document" pk:"$#{id}" sk:"$" table:"prefixed"`
	_ lifecycle.SoftDelete `ttl:"30d"`

	ID    string `dynamodbav:"id" dynamo:"id"`
	Title string `dynamodbav:"title" dynamo:"title"`
	Owner string `dynamodbav:"owner" dynamo:"owner"`
	Pages int    `dynamodbav:"pages" dynamo:"pages"`
}

var document = Document{ID: "document-7", Title: "Quarterly report", Owner: "alice", Pages: 12}

// Account has an email that no other account has.
type Account struct {
	_ entity.Key        `name:"Account" pk:"$#{id}" sk:"$" table:"prefixed"`
	_ unique.Constraint `name:"email" fields:"email"`

	ID    string `dynamodbav:"id" dynamo:"id"`
	Email string `dynamodbav:"email" dynamo:"email"`
	Name  string `dynamodbav:"name" dynamo:"name"`
}

var account = Account{ID: "account-7", Email: "alice@example.com", Name: "Alice Baker"}

// Everything has all features of one item.
type Everything struct {
	_ entity.Key `name:"Everything" pk:"$#{id}" sk:"$" table:"prefixed"`
	_ versioned.Lock
	_ versioned.Retain
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`

	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email"`
	Name      string    `dynamodbav:"name"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// many returns n values of one kind.
func many[T any](n int, one func(int) T) []T {
	vs := make([]T, n)
	for i := range vs {
		vs[i] = one(i)
	}
	return vs
}

func ptr[V any](v V) *V { return &v }
