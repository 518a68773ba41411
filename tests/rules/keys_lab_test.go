package rules_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

var noon = time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC)

// paper is a DB without a database, for plans and mistakes.
func onPaper(t *testing.T, configure ...func(*entity.Config)) *entity.DB {
	t.Helper()
	cfg := entity.Config{Table: "app", Clock: func() time.Time { return noon }, NewID: func() string { return "w-1" }}
	for _, f := range configure {
		f(&cfg)
	}
	db := entity.Must(entity.Open(nil, cfg))
	return db
}

// requireSchema checks that err is that one mistake in a declaration.
func requireSchema(t *testing.T, err error, code, field string) {
	t.Helper()
	joined, ok := err.(interface{ Unwrap() []error })
	require.True(t, ok, "%v", err)
	require.Len(t, joined.Unwrap(), 1, "%v", err)
	var e *entity.SchemaError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{code, field}, []string{e.Code, e.Field}, "%v", err)
}

func requireCursor(t *testing.T, err error, reason entity.CursorReason, what string) {
	t.Helper()
	var e *entity.CursorError
	require.ErrorIs(t, err, entity.ErrInvalidCursor, what)
	require.ErrorAs(t, err, &e, what)
	require.Equal(t, reason, e.Reason, "%s: %v", what, err)
}
