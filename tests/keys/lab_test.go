// Package keys_test holds tests of keys, cursors and secrets as a program meets them, against a local database.
package keys_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/localdb"
	"github.com/dynastrata/dynastrata/localdb/faults"
)

var noon = time.Date(2026, 4, 22, 12, 0, 0, 123456789, time.UTC)

// lab is one test's database, whose requests are recorded.
type lab struct {
	cfg  entity.Config
	raw  *dynamodb.Client
	wire *faults.Transport
	db   *entity.DB
}

func newLab(t *testing.T, configure ...func(*entity.Config)) *lab {
	t.Helper()
	raw, table := localdb.Test(t)
	l := &lab{raw: raw, cfg: entity.Config{Table: table, Clock: func() time.Time { return noon }}}
	l.wire = faults.New(raw.Options().HTTPClient)
	for _, f := range configure {
		f(&l.cfg)
	}
	l.db = l.open(t, l.cfg)
	return l
}

func (l *lab) open(t *testing.T, cfg entity.Config) *entity.DB {
	t.Helper()
	db, err := entity.Open(dynamodb.New(l.raw.Options(), func(o *dynamodb.Options) { o.HTTPClient = l.wire }), cfg)
	require.NoError(t, err)
	return db
}

// sent returns the operations requested since the last call.
func (l *lab) sent() []string {
	var names []string
	for _, r := range l.wire.Requests() {
		names = append(names, r.Operation)
	}
	l.wire.Reset()
	return names
}

// paper is a DB without a database, for plans and mistakes.
func paper(t *testing.T, configure ...func(*entity.Config)) *entity.DB {
	t.Helper()
	cfg := entity.Config{Table: "app", Clock: func() time.Time { return noon }, NewID: func() string { return "w-1" }}
	for _, f := range configure {
		f(&cfg)
	}
	db, err := entity.Open(nil, cfg)
	require.NoError(t, err)
	return db
}

func declare[T any](t *testing.T, db *entity.DB, opts ...entity.StoreOption) *entity.Store[T] {
	t.Helper()
	s, err := entity.New[T](db, opts...)
	require.NoError(t, err)
	return s
}

func requireInput(t *testing.T, err error, code, field string) {
	t.Helper()
	var e *entity.InputError
	require.ErrorAs(t, err, &e)
	require.Equal(t, []string{code, field}, []string{e.Code, e.Field}, "%v", err)
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
