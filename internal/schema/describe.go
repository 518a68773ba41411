package schema

// ExampleKey is the primary key with placeholders, for messages: pk=$app#v1#telemetry#{channel}.
func (h *KeyDef) String() string {
	switch {
	case h == nil:
		return ""
	case h.Template == nil:
		text := ""
		for i, a := range h.Native {
			if i > 0 {
				text += "+"
			}
			text += a.Name
		}
		return text
	}
	text := h.Attr + "=" + h.Template.Prefix
	for _, s := range h.Template.Segments {
		if h.Template.Escaped {
			text += "#"
		}
		text += s.Literal
		if s.Field != nil {
			text += "{" + s.Field.Attr + "}"
		}
	}
	return text
}
