package plan

import (
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// syncIndexKeys returns the changes that keep the index halves right when changes are made to an item of which the parts
// in known are known. needRead is set when a half cannot be composed without the stored item. all asks for the halves
// that no change touches too, because the item may be new.
func syncIndexKeys(s *schema.Schema, known item.Item, changes []expr.Change, all bool) (extra []expr.Change, needRead bool, err error) {
	by := someParts
	if all {
		by = mayCreate
	}
	return keepIndexes(s, known, changes, by)
}

func keepIndexes(s *schema.Schema, known item.Item, changes []expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
	touched := map[string]expr.Change{}
	after := item.Clone(known)
	for _, c := range changes {
		touched[c.Path.Root()] = c
		if c.Kind == expr.Set && len(c.Path) == 1 {
			after[c.Path.Root()] = c.Value
		}
	}
	for _, x := range s.Indexes {
		var more []expr.Change
		if s.Profile.SyncsIndexKeys(x) {
			more, needRead, err = keepTogether(s, x, after, touched, by)
		} else {
			more, needRead, err = keepHalves(s, x, after, touched, by)
		}
		if err != nil || needRead {
			return nil, needRead, err
		}
		extra = append(extra, more...)
	}
	return extra, false, nil
}

// keepHalves is syncIndexKeys for one index.
func keepHalves(s *schema.Schema, x *schema.Index, after item.Item, touched map[string]expr.Change, by scope) (extra []expr.Change, needRead bool, err error) {
	for _, h := range x.Keys() {
		if s.HasDeletedAt(h) {
			continue // no current item has it
		}
		if !h.Written() {
			for _, a := range h.Native {
				c := touched[a.Name]
				if err := checkIndexBytes(s, h, c.Value, isSortHalf(s, h)); err != nil && len(c.Path) == 1 {
					return nil, false, err
				}
			}
			continue
		}
		affected, partly, once := false, false, (*schema.Attr)(nil)
		for _, a := range h.Parts {
			c, ok := touched[a.Name]
			_, isKnown := after[a.Name]
			affected = affected || ok && !s.KeyPart(a)
			switch {
			case ok && c.Kind == expr.SetIfAbsent:
				once = a
			case ok && (c.Kind != expr.Set || len(c.Path) > 1) || !isKnown:
				partly = true
			}
		}
		switch {
		case !affected && (partly || by == someParts):
			// Nothing that the half is made of changes, or the item is new and lacks a part.
		case once != nil && !partly && Copies(h) && writtenOnce(once):
			c := followOnce(h, once, touched[once.Name])
			if err := checkIndexBytes(s, h, c.Value, isSortHalf(s, h)); err != nil {
				return nil, false, err
			}
			extra = append(extra, c)
		case partly || once != nil:
			return nil, true, nil
		default:
			c, err := setHalf(s, h, after)
			if err != nil {
				return nil, false, err
			}
			extra = append(extra, c)
		}
	}
	return extra, false, nil
}

// setHalf sets or removes a half all of whose parts are known.
func setHalf(s *schema.Schema, h *schema.KeyDef, it item.Item) (expr.Change, error) {
	text, err := indexText(s, h, it, isSortHalf(s, h))
	if err != nil {
		return expr.Change{}, err
	}
	if text == "" {
		return expr.Change{Kind: expr.Remove, Path: expr.Attr(h.Attr)}, nil
	}
	return expr.Change{Kind: expr.Set, Path: expr.Attr(h.Attr), Value: item.S(text)}, nil
}

// Copies reports that a half is a bare copy of one attribute that is stored as text.
func Copies(h *schema.KeyDef) bool {
	if h.Prefixed || len(h.Template.Segments) != 1 {
		return false
	}
	f := h.Template.Segments[0]
	return f.Literal == "" && f.Field != nil && !f.Field.Lower && (f.Field.Kind == key.String || f.Field.Kind == key.Time && f.Field.Time.Text())
}

// followOnce makes a half that copies an attribute follow it, whether the attribute is there already or set now.
func followOnce(h *schema.KeyDef, a *schema.Attr, c expr.Change) expr.Change {
	return expr.Change{Kind: expr.SetIfAbsent, Path: expr.Attr(h.Attr), Source: expr.Attr(a.Name), Value: c.Value}
}

// writtenOnce reports that a, when it is stored at all, holds a value that no write empties or changes.
func writtenOnce(a *schema.Attr) bool {
	return a.Role.Has(tag.CreatedAt) || a.Role.Has(tag.SetOnce)
}

// KeepInStep is for writes that know every changed part: the changes that keep the index halves right, also for a new
// item. A half that would need the stored item is a mistake that the declaration should have refused.
func KeepInStep(s *schema.Schema, known item.Item, changes []expr.Change) ([]expr.Change, error) {
	extra, needRead, err := keepIndexes(s, known, changes, appended)
	if needRead {
		return nil, input(s, schema.CodeMixedIndexKey, nil, "an index key cannot be composed without the stored item")
	}
	return extra, err
}

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
