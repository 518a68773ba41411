package schemalock

import (
	"slices"
	"strconv"
	"strings"
)

// Change is one difference between two locks.
type Change struct {
	Breaking bool   // stored items are not found, not read, or read wrongly
	Entity   string // name
	What     string // as in the file; "" for the whole entity
	Old, New string // values; "" if absent
	Why      string // what the change means for stored items
}

// String returns the change on one line.
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

// Compare returns the differences of now from old, and whether stored items remain readable; docs/evolution.md has the rules
// and their reasons. Only a lock of [Of] knows which payload versions the store upgrades: with one of [Parse] as now, a change that an
// upgrade would make compatible is breaking, and Why says so. Changes come in the order of the file, removed entities last.
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
		changes = append(changes, Change{Breaking: true, Entity: e.Name, Old: "declared", Why: "its items remain but are no longer read; a renamed entity has other keys"})
	}
	return append(changes, compareDerived(old, now)...)
}

// compareDerived returns the read models that are new or gone, and those that are stored elsewhere. A file of format 1 has none.
func compareDerived(old, now Lock) []Change {
	var changes []Change
	if old.Format == 1 {
		return nil
	}
	facts := func(l Lock, name string) string {
		if i := slices.IndexFunc(l.Derived, func(e Entity) bool { return e.Name == name }); i >= 0 {
			var all []string
			for _, f := range l.Derived[i].Facts {
				all = append(all, f.What+" = "+f.Value)
			}
			return strings.Join(all, ", ")
		}
		return ""
	}
	for _, e := range slices.Concat(now.Derived, old.Derived) {
		a, b := facts(old, e.Name), facts(now, e.Name)
		if a != b && !slices.ContainsFunc(changes, func(c Change) bool { return c.Entity == e.Name }) {
			changes = append(changes, Change{Entity: e.Name, Old: a, New: b, Why: "a read model is built again"})
		}
	}
	return changes
}

// counterpart returns the index of e among older entities, by name and table, or by name alone unless the other entity
// still exists; -1 if absent.
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

// compareEntity compares fact by fact. table has the indexes of the entity's table.
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
		if breaking && strings.HasPrefix(what, "attribute ") {
			breaking, why = now.upgraded(old, why)
		}
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

// upgraded judges a change of an attribute that is breaking, because of why, unless the store upgrades the items. It breaks if no store
// is known: a file does not say which upgrades there are.
func (e Entity) upgraded(old Entity, why string) (bool, string) {
	was, is := old.payload(), e.payload()
	switch {
	case is <= was:
		return true, why
	case e.upgradesFrom == 0:
		return true, why + "; compatible with an Upgrade from " + strconv.Itoa(was) + ", of which a lock file says nothing"
	case e.upgradesFrom > was:
		return true, why + "; needs Upgrade from " + strconv.Itoa(was) + ", which the store does not have"
	}
	return false, "needs Upgrade from " + strconv.Itoa(was) + ", which the store has"
}

// payload returns the payload version.
func (e Entity) payload() int {
	text, _ := e.value("payload")
	n, _ := strconv.Atoi(text)
	return n
}

// coveredByParent reports whether what is part of something that was added, removed or replaced as a whole: a setting of a
// feature, the key of an index, a nested attribute. Only the whole is reported.
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

// kindOf returns the first word of a value: the type of an attribute, or whether an index is global.
func kindOf(value string) string {
	kind, _, _ := strings.Cut(value, " ")
	return kind
}

// parentOf returns the whole that a fact is part of, or "".
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

// isFeature reports whether a fact belongs to a feature's declaration, which is named after its package.
func isFeature(word string) bool { return strings.Contains(word, ".") }

// tableIndex is an index as all entities of one table declare it.
type tableIndex struct {
	kind       string // global or local
	partition  string // attributes and types of its partition and sort key; "" if no entity has one
	sort       string
	projection string
}

// tableIndexes are the indexes of a table by name, as in the file.
type tableIndexes map[string]tableIndex

// tableOf returns the logical table of an entity.
func tableOf(e Entity) string {
	table, _ := e.value("table")
	return table
}

// indexesOf returns the indexes of a table, or nil if no entity is in the table.
func (l Lock) indexesOf(table string) tableIndexes {
	var all tableIndexes
	for _, e := range l.Entities {
		if tableOf(e) != table {
			continue
		}
		if all == nil {
			all = tableIndexes{}
		}
		for _, name := range e.indexes() {
			all[name] = e.joined(name, all[name])
		}
	}
	return all
}

// indexes returns the names of an entity's indexes, such as "index gsi1".
func (e Entity) indexes() (names []string) {
	for _, f := range e.Facts {
		if words := strings.Split(f.What, " "); words[0] == "index" && len(words) == 2 {
			names = append(names, f.What)
		}
	}
	return names
}

// joined returns x with what the entity declares of the index added.
func (e Entity) joined(name string, x tableIndex) tableIndex {
	fact := func(part string) string {
		value, _ := e.value(name + part)
		return value
	}
	key := func(was, value string) string {
		if value == "" {
			return was
		}
		return attributesOf(value)
	}
	x.kind, x.partition, x.sort = fact(""), key(x.partition, fact(" partition")), key(x.sort, fact(" sort"))
	x.projection = mergeProjections(x.projection, fact(" projection"))
	return x
}

// attributesOf returns the attributes of a partition or sort key and their types, without how an entity composes them.
func attributesOf(key string) string {
	words := strings.Split(key, " ")
	if words[0] == "native" {
		return strings.Join(slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "time=") }), " ")
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

// mergeProjections returns what an index projects for two entities; "" stands for nothing yet.
func mergeProjections(a, b string) string {
	switch {
	case a == "all" || b == "all":
		return "all"
	case a == "":
		return b
	case b == "":
		return a
	}
	names := append(strings.Split(a, " ")[1:], strings.Split(b, " ")[1:]...)
	slices.Sort(names)
	return strings.Join(append([]string{"keys"}, slices.Compact(names)...), " ")
}

// carries reports whether an index with projection a has everything that b needs.
func carries(a, b string) bool {
	return a != "" && mergeProjections(a, b) == mergeProjections(a, "keys")
}

// unavailable returns what an entity needs of an index that the table cannot get: DynamoDB never changes the key or projection of
// an index, and creates local indexes only with the table. ok reports whether there is such a need.
func (l tableIndexes) unavailable(e Entity, name string) (c Change, ok bool) {
	was, there := l[name]
	is := e.joined(name, tableIndex{})
	bad := func(part, a, b, why string) (Change, bool) { return Change{true, e.Name, name + part, a, b, why}, true }
	switch {
	case !there && is.kind == "local":
		return bad("", "", is.kind, "its table exists, and DynamoDB creates local indexes only with the table")
	case !there: // DynamoDB can add a global index
	case was.kind != is.kind:
		return bad("", was.kind, is.kind, "the table has the index, and DynamoDB cannot change its kind")
	case is.partition != "" && is.partition != was.partition:
		return bad(" partition", was.partition, is.partition, "the table has the index, and DynamoDB cannot change its key")
	case is.sort != "" && is.sort != was.sort:
		return bad(" sort", was.sort, is.sort, "the table has the index, and DynamoDB cannot change its key")
	case !carries(was.projection, is.projection):
		return bad(" projection", was.projection, is.projection, "the table has the index, and DynamoDB cannot change its projection: a new index is needed")
	}
	return Change{}, false
}

// compareNew returns the change for a new entity, and what it needs of an existing table that cannot be added. l is nil if
// the table is new too.
func (l tableIndexes) compareNew(e Entity) []Change {
	changes := []Change{{Entity: e.Name, New: "declared", Why: "it has no items yet"}}
	if l == nil {
		return changes
	}
	for _, name := range e.indexes() {
		if c, ok := l.unavailable(e, name); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

// shared judges a change to an index that the table also has for other entities. ok is false if the change needs the
// general rules.
func (l tableIndexes) shared(e Entity, what, a, b string) (c Change, ok bool) {
	name, part, _ := strings.Cut(strings.TrimPrefix(what, "index "), " ")
	was, there := l["index "+name]
	switch {
	case !strings.HasPrefix(what, "index ") || !there || b == "":
		return c, false
	case part == "" && a == "":
		if c, bad := l.unavailable(e, what); bad {
			return c, true
		}
		return Change{Entity: e.Name, What: what, New: b, Why: "the table has it, and items are added to it when they are written"}, true
	case part == "projection" && carries(was.projection, b):
		return Change{Entity: e.Name, What: what, Old: a, New: b, Why: "the index already has this"}, true
	}
	return c, false
}

// judge reports whether a change is breaking, and why. a and b are the old and the new value, "" if absent. A change
// without a rule is breaking.
func judge(what, a, b string) (breaking bool, why string) {
	words := strings.Split(what, " ")
	switch {
	case words[0] == "attribute":
		return judgeAttribute(a, b)
	case words[0] == "index":
		return judgeIndex(words[2:], a, b)
	case isFeature(words[0]):
		return judgeFeature(words, a, b)
	}
	switch what {
	case "table":
		return true, "the items are in the other table"
	case "items":
		return true, "existing items lack the library's attributes, or have them in another form"
	case "payload":
		was, err1 := strconv.Atoi(a)
		is, err2 := strconv.Atoi(b)
		if err1 == nil && err2 == nil && is > was {
			return false, "existing items have the older version"
		}
		return true, "existing items have a newer version than the program"
	case "kind":
		return true, "existing items have another kind, or none, and queries do not find them"
	case "key partition", "key sort":
		return true, "existing items have other keys, and are no longer found"
	case "ttl":
		if a == "" || b == "" {
			return false, "affects only later writes"
		}
		return true, "DynamoDB has one such attribute per table, and existing items have the old one"
	}
	return true, "there is no rule for it"
}

func judgeIndex(part []string, a, b string) (bool, string) {
	if len(part) == 0 {
		switch {
		case b == "":
			return false, "an unused index does no harm, and can be deleted"
		case a == "" && b == "global":
			return false, "DynamoDB fills it with items that have its key attributes; others are added when they are written"
		case a == "":
			return true, "DynamoDB creates local indexes only with the table"
		}
		return true, "DynamoDB cannot change the kind of an index"
	}
	switch part[0] {
	case "name":
		return false, "it is a name in Go, and is not stored"
	case "when":
		return true, "existing items are in the index by the old condition until migrate.Rewrite has run"
	}
	if part[0] == "shards" {
		was, _ := strconv.Atoi(a)
		if is, _ := strconv.Atoi(b); 0 < was && was < is {
			return true, "programs with the old number miss items of those with the new one, until they are replaced; these miss none, and migrate.Rewrite spreads the existing items"
		}
		return true, "queries miss existing items until migrate.Rewrite has run: declare a second index with the new number, run Rewrite, then query that one"
	}
	if part[0] != "projection" {
		return true, "DynamoDB cannot change the key of an index, and existing items have the old one"
	}
	if a == "all" {
		return false, "an index with more than is needed does no harm"
	}
	was := strings.Split(a, " ")
	for _, name := range strings.Split(b, " ") {
		if b == "all" || !slices.Contains(was, name) {
			return true, "DynamoDB cannot change the projection of an index: a new index is needed"
		}
	}
	return false, "an index with more than is needed does no harm"
}

// laterOnly are the settings of features that affect only later writes.
var laterOnly = []string{"ttl", "after", "from", "unique"}

func judgeFeature(words []string, a, b string) (bool, string) {
	feature := words[0]
	switch {
	case len(words) == 2 && slices.Contains(laterOnly, words[1]):
		return false, "affects only later writes"
	case len(words) == 2 && words[1] == "id" && a == "":
		return true, "existing events have keys without an id until migrate.Rewrite has run"
	case len(words) == 2 && words[1] == "expires" && a == "":
		return false, "affects only later writes; Repair gives existing sentinels the expiry of their items"
	case len(words) == 2:
		return true, "what the feature has stored depends on the old one"
	case feature == "timeseries.Events":
		return true, "existing items were not written as a series, or are one and would lose their events"
	case a == "" && strings.HasPrefix(feature, "unique."):
		return false, "existing items have no claims until Repair has run"
	case a == "":
		return false, "existing items stay as they are until they are written"
	case feature == "versioned.Lock":
		return false, "it stores nothing"
	case strings.HasPrefix(feature, "unique."):
		return true, "its sentinels remain, and are out of date if the constraint is declared again"
	}
	return true, "stored data remains but is no longer read or maintained"
}
