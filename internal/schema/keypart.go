package schema

import (
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
)

// keyParts are the attributes that the texts of halves tell, in order.
func keyParts(halves ...*KeyDef) []item.KeyPart {
	var parts []item.KeyPart
	for _, h := range halves {
		if !h.Written() {
			continue
		}
		for _, a := range h.Parts {
			if !h.Template.Determines(a.Name) {
				continue
			}
			i := slices.IndexFunc(parts, func(p item.KeyPart) bool { return p.Attr == a.Name })
			if i < 0 {
				i = len(parts)
				parts = append(parts, item.KeyPart{Attr: a.Name})
			}
			if at := (item.KeyText{Attr: h.Attr, Template: h.Template}); !slices.Contains(parts[i].Keys, at) {
				parts[i].Keys = append(parts[i].Keys, at)
			}
		}
	}
	return parts
}

// parts lets the codec read key parts back that an item lacks: those of the primary key anywhere, for it never changes.
// Those of an index key only where the index does not carry them, since other programs may leave an index key behind of
// which a part has been removed.
func (b *builder) parts() {
	s := b.s
	s.Codec.Parts = keyParts(s.PK, s.SK)
	for _, x := range s.Indexes {
		if !x.Project.All {
			codec := s.Codec
			codec.Parts = keyParts(s.PK, s.SK, x.PK, x.SK)
			x.codec = &codec
		}
	}
}

// CodecOf is the codec of items that are read through x; nil is the table.
func (s *Schema) CodecOf(x *Index) *item.Codec {
	if x != nil && x.codec != nil {
		return x.codec
	}
	return &s.Codec
}

// Carries reports that an item in the index has the attribute.
func (s *Schema) Carries(x *Index, name string) bool {
	if x.Project.All || slices.Contains(x.Project.Include, name) {
		return true
	}
	for _, h := range []*KeyDef{s.PK, s.SK, x.PK, x.SK} {
		if slices.Contains(h.Attributes(), name) {
			return true
		}
	}
	return false
}

// projected checks that the key parts of items in the index come back.
func (x *Index) projected(d *Decl) {
	s, seen := d.Schema, map[*Attr]bool{}
	known := keyParts(s.PK, s.SK, x.PK, x.SK)
	for _, h := range []*KeyDef{s.PK, s.SK, x.PK, x.SK} {
		if h == nil {
			continue
		}
		for _, a := range h.Parts {
			if seen[a] || s.Carries(x, a.Name) || slices.ContainsFunc(known, func(p item.KeyPart) bool { return p.Attr == a.Name }) {
				continue
			}
			seen[a] = true
			d.Problem(CodeProjectedPart, "the index does not carry the attribute %q, and it cannot be read back from %s, where it is in lower case; name it in project", a.Name, h)
		}
	}
}
