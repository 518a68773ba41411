package calls_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/versioned"
)

// Page has nothing but deleted copies.
type Page struct {
	_ entity.Key `name:"Page" pk:"$#{id}" sk:"$"`
	_ lifecycle.SoftDelete

	ID string `dynamodbav:"id"`
}

// moves returns writes that restore and delete the page.
func moves(t *testing.T, quiet *entity.Store[Page]) (restore, remove func()) {
	copies := entity.Must(lifecycle.Of(quiet))
	restore = func() {
		_, err := copies.Restore(t.Context(), Page{ID: "a"})
		require.NoError(t, err)
	}
	return restore, func() { require.NoError(t, quiet.Delete(t.Context(), Page{ID: "a"})) }
}

// The item exists all the time, in one of two places, but a reading finds it in neither. The next one finds it.
func TestPurge_FindsWhatMovesDuringItsReading(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		deleted     bool // before the purge
		copiesFirst bool
		writes      func(restore, remove func()) []func()
	}{
		"a restore":                     {true, false, func(restore, _ func()) []func() { return []func(){restore} }},
		"a delete, if copies are first": {false, true, func(_, remove func()) []func() { return []func(){remove} }},
		"a restore, then a delete":      {true, false, func(restore, remove func()) []func() { return []func(){restore, remove} }},
	} {
		t.Run(name, func(t *testing.T) {
			l := open(t)
			_, quiet := store[Page](l)
			restore, remove := moves(t, quiet)
			_, err := quiet.Create(t.Context(), Page{ID: "a"})
			require.NoError(t, err)
			if c.deleted {
				remove()
			}
			client := &torn{Client: l.Raw, copiesFirst: c.copiesFirst, during: c.writes(restore, remove)}
			s := entity.Must(entity.New[Page](l.Bench.Open(client)))
			require.NoError(t, s.Purge(t.Context(), Page{ID: "a"}))
			require.Empty(t, l.Items())
			require.Empty(t, client.during)
		})
	}
}

// A reading that finds snapshots only may have missed the item, so it removes none of them: a purge that stops here must not
// leave an item without its history.
func TestPurge_KeepsTheHistoryOfAnItemThatOneReadingMissed(t *testing.T) {
	t.Parallel()
	l := open(t)
	_, quiet := store[Kept](l)
	copies, past := entity.Must(lifecycle.Of(quiet)), entity.Must(versioned.Of(quiet))
	_, err := quiet.Create(t.Context(), Kept{ID: "a"})
	require.NoError(t, err)
	require.NoError(t, quiet.Delete(t.Context(), Kept{ID: "a"}))
	restore := func() {
		_, err := copies.Restore(t.Context(), Kept{ID: "a"})
		require.NoError(t, err)
	}
	broken := errors.New("broken")
	client := &torn{Client: l.Raw, during: []func(){restore}, refuse: broken}
	s := entity.Must(entity.New[Kept](l.Bench.Open(client, dbtest.Attempts(1))))
	require.ErrorIs(t, s.Purge(t.Context(), Kept{ID: "a"}), broken)
	states, err := past.List(Kept{ID: "a"}, versioned.WithCurrent()).Collect(t.Context())
	require.NoError(t, err)
	require.Len(t, states, 3)

	client.refuse = nil
	require.NoError(t, s.Purge(t.Context(), Kept{ID: "a"}))
	require.Empty(t, l.Items())
}
