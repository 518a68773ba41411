package expiry_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/tests/dbtest"
)

// seconds is a number of seconds since 1970, as items have it; 0 is never.
type seconds = int64

// row is what a test writes of an item.
type row struct {
	ID, Code, Note string
	Ends           seconds
	version        int64
}

// claim is a stored sentinel.
type claim struct {
	id   string
	ends seconds
}

// past is a stored snapshot.
type past struct {
	row
	deleted bool
	until   seconds // when it expires
}

// model is a table as it must be after a sequence of calls, with what DynamoDB has not removed yet.
type model struct {
	items  map[string]row
	claims map[string]claim          // by code
	states map[string]map[int64]past // for a day after they ended
}

func newModel() *model {
	return &model{map[string]row{}, map[string]claim{}, map[string]map[int64]past{}}
}

func gone(ends, now seconds) bool { return ends != 0 && ends <= now }

// live returns the item with an id if a clock that shows now sees it.
func (m *model) live(id string, now seconds) (row, bool) {
	r, there := m.items[id]
	return r, there && !gone(r.Ends, now)
}

// free reports whether an item may claim a code.
func (m *model) free(code, id string, now seconds) bool {
	c, taken := m.claims[code]
	return code == "" || !taken || c.id == id || gone(c.ends, now)
}

const kept = seconds(day / time.Second)

// end records that a state ended with a write.
func (m *model) end(r row, now seconds) {
	m.states[r.ID][r.version] = past{row: r, until: now + kept}
}

// begin records the state that a write makes.
func (m *model) begin(r row, now seconds) {
	m.items[r.ID] = r
	if r.Code != "" {
		m.claims[r.Code] = claim{r.ID, r.Ends}
	}
	if m.states[r.ID] == nil {
		m.states[r.ID] = map[int64]past{}
	}
	p := past{row: r}
	if r.Ends != 0 {
		p.until = max(now, r.Ends) + kept
	}
	m.states[r.ID][r.version] = p
}

// giveUp removes the claim of a code, if the item still has it.
func (m *model) giveUp(code, id string) {
	if m.claims[code].id == id {
		delete(m.claims, code)
	}
}

// create begins a life. It reports false if another item has the code.
func (m *model) create(r row, now seconds) bool {
	if !m.free(r.Code, r.ID, now) {
		return false
	}
	r.version = 1
	for n := range m.states[r.ID] {
		r.version = max(r.version, n+1)
	}
	m.begin(r, now)
	return true
}

// update changes a live item. It reports false if another item has the code.
func (m *model) update(is row, now seconds) bool {
	was := m.items[is.ID]
	if same := is.Code == was.Code; !same || is.Ends != was.Ends {
		if !m.free(is.Code, is.ID, now) {
			return false
		}
		if !same {
			m.giveUp(was.Code, was.ID)
		}
	}
	m.end(was, now)
	is.version = was.version + 1
	c, claimed := m.claims[is.Code]
	m.begin(is, now)
	if is.Code != "" && is.Code == was.Code && is.Ends == was.Ends { // which writes no sentinel
		delete(m.claims, is.Code)
		if claimed {
			m.claims[is.Code] = c
		}
	}
	return true
}

// remove deletes a live item.
func (m *model) remove(id string, now seconds) {
	r := m.items[id]
	m.end(r, now)
	n := r
	n.version++
	m.states[id][n.version] = past{row: n, deleted: true, until: now + kept}
	m.giveUp(r.Code, id)
	delete(m.items, id)
}

// purge removes everything that is known to belong to an item.
func (m *model) purge(id string) {
	if r, there := m.items[id]; there {
		m.giveUp(r.Code, id)
	}
	delete(m.items, id)
	delete(m.states, id)
}

// lines describes the table, one line for each stored item, in order.
func (m *model) lines() []string {
	all := []string{}
	for _, r := range m.items {
		all = append(all, fmt.Sprintf("item %s v%d code %q note %q ends %d", r.ID, r.version, r.Code, r.Note, r.Ends))
	}
	for code, c := range m.claims {
		all = append(all, fmt.Sprintf("code %s of %s ends %d", code, c.id, c.ends))
	}
	for _, states := range m.states {
		for _, p := range states {
			all = append(all, fmt.Sprintf("state %s v%d code %q note %q ends %d deleted %t until %d", p.ID, p.version, p.Code, p.Note, p.Ends, p.deleted, p.until))
		}
	}
	slices.Sort(all)
	return all
}

func number(it dbtest.Item, name string) int64 {
	n, _ := strconv.ParseInt(dbtest.Text(it[name]), 10, 64)
	return n
}

// codeOf returns the code that a sentinel claims.
func codeOf(sentinel dbtest.Item) string {
	_, code, _ := strings.Cut(dbtest.Text(sentinel["pk"]), ".code#")
	return code
}

// ownerOf returns the id of the item that a sentinel names.
func ownerOf(sentinel dbtest.Item) string {
	_, id, _ := strings.Cut(strings.TrimPrefix(dbtest.Text(sentinel["_entity_pk"]), "$app#v1#"), "#")
	return id
}

// describe is lines for stored items.
func describe(items []dbtest.Item) []string {
	all := []string{}
	for _, it := range items {
		text := func(name string) string { return dbtest.Text(it[name]) }
		switch {
		case dbtest.IsSentinel(it):
			all = append(all, fmt.Sprintf("code %s of %s ends %d", codeOf(it), ownerOf(it), number(it, "ends")))
		case it["_k"] != nil:
			all = append(all, fmt.Sprintf("state %s v%d code %q note %q ends %d deleted %t until %d", text("id"), number(it, "version"), text("code"), text("note"),
				number(it, "_ends"), it["_deleted"] != nil, number(it, "ends")))
		default:
			all = append(all, fmt.Sprintf("item %s v%d code %q note %q ends %d", text("id"), number(it, "version"), text("code"), text("note"), number(it, "ends")))
		}
	}
	slices.Sort(all)
	return all
}

// expired returns what DynamoDB may remove by its clock, as functions that remove it from the model, by the key of the item.
func (m *model) expired(now seconds) map[string]func() {
	all := map[string]func(){}
	for id, r := range m.items {
		if gone(r.Ends, now) {
			all["item "+id] = func() { delete(m.items, id) }
		}
	}
	for code, c := range m.claims {
		if gone(c.ends, now) {
			all["code "+code] = func() { delete(m.claims, code) }
		}
	}
	for id, states := range m.states {
		for n, p := range states {
			if gone(p.until, now) {
				all[fmt.Sprintf("state %s v%d", id, n)] = func() { delete(m.states[id], n) }
			}
		}
	}
	return all
}

// problems returns what is wrong in a table, whatever made it, by a clock that is not behind any other.
func (m *model) problems(now seconds) (all []string) {
	owners := map[string]string{}
	for _, id := range slices.Sorted(maps.Keys(m.items)) {
		r, live := m.live(id, now)
		if !live || r.Code == "" {
			continue
		}
		if other, twice := owners[r.Code]; twice {
			all = append(all, fmt.Sprintf("%s and %s have %s", other, id, r.Code))
		}
		owners[r.Code] = id
		if m.claims[r.Code] != (claim{id, r.Ends}) {
			all = append(all, fmt.Sprintf("%s has %s, whose sentinel is %v", id, r.Code, m.claims[r.Code]))
		}
	}
	for code, c := range m.claims {
		if r, live := m.live(c.id, now); c.ends == 0 && !(live && r.Ends == 0 && r.Code == code) {
			all = append(all, fmt.Sprintf("the sentinel of %s stays for ever", code))
		}
	}
	for id, states := range m.states {
		for n, p := range states {
			if r, live := m.live(id, now); p.until == 0 && !(live && r.Ends == 0 && r.version == n) {
				all = append(all, fmt.Sprintf("version %d of %s stays for ever", n, id))
			}
		}
	}
	slices.Sort(all)
	return all
}
