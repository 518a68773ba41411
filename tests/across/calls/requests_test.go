package calls_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/versioned"
)

// Dated is Kept with the time of each state.
type Dated struct {
	_ entity.Key `name:"Dated" pk:"$#{id}" sk:"$"`
	_ versioned.Retain
	_ lifecycle.SoftDelete

	ID        string    `dynamodbav:"id"`
	Name      string    `dynamodbav:"name"`
	Version   int64     `dynamodbav:"version" entity:"version"`
	UpdatedAt time.Time `dynamodbav:"updatedAt" entity:"updated_at"`
}

// The requests of verbs of an entity with history and soft delete. The pages of these features have what they cost.
func TestRequests_OfAHistoryAreTheDocumentedOnes(t *testing.T) {
	t.Parallel()
	l := open(t, ticks)
	s, _ := store[Dated](l)
	past := entity.Must(versioned.Of(s))
	bin := entity.Must(lifecycle.Of(s))
	key, name := Dated{ID: "a"}, &entity.Fields[Dated]().Name
	const get, query, transact = "GetItem", "Query", "TransactWriteItems"
	var second Dated
	for _, c := range []struct {
		name string
		do   func(context.Context) error
		want []string
	}{
		{"Create", func(ctx context.Context) error { _, err := s.Create(ctx, key); return err }, []string{query, query, transact}},
		{"Update", func(ctx context.Context) (err error) {
			second, err = s.Update(ctx, key, entity.Set(name, "b"))
			return err
		}, []string{get, transact}},
		{"Update again", func(ctx context.Context) error { _, err := s.Update(ctx, key, entity.Set(name, "c")); return err }, []string{get, transact}},
		{"Get the current version", func(ctx context.Context) error { _, err := past.Get(ctx, key, 3); return err }, []string{query}},
		{"Get a past version", func(ctx context.Context) error { _, err := past.Get(ctx, key, 1); return err }, []string{query, get}},
		{"List", func(ctx context.Context) error { _, err := past.List(key).Collect(ctx); return err }, []string{query, query}},
		{"At", func(ctx context.Context) error { _, err := past.At(ctx, key, second.UpdatedAt); return err }, []string{query, query}},
		{"Revert", func(ctx context.Context) error { _, err := past.Revert(ctx, key, 1); return err }, []string{get, get, transact}},
		{"Delete", func(ctx context.Context) error { return s.Delete(ctx, key) }, []string{query, transact}},
		{"Get a deleted version", func(ctx context.Context) error { _, err := past.Get(ctx, key, 5); return err }, []string{query}},
		{"Restore", func(ctx context.Context) error { _, err := bin.Restore(ctx, key); return err }, []string{query, transact}},
	} {
		l.Wire.Reset()
		require.NoError(t, c.do(t.Context()), c.name)
		require.ElementsMatch(t, c.want, l.Operations(), c.name)
	}
}
