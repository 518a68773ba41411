package rules_test

import (
	"context"
	"testing"

	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

type Plain struct {
	_     entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`
	ID    string     `dynamodbav:"id"`
	Label string     `dynamodbav:"label,omitempty"`
}

type Labelled struct {
	_     entity.Key `name:"Plain" pk:"$#{id}" sk:"$"`
	_     entity.GSI `name:"byLabel" index:"gsi1" pk:"$#{label}" sk:"$#{id}"`
	ID    string     `dynamodbav:"id"`
	Label string     `dynamodbav:"label,omitempty"`
}

// A declaration that is ahead of the table is named, by a class and with table and index.
func TestIndex_ThatTheTableLacks(t *testing.T) {
	t.Parallel()
	l := dbtest.Open(t)
	dbtest.Declare[Plain](t, l.DB)
	l.CreateTables()
	s := dbtest.Declare[Labelled](t, l.Open(l.Client))
	byLabel := entity.Must(s.Index("byLabel"))
	for what, run := range map[string]func(context.Context) error{
		"query": func(ctx context.Context) error {
			return dbtest.ErrorOf(byLabel.Query(Labelled{Label: "x"}).Collect(ctx))
		},
		"scan":  func(ctx context.Context) error { return dbtest.ErrorOf(byLabel.Scan().Collect(ctx)) },
		"count": func(ctx context.Context) error { return dbtest.ErrorOf(byLabel.Query(Labelled{Label: "x"}).Count(ctx)) },
	} {
		l.Operations()
		err := run(t.Context())
		require.ErrorIs(t, err, entity.ErrNoIndex, what)
		require.NotErrorIs(t, err, entity.ErrNoTable, what)
		var no *entity.IndexError
		require.ErrorAs(t, err, &no, what)
		require.Equal(t, []any{l.Config.Table, "gsi1", false}, []any{no.Table, no.Index, no.Building}, what)
		var api smithy.APIError
		require.ErrorAs(t, err, &api, "what DynamoDB said stays behind it")
		require.Contains(t, l.Operations(), "DescribeTable", what)
	}
	l.Operations()
	_ = entity.Must(s.Query(Labelled{ID: "x"}).Collect(t.Context()))
	require.Equal(t, []string{"Query"}, l.Operations(), "asked for after a failure only")
	none := entity.Must(dbtest.Declare[Labelled](t, l.Open(l.Client, func(c *entity.Config) { c.Table += "-none" })).Index("byLabel"))
	_, err := none.Query(Labelled{Label: "x"}).Collect(t.Context())
	require.ErrorIs(t, err, entity.ErrNoTable)
	require.NotErrorIs(t, err, entity.ErrNoIndex)
}
