package schemalock

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/layout/recorded"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// A Lock records what the entities of a database keep on disk. Equal declarations give equal locks, whatever their order and their
// names in Go.
type Lock struct {
	Format   int      // 1 if it was read from a file of that format; 0 for the present one, 2
	Entities []Entity // by name, then by table
	Derived  []Entity // what the read models of package timeline store, in the same order; none in format 1

	mistake error
}

// Err returns an *entity.InputError if the lock was made from a nil or zero database, and nil otherwise.
func (l Lock) Err() error { return l.mistake }

// Entity is one entity.
type Entity struct {
	Name  string
	Facts []Fact // in the order of the file, each once

	upgradesFrom int // payload version of the first entity.Upgrade of the store; noUpgrade without one; 0 if no store is known, as in a file
}

// noUpgrade is above every payload version.
const noUpgrade = math.MaxInt

// Fact is one line of the file: a subject, and how it is stored.
type Fact struct {
	What  string // table, key partition, versioned.Retain ttl, index gsi1 sort, attribute address.city
	Value string
}

// value returns the value of the fact about what, and whether there is one.
func (e Entity) value(what string) (string, bool) {
	for _, f := range e.Facts {
		if f.What == what {
			return f.Value, true
		}
	}
	return "", false
}

// Of returns the lock of the current declarations on db. Declare every store of the program first. Of does no I/O and needs
// no client. For a database that was not opened, see [Lock.Err].
func Of(db *entity.DB) Lock {
	d, l := engine.DatabaseOf(db), Lock{}
	if d == nil {
		return Lock{mistake: engine.Unopened(reflect.TypeOf(db))}
	}
	for _, t := range d.Tables() {
		for _, s := range t.Entities {
			if s.Options.Derived {
				l.Derived = append(l.Derived, derivedOf(s))
				continue
			}
			e := entityOf(s)
			if e.upgradesFrom = noUpgrade; len(s.Upgrades) > 0 {
				e.upgradesFrom = s.Upgrades[0].From
			}
			l.Entities = append(l.Entities, e)
		}
	}
	for _, all := range [][]Entity{l.Entities, l.Derived} {
		slices.SortFunc(all, func(a, b Entity) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(tableOf(a), tableOf(b)))
		})
	}
	return l
}

// derivedOf returns the facts of what a read model stores that show which items these are. Their attributes can change with
// the next build. The sources say whether these may be made from secrets.
func derivedOf(s *schema.Schema) Entity {
	e := entityOf(s)
	e.Facts = slices.DeleteFunc(e.Facts, func(f Fact) bool { return strings.HasPrefix(f.What, "attribute ") || f.What == "payload" })
	e.Facts = append(e.Facts, Fact{"sources", cmp.Or(strings.Join(s.Options.Sources, " "), "(feeds)")})
	return e
}

// entityOf returns the entity's facts in the order of the file.
func entityOf(s *schema.Schema) Entity {
	e := Entity{Name: s.Name}
	add := func(what, value string) { e.Facts = append(e.Facts, Fact{what, visible(value)}) }
	table := s.Table
	if table == "" {
		table = "(default)"
	}
	add("table", table)
	add("items", family(s))
	add("payload", strconv.Itoa(s.Payload))
	if d := s.Discriminator; d != nil {
		add("kind", d.Attr+"="+d.Value)
	}
	add("key partition", keyText(s.PK))
	if s.SK != nil {
		add("key sort", keyText(s.SK))
	}
	if s.UsesTTL {
		add("ttl", s.Options.TTL)
	}
	for _, r := range records(s) {
		add(r.Name, "declared")
		for _, setting := range r.Settings {
			add(r.Name+" "+setting.Key, setting.Value)
		}
	}
	for _, x := range slices.SortedFunc(slices.Values(s.Indexes), func(a, b *schema.Index) int { return cmp.Compare(a.Index, b.Index) }) {
		what := "index " + recorded.PathName(x.Index)
		if x.Local {
			add(what, "local")
		} else {
			add(what, "global")
			add(what+" partition", keyText(x.PK))
		}
		if n := len(x.Shards); n > 0 {
			add(what+" shards", strconv.Itoa(n))
		}
		if x.SK != nil {
			add(what+" sort", keyText(x.SK))
		}
		if when := recorded.When(x); when != "" {
			add(what+" when", when)
		}
		add(what+" projection", projectionText(x.Project))
		add(what+" name", x.Name)
	}
	for _, a := range recorded.Of(s) {
		words := a.Words
		if slices.ContainsFunc(s.Attrs, func(b *schema.Attr) bool { return b.IsSecret() && recorded.PathName(b.Name) == a.Path }) {
			words = append(words, secret)
		}
		add("attribute "+a.Path, strings.Join(words, " "))
	}
	return e
}

// family returns which attributes the library stores besides those of the model.
func family(s *schema.Schema) string {
	switch {
	case s.HasMetadata:
		return "$"
	case s.Templated:
		return "$ interop"
	}
	return "verbatim"
}

// records returns the features of s, by name.
func records(s *schema.Schema) []schema.Record {
	var all []schema.Record
	for _, f := range s.Features {
		if r, ok := f.(schema.Recorder); ok {
			all = append(all, r.Record(s))
		}
	}
	slices.SortFunc(all, func(a, b schema.Record) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// keyText returns a partition or sort key: where it is stored, its type, and how its text is composed; for a native key,
// its attributes.
func keyText(h *schema.KeyDef) string {
	if h.Native != nil {
		var names []string
		for _, a := range h.Native {
			text := recorded.PathName(a.Name) + " " + string(a.Scalar)
			if a.Time || a.Epoch {
				text += " time=" + a.Format.String()
			}
			names = append(names, text)
		}
		return "native " + strings.Join(names, " + ")
	}
	how := "verbatim "
	if h.Prefixed {
		how = ""
	}
	return recorded.PathName(h.Attr) + " " + string(h.Type) + " " + how + h.Template.Describe()
}

func projectionText(p schema.Projection) string {
	if p.All {
		return "all"
	}
	names := []string{"keys"}
	for _, name := range p.Include {
		names = append(names, recorded.PathName(name))
	}
	slices.Sort(names[1:])
	return strings.Join(slices.Compact(names), " ")
}

// secret is the word of an attribute that no message shows.
const secret = "secret"

// newest is the format that is written. Format 1 lacks the names of indexes, the word secret, and read models.
const newest = 2

// header returns the first line of a file.
func header(format int) string { return "# dynastrata schema lock, format " + strconv.Itoa(format) }

const intro = `
# What the entities of this program keep on disk. Made by schemalock; do not edit.
# DYNASTRATA_UPDATE_LOCK=1 go test rewrites it; review the difference.
`

// String returns the text of the file: one line for each fact, in a fixed order, so that the difference between two files
// is the difference on disk.
func (l Lock) String() string {
	if l.mistake != nil {
		return "no schema lock: " + l.mistake.Error() + "\n"
	}
	var b strings.Builder
	b.WriteString(header(cmp.Or(l.Format, newest)) + intro)
	for i, e := range slices.Concat(l.Entities, l.Derived) {
		word := "entity"
		if i >= len(l.Entities) {
			word = "derived"
		}
		fmt.Fprintf(&b, "\n%s %s\n", word, e.Name)
		for _, f := range e.Facts {
			fmt.Fprintf(&b, "  %s = %s\n", f.What, f.Value)
		}
	}
	return b.String()
}

// FormatError reports a text that is not a lock, or one of a later format.
type FormatError struct {
	Line    int // from 1
	Problem string
}

func (e *FormatError) Error() string {
	return fmt.Sprintf("schema lock, line %d: %s", e.Line, e.Problem)
}

var entityLine = regexp.MustCompile(`^(entity|derived) ([A-Za-z][A-Za-z0-9_-]*)$`)

// Parse reads the text of a lock of this or an earlier format, with the line ends of any system. The error is a
// *[FormatError].
func Parse(text []byte) (Lock, error) {
	var l Lock
	var e *Entity // that facts are added to
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	switch lines[0] {
	case header(1):
		l.Format = 1
	case header(newest):
	default:
		return Lock{}, &FormatError{1, "the first line must be " + header(newest) + ", or that of format 1; another first line means another version of the format, or a file that is not a schema lock"}
	}
	for i, line := range lines {
		bad := func(problem string) (Lock, error) { return Lock{}, &FormatError{i + 1, problem} }
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if name := entityLine.FindStringSubmatch(line); name != nil {
			into := &l.Entities
			if name[1] == "derived" {
				into = &l.Derived
			}
			*into = append(*into, Entity{Name: name[2]})
			e = &(*into)[len(*into)-1]
			continue
		}
		what, value, ok := strings.Cut(line, " = ")
		what, indented := strings.CutPrefix(what, "  ")
		if !ok || !indented || what == "" || value == "" {
			return bad("neither an entity nor a fact")
		}
		if e == nil {
			return bad("a fact before the first entity")
		}
		if _, twice := e.value(what); twice {
			return bad(what + " is given twice")
		}
		e.Facts = append(e.Facts, Fact{what, value})
	}
	return l, l.complete(lines)
}

// complete rejects a lock that was truncated or edited: every entity has a table and a key, once.
func (l Lock) complete(lines []string) error {
	seen := map[string]bool{}
	for _, e := range slices.Concat(l.Entities, l.Derived) {
		table, ok := e.value("table")
		if _, keyed := e.value("key partition"); !ok || !keyed {
			return &FormatError{len(lines), "entity " + e.Name + " has no table or no key"}
		}
		if id := e.Name + " " + table; seen[id] {
			return &FormatError{len(lines), "entity " + e.Name + " is given twice"}
		} else {
			seen[id] = true
		}
	}
	return nil
}

// Text returns the value as it was before the file escaped characters that would break a line.
func (f Fact) Text() string { return unescape(f.Value) }

// unescape is the inverse of visible, and of recorded.PathName.
func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if c, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// visible escapes characters that would break a line, or that an editor would lose.
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
