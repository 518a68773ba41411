package schemalock

import (
	"slices"
	"strings"
)

// tableIndex is an index as the entities of one table have it together.
type tableIndex struct {
	kind       string // global or local
	partition  string // attributes and types of its key halves; "" where no entity has one
	sort       string
	projection string
}

// tableIndexes are the indexes of a table by their names as in the file.
type tableIndexes map[string]tableIndex

// tableOf is the logical table of an entity.
func tableOf(e Entity) string {
	table, _ := e.value("table")
	return table
}

// indexesOf are the indexes of a table; nil when no entity is in the table.
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

// indexes are the names of an entity's indexes, as in "index gsi1".
func (e Entity) indexes() (names []string) {
	for _, f := range e.Facts {
		if words := strings.Split(f.What, " "); words[0] == "index" && len(words) == 2 {
			names = append(names, f.What)
		}
	}
	return names
}

// joined is an index of the entity together with what others of the table have of it.
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
	x.projection = together(x.projection, fact(" projection"))
	return x
}

// attributesOf are the attributes of a key half and their types, without what an entity composes them of.
func attributesOf(half string) string {
	words := strings.Split(half, " ")
	if words[0] == "native" {
		return strings.Join(slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "time=") }), " ")
	}
	return strings.Join(words[:min(2, len(words))], " ")
}

// together is what an index carries for two entities; "" is none yet.
func together(a, b string) string {
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

// carries reports that an index with projection a has all that b asks for.
func carries(a, b string) bool { return a != "" && together(a, b) == together(a, "keys") }

// unfit is what an entity asks of an index that the table cannot give: DynamoDB changes neither what an index carries nor its
// key, and makes local indexes together with the table only. ok reports that there is such a thing.
func (l tableIndexes) unfit(e Entity, name string) (c Change, ok bool) {
	was, there := l[name]
	is := e.joined(name, tableIndex{})
	bad := func(part, a, b, why string) (Change, bool) { return Change{true, e.Name, name + part, a, b, why}, true }
	switch {
	case !there && is.kind == "local":
		return bad("", "", is.kind, "its table is there, and DynamoDB makes local indexes together with the table only")
	case !there: // DynamoDB adds a global index
	case was.kind != is.kind:
		return bad("", was.kind, is.kind, "the table has the index, and DynamoDB cannot change its kind")
	case is.partition != "" && is.partition != was.partition:
		return bad(" partition", was.partition, is.partition, "the table has the index, and DynamoDB cannot change its key")
	case is.sort != "" && is.sort != was.sort:
		return bad(" sort", was.sort, is.sort, "the table has the index, and DynamoDB cannot change its key")
	case !carries(was.projection, is.projection):
		return bad(" projection", was.projection, is.projection, "the table has the index, and DynamoDB cannot change what it carries: a new index is needed")
	}
	return Change{}, false
}

// compareNew lists a new entity, and what it asks of a table that is there and cannot be given to it. l is nil where the
// table is new too.
func (l tableIndexes) compareNew(e Entity) []Change {
	changes := []Change{{Entity: e.Name, New: "declared", Why: "there are no items of it yet"}}
	if l == nil {
		return changes
	}
	for _, name := range e.indexes() {
		if c, ok := l.unfit(e, name); ok {
			changes = append(changes, c)
		}
	}
	return changes
}

// shared judges a change of what an entity asks of an index that its table has for other entities. ok is false where that is
// not all there is to it.
func (l tableIndexes) shared(e Entity, what, a, b string) (c Change, ok bool) {
	name, part, _ := strings.Cut(strings.TrimPrefix(what, "index "), " ")
	was, there := l["index "+name]
	switch {
	case !strings.HasPrefix(what, "index ") || !there || b == "":
		return c, false
	case part == "" && a == "":
		if c, bad := l.unfit(e, what); bad {
			return c, true
		}
		return Change{Entity: e.Name, What: what, New: b, Why: "the table has it, and items enter it when they are written"}, true
	case part == "projection" && carries(was.projection, b):
		return Change{Entity: e.Name, What: what, Old: a, New: b, Why: "the index carries this already"}, true
	}
	return c, false
}
