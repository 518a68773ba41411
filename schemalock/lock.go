package schemalock

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Lock is what the entities of a database keep on disk. Equal declarations give equal locks, whatever their order and their
// names in Go.
type Lock struct {
	Entities []Entity // by name, then by table

	mistake error
}

// Err returns an *entity.InputError if the lock was made from a nil or zero database, and nil otherwise.
func (l Lock) Err() error { return l.mistake }

// Entity is one entity.
type Entity struct {
	Name  string
	Facts []Fact // in the order of the file, each once
}

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
	schemas, err := core.Schemas(db)
	l := Lock{mistake: err}
	for _, s := range schemas {
		if s.Options.Derived {
			continue // a read model has its own version, and is rebuilt
		}
		l.Entities = append(l.Entities, entityOf(s))
	}
	slices.SortFunc(l.Entities, func(a, b Entity) int {
		tableA, _ := a.value("table")
		tableB, _ := b.value("table")
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(tableA, tableB))
	})
	return l
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
		what := "index " + schema.PathName(x.Index)
		if x.Local {
			add(what, "local")
		} else {
			add(what, "global")
			add(what+" partition", keyText(x.PK))
		}
		if x.SK != nil {
			add(what+" sort", keyText(x.SK))
		}
		add(what+" projection", projectionText(x.Project))
	}
	for _, a := range s.Stored() {
		add("attribute "+a.Path, strings.Join(a.Words, " "))
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
			text := schema.PathName(a.Name) + " " + string(a.Scalar)
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
	return schema.PathName(h.Attr) + " " + string(h.Type) + " " + how + h.Template.Describe()
}

func projectionText(p schema.Projection) string {
	if p.All {
		return "all"
	}
	names := []string{"keys"}
	for _, name := range p.Include {
		names = append(names, schema.PathName(name))
	}
	slices.Sort(names[1:])
	return strings.Join(slices.Compact(names), " ")
}

// header is the first line of a file; its number counts formats.
const header = "# dynastrata schema lock, format 1"

const intro = header + `
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
	b.WriteString(intro)
	for _, e := range l.Entities {
		fmt.Fprintf(&b, "\nentity %s\n", e.Name)
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

var entityLine = regexp.MustCompile(`^entity ([A-Za-z][A-Za-z0-9_-]*)$`)

// Parse reads the text of a lock, with the line ends of any system. The error is a *[FormatError].
func Parse(text []byte) (Lock, error) {
	var l Lock
	lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	if lines[0] != header {
		return Lock{}, &FormatError{1, "the first line must be " + header + "; another first line means another version of the format, or a file that is not a schema lock"}
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
			return bad(what + " is given twice")
		}
		e.Facts = append(e.Facts, Fact{what, value})
	}
	return l, l.complete(lines)
}

// complete rejects a lock that was truncated or edited: every entity has a table and a key, once.
func (l Lock) complete(lines []string) error {
	seen := map[string]bool{}
	for _, e := range l.Entities {
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
