package entity_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
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

func shared(c *entity.Config) { c.Interop, c.TimePrecision = true, time.Millisecond }

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
			return dbtest.ErrorOf(s.Create(ctx, v))
		}, entity.ErrExists},
		"Put": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Put(ctx, v))
		}, nil},
		"Put exactly": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Put(ctx, v, entity.Idempotent()))
		}, nil},
		"Upsert": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Upsert(ctx, v))
		}, nil},
		"Upsert that reads": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			v.Rank = 3
			_, _, err := s.Upsert(ctx, v)
			return err
		}, nil},
		"Update": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Update(ctx, v, entity.Set(&f.Title, "x")))
		}, nil},
		"Update that reads": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Update(ctx, v, entity.Set(&f.Kind, "x")))
		}, nil},
		"Modify": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Modify(ctx, v, func(v *Folder) error { v.Title = "x"; return nil }))
		}, nil},
		"Modify of nothing": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Modify(ctx, v, func(*Folder) error { return nil }))
		}, nil},
		"Touch": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Touch(ctx, v, &f.Seen, time.Hour))
		}, nil},
		"Delete": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error { return s.Delete(ctx, v) }, nil},
		"Purge":  {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error { return s.Purge(ctx, v) }, nil},
		"CheckExists": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.DB.Transact(ctx, s.Op().CheckExists(v))
		}, nil},
		"CheckNotExists": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.DB.Transact(ctx, s.Op().CheckNotExists(v))
		}, entity.ErrExists},
		"Transact": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.DB.Transact(ctx, s.Op().Put(Folder{ID: "other", Path: "p", N: 1}), s.Op().Update(v, entity.Set(&f.Title, "x")))
		}, nil},
		"TransactWithToken": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.DB.TransactWithToken(ctx, entity.Token{ID: l.Config.NewID(), At: dawn}, s.Op().Delete(v))
		}, nil},
		"Get": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.Get(ctx, v))
		}, nil},
		"GetMany": {func(ctx context.Context, _ *lab, s *entity.Store[Folder], v Folder) error {
			return dbtest.ErrorOf(s.GetMany(ctx, []Folder{{ID: "other", Path: "p", N: 1}, v}))
		}, nil},
		"TransactGet": {func(ctx context.Context, l *lab, s *entity.Store[Folder], v Folder) error {
			return l.DB.TransactGet(ctx, s.Op().GetInto(&v))
		}, nil},
	}
}

func TestKeyCase_NoVerbActsOnAnItemWhoseKeyDiffersInCase(t *testing.T) {
	t.Parallel()
	l, s := open[Folder](t, shared)
	_, err := s.Create(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 1, Owner: "O", Kind: "k", Rank: 2, Title: "first"})
	require.NoError(t, err)
	before := l.everything()
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
			require.Equal(t, before, l.everything(), name)
		}
	}
}

func TestKeyCase_TheStoredSpellingWorksWithEveryVerb(t *testing.T) {
	t.Parallel()
	l, s := open[Folder](t, shared)
	v := Folder{ID: "C-1", Path: "A/b", N: 1, Owner: "O", Kind: "k", Rank: 2, Title: "first"}
	for name, verb := range caseVerbs() {
		l.Clock.Move(24 * time.Hour)
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
}

func TestKeyCase_MissingItemsAreNotFoundAndNewOnesKeepTheirCase(t *testing.T) {
	t.Parallel()
	l, s := open[Folder](t, shared)
	f := entity.Fields[Folder]()
	_, err := s.Update(t.Context(), Folder{ID: "No", Path: "P", N: 1}, entity.Set(&f.Title, "x"))
	require.ErrorIs(t, err, entity.ErrNotFound)
	require.NotErrorIs(t, err, entity.ErrKeyCase)
	_, created, err := s.Upsert(t.Context(), Folder{ID: "C-1", Path: "A/b", N: 7, Owner: "Own", Kind: "K", Rank: 3})
	require.NoError(t, err)
	require.True(t, created)
	it := l.stored(keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_a/b#n_0000000000000007"))
	require.Equal(t, `S"C-1"`, it["id"])
	require.Equal(t, `S"$app#v1#folder#owner_own"`, it["gsi1pk"])
	byOwner := entity.Must(s.Index("byOwner"))
	for _, owner := range []string{"Own", "oWN"} {
		got := entity.Must(byOwner.Query(Folder{Owner: owner}, entity.BeginsWith(&f.Kind, "k")).Collect(t.Context()))
		require.Len(t, got, 1)
		require.Equal(t, "Own", got[0].Owner)
	}
	_, err = byOwner.Query(Folder{Owner: "own"}, entity.Lt(&f.Kind, "z")).Collect(t.Context())
	dbtest.RequireInput(t, err, "EDD-9108", "Kind")
}

// An item that lacks a key part, as an upsert of effect-dynamodb leaves it, does not lock anybody out.
func TestKeyCase_AnItemWithoutItsKeyPartsCanBeCompleted(t *testing.T) {
	t.Parallel()
	l, s := open[Folder](t, shared)
	v := Folder{ID: "C-1", Path: "p", N: 1, Title: "x"}
	_, err := s.Create(t.Context(), v)
	require.NoError(t, err)
	for _, it := range l.everything() {
		require.Equal(t, `S"C-1"`, it["id"])
	}
	_, err = s.Put(t.Context(), v)
	require.NoError(t, err)
	key := keys("pk", "$app#v1#folder#id_c-1", "sk", "$app#v1#folder#path_p#n_0000000000000001")
	bare := l.values(key)
	delete(bare, "id")
	l.PutItem(bare)
	got, _, err := s.Upsert(t.Context(), v)
	require.NoError(t, err)
	require.Equal(t, v, got)
	require.Equal(t, `S"C-1"`, l.stored(key)["id"])
}
