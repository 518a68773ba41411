package migrate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
)

// Each segment is rewritten under a checkpoint of its own. Together they do what one run does, and a repeated segment reads
// its checkpoint and writes nothing.
func TestRewrite_SegmentsShareTheWork(t *testing.T) {
	t.Parallel()
	const items, segments = 24, 4
	c := open(t)
	for i := range items {
		c.add(fmt.Sprintf("m%02d", i), "red", "")
	}
	want := c.rewrite(migrate.DryRun())
	sum := migrate.Report{Done: true}
	for i := range segments {
		part, name := entity.Segment(i, segments), fmt.Sprintf("fill-%d", i)
		r := c.rewrite(part, migrate.Checkpoint(name))
		require.True(t, r.Done && !r.Resumed)
		sum = sum.Merge(r)
		again := c.rewrite(part, migrate.Checkpoint(name))
		require.True(t, again.Done && again.Resumed)
		require.Equal(t, r.Rewritten, again.Rewritten)
		require.Len(t, c.Wire.Requests(), 1, "the checkpoint")
		_, err := migrate.Rewrite(c.Ctx, c.now, entity.Segment((i+1)%segments, segments), migrate.Checkpoint(name))
		require.ErrorIs(t, err, migrate.ErrOtherWork)
	}
	require.Equal(t, want.Rewritten, sum.Rewritten)
	require.Equal(t, want.Reasons, sum.Reasons)
	require.Equal(t, want.Problems, sum.Problems)
	require.Equal(t, want.Items, sum.Items)
	require.True(t, sum.Done && !sum.Resumed)
	require.Len(t, sum.Examples, 10)
	require.Greater(t, sum.Cost.WriteUnits, float64(items))
	require.False(t, sum.Merge(migrate.Report{}).Done)
	require.Len(t, c.team("red"), items)
	require.Zero(t, c.rewrite(migrate.DryRun()).Rewritten)
}
