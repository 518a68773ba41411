package timeline_test

import (
	"context"
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/timeline"
)

// An Apply that was interrupted for longer than the grace must not bring back a row of a generation that is gone.
func TestSweep_AnApplyThatWasHeldLeavesNoRowBehind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	old := l.arrivals()
	l.append("d-1", "north", 2)
	l.append("d-2", "north", 1)
	fresh := l.since(old)
	var done timeline.ApplyResult
	builder := l.connect()
	again := view(builder, builder.devices())
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() (err error) {
		done, err = v.Apply(l.Ctx, fresh...)
		return err
	}, func() {
		rebuild(builder, again)
		l.Clock.Move(16 * time.Minute)
		require.NoError(t, again.Sweep(l.Ctx))
	}))
	assert.Equal(t, timeline.ApplyResult{Duplicates: 2}, done)
	assert.Equal(t, 2, l.count("state"), "one generation is left")
	replayed(l, v, "rebuilt")
}

// An Apply that takes longer than that goes on where its rows are still served.
func TestSweep_AnApplyThatWasHeldGoesOn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.append("d-1", "north", 1)
	v := view(l, l.devices())
	rebuild(l, v)
	old := l.arrivals()
	l.append("d-1", "north", 2)
	fresh := l.since(old)
	require.NoError(t, l.Overtake(dbtest.First(dbtest.Is("BatchGetItem")), func() error {
		done, err := v.Apply(l.Ctx, fresh...)
		assert.Equal(t, timeline.ApplyResult{Applied: 1}, done)
		return err
	}, func() { l.Clock.Move(16 * time.Minute) }))
	replayed(l, v, "applied")
}

func TestSweep_RemovesRetiredGenerationsFromTheManifest(t *testing.T) {
	t.Parallel()
	retired := func(l *lab) (n int) {
		for _, it := range l.Items() {
			if list, ok := it["retired"].(*types.AttributeValueMemberL); ok {
				n = len(list.Value)
			}
		}
		return n
	}
	t.Run("of builds that follow each other fast", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.append("d-1", "north", -1)
		v := view(l, l.sites())
		rebuild(l, v)
		rebuild(l, v)
		for _, it := range l.Items() { // as if there had been sixty more builds
			if list, ok := it["retired"].(*types.AttributeValueMemberL); ok {
				for i := range 60 {
					again := maps.Clone(list.Value[0].(*types.AttributeValueMemberM).Value)
					again["id"] = dbtest.S(fmt.Sprint("another-", i))
					list.Value = append(list.Value, &types.AttributeValueMemberM{Value: again})
				}
				l.PutItem(it)
			}
		}
		require.Equal(t, 61, retired(l))
		rebuild(l, v)
		assert.LessOrEqual(t, retired(l), 51)
		assert.Equal(t, 2, l.count("state"), "the rows of the first build, the oldest, are removed")
	})
	t.Run("of a clock that was ahead", func(t *testing.T) {
		t.Parallel()
		l := newLab(t)
		l.append("d-1", "north", -1)
		fast := l.ahead(10 * 365 * day)
		rebuild(l, fast)
		rebuild(l, fast)
		v := view(l, l.sites())
		require.NoError(t, v.Sweep(l.Ctx))
		assert.Equal(t, 1, retired(l))
		l.Clock.Move(16 * time.Minute)
		require.NoError(t, v.Sweep(l.Ctx))
		assert.Zero(t, retired(l))
		assert.Equal(t, 1, l.count("state"))
	})
}

func TestSweep_ReleasesTheLeaseWhenItsContextEnds(t *testing.T) {
	t.Parallel()
	l := newLab(t, once)
	l.append("d-1", "north", 1, 2)
	v := view(l, l.sites())
	rebuild(l, v)
	rebuild(l, v)
	l.Clock.Move(20 * time.Minute)
	ctx, cancel := context.WithCancel(l.Ctx)
	require.ErrorIs(t, l.Overtake(removal, func() error { return v.Sweep(ctx) }, cancel), context.Canceled)
	assert.Nil(t, rebuild(l, v).Failure, "what could not be removed is no fault of the rows")
}
