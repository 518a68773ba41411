package key

import (
	"strings"
	"unicode/utf8"
)

// lastEscaped is the greatest byte that Escape writes in hex. Above it every
// byte stands for itself; '%', the first byte of each escape, is itself the
// greatest escaped byte. So escapes sort below all plain bytes and, their hex
// digits being upper case, among each other like the bytes they stand for.
const lastEscaped = '%'

// Escape writes every byte up to 0x25 as %XX. Escaped text contains neither
// the separator '#' nor the range end '$' and sorts as s does.
func Escape(s string) string {
	plain := 0
	for plain < len(s) && s[plain] > lastEscaped {
		plain++
	}
	if plain == len(s) {
		return s
	}
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	b.Grow(len(s) + 2*(len(s)-plain))
	b.WriteString(s[:plain])
	for _, c := range []byte(s[plain:]) {
		if c <= lastEscaped {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// plain reports that every byte of s is ASCII and stands for itself in an
// escaped key.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] <= lastEscaped || s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
