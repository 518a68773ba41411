package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// NewRevert plans a Put of the item as it is with the content of an earlier state, which the op's Prepare finds: an
// update of every attribute that differs and that an update may change.
func NewRevert(s *schema.Schema, table string, v reflect.Value, spec opt.Write) *Op {
	op, user := Begin(s, table, "Revert", v, spec)
	if op.Err != nil {
		return op
	}
	op.Read, op.If, op.AlsoDeleted = true, user, softDeleter(s) != nil
	op.Plan = func(in Input) (Step, error) {
		if !live(s, in.Image, in.Now) {
			return Step{}, op.missing(in.Now)
		}
		if err := op.Unexpected(in.Image, in.Now); err != nil {
			return Step{}, err
		}
		it, err := rewrite(s, in, towards(s, in.Image, in.Found.(item.Item)), onChange)
		if err != nil {
			return Step{}, err
		}
		return op.changed(in, it, user)
	}
	return op
}

// towards are the changes that give it the content of an earlier state.
func towards(s *schema.Schema, it, past item.Item) []expr.Change {
	var changes []expr.Change
	for _, a := range s.Attrs {
		if s.KeyPart(a) || a.Owned() || a.WriteOnce() || a.Append || a.Clock || item.Equal(it[a.Name], past[a.Name]) {
			continue
		}
		c := expr.Change{Kind: expr.Set, Path: expr.Attr(a.Name), Value: past[a.Name]}
		if c.Value == nil {
			c.Kind = expr.Remove
		}
		changes = append(changes, c)
	}
	return changes
}
