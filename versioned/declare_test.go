package versioned_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/versioned"
)

// code is the code of the one mistake in T's declarations.
func code[T any](t *testing.T) string {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	_, err = entity.New[T](db)
	var mistake *entity.SchemaError
	require.True(t, errors.As(err, &mistake))
	return mistake.Code
}

type noVersion struct {
	_  entity.Key `name:"A" pk:"$#{id}" sk:"$"`
	_  versioned.Retain
	ID string `dynamodbav:"id"`
}

type lockWithoutVersion struct {
	_  entity.Key `name:"A" pk:"pk={id}"`
	_  versioned.Lock
	ID string `dynamodbav:"id"`
}

type lockTwice struct {
	_       entity.Key `name:"A" pk:"$#{id}" sk:"$"`
	_       versioned.Lock
	_       versioned.Retain
	_       versioned.Lock
	ID      string `dynamodbav:"id"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

type verbatim struct {
	_       entity.Key `name:"A" pk:"pk={id}" sk:"sk={id}"`
	_       versioned.Retain
	ID      string `dynamodbav:"id"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

func TestDeclare_MistakesHaveCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, "EDD-9060", code[noVersion](t))
	require.Equal(t, "EDD-9060", code[lockWithoutVersion](t))
	require.Equal(t, "EDD-9003", code[lockTwice](t))
	require.Equal(t, "EDD-9038", code[verbatim](t))
}
