package lifecycle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// codes are the codes of the mistakes in T's declarations.
func codes[T any](t *testing.T) []string {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	_, err = entity.New[T](db)
	var all []string
	var walk func(error)
	walk = func(err error) {
		var one *entity.SchemaError
		if many, ok := err.(interface{ Unwrap() []error }); ok {
			for _, e := range many.Unwrap() {
				walk(e)
			}
		} else if errors.As(err, &one) {
			all = append(all, one.Code)
		}
	}
	walk(err)
	return all
}

type policyAlone struct {
	_  entity.Key           `name:"A" pk:"$#{id}" sk:"$"`
	_  lifecycle.SoftDelete `unique:"reserve"`
	ID string               `dynamodbav:"id"`
}

type oddPolicy struct {
	_  entity.Key           `name:"A" pk:"$#{id}" sk:"$"`
	_  lifecycle.SoftDelete `unique:"keep"`
	ID string               `dynamodbav:"id"`
}

type twice struct {
	_  entity.Key           `name:"A" pk:"$#{id}" sk:"$"`
	_  lifecycle.SoftDelete `ttl:"1d"`
	_  lifecycle.SoftDelete `ttl:"2d"`
	ID string               `dynamodbav:"id"`
}

type noSortKey struct {
	_  entity.Key `name:"A" pk:"$#{id}"`
	_  lifecycle.SoftDelete
	ID string `dynamodbav:"id"`
}

type zeroTTL struct {
	_  entity.Key           `name:"A" pk:"$#{id}" sk:"$"`
	_  lifecycle.SoftDelete `ttl:"0d"`
	ID string               `dynamodbav:"id"`
}

type ownDeletedAt struct {
	_         entity.Key `name:"A" pk:"$#{id}" sk:"$"`
	_         lifecycle.SoftDelete
	ID        string    `dynamodbav:"id"`
	DeletedAt time.Time `dynamodbav:"deletedAt"`
}

func TestDeclare_MistakesHaveCodes(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"EDD-9062", "EDD-9003"}, append(codes[policyAlone](t), codes[oddPolicy](t)[0]))
	require.Equal(t, []string{"EDD-9003"}, codes[twice](t))
	require.Equal(t, []string{"EDD-9038"}, codes[noSortKey](t))
	require.Equal(t, []string{"EDD-9036"}, codes[zeroTTL](t))
	require.Equal(t, []string{"EDD-9034"}, codes[ownDeletedAt](t))
}
