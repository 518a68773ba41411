package unique_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/unique"
)

// Cased has a unique value under lower-case keys.
type Cased struct {
	_     entity.Key        `name:"Cased" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email"`
}

func TestKeyCase_UnderLowerCaseValuesThatDifferInCaseAreOne(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db := entity.Must(entity.Open(client, entity.Config{Table: table, Namespace: entity.Namespace{Name: "Shop", Casing: entity.LowerCase}}))
	store := entity.Must(entity.New[Cased](db))
	mail := entity.Must(unique.Of(store, "email"))
	require.NoError(t, db.CreateTables(t.Context()))
	ctx := t.Context()
	_, err := store.Create(ctx, Cased{ID: "1", Email: "Ann Lee@x"})
	require.NoError(t, err)
	var violation *unique.ViolationError
	_, err = store.Create(ctx, Cased{ID: "2", Email: "ann lee@X"})
	require.ErrorAs(t, err, &violation)
	require.Equal(t, unique.Owner{PK: "$shop#v1#cased#1", SK: "$shop#v1#cased"}, violation.Owner)
	got, err := mail.Find(ctx, Cased{Email: "ANN LEE@x"})
	require.NoError(t, err)
	require.Equal(t, Cased{ID: "1", Email: "Ann Lee@x"}, got)
	got, err = store.Update(ctx, Cased{ID: "1"}, entity.Set(&entity.Fields[Cased]().Email, "ann lee@x"))
	require.NoError(t, err, "its own value in another case")
	require.Equal(t, "ann lee@x", got.Email)
	require.NoError(t, store.Delete(ctx, Cased{ID: "1"}))
	_, err = store.Create(ctx, Cased{ID: "2", Email: "ANN LEE@X"})
	require.NoError(t, err)
}
