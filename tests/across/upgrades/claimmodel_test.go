package upgrades_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// held is an item or a copy: the payload version that it is stored in, and its unique value in that form.
type held struct {
	form  int
	value string
}

// claim is a stored sentinel.
type claim struct {
	id   string
	ends int64 // seconds since 1970; 0 is never
}

// rule is what a declaration says of the unique value.
type rule struct {
	unique  bool
	ttl     int64  // in seconds; 0 is for ever
	deletes string // "": hard; "free"; "reserve"
}

// claims is a table as it must be: items and copies, the oldest first, by id, and sentinels by value. Every item has had the
// same constraint, if it had one, and step makes the value of payload version 2 of that of version 1.
type claims struct {
	items  map[string]held
	copies map[string][]held
	taken  map[string]claim
	step   func(string) string
}

func (m *claims) clone() *claims {
	return &claims{maps.Clone(m.items), maps.Clone(m.copies), maps.Clone(m.taken), m.step}
}

// String returns the table as text, to be compared.
func (m *claims) String() string {
	var lines []string
	for id, x := range m.items {
		lines = append(lines, fmt.Sprintf("item %s form %d %q", id, x.form, x.value))
	}
	for id, all := range m.copies {
		for i, x := range all {
			lines = append(lines, fmt.Sprintf("copy %s %d form %d %q", id, i, x.form, x.value))
		}
	}
	for v, c := range m.taken {
		lines = append(lines, fmt.Sprintf("claim %q of %s until %d", v, c.id, c.ends))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// read returns what is stored.
func readClaims(b *dbtest.Bench, step func(string) string) (m *claims, order []string) {
	m = &claims{map[string]held{}, map[string][]held{}, map[string]claim{}, step}
	type keyed struct {
		id, sk string
		held
	}
	var copies []keyed
	for _, it := range b.Items() {
		pk, sk := b.KeyOf(it)
		if dbtest.IsSentinel(it) {
			ends, _ := strconv.ParseInt(dbtest.Text(it["_ttl"]), 10, 64)
			m.taken[pk[strings.LastIndex(pk, "#")+1:]] = claim{dbtest.Text(it["_entity_pk"])[len("$app#v1#rec#"):], ends}
			continue
		}
		x := held{1, dbtest.Text(it["mail"])}
		if it["_pv"] != nil {
			x = held{2, dbtest.Text(it["mail"]) + dbtest.Text(it["address"])}
		}
		switch id := dbtest.Text(it["id"]); dbtest.Text(it["_k"]) {
		case "":
			m.items[id] = x
			order = append(order, id)
		case "d":
			copies = append(copies, keyed{id, sk, x})
		}
	}
	slices.SortFunc(copies, func(a, b keyed) int { return strings.Compare(a.sk, b.sk) })
	for _, x := range copies {
		m.copies[x.id] = append(m.copies[x.id], x.held)
	}
	return m, order
}

func ended(c claim, now int64) bool { return c.ends != 0 && c.ends <= now }

// has reports whether an item has a claim of a value that has not ended.
func (m *claims) has(id, value string, now int64) bool {
	c, there := m.taken[value]
	return there && c.id == id && !ended(c, now)
}

// free reports whether an item may claim a value.
func (m *claims) free(id, value string, now int64) bool {
	c, there := m.taken[value]
	return value == "" || !there || c.id == id || ended(c, now)
}

// drop gives up the claim of a value, if the item has it.
func (m *claims) drop(id, value string) {
	if c, there := m.taken[value]; there && c.id == id {
		delete(m.taken, value)
	}
}

// take claims a value, and reports whether it could.
func (m *claims) take(r rule, id, value string, now int64) bool {
	switch {
	case !r.unique || value == "":
		return true
	case !m.free(id, value, now):
		return false
	}
	c := claim{id: id}
	if r.ttl > 0 {
		c.ends = now + r.ttl
	}
	m.taken[value] = c
	return true
}

// today returns the value of an item in the form of payload version 2.
func (m *claims) today(x held) string {
	if x.form == 1 {
		return m.step(x.value)
	}
	return x.value
}

// upgrade stores an item in payload version 2. What it has claimed moves, with its end, unless the value is taken.
func (m *claims) upgrade(id string, now int64) {
	x, there := m.items[id]
	if !there || x.form == 2 {
		return
	}
	was, is := x.value, m.step(x.value)
	m.items[id] = held{2, is}
	if was == is || was == "" {
		return
	}
	c, moves := m.taken[was], m.has(id, was, now)
	m.drop(id, was)
	if other, there := m.taken[is]; moves && is != "" && (!there || ended(other, now)) {
		m.taken[is] = c
	}
}

// set gives an item another value, and reports whether it could.
func (m *claims) set(r rule, id, value string, now int64) bool {
	was := m.items[id]
	if was.value == value {
		return true
	}
	if !m.take(r, id, value, now) {
		return false
	}
	if r.unique {
		m.drop(id, was.value)
	}
	m.items[id] = held{was.form, value}
	return true
}

// remove deletes an item.
func (m *claims) remove(r rule, id string, now int64) {
	x := m.items[id]
	delete(m.items, id)
	if r.deletes != "" {
		m.copies[id] = append(slices.Clone(m.copies[id]), x)
	}
	switch {
	case !r.unique || x.value == "":
	case r.deletes != "reserve":
		m.drop(id, x.value)
	case r.ttl > 0 && m.has(id, x.value, now), r.ttl == 0 && m.free(id, x.value, now):
		m.taken[x.value] = claim{id: id}
	}
}

// restore makes a copy current again, and reports whether it could.
func (m *claims) restore(r rule, id string, n int, now int64) bool {
	x := m.copies[id][n]
	is := m.today(x)
	if !m.take(r, id, is, now) {
		return false
	}
	if x.form == 1 && x.value != is {
		m.drop(id, x.value)
	}
	m.items[id] = held{2, is}
	m.copies[id] = slices.Delete(slices.Clone(m.copies[id]), n, n+1)
	if len(m.copies[id]) == 0 {
		delete(m.copies, id)
	}
	return true
}

// purge removes an item with all that belongs to it.
func (m *claims) purge(id string) {
	for _, x := range append(slices.Clone(m.copies[id]), m.items[id]) {
		m.drop(id, x.value)
		m.drop(id, m.today(x))
	}
	delete(m.items, id)
	delete(m.copies, id)
}

// rewrite brings all items to payload version 2, in the order in which they are scanned: without a ttl it claims what nothing
// claims, and leaves an item whose value another one has.
func (m *claims) rewrite(r rule, order []string, now int64) {
	var due []string
	for _, id := range order {
		if is := m.today(m.items[id]); r.ttl > 0 || m.free(id, is, now) {
			due = append(due, id)
		}
	}
	for _, id := range due {
		x := m.items[id]
		is := m.today(x)
		switch {
		case r.ttl > 0 || is == "":
			m.upgrade(id, now)
		case m.free(id, is, now):
			if m.taken[is] = (claim{id: id}); x.form == 1 && x.value != is {
				m.drop(id, x.value)
			}
			m.items[id] = held{2, is}
		}
	}
	for id, all := range m.copies {
		m.copies[id] = slices.Clone(all)
		for i, x := range all {
			m.copies[id][i] = held{2, m.today(x)}
		}
	}
}

// holders returns the items that have a value in today's form: current ones, and newest copies if they reserve it.
func (m *claims) holders(r rule, value string) (ids []string) {
	for id, x := range m.items {
		if m.today(x) == value {
			ids = append(ids, id)
		}
	}
	for id, all := range m.copies {
		if _, exists := m.items[id]; r.deletes == "reserve" && !exists && m.today(all[len(all)-1]) == value {
			ids = append(ids, id)
		}
	}
	return ids
}

// keeps reports whether an item, or its newest copy, has a value in the form that is stored.
func (m *claims) keeps(r rule, id, value string) bool {
	x, exists := m.items[id]
	if all := m.copies[id]; !exists && r.deletes == "reserve" && len(all) > 0 {
		x, exists = all[len(all)-1], true
	}
	return exists && x.value == value
}

// repair makes sentinels agree with items.
func (m *claims) repair(r rule, now int64) {
	values := slices.Collect(maps.Keys(m.taken))
	for id := range m.items {
		values = append(values, m.today(m.items[id]))
	}
	for _, all := range m.copies {
		values = append(values, m.today(all[len(all)-1]))
	}
	slices.Sort(values)
	before := m.clone()
	for _, v := range slices.Compact(values) {
		c, there := before.taken[v]
		live, ids := there && !ended(c, now), before.holders(r, v)
		switch {
		case v == "":
		case live && before.keeps(r, c.id, v) && (r.ttl > 0 || len(ids) == 0):
		case r.ttl > 0:
			if live && !slices.Contains(ids, c.id) {
				delete(m.taken, v)
			}
		case len(ids) == 0 && live:
			delete(m.taken, v)
		case len(ids) == 1 && (!live || c.id != ids[0]):
			m.taken[v] = claim{id: ids[0]}
		}
	}
}
