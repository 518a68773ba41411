package wire

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// hex4 returns the number that four hexadecimal digits make, or -1.
func hex4(b []byte) rune {
	n, err := strconv.ParseUint(string(b[:4]), 16, 32)
	if err != nil {
		return -1
	}
	return rune(n)
}

// unescape returns a string's text without its escapes. Like encoding/json, and the SDK, it makes the replacement character of
// half a surrogate pair, and, in a text with escapes, of bytes that are not UTF-8.
func unescape(text []byte) (dst []byte) {
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\\' && text[i+1] == 'u':
			r := hex4(text[i+2:])
			i += 6
			if utf16.IsSurrogate(r) {
				low := rune(-1)
				if len(text) >= i+6 && text[i] == '\\' && text[i+1] == 'u' {
					low = hex4(text[i+2:])
				}
				if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
					i += 6
				}
			}
			dst = utf8.AppendRune(dst, r)
		case c == '\\':
			c = text[i+1]
			if n := strings.IndexByte("bfnrt", c); n >= 0 {
				c = "\b\f\n\r\t"[n]
			}
			dst = append(dst, c)
			i += 2
		case c < utf8.RuneSelf:
			dst = append(dst, c)
			i++
		default:
			r, size := utf8.DecodeRune(text[i:])
			dst = utf8.AppendRune(dst, r)
			i += size
		}
	}
	return dst
}

// isBase64 reports whether text is padded base64 without line breaks.
func isBase64(text []byte) bool {
	if len(text)%4 != 0 {
		return false
	}
	for n := 0; n < 2 && len(text) > 0 && text[len(text)-1] == '='; n++ {
		text = text[:len(text)-1]
	}
	for _, c := range text {
		if !('A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '+' || c == '/') {
			return false
		}
	}
	return true
}
