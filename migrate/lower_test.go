package migrate_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tables"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
)

// Exact and Folded are one entity: case counts for the first.
type Exact struct {
	_     entity.Key        `name:"Reader" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"email"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

type Folded struct {
	_     entity.Key        `name:"Reader" pk:"$#{id}" sk:"$"`
	_     unique.Constraint `name:"email" fields:"{email|lower}"`
	ID    string            `dynamodbav:"id"`
	Email string            `dynamodbav:"email,omitempty"`
}

// Where case has not counted before, RepairUnique replaces the sentinels, and reports two spellings of one value as two items with it.
func TestRepair_OfAConstraintWhoseCaseNoLongerCounts(t *testing.T) {
	t.Parallel()
	b := newLab(t)
	old := entity.Must(entity.New[Exact](b.Open(b.Raw)))
	s := entity.Must(entity.New[Folded](b.DB))
	require.NoError(t, tables.Create(b.Ctx, b.DB))
	l := entity.Must(unique.Of(s, "email"))
	for id, email := range map[string]string{"a": "Ada@X", "b": "bea@x", "c": "Cleo@x", "d": "CLEO@X"} {
		b.OK(old.Create(b.Ctx, Exact{ID: id, Email: email}))
	}
	_, err := l.Find(b.Ctx, Folded{Email: "Ada@X"})
	require.ErrorIs(t, err, entity.ErrNotFound)
	repair, err := migrate.RepairUnique(b.Ctx, l)
	require.NoError(t, err)
	require.Len(t, repair.Report.Findings, 5, "%v", repair.Report.Findings) // three orphans, a missing claim, a conflict
	left, err := migrate.VerifyUnique(b.Ctx, l)
	require.NoError(t, err)
	require.Len(t, left.Findings, 1)
	require.Equal(t, migrate.Conflict, left.Findings[0].Kind)
	require.Len(t, left.Findings[0].Owners, 2)
	found, err := l.Find(b.Ctx, Folded{Email: "ADA@x"})
	require.NoError(t, err)
	require.Equal(t, Folded{ID: "a", Email: "Ada@X"}, found)

	require.NoError(t, s.Delete(b.Ctx, Folded{ID: "d"}))
	b.OK(migrate.RepairUnique(b.Ctx, l))
	b.OK(s.Update(b.Ctx, Folded{ID: "c"}, entity.Set(&entity.Fields[Folded]().Email, "cleo@x")))
	left, err = migrate.VerifyUnique(b.Ctx, l)
	require.NoError(t, err)
	require.Empty(t, left.Findings)
	require.Equal(t, 3, left.Sentinels)
	require.NotNil(t, b.Sentinel("cleo@x"))
	require.Error(t, dbtest.ErrorOf(s.Create(b.Ctx, Folded{ID: "e", Email: "BEA@X"})))
}
