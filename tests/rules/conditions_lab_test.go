package rules_test

import (
	"testing"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

// now is when the clock of a bench stands still.
var now = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func standing(t *testing.T) *dbtest.Bench {
	t.Helper()
	b := dbtest.Open(t)
	b.Clock.Set(now, 0)
	return b
}

func declare[T any](b *dbtest.Bench) *entity.Store[T] {
	b.T.Helper()
	s := dbtest.Declare[T](b.T, b.DB)
	b.CreateTables()
	return s
}
