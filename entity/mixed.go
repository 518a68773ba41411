package entity

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// unmarked holds for items of a verbatim entity among the sentinels, and the items of `$` entities with what lies beside
// them, that its table or index can hold: these say what they are, and a verbatim item never does. It is nothing where the
// declared entities leave no such items there. It is asked for each run, since entities may be declared later.
func unmarked(c *core.Core, x *schema.Index) expr.Cond {
	if c.Schema.Templated {
		return expr.Cond{}
	}
	if !marked(c.DB.On(c.Table), x) {
		return expr.Cond{}
	}
	return expr.Compare(expr.NotExists, expr.Attr(schema.EntityAttr))
}

// marked reports that one of the entities on a table leaves items that say what they are there, or in the table's index x.
func marked(entities []*schema.Schema, x *schema.Index) bool {
	for _, s := range entities {
		dollar, claims := s.Templated, len(plan.UniqueConstraints(s)) > 0
		if x == nil || x.Project.All {
			if dollar || claims {
				return true
			}
			continue
		}
		shared := dollar && slices.ContainsFunc(s.Indexes, func(y *schema.Index) bool { return y.Index == x.Index })
		if shared || (dollar || claims) && inverted(s, x) {
			return true
		}
	}
	return false
}

// inverted reports that the key of x is made of the table's key attributes, which every item has.
func inverted(s *schema.Schema, x *schema.Index) bool {
	have := append(s.PK.Attributes(), s.SK.Attributes()...)
	for _, name := range append(x.PK.Attributes(), x.SK.Attributes()...) {
		if !slices.Contains(have, name) {
			return false
		}
	}
	return true
}
