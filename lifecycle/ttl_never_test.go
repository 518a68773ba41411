package lifecycle_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
)

// Without a time to live in the configuration, no write gives an item an end, and none takes one away that it was given.
func TestNever_OnlyCallersGiveEnds(t *testing.T) {
	t.Parallel()
	h, s := turn[Session](t, lifecycle.NoExpiry())
	f := entity.Fields[Session]()
	end := hour0.Add(time.Hour).Unix()
	has := func(what string, want int64) {
		t.Helper()
		got, err := s.Get(t.Context(), Session{ID: "s"}, entity.Consistent())
		require.NoError(t, err, what)
		require.Equal(t, want, got.Ends, what)
		_, stored := h.items(t)[0]["ends"]
		require.Equal(t, want != 0, stored, what)
	}
	_, err := s.Create(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Create", 0)
	_, _, err = s.Upsert(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Upsert", 0)
	_, err = s.Update(t.Context(), Session{ID: "s"}, entity.Set(&f.Ends, end))
	require.NoError(t, err)
	has("Update with an end", end)
	_, _, err = s.Upsert(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Upsert over an end", end)
	_, err = s.Modify(t.Context(), Session{ID: "s"}, func(v *Session) error { v.Note = "kept"; return nil })
	require.NoError(t, err)
	has("Modify over an end", end)
	_, err = s.Put(t.Context(), Session{ID: "s"})
	require.NoError(t, err)
	has("Put, which replaces", 0)
	_, err = s.Put(t.Context(), Session{ID: "s", Ends: end})
	require.NoError(t, err)
	has("Put with an end", end)
	require.Equal(t, "ends", h.db.Spec().Tables[0].TTL)
}

// The same where an end would follow another attribute.
func TestNever_FollowsNoAttribute(t *testing.T) {
	t.Parallel()
	h, s := turn[Cache](t, lifecycle.NoExpiry())
	f := entity.Fields[Cache]()
	_, err := s.Create(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)
	h.run(time.Hour)
	_, err = s.Update(t.Context(), Cache{ID: "c"}, entity.Set(&f.Note, "later"))
	require.NoError(t, err)
	h.run(time.Hour)
	_, err = s.Put(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)
	require.NotContains(t, h.items(t)[0], "ends")
	h.run(1000 * time.Hour)
	_, err = s.Get(t.Context(), Cache{ID: "c"})
	require.NoError(t, err)

	_, err = entity.New[Cache](h.db, lifecycle.NoExpiry())
	require.NoError(t, err)
	_, err = entity.New[Cache](h.db, lifecycle.After(time.Minute))
	require.Equal(t, "EDD-9108", codeOf(err))
	_, err = entity.New[Session](h.db)
	require.NoError(t, err)
	_, err = entity.New[Session](h.db, lifecycle.NoExpiry())
	require.Equal(t, "EDD-9108", codeOf(err))
}
