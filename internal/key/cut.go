package key

import "unicode/utf8"

// Successor gives the least text above every text that begins with prefix: the
// prefix with its last rune incremented. It is "" if absent.
func Successor(prefix string) string {
	for prefix != "" {
		r, size := utf8.DecodeLastRuneInString(prefix)
		prefix = prefix[:len(prefix)-size]
		switch {
		case r == utf8.MaxRune, r == utf8.RuneError && size == 1:
			// nothing to increment here: increment what stands before it
		case r+1 == 0xD800: // surrogates are no text
			return prefix + "\uE000"
		default:
			return prefix + string(r+1)
		}
	}
	return ""
}

// cutLower cuts a lower bound to the size of a sort key, at a character
// boundary. The result is at or below text, so it lets more keys through.
func cutLower(text string) string {
	if len(text) <= MaxSortKey {
		return text
	}
	end := MaxSortKey
	for end > MaxSortKey-maxSlack && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// maxSlack is how many bytes of a character can lie before a cut.
const maxSlack = utf8.UTFMax - 1

// greatest has, for each number of bytes, the greatest text of that size.
var greatest = [maxSlack + 1]string{"", "\x7f", "\u07ff", "\uffff"}

// cutUpper cuts an upper bound to the size of a sort key. No key lets more or
// fewer through: a key that begins with the cut text is too long or, where a
// character of n bytes was cut off, goes on with one of fewer bytes, which
// sorts below it. The slack is filled so that the bound is above all of those.
func cutUpper(text string) string {
	cut := cutLower(text)
	if len(cut) == len(text) {
		return text
	}
	return cut + greatest[MaxSortKey-len(cut)]
}
