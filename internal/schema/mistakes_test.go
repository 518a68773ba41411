package schema_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// The codes stand in these tests as text: a number that changed its meaning must fail a test. Most structs are compiled
// by their reflect.Type, as entity.New does it, because an instance of Store for each would take the compiler a minute.

func open(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "t"})
	require.NoError(t, err)
	return db
}

// options are those of a database with the default configuration.
var options = schema.Options{Namespace: "app", NamespaceVersion: 1, PK: "pk", SK: "sk", TTL: "_ttl", Precision: key.Nano}

// declare builds typ and adds it to table.
func declare(table *schema.Table, typ reflect.Type) error {
	s, err := schema.Build(typ, options)
	if err != nil {
		return err
	}
	return table.Add(s)
}

// alone builds T and adds it to a table of its own.
func alone[T any]() error { return declare(&schema.Table{Name: "t"}, reflect.TypeFor[T]()) }

// mistakes returns every *entity.SchemaError in err's tree.
func mistakes(err error) []*entity.SchemaError {
	if one, ok := err.(*entity.SchemaError); ok {
		return []*entity.SchemaError{one}
	}
	var all []*entity.SchemaError
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			all = append(all, mistakes(inner)...)
		}
	case interface{ Unwrap() error }:
		all = mistakes(e.Unwrap())
	}
	return all
}

// mistake is what a test expects of a SchemaError.
type mistake struct{ code, field string }

// checkMistakes checks that err reports exactly want, in any order, all of them about T. The test goes on when not, so
// that one run shows every rule that is broken.
func checkMistakes[T any](t *testing.T, err error, want ...mistake) {
	t.Helper()
	checkMistakesOf(t, reflect.TypeFor[T]().String(), err, want)
}

func checkMistakesOf(t *testing.T, typ string, err error, want []mistake) {
	t.Helper()
	var first *entity.SchemaError
	if !errors.As(err, &first) {
		assert.Fail(t, "not refused", "%s must have %v, got %v", typ, want, err)
		return
	}
	var got []mistake
	for _, m := range mistakes(err) {
		assert.Equal(t, typ, m.Type)
		assert.NotEmpty(t, m.Problem)
		got = append(got, mistake{m.Code, m.Field})
	}
	assert.ElementsMatch(t, want, got, "%v", err)
}

// refused checks that T has exactly one mistake.
func refused[T any](t *testing.T, code, field string) {
	t.Helper()
	checkMistakes[T](t, alone[T](), mistake{code, field})
}

func accepted[T any](t *testing.T) {
	t.Helper()
	assert.NoError(t, alone[T]())
}

// theKey and friends are how a SchemaError names a declaration.
const (
	theKey    = "_ entity.Key"
	theGSI    = "_ entity.GSI"
	theLSI    = "_ entity.LSI"
	theEvents = "_ timeseries.Events"
)
