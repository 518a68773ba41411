package beamx_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/require"

	beamx "github.com/dynastrata/dynastrata/contrib/beam"
	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/tests/testsize"
)

// bare is an item as it was declared before.
type bare struct {
	_ entity.Key `name:"Member" pk:"$#{id}" sk:"$"`

	ID      string `dynamodbav:"id"`
	Team    string `dynamodbav:"team"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// member is the same with an index.
type member struct {
	_ entity.Key `name:"Member" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byTeam" index:"gsi1" pk:"$#{team}" sk:"$#{id}"`

	ID      string `dynamodbav:"id"`
	Team    string `dynamodbav:"team"`
	Version int64  `dynamodbav:"version" entity:"version"`
}

// club is a table of members without their index keys.
func club(t *testing.T, items int) (*dbtest.Bench, *entity.Store[member], beamx.Opener[*entity.Store[member]]) {
	b, store := dbtest.OpenStore[member](t, dbtest.Attempts(2))
	raw := b.Open(b.Raw)
	old := dbtest.Declare[bare](t, raw)
	var puts []entity.BatchOp
	for i := range items {
		puts = append(puts, old.Op().BatchPut(bare{ID: fmt.Sprintf("m%05d", i), Team: fmt.Sprintf("t%d", i%7)}, entity.Unconditional()))
	}
	b.OK(raw.BatchWrite(b.Ctx, puts...))
	return b, store, beamx.Register(t.Name(), func(context.Context) (*entity.Store[member], error) {
		return entity.New[member](b.Open(b.Client))
	})
}

// rewriting returns a pipeline that keeps the report of a rewrite.
func rewriting(members beamx.Opener[*entity.Store[member]], name string, o beamx.RewriteOptions) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	beam.ParDo0(s, &keepReport{name}, beamx.Rewrite(s, members, o))
	return p
}

func TestRewrite_WorkersThatDieLeaveWhatOneRunDoes(t *testing.T) {
	items := testsize.Pick(600, 6000)
	b, store, members := club(t, items)
	o := beamx.RewriteOptions{Checkpoint: "byTeam", Segments: 5}
	failed := untilDone(b, []int{2, 7, 60, 61, 150, 400}, func() error { return run(b.Ctx, rewriting(members, t.Name(), o)) })
	require.GreaterOrEqual(t, failed, 5)

	reports := taken[migrate.Report](t, t.Name())
	require.Len(t, reports, 1)
	r := reports[0]
	require.True(t, r.Done && r.Resumed, "%+v", r)
	require.Zero(t, r.Skipped())
	found, err := entity.Must(store.Index("byTeam")).Scan().Collect(b.Ctx)
	require.NoError(t, err)
	require.Len(t, found, items)
	for _, m := range found {
		require.EqualValues(t, 1, m.Version)
	}
	clean, err := migrate.Rewrite(b.Ctx, store, migrate.DryRun())
	require.NoError(t, err)
	require.Zero(t, clean.Rewritten+clean.Skipped())

	b.Wire.Reset()
	require.NoError(t, run(b.Ctx, rewriting(members, t.Name(), o)))
	require.Equal(t, []string{"GetItem", "GetItem", "GetItem", "GetItem", "GetItem"}, b.Operations(), "finished work is read from its checkpoints")
	again := taken[migrate.Report](t, t.Name())
	require.Equal(t, r.Rewritten, again[0].Rewritten)
}

func TestRewrite_TwoPipelinesAtOnceDoTheWorkOnce(t *testing.T) {
	const items = 400
	_, _, members := club(t, items)
	o := beamx.RewriteOptions{Checkpoint: "byTeam", Segments: 4, Budget: beamx.Budget{ReadUnits: 1e6, WriteUnits: 1e6}}
	runBoth(t, [2]*beam.Pipeline{rewriting(members, t.Name(), o), rewriting(members, t.Name(), o)})
	reports := taken[migrate.Report](t, t.Name())
	require.Len(t, reports, 2)
	require.Equal(t, reports[0].Items, reports[1].Items)
	require.Equal(t, items, reports[0].Items)
}

func TestRewrite_MistakesPanic(t *testing.T) {
	members := beamx.Register(t.Name(), func(context.Context) (*entity.Store[member], error) { return nil, nil })
	_, s := beam.NewPipelineWithRoot()
	require.Panics(t, func() { beamx.Rewrite(s, members, beamx.RewriteOptions{Segments: 1}) })
	require.Panics(t, func() { beamx.Rewrite(s, members, beamx.RewriteOptions{Checkpoint: "a"}) })
	require.Panics(t, func() {
		beamx.Rewrite(s, beamx.Opener[*entity.Store[member]]{}, beamx.RewriteOptions{Checkpoint: "a", Segments: 1})
	})
	require.Panics(t, func() {
		beamx.Register(t.Name(), func(context.Context) (*entity.Store[member], error) { return nil, nil })
	}, "the name is taken")
	require.Panics(t, func() { beamx.Register[int](t.Name()+"2", nil) })
}
