// Package calls_test holds tests of calls that do many things, or the wrong thing: purges that others and faults get in the way of,
// transactions that are repeated under one token, tables made by several programs at once, handles that were not opened.
package calls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type Plain struct {
	_ entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`

	ID    string `dynamodbav:"id"`
	Count int    `dynamodbav:"count"`
}

// Kept leaves copies, snapshots and sentinels behind.
type Kept struct {
	_ entity.Key `name:"Kept" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete
	_ unique.Constraint `name:"email" fields:"email"`

	ID      string `dynamodbav:"id"`
	Email   string `dynamodbav:"email"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// lab is one table, seen through a client that fails on demand and through one that does not.
type lab struct {
	*dbtest.Bench
	quiet *entity.DB
}

func open(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	b := dbtest.Open(t, configure...)
	return &lab{b, b.Open(b.Raw)}
}

func ref[V any](v V) *V { return &v }

// store declares T on both databases and creates the table.
func store[T any](l *lab) (faulty, quiet *entity.Store[T]) {
	l.T.Helper()
	faulty, quiet = entity.Must(entity.New[T](l.DB)), entity.Must(entity.New[T](l.quiet))
	require.NoError(l.T, tables.Create(l.Ctx, l.quiet))
	return faulty, quiet
}
