package timeline

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeseries"
)

// Source yields the events of a timeline: [Series], [Versions], [Items], [Feed], or a [Merge] of them.
type Source interface{ origins() []*origin }

// SourceOption configures a source: [Classify], [Upgrade], [PartitionKey], [AcceptedAt].
type SourceOption func(*origin)

// Merge reads several sources as one. Events of the same time are ordered by the ids of their sources.
func Merge(sources ...Source) Source { return merged(sources) }

type merged []Source

func (m merged) origins() []*origin {
	var all []*origin
	for _, s := range m {
		if s == nil {
			all = append(all, &origin{problems: []string{"a source is nil"}})
			continue
		}
		all = append(all, s.origins()...)
	}
	return all
}

// assembler makes events of the items of a table, which arrive partition by partition in sort key order.
type assembler interface {
	push(it map[string]value, give func(*record) error) error
	flush(give func(*record) error) error // at the end of a partition
}

// origin is a source that is not a merge.
type origin struct {
	id             string          // in positions and fingerprints, unique in a definition
	kind           string          // series, versions, items or feed
	core           *engine.Core    // of the entity; nil for a feed
	payload        reflect.Type    // payload type of its events
	eventNames     []string        // names of its events
	payloadVersion int             // current version of the payload
	upgrades       schema.Upgrades // steps from earlier payload versions to the current one
	reads          []*schema.Attr  // attributes that it reads in stored items, in today's struct
	former         map[formerAttr]*schema.Attr
	timeAttrs      []string      // attributes with the times of events, for fingerprints
	hasAcceptTimes bool          // whether its events have accept times
	retention      time.Duration // how long its events live; 0: not known, or forever
	problems       []string      // mistakes in its declaration

	classify         func(*decodedEvent) string                            // names an event; nil: events keep their names
	partitionKeyType reflect.Type                                          // argument type of partitionOf
	partitionOf      func(any) reflect.Value                               // group key → item with the partition of the group; nil: unknown
	decode           func(*origin, *record, item.Item) (any, Stage, error) // decodes a payload and upgrades it

	acceptedAt func(item.Item) (time.Time, error)           // when an item was accepted; nil: not recorded
	filter     func(own expr.Cond, now time.Time) expr.Cond // selects the items with history; own selects the entity's
	assemble   func() assembler                             // items → events
	feed       func(context.Context) iter.Seq2[*record, error]
}

func (o *origin) origins() []*origin { return []*origin{o} }

// types returns the types of the payloads of the source's events, in all versions.
func (o *origin) types() []reflect.Type {
	types := []reflect.Type{o.payload}
	for _, s := range o.upgrades {
		types = append(types, s.Old)
	}
	return types
}

// newOrigin returns the source of an entity's items, without options. Its core is nil if the handle was not opened.
func newOrigin(kind string, h engine.Holder, t reflect.Type) *origin {
	c := engine.Of(h)
	if c.Err() != nil {
		return &origin{kind: kind, payload: t, problems: []string{kind + ": its handle is a zero value, and was not opened on a database"}}
	}
	o := &origin{kind: kind, core: c, payload: t, payloadVersion: c.Schema.Payload, decode: decodeStored}
	o.id = kind + ":" + c.Table + ":" + c.Schema.Prefix
	if c.Schema.Prefix == "" {
		o.id += c.Schema.Name
	}
	return o
}

// problem adds a mistake in the declaration of a source.
func (o *origin) problem(format string, args ...any) {
	o.problems = append(o.problems, fmt.Sprintf(format, args...))
}

// finish applies the options of a source.
func (o *origin) finish(opts []SourceOption) *origin {
	for _, opt := range opts {
		if opt == nil {
			o.problem("an option is nil")
			continue
		}
		opt(o)
	}
	slices.SortStableFunc(o.upgrades, func(a, b schema.Upgrade) int { return a.From - b.From })
	o.findFormer()
	return o
}

// eventName returns the default name of an event: the entity's in lower case, and what happened.
func (o *origin) eventName(what string) string {
	return strings.ToLower(o.core.Schema.Name) + "." + what
}

// scanFilter selects the items with history in the entity's table.
func (o *origin) scanFilter(now time.Time) expr.Cond {
	s := o.core.Schema
	return o.filter(expr.All(s.Own, s.InNamespace), now)
}

// queryFilter selects the items with history in one partition. DynamoDB rejects filters on key attributes in queries,
// and the key condition already excludes other namespaces.
func (o *origin) queryFilter(now time.Time) expr.Cond {
	return o.filter(o.core.Schema.Own, now)
}

// Classify names the events of a source by their content. names lists the possible names. name returns one of them for
// each event, which carries the source's own name until then; "" drops the event. name must depend only on the event.
// Another name stops the replay with an *[EventError].
func Classify[T any](names []string, name func(Event[T]) string) SourceOption {
	return func(o *origin) {
		switch {
		case o.classify != nil:
			o.problem("Classify is given twice")
		case len(names) == 0 || name == nil:
			o.problem("Classify needs names and a function")
		case o.payload != reflect.TypeFor[T]():
			o.problem("Classify is for events of %s, the source has %s", reflect.TypeFor[T](), o.payload)
		default:
			o.eventNames = slices.Clone(names)
			o.classify = func(x *decodedEvent) string { return name(typedEvent[T](x)) }
		}
	}
}

// PartitionKey says which partition holds the events of a group. key returns an item with the partition
// key's fields set, and as many of the sort key's fields, from the left, as are the same for the whole group. One
// group is then read by a query, and a build holds the events of one partition at a time. An event outside its group's
// partition is an *[EventError].
func PartitionKey[K comparable, T any](key func(K) T) SourceOption {
	return func(o *origin) {
		switch {
		case o.partitionOf != nil:
			o.problem("PartitionKey is given twice")
		case key == nil:
			o.problem("PartitionKey needs a function")
		case o.core == nil || o.core.Schema.Type != reflect.TypeFor[T]():
			o.problem("PartitionKey returns a %s, but the source does not read such items", reflect.TypeFor[T]())
		default:
			o.partitionKeyType = reflect.TypeFor[K]()
			o.partitionOf = func(k any) reflect.Value { return reflect.ValueOf(key(k.(K))) }
		}
	}
}

// seriesDecl is the compiled declaration of a time series.
type seriesDecl interface {
	OrderBy() *schema.Attr
	Kept() time.Duration
}

// Series reads the events of a time series, named <entity>.appended with the entity's name in lower case. Their time
// is the series' orderBy, which must be a time or an integer that counts one. Their accept time is recorded by the
// series.
func Series[T any](s *timeseries.Series[T], opts ...SourceOption) Source {
	if s == nil {
		return &origin{problems: []string{"the series is nil"}}
	}
	o := newOrigin("series", s, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	c, ok := schema.Feature[seriesDecl](o.core.Schema)
	if !ok || !o.core.Schema.HasMetadata {
		o.problem("in tables shared with effect-dynamodb, events have no accept time")
		return o
	}
	clock := c.OrderBy()
	if clock.Key.Kind != key.Time && !clock.Epoch {
		o.problem("orderBy %s is not a time", clock.Name)
	}
	o.eventNames, o.retention, o.hasAcceptTimes = []string{o.eventName("appended")}, c.Kept(), true
	o.acceptedAt = func(it item.Item) (time.Time, error) { return key.Nano.FromValue(it[schema.AtAttr]) }
	o.filter = func(own expr.Cond, now time.Time) expr.Cond {
		return expr.All(expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(layout.EventKind)), own, layout.NotExpired(o.core.Schema, now))
	}
	o.reads = append(o.reads, clock)
	if id := o.core.Schema.EventID; id != nil { // events have other keys with it
		o.timeAttrs = append(o.timeAttrs, "id "+id.Name)
	}
	o.assemble = func() assembler { return itemEvents{o, o.eventName("appended"), clock, o.acceptedAt} }
	return o.finish(opts)
}

// itemEvents makes one event of every item.
type itemEvents struct {
	o          *origin
	name       string // of the events
	clock      *schema.Attr
	acceptedAt func(item.Item) (time.Time, error) // when the item was accepted; nil: not recorded
}

func (e itemEvents) push(it map[string]value, give func(*record) error) error {
	s := e.o.core.Schema
	primary := layout.KeyOf(s, it)
	if s.EventID != nil { // the order is that of the series, over all its partitions
		if home, ok := layout.SeriesPartition(s, primary); ok {
			primary = home
		}
	}
	r := &record{name: e.name, key: layout.KeyID(primary), item: it, payloadVersion: layout.PayloadOf(it)}
	at, err := e.o.storedTime(e.clock, it)
	if err == nil && e.acceptedAt != nil {
		r.acceptedAt, err = e.acceptedAt(it)
	}
	r.at = at
	if err != nil {
		return e.o.eventError(r, Decoding, err)
	}
	return give(r)
}

func (itemEvents) flush(func(*record) error) error { return nil }

// Items reads the current items of an entity whose items are written once and never changed, such as readings in a
// table of their own. Each item is an event named <entity>.stored, with the entity's name in lower case. at is a field
// of the entity's prototype that holds the time of the event: a time, or an integer whose tag says what it counts,
// such as &entity.Fields[Reading]().TimestampMs.
//
// Such items do not record when the store accepted them, which [View.CatchUp] and [AsKnownAt] need; see [AcceptedAt].
func Items[T any, V any](s *entity.Store[T], at *V, opts ...SourceOption) Source {
	if s == nil {
		return &origin{problems: []string{"the store is nil"}}
	}
	o := newOrigin("items", s, reflect.TypeFor[T]())
	if o.core == nil {
		return o
	}
	clock := o.timeField(at, "the time of an event")
	o.eventNames = []string{o.eventName("stored")}
	o.filter = func(own expr.Cond, now time.Time) expr.Cond {
		current, live := expr.Cond{}, expr.Cond{}
		if o.core.Schema.HasMetadata {
			current = expr.Compare(expr.NotExists, expr.Attr(schema.KindAttr))
		}
		if o.core.Schema.Expires {
			live = layout.NotExpired(o.core.Schema, now)
		}
		return expr.All(own, current, live)
	}
	if clock == nil {
		return o
	}
	o.reads, o.timeAttrs = append(o.reads, clock), append(o.timeAttrs, "at "+clock.Name)
	o.assemble = func() assembler { return itemEvents{o, o.eventName("stored"), clock, o.acceptedAt} }
	if x, ok := schema.Feature[bind.ExpirySetter](o.core.Schema); ok {
		o.retention = lifetime(x)
	}
	if !o.core.Schema.Profile.MarksItems() {
		o.problem("in tables shared with effect-dynamodb, current items cannot be distinguished from others")
	}
	return o.finish(opts)
}

// lifetime returns how long an entity's items live according to its declaration; 0 if it does not say.
func lifetime(x bind.ExpirySetter) time.Duration {
	if l, ok := x.(interface{ Kept() time.Duration }); ok {
		return l.Kept()
	}
	return 0
}

// AcceptedAt names the field with the time at which the store accepted an item of [Items]. It must be set by the clock
// of the service, such as a created_at, and not by a client.
func AcceptedAt[V any](field *V) SourceOption {
	return func(o *origin) {
		if o.kind != "items" {
			o.problem("AcceptedAt is for Items")
			return
		}
		if a := o.timeField(field, "the time of acceptance"); a != nil {
			o.hasAcceptTimes, o.timeAttrs = true, append(o.timeAttrs, "seen "+a.Name)
			o.reads = append(o.reads, a)
			o.acceptedAt = func(it item.Item) (time.Time, error) { return o.storedTime(a, it) }
		}
	}
}

// timeField resolves a prototype field that holds a time.
func (o *origin) timeField(field any, what string) *schema.Attr {
	n, err := bind.Node(o.core.Schema, bind.Target{Pointer: field})
	if err != nil || n.Attr == nil || !n.Top {
		o.problem("%s must be a field of the prototype that entity.Fields gives", what)
		return nil
	}
	if !n.Attr.Time && !n.Attr.Epoch {
		o.problem(`%s, %s, must be a time, or an integer whose tag says what it counts: entity:"time=unixms"`, what, n.Attr.Name)
		return nil
	}
	return n.Attr
}

// Feed reads events from elsewhere than a table, such as an export. name identifies the source, and events lists the
// names of its events. read yields all events, in any order, each with Name, Key, At and Payload, and AcceptedAt if it
// is known. The payload is a struct. An event that is yielded twice counts once; two events with the same At and Key
// but different content are an *[EventError]. Each [View.CatchUp] reads events without AcceptedAt again and compares
// them with the rows.
func Feed[P any](name string, events []string, read func(context.Context) iter.Seq2[Event[P], error], opts ...SourceOption) Source {
	o := &origin{id: "feed:" + name, kind: "feed", payload: reflect.TypeFor[P](), eventNames: slices.Clone(events), payloadVersion: 1}
	if name == "" || strings.Contains(name, separator) {
		o.problem("a feed needs a name")
	}
	if len(events) == 0 || read == nil {
		o.problem("a feed needs the names of its events and a function that reads them")
		return o
	}
	codec, err := schema.CodecOf(o.payload, schema.Options{Precision: key.Nano})
	if err != nil {
		o.problem("the payload cannot be stored: %v", err)
	}
	o.decode = func(_ *origin, r *record, it item.Item) (any, Stage, error) {
		v := reflect.New(o.payload)
		if err := codec.Decode(it, v); err != nil {
			return nil, Decoding, err
		}
		return v.Elem().Interface(), "", nil
	}
	if problem := unstorableField(o.payload, true, map[reflect.Type]bool{}); problem != "" {
		o.problem("the payload cannot be stored: %s", problem)
	}
	o.hasAcceptTimes = true
	o.feed = func(ctx context.Context) iter.Seq2[*record, error] {
		return func(yield func(*record, error) bool) {
			for e, err := range read(ctx) {
				err = hidden(err, o.payload)
				r := &record{name: e.Name, key: e.Key, at: e.At.UTC(), acceptedAt: e.AcceptedAt.UTC(), version: e.Version, payloadVersion: 1}
				if err == nil {
					err = o.checkFed(r)
				}
				if err == nil {
					r.item, err = codec.Encode(reflect.ValueOf(e.Payload))
					if err != nil {
						err = o.eventError(r, Decoding, hiddenUnlessField(err, o.payload))
					}
				}
				if !yield(r, err) || err != nil {
					return
				}
			}
		}
	}
	return o.finish(opts)
}

// checkFed checks an event of a feed.
func (o *origin) checkFed(r *record) error {
	problem := ""
	switch {
	case r.key == "" || strings.Contains(r.key, separator):
		problem = "the event has no key"
	case r.at.IsZero():
		problem = "the event has no time"
	case o.classify == nil && !slices.Contains(o.eventNames, r.name):
		return o.eventError(r, Naming, ErrUnknownEvent)
	}
	if problem != "" {
		return o.eventError(r, History, fmt.Errorf("%s", problem))
	}
	return nil
}
