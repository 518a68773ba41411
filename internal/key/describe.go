package key

import (
	"strconv"
	"strings"
)

// Describe is how the template makes a text, for people and for comparing: its prefix and literals, and each part with its
// attribute and format. Templates with one description compose equal texts from equal items.
func (t *Template) Describe() string {
	var b strings.Builder
	b.WriteString(t.Prefix)
	for _, s := range t.Segments {
		if t.Escaped {
			b.WriteByte('#')
		}
		b.WriteString(s.Literal)
		if s.Field != nil {
			b.WriteString("{" + s.Field.Attr + " " + s.Field.Describe() + "}")
		}
	}
	return b.String()
}

// Describe is how a value is written: string, string|lower, int:19, uint:20, bool, time=ns, time=unix:19.
func (f *Field) Describe() string {
	digits := func(standard int) string {
		if f.Width > 0 {
			return ":" + strconv.Itoa(f.Width)
		}
		return ":" + strconv.Itoa(standard)
	}
	text := ""
	switch f.Kind {
	case String:
		text = "string"
	case Bool:
		text = "bool"
	case Int:
		text = "int" + digits(intWidth)
	case Uint:
		text = "uint" + digits(uintWidth)
	case Time:
		if text = "time=" + f.Time.String(); !f.Time.Text() {
			text += digits(intWidth)
		}
	}
	if f.Lower {
		text += "|lower"
	}
	return text
}
