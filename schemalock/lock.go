package schemalock

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Lock is what the entities of a database keep on disk. Equal declarations give equal locks, in whatever order they were
// made, and whatever things are called in Go.
type Lock struct {
	Entities []Entity // by name, then by table

	mistake error
}

// Err is an *entity.InputError when the database that the lock was made of is nil or a zero value; nil otherwise.
func (l Lock) Err() error { return l.mistake }

// Entity is one entity.
type Entity struct {
	Name  string
	Facts []Fact // in the order of the file; what is said is said once
}

// Fact is one line of the file: what it is about, and how that is on disk.
type Fact struct {
	What  string // table, key partition, versioned.Retain ttl, index gsi1 sort, attribute address.city
	Value string
}

// value is the fact about what, and whether there is one.
func (e Entity) value(what string) (string, bool) {
	for _, f := range e.Facts {
		if f.What == what {
			return f.Value, true
		}
	}
	return "", false
}

// Of returns the lock of what is declared on db at the moment. It does no I/O and needs no client: declare every store of
// the program first. Of a database that was not opened, see [Lock.Err].
func Of(db *entity.DB) Lock {
	schemas, err := core.Schemas(db)
	l := Lock{mistake: err}
	for _, s := range schemas {
		if s.Options.Derived {
			continue // a read model has a version of its own, and is built again
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

// entityOf lists the facts about an entity in the order of the file.
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
	add("key partition", halfText(s.PK))
	if s.SK != nil {
		add("key sort", halfText(s.SK))
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
			add(what+" partition", halfText(x.PK))
		}
		if x.SK != nil {
			add(what+" sort", halfText(x.SK))
		}
		add(what+" projection", projectionText(x.Project))
	}
	for _, a := range s.Stored() {
		add("attribute "+a.Path, strings.Join(a.Words, " "))
	}
	return e
}

// family is which attributes the library keeps beside the model's.
func family(s *schema.Schema) string {
	switch {
	case s.HasMetadata:
		return "$"
	case s.Templated:
		return "$ interop"
	}
	return "verbatim"
}

// records are the features of s, by name.
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

// halfText is a key half: where it is stored, its type, and how its text is composed; a native one is the attributes
// themselves.
func halfText(h *schema.KeyDef) string {
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
