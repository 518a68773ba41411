package subject

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/identify"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A naming says how an item names the subject; a higher one includes the lower.
type naming int

const (
	unnamed naming = iota
	byShare        // in a set or list, together with others
	byEvent        // in a field that the appends of a series write: each event has its own subject
	byItem         // in another field: what belongs to the item is the subject's too
	byKey          // in the primary key, as all that belongs to the item does
)

// named returns the strings that an attribute is or has as a set or list.
func named(av types.AttributeValue) (all []string) {
	switch v := av.(type) {
	case *types.AttributeValueMemberS:
		return []string{v.Value}
	case *types.AttributeValueMemberSS:
		return v.Value
	case *types.AttributeValueMemberL:
		for _, one := range v.Value {
			if s, ok := one.(*types.AttributeValueMemberS); ok {
				all = append(all, s.Value)
			}
		}
	}
	return all
}

// names reports whether an attribute is the id of the subject, or a set or list with it.
func names(av types.AttributeValue, id string) bool { return slices.Contains(named(av), id) }

// shared reports whether an attribute names others, too.
func shared(av types.AttributeValue, id string) bool {
	return slices.ContainsFunc(named(av), func(other string) bool { return other != id })
}

// naming returns how an item of the entity names the subject, in today's form or as it is stored.
func (t *tracked) naming(x layout.Stored, owner item.Item, id string) (n naming) {
	for _, a := range t.s.Subjects {
		if !names(x.Item[a.Name], id) && !names(x.Raw[a.Name], id) {
			continue
		}
		switch {
		case t.s.KeyPart(a):
			n = byKey
		case shared(x.Item[a.Name], id):
			n = max(n, byShare)
		case a.Append || a.Clock:
			n = max(n, byEvent)
		default:
			n = max(n, byItem)
		}
	}
	if a := t.s.Subjects[0]; t.keyed && x.Raw[a.Name] == nil { // other programs can leave the parts of a key out
		if key := t.partition(id); key != nil && item.Equal(owner[t.s.PK.Attribute()], key) {
			n = byKey
		}
	}
	return n
}

// partition returns the partition key of the items of a keyed entity that name the subject, nil if none can.
func (t *tracked) partition(id string) types.AttributeValue {
	k := t.s.PK
	if k.Template == nil {
		return item.S(id)
	}
	text, missing, err := k.Template.Compose(item.Item{k.Parts[0].Name: item.S(id)})
	if err != nil || len(missing) > 0 {
		return nil
	}
	return item.S(text)
}

// mentions reports whether any string in an item is the id, whatever its attribute means.
func mentions(av types.AttributeValue, id string) bool {
	m, ok := av.(*types.AttributeValueMemberM)
	if !ok {
		list, ok := av.(*types.AttributeValueMemberL)
		if !ok {
			return names(av, id)
		}
		return slices.ContainsFunc(list.Value, func(one types.AttributeValue) bool { return mentions(one, id) })
	}
	for name, one := range m.Value {
		if name == id || mentions(one, id) {
			return true
		}
	}
	return false
}

// mentioned is mentions for an item.
func mentioned(it item.Item, id string) bool {
	for _, av := range it { // names of attributes come from declarations
		if mentions(av, id) {
			return true
		}
	}
	return false
}

// kinds are the kinds of an entity's items by the mark that they have.
var kinds = map[string]Kind{layout.CurrentKind: Current, layout.SnapshotKind: Version, layout.EventKind: Event, layout.CopyKind: Copy}

// A member is a stored item, as it is to the entity that it is of.
type member struct {
	layout.Stored
	kind   Kind
	owner  item.Item // primary key of the current item that it is or belongs to
	naming naming
	left   string // why it cannot be decided about; "" if it can
}

// member returns an own item of the entity as a member.
func (t *tracked) member(raw item.Item, id identify.Identity, subject string) *member {
	m := &member{kind: kinds[id.Kind], owner: id.Owner}
	var err error
	if m.Stored, err = layout.Open(t.s, raw); err != nil {
		m.Raw, m.Item = raw, nil
	}
	m.naming = t.naming(m.Stored, m.owner, subject)
	switch named := m.naming != unnamed || err != nil && mentioned(raw, subject); {
	case !named:
	case !id.Known || m.kind == "" || m.owner == nil:
		m.kind, m.left = Other, leftKind
	case err != nil:
		m.left = leftUnreadable
	}
	return m
}

// key returns the primary key of the member.
func (m *member) key(s *schema.Schema) item.Item { return layout.KeyOf(s, m.Raw) }
