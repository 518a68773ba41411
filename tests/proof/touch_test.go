package proof_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// A touch makes no item, and writes nothing before its time has come.
func TestTouch_OfAnItemThatIsAbsentOrNotDue(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.id = "touched"
	s, key := bare.store(b.look), bare.make("touched", "")
	_, err := s.Touch(b.ctx, key, &bare.fields().Seen, time.Hour)
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Empty(t, b.state(t, deed{}))

	require.NoError(t, bare.living(b))
	due, err := s.Touch(b.ctx, key, &bare.fields().Seen, time.Hour)
	require.NoError(t, err)
	require.True(t, due)
	b.now = b.now.Add(time.Minute)
	due, err = s.Touch(b.ctx, key, &bare.fields().Seen, time.Hour)
	require.NoError(t, err)
	require.False(t, due)
}

// The state that follows another is never before it, whatever the clock of its writer says.
func TestUpdate_ByAClockThatIsBehindComesAfterWhatItReplaces(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.id = "late"
	require.NoError(t, chronicled.living(b))
	before, err := chronicled.store(b.look).Get(b.ctx, chronicled.make("late", ""), entity.Consistent())
	require.NoError(t, err)
	b.now = epoch.Add(-time.Hour)
	after, err := chronicled.store(b.look).Update(b.ctx, chronicled.make("late", ""), entity.Set(&chronicled.fields().Text, "three"))
	require.NoError(t, err)
	require.True(t, after.UpdatedAt.After(before.UpdatedAt))
}
