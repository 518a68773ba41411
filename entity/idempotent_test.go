package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestIdempotent_ChangesThatCannotBeRepeatedAreAppliedOnce(t *testing.T) {
	f := entity.Fields[Plain]()
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
		"upsert of an item": {func(ctx context.Context, b *bench) error {
			got, created, err := b.ver.Upsert(ctx, Counted{ID: "a", Name: "x"}, entity.Idempotent())
			require.False(t, created)
			require.EqualValues(t, 2, got.Version)
			return err
		}, 2, 1},
		"delete": {func(ctx context.Context, b *bench) error {
			return b.plain.Delete(ctx, Plain{ID: "a"}, entity.Idempotent())
		}, 2, 0},
		"verbatim create": {func(ctx context.Context, b *bench) error {
			return dbtest.ErrorOf(b.bare.Create(ctx, Bare{ID: "b"}, entity.Idempotent()))
		}, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, 0)
			ctx := t.Context()
			b.OK(b.plain.Create(ctx, Plain{ID: "a", Count: 1}))
			b.OK(b.ver.Create(ctx, Counted{ID: "a"}))
			b.Sent()
			b.Wire.Inject(faults.Nth(1, faults.Lost, "TransactWriteItems"))
			require.NoError(t, c.write(ctx, b))
			require.Equal(t, c.writes, b.Wire.Count("TransactWriteItems"))
			require.Equal(t, c.reads, b.Wire.Count("GetItem"))
			require.Equal(t, c.writes+c.reads, len(b.Wire.Requests()))
		})
	}
}

func TestIdempotent_UpdateWhoseItemCannotBeReadIsApplied(t *testing.T) {
	b := newBench(t, 2)
	ctx, f := t.Context(), entity.Fields[Plain]()
	b.OK(b.plain.Create(ctx, Plain{ID: "a", Count: 1}))
	b.Wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "GetItem" {
			return faults.Throttle
		}
		return faults.None
	})
	_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrReadBack)
	got := entity.Must(b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent()))
	require.Equal(t, 2, got.Count)
}

func TestIdempotent_KeepsTheErrorsOfTheVerb(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.plain.Update(ctx, Plain{ID: "a"}, entity.Add(&f.Count, 1), entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrNotFound)
	b.OK(b.plain.Create(ctx, Plain{ID: "a"}, entity.Idempotent()))
	_, err = b.plain.Create(ctx, Plain{ID: "a"}, entity.Idempotent())
	require.ErrorIs(t, err, entity.ErrExists)
	require.ErrorIs(t, b.plain.Delete(ctx, Plain{ID: "a"}, entity.Idempotent(), entity.If(entity.Eq(&f.Name, "x"))), entity.ErrConditionFailed)
}

func TestTransactWithToken_RefusesWhatCouldNotBeTheSameTwice(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	token := entity.Token{ID: "t", At: time.Now()}
	needsRead := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	err := b.DB.TransactWithToken(ctx, token, needsRead)
	var input *entity.InputError
	require.ErrorAs(t, entity.FailureOf(err, needsRead), &input)
	require.Contains(t, input.Problem, "use Transact, with a Create of an item whose key is the token")
	for _, token := range []entity.Token{{}, {At: time.Now()}} {
		require.ErrorAs(t, b.DB.TransactWithToken(ctx, token, b.plain.Op().Create(Plain{ID: "a"})), &input)
	}
	require.Empty(t, b.Wire.Requests())
}
