package unique_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/unique"
)

type member struct {
	_     entity.Key        `name:"Member" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

func TestBatch_IsRefusedBecauseItCouldNotClaimValues(t *testing.T) {
	t.Parallel()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	s, err := entity.New[member](db)
	require.NoError(t, err)
	var refused *entity.InputError
	_, err = s.PutMany(t.Context(), []member{{ID: "a", Email: "a@x"}}, entity.Unconditional())
	require.True(t, errors.As(err, &refused))
	require.Equal(t, "EDD-9117", refused.Code)
	_, err = s.DeleteMany(t.Context(), []member{{ID: "a"}}, entity.Unconditional())
	require.True(t, errors.As(err, &refused))
	require.Equal(t, "EDD-9117", refused.Code)
}
