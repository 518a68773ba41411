package entity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

type contextT = context.Context

func TestTransactGet_ReadsAllOrNone(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	_, err := b.other.Create(ctx, Plain{ID: "a", Count: 3})
	require.NoError(t, err)
	_, err = b.ver.Create(ctx, Counted{ID: "v", Name: "n"})
	require.NoError(t, err)
	b.faults.Reset()
	b.faults.Inject(faults.Nth(1, faults.Conflict))
	p, v, gone := Plain{ID: "a"}, Counted{ID: "v"}, Plain{ID: "gone"}
	require.NoError(t, b.db.TransactGet(ctx, b.plain.Op().GetInto(&p), b.ver.Op().GetInto(&v)))
	require.Equal(t, 3, p.Count)
	require.Equal(t, "n", v.Name)
	require.Equal(t, 2, b.faults.Count("TransactGetItems"), "a conflict is waited out")

	p = Plain{ID: "a"}
	err = b.db.TransactGet(ctx, b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&gone))
	require.ErrorIs(t, err, entity.ErrNotFound)
	var te *entity.TransactError
	require.ErrorAs(t, err, &te)
	require.Len(t, te.Failed, 1)
	require.Equal(t, 1, te.Failed[0].Index)
	require.Equal(t, Plain{ID: "a"}, p, "nothing was filled in")
	require.NoError(t, b.db.TransactGet(ctx))
}

// A stored item that does not fit is found before any struct is filled in.
func TestTransactGet_AnItemThatDoesNotFitLeavesEveryStructAsItWas(t *testing.T) {
	t.Parallel()
	l, s := open[Team](t)
	require.NoError(t, l.db.Transact(t.Context(), s.Op().Create(Team{ID: "a", Size: 1}), s.Op().Create(Team{ID: "b"})))
	l.patch(t, keys("pk", "$app#v1#team#b", "sk", "$app#v1#team"), "size", str("many"))
	a, b := Team{ID: "a"}, Team{ID: "b"}
	err := l.db.TransactGet(t.Context(), s.Op().GetInto(&a), s.Op().GetInto(&b))
	var misfit *entity.DecodeError
	require.ErrorAs(t, err, &misfit)
	require.Equal(t, "size", misfit.Attr)
	require.Equal(t, []Team{{ID: "a"}, {ID: "b"}}, []Team{a, b})
}

func TestTransactGet_BadInputSendsNothing(t *testing.T) {
	b := newBench(t, 0)
	p, again := Plain{ID: "a"}, Plain{ID: "a"}
	other := entity.Must(entity.Open(nil, entity.Config{Table: "t"}))
	elsewhere := entity.Must(entity.New[Plain](other))
	for name, loads := range map[string][]entity.GetOp{
		"nil load":       {nil},
		"nil pointer":    {b.plain.Op().GetInto(nil)},
		"no key":         {b.plain.Op().GetInto(&Plain{})},
		"twice":          {b.plain.Op().GetInto(&p), b.plain.Op().GetInto(&again)},
		"another handle": {elsewhere.Op().GetInto(&p)},
		"too many":       make([]entity.GetOp, 101),
	} {
		var input *entity.InputError
		require.ErrorAs(t, b.db.TransactGet(t.Context(), loads...), &input, name)
	}
	require.Empty(t, b.faults.Requests())
}

func TestAbsent_InATransaction(t *testing.T) {
	b := newBench(t, 0)
	ctx := t.Context()
	require.NoError(t, b.db.Transact(ctx, b.plain.Op().CheckNotExists(Plain{ID: "x"}), b.ver.Op().Create(Counted{ID: "v"})))
	_, err := b.other.Create(ctx, Plain{ID: "x"})
	require.NoError(t, err)
	check := b.plain.Op().CheckNotExists(Plain{ID: "x"})
	err = b.db.Transact(ctx, check, b.ver.Op().Create(Counted{ID: "w"}))
	require.ErrorIs(t, entity.FailureOf(err, check), entity.ErrExists)
	require.ErrorIs(t, b.db.Transact(ctx, check), entity.ErrExists, "alone it is a transaction of one")
	_, err = b.ver.Get(ctx, Counted{ID: "w"}, entity.Consistent())
	require.ErrorIs(t, err, entity.ErrNotFound)
}
