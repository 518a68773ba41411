package timeline

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/layout/generations"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Defaults of a [Projection].
const (
	DefaultPageSize = 20
	DefaultMaxPage  = 100
	DefaultMemory   = 64 << 20 // bytes
)

// Projection defines a read model. The events of a source are ordered by time and split into groups, and handlers fold
// each group's events into its state.
//
// All fields but Partitions, PageSize, MaxPageSize, Memory, TempDir and Table are part of the definition's fingerprint. Rows that
// were built by a definition with another fingerprint are not served. The fingerprint does not cover what functions
// do, so raise Version when a function changes.
type Projection[K comparable, S any] struct {
	Name     string          // of the view and its rows: a letter, then letters, digits, "_" and "-", at most 64
	Version  int             // of what the functions do, from 1
	Source   Source          // the events to fold
	Start    func() S        // returns the state of a group before its first event; nil means the zero S
	Handlers []Handler[K, S] // one for each event that counts; other events of the source are ignored

	Descending    bool          // fold the newest events first
	SkipUngrouped bool          // count events without a group key and continue, instead of stopping
	Retention     time.Duration // how long a row lives after its last event, in whole seconds; 0 means forever

	// Partitions is the number of partitions of the rows, up to 100; 0 means 1. DynamoDB accepts about 1,000 write units and
	// 3,000 read units a second for each. A row is in the partition that a hash of its group selects, so Get costs the same, and
	// pages and listings read every partition. A new number counts from the next rebuild.
	Partitions int

	PageSize    int    // default number of rows on a page; 0 means 20
	MaxPageSize int    // largest number of rows on a page; 0 means 100
	Memory      int    // bytes of events that a replay holds in memory before it uses temporary files; 0 means 64 MiB
	TempDir     string // directory of the temporary files; "" means the system's
	Table       string // logical table of the rows, with keys as `$` entities have; "" means the database's default
}

// withDefaults returns p with the defaults for its zero fields.
func (p Projection[K, S]) withDefaults() Projection[K, S] {
	if p.MaxPageSize == 0 {
		p.MaxPageSize = DefaultMaxPage
	}
	if p.PageSize == 0 {
		p.PageSize = min(DefaultPageSize, p.MaxPageSize)
	}
	if p.Memory == 0 {
		p.Memory = DefaultMemory
	}
	return p
}

// Handler folds events of one name into the state of their group. [On] and [Ensure] make handlers.
type Handler[K comparable, S any] struct {
	event   string
	payload reflect.Type
	key     func(*decodedEvent) K
	apply   func(*S, *decodedEvent) error // nil: the event only creates its group
	missing bool                          // On or Ensure was given a nil function
}

// On handles events of one name. key returns the group of an event, and apply changes the group's state. P is the
// payload type of the event's source. Both functions must depend only on their arguments: no clock, no database, no
// global state. An error of apply stops the replay with an *[EventError].
func On[P any, K comparable, S any](event string, key func(P) K, apply func(*S, Event[P]) error) Handler[K, S] {
	h := Ensure[P, K, S](event, key)
	h.missing = h.missing || apply == nil
	h.apply = func(s *S, x *decodedEvent) error { return apply(s, typedEvent[P](x)) }
	return h
}

// Ensure creates the group of an event, with its start state, and changes nothing else.
func Ensure[P any, K comparable, S any](event string, key func(P) K) Handler[K, S] {
	return Handler[K, S]{
		event: event, payload: reflect.TypeFor[P](), missing: key == nil,
		key: func(x *decodedEvent) K { return key(x.Payload.(P)) },
	}
}

// erased returns h without its types, for an engine that holds keys as any and states as pointers in any.
func (h Handler[K, S]) erased() Handler[any, any] {
	e := Handler[any, any]{event: h.event, payload: h.payload, missing: h.missing}
	if h.key != nil {
		e.key = func(x *decodedEvent) any { return h.key(x) }
	}
	if h.apply != nil {
		e.apply = func(s *any, x *decodedEvent) error { return h.apply((*s).(*S), x) }
	}
	return e
}

// erased returns p without its types and with its defaults. It holds keys as any and states as pointers in any, so one
// compiled engine runs all views.
func (p Projection[K, S]) erased() Projection[any, any] {
	e := Projection[any, any]{
		Name: p.Name, Version: p.Version, Source: p.Source, Start: func() any { return new(S) },
		Descending: p.Descending, SkipUngrouped: p.SkipUngrouped, Retention: p.Retention, Partitions: p.Partitions,
		PageSize: p.PageSize, MaxPageSize: p.MaxPageSize, Memory: p.Memory, TempDir: p.TempDir, Table: p.Table,
	}
	if p.Start != nil {
		e.Start = func() any {
			s := p.Start()
			return &s
		}
	}
	for _, h := range p.Handlers {
		e.Handlers = append(e.Handlers, h.erased())
	}
	return e.withDefaults()
}

// rowTypes are the types of a view's keys and states, and the boxes in which they are stored.
type rowTypes struct {
	key, state       reflect.Type
	keyBox, stateBox reflect.Type
}

// rowTypesOf returns the types of a view's keys and states.
func rowTypesOf[K comparable, S any]() rowTypes {
	return rowTypes{reflect.TypeFor[K](), reflect.TypeFor[S](), reflect.TypeFor[box[K]](), reflect.TypeFor[box[S]]()}
}

// definition is a checked [Projection].
type definition struct {
	Projection[any, any] // see Projection.erased
	rowTypes
	all         []*origin
	byEvent     map[string]Handler[any, any]
	keyCodec    groupKeyCodec
	states      valueCodec
	keys        valueCodec
	fingerprint string // see computeFingerprint
}

// types returns the types of everything that functions of the definition are given.
func (d *definition) types() []reflect.Type {
	types := []reflect.Type{d.key, d.state}
	for _, o := range d.all {
		types = append(types, o.types()...)
	}
	return types
}

// define checks a projection. The error joins an *entity.SchemaError for every mistake.
func define(p Projection[any, any], t rowTypes) (*definition, error) {
	d := &definition{Projection: p, rowTypes: t, byEvent: map[string]Handler[any, any]{}}
	c := &checker{what: "timeline.Projection " + p.Name}
	c.name(p.Name)
	if p.Version < 1 {
		c.bad(schema.CodeTimelineVersion, "Version", "it must be 1 or more; raise it when a function of the definition changes")
	}
	c.memory(p.Memory)
	var byName map[string]*origin
	d.all, byName = c.source(p.Source)
	c.upgrades(d.all)
	c.handlers(p.Handlers, byName)
	d.keyCodec, d.keys = c.groups(t, d.all)
	c.pages(d.PageSize, d.MaxPageSize)
	c.partitions(p.Partitions)
	c.retention(p.Retention, d.all)
	d.checkState(c)
	if err := c.err(); err != nil {
		return nil, err
	}
	for _, h := range p.Handlers {
		d.byEvent[h.event] = h
	}
	var err error
	d.fingerprint, err = d.computeFingerprint()
	return d, err
}

// checkState rejects state types that storage does not preserve.
func (d *definition) checkState(c *checker) {
	if problem := unstorableField(d.state, false, map[reflect.Type]bool{}); problem != "" {
		c.bad(schema.CodeTimelineState, "Start", "a state is stored in its row, and %s", problem)
		return
	}
	var err error
	if d.states, err = newValueCodec(d.stateBox, d.types()...); err == nil {
		err = d.states.checkRoundTrip(reflect.ValueOf(d.Start()).Elem())
	}
	if err != nil {
		c.bad(schema.CodeTimelineState, "Start", "the state %s cannot be stored: %v", d.state, err)
	}
}

// eventGroup is the group of an event: its key, and the key as text.
type eventGroup struct {
	key   any
	group string
}

// groupOf decodes an event and returns its group. It returns nil for an event that is ignored.
func (d *definition) groupOf(r *record, n *Counters) (*eventGroup, error) {
	o := d.all[r.origin]
	if _, handled := d.byEvent[r.name]; !handled && o.classify == nil {
		n.Unhandled++
		return nil, nil
	}
	x, err := o.decodeEvent(r)
	if err != nil {
		return nil, d.withView(err)
	}
	h, handled := d.byEvent[x.Name]
	if !handled {
		n.Unhandled++
		return nil, nil
	}
	if r.payloadVersion != o.payloadVersion {
		n.Upgraded++
	}
	g := &eventGroup{key: h.key(x)}
	if g.group, err = d.keyCodec.text(reflect.ValueOf(g.key)); err != nil {
		if d.SkipUngrouped {
			n.Ungrouped++
			return nil, nil
		}
		return nil, d.withView(o.eventError(r, Grouping, err))
	}
	if err := o.checkPartition(g.key, r); err != nil {
		return nil, d.withView(o.eventError(r, Grouping, err))
	}
	return g, nil
}

// checkPartition rejects an event outside the partition that [PartitionKey] returns for its group.
func (o *origin) checkPartition(k any, r *record) error {
	if o.partitionOf == nil {
		return nil
	}
	conds, err := query.Under(o.core, o.partitionOf(k))
	if err != nil {
		return err
	}
	if key, ok := layout.SeriesPartition(o.core.Schema, layout.KeyOf(o.core.Schema, r.item)); !ok || !conds[0].Holds(key) {
		return fmt.Errorf("the event is outside the partition that PartitionKey returns for its group")
	}
	return nil
}

// withView adds the view's name to an error of a source.
func (d *definition) withView(err error) error { return inView(d.Name, err) }

// inView adds a view's name to an error of a source.
func inView(view string, err error) error {
	switch e := err.(type) {
	case *EventError:
		e.View = view
	case *LimitError:
		e.View = view
	}
	return err
}

// formatVersion is the format of rows and manifests. Other formats are not read, except partitionedFormat.
const formatVersion = 1

// partitionedFormat is the format of a manifest with generations of several partitions, so that programs that do not know
// them fail instead of finding no rows.
const partitionedFormat = 2

// format returns the format of a manifest.
func (m *manifest) format() int {
	spread := func(g *generation) bool { return g != nil && generations.PartitionsOf(g.ID) > 1 }
	if spread(m.Active) || spread(m.Building) || slices.ContainsFunc(m.Retired, func(r retirement) bool { return generations.PartitionsOf(r.ID) > 1 }) {
		return partitionedFormat
	}
	return formatVersion
}

// checkFormat returns an error for a manifest in an unknown format.
func (m *manifest) checkFormat(view string) error {
	if m.Format == formatVersion || m.Format == partitionedFormat {
		return nil
	}
	return fmt.Errorf("timeline %s: its manifest has format %d, this program reads %d and %d", view, m.Format, formatVersion, partitionedFormat)
}

// computeFingerprint identifies a definition by everything visible that changes rows. Functions are covered by
// Version.
func (d *definition) computeFingerprint() (string, error) {
	h := sha256.New()
	line := func(format string, args ...any) { _, _ = fmt.Fprintf(h, format+"\n", args...) } // a hash takes everything
	line("format %d name %q version %d", formatVersion, d.Name, d.Version)
	line("descending %t skip %t retention %s", d.Descending, d.SkipUngrouped, d.Retention)
	writeTypeShape(h, "key", d.key)
	writeTypeShape(h, "state", d.state)
	start, err := d.states.bytes(reflect.ValueOf(d.Start()).Elem())
	if err != nil {
		return "", err
	}
	line("start %x", start)
	var events []string
	for _, handler := range d.Handlers {
		events = append(events, fmt.Sprintf("%q applies %t", handler.event, handler.apply != nil))
	}
	slices.Sort(events)
	line("events %s", strings.Join(events, ", "))
	origins := slices.SortedFunc(slices.Values(d.all), func(a, b *origin) int { return strings.Compare(a.id, b.id) })
	for _, o := range origins {
		names := slices.Sorted(slices.Values(o.eventNames))
		line("source %q payload %d classified %t names %q clocks %q", o.id, o.payloadVersion, o.classify != nil, names, o.timeAttrs)
		writeTypeShape(h, "payload", o.payload)
		for _, s := range o.upgrades {
			line("upgrade from %d", s.From)
			writeTypeShape(h, "old", s.Old)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// checker collects the mistakes of a definition.
type checker struct {
	what string // timeline.Projection or timeline.Log, and its name
	errs []error
}

func (c *checker) bad(code, field, format string, args ...any) {
	c.errs = append(c.errs, &schema.Error{Code: code, Type: c.what, Field: field, Problem: fmt.Sprintf(format, args...)})
}

func (c *checker) err() error { return errors.Join(c.errs...) }

const maxName = 64

func (c *checker) name(name string) {
	if err := schema.Name(name); err != nil {
		c.bad(schema.CodeTimelineName, "Name", "%v", err)
	} else if len(name) > maxName {
		c.bad(schema.CodeTimelineName, "Name", "the name has %d bytes, %d are allowed", len(name), maxName)
	}
}

// source checks the sources. It returns them, and which source has each event name.
func (c *checker) source(s Source) (all []*origin, byName map[string]*origin) {
	byName = map[string]*origin{}
	if s == nil {
		c.bad(schema.CodeTimelineSource, "Source", "a source is required")
		return nil, byName
	}
	all = s.origins()
	if len(all) == 0 {
		c.bad(schema.CodeTimelineSource, "Source", "Merge has no source")
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
				c.bad(schema.CodeTimelineSource, "Source", "%s: the event name %q is empty or used twice", title, name)
			}
			byName[name] = o
		}
	}
	return all, byName
}

// upgrades checks the payload upgrades of the sources.
func (c *checker) upgrades(all []*origin) {
	for _, o := range all {
		for _, problem := range o.upgrades.Mistakes(o.payloadVersion, o.payload) {
			c.bad(schema.CodeTimelineUpgrade, "Source", "%s: %s", o.id, problem)
		}
	}
}

// handlers checks that each handler fits an event of a source.
func (c *checker) handlers(all []Handler[any, any], byName map[string]*origin) {
	if len(all) == 0 {
		c.bad(schema.CodeTimelineHandler, "Handlers", "a handler is required; use timeline.Log to list the events themselves")
	}
	handled := map[string]bool{}
	for _, h := range all {
		switch o := byName[h.event]; {
		case h.missing || h.key == nil:
			c.bad(schema.CodeTimelineHandler, "Handlers", "the handler of %q has a nil function", h.event)
		case o == nil:
			c.bad(schema.CodeTimelineHandler, "Handlers", "no source has events named %q%s", h.event, suggestion(h.event, byName))
		case h.payload != o.payload:
			c.bad(schema.CodeTimelineHandler, "Handlers", "the handler of %q takes a %s, the event has a %s", h.event, h.payload, o.payload)
		}
		if handled[h.event] {
			c.bad(schema.CodeTimelineHandler, "Handlers", "%q has two handlers", h.event)
		}
		handled[h.event] = true
	}
}

// suggestion returns the question whether another event was meant, "" if no name is similar.
func suggestion(name string, byName map[string]*origin) string {
	var names []string
	for n := range byName {
		names = append(names, n)
	}
	slices.Sort(names)
	if near := schema.Nearest(name, names); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

// pages checks the page sizes.
func (c *checker) pages(size, most int) {
	if most < 1 || most > 1000 {
		c.bad(schema.CodeTimelinePage, "MaxPageSize", "it must be from 1 to 1000")
	}
	if size < 1 || size > most {
		c.bad(schema.CodeTimelinePage, "PageSize", "it must be from 1 to MaxPageSize, %d", most)
	}
}

func (c *checker) partitions(n int) {
	if n < 0 || n > generations.MaxPartitions {
		c.bad(schema.CodeTimelinePartitions, "Partitions", "it must be from 1 to %d, or 0 for 1", generations.MaxPartitions)
	}
}

func (c *checker) memory(bytes int) {
	if bytes < 0 {
		c.bad(schema.CodeTimelineVersion, "Memory", "it must be greater than zero")
	}
}

// retention checks that rows do not outlive their history.
func (c *checker) retention(d time.Duration, all []*origin) {
	if d < 0 || d%time.Second != 0 {
		c.bad(schema.CodeTimelineRetention, "Retention", "it must be a whole number of seconds, or 0 for no expiry")
		return
	}
	for _, o := range all {
		if o.retention > 0 && (d == 0 || d > o.retention) {
			c.bad(schema.CodeTimelineRetention, "Retention", "rows would outlive the history of %s, which is kept for %s: a rebuild would lose them", o.id, o.retention)
		}
	}
}

// groups checks the group key type and that every [PartitionKey] takes it.
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
		c.bad(schema.CodeTimelineKey, "Handlers", "group key %s: %s", k, problem)
	}
	for _, o := range all {
		if o.partitionOf != nil && o.partitionKeyType != k {
			c.bad(schema.CodeTimelineKey, "Source", "%s: PartitionKey takes a %s, the group key is %s", o.id, o.partitionKeyType, k)
		}
	}
	return shape, keys
}
