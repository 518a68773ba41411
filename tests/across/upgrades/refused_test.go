package upgrades_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/lifecycle"
	"github.com/dynastrata/dynastrata/tests/dbtest"
	"github.com/dynastrata/dynastrata/unique"
	"github.com/dynastrata/dynastrata/versioned"
)

type (
	entry1 struct {
		_ entity.Key           `name:"Entry" pk:"$#{id}" sk:"$"`
		_ versioned.Retain     ``
		_ lifecycle.SoftDelete `unique:"reserve"`
		_ unique.Constraint    `name:"mail" fields:"mail"`

		ID      string `dynamodbav:"id"`
		Mail    string `dynamodbav:"mail,omitempty"`
		Version int    `dynamodbav:"version" entity:"version"`
	}
	entry struct {
		_ entity.Key           `name:"Entry" pk:"$#{id}" sk:"$" payload:"2"`
		_ versioned.Retain     ``
		_ lifecycle.SoftDelete `unique:"reserve"`
		_ unique.Constraint    `name:"mail" fields:"mail"`

		ID      string `dynamodbav:"id"`
		Mail    string `dynamodbav:"mail,omitempty"`
		Version int    `dynamodbav:"version" entity:"version"`
	}
)

// An item that a step refuses can be purged, with its claims and all that belongs to it, but not with the claim of another.
func TestUpgrades_PurgeTakesWhatAStepRefuses(t *testing.T) {
	t.Parallel()
	for what, purge := range map[string]func(b *dbtest.Bench, s *entity.Store[entry]) error{
		"purge": func(b *dbtest.Bench, s *entity.Store[entry]) error {
			return errors.Join(s.Purge(b.Ctx, entry{ID: "a"}), s.Purge(b.Ctx, entry{ID: "gone"}))
		},
		"purge all and the copy": func(b *dbtest.Bench, s *entity.Store[entry]) error {
			done, err := s.PurgeAll(b.Ctx, s.Scan(), "")
			require.Equal(t, entity.Erased{Found: 1, Deleted: 1}, done)
			return errors.Join(err, entity.Must(lifecycle.Of(s)).Purge(b.Ctx, entry{ID: "gone"}))
		},
	} {
		for name, damage := range map[string]dbtest.Item{"refused": {}, "of a number as mail": {"mail": dbtest.N("1")}, "of no known version": {"_pv": dbtest.N("0")}} {
			b := dbtest.Open(t)
			now := dbtest.Declare[entry](t, b.DB, entity.Upgrade(1, func(entry1) (entry, error) { return entry{}, errNoName }))
			old := dbtest.Declare[entry1](t, b.Open(b.Raw))
			b.CreateTables()
			for _, id := range []string{"a", "gone"} {
				b.OK(old.Create(b.Ctx, entry1{ID: id, Mail: id + "@x"}))
				b.OK(old.Update(b.Ctx, entry1{ID: id}, entity.Set(&entity.Fields[entry1]().Mail, id+"@y")))
			}
			require.NoError(t, old.Delete(b.Ctx, entry1{ID: "gone"}))
			b.ChangeItem("$app#v1#entry#a", "$app#v1#entry", damage)
			theirs := b.Sentinel("a@y")
			if len(damage) == 0 {
				theirs["_entity_pk"] = dbtest.S("$app#v1#entry#other")
				b.PutItem(theirs)
			} else if damage["mail"] == nil {
				theirs = nil
			}
			before := b.Items()
			_, err := now.DeleteAll(b.Ctx, now.Scan(), "")
			require.Error(t, err, "%s: a copy and a snapshot are made of today's form", name)
			require.Equal(t, before, b.Items(), name)
			require.NoError(t, purge(b, now), "%s, %s", what, name)
			left := b.Items()
			if theirs == nil {
				require.Empty(t, left, "%s, %s", what, name)
			} else {
				require.Equal(t, []dbtest.Item{theirs}, left, "%s, %s", what, name)
			}
		}
	}
}

// An item that a step refuses can be deleted for good if nothing of it is kept.
func TestUpgrades_AHardDeleteTakesWhatAStepRefuses(t *testing.T) {
	t.Parallel()
	f := entity.Fields[author]()
	for what, remove := range map[string]func(l *library) error{
		"delete": func(l *library) error { return l.now.Delete(l.Ctx, author{ID: "a"}) },
		"delete all": func(l *library) error {
			_, err := l.now.DeleteAll(l.Ctx, l.now.Scan(), "")
			return err
		},
		"delete all with a filter": func(l *library) error {
			_, err := l.now.DeleteAll(l.Ctx, l.now.Scan(entity.Filter(entity.Eq(&f.Books, 1))), "")
			return err
		},
		"delete all of an index": func(l *library) error {
			_, err := l.now.DeleteAll(l.Ctx, entity.Must(l.now.Index("byTeam")).Query(author{Team: "red"}), "")
			return err
		},
	} {
		l := open(t)
		l.OK(l.old.Create(l.Ctx, author1{ID: "a", Team: "red", Name: "Plato", Books: 1}))
		require.NoError(t, remove(l), what)
		require.Empty(t, l.Items(), what)
	}
	l := open(t)
	l.OK(l.now.Create(l.Ctx, author{ID: "a", Team: "red", Books: 1}))
	_, err := l.old.DeleteAll(l.Ctx, l.old.Scan(entity.Filter(entity.Eq(&entity.Fields[author1]().Books, 1))), "")
	refusedAhead(t, err, "of a later program")
	require.Len(t, l.Items(), 1)
}
