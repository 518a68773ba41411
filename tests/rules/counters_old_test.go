package rules_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestReturning_GivesTheItemBeforeTheWriteInOneRequest(t *testing.T) {
	b, p := open[page](t), entity.Fields[page]()
	ctx := t.Context()
	old := page{ID: "stale", Title: "stale"}
	first, created, err := b.Upsert(ctx, page{ID: "x", Title: "1"}, entity.Add(&p.Hits, 1), entity.Returning(&old))
	require.NoError(t, err)
	require.True(t, created)
	require.Equal(t, page{}, old, "there was none")
	require.Equal(t, []string{"UpdateItem"}, b.Operations())

	check := func(was, is page, requests ...string) page {
		t.Helper()
		require.Equal(t, requests, b.Operations())
		require.Equal(t, was, old)
		read := entity.Must(b.Get(ctx, page{ID: "x"}, entity.Consistent()))
		require.Equal(t, read, is, "what is computed is what is stored")
		b.Operations()
		return is
	}
	got, err := b.Update(ctx, page{ID: "x"}, entity.Add(&p.Hits, 4), entity.Set(&p.Title, "2"), entity.ListAppend(&p.Log, "a"), entity.Returning(&old))
	require.NoError(t, err)
	last := check(first, got, "UpdateItem")
	require.Equal(t, 5, got.Hits)

	got, _, err = b.Upsert(ctx, page{ID: "x", Title: "3"}, entity.ListPrepend(&p.Log, "b"), entity.Returning(&old))
	require.NoError(t, err)
	last = check(last, got, "UpdateItem")
	require.Equal(t, []string{"b", "a"}, got.Log)

	got, err = b.Put(ctx, page{ID: "x", Hits: 9}, entity.Returning(&old))
	require.NoError(t, err)
	last = check(last, got, "UpdateItem")
	require.Equal(t, page{ID: "x", Hits: 9, Ends: got.Ends, Made: got.Made}, got)

	got, err = b.Modify(ctx, page{ID: "x"}, func(v *page) error { v.Title = "4"; return nil }, entity.Returning(&old))
	require.NoError(t, err)
	last = check(last, got, "GetItem", "PutItem")

	got, err = b.Modify(ctx, page{ID: "x"}, func(*page) error { return nil }, entity.Returning(&old))
	require.NoError(t, err)
	last = check(last, got, "GetItem")

	require.NoError(t, b.Delete(ctx, page{ID: "x"}, entity.Returning(&old)))
	require.Equal(t, []string{"DeleteItem"}, b.Operations())
	require.Equal(t, last, old)
	require.Nil(t, b.stored(t))

	err = b.Delete(ctx, page{ID: "x"}, entity.Returning(&old))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.Equal(t, last, old, "a write that failed gives nothing")
	b.OK(b.Put(ctx, page{ID: "x"}, entity.Returning(&old)))
	require.Equal(t, page{}, old)
}

func TestReturning_IsRefusedWhereThereIsNothingToReturn(t *testing.T) {
	b := open[page](t)
	var input *entity.InputError
	var other rank
	require.ErrorAs(t, b.Delete(t.Context(), page{ID: "x"}, entity.Returning(&other)), &input, "of another type")
	var none *page
	require.ErrorAs(t, b.Delete(t.Context(), page{ID: "x"}, entity.Returning(none)), &input)
	require.Empty(t, b.Operations())
}
