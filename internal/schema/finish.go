package schema

import "slices"

// reserved are the attributes that a model must not have, whatever the declaration: the library may write them now or
// when a feature is declared later.
var reserved = []string{EntityAttr, WriteAttr, KindAttr, AtAttr, PayloadAttr, OpAttr, TouchedAttr, DeletedAttr, OwnerPKAttr, OwnerSKAttr}

// Reserved reports that an attribute belongs to the library.
func Reserved(name string) bool { return slices.Contains(reserved, name) }

// finish checks what can only be seen when every declaration is read.
func (b *builder) finish() {
	s := b.s
	for _, a := range s.Attrs {
		if Reserved(a.Name) || s.Templated && a.Name == s.Options.TTL && !s.Expires {
			b.add(CodeReservedAttr, a.Field, "the attribute %q belongs to the library", a.Name)
		}
	}
	if s.PK != nil {
		b.keyCollisions()
	}
	if s.Profile.shared && s.Templated {
		b.interop()
	}
	if s.RelatedSuffix > 0 && (s.SK == nil || !s.SK.Prefixed) {
		b.add(CodeRelatedKey, "", "events, snapshots and deleted copies lie beside the current item: they need a sort key that begins with $")
	}
	for _, a := range s.Attrs {
		if a.Append && !b.unread && !slices.Contains(featureNames(s), "timeseries") {
			b.add(CodeRoleType, a.Field, "append is for time series: declare timeseries.Events")
		}
	}
	if s.DeletedAt != nil && !b.unread && !slices.Contains(featureNames(s), "lifecycle") {
		b.add(CodeDeletedAtRole, s.DeletedAt.Field, "deleted_at needs a lifecycle.SoftDelete declaration")
	}
}

// Named is implemented by what a feature keeps, so that declarations can be checked against each other without the
// features knowing one another.
type Named interface{ FeatureName() string }

func featureNames(s *Schema) []string {
	var names []string
	for _, f := range s.Features {
		if n, ok := f.(Named); ok {
			names = append(names, n.FeatureName())
		}
	}
	return names
}

// keyCollisions finds attributes that two keys, or a key and the model, would both write.
func (b *builder) keyCollisions() {
	owner := map[string]string{}
	claim := func(h *KeyDef, what string) {
		if !h.Written() {
			return
		}
		if a := b.s.byName[h.Attr]; a != nil {
			b.add(CodeReservedAttr, a.Field, "the attribute %q is written by %s", h.Attr, what)
		}
		if Reserved(h.Attr) || h.Attr == b.s.Options.TTL {
			b.add(CodeReservedAttr, "", "%s cannot be stored in %q, which belongs to the library", what, h.Attr)
		}
		if other, ok := owner[h.Attr]; ok {
			b.add(CodeKeyAttrCollision, "", "%s and %s are both stored in the attribute %q", other, what, h.Attr)
			return
		}
		owner[h.Attr] = what
	}
	claim(b.s.PK, "the partition key")
	claim(b.s.SK, "the sort key")
	for _, x := range b.s.Indexes {
		if !x.Local {
			claim(x.PK, "the partition key of index "+x.Name)
		}
		claim(x.SK, "the sort key of index "+x.Name)
	}
	if d := b.s.Discriminator; d != nil {
		if other, ok := owner[d.Attr]; ok {
			b.add(CodeKeyAttrCollision, "", "kind is stored in %q, which is %s", d.Attr, other)
		}
		if b.s.Templated {
			b.add(CodeMalformed, "", "kind is for verbatim entities: a $ entity is marked by %s", EntityAttr)
		}
	}
}
