package entity_test

import (
	"context"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/testsize"
)

// inOrder is v with its sets sorted, which have no order once they are stored, and nested epoch times in UTC, which the
// codec gives in the local zone.
func inOrder(v Everything) Everything {
	v.StringSet, v.NumberSet, v.FloatSet = slices.Sorted(slices.Values(v.StringSet)), slices.Sorted(slices.Values(v.NumberSet)), slices.Sorted(slices.Values(v.FloatSet))
	v.BinarySet = slices.SortedFunc(slices.Values(v.BinarySet), slices.Compare)
	v.HashSet = slices.SortedFunc(slices.Values(v.HashSet), func(a, b [2]byte) int { return slices.Compare(a[:], b[:]) })
	tidy := func(i inner) inner {
		i.Set = slices.Sorted(slices.Values(i.Set))
		if i.Unix != nil {
			i.Unix = pointer(i.Unix.UTC())
		}
		return i
	}
	v.Inner = tidy(v.Inner)
	if v.InnerPtr != nil {
		v.InnerPtr = pointer(tidy(*v.InnerPtr))
	}
	v.Inners = slices.Clone(v.Inners)
	for i := range v.Inners {
		v.Inners[i] = tidy(v.Inners[i])
	}
	keyed := map[slug]inner{}
	for name, i := range v.TextKeys {
		keyed[name] = tidy(i)
	}
	if v.TextKeys != nil {
		v.TextKeys = keyed
	}
	return v
}

// roundTrip is the property without a database: a value comes out of the codec as it went in.
func roundTrip(t *rapid.T) {
	s := entity.Must(entity.New[Everything](entity.Must(entity.Open(nil, entity.Config{Table: "t"}))))
	c := core.Of(s)
	v := everything().Draw(t, "v")
	it, err := c.Schema.Codec.Encode(reflect.ValueOf(v))
	require.NoError(t, err)
	got, err := core.Decode[Everything](c, it)
	require.NoError(t, err)
	require.Equal(t, inOrder(v), inOrder(got))
}

func TestCodec_EveryTypeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	rapid.Check(t, roundTrip)
}

func FuzzCodec(f *testing.F) { f.Fuzz(rapid.MakeFuzz(roundTrip)) }

// Whatever the path, what is read is what was written.
func TestWrites_EveryTypeComesBackAsItWas(t *testing.T) {
	t.Parallel()
	_, s := open[Everything](t)
	testsize.Check(t, testsize.Pick(12, 1000), func(t *rapid.T) {
		ctx, v, w := context.Background(), everything().Draw(t, "v"), everything().Draw(t, "w")
		w.ID = v.ID
		same := func(want Everything, got Everything, err error) {
			require.NoError(t, err)
			require.Equal(t, inOrder(want), inOrder(got))
		}
		if err := s.Delete(ctx, v); err != nil {
			require.ErrorIs(t, err, entity.ErrNotFound)
		}
		got, err := s.Create(ctx, v)
		same(v, got, err)
		got, err = s.Get(ctx, v, entity.Consistent())
		same(v, got, err)
		got, err = s.Put(ctx, w)
		same(w, got, err)
		got, err = s.Get(ctx, v, entity.Consistent())
		same(w, got, err)
		got, err = s.Update(ctx, v, setEverything(v)...)
		same(v, got, err)
		got, err = s.Modify(ctx, v, func(e *Everything) error { *e = w; return nil })
		same(w, got, err)
		got, err = s.Query(Everything{ID: v.ID}).One(ctx)
		same(w, got, err)
	})
}

// What DynamoDB's numbers, or the field's format, do not hold is refused.
func TestWrites_WhatCannotComeBackIsRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Everything](t)
	f := entity.Fields[Everything]()
	fine := Everything{ID: "a", Number: "1", JSON: "1"}
	_, err := s.Create(t.Context(), fine)
	require.NoError(t, err)
	l.sent()
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		bad := fine
		bad.Float64 = x
		_, err := s.Put(t.Context(), bad)
		l.requireRefused(t, err, "EDD-9102", "Float64")
		_, err = s.Update(t.Context(), fine, entity.Set(&f.Float64, x))
		l.requireRefused(t, err, "EDD-9102", "Float64")
		_, err = s.Update(t.Context(), fine, entity.Set(&f.FloatSet, []float64{1, x}))
		l.requireRefused(t, err, "EDD-9102", "FloatSet")
		_, err = s.Update(t.Context(), fine, entity.Set(&f.Any, any([]any{x})))
		l.requireRefused(t, err, "EDD-9102", "Any")
	}
	for field, change := range map[string]entity.UpdateOption{
		"Number": entity.Set(&f.Number, ""), "JSON": entity.Set(&f.JSON, "1x"), "Nano": entity.Set(&f.Nano, time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)),
		"Map": entity.Set(&f.Map, map[string]int{"": 1}),
	} {
		_, err := s.Update(t.Context(), fine, change)
		l.requireRefused(t, err, "EDD-9102", field)
	}
}
