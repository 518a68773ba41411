package conformance_test

import (
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

// Person is what the entities of every combination are made of.
type Person struct {
	ID        string    `dynamodbav:"id"`
	Tenant    string    `dynamodbav:"tenant"`
	Email     string    `dynamodbav:"email,omitempty"`
	Badge     string    `dynamodbav:"badge,omitempty"`
	Name      string    `dynamodbav:"name,omitempty"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	CreatedAt time.Time `dynamodbav:"createdAt" entity:"created_at"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// as makes a T of what it embeds.
func as[T any](p Person) T {
	var v T
	*person(&v) = p
	return v
}

// person is the Person in v.
func person[T any](v *T) *Person {
	return reflect.ValueOf(v).Elem().FieldByName("Person").Addr().Interface().(*Person)
}

// fields is the prototype of the Person in T.
func fields[T any]() *Person { return person(entity.Fields[T]()) }

const (
	personPK = "$app#v1#person#p-1"
	personSK = "$app#v1#person"
)
