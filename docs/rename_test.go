package docs_test

import (
	"cmp"
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/migrate"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// The structs of a rolling rename, as evolution.md describes it.

type writer0 struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{name}" sk:"$#{id}"`

	ID   string `dynamodbav:"id"`
	Name string `dynamodbav:"name,omitempty"`
}

type writer1 struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$"`
	_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{name}" sk:"$#{id}"`

	ID       string `dynamodbav:"id"`
	OldName  string `dynamodbav:"name,omitempty"`
	FullName string `dynamodbav:"fullName,omitempty"`
}

type writer2 struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$" reads:"2"`
	_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{fullName}" sk:"$#{id}"`

	ID       string `dynamodbav:"id"`
	OldName  string `dynamodbav:"name,omitempty"`
	FullName string `dynamodbav:"fullName,omitempty"`
}

type writer3 struct {
	_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$" payload:"2"`
	_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{fullName}" sk:"$#{id}"`

	ID       string `dynamodbav:"id"`
	FullName string `dynamodbav:"fullName,omitempty"`
}

// program is what each of the programs does with the name.
type program struct {
	get  func(ctx context.Context, id string) (string, error)
	set  func(ctx context.Context, id, name string) error
	list func(ctx context.Context, name string) (ids []string, err error) // of the index
}

// listed returns a function that lists the writers of a name in the index.
func listed[W any](s *entity.Store[W], key func(name string) W, id func(W) string) func(context.Context, string) ([]string, error) {
	byName := entity.Must(s.Index("byName"))
	return func(ctx context.Context, name string) (ids []string, err error) {
		found, err := byName.Query(key(name)).Collect(ctx)
		for _, w := range found {
			ids = append(ids, id(w))
		}
		return ids, err
	}
}

// TestRollingRename_NoProgramFails runs each program together with the next one.
func TestRollingRename_NoProgramFails(t *testing.T) {
	t.Parallel()
	b := dbtest.Open(t)
	s0, s1, s2 := dbtest.Declare[writer0](t, b.DB), dbtest.Declare[writer1](t, b.Open(b.Raw)), dbtest.Declare[writer2](t, b.Open(b.Raw))
	s3 := dbtest.Declare[writer3](t, b.Open(b.Raw), entity.Upgrade(1, func(w writer2) (writer3, error) {
		return writer3{ID: w.ID, FullName: cmp.Or(w.FullName, w.OldName)}, nil
	}))
	s4 := dbtest.Declare[writer3](t, b.Open(b.Raw))
	b.CreateTables()
	f0, f1, f2, f3 := entity.Fields[writer0](), entity.Fields[writer1](), entity.Fields[writer2](), entity.Fields[writer3]()
	later := func(s *entity.Store[writer3]) program {
		return program{
			func(ctx context.Context, id string) (string, error) {
				w, err := s.Get(ctx, writer3{ID: id})
				return w.FullName, err
			},
			func(ctx context.Context, id, name string) error {
				_, err := s.Update(ctx, writer3{ID: id}, entity.Set(&f3.FullName, name))
				return err
			},
			listed(s, func(name string) writer3 { return writer3{FullName: name} }, func(w writer3) string { return w.ID }),
		}
	}
	programs := []program{
		{
			func(ctx context.Context, id string) (string, error) {
				w, err := s0.Get(ctx, writer0{ID: id})
				return w.Name, err
			},
			func(ctx context.Context, id, name string) error {
				_, err := s0.Update(ctx, writer0{ID: id}, entity.Set(&f0.Name, name))
				return err
			},
			listed(s0, func(name string) writer0 { return writer0{Name: name} }, func(w writer0) string { return w.ID }),
		},
		{
			func(ctx context.Context, id string) (string, error) {
				w, err := s1.Get(ctx, writer1{ID: id})
				return cmp.Or(w.FullName, w.OldName), err
			},
			func(ctx context.Context, id, name string) error {
				_, err := s1.Update(ctx, writer1{ID: id}, entity.Set(&f1.OldName, name), entity.Remove(&f1.FullName))
				return err
			},
			listed(s1, func(name string) writer1 { return writer1{OldName: name} }, func(w writer1) string { return w.ID }),
		},
		{
			func(ctx context.Context, id string) (string, error) {
				w, err := s2.Get(ctx, writer2{ID: id})
				return cmp.Or(w.FullName, w.OldName), err
			},
			func(ctx context.Context, id, name string) error {
				_, err := s2.Update(ctx, writer2{ID: id}, entity.Set(&f2.FullName, name), entity.Remove(&f2.OldName))
				return err
			},
			listed(s2, func(name string) writer2 { return writer2{FullName: name} }, func(w writer2) string { return w.ID }),
		},
		later(s3),
		later(s4),
	}
	b.OK(s0.Create(b.Ctx, writer0{ID: "a", Name: "Ann"}))
	b.OK(s0.Create(b.Ctx, writer0{ID: "untouched", Name: "Una"}))
	before, last := "", "Ann"
	for i := range len(programs) - 1 {
		if i == 3 { // the upgrade is dropped
			b.OK(migrate.Rewrite(b.Ctx, s3))
		}
		for n, writes := range []program{programs[i], programs[i+1], programs[i]} {
			name := string(rune('A'+i)) + string(rune('0'+n))
			require.NoError(t, writes.set(b.Ctx, "a", name), "program %d writes", i+n%2)
			before, last = last, name
			for k, reads := range []program{programs[i], programs[i+1]} {
				got, err := reads.get(b.Ctx, "a")
				require.NoError(t, err, "program %d reads", i+k)
				require.Equal(t, name, got, "program %d reads", i+k)
				for of, want := range map[string][]string{name: {"a"}, before: nil, "Una": {"untouched"}} {
					ids, err := reads.list(b.Ctx, of)
					require.NoError(t, err, "program %d lists", i+k)
					require.Equal(t, want, ids, "program %d lists %s", i+k, of)
				}
			}
		}
	}
	got, err := programs[4].get(b.Ctx, "untouched")
	require.NoError(t, err)
	require.Equal(t, "Una", got)
	report, err := migrate.Rewrite(b.Ctx, s3)
	require.NoError(t, err)
	require.Zero(t, report.Rewritten)

	// A program of the first form, started by mistake, neither reads an empty name nor undoes the rename.
	var ahead *entity.UpgradeError
	_, err = programs[0].get(b.Ctx, "a")
	require.ErrorAs(t, err, &ahead)
	require.ErrorAs(t, programs[0].set(b.Ctx, "a", "Zoe"), &ahead)
}

// An old struct whose index has another key is refused: its programs would not find the items of this one.
func TestRollingRename_AnIndexWithAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	type moved struct {
		_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$" payload:"2"`
		_ entity.GSI `name:"byName" index:"gsi1" pk:"$#{fullName|lower}" sk:"$#{id}"`

		ID       string `dynamodbav:"id"`
		FullName string `dynamodbav:"fullName,omitempty"`
	}
	type without struct {
		_ entity.Key `name:"Writer" pk:"$#{id}" sk:"$" payload:"2"`

		ID       string `dynamodbav:"id"`
		FullName string `dynamodbav:"fullName,omitempty"`
	}
	db := entity.Must(entity.Open(nil, entity.Config{Table: "app"}))
	_, err := entity.New[moved](db, entity.Upgrade(1, func(w writer2) (moved, error) { return moved{ID: w.ID}, nil }))
	require.ErrorContains(t, err, "payload version 1 has the index gsi1 with a key that today's struct does not write")
	var mistake *entity.InputError
	require.ErrorAs(t, err, &mistake)
	require.Equal(t, "EDD-9172", mistake.Code)
	_, err = entity.New[without](db, entity.Upgrade(1, func(w writer2) (without, error) { return without{ID: w.ID}, nil }))
	require.ErrorContains(t, err, "the index gsi1")
	_, err = entity.New[writer3](db, entity.Upgrade(1, func(w writer2) (writer3, error) { return writer3{ID: w.ID}, nil }))
	require.NoError(t, err)
}
