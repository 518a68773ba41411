package console

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/tables/schemalock"
)

// A model holds what is known of the entities of a database.
type model struct {
	entities []*entityModel // by name; read models after the others
	blind    bool           // which attributes are secret is unknown
}

// entityModel is one entity.
type entityModel struct {
	s        *schema.Schema
	facts    schemalock.Entity
	table    string // physical
	uniques  []constraint
	order    []string // of a series: the attributes orderBy and id
	features []string
	derived  Kind // of the items of a read model; "" for others
	guarded  bool // the read model is made from entities that have secrets, or may be
}

// constraint is a unique constraint.
type constraint struct {
	name string
	key  *key.Template
}

// Names of what read models store besides rows; the name of the view follows. An entity of the program can have such a name too.
var derivedNames = []struct {
	prefix string
	kind   Kind
}{{"TimelineParts-", KindParts}, {"TimelinePages-", KindPages}, {"TimelineManifest-", KindManifest}, {"TimelineLog-", KindManifest}}

// modelOf returns the model of a lock. physical maps logical names of tables, "" for the default one.
func modelOf(l schemalock.Lock, physical func(logical string) string) (*model, error) {
	if l.Err() != nil {
		return nil, l.Err()
	}
	m := &model{blind: l.Format == 1}
	for i, e := range slices.Concat(l.Entities, l.Derived) {
		em, err := restore(e, i >= len(l.Entities))
		if err != nil {
			return nil, err
		}
		em.table = physical(em.s.Table)
		m.entities = append(m.entities, em)
	}
	space := m.namespace()
	for _, em := range m.entities {
		if em.s.Prefix == "" && space != "" { // of sentinels and checkpoints of an entity whose own keys have none
			em.s.Prefix = space + strings.ToLower(em.s.Name)
		}
	}
	for _, em := range m.entities[len(l.Entities):] {
		em.derived = KindRow
		for _, d := range derivedNames {
			if strings.HasPrefix(em.s.Name, d.prefix) {
				em.derived = d.kind
				break
			}
		}
	}
	for _, em := range m.entities[len(l.Entities):] {
		em.guarded = m.madeFromSecrets(em)
	}
	return m, nil
}

// namespace returns how keys of the library begin, such as $app#v1#; "" if no declared key shows it. All of a database begin with the same.
func (m *model) namespace() string {
	for _, e := range m.entities {
		prefixes := []string{e.s.Prefix}
		for _, c := range e.uniques {
			prefixes = append(prefixes, c.key.Prefix)
		}
		for _, prefix := range prefixes {
			if parts := strings.SplitAfterN(prefix, "#", 3); len(parts) == 3 {
				return parts[0] + parts[1]
			}
		}
	}
	return ""
}

// madeFromSecrets reports whether a source of a read model has secrets, or is not known. A lock that does not name the sources was
// written before they were kept.
func (m *model) madeFromSecrets(e *entityModel) bool {
	sources := strings.Fields(e.setting("sources"))
	if len(sources) == 0 {
		return m.hasSecrets()
	}
	return sources[0] != "(feeds)" && slices.ContainsFunc(sources, func(name string) bool {
		source, err := m.entity(name)
		return err != nil || len(m.secretAttrs(source)) > 0
	})
}

// hasSecrets reports whether any entity has something that is never printed.
func (m *model) hasSecrets() bool {
	return m.blind || slices.ContainsFunc(m.entities, func(e *entityModel) bool { return len(m.secretAttrs(e)) > 0 })
}

// rowAttrs are the attributes of rows, and of their pages, that hold what the program's functions have made from its entities.
var rowAttrs = []string{"group", "groups", "key", "state"}

// withholds reports whether values of an attribute are never printed, although they are not declared secret: a read model has made
// them from secrets.
func (e *entityModel) withholds(attr string) bool {
	return e.guarded && (e.derived == KindRow || e.derived == KindPages) && slices.Contains(rowAttrs, attr)
}

// modelOfDB returns the model of the declarations on a database.
func modelOfDB(db *entity.DB) (*model, error) {
	tables := map[string]string{}
	for _, t := range engine.DatabaseOf(db).Tables() {
		for _, s := range t.Entities {
			tables[s.Table] = t.Name
		}
	}
	return modelOf(schemalock.Of(db), func(logical string) string { return tables[logical] })
}

// entity returns the entity with a name, whatever its case. The error names the others.
func (m *model) entity(name string) (*entityModel, error) {
	var names []string
	for _, e := range m.entities {
		if strings.EqualFold(e.s.Name, name) {
			return e, nil
		}
		names = append(names, e.s.Name)
	}
	return nil, invalid(bind.CodeConsoleName, "there is no entity %s; there are: %s", name, strings.Join(names, ", "))
}

// manifestOf returns what stores the manifest of the view that has rows; nil if the lock lacks it. An entity of the program may have its name.
func (m *model) manifestOf(rows *entityModel) *entityModel {
	i := slices.IndexFunc(m.entities, func(e *entityModel) bool {
		return e.derived == KindManifest && e.table == rows.table && e.s.Name == "TimelineManifest-"+rows.view()
	})
	if i < 0 {
		return nil
	}
	return m.entities[i]
}

// view returns the name of the view whose rows the entity has; "" for others.
func (e *entityModel) view() string {
	if e.derived != KindRow {
		return ""
	}
	return strings.TrimPrefix(e.s.Name, "Timeline-")
}

// tables returns the physical tables, in order.
func (m *model) tables() []string {
	var names []string
	for _, e := range m.entities {
		names = append(names, e.table)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// on returns the entities of a physical table.
func (m *model) on(table string) []*entityModel {
	var all []*entityModel
	for _, e := range m.entities {
		if e.table == table {
			all = append(all, e)
		}
	}
	return all
}

// undeclared reports whether an attribute of a stored item is neither of the declaration nor of the library.
func (e *entityModel) undeclared(attr string) bool {
	if e.derived != "" || e.s.Attr(attr) != nil || schema.Reserved(attr) || attr == e.s.Options.TTL || attr == schema.DeletedAtAttr {
		return false
	}
	if d := e.s.Discriminator; d != nil && d.Attr == attr {
		return false
	}
	return !slices.ContainsFunc(e.s.Keys(), func(k *schema.KeyDef) bool { return slices.Contains(k.Attributes(), attr) })
}

// mayHaveSecrets reports whether undeclared attributes of an entity may be secrets of an earlier declaration: it has secrets, or its
// payload has changed.
func (m *model) mayHaveSecrets(e *entityModel) bool {
	return e.s.Payload > 1 || len(m.secretAttrs(e)) > 0
}

// hides reports whether values of an attribute are never printed: it is secret, may have been, is made from secrets by a read model,
// or is a key that is composed from one of these.
func (m *model) hides(e *entityModel, attr string) bool {
	if layout.Hides(e.s, attr) || e.withholds(attr) || e.undeclared(attr) && m.mayHaveSecrets(e) {
		return true
	}
	for _, k := range slices.Concat(e.s.Keys(), e.s.RelatedKeys) {
		if k.Attr == attr && slices.ContainsFunc(k.Parts, func(a *schema.Attr) bool { return e.withholds(a.Name) }) {
			return true
		}
	}
	if !m.blind || schema.Reserved(attr) || attr == e.s.Options.TTL {
		return false
	}
	for _, k := range e.s.Keys() {
		if slices.Contains(k.Attributes(), attr) || slices.ContainsFunc(k.Parts, func(a *schema.Attr) bool { return a.Name == attr }) {
			return false
		}
	}
	a := e.s.Attr(attr)
	return a == nil || !a.Owned() && !a.Clock
}

// has reports whether the entity declares a feature, such as versioned.Retain.
func (e *entityModel) has(feature string) bool { return slices.Contains(e.features, feature) }

// setting returns a setting of a feature, such as versioned.Retain ttl; "" if absent.
func (e *entityModel) setting(what string) string {
	for _, f := range e.facts.Facts {
		if f.What == what {
			return f.Text()
		}
	}
	return ""
}

// partNames returns the attributes that the primary key is made of.
func (e *entityModel) partNames() []string {
	var names []string
	for _, k := range []*schema.KeyDef{e.s.PK, e.s.SK} {
		if k == nil {
			continue
		}
		for _, a := range k.Parts {
			if !slices.Contains(names, a.Name) {
				names = append(names, a.Name)
			}
		}
	}
	return names
}

// index returns the index with a name, in Go or in DynamoDB.
func (e *entityModel) index(name string) (*schema.Index, error) {
	var names []string
	for _, x := range e.s.Indexes {
		if x.Name == name || x.Index == name {
			return x, nil
		}
		names = append(names, cmp.Or(x.Name, x.Index))
	}
	return nil, invalid(bind.CodeConsoleName, "%s has no index %s; it has: %s", e.s.Name, name, cmp.Or(strings.Join(names, ", "), "none"))
}

// kinds returns the kinds of items that the entity stores, in the order in which a partition is drawn.
func (e *entityModel) kinds() []Kind {
	if e.derived != "" {
		return []Kind{e.derived}
	}
	all := []Kind{KindCurrent}
	if e.has("timeseries.Events") {
		all = append(all, KindEvent)
	}
	if e.has("versioned.Retain") {
		all = append(all, KindVersion)
	}
	if e.has("lifecycle.SoftDelete") {
		all = append(all, KindDeleted)
	}
	return all
}

// infixOf returns the infix of a related item's sort key.
func infixOf(k Kind) string {
	for _, x := range layout.RelatedKinds {
		if relatedKinds[x.Kind] == k {
			return x.Infix
		}
	}
	return ""
}

// secretAttrs returns the attributes that are never printed, in order.
func (m *model) secretAttrs(e *entityModel) []string {
	var names []string
	for _, a := range e.s.Attrs {
		if a.IsSecret() {
			names = append(names, a.Name)
		}
	}
	switch {
	case e.guarded && e.derived == KindRow:
		names = []string{"group", "key", "state"}
	case e.guarded && e.derived == KindPages:
		names = []string{"groups"}
	}
	return names
}
