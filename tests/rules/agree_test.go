package rules_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/dbtest"
)

func sampleKey(i int) Sample { return Sample{Group: "g", ID: strconv.Itoa(i)} }

// DynamoDB refuses to order what has no order, whatever the item; so it is a mistake in the call.
func TestConditions_WithoutAnOrderAreRefusedBeforeARequest(t *testing.T) {
	t.Parallel()
	l, s := dbtest.OpenStore[Sample](t)
	f := entity.Fields[Sample]()
	for field, conds := range map[string][]entity.Cond{
		"Flag":   {entity.Lt(&f.Flag, true), entity.Le(&f.Flag, true), entity.Gt(&f.Flag, false), entity.Ge(&f.Flag, false), entity.Between(&f.Flag, false, true)},
		"Note":   {entity.Lt(&f.Note, nil), entity.Between(&f.Note, nil, pointer("a")), entity.Between(&f.Note, pointer("a"), nil)},
		"Tags":   {entity.Ge(&f.Tags, []string{"a"})},
		"Place":  {entity.Gt(&f.Place, Place{}), entity.Lt(&f.Place.Doors, []string{"a"})},
		"Labels": {entity.Between(&f.Labels, nil, nil)},
		"Exact":  {entity.BeginsWith(&f.Exact, "1")},
	} {
		for _, c := range conds {
			_, err := s.Update(t.Context(), sampleKey(1), entity.Set(&f.Num, 1), entity.If(c))
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
			_, err = s.Scan(entity.Filter(entity.Not(c))).Count(t.Context())
			dbtest.RequireInput(t, err, "EDD-9111", field)
			require.Empty(t, l.Operations())
		}
	}
	for _, c := range []entity.Cond{entity.Lt(&f.Note, pointer("")), entity.Ge(&f.Blob, []byte{}), entity.Lt(&f.Digits, 1), entity.Between(&f.Exact, "1", "2"), entity.Ne(&f.Flag, true), entity.In(&f.Note, nil)} {
		l.OK(s.Scan(entity.Filter(c)).Count(t.Context()))
	}
}
