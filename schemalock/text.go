package schemalock

import (
	"fmt"
	"regexp"
	"strings"
)

// header is the first line of a file; its number counts formats.
const header = "# dynastrata schema lock, format 1"

const intro = header + `
# What the entities of this program keep on disk. Made by schemalock; do not edit.
# DYNASTRATA_UPDATE_LOCK=1 go test rewrites it; review the difference.
`

// String is the text of the file: one line for each fact, in a fixed order, so that a difference of two files is a
// difference of what is on disk.
func (l Lock) String() string {
	if l.mistake != nil {
		return "no schema lock: " + l.mistake.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString(intro)
	for _, e := range l.Entities {
		fmt.Fprintf(&b, "\nentity %s\n", e.Name)
		for _, f := range e.Facts {
			fmt.Fprintf(&b, "  %s = %s\n", f.What, f.Value)
		}
	}
	return b.String()
}

// FormatError is a text that is no lock, or one of a later format.
type FormatError struct {
	Line    int // from 1
	Problem string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("schema lock, line %d: %s", e.Line, e.Problem)
}

var entityLine = regexp.MustCompile(`^entity ([A-Za-z][A-Za-z0-9_-]*)$`)

// Parse reads the text of a lock. It accepts line ends of any system. The error is a *[FormatError].
func Parse(text []byte) (Lock, error) {
	var l Lock
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if lines[0] != header {
		return Lock{}, &FormatError{1, "the first line must be " + header + "; a file that begins otherwise was made by another version, or is none"}
	}
	for i, line := range lines {
		bad := func(problem string) (Lock, error) { return Lock{}, &FormatError{i + 1, problem} }
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name := entityLine.FindStringSubmatch(line); name != nil {
			l.Entities = append(l.Entities, Entity{Name: name[1]})
			continue
		}
		what, value, ok := strings.Cut(line, " = ")
		what, indented := strings.CutPrefix(what, "  ")
		if !ok || !indented || what == "" || value == "" {
			return bad("neither an entity nor a fact")
		}
		if len(l.Entities) == 0 {
			return bad("a fact before the first entity")
		}
		e := &l.Entities[len(l.Entities)-1]
		if _, twice := e.value(what); twice {
			return bad(what + " is said twice")
		}
		e.Facts = append(e.Facts, Fact{what, value})
	}
	return l, l.complete(lines)
}

// complete refuses a lock that was cut off or put together by hand: every entity has a table and a key, once.
func (l Lock) complete(lines []string) error {
	seen := map[string]bool{}
	for _, e := range l.Entities {
		table, ok := e.value("table")
		if _, keyed := e.value("key partition"); !ok || !keyed {
			return &FormatError{len(lines), "entity " + e.Name + " has no table or no key"}
		}
		if id := e.Name + " " + table; seen[id] {
			return &FormatError{len(lines), "entity " + e.Name + " is there twice"}
		} else {
			seen[id] = true
		}
	}
	return nil
}

// visible escapes what a line cannot hold, or an editor would lose.
func visible(s string) string {
	var b strings.Builder
	for i, c := range []byte(s) {
		if c < ' ' || c == '%' || c == 0x7f || c == ' ' && (i == 0 || i == len(s)-1) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
