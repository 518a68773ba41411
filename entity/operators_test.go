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
