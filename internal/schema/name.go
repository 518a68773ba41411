package schema

import (
	"fmt"
	"strings"

	"github.com/dynastrata/dynastrata/internal/item"
)

func errorAt(pos int, format string, args ...any) error {
	return item.ErrorAt(pos, format, args...)
}

// Name checks the name of an entity, constraint, index accessor or namespace: a letter, then letters, digits, "_" and "-".
func Name(text string) error {
	if text == "" {
		return errorAt(0, "empty name")
	}
	if text[0] == '_' {
		return errorAt(0, "a name begins with a letter")
	}
	return attributeName(text, 0, len(text))
}

// attributeName checks that text[start:end] is an attribute name that a template can contain: a letter or "_", then
// letters, digits, "_" and "-".
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

// Nearest returns the word of known that word is most likely a misspelling of, or "" if none is near. Case does not count;
// of equally near words it returns the first.
func Nearest(word string, known []string) string {
	best, least := "", 0
	for _, candidate := range known {
		a, b := []rune(strings.ToLower(word)), []rune(strings.ToLower(candidate))
		longer := max(len(a), len(b))
		limit := min((longer+2)/3, 3) // about one mistake in three letters
		if longer-min(len(a), len(b)) > limit {
			continue // distance would cost the product of the lengths
		}
		d := distance(a, b)
		if d <= limit && d < longer && (best == "" || d < least) {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours that turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	var before []int // the row above previous, for swaps
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := previous[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(replaced, previous[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}

// suggestion returns the end of a message about an unknown word: the word that may be meant.
func suggestion(word string, known []string) string {
	if near := Nearest(word, known); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}
