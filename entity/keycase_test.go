package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// Folder is an entity whose keys are in lower case.
type Folder struct {
	_ entity.Key `name:"Folder" pk:"$#id_{id}" sk:"$#path_{path}#n_{n}"`
	_ entity.GSI `name:"byOwner" index:"gsi1" pk:"$#owner_{owner}" sk:"$#kind_{kind}#rank_{rank}"`

	ID    string    `dynamodbav:"id"`
	Path  string    `dynamodbav:"path"`
	N     int       `dynamodbav:"n"`
	Owner string    `dynamodbav:"owner,omitempty"`
	Kind  string    `dynamodbav:"kind,omitempty"`
	Rank  int       `dynamodbav:"rank,omitempty"`
	Title string    `dynamodbav:"title,omitempty"`
	Seen  time.Time `dynamodbav:"seen,omitempty"`
}

func lowerCase(c *entity.Config) { c.Namespace.Casing = entity.LowerCase }

func shared(c *entity.Config) {
	c.Interop, c.TimePrecision = true, time.Millisecond
	lowerCase(c)
}

// bothProfiles runs a test with lower-case keys alone, and with shared tables.
func bothProfiles(t *testing.T, f func(t *testing.T, l *lab, s *entity.Store[Folder])) {
	t.Parallel()
	for name, profile := range map[string]func(*entity.Config){"lower case": lowerCase, "interop": shared} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, s := open[Folder](t, profile)
			f(t, l, s)
		})
	}
}

// caseVerbs are the verbs of one item, and the class that their errors have in addition to ErrKeyCase.
func caseVerbs() map[string]struct {
	run  func(context.Context, *lab, *entity.Store[Folder], Folder) error
	also error
} {
	f := entity.Fields[Folder]()
	type verb = struct {
		run  func(context.Context, *lab, *entity.Store[Folder], Folder) error
		also error
	}
	return map[string]verb{
		"Create": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Create(ctx, v)
			return err
		}, entity.ErrExists},
		"Put": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Put(ctx, v)
			return err
		}, nil},
		"Put exactly": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Put(ctx, v, entity.Idempotent())
			return err
		}, nil},
		"Upsert": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, _, err := s.Upsert(ctx, v)
			return err
		}, nil},
		"Upsert that reads": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			v.Rank = 3
			_, _, err := s.Upsert(ctx, v)
			return err
		}, nil},
		"Update": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Update(ctx, v, entity.Set(&f.Title, "x"))
			return err
		}, nil},
		"Update that reads": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Update(ctx, v, entity.Set(&f.Kind, "x"))
			return err
		}, nil},
		"Modify": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Modify(ctx, v, func(v *Folder) error { v.Title = "x"; return nil })
			return err
		}, nil},
		"Modify of nothing": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Modify(ctx, v, func(*Folder) error { return nil })
			return err
		}, nil},
		"Touch": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Touch(ctx, v, &f.Seen, time.Hour)
			return err
		}, nil},
		"Delete": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error { return s.Delete(ctx, v) }, nil},
		"Purge":  {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error { return s.Purge(ctx, v) }, nil},
		"CheckExists": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.db.Transact(ctx, s.Op().CheckExists(v))
		}, nil},
		"CheckNotExists": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.db.Transact(ctx, s.Op().CheckNotExists(v))
		}, entity.ErrExists},
		"Transact": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.db.Transact(ctx, s.Op().Put(Folder{ID: "other", Path: "p", N: 1}), s.Op().Update(v, entity.Set(&f.Title, "x")))
		}, nil},
		"TransactWithToken": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.db.TransactWithToken(ctx, entity.Token{ID: l.ids.next(), At: dawn}, s.Op().Delete(v))
		}, nil},
		"Get": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.Get(ctx, v)
			return err
		}, nil},
		"GetMany": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			_, err := s.GetMany(ctx, []Folder{{ID: "other", Path: "p", N: 1}, v})
			return err
		}, nil},
		"TransactGet": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.db.TransactGet(ctx, s.Op().GetInto(&v))
		}, nil},
	}
}

func TestKeyCase_NoVerbActsOnAnItemWhoseKeyDiffersInCase(t *testing.T) {
	bothProfiles(t, func(t *testing.T, l *lab, s *entity.Store[Folder]) {
		_, err := s.Create(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 1, Owner: "O", Kind: "k", Rank: 2, Title: "first"})
		require.NoError(t, err)
		before := l.everything(t)
		for name, verb := range caseVerbs() {
			for attr, v := range map[string]Folder{
				"id": {ID: "c-1", Path: "A/b", N: 1, Title: "second"}, "path": {ID: "C-1", Path: "a/B", N: 1, Title: "second"},
			} {
				err := verb.run(t.Context(), l, s, v)
				require.ErrorIs(t, err, entity.ErrKeyCase, name)
				var differs *entity.KeyCaseError
				require.ErrorAs(t, err, &differs, name)
				require.Equal(t, attr, differs.Attr, name)
				require.NotContains(t, differs.Error(), v.ID, "values stay out of messages")
				if verb.also != nil {
					require.ErrorIs(t, err, verb.also, name)
				}
				require.False(t, entity.IsAmbiguous(err), name)
				require.Equal(t, before, l.everything(t), name)
			}
		}
	})
}

func TestKeyCase_TheStoredSpellingWorksWithEveryVerb(t *testing.T) {
	bothProfiles(t, func(t *testing.T, l *lab, s *entity.Store[Folder]) {
		v := Folder{ID: "C-1", Path: "A/b", N: 1, Owner: "O", Kind: "k", Rank: 2, Title: "first"}
		for name, verb := range caseVerbs() {
			l.clock.move(24 * time.Hour)
			_, err := s.Put(t.Context(), v)
			require.NoError(t, err)
			_, err = s.Put(t.Context(), Folder{ID: "other", Path: "p", N: 1})
			require.NoError(t, err)
			err = verb.run(t.Context(), l, s, v)
			if verb.also != nil {
				require.ErrorIs(t, err, verb.also, name)
				require.NotErrorIs(t, err, entity.ErrKeyCase, name)
				continue
			}
			require.NoError(t, err, name)
		}
	})
}

func TestKeyCase_MissingItemsAreNotFoundAndNewOnesKeepTheirCase(t *testing.T) {
	bothProfiles(t, func(t *testing.T, l *lab, s *entity.Store[Folder]) {
		f := entity.Fields[Folder]()
		_, err := s.Update(t.Context(), Folder{ID: "No", Path: "P", N: 1}, entity.Set(&f.Title, "x"))
		require.ErrorIs(t, err, entity.ErrNotFound)
		require.NotErrorIs(t, err, entity.ErrKeyCase)
		_, created, err := s.Upsert(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 7, Owner: "Own", Kind: "K", Rank: 3})
		require.NoError(t, err)
		require.True(t, created)
		digits := map[bool]string{true: "0000000000000007", false: "0000000000000000007"}[l.cfg.Interop]
		it := l.stored(t, keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_a/b#n_"+digits))
		require.Equal(t, `S"C-1"`, it["id"])
		require.Equal(t, `S"$app#v1#folder#owner_own"`, it["gsi1pk"])
		byOwner, err := s.Index("byOwner")
		require.NoError(t, err)
		for _, owner := range []string{"Own", "oWN"} {
			got, err := byOwner.Query(Folder{Owner: owner}, entity.BeginsWith(&f.Kind, "k")).Collect(t.Context())
			require.NoError(t, err)
			require.Len(t, got, 1)
			require.Equal(t, "Own", got[0].Owner)
		}
		_, err = byOwner.Query(Folder{Owner: "own"}, entity.Lt(&f.Kind, "z")).Collect(t.Context())
		requireInput(t, err, "EDD-9108", "Kind")
	})
}

// An item that lacks a key part, as an upsert of effect-dynamodb leaves it, does not lock anybody out.
func TestKeyCase_AnItemWithoutItsKeyPartsCanBeCompleted(t *testing.T) {
	bothProfiles(t, func(t *testing.T, l *lab, s *entity.Store[Folder]) {
		v := Folder{ID: "C-1", Path: "p", N: 1, Title: "x"}
		_, err := s.Create(t.Context(), v)
		require.NoError(t, err)
		for _, it := range l.everything(t) {
			require.Equal(t, `S"C-1"`, it["id"])
		}
		_, err = s.Put(t.Context(), v)
		require.NoError(t, err)
		digits := map[bool]string{true: "0000000000000001", false: "0000000000000000001"}[l.cfg.Interop]
		key := keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_p#n_"+digits)
		bare := l.values(t, key)
		delete(bare, "id")
		l.put(t, bare)
		got, _, err := s.Upsert(t.Context(), v)
		require.NoError(t, err)
		require.Equal(t, v, got)
		require.Equal(t, `S"C-1"`, l.stored(t, key)["id"])
	})
}

func TestKeyCase_AReadIsOneRequestAsWithoutLowerCase(t *testing.T) {
	bothProfiles(t, func(t *testing.T, l *lab, s *entity.Store[Folder]) {
		v := Folder{ID: "C-1", Path: "p", N: 1}
		_, err := s.Put(t.Context(), v)
		require.NoError(t, err)
		_, err = s.Get(t.Context(), v)
		require.NoError(t, err)
		require.NoError(t, s.Delete(t.Context(), v))
		require.Equal(t, []string{"UpdateItem", "GetItem", "DeleteItem"}, l.sent())
	})
}
