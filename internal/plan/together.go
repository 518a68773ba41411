package plan

import (
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// setIndexes composes the index halves of a whole item in place. was is the item that it replaces, nil for a new one.
func setIndexes(s *schema.Schema, it, was item.Item) error {
	for _, x := range s.Indexes {
		halves, together := x.Keys(), s.Profile.SyncsIndexKeys(x)
		// effect-dynamodb may have composed keys of values that are refused here; they stay as long as the values do.
		if together && was != nil && sameParts(halves, was, it) {
			continue
		}
		whole := true
		for _, h := range halves {
			// Other programs may have stored parts that no key is made of here, such as a finer time.
			if err := SetIndexHalf(s, h, it, h == x.SK); err != nil && (together || was == nil || !sameParts([]*schema.KeyDef{h}, was, it)) {
				return err
			}
			_, there := it[h.Attr]
			whole = whole && there
		}
		if whole || !together {
			continue
		}
		for _, h := range halves {
			if !s.UpdatedByAppends(h) {
				delete(it, h.Attr)
			}
		}
	}
	return nil
}

func sameParts(halves []*schema.KeyDef, was, is item.Item) bool {
	for _, h := range halves {
		for _, a := range h.Parts {
			if !item.Equal(was[a.Name], is[a.Name]) {
				return false
			}
		}
	}
	return true
}

// scope says how much of the item a write without a read knows.
type scope int

const (
	someParts scope = iota // an update: the item exists
	mayCreate              // the item may be new, and attributes that are not given may be stored
	appended               // the same, and what is not known is left to other writes
)

// keepTogether is syncIndexKeys for an index whose halves are in an item both or not at all. The exception are halves that
// appends keep in step, alone: an append does not know what enrichment has given the other half.
func keepTogether(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
	affected, keysOnly := false, true
	var known, unknown []*schema.KeyDef
	for _, h := range x.Keys() {
		complete := true
		for _, a := range h.Parts {
			if s.KeyPart(a) {
				continue
			}
			keysOnly = false
			c, changed := touched[a.Name]
			_, isKnown := after[a.Name]
			affected = affected || changed || isKnown
			if changed && (c.Kind != expr.Set || len(c.Path) > 1) {
				return nil, true, nil
			}
			complete = complete && isKnown
		}
		if complete {
			known = append(known, h)
		} else {
			unknown = append(unknown, h)
		}
	}
	if !affected && !(keysOnly && by != someParts) {
		return nil, false, nil
	}
	absent := false
	for _, h := range known {
		c, err := setHalf(s, h, after)
		if err != nil {
			return nil, false, err
		}
		absent = absent || c.Kind == expr.Remove
		extra = append(extra, c)
	}
	if absent {
		return withoutHalves(s, x, extra), false, nil
	}
	for _, h := range unknown {
		if !s.UpdatedByAppends(h) && by != appended {
			return nil, true, nil
		}
	}
	return extra, false, nil
}

// withoutHalves takes an item out of index x, since it lacks a part. set are the changes of the halves that are known.
func withoutHalves(s *schema.Schema, x *schema.Index, set []expr.Change) []expr.Change {
	var changes []expr.Change
	for _, h := range x.Keys() {
		if !s.UpdatedByAppends(h) {
			changes = append(changes, expr.Change{Kind: expr.Remove, Path: expr.Attr(h.Attr)})
			continue
		}
		for _, c := range set {
			if c.Path.Root() == h.Attr {
				changes = append(changes, c)
			}
		}
	}
	return changes
}
