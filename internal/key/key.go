// Package key composes keys as text that sorts as the values do, and computes the ranges of sort keys that queries need. It
// does no I/O and knows nothing of entities: the schema builds its templates.
package key

import (
	"fmt"
	"strings"
	"time"
)

// Kind is the type of a key part.
type Kind int

// The types of key parts.
const (
	String Kind = iota
	Int
	Uint
	Bool
	Time
)

// String returns the kind's name for messages.
func (k Kind) String() string {
	if k < String || k > Time {
		return "unknown kind"
	}
	return [...]string{String: "string", Int: "integer", Uint: "unsigned integer", Bool: "bool", Time: "time"}[k]
}

// Value is the value of one key part, in the field that Kind selects.
type Value struct {
	Kind Kind
	S    string
	I    int64
	U    uint64
	B    bool
	T    time.Time
}

// PartError reports a value that a key part cannot have. It never contains the value, which may be personal data.
type PartError struct {
	Attr    string
	Problem string // continues "key part x …"
}

// Error returns the part and the problem.
func (e *PartError) Error() string {
	return fmt.Sprintf("key part %s %s", e.Attr, e.Problem)
}

func (f *Field) problem(format string, args ...any) error {
	return &PartError{Attr: f.Attr, Problem: fmt.Sprintf(format, args...)}
}

// lastEscaped is the greatest byte that Escape writes in hex; bytes above it stand for themselves. '%', the first byte of
// each escape, is itself the greatest escaped byte. So escapes sort below all plain bytes and, their hex digits being upper
// case, among each other like the bytes that they stand for.
const lastEscaped = '%'

// Escape writes every byte up to 0x25 as %XX. Escaped text contains neither the separator '#' nor the range end '$', and sorts as s does.
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
