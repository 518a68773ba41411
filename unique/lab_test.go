package unique_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// start is so far ahead that the database removes nothing itself.
var start = time.Date(2101, 3, 4, 5, 6, 7, 0, time.UTC)

// Person is a `$` entity.
type Person struct {
	_     entity.Key        `name:"Person" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

// lab is one test's database.
type lab struct{ *dbtest.Bench }

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	b := &lab{dbtest.Open(t, configure...)}
	b.Clock.Set(start, 0)
	return b
}

// prepare declares T, creates the table, and opens the constraint.
func prepare[T any](t *testing.T, b *lab, constraint string) (*entity.Store[T], *unique.Lookup[T]) {
	t.Helper()
	s := dbtest.Declare[T](t, b.DB)
	require.NoError(t, tables.Create(t.Context(), b.DB))
	l := entity.Must(unique.Of(s, constraint))
	return s, l
}
