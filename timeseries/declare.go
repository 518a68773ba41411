package timeseries

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Events declares a struct as a time series, in the tag of a blank field:
//
//	_ timeseries.Events `orderBy:"timestamp" ttl:"7d" late:"drop" maxAhead:"1h"`
//
// orderBy names the attribute that orders events: a time, an integer or a string that the caller supplies. ttl is how
// long DynamoDB keeps an event after it was appended; without it, forever. late is what happens to an event that is
// older than the current item: "drop" (default), or "record", which keeps it in the history. maxAhead refuses an event
// whose time is further in the future than that, because it would block all later ones. digits:"38" is for an integer
// orderBy in a table that is shared with effect-dynamodb, if it is a bigint there.
//
// id:"eventId" names the attribute that distinguishes events of one time: a string or an integer that the caller supplies.
// Events are then ordered by orderBy, and by id where that is equal. Where this package says that orderBy is equal, or that
// an event is older, it means both.
//
// shards:"8" spreads the events of each series over that many partitions, from 2 to 100, by a hash of orderBy and id, for a series that
// outgrows what DynamoDB writes to one partition in a second; the current item stays one. It needs a partition key that begins with $.
// current:"none" declares a series of events alone, without a current item: an append is one plain write, and its fields are key parts,
// orderBy, id and append fields. Neither can change once there are events. docs/series.md has the arithmetic.
//
// Only [Series.Append] and [Series.AppendAll] write fields with the role append, and they write no others.
type Events struct{ _ eventsDecl }

// events is the compiled declaration.
type events struct {
	orderBy  *schema.Attr
	id       *schema.Attr // nil: orderBy alone distinguishes events
	updated  *schema.Attr // with the role updated_at, which is not stored, since orderBy is the clock; it may be nil
	ttl      time.Duration
	record   bool
	maxAhead time.Duration
	bigint   bool           // orderBy is a bigint of effect-dynamodb
	eventKey *schema.KeyDef // sort key of events

	shards    int  // partitions of the events of a series; 0: they are with the current item
	noCurrent bool // there is no current item
}

// FeatureName shows other declarations that the entity is a time series.
func (*events) FeatureName() string { return "timeseries" }

func (e *events) OrderBy() *schema.Attr { return e.orderBy }

// order returns the attributes that order events, the most significant one first.
func (e *events) order() []*schema.Attr {
	if e.id == nil {
		return []*schema.Attr{e.orderBy}
	}
	return []*schema.Attr{e.orderBy, e.id}
}

func (e *events) ordersByTime() bool { return e.orderBy.Key.Kind == key.Time }

// Kept returns how long events are kept after they were appended; 0 is forever.
func (e *events) Kept() time.Duration { return e.ttl }

const constructor = "timeseries.New"

type eventsDecl struct{}

func (eventsDecl) Declare(d *schema.Decl) {
	e := &events{ttl: d.Duration("ttl"), maxAhead: d.Duration("maxAhead")}
	name, ok := d.Need("orderBy")
	if digits, has := d.Tag("digits"); has {
		e.bigint = digits == "38"
		if !d.Schema.Profile.PadsNumbers() || digits != "16" && digits != "38" {
			d.Problem(schema.CodeMalformed, `digits:%q: it is for tables that are shared with effect-dynamodb, which writes a number in 16 digits and a bigint in 38`, digits)
		}
	}
	e.shards = d.Shards(schema.CodeShards, "events")
	switch current, has := d.Tag("current"); {
	case has && current != "none":
		d.Problem(schema.CodeNoCurrent, `current:%q must be none; without it each series has a current item`, current)
	case has:
		if d.Schema.Profile.PadsNumbers() {
			d.Problem(schema.CodeNoCurrent, "effect-dynamodb, which shares the table, would write current items")
		}
		e.noCurrent, d.Schema.NoCurrent = true, true
	}
	late, hasLate := d.Tag("late")
	if _, twice := schema.Feature[*events](d.Schema); twice {
		d.Problem(schema.CodeMalformed, "a struct has one timeseries.Events")
		return
	}
	d.Schema.Handle = constructor
	id, hasID := d.Tag("id")
	d.Schema.UsesTTL = d.Schema.UsesTTL || e.ttl > 0
	d.RelatedItems(len(schema.EventInfix) + 1)
	d.Keep(e)
	if hasLate {
		e.record = late == "record"
		if late != "record" && late != "drop" {
			d.Problem(schema.CodeMalformed, "late:%q must be drop or record", late)
		}
		if e.noCurrent {
			d.Problem(schema.CodeNoCurrent, "late is about events that are older than the current item, which the series does not keep")
		}
	}
	if ok {
		e.readOrderBy(d, name)
	}
	if hasID {
		e.readID(d, id)
	}
	s := d.Schema // what roles contradict a series
	appends := 0
	for _, a := range s.Attrs {
		if !a.Append {
			continue
		}
		appends++
		if a.Role.Has(schema.SetOnce) || a.Role.Has(schema.Immutable) {
			d.Problem(schema.CodeSeriesRole, "%s cannot be set once: every append writes it", a.Field)
		}
	}
	if appends == 0 {
		d.Problem(schema.CodeNoAppendField, `no field has entity:"append": name the fields that events carry, so that the others survive appends`)
	}
	for _, x := range []struct {
		a    *schema.Attr
		role schema.Role
	}{{s.Version, schema.Version}, {s.DeletedAt, schema.DeletedAt}} {
		if x.a != nil {
			d.Problem(schema.CodeSeriesRole, "%s has the role %s, which a series cannot have: orderBy is its version, and nothing is deleted softly; drop the role", x.a.Field, x.role)
		}
	}
	e.updated, s.UpdatedAt = s.UpdatedAt, nil
	for _, a := range s.Contexts {
		d.Problem(schema.CodeSeriesRole, "%s has the role context, which a series cannot have: an event holds what was reported, not what the context of the call says; drop the role, and set the field", a.Field)
	}
	d.Check(func() { e.finish(d) })
}

func (e *events) readOrderBy(d *schema.Decl, name string) {
	a := d.Schema.Attr(name)
	if a == nil {
		d.Problem(schema.CodeOrderByUnknown, "orderBy names the attribute %q, which the struct does not have%s", name, d.Meant(name))
		return
	}
	e.orderBy, a.Clock = a, true
	a.Exact = true
	if d.Schema.KeyPart(a) {
		d.Problem(schema.CodeOrderByKeyPart, "orderBy %q is part of the primary key, which cannot change", name)
	}
	if a.Key == nil || a.Key.Kind == key.Bool || a.Mixed() {
		d.Problem(schema.CodeOrderByType, "orderBy %q of type %s cannot order events; times, integers and strings can", name, a.Type)
		return
	}
	if a.Key.Kind == key.String && d.Schema.Profile.KeysLowerCase() {
		d.Problem(schema.CodeLowerCase, "orderBy %q is a string, and keys are in lower case: two events whose orderBy differs only in case would have the same key", name)
	}
	if a.Optional() || a.Tag.OmitEmpty {
		d.Problem(schema.CodeAppendRole, "orderBy %q can be missing from an item; it must be neither a pointer, nor inside an embedded pointer, nor omitempty", name)
	}
	if a.Owned() || a.Role.Has(schema.SetOnce) || a.Role.Has(schema.Immutable) {
		d.Problem(schema.CodeSeriesRole, "the caller must be able to set orderBy %q", name)
	}
	if e.maxAhead > 0 && a.Key.Kind != key.Time {
		d.Problem(schema.CodeMalformed, "maxAhead needs an orderBy that is a time")
	}
	if e.bigint && a.Key.Kind != key.Int && a.Key.Kind != key.Uint {
		d.Problem(schema.CodeMalformed, "digits is for an orderBy that is an integer")
	}
	f := *d.Schema.Profile.InDollar(a.Key)
	if e.bigint {
		d.Schema.Profile.Bigint(&f)
	}
	d.RelatedItems(len(schema.EventInfix) + longestText(&f))
}

// readID reads the attribute that ends the sort keys of events.
func (e *events) readID(d *schema.Decl, name string) {
	s, a := d.Schema, d.Schema.Attr(name)
	if a != nil {
		a.Clock = true
	}
	problem := ""
	switch {
	case a == nil:
		problem = "which the struct does not have" + d.Meant(name)
	case s.Profile.PadsNumbers():
		problem = "but effect-dynamodb, which shares the table, knows events by orderBy alone"
	case a == e.orderBy:
		problem = "which is orderBy"
	case s.KeyPart(a):
		problem = "which is part of the primary key"
	case a.Key == nil || a.Mixed() || a.Key.Kind != key.String && a.Key.Kind != key.Int && a.Key.Kind != key.Uint:
		problem = "of type " + a.Type.String() + ", which must be a string or an integer"
	case a.Optional() || a.Tag.OmitEmpty:
		problem = "which can be missing from an item; it must be neither a pointer, nor inside an embedded pointer, nor omitempty"
	case a.Owned() || a.Role.Has(schema.SetOnce) || a.Role.Has(schema.Immutable) || a.Role.ID != "":
		problem = "which the caller must be able to set"
	default:
		e.id, s.EventID = a, a
		d.RelatedItems(len(schema.EventInfix) + len("#") + longestText(s.Profile.InDollar(a.Key)))
		return
	}
	d.Problem(schema.CodeEventID, "id names the attribute %q, %s", name, problem)
}

// longestText returns the length of the longest text of f in a key. Strings have none; they are checked at each append.
func longestText(f *key.Field) int {
	switch {
	case f.Kind == key.Time && f.Time.Text():
		return len("2006-01-02T15:04:05.000000000Z")
	case f.Number() && f.Width > 0:
		return f.Width
	case f.Kind == key.Uint:
		return 20
	case f.Number():
		return 19
	}
	return 1
}

// finish checks the series against the other declarations.
func (e *events) finish(d *schema.Decl) {
	s := d.Schema
	for _, f := range s.Features {
		if n, ok := f.(schema.Named); ok {
			switch n.FeatureName() {
			case "versioned":
				d.Problem(schema.CodeSeriesVersioned, "a time series cannot be versioned: events are its history")
			case "lifecycle":
				d.Problem(schema.CodeSeriesSoftDelete, "a time series cannot be soft-deleted")
			}
		}
	}
	if e.noCurrent { // what is stored on current items only
		for _, a := range s.Attrs {
			if !a.Append && !a.Clock && a != e.updated && !s.KeyPart(a) {
				d.Problem(schema.CodeNoCurrent, `no verb writes %s: events have key parts, orderBy, id and append fields, and there is no current item; tag it entity:"append" or leave it out`, a.Field)
			}
		}
		for _, x := range s.Indexes {
			d.Problem(schema.CodeNoCurrent, "the index %s would be empty: it holds current items", x.Name)
		}
	}
	if e.shards > 0 && s.PK != nil {
		if s.PK.Prefixed {
			s.SpreadEvents(e.shards)
		} else {
			d.Problem(schema.CodeShards, "the partitions of events continue the partition key, which must begin with $")
		}
	}
	for _, x := range s.Indexes {
		for _, h := range []*schema.KeyDef{x.PK, x.SK} {
			if h != nil && !(x.Local && h == x.PK) {
				e.checkIndexKey(d, x, h)
			}
			if h != nil && e.updated != nil && h.Has(e.updated) {
				d.Problem(schema.CodeSeriesRole, "the index %s would be empty: a series does not store %s, as orderBy is its clock; name that", x.Name, e.updated.Field)
			}
		}
		for _, h := range x.Keys() {
			for _, a := range h.Parts { // an append can create an item that lacks a part
				if x.Complete && !s.KeyPart(a) && !a.Append && !a.Clock && a != s.CreatedAt {
					d.Problem(schema.CodeMissingPart, `the index %s has missing:"error", and %s is enrichment: the first append creates an item without it`, x.Name, a.Field)
				}
			}
		}
	}
	if e.orderBy != nil && e.orderBy.Key != nil && s.SK != nil && s.SK.Prefixed {
		f := s.Profile.InDollar(e.orderBy.Key)
		if e.bigint {
			s.Profile.Bigint(f)
		}
		e.eventKey = layout.RelatedSortKey(s, schema.EventInfix, e.orderBy, f)
		if e.id != nil {
			e.eventKey.Template.Segments = append(e.eventKey.Template.Segments, key.Segment{Field: s.Profile.InDollar(e.id.Key)})
			e.eventKey.Parts = append(e.eventKey.Parts, e.id)
		}
		s.RelatedKeys = append(s.RelatedKeys, e.eventKey)
	}
}

// checkIndexKey refuses an index key that an append could not compose from the event alone.
func (e *events) checkIndexKey(d *schema.Decl, x *schema.Index, h *schema.KeyDef) {
	written, pointers, others, clock := 0, 0, "", false
	parts, code, what := h.Parts, schema.CodeMixedIndexKey, "the key"
	for _, c := range h.When {
		if code, what = schema.CodeWhenSeries, "with its condition, the key"; !slices.Contains(parts, c.Attr) {
			parts = append(slices.Clip(parts), c.Attr)
		}
	}
	for _, a := range parts {
		switch {
		case a.Clock:
			clock = true
		case a.Append:
			written++
			if a.Optional() {
				pointers++
			}
		case !d.Schema.KeyPart(a):
			others = a.Name
		}
	}
	problem := ""
	optional := func(c schema.Clause) bool { return c.Not && (!c.Attr.Append || c.Attr.Optional()) }
	switch {
	case others != "" && (written > 0 || clock):
		problem = fmt.Sprintf("combines attributes that appends write with %q, which they do not", others)
	case pointers > 0 && (written > 1 || clock):
		problem = "contains an optional field and others that appends change; use non-pointer fields"
	case h.Template != nil && d.Schema.CreatedAt != nil && slices.Contains(h.Parts, d.Schema.CreatedAt) && !bind.Copies(h):
		problem = "contains created_at, which an append knows only for a new item; use a bare copy, attr={" + d.Schema.CreatedAt.Name + "}, of a time stored as text"
	case h.When != nil && d.Schema.CreatedAt != nil && slices.Contains(h.Parts, d.Schema.CreatedAt):
		problem = "contains created_at, which an append knows only for a new item"
	case slices.ContainsFunc(h.When, optional):
		problem = "needs the absence of an attribute that an append may not know; ask for a value that it has instead"
	}
	if problem != "" {
		d.Problem(code, "%s %s of index %s %s", what, h, x.Name, problem)
	}
}

// Record returns the declaration for the schema lock. late and maxAhead decide which events are stored, not how.
func (e *events) Record(s *schema.Schema) schema.Record {
	r := schema.Record{Name: "timeseries.Events", Settings: []schema.Setting{
		{Key: "events", Value: e.eventKey.Template.Describe()}, {Key: "orderBy", Value: e.orderBy.Name}, {Key: "ttl", Value: schema.DurationText(e.ttl)},
	}}
	if e.id != nil {
		r.Settings = append(r.Settings, schema.Setting{Key: "id", Value: e.id.Name})
	}
	if e.noCurrent {
		r.Settings = append(r.Settings, schema.Setting{Key: "current", Value: "none"})
	}
	if e.shards > 0 {
		r.Settings = append(r.Settings, schema.Setting{Key: "shards", Value: strconv.Itoa(e.shards)})
	}
	return r
}
