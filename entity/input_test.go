package entity_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// requireInput checks that err is a mistake in the arguments, with the code and about the field.
func requireInput(t *testing.T, err error, code, field string) {
	t.Helper()
	var in *entity.InputError
	require.ErrorAs(t, err, &in)
	require.Equal(t, code, in.Code, in.Problem)
	require.Equal(t, field, in.Field, in.Problem)
	require.NotEmpty(t, in.Type)
	for _, class := range []error{entity.ErrExists, entity.ErrNotFound, entity.ErrConflict, entity.ErrConditionFailed} {
		require.NotErrorIs(t, err, class)
	}
}

// requireRefused checks that a call of each kind with a wrong argument is refused before any request.
func (l *lab) requireRefused(t *testing.T, err error, code, field string) {
	t.Helper()
	requireInput(t, err, code, field)
	var e *entity.Error
	require.ErrorAs(t, err, &e)
	require.Empty(t, l.sent(), "refused before any request")
}

func TestInput_ValuesThatDynamoDBCannotStore(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	key := Profile{ID: "a"}
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		_, err := s.Create(t.Context(), Profile{ID: "a", Total: x})
		l.requireRefused(t, err, "EDD-9102", "Total")
		_, _, err = s.Upsert(t.Context(), Profile{ID: "a", Home: Address{Geo: &Geo{Lat: x}}})
		l.requireRefused(t, err, "EDD-9102", "Home")
		_, err = s.Update(t.Context(), key, entity.Set(&p.Total, x))
		l.requireRefused(t, err, "EDD-9102", "Total")
		_, err = s.Update(t.Context(), key, entity.Add(&p.Total, x))
		l.requireRefused(t, err, "EDD-9102", "Total")
		_, err = s.Update(t.Context(), key, entity.Set(&p.Note, "n"), entity.If(entity.Gt(&p.Home.Geo.Lat, x)))
		l.requireRefused(t, err, "EDD-9102", "Home")
		_, err = s.Query(Profile{ID: "a"}, entity.Filter(entity.Lt(&p.Total, x))).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9102", "Total")
	}
}

func TestInput_YearsBeyond9999AreRefusedByName(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	late := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err := s.Create(t.Context(), Profile{ID: "a", SeenAt: late})
	l.requireRefused(t, err, "EDD-9102", "SeenAt")
	_, _, err = s.Upsert(t.Context(), Profile{ID: "a", SeenAt: late})
	l.requireRefused(t, err, "EDD-9102", "SeenAt")
	_, err = s.Create(t.Context(), Profile{ID: "a", Home: Address{Since: late}})
	l.requireRefused(t, err, "EDD-9102", "Home")
	_, err = s.Update(t.Context(), key, entity.Set(&p.SeenAt, late))
	l.requireRefused(t, err, "EDD-9102", "SeenAt")
	_, err = s.Update(t.Context(), key, entity.Set(&p.Home.Since, late))
	l.requireRefused(t, err, "EDD-9102", "Home")
}

func TestInput_Changes(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	update := func(opts ...entity.UpdateOption) error {
		_, err := s.Update(t.Context(), key, opts...)
		return err
	}
	l.requireRefused(t, update(), "EDD-9106", "")
	l.requireRefused(t, update(entity.If(entity.Exists(&p.Note))), "EDD-9106", "")

	l.requireRefused(t, update(entity.Set(&p.Note, "a"), entity.Set(&p.Note, "b")), "EDD-9107", "Note")
	l.requireRefused(t, update(entity.Set(&p.Note, "a"), entity.Remove(&p.Note)), "EDD-9107", "Note")
	l.requireRefused(t, update(entity.Set(&p.Home, Address{}), entity.Set(&p.Home.City, "b")), "EDD-9107", "Home")
	l.requireRefused(t, update(entity.Set(&p.Home.Geo.Lat, 1), entity.Remove(&p.Home.Geo)), "EDD-9107", "Home")
	l.requireRefused(t, update(entity.MapEntry(&p.Labels, "a").Set("x"), entity.Set(&p.Labels, nil)), "EDD-9107", "Labels")
	l.requireRefused(t, update(entity.Attr[int]("lines[0].qty").Set(1), entity.Attr[any]("lines[0]").Remove()), "EDD-9107", "Lines")
	l.requireRefused(t, update(entity.Set(p.Alias, "a"), entity.Set(&p.Alias, nil)), "EDD-9107", "Alias")

	l.requireRefused(t, update(entity.Set(&p.ID, "b")), "EDD-9104", "ID")
	l.requireRefused(t, update(entity.Remove(&p.ID)), "EDD-9104", "ID")
	l.requireRefused(t, update(entity.AddToSet(&p.Tags)), "EDD-9102", "Tags")
	l.requireRefused(t, update(entity.ListAppend(&p.Log)), "EDD-9102", "Log")
	l.requireRefused(t, update(entity.AddToSet(&p.Log, "x")), "EDD-9102", "Log")
	l.requireRefused(t, update(entity.ListAppend(&p.Tags, "x")), "EDD-9102", "Tags")
}

func TestInput_Conditions(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p := entity.Fields[Profile]()
	for name, c := range map[string]entity.Cond{
		"zero": {}, "empty And": entity.And(), "empty Or": entity.Or(), "zero inside Not": entity.Not(entity.Cond{}), "zero inside Or": entity.Or(entity.Eq(&p.Note, "x"), entity.Cond{}),
	} {
		_, err := s.Create(t.Context(), Profile{ID: "a"}, entity.If(c))
		l.requireRefused(t, err, "EDD-9111", "")
		_, err = s.Query(Profile{ID: "a"}, entity.Filter(c)).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9111", "")
		require.NotEmpty(t, name)
	}
	_, err := s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note)))
	l.requireRefused(t, err, "EDD-9111", "Note")
	_, err = s.Create(t.Context(), Profile{ID: "a"}, entity.If(entity.In(&p.Note, make([]string, 101)...)))
	l.requireRefused(t, err, "EDD-9111", "Note")
}

func TestInput_NilAndZeroOptions(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	_, err := s.Create(t.Context(), key, nil)
	l.requireRefused(t, err, "EDD-9108", "")
	_, _, err = s.Upsert(t.Context(), key, nil)
	l.requireRefused(t, err, "EDD-9108", "")
	_, err = s.Update(t.Context(), key, entity.Set(&p.Note, "x"), nil)
	l.requireRefused(t, err, "EDD-9108", "")
	l.requireRefused(t, s.Delete(t.Context(), key, nil), "EDD-9108", "")
	_, err = s.Get(t.Context(), key, nil)
	l.requireRefused(t, err, "EDD-9108", "")
	_, err = s.Query(key, nil).Collect(t.Context())
	l.requireRefused(t, err, "EDD-9108", "")
	_, err = s.Query(key, entity.Cond{}).Collect(t.Context())
	l.requireRefused(t, err, "EDD-9108", "")
	for _, n := range []int{0, -1} {
		_, err = s.Query(key, entity.Limit(n)).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9108", "")
	}
	_, err = entity.New[Team](l.db, nil)
	requireInput(t, err, "EDD-9108", "")
}
