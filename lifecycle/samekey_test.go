package lifecycle_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

// beforeWrite runs move before the first transaction of a call is sent.
func beforeWrite(wire *faults.Transport, move func()) {
	n := 0
	wire.Inject(func(r faults.Request) faults.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				move()
			}
		}
		return faults.None
	})
}

// lived is an item in the bin, and a move that restores, changes and deletes it again while the clock stands still: the
// copy then has the same key as before and another content.
func lived(t *testing.T) (h *hourglass, s *entity.Store[Reserved], move func()) {
	t.Helper()
	h, s = turn[Reserved](t)
	others, theirs := beside[Reserved](t, h)
	ctx := t.Context()
	_, err := others.Create(ctx, Reserved{ID: "r", Email: "x"})
	require.NoError(t, err)
	require.NoError(t, others.Delete(ctx, Reserved{ID: "r"}))
	first, err := theirs.Get(ctx, Reserved{ID: "r"})
	require.NoError(t, err)
	return h, s, func() {
		_, err := theirs.Restore(ctx, Reserved{ID: "r"})
		require.NoError(t, err)
		_, err = others.Update(ctx, Reserved{ID: "r"}, entity.Set(&entity.Fields[Reserved]().Email, "y"))
		require.NoError(t, err)
		require.NoError(t, others.Delete(ctx, Reserved{ID: "r"}))
		second, err := theirs.Get(ctx, Reserved{ID: "r"})
		require.NoError(t, err)
		require.Equal(t, first.DeletedAt, second.DeletedAt)
	}
}

// A copy under the key of the one that was read has a value that a purge of the latter would leave claimed for ever.
func TestPurge_RemovesACopyOnlyAsItWasRead(t *testing.T) {
	t.Parallel()
	h, s, move := lived(t)
	beforeWrite(h.wire, move)
	require.NoError(t, s.Purge(t.Context(), Reserved{ID: "r"}))
	require.Empty(t, h.items(t))
}

// The content of a copy that is gone must not come back over a later one.
func TestRestore_OfAnotherCopyUnderTheSameKey(t *testing.T) {
	t.Parallel()
	for name, restore := range map[string]func(context.Context, *lifecycle.Deleted[Reserved]) (Reserved, error){
		"the newest": func(ctx context.Context, bin *lifecycle.Deleted[Reserved]) (Reserved, error) {
			return bin.Restore(ctx, Reserved{ID: "r"})
		},
		"a chosen one": func(ctx context.Context, bin *lifecycle.Deleted[Reserved]) (Reserved, error) {
			chosen, err := bin.Get(ctx, Reserved{ID: "r"})
			if err != nil {
				return Reserved{}, err
			}
			return bin.RestoreCopy(ctx, chosen)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, s, move := lived(t)
			bin, err := lifecycle.Of(s)
			require.NoError(t, err)
			beforeWrite(h.wire, move)
			got, err := restore(t.Context(), bin)
			require.NoError(t, err)
			require.Equal(t, "y", got.Email)
			require.Len(t, h.items(t), 2, "the item and its sentinel")
		})
	}
}
