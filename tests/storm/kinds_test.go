package storm_test

import (
	"time"

	"github.com/dynastrata/dynastrata/entity"
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

// traits say how a kind of entity is written and what must hold for it.
type traits struct {
	retain, soft, reserve, lease bool
}

// kind is a kind of entity.
type kind[T any] struct {
	traits
	at      func(*T) *Person
	version func(T) int64
}

var (
	asFree    = kind[Free]{traits{retain: true, soft: true}, func(v *Free) *Person { return &v.Person }, func(v Free) int64 { return v.Version }}
	asReserve = kind[Reserve]{traits{retain: true, soft: true, reserve: true}, func(v *Reserve) *Person { return &v.Person }, func(v Reserve) int64 { return v.Version }}
	asKept    = kind[Kept]{traits{retain: true}, func(v *Kept) *Person { return &v.Person }, func(v Kept) int64 { return v.Version }}
	asLocked  = kind[Locked]{traits{}, func(v *Locked) *Person { return &v.Person }, func(v Locked) int64 { return v.Version }}
	asPlain   = kind[Plain]{traits{}, func(v *Plain) *Person { return &v.Person }, func(Plain) int64 { return 0 }}
	asBin     = kind[Bin]{traits{soft: true}, func(v *Bin) *Person { return &v.Person }, func(Bin) int64 { return 0 }}
	asLeased  = kind[Leased]{traits{retain: true, soft: true, lease: true}, func(v *Leased) *Person { return &v.Person }, func(v Leased) int64 { return v.Version }}

	asLeasedReserve = kind[LeasedReserve]{
		traits{retain: true, soft: true, reserve: true, lease: true}, func(v *LeasedReserve) *Person { return &v.Person }, func(v LeasedReserve) int64 { return v.Version },
	}
)

// make returns a value with the given content.
func (k kind[T]) make(p Person) T {
	var v T
	*k.at(&v) = p
	return v
}
