package schema_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tests/declaretest"
)

// The codes stand in these tests as text: a number that changed its meaning must fail a test. Declarations of which
// only the mistakes matter are in testdata/declarations.

func open(t *testing.T) *entity.DB {
	t.Helper()
	return entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
}

var options = declaretest.Options

// alone builds T and adds it to a table of its own.
func alone[T any]() error {
	return declaretest.Declare(&schema.Table{Name: "t"}, reflect.TypeFor[T](), options)
}

// mistakes returns every *entity.SchemaError in err's tree.
func mistakes(err error) []*entity.SchemaError {
	all, other := declaretest.Mistakes(err)
	if other != nil {
		return nil
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

// theKey is how a SchemaError names that declaration.
const theKey = "_ entity.Key"
