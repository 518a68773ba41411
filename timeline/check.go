package timeline

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/tag"
)

// checker collects the mistakes of a definition.
type checker struct {
	what string // timeline.Projection or timeline.Log, and its name
	errs []error
}

func (c *checker) bad(code, field, format string, args ...any) {
	c.errs = append(c.errs, &schema.Error{Code: code, Type: c.what, Field: field, Problem: fmt.Sprintf(format, args...)})
}

var errNoDB = badOption("the database is nil")

func (c *checker) err() error { return errors.Join(c.errs...) }

const maxName = 64

func (c *checker) name(name string) {
	if err := tag.Name(name); err != nil {
		c.bad(schema.CodeTimelineName, "Name", "%v", err)
	} else if len(name) > maxName {
		c.bad(schema.CodeTimelineName, "Name", "the name has %d bytes, %d are allowed", len(name), maxName)
	}
}

// source checks the sources and returns them with the names of their events.
func (c *checker) source(s Source) (all []*origin, byName map[string]*origin) {
	byName = map[string]*origin{}
	if s == nil {
		c.bad(schema.CodeTimelineSource, "Source", "there is no source")
		return nil, byName
	}
	all = s.origins()
	if len(all) == 0 {
		c.bad(schema.CodeTimelineSource, "Source", "the merge has no source")
	}
	ids := map[string]bool{}
	for i, o := range all {
		title := o.id
		if title == "" {
			title = fmt.Sprintf("source %d", i+1)
		}
		for _, problem := range o.problems {
			c.bad(schema.CodeTimelineSource, "Source", "%s: %s", title, problem)
		}
		if o.id == "" {
			continue
		}
		if ids[o.id] {
			c.bad(schema.CodeTimelineSource, "Source", "%s is merged with itself", title)
		}
		ids[o.id] = true
		for _, name := range o.eventNames {
			if name == "" || byName[name] != nil {
				c.bad(schema.CodeTimelineSource, "Source", "%s: the event name %q is empty or there twice", title, name)
			}
			byName[name] = o
		}
	}
	return all, byName
}

// upgrades checks the payload steps of the sources.
func (c *checker) upgrades(all []*origin) {
	for _, o := range all {
		for _, problem := range o.upgradeProblems() {
			c.bad(schema.CodeTimelineUpgrade, "Source", "%s: %s", o.id, problem)
		}
	}
}

// handlers checks what the handlers are for.
func (c *checker) handlers(when []Handler[any, any], byName map[string]*origin) {
	if len(when) == 0 {
		c.bad(schema.CodeTimelineHandler, "When", "there is no handler; timeline.Log reads the events themselves")
	}
	seen := map[string]bool{}
	for _, h := range when {
		switch o := byName[h.event]; {
		case h.missing || h.key == nil:
			c.bad(schema.CodeTimelineHandler, "When", "the handler of %q has a nil function", h.event)
		case o == nil:
			c.bad(schema.CodeTimelineHandler, "When", "no source has events named %q%s", h.event, suggestion(h.event, byName))
		case h.payload != o.payload:
			c.bad(schema.CodeTimelineHandler, "When", "the handler of %q takes a %s, the event has a %s", h.event, h.payload, o.payload)
		}
		if seen[h.event] {
			c.bad(schema.CodeTimelineHandler, "When", "%q has two handlers", h.event)
		}
		seen[h.event] = true
	}
}

func suggestion(name string, byName map[string]*origin) string {
	var names []string
	for n := range byName {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := tag.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// pages checks the sizes of pages.
func (c *checker) pages(size, most int) {
	if most < 1 || most > 1000 {
		c.bad(schema.CodeTimelinePage, "MaxPageSize", "it must be from 1 to 1000")
	}
	if size < 1 || size > most {
		c.bad(schema.CodeTimelinePage, "PageSize", "it must be from 1 to MaxPageSize, %d", most)
	}
}

// leastMemory is what a replay may hold in memory at least, in bytes: less would make a file of every few events.
const minMemory = 1 << 16

func (c *checker) memory(bytes int) {
	if bytes < 0 {
		c.bad(schema.CodeTimelineVersion, "Memory", "it must be greater than zero")
	}
}

// retention checks how long rows are to live against how long their history does.
func (c *checker) retention(d time.Duration, all []*origin) {
	if d < 0 || d%time.Second != 0 {
		c.bad(schema.CodeTimelineRetention, "Retention", "it must be a number of whole seconds, or 0 for ever")
		return
	}
	for _, o := range all {
		if o.retention > 0 && (d == 0 || d > o.retention) {
			c.bad(schema.CodeTimelineRetention, "Retention", "rows would outlive the history of %s, which is kept for %s: a rebuild would lose them", o.id, o.retention)
		}
	}
}

// groups checks the key type, and what sources say about the partition of a group.
func (c *checker) groups(t rowTypes, all []*origin) (groupKeyCodec, valueCodec) {
	k := t.key
	shape, problem := groupKeyCodecOf(k)
	if problem == "" {
		if problem = unstorableField(k, false, map[reflect.Type]bool{}); problem != "" {
			problem = "it is stored in its row, and " + problem
		}
	}
	keys, err := newValueCodec(t.keyBox)
	if err != nil && problem == "" {
		problem = fmt.Sprintf("it cannot be stored: %v", err)
	}
	if problem != "" {
		c.bad(schema.CodeTimelineKey, "When", "group key %s: %s", k, problem)
	}
	for _, o := range all {
		if o.partitionOf != nil && o.partitionKeyType != k {
			c.bad(schema.CodeTimelineKey, "Source", "%s: Within takes a %s, groups have the key %s", o.id, o.partitionKeyType, k)
		}
	}
	return shape, keys
}
