package schema

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// half compiles the text of one key half. stored is the attribute that holds a `$` key. It returns nil after
// reporting a mistake.
func (d *Decl) keyDef(option, text, stored string, maxNative int) *KeyDef {
	k, err := tag.ParseKey(text)
	if err != nil {
		d.Problem(CodeMalformed, "%s:%q: %v", option, text, err)
		return nil
	}
	if k.Form == tag.Native {
		return d.native(option, k, maxNative)
	}
	h := &KeyDef{Attr: stored, Type: types.ScalarAttributeTypeS, Prefixed: k.Form == tag.Prefixed, Template: &key.Template{}}
	if h.Prefixed {
		h.Template.Prefix, h.Template.Escaped = d.Schema.Prefix, true
	} else {
		h.Attr = k.Attr
	}
	ok := true
	for _, s := range k.Segments {
		segment := key.Segment{Literal: s.Literal}
		if h.Prefixed && d.Schema.Profile.lowerCase {
			segment.Literal = strings.ToLower(s.Literal)
		}
		if s.Field != nil {
			a := d.part(option, s.Field.Attr)
			if a == nil {
				ok = false
				continue
			}
			segment.Field = d.placeholder(option, a, s.Field)
			if segment.Field == nil {
				ok = false
				continue
			}
			if h.Prefixed {
				segment.Field = d.Schema.Profile.InDollar(segment.Field)
			}
			h.Parts = append(h.Parts, a)
		}
		h.Template.Segments = append(h.Template.Segments, segment)
	}
	if !ok {
		return nil
	}
	return h
}

// part returns the attribute that a key names.
func (d *Decl) part(option, name string) *Attr {
	if a := d.Schema.byName[name]; a != nil {
		return a
	}
	d.Problem(CodeUnknownAttr, "%s names the attribute %q, which the struct does not have%s", option, name, d.Meant(name))
	return nil
}

// Meant continues a message about an attribute that the struct does not have: what may have been meant by the name.
func (d *Decl) Meant(name string) string {
	if a := d.NamedInJSON(name); a != nil {
		return fmt.Sprintf("; json tags are not read: give field %s the tag dynamodbav:%q", a.Field, name)
	}
	known := make([]string, len(d.Schema.Attrs))
	for i, a := range d.Schema.Attrs {
		known[i] = a.Name
	}
	if near := tag.Nearest(name, known); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// NamedInJSON is the attribute whose field has that name in a json tag, and no dynamodbav tag.
func (d *Decl) NamedInJSON(name string) *Attr {
	for _, a := range d.Schema.Attrs {
		f := d.Schema.Type.FieldByIndex(a.Index)
		named, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if _, tagged := f.Tag.Lookup("dynamodbav"); named == name && !tagged {
			return a
		}
	}
	return nil
}

// placeholder returns how an attribute is written in a template.
func (d *Decl) placeholder(option string, a *Attr, p *tag.Placeholder) *key.Field {
	d.asPart(a)
	if a.Key == nil {
		if d.textOfNumber(option, a) {
			return nil
		}
		d.Problem(CodeKeyPartType, "%s: attribute %q of type %s cannot be part of a key; strings, integers, booleans and times can%s", option, a.Name, a.Type, textHint(a))
		return nil
	}
	f := *a.Key
	f.Width, f.Lower = p.Width, p.Lower
	if f.Width > 0 && f.Kind != key.Int && f.Kind != key.Uint && (f.Kind != key.Time || f.Time.Text()) {
		d.Problem(CodeKeyPartType, "%s: {%s:0%d} needs an integer", option, a.Name, f.Width)
	}
	if f.Lower && f.Kind != key.String {
		d.Problem(CodeKeyPartType, "%s: {%s|lower} needs a string", option, a.Name)
	}
	if f.Kind == key.Time {
		a.exact = true
	}
	return &f
}

// textOfNumber refuses a number that the codec stores as text, whose order is not that of numbers.
func (d *Decl) textOfNumber(option string, a *Attr) bool {
	if a.Tag.String {
		d.Problem(CodeKeyPartType, "%s: attribute %q cannot be part of a key because its dynamodbav option string stores the number as text, which does not sort; leave the option out", option, a.Name)
	}
	return a.Tag.String
}

// native compiles a key that is one or several model attributes themselves.
func (d *Decl) native(option string, k tag.Key, most int) *KeyDef {
	if len(k.Attrs) > most {
		d.Problem(CodeMalformed, "%s: %d attributes, %d allowed here", option, len(k.Attrs), most)
		return nil
	}
	h := &KeyDef{}
	for _, name := range k.Attrs {
		a := d.part(option, name)
		if a == nil {
			return nil
		}
		if d.asPart(a); a.Scalar == "" {
			if d.textOfNumber(option, a) {
				return nil
			}
			d.Problem(CodeKeyPartType, "%s: attribute %q of type %s is not stored as a string, number or binary%s", option, name, a.Type, textHint(a))
			return nil
		}
		if a.Time {
			a.exact = true
		}
		h.Native = append(h.Native, a)
	}
	h.Parts = h.Native
	h.Type = h.Native[0].Scalar
	if len(h.Native) == 1 {
		h.Attr = h.Native[0].Name
	}
	return h
}
