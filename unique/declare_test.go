package unique_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/timeseries"
	"github.com/dynastrata/dynastrata/unique"
)

// code is the code of the first mistake in T's declarations.
func code(t *testing.T, declare func(*entity.DB) error) string {
	t.Helper()
	db, err := entity.Open(nil, entity.Config{Table: "app"})
	require.NoError(t, err)
	var mistake *entity.SchemaError
	require.True(t, errors.As(declare(db), &mistake))
	return mistake.Code
}

func asEntity[T any](db *entity.DB) error {
	_, err := entity.New[T](db)
	return err
}

func asSeries[T any](db *entity.DB) error {
	_, err := timeseries.New[T](db)
	return err
}

type partitionOnly struct {
	_     entity.Key        `name:"A" pk:"$#{id}"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

type numberKey struct {
	_     entity.Key        `name:"A" pk:"id" sk:"sk={email}"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    int               `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

type unknownField struct {
	_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"mail"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

type floatField struct {
	_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"score" fields:"score"`
	ID    string            `dynamodbav:"id"`
	Score float64           `dynamodbav:"score"`
}

type sameName struct {
	_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	_     unique.Constraint `name:"Email" fields:"id,email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

type appended struct {
	_      entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
	_      timeseries.Events `orderBy:"seq"`
	_      unique.Constraint `name:"serial" fields:"serial"`
	ID     string            `dynamodbav:"id"`
	Seq    int64             `dynamodbav:"seq"`
	Serial string            `dynamodbav:"serial" entity:"append"`
}

type keyPartsOfASeries struct {
	_     entity.Key        `name:"A" pk:"$#{id}" sk:"$"`
	_     timeseries.Events `orderBy:"seq"`
	_     unique.Constraint `name:"id" fields:"id"`
	ID    string            `dynamodbav:"id"`
	Seq   int64             `dynamodbav:"seq"`
	Value int               `dynamodbav:"value" entity:"append"`
}

func TestDeclare_MistakesHaveCodes(t *testing.T) {
	t.Parallel()
	for name, mistake := range map[string]struct {
		code    string
		declare func(*entity.DB) error
	}{
		"no sort key":           {"EDD-9061", asEntity[partitionOnly]},
		"a number as key":       {"EDD-9061", asEntity[numberKey]},
		"unknown field":         {"EDD-9002", asEntity[unknownField]},
		"a float":               {"EDD-9037", asEntity[floatField]},
		"one name twice":        {"EDD-9031", asEntity[sameName]},
		"an append field":       {"EDD-9018", asSeries[appended]},
		"key parts of a series": {"EDD-9018", asSeries[keyPartsOfASeries]},
	} {
		require.Equal(t, mistake.code, code(t, mistake.declare), name)
	}
}
