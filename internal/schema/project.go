package schema

import (
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Subset is an entity read into a smaller struct: what to fetch, and how to decode it.
type Subset struct {
	Names []string
	Codec item.Codec
}

// Project compiles struct type t as a subset of s, for items that are read through x; nil is the table. Key parts that the
// index does not carry are not fetched but read back. The error joins a *Error for each field that s does not have or has
// with another type.
func Project(t reflect.Type, s *Schema, x *Index) (Subset, error) {
	b, err := newBuilder(t, s.Options, "a projection")
	if err != nil {
		return Subset{}, err
	}
	b.walk(t, nil, "")
	for _, a := range b.s.Attrs {
		of := s.byName[a.Name]
		switch {
		case of == nil:
			b.add(CodeUnknownAttr, a.Field, "the attribute %q is not in %s", a.Name, s.Type)
			continue
		case bare(a.Type) != bare(of.Type):
			b.add(CodeRoleType, a.Field, "the field is a %s in %s", of.Type, s.Type)
		}
		a.Format = of.Format
		if of.Text && !a.Text {
			a.becomeText()
		}
	}
	if len(b.s.Attrs) == 0 {
		b.add(CodeUnknownAttr, "", "the struct has no attributes")
	}
	if err := b.err(); err != nil {
		return Subset{}, err
	}
	b.codec()
	subset := Subset{Codec: b.s.Codec, Names: []string{}}
	for _, p := range s.CodecOf(x).Parts {
		if b.s.byName[p.Attr] != nil {
			subset.Codec.Parts = append(subset.Codec.Parts, p)
		}
	}
	for _, a := range b.s.Attrs {
		known := slices.ContainsFunc(subset.Codec.Parts, func(p item.KeyPart) bool { return p.Attr == a.Name })
		if x == nil || s.Carries(x, a.Name) || !known {
			subset.Names = append(subset.Names, a.Name)
		}
	}
	return subset, nil
}

func bare(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}
