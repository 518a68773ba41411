package entity_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
)

// many is a condition that holds, with n operators as DynamoDB counts them: comparisons and the ORs between them.
func many(n int) entity.Cond {
	g := entity.Fields[Gadget]()
	conds := []entity.Cond{}
	for range (n + 1) / 2 {
		conds = append(conds, entity.Eq(&g.HardwareID, gadgetID))
	}
	return entity.Or(conds...)
}

func TestCondition_MoreOperatorsThanAGuardLeavesRoomForAreRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Gadget](t)
	g := entity.Fields[Gadget]()
	_, err := s.Create(t.Context(), gadget())
	require.NoError(t, err)
	l.sent()
	_, err = s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(269)))
	require.NoError(t, err, "as many as fit beside a guard")
	l.sent()
	_, err = s.Update(t.Context(), gadget(), entity.Set(&g.Name, "n"), entity.If(many(273)))
	l.requireRefused(t, err, "EDD-9111", "")
	_, err = s.Modify(t.Context(), gadget(), func(g *Gadget) error { g.Name = "m"; return nil }, entity.If(many(269)))
	require.NoError(t, err, "also beside the guard of a whole image of this size")
}

// Wide has more attributes than a guard of its whole content leaves room for beside a long condition.
type Wide struct {
	_ entity.Key `name:"Wide" pk:"id"`

	ID                                     string `dynamodbav:"id"`
	A, B, C, D, E, F, G, H, I, J           int
	K, L, M, N, O, P, Q, R, S, T           int
	AA, BB, CC, DD, EE, FF, GG, HH, II, JJ int
}

func TestCondition_TooLongWithItsGuardIsRefused(t *testing.T) {
	t.Parallel()
	l, s := open[Wide](t)
	_, err := s.Create(t.Context(), Wide{ID: "w"})
	require.NoError(t, err)
	w := entity.Fields[Wide]()
	conds := []entity.Cond{}
	for range 135 {
		conds = append(conds, entity.Eq(&w.A, 0))
	}
	l.sent()
	_, err = s.Modify(t.Context(), Wide{ID: "w"}, func(w *Wide) error { w.B++; return nil }, entity.If(entity.Or(conds...)))
	requireInput(t, err, "EDD-9111", "")
	for _, r := range l.sent() {
		require.Equal(t, "GetItem", r, "it is found when the guard is known, and nothing is sent")
	}
}
