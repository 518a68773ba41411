package lifecycle

import (
	"time"

	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// SoftDelete declares that Delete keeps a copy of the item, in the tag of a blank field:
//
//	_ lifecycle.SoftDelete `ttl:"30d" unique:"free"`
//
// ttl is how long the copy is kept after the delete; without it, for ever. unique says what becomes of the unique values
// of a deleted item: "free" (default) gives them up, so that a restore can fail; "reserve" keeps them until the copy
// expires or is purged.
type SoftDelete struct{}

// softDelete is the compiled declaration.
type softDelete struct {
	ttl     time.Duration // 0: for ever
	reserve bool
}

// FeatureName lets other declarations see that the entity is deleted softly.
func (*softDelete) FeatureName() string { return "lifecycle" }

// Kept is how long copies are there; 0: for ever.
func (f *softDelete) Kept() time.Duration { return f.ttl }

// Declare is called by this module when a store is built.
func (SoftDelete) Declare(d *schema.Decl) {
	f := &softDelete{ttl: d.Duration("ttl")}
	policy, given := d.Tag("unique")
	if _, twice := schema.Feature[*softDelete](d.Schema); twice {
		d.Problem(schema.CodeMalformed, "a struct has one lifecycle.SoftDelete")
		return
	}
	switch {
	case policy == "reserve":
		f.reserve = true
	case given && policy != "free":
		d.Problem(schema.CodeMalformed, "unique:%q must be free or reserve", policy)
	}
	d.Schema.UsesTTL = d.Schema.UsesTTL || f.ttl > 0
	d.Keep(f)
	d.Satellites(len(infix) + longestTime)
	d.Check(func() {
		if given && len(plan.UniqueConstraints(d.Schema)) == 0 {
			d.Problem(schema.CodeUniquePolicy, "unique:%q needs a unique.Constraint", policy)
		}
		if name, _ := plan.DeletedAttr(d.Schema); d.Schema.DeletedAt == nil && d.Schema.Attr(name) != nil {
			d.Problem(schema.CodeReservedAttr, `deleted copies carry the attribute %q; give the field entity:"deleted_at", or another name`, name)
		}
	})
}
