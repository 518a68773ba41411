package check

import (
	"fmt"
	"regexp"
	"unicode/utf8"
)

// MAC is a hardware address of six bytes as upper-case hexadecimal pairs: "AA:BB:CC:00:11:22". Another spelling of the
// same address is another text, and would be another key, so it is refused.
type MAC string

// Validate returns an *[Error] with [RuleMAC] unless m is spelled as MAC says.
func (m MAC) Validate() error {
	for i := range len(m) {
		if c := m[i]; i%3 == 2 && c != ':' || i%3 != 2 && !isDigit(c) && (c < 'A' || c > 'F') {
			return &Error{RuleMAC, needMAC}
		}
	}
	if len(m) != len("AA:BB:CC:00:11:22") {
		return &Error{RuleMAC, needMAC}
	}
	return nil
}

// UUID4 is a random UUID in the form that RFC 9562 prints: 8-4-4-4-12 lower-case hexadecimal digits, version 4. The same
// UUID in upper case is another text, so it is refused.
type UUID4 string

// Validate returns an *[Error] with [RuleUUID4] unless u is spelled as UUID4 says, with its version and variant bits.
func (u UUID4) Validate() error {
	const form = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx"
	if len(u) != len(form) {
		return &Error{RuleUUID4, needUUID4}
	}
	for i := range len(form) {
		c, fits := u[i], false
		switch form[i] {
		case 'x':
			fits = isDigit(c) || c >= 'a' && c <= 'f'
		case 'y':
			fits = c == '8' || c == '9' || c == 'a' || c == 'b'
		default:
			fits = c == form[i]
		}
		if !fits {
			return &Error{RuleUUID4, needUUID4}
		}
	}
	return nil
}

const (
	needMAC   = "six pairs of upper-case hexadecimal digits with colons between them are needed"
	needUUID4 = "a version 4 UUID of 8-4-4-4-12 lower-case hexadecimal digits is needed"
)

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// ASCII is text of printable ASCII characters, 0x20 to 0x7E. It may be empty.
type ASCII string

// Validate returns an *[Error] with [RulePrintable] when a has another character.
func (a ASCII) Validate() error { return Printable(a) }

// Printable returns an *[Error] with [RulePrintable] when s has a byte outside printable ASCII, 0x20 to 0x7E.
func Printable[S ~string](s S) error {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] > 0x7e {
			return &Error{RulePrintable, "only printable ASCII characters are allowed"}
		}
	}
	return nil
}

// Bytes returns an *[Error] with [RuleBytes] unless s is minimum to maximum bytes long, both included.
func Bytes[S ~string | ~[]byte](s S, minimum, maximum int) error {
	return length(RuleBytes, "bytes", len(s), minimum, maximum)
}

// Characters returns an *[Error] with [RuleCharacters] unless s is minimum to maximum Unicode characters (code points)
// long, both included. Bytes that are no UTF-8 count one each.
func Characters[S ~string](s S, minimum, maximum int) error {
	return length(RuleCharacters, "characters", utf8.RuneCountInString(string(s)), minimum, maximum)
}

func length(rule Rule, unit string, n, minimum, maximum int) error {
	if n >= minimum && n <= maximum {
		return nil
	}
	return &Error{rule, fmt.Sprintf("%d to %d %s are needed", minimum, maximum, unit)}
}

// Pattern returns an *[Error] with [RulePattern] unless re matches s. Anchor re with ^ and $ to match all of s, and compile
// it once, in a variable of the package; with a nil re nothing is valid. want says for the message what is needed; when it is ""
// they are shown re.
func Pattern[S ~string](s S, re *regexp.Regexp, want string) error {
	switch {
	case re == nil:
		return &Error{RulePattern, "the expression to match is nil"}
	case re.MatchString(string(s)):
		return nil
	}
	if want == "" {
		want = "text that matches " + re.String()
	}
	return &Error{RulePattern, want + " is needed"}
}
