// Package conformance_test holds the tests of features together: every combination of unique values, versions and soft delete,
// on every verb, alone and in transactions.
package conformance_test

import (
	"strings"
	"testing"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// Bystander is the other entity of the table.
type Bystander struct {
	_  entity.Key `name:"Bystander" pk:"$#{id}" sk:"$"`
	ID string     `dynamodbav:"id"`
}

// runJoined runs op in a transaction beside a check of another item; the error is the operation's own.
func runJoined(b *dbtest.Bench, op entity.Op) error {
	b.T.Helper()
	err := b.DB.Transact(b.Ctx, op, dbtest.Declare[Bystander](b.T, b.DB).Op().CheckNotExists(Bystander{ID: "nobody"}))
	if failure := entity.FailureOf(err, op); failure != nil {
		return failure
	}
	return err
}

// runAlone runs op by itself.
func runAlone[T any](t *testing.T, op entity.Write[T]) error {
	t.Helper()
	var result T
	_, err := op.(*core.Write[T]).Run(t.Context(), &result)
	return err
}

// short takes what all keys of an entity begin with out of a text.
func short(s string) string { return strings.ReplaceAll(s, "$app#v1#", "$") }
