package tag

import "fmt"

// Error is a mistake in a tag's text.
type Error struct {
	Pos     int // byte offset into the text
	Problem string
}

// Error gives the problem and where it is.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (at byte %d)", e.Problem, e.Pos)
}

func errorAt(pos int, format string, args ...any) *Error {
	return &Error{Pos: pos, Problem: fmt.Sprintf(format, args...)}
}

// suggestion is the tail of a message about an unknown word.
func suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
