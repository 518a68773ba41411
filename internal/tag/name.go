package tag

// Name checks the name of an entity, constraint, index accessor or namespace:
// a letter, then letters, digits, "_" and "-".
func Name(text string) error {
	if text == "" {
		return errorAt(0, "empty name")
	}
	if text[0] == '_' {
		return errorAt(0, "a name begins with a letter")
	}
	return attributeName(text, 0, len(text))
}

// attributeName checks that text[start:end] is an attribute name as templates
// spell it: a letter or "_", then letters, digits, "_" and "-".
func attributeName(text string, start, end int) error {
	if start == end {
		return errorAt(start, "empty name")
	}
	for at := start; at < end; at++ {
		c := text[at]
		switch {
		case c >= 'A' && c <= 'Z', c >= 'a' && c <= 'z', c == '_':
		case c >= '0' && c <= '9', c == '-':
			if at == start {
				return errorAt(at, "a name begins with a letter")
			}
		default:
			return errorAt(at, `a name has only letters, digits, "_" and "-"`)
		}
	}
	return nil
}
