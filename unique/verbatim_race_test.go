package unique_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/unique"
)

// ledger has a key as it is, and so no write ids.
type ledger struct {
	_       entity.Key        `name:"Ledger" pk:"id" sk:"part"`
	_       unique.Constraint `name:"email" fields:"email"`
	ID      string            `dynamodbav:"id"`
	Part    string            `dynamodbav:"part"`
	Email   string            `dynamodbav:"email"`
	Note    string            `dynamodbav:"note"`
	Version int64             `dynamodbav:"version" entity:"version"`
}

func TestModify_OfAnItemCreatedAgainStartsOver(t *testing.T) {
	t.Parallel()
	client, table := localdb.Test(t)
	db, err := entity.Open(client, entity.Config{Table: table})
	require.NoError(t, err)
	s, err := entity.New[ledger](db)
	require.NoError(t, err)
	require.NoError(t, db.CreateTables(t.Context()))
	key := ledger{ID: "l", Part: "p"}
	old, young := key, key
	old.Email, young.Email, young.Note = "old@x", "new@x", "young"
	_, err = s.Create(t.Context(), old)
	require.NoError(t, err)
	rounds := 0
	got, err := s.Modify(t.Context(), key, func(l *ledger) error {
		if rounds++; rounds == 1 {
			require.NoError(t, s.Delete(t.Context(), key))
			_, err := s.Create(t.Context(), young)
			require.NoError(t, err)
		}
		l.Note += "!"
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 2, rounds)
	require.Equal(t, "new@x", got.Email)
	require.Equal(t, "young!", got.Note)
	found, err := entity.Must(unique.Of(s, "email")).Find(t.Context(), ledger{Email: "new@x"})
	require.NoError(t, err)
	require.Equal(t, got, found)
}
