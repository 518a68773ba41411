package entity_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestInput_ClosedContextSendsNothing(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, context.Canceled)
		require.False(t, entity.IsAmbiguous(err))
		require.Empty(t, l.sent())
	}
	_, err := s.Create(ctx, key)
	refused(err)
	_, err = s.Get(ctx, key)
	refused(err)
	_, err = s.Update(ctx, key, entity.Set(&p.Note, "x"))
	refused(err)
	_, err = s.Update(ctx, key, entity.Set(&p.Team, "x"))
	refused(err)
	_, _, err = s.Upsert(ctx, key)
	refused(err)
	refused(s.Delete(ctx, key))
	_, err = s.Query(key).Collect(ctx)
	refused(err)
	_, err = s.Query(key).Count(ctx)
	refused(err)
	refused(l.db.Transact(ctx, s.Op().CheckExists(key)))
	refused(l.db.Transact(ctx, s.Op().Create(key), s.Op().Update(Profile{ID: "b"}, entity.Set(&p.Team, "x"))))
	require.Empty(t, l.everything(t))
}

func TestInput_WithoutAClientEveryVerbIsErrNoClient(t *testing.T) {
	t.Parallel()
	db := paper(t)
	s := declare[Profile](t, db)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	refused := func(err error) {
		t.Helper()
		require.ErrorIs(t, err, entity.ErrNoClient)
	}
	_, err := s.Create(t.Context(), key)
	refused(err)
	_, err = s.Get(t.Context(), key)
	refused(err)
	_, err = s.Update(t.Context(), key, entity.Set(&p.Note, "x"))
	refused(err)
	_, err = s.Update(t.Context(), key, entity.Set(&p.Team, "x"))
	refused(err)
	_, _, err = s.Upsert(t.Context(), key)
	refused(err)
	refused(s.Delete(t.Context(), key))
	_, err = s.Query(key).Collect(t.Context())
	refused(err)
	_, err = s.Query(key).First(t.Context())
	refused(err)
	refused(db.Transact(t.Context(), s.Op().Create(key)))
	refused(db.Transact(t.Context(), s.Op().Create(key), s.Op().CheckExists(Profile{ID: "b"})))
	refused(db.CreateTables(t.Context()))
}
