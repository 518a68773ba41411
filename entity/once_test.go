package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

func TestTransactWithToken_TheSameCallIsAppliedOnce(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	_, err := b.other.Create(ctx, Plain{ID: "a", Count: 1})
	require.NoError(t, err)
	token := entity.Token{ID: "order " + t.Name()[:5] + time.Now().Format("150405.000000000"), At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	call := func() error {
		return b.db.TransactWithToken(ctx, token, b.plain.Op().Update(Plain{ID: "a"}, entity.Add(&f.Count, 10)), b.ver.Op().Create(Counted{ID: "v"}))
	}
	b.faults.Inject(faults.Nth(1, faults.Lost))
	for range 3 {
		require.NoError(t, call())
	}
	got, err := b.other.Get(ctx, Plain{ID: "a"}, entity.Consistent())
	require.NoError(t, err)
	require.Equal(t, 11, got.Count)
	requests := b.faults.Requests()
	require.Len(t, requests, 4)
	for _, r := range requests {
		require.JSONEq(t, string(requests[0].Body), string(r.Body))
	}
	err = b.db.TransactWithToken(ctx, token, b.plain.Op().Update(Plain{ID: "a"}, entity.Add(&f.Count, 20)), b.ver.Op().Create(Counted{ID: "v"}))
	require.ErrorIs(t, err, entity.ErrTokenReused)
}

func TestTransactWithToken_RefusesWhatCouldNotBeTheSameTwice(t *testing.T) {
	b := newBench(t, 0)
	ctx, f := t.Context(), entity.Fields[Plain]()
	token := entity.Token{ID: "t", At: time.Now()}
	needsRead := b.plain.Op().Update(Plain{ID: "a"}, entity.Set(&f.Rank, 2))
	err := b.db.TransactWithToken(ctx, token, needsRead)
	var input *entity.InputError
	require.ErrorAs(t, entity.FailureOf(err, needsRead), &input)
	for _, token := range []entity.Token{{}, {At: time.Now()}} {
		require.ErrorAs(t, b.db.TransactWithToken(ctx, token, b.plain.Op().Create(Plain{ID: "a"})), &input)
	}
	require.Empty(t, b.faults.Requests())
}

func TestTransactWithToken_OfOneOpIsATransactionToo(t *testing.T) {
	b := newBench(t, 0)
	op := b.plain.Op().Create(Plain{ID: "a", Name: "x"})
	token := entity.Token{ID: "one " + time.Now().Format("150405.000000000"), At: time.Now()}
	require.NoError(t, b.db.TransactWithToken(t.Context(), token, op))
	require.NoError(t, b.db.TransactWithToken(t.Context(), token, op), "not ErrExists: it is the same call")
	require.Equal(t, "x", op.Result().Name)
	token.ID += "!"
	require.ErrorIs(t, b.db.TransactWithToken(t.Context(), token, op), entity.ErrExists)
	require.Equal(t, 3, b.faults.Count("TransactWriteItems"))
}
