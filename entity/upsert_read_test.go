package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestUpsert_PartlyKnownHalfReadsFirst(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
	_, created, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "red"})
	require.NoError(t, err)
	require.True(t, created)
	require.LessOrEqual(t, len(l.sent()), 2)
	require.NotContains(t, l.stored(t, at), "gsi1pk", "rank is absent, and so is the half")
	require.Contains(t, l.stored(t, at), "gsi1sk", "the other half does not depend on it")

	_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 7})
	require.NoError(t, err)
	require.False(t, created)
	require.Equal(t, []string{"GetItem", "PutItem"}, l.sent())
	require.Equal(t, `S"$app#v1#profile#red#0000000000000000007"`, l.stored(t, at)["gsi1pk"])

	got, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 8, Note: "n"})
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent(), "both parts are given")
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000008"`, l.stored(t, at)["gsi1pk"])
	require.Equal(t, "n", got.Note)

	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Note: "m"})
	require.NoError(t, err)
	require.Equal(t, []string{"UpdateItem"}, l.sent(), "neither part is given")
	require.Equal(t, `S"$app#v1#profile#blue#0000000000000000008"`, l.stored(t, at)["gsi1pk"])
}

func TestUpsert_AfterAReadKeepsWhatCameInBetween(t *testing.T) {
	t.Parallel()
	for name, exists := range map[string]bool{"over live": true, "over nothing": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open[Profile](t)
			other := declare[Profile](t, l.aside(t))
			at := keys("pk", "$app#v1#profile#a", "sk", "$app#v1#profile")
			if exists {
				_, err := other.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
				require.NoError(t, err)
			}
			arrived, release := l.wire.Hold(func(r faults.Request) bool { return r.Operation == "PutItem" })
			defer release()
			done := make(chan error, 1)
			created := true
			go func() {
				var err error
				_, created, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 9})
				done <- err
			}()
			awaitHeld(t, arrived, done) // it has read
			_, _, err := other.Upsert(t.Context(), Profile{ID: "a", Team: "blue", Rank: 2, Note: "between"})
			require.NoError(t, err)
			release()
			require.NoError(t, <-done)
			require.False(t, created)
			it := l.stored(t, at)
			require.Equal(t, `S"between"`, it["note"])
			require.Equal(t, `S"$app#v1#profile#blue#0000000000000000009"`, it["gsi1pk"])
		})
	}
}

func TestUpsert_OnTheRouteThatReadsTheConditionHoldsToo(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	_, _, err := s.Upsert(t.Context(), Profile{ID: "a", Team: "red"}, entity.If(entity.Exists(&p.Note)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Empty(t, l.everything(t))
	_, err = s.Create(t.Context(), Profile{ID: "a", Team: "red", Rank: 1})
	require.NoError(t, err)
	before := l.everything(t)
	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Rank: 2}, entity.If(entity.Exists(&p.Note)))
	require.ErrorIs(t, err, entity.ErrConditionFailed)
	require.Equal(t, before, l.everything(t))
}
