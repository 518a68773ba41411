package entity_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/tests/dbtest"
)

var seen = time.Date(2024, 5, 6, 7, 8, 9, 123000000, time.UTC)

// furnished is a profile with something in nearly every attribute; work is absent.
func furnished() Profile {
	alias, off := "al", false
	return Profile{
		ID: "a", Team: "red", Rank: 1, Home: Address{City: "Rome", Geo: &Geo{Lat: 1.5, Lon: 2}},
		Labels: map[string]string{"a.b": "x", "l[0]": "y", "size": "z"}, Scores: map[string]int{"n": 3},
		Lines: []Line{{"s1", 2}, {"s2", 5}}, Log: []string{"one", "two"}, Tags: []string{"t1", "t2"}, Numbers: []int{1, 2},
		Note: "note", Alias: &alias, Active: &off, Count: 5, Total: 1.5, SeenAt: seen, Order: "o",
	}
}

type trial struct {
	cond  entity.Cond
	holds bool
}

// trials are conditions with times that are finer than the stored ones, and with whole values. tests/rules has all others.
func trials() map[string]trial {
	p, f := entity.Fields[Profile](), furnished()
	return map[string]trial{
		"time":                {entity.Eq(&p.SeenAt, seen.In(time.FixedZone("", 3600))), true},
		"time Lt finer":       {entity.Lt(&p.SeenAt, seen.Add(1)), true},
		"time Le finer":       {entity.Le(&p.SeenAt, seen.Add(1)), true},
		"time Le finer below": {entity.Le(&p.SeenAt, seen.Add(-1)), false},
		"time Gt finer":       {entity.Gt(&p.SeenAt, seen.Add(1)), false},
		"time Gt finer below": {entity.Gt(&p.SeenAt, seen.Add(-1)), true},
		"time Ge finer":       {entity.Ge(&p.SeenAt, seen.Add(1)), false},
		"time Ge finer below": {entity.Ge(&p.SeenAt, seen.Add(-1)), true},
		"time Between finer":  {entity.Between(&p.SeenAt, seen.Add(-1), seen.Add(1)), true},
		"time Between none":   {entity.Between(&p.SeenAt, seen.Add(1), seen.Add(2)), false},
		"Contains struct":     {entity.Contains(&p.Lines, Line{"s2", 5}), true},
		"Contains struct no":  {entity.Contains(&p.Lines, Line{"s2", 6}), false},
		"whole struct":        {entity.Eq(&p.Home, f.Home), true},
		"whole struct no":     {entity.Eq(&p.Home, Address{City: "Rome"}), false},
		"reserved word":       {entity.Eq(&p.Order, "o"), true},
	}
}

// A condition means the same on a write in place, on one that reads first, in a check, and as a filter.
func TestCondition_MeansTheSameEverywhere(t *testing.T) {
	t.Parallel()
	l, s := opened(t, furnished())
	p, key := entity.Fields[Profile](), Profile{ID: "a"}
	for name, c := range trials() {
		t.Run(name, func(t *testing.T) {
			outcome := func(where string, err error) {
				t.Helper()
				if c.holds {
					require.NoError(t, err, where)
				} else {
					require.ErrorIs(t, err, entity.ErrConditionFailed, where)
				}
			}
			outcome("in place", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&p.Plain, ""), entity.If(c.cond))))
			outcome("after a read", dbtest.ErrorOf(s.Update(t.Context(), key, entity.Set(&p.Rank, 1), entity.If(c.cond))))
			outcome("check", l.DB.Transact(t.Context(), s.Op().CheckExists(key, c.cond)))
			count := func(c entity.Cond) int {
				return entity.Must(s.Query(key, entity.Filter(c), entity.Consistent()).Count(t.Context()))
			}
			want := map[bool]int{true: 1, false: 0}
			require.Equal(t, want[c.holds], count(c.cond), "filter")
			require.Equal(t, want[!c.holds], count(entity.Not(c.cond)), "negated")
		})
	}
}

func TestCondition_InTakesUpToAHundredValues(t *testing.T) {
	t.Parallel()
	l, s := opened(t, furnished())
	p, values := entity.Fields[Profile](), make([]int, 100)
	values[99] = 5
	l.OK(s.Update(t.Context(), Profile{ID: "a"}, entity.Set(&p.Plain, ""), entity.If(entity.In(&p.Count, values...))))
}

// many is a condition that holds, with n operators as DynamoDB counts them: comparisons and the ORs between them.
func many(n int) entity.Cond {
	g, conds := entity.Fields[Gadget](), []entity.Cond{}
	for range (n + 1) / 2 {
		conds = append(conds, entity.Eq(&g.HardwareID, gadgetID))
	}
	return entity.Or(conds...)
}

func TestCondition_MoreOperatorsThanAGuardLeavesRoomForAreRefused(t *testing.T) {
	t.Parallel()
	l, s := opened(t, gadget())
	g := entity.Fields[Gadget]()
	_, err := s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(269)))
	require.NoError(t, err, "as many as fit in addition to a guard")
	l.Sent()
	l.requireRefused(t, dbtest.ErrorOf(s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(273)))), "EDD-9111", "")
	_, err = s.Modify(t.Context(), gadget(), func(g *Gadget) error { g.Name = "m"; return nil }, entity.If(many(269)))
	require.NoError(t, err, "also with the guard of a whole image of this size")
}

// Wide has more attributes than a guard of its whole content leaves room for in addition to a long condition.
type Wide struct {
	_ entity.Key `name:"Wide" pk:"id"`

	ID                                     string `dynamodbav:"id"`
	A, B, C, D, E, F, G, H, I, J           int
	K, L, M, N, O, P, Q, R, S, T           int
	AA, BB, CC, DD, EE, FF, GG, HH, II, JJ int
}

func TestCondition_TooLongWithItsGuardIsRefused(t *testing.T) {
	t.Parallel()
	l, s := opened(t, Wide{ID: "w"})
	w, conds := entity.Fields[Wide](), []entity.Cond{}
	for range 135 {
		conds = append(conds, entity.Eq(&w.A, 0))
	}
	l.Sent()
	_, err := s.Modify(t.Context(), Wide{ID: "w"}, func(w *Wide) error { w.B++; return nil }, entity.If(entity.Or(conds...)))
	dbtest.RequireInput(t, err, "EDD-9111", "")
	for _, r := range l.Operations() {
		require.Equal(t, "GetItem", r, "it is found when the guard is known, and nothing is sent")
	}
}
