package schema_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Declaration mistakes are tested through the constructors of the public packages, because that is what users see. The
// codes stand here as text: a number that changed its meaning must fail a test.

func open(t *testing.T) *entity.DB {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "t"})
	require.NoError(t, err)
	return db
}

// declare builds a store of T on a database of its own.
func declare[T any](t *testing.T) error {
	t.Helper()
	_, err := entity.New[T](open(t))
	return err
}

// declareSeries is declare for a time series.
func declareSeries[T any](t *testing.T) error {
	t.Helper()
	_, err := timeseries.New[T](open(t))
	return err
}

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
	typ := reflect.TypeFor[T]().String()
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
	checkMistakes[T](t, declare[T](t), mistake{code, field})
}

// refusedSeries is refused for a time series.
func refusedSeries[T any](t *testing.T, code, field string) {
	t.Helper()
	checkMistakes[T](t, declareSeries[T](t), mistake{code, field})
}

func accepted[T any](t *testing.T) {
	t.Helper()
	assert.NoError(t, declare[T](t))
}

func acceptedSeries[T any](t *testing.T) {
	t.Helper()
	assert.NoError(t, declareSeries[T](t))
}

// theKey and friends are how a SchemaError names a declaration.
const (
	theKey    = "_ entity.Key"
	theGSI    = "_ entity.GSI"
	theLSI    = "_ entity.LSI"
	theEvents = "_ timeseries.Events"
)
