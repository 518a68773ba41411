package tag

import (
	"strconv"
	"strings"
)

// Form is the way in which a key is declared.
type Form int

// The forms of a key.
const (
	Prefixed Form = iota // "$", "$#{a}#lit_{b}": a template below the entity's own prefix
	Verbatim             // "attr={template}", "attr=constant": stored as written in the named attribute
	Native               // "attr", "a+b": model attributes are the key, in their own types
)

// MaxNative is how many attributes one side of a native key may have.
const MaxNative = 4

// Placeholder stands for the value of an attribute in a template.
type Placeholder struct {
	Attr  string
	Width int  // {attr:013}: digits to pad an integer to; 0 when not given
	Lower bool // {attr|lower}
}

// Segment is a literal, a placeholder, or a literal and the placeholder behind it.
type Segment struct {
	Literal string
	Field   *Placeholder
}

// Key is a parsed key declaration.
type Key struct {
	Form     Form
	Attr     string    // Verbatim: the attribute the text is stored in
	Attrs    []string  // Native: one to MaxNative attributes
	Segments []Segment // Prefixed: what follows "$", one for each "#"; Verbatim: concatenated
}

// String gives the canonical text; ParseKey reads it as k again.
func (k Key) String() string {
	if k.Form == Native {
		return strings.Join(k.Attrs, "+")
	}
	var b strings.Builder
	if k.Form == Prefixed {
		b.WriteByte('$')
	} else {
		b.WriteString(k.Attr)
		b.WriteByte('=')
	}
	for _, s := range k.Segments {
		if k.Form == Prefixed {
			b.WriteByte('#')
		}
		b.WriteString(s.Literal)
		if s.Field != nil {
			b.WriteString(s.Field.String())
		}
	}
	return b.String()
}

// String gives the placeholder with its braces.
func (p Placeholder) String() string {
	switch {
	case p.Width > 0:
		return "{" + p.Attr + ":0" + strconv.Itoa(p.Width) + "}"
	case p.Lower:
		return "{" + p.Attr + "|lower}"
	}
	return "{" + p.Attr + "}"
}
