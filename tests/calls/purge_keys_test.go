package calls_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Lone has no sort key.
type Lone struct {
	_ entity.Key `name:"Lone" pk:"id"`

	ID string `dynamodbav:"id"`
}

// LoneText is a $ entity without a sort key.
type LoneText struct {
	_ entity.Key `name:"LoneText" pk:"$#{id}"`

	ID string `dynamodbav:"id"`
}

// Counted has a number as its sort key.
type Counted struct {
	_ entity.Key `name:"Counted" pk:"id" sk:"n"`

	ID string `dynamodbav:"id"`
	N  int    `dynamodbav:"n"`
}

// An item whose sort key is no text has no related items, and goes like any other.
func TestPurge_RemovesAnItemWhateverItsKey(t *testing.T) {
	t.Parallel()
	purges(t, Lone{ID: "a"})
	purges(t, LoneText{ID: "a"})
	purges(t, Counted{ID: "a", N: 1})
	purges(t, Verbatim{ID: "a"})
	purges(t, Plain{ID: "a"})
}

func purges[T any](t *testing.T, v T) {
	l := open(t)
	s, quiet := store[T](l)
	_, err := quiet.Create(t.Context(), v)
	require.NoError(t, err)
	require.NoError(t, s.Purge(t.Context(), v))
	require.Empty(t, l.Items(), "%T", v)
}
