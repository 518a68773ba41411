package subject

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Options say what is left out, and how tables are read.
type Options struct {
	Keep  []Keep // entities whose items Erase leaves, as the law may demand
	Views []View // of package timeline, which Erase builds again at its end

	Segments int // how many parts of a table are read at the same time, 1 to 64; default 1. An export reads one after the other
	Passes   int // how often Erase reads the tables at most, 2 to 20; default 5

	ReadUnits, WriteUnits float64 // most capacity units a second; default no limit

	// WithoutRows leaves out the rows of timelines. A table in which nothing else is looked for by a scan is not scanned then.
	WithoutRows bool
}

// Keep leaves the items of an entity as they are. The reason stands in the report.
type Keep struct{ Entity, Reason string }

// View is a view of package timeline by the name of its projection. Rebuild builds its rows again: a function that calls View.Rebuild.
type View struct {
	Name    string
	Rebuild func(context.Context) error
}

// Subjects exports and erases what names a subject. It is safe for concurrent use.
type Subjects struct {
	o       Options
	runner  *engine.Runner
	tracked []*tracked // the entities with a subject, by table and in declaration order
	places  []*place
	views   []string            // made from these entities, by name
	sources map[string][]string // of the views: names of entities
}

// tracked is an entity with a field that names subjects.
type tracked struct {
	s      *schema.Schema
	table  string
	kept   string // why its items stay; "" if they do not
	keyed  bool   // its partition key is made of one field, which names the subject
	number int    // among all, for the report
}

// place is a table in which something is looked for.
type place struct {
	table   string
	all     []*schema.Schema // every entity of the table
	tracked map[*schema.Schema]*tracked
	rows    map[*schema.Schema]string // of views that are made from tracked entities: the name of the view
	scanned bool
}

// mostSegments is in how many parts a table is read at most.
const mostSegments = 64

// viewPrefix begins the names of entities whose items are the rows of a view.
const viewPrefix = "Timeline-"

// New returns the Subjects of all entities that are bound to db by now: bind them first. It does no I/O. The error joins an
// *entity.InputError for each mistake, with the codes SUBJ-01 to SUBJ-04. A field that cannot have the role subject is refused by
// entity.New and entity.Bind (EDD-9035).
func New(db *entity.DB, o Options) (*Subjects, error) {
	var errs []error
	bad := func(code, field, format string, args ...any) {
		errs = append(errs, mistake(code, "subject.Options", field, fmt.Sprintf(format, args...)))
	}
	if o.Segments < 0 || o.Segments > mostSegments {
		bad(codeOptions, "Segments", "it must be from 1 to 64, or 0 for 1")
	}
	if o.Passes < 0 || o.Passes == 1 || o.Passes > 20 {
		bad(codeOptions, "Passes", "it must be from 2 to 20, or 0 for 5")
	}
	for _, x := range []struct {
		field string
		units float64
	}{{"ReadUnits", o.ReadUnits}, {"WriteUnits", o.WriteUnits}} {
		if !(x.units >= 0) || math.IsInf(x.units, 1) || x.units > 0 && x.units < 0.5 {
			bad(codeOptions, x.field, "it must be 0.5 or more, or 0 for no limit")
		}
	}
	o.Segments, o.Passes = cmp.Or(o.Segments, 1), cmp.Or(o.Passes, 5)
	d := engine.DatabaseOf(db)
	if d == nil {
		bad(codeOptions, "", "the database is nil: open it with entity.Open")
		return nil, errors.Join(errs...)
	}
	x := &Subjects{o: o, runner: d.Runner, sources: map[string][]string{}}
	x.find(d)
	if len(x.tracked) == 0 {
		bad(codeNothing, "", `no entity that is bound to the database has a field with entity:"subject"`)
	}
	kept := map[string]bool{}
	for i, k := range o.Keep {
		field := fmt.Sprintf("Keep[%d]", i)
		at := slices.IndexFunc(x.tracked, func(t *tracked) bool { return t.s.Name == k.Entity })
		switch {
		case at < 0:
			bad(codeKeep, field, "no bound entity %q has a subject", k.Entity)
		case kept[k.Entity]:
			bad(codeKeep, field, "%s is named twice", k.Entity)
		case strings.TrimSpace(k.Reason) == "":
			bad(codeKeep, field, "%s needs a reason, which stands in the report", k.Entity)
		default:
			for _, t := range x.tracked[at:] { // on every table
				if t.s.Name == k.Entity {
					t.kept = k.Reason
				}
			}
		}
		kept[k.Entity] = true
	}
	built := map[string]bool{}
	for i, v := range o.Views {
		field := fmt.Sprintf("Views[%d]", i)
		switch {
		case !slices.Contains(x.views, v.Name):
			bad(codeView, field, "no bound view %q is made from an entity with a subject", v.Name)
		case built[v.Name]:
			bad(codeView, field, "%s is named twice", v.Name)
		case v.Rebuild == nil:
			bad(codeView, field, "%s needs a function that builds it", v.Name)
		}
		built[v.Name] = true
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return x, nil
}

// find finds the entities with a subject, the views that are made from them, and their tables.
func (x *Subjects) find(d *engine.Database) {
	names := map[string]bool{}
	for _, t := range d.Tables() {
		for _, s := range t.Entities {
			names[s.Name] = names[s.Name] || len(s.Subjects) > 0
		}
	}
	for _, t := range d.Tables() {
		p := &place{table: t.Name, all: t.Entities, tracked: map[*schema.Schema]*tracked{}, rows: map[*schema.Schema]string{}}
		for _, s := range t.Entities {
			view, rows := strings.CutPrefix(s.Name, viewPrefix)
			switch {
			case rows && s.Options.Derived && slices.ContainsFunc(s.Options.Sources, func(name string) bool { return names[name] }):
				x.views, x.sources[view] = append(x.views, view), s.Options.Sources
				if !x.o.WithoutRows {
					p.rows[s], p.scanned = view, true
				}
			case len(s.Subjects) > 0:
				e := &tracked{s: s, table: t.Name, keyed: keyed(s), number: len(x.tracked)}
				x.tracked, p.tracked[s] = append(x.tracked, e), e
				p.scanned = p.scanned || !e.keyed
			}
		}
		if len(p.tracked)+len(p.rows) > 0 {
			x.places = append(x.places, p)
		}
	}
	slices.Sort(x.views)
}

// keyed reports whether the partition key of an entity is made of one field alone, which names the subject. All that names it is then in one
// partition, and in those of its events.
func keyed(s *schema.Schema) bool {
	return len(s.Subjects) == 1 && len(s.PK.Parts) == 1 && s.PK.Parts[0] == s.Subjects[0] && (s.PK.Native == nil || len(s.PK.Native) == 1)
}

// opened returns an error for a Subjects that New did not make.
func (x *Subjects) opened() error {
	if x == nil || x.runner == nil {
		return mistake(codeUnopened, "*subject.Subjects", "", "it is nil or a zero value; use what New returns")
	}
	return nil
}

// pace bounds the units that requests under ctx consume.
func (x *Subjects) pace(ctx context.Context) context.Context {
	if x.o.ReadUnits == 0 && x.o.WriteUnits == 0 {
		return ctx
	}
	return bind.WithPace(ctx, bind.NewPace(x.o.ReadUnits, x.o.WriteUnits))
}

// names returns the names of the entities with a subject, sorted, each once.
func (x *Subjects) names() []string {
	var all []string
	for _, t := range x.tracked {
		all = append(all, t.s.Name)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
