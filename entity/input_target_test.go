package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

func TestInput_PointersThatNameNoAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	var own Profile
	var null *string
	for name, field := range map[string]*string{
		"another struct's prototype": &entity.Fields[Team]().Name,
		"a value of the right type":  &own.Note,
		"nil":                        null,
	} {
		_, err := s.Update(t.Context(), key, entity.Set(field, "x"))
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Update(t.Context(), key, entity.Remove(field))
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Create(t.Context(), key, entity.If(entity.NotExists(field)))
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Query(key, entity.Filter(entity.Eq(field, "x"))).Count(t.Context())
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Query(key, entity.Ge(field, "x")).First(t.Context())
		l.requireRefused(t, err, "EDD-9105", "")
		require.NotEmpty(t, name)
	}
	_, err := s.Update(t.Context(), key, entity.MapEntry(&own.Labels, "a").Set("x"))
	l.requireRefused(t, err, "EDD-9105", "")
	_, err = s.Update(t.Context(), key, entity.MapEntry(&p.Labels, "").Set("x"))
	l.requireRefused(t, err, "EDD-9102", "Labels")
}

func TestInput_PathsThatNameNoAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	for _, path := range []string{"", "unknown", "unknown.city", "home.", ".home", "home..city", "lines[", "lines[]", "lines[x]", "lines[-1]", "lines[0", "lines]0[", "[0]", "lines[0]qty", "lines[0].", "lines[99999999999999999999]"} {
		_, err := s.Update(t.Context(), Profile{ID: "a"}, entity.Attr[int](path).Set(1))
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Update(t.Context(), Profile{ID: "a"}, entity.Attr[int](path).Remove())
		l.requireRefused(t, err, "EDD-9105", "")
		_, err = s.Query(Profile{ID: "a"}, entity.Filter(entity.Attr[int](path).Exists())).Collect(t.Context())
		l.requireRefused(t, err, "EDD-9105", "")
	}
	var zero entity.Path[int]
	_, err := s.Update(t.Context(), Profile{ID: "a"}, zero.Set(1))
	l.requireRefused(t, err, "EDD-9105", "")
}

// A path in text has no type of its own; a value that does not fit the attribute must not reach the table.
func TestInput_PathValueOfAnotherTypeThanItsAttribute(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	key := Profile{ID: "a"}
	for field, change := range map[string]entity.UpdateOption{
		"Count":  entity.Attr[string]("count").Set("many"),
		"Note":   entity.Attr[int]("note").Set(1),
		"SeenAt": entity.Attr[string]("seenAt").Set("yesterday"),
		"Tags":   entity.Attr[string]("tags").Set("x"),
		"Home":   entity.Attr[bool]("home").Set(true),
	} {
		t.Run(field, func(t *testing.T) {
			require.NotPanics(t, func() {
				_, err := s.Update(t.Context(), key, change)
				l.requireRefused(t, err, "EDD-9102", field)
			})
		})
	}
}

func TestInput_PathConditionsOnTimesNeverPanic(t *testing.T) {
	t.Parallel()
	l, s := open[Profile](t)
	for name, c := range map[string]entity.Cond{
		"text": entity.Attr[string]("seenAt").Eq("x"), "nil": entity.Attr[any]("seenAt").Eq(nil),
		"nil pointer": entity.Attr[*time.Time]("seenAt").Eq(nil),
	} {
		t.Run(name, func(t *testing.T) {
			require.NotPanics(t, func() {
				_, err := s.Query(Profile{ID: "a"}, entity.Filter(c)).Collect(t.Context())
				if err != nil {
					l.requireRefused(t, err, "EDD-9102", "SeenAt")
				}
			})
		})
		l.wire.Reset()
	}
}
