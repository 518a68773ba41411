package storm_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

// Person is what every entity of these tests holds. Name is a word that DynamoDB reserves.
type Person struct {
	ID        string    `dynamodbav:"id"`
	Email     string    `dynamodbav:"email,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	Root      string    `dynamodbav:"root,omitempty"`          // which write stored the item whole
	Log       []string  `dynamodbav:"log,stringset,omitempty"` // that write, and the updates since
	Seen      time.Time `dynamodbav:"seen,omitempty"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// Free has everything, and gives unique values up when it is deleted.
type Free struct {
	_ entity.Key `name:"Free" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Reserve has everything, and keeps unique values for deleted copies, which expire.
type Reserve struct {
	_ entity.Key           `name:"Reserve" pk:"$#{id}" sk:"$"`
	_ versioned.Retain     `ttl:"90d"`
	_ lifecycle.SoftDelete `ttl:"30d" unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Kept has a history and is deleted for good.
type Kept struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ unique.Constraint `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Locked has versions without a history.
type Locked struct {
	_ entity.Key `name:"Locked" pk:"$#{id}" sk:"$"`
	_ versioned.Lock
	_ unique.Constraint `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Plain has nothing but a unique value.
type Plain struct {
	_ entity.Key        `name:"Plain" pk:"$#{id}" sk:"$"`
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

// Bin is deleted softly, without versions, so that an item can have several deleted copies.
type Bin struct {
	_ entity.Key `name:"Bin" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
}

// Leased gives unique values up an hour after they were claimed, so that others can take them.
type Leased struct {
	_ entity.Key `name:"Leased" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email" ttl:"1h"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// LeasedReserve is Leased whose deleted copies keep what they still have.
type LeasedReserve struct {
	_ entity.Key `name:"LeasedReserve" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete `unique:"reserve"`
	_ unique.Constraint    `name:"email" fields:"email" ttl:"1h"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// Shelf is an entity whose items share partitions.
type Shelf struct {
	_ entity.Key `name:"Shelf" pk:"$#{root}" sk:"$#{id}"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`
	Person
	Version int64 `dynamodbav:"version" entity:"version"`
}

// traits are what an entity declares.
type traits struct{ retain, soft, reserve, lease bool }

func traitsOf[T any]() (k traits) {
	k.retain = len(dbtest.Declarations[versioned.Retain, T]()) > 0
	for _, tag := range dbtest.Declarations[lifecycle.SoftDelete, T]() {
		k.soft, k.reserve = true, tag.Get("unique") == "reserve"
	}
	for _, tag := range dbtest.Declarations[unique.Constraint, T]() {
		_, k.lease = tag.Lookup("ttl")
	}
	return k
}
