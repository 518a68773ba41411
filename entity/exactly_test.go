package entity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestExactly_WhatCouldNotBeRepeatedIsAppliedOnceAndKnown(t *testing.T) {
	f, v := entity.Fields[Plain](), entity.Fields[Counted]()
	for name, c := range map[string]struct {
		write  func(context.Context, *bench) error
		writes int
		reads  int
	}{
		"add": {func(ctx context.Context, b *bench) error {
			got, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
			require.Equal(t, 2, got.Count)
			return err
		}, 2, 1},
		"version": {func(ctx context.Context, b *bench) error {
			got, err := b.ver.Update(ctx, Counted{ID: "a"}, entity.Set(&v.Name, "x"), entity.Idempotent())
			require.EqualValues(t, 2, got.Version)
			return err
		}, 2, 1},
		"upsert of an item": {func(ctx context.Context, b *bench) error {
			got, created, err := b.ver.Upsert(ctx, Counted{ID: "a", Name: "x"}, entity.Idempotent())
			require.False(t, created)
			require.EqualValues(t, 2, got.Version)
			return err
		}, 2, 1},
		"upsert of none": {func(ctx context.Context, b *bench) error {
			_, created, err := b.ver.Upsert(ctx, Counted{ID: "new"}, entity.Idempotent())
			require.True(t, created)
			return err
		}, 2, 1},
		"put": {func(ctx context.Context, b *bench) error {
			got, err := b.ver.Put(ctx, Counted{ID: "a", Name: "y"}, entity.Idempotent())
			require.EqualValues(t, 2, got.Version)
			return err
		}, 2, 1},
		"delete": {func(ctx context.Context, b *bench) error {
			return b.plain.Delete(ctx, Plain{ID: "a"}, entity.Idempotent())
		}, 2, 0},
		"verbatim create": {func(ctx context.Context, b *bench) error {
			_, err := b.bare.Create(ctx, Bare{ID: "b"}, entity.Idempotent())
			return err
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 0)
			ctx := t.Context()
			_, err := b.plain.Create(ctx, Plain{ID: "a", Count: 1})
			require.NoError(t, err)
			_, err = b.ver.Create(ctx, Counted{ID: "a"})
			require.NoError(t, err)
			b.faults.Reset()
			b.faults.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
			require.NoError(t, c.write(ctx, b))
			require.Equal(t, c.writes, b.faults.Count("TransactWriteItems"))
			require.Equal(t, c.reads, b.faults.Count("GetItem"))
			require.Equal(t, c.writes+c.reads, len(b.faults.Requests()))
		})
	}
}

func TestExactly_AnUpdateWhoseItemCannotBeReadIsAppliedAllTheSame(t *testing.T) {
	b := newBench(t, 2)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Create(ctx, Plain{ID: "a", Count: 1})
	require.NoError(t, err)
	b.faults.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "GetItem" {
			return faults.Throttle
		}
		return faults.None
	})
	_, err = b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrReadBack)
	got, err := b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 2, got.Count)
}

func TestExactly_KeepsTheErrorsOfTheVerb(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrNotFound)
	_, err = b.plain.Create(ctx, Plain{ID: "a"}, entity.Idempotent())
	require.NoError(t, err)
	_, err = b.plain.Create(ctx, Plain{ID: "a"}, entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrExists)
	require.ErrorIs(t, b.plain.Delete(ctx, Plain{ID: "a"}, entity.Idempotent(), entity.If(entity.Eq(&f.Name, "x"))), entity.ErrConditionFailed)
}
