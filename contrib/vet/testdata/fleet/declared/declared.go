// Package declared has declarations that reflection cannot build, or that need more than their own struct.
package declared

import (
	"context"
	"sync"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

type base struct {
	A string `dynamodbav:"a"`
}

type number int

type byPointer struct {
	_     entity.Key `name:"Wrong" pk:"$#{id}"`
	*base            // want `EDD-9052: an embedded pointer to an unexported struct`
	ID    string     `dynamodbav:"id"`
}

type byValue struct {
	_ entity.Key `name:"Right" pk:"$#{id}" sk:"$#{a}"`
	base
	sync.Mutex
	ID string `dynamodbav:"id"`
}

type shared struct {
	_ entity.Key `name:"Wrong" pk:"$#{id}"`
	base
	ID string `dynamodbav:"id"`
	B  string `dynamodbav:"a"` // want `EDD-9007: the attribute "a" already belongs to field base.A`
}

type ofNumber struct {
	_      entity.Key `name:"Wrong" pk:"$#{id}"`
	number            // want `EDD-9052: an embedded unexported type`
	ID     string     `dynamodbav:"id"`
}

type Itself struct {
	*Itself            // want `EDD-9052: the struct embeds itself`
	_       entity.Key `name:"Wrong" pk:"$#{id}"`
	ID      string     `dynamodbav:"id"`
}

type embeddedKey struct { // want `EDD-9030: there is no _ entity.Key field`
	entity.Key `name:"Wrong" pk:"$#{id}"` // want `EDD-9003: a declaration is a blank field: _ entity.Key`
	ID         string                     `dynamodbav:"id"`
}

var _, _ = entity.New[embeddedKey](nil)

// Node contains itself, without its roles.
type Node struct {
	_        entity.Key       `name:"Right" pk:"$#{id}"`
	ID       string           `dynamodbav:"id"`
	Children []Child          `dynamodbav:"children"`
	Named    map[string]Child `dynamodbav:"named"`
}

type Child struct {
	Name     string
	Children []*Child
	Of       map[string]*Child
}

// Parent contains itself with a role, which only an entity can have.
type Parent struct {
	_      entity.Key `name:"Wrong" pk:"$#{id}"`
	ID     string     `dynamodbav:"id" entity:"required"`
	Parent *Parent    `dynamodbav:"parent"` // want `EDD-9003: field Parent.ID of declared.Parent: a field of a nested struct has no entity tag`
}

type (
	preparing    struct{ A string }
	preparingToo struct{ B string }

	both struct { // want `EDD-9093: two embedded structs have a Prepare method`
		_  entity.Key `name:"Wrong" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
		preparingToo
	}
	one struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
	}
	own struct {
		_  entity.Key `name:"Right" pk:"$#{id}"`
		ID string     `dynamodbav:"id"`
		preparing
		preparingToo
	}
)

// endless never points to a value.
type endless *endless

func (*preparing) Prepare(context.Context) error    { return nil }
func (*preparingToo) Prepare(context.Context) error { return nil }
func (*own) Prepare(context.Context) error          { return nil }

// Row is examined for each type that it is opened with.
type Row[T any] struct {
	_  entity.Key `name:"Row" pk:"$#{id}"` // want `EDD-9037: .*`
	ID T          `dynamodbav:"id"`
	N  int        `dynamodbav:"n" entity:"requird"` // want `EDD-9003: entity: .*did you mean "required"`
}

var (
	_, _ = entity.New[Row[string]](nil)
	_, _ = entity.New[Row[float64]](nil)
)

func open[T any](db *entity.DB) (*entity.Store[Row[T]], error) { return entity.New[Row[T]](db) }

type worded struct {
	_  entity.Key `name:"Wrong" pk:"$#{id}"`
	_  entity.GSI `name:"a" index:"gsi1" pk:"$#{id}" missing:"eror"` // want `EDD-9003: .* write missing:"error", or leave it out`
	ID string     `dynamodbav:"id"`
	By doer       `dynamodbav:"by"` // want `EDD-9052: what is stored cannot be read back into the interface declared.doer`
}

type doer interface{ Do() }

func local(db *entity.DB) {
	type inner struct { // want `EDD-9032: the partition key of index a and .* index b are both stored in the attribute "gsi1pk"`
		_  entity.Key `name:"Inner" pk:"$#{id}" sk:"$"`
		_  entity.GSI `name:"a" index:"gsi1" pk:"$#{id}"`
		_  entity.GSI `name:"b" index:"gsi1" pk:"$#{id}"` // want `EDD-9031: b: the index "gsi1" is declared twice`
		ID string     `dynamodbav:"id"`
	}
	_, _ = entity.New[inner](db)
}

// Types with methods.
type (
	state   int
	colour  string
	money   struct{ cents int }
	id      [16]byte
	date    struct{ Year, Month, Day int }
	octet   byte
	stamp   time.Time
	printed int

	typed struct {
		_     entity.Key         `name:"Wrong" pk:"$#{id}" sk:"$#{date}"`
		_     entity.GSI         `name:"open" index:"gsi1" pk:"$#{colour}" sk:"$#{id}" when:"state=open|closed"`
		ID    id                 `dynamodbav:"id" entity:"id=ulid"`
		Date  date               `dynamodbav:"date"`
		State state              `dynamodbav:"state" entity:"default=open"`
		C     colour             `dynamodbav:"colour" entity:"default=red"`
		Price money              `dynamodbav:"price"`
		Each  map[string]money   `dynamodbav:"each"`
		By    map[colour]int     `dynamodbav:"by"`
		At    stamp              `dynamodbav:"at" entity:"created_at"`
		One   octet              `dynamodbav:"one"`
		None  map[string]printed `dynamodbav:"none"`
		Again string             `dynamodbav:"none"` // want `EDD-9007: the attribute "none" already belongs to field None`
	}
	mistyped struct {
		_     entity.Key      `name:"Wrong" pk:"$#{price}"` // want `EDD-9037: .*`
		Price money           `dynamodbav:"price"`
		Many  []octet         `dynamodbav:"many"`                      // want `EDD-9052: a \[\]declared.octet cannot be stored`
		By    map[printed]int `dynamodbav:"by"`                        // want `EDD-9052: a map with keys of type declared.printed cannot be stored`
		At    stamp           `dynamodbav:"at" entity:"version"`       // want `EDD-9035: version needs an integer`
		F     func()          `dynamodbav:"f"`                         // want `EDD-9052: .*`
		P     []endless       `dynamodbav:"p"`                         // want `EDD-9052: the type is a pointer to itself`
		E     error           `dynamodbav:"e"`                         // want `EDD-9052: what is stored cannot be read back into the interface error`
		Size  int8            `dynamodbav:"size" entity:"default=300"` // want `EDD-9091: the default is not an integer that fits int8`
	}
	// hidden is opened nowhere, and a part of an entity at most.
	part struct {
		_  entity.GSI `name:"a" index:"gsi1" pk:"$#{nothing}"`
		ID string     `dynamodbav:"id"`
	}
)

func (s state) MarshalText() ([]byte, error)    { return []byte("open"), nil }
func (s *state) UnmarshalText([]byte) error     { return nil }
func (c *colour) UnmarshalText(b []byte) error  { *c = colour(b); return nil }
func (c colour) MarshalText() ([]byte, error)   { return []byte(c), nil }
func (i id) MarshalText() ([]byte, error)       { return i[:], nil }
func (i *id) UnmarshalText(b []byte) error      { return nil }
func (d date) MarshalText() ([]byte, error)     { return nil, nil }
func (d *date) UnmarshalText(text []byte) error { return nil }
func (printed) String() string                  { return "" }

type ofNobody struct {
	_     entity.Key `name:"Wrong" pk:"$#{id}"`
	ID    string     `dynamodbav:"id" entity:"subject"`
	Count int        `dynamodbav:"count" entity:"subject"` // want `EDD-9035: subject needs a string`
}
