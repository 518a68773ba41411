package schemalock

import (
	"slices"
	"strings"
)

// Change is one difference between two locks.
type Change struct {
	Breaking bool   // items that are there are not found, not read, or read wrongly
	Entity   string // name
	What     string // as in the file; "" is the whole entity
	Old, New string // values; "" where one is absent
	Why      string // what the change means for items that are there
}

// String is the change on one line.
func (c Change) String() string {
	class := "compatible"
	if c.Breaking {
		class = "breaking"
	}
	what := c.What
	if what == "" {
		what = "the entity"
	}
	said := func(s string) string {
		if s == "" {
			return "(none)"
		}
		return s
	}
	return class + ": " + c.Entity + ": " + what + ": " + said(c.Old) + " → " + said(c.New) + ": " + c.Why
}

// Compare lists what is different in now, and whether the items that were written under old bear it; docs/tables.md has
// the rules and their reasons. Breaking changes and compatible ones come in the order of the file, entities that are gone
// last.
func Compare(old, now Lock) []Change {
	var changes []Change
	gone := slices.Clone(old.Entities)
	for _, e := range now.Entities {
		i := counterpart(gone, now, e)
		if i < 0 {
			changes = append(changes, old.indexesOf(tableOf(e)).compareNew(e)...)
			continue
		}
		changes = append(changes, compareEntity(gone[i], e, old.indexesOf(tableOf(e)))...)
		gone = slices.Delete(gone, i, i+1)
	}
	for _, e := range gone {
		changes = append(changes, Change{Breaking: true, Entity: e.Name, Old: "declared", Why: "its items stay, and nothing reads them; an entity that was renamed has other keys"})
	}
	return changes
}

// counterpart finds e among older entities: by name and table, or by name alone where that is no other one's.
func counterpart(older []Entity, now Lock, e Entity) int {
	if i := slices.IndexFunc(older, func(o Entity) bool { return o.Name == e.Name && tableOf(o) == tableOf(e) }); i >= 0 {
		return i
	}
	return slices.IndexFunc(older, func(o Entity) bool {
		return o.Name == e.Name && !slices.ContainsFunc(now.Entities, func(n Entity) bool {
			return n.Name == e.Name && tableOf(n) == tableOf(o)
		})
	})
}

// compareEntity compares fact by fact; table are the indexes that its table has.
func compareEntity(old, now Entity, table tableIndexes) []Change {
	var changes []Change
	note := func(what, a, b string) {
		if a == b || coveredByParent(old, now, what) {
			return
		}
		if c, ok := table.shared(now, what, a, b); ok {
			changes = append(changes, c)
			return
		}
		breaking, why := judge(what, a, b)
		changes = append(changes, Change{breaking, now.Name, what, a, b, why})
	}
	for _, f := range now.Facts {
		before, _ := old.value(f.What)
		note(f.What, before, f.Value)
	}
	for _, f := range old.Facts {
		if _, still := now.value(f.What); !still {
			note(f.What, f.Value, "")
		}
	}
	return changes
}

// coveredByParent reports that what is part of something that came, went or became something else as a whole: a setting
// of a feature, the key of an index, an attribute inside another one. The whole is reported alone.
func coveredByParent(old, now Entity, what string) bool {
	for parent := parentOf(what); parent != ""; parent = parentOf(parent) {
		was, _ := old.value(parent)
		is, _ := now.value(parent)
		if kindOf(was) != kindOf(is) {
			return true
		}
	}
	return false
}

// kindOf is the first word of a value: the type of an attribute, whether an index is global.
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// parentOf is the whole that a fact is part of, "" for one that stands alone.
func parentOf(what string) string {
	words := strings.Split(what, " ")
	switch {
	case words[0] == "attribute":
		if i := strings.LastIndexAny(words[1], ".[{"); i > 0 {
			return "attribute " + words[1][:i]
		}
	case words[0] == "index" && len(words) == 3:
		return words[0] + " " + words[1]
	case isFeature(words[0]) && len(words) == 2:
		return words[0]
	}
	return ""
}

// isFeature distinguishes a feature's declaration from the entity's own facts: it is named after its package.
func isFeature(word string) bool { return strings.Contains(word, ".") }
