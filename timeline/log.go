package timeline

import (
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/timeline/internal/spool"
)

// Log defines a list of the events themselves. Nothing is folded or stored, so it is always up to date.
type Log struct {
	Name        string
	Source      Source
	Events      []string // names of the events to list; nil: all of the source
	Oldest      bool     // oldest first; the default is newest first
	PageSize    int      // default number of events on a page; 0 means 25
	MaxPageSize int      // largest number of events on a page; 0 means 100
	Memory      int      // bytes of events held in memory before temporary files are used; 0 means 64 MiB
	TempDir     string   // directory of the temporary files; "" means the system's
}

// LogView reads the events of a [Log].
type LogView struct {
	Log
	all    []*origin
	listed map[string]bool
	core   *engine.Core
}

// NewLog checks a log. It does no I/O. The error joins an *entity.SchemaError for every mistake; without a database it
// is an *entity.InputError.
func NewLog(db *entity.DB, l Log) (*LogView, error) {
	if l.MaxPageSize == 0 {
		l.MaxPageSize = DefaultMaxPage
	}
	if l.PageSize == 0 {
		l.PageSize = min(25, l.MaxPageSize)
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	c := &checker{what: "timeline.Log " + l.Name}
	c.name(l.Name)
	v := &LogView{Log: l, listed: map[string]bool{}}
	var byName map[string]*origin
	v.all, byName = c.source(l.Source)
	c.upgrades(v.all)
	c.pages(l.PageSize, l.MaxPageSize)
	c.memory(l.Memory)
	for _, name := range l.Events {
		if byName[name] == nil {
			c.bad(schema.CodeTimelineHandler, "Events", "no source has events named %q%s", name, suggestion(name, byName))
		}
		v.listed[name] = true
	}
	if err := c.err(); err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	for _, o := range v.all {
		if o.core != nil {
			v.core = o.core
			return v, nil
		}
	}
	s, err := entity.New[manifest](db, entity.Named("TimelineLog-"+l.Name), bind.Option{Setting: func(o *bind.Options) { o.Derived = true }}) // only feeds: nothing is stored
	if err != nil {
		return nil, err
	}
	v.core = engine.Of(s)
	return v, nil
}

// opened returns v, or a log of which every call fails.
func (v *LogView) opened() *LogView {
	if v == nil || v.core == nil {
		return &LogView{core: engine.Closed(reflect.TypeOf(v))}
	}
	return v
}

// Entry has the fields Name, Source, Key, At, AcceptedAt, Version, PayloadVersion, Payload and Before: one event of a log. Its
// payload has the type of its source.
type Entry = Event[any]

// LogOption configures reads of a log: [AsOf], [AsKnownAt], [Partial] and [RequireComplete] as for rows, [ForKey] and
// [Since].
type LogOption = RowsOption

// ForKey limits a log to the events of one item or partition. key has the partition key's fields set, and as many of
// the sort key's, from the left, as are to be fixed. The events are read by a query. Sources of other entities are
// left out; at least one of the log's sources must be of this entity.
func ForKey[T any](key T) LogOption {
	return func(o *readOptions) { o.forKey = &key }
}

// Since leaves out events that happened before t. The zero time has no effect.
func Since(t time.Time) LogOption {
	return func(o *readOptions) { o.since = t.UTC() }
}

// Page returns a page of events by its number, from 1; 0 is the first page. size is the number of events, 0 for the
// default. A page beyond the last is empty. New events at the front move the others to later pages; [LogView.After] is
// not affected.
//
// It reads the whole history for every page; see [ForKey]. Errors: [ErrIncomplete]; [ErrNoAcceptTime];
// *[HistoryExpiredError]; *[EventError]; *entity.InputError.
func (v *LogView) Page(ctx context.Context, page, size int, opts ...LogOption) (p Page[Entry], err error) {
	v = v.opened()
	if err := v.core.Err(); err != nil {
		return p, v.core.Wrap("Timeline.LogPage", "", err)
	}
	page, size, err = checkPage(page, size, v.PageSize, v.MaxPageSize)
	if err != nil {
		return p, err
	}
	p.Rows, p.Page, p.Size, p.Pages = []Entry{}, page, size, 1
	offset := rowOffset(page, size)
	p.Meta, err = v.read(ctx, "Timeline.LogPage", "", opts, func(e Entry, _ string) bool {
		p.count(e, offset)
		return true
	})
	p.Meta.Rows = p.Total
	return p, err
}

// After returns the events after a cursor, "" for the first ones. size is the number of events, 0 for the default.
// Events that arrive meanwhile do not move the others.
//
// It reads the whole history for every page; see [ForKey]. Errors: those of [LogView.Page]; an *entity.CursorError; an
// *entity.InputError if a source's key has secret parts and Config.CursorKey is not set.
func (v *LogView) After(ctx context.Context, after string, size int, opts ...LogOption) (p Page[Entry], err error) {
	v = v.opened()
	if err := v.core.Err(); err != nil {
		return p, v.core.Wrap("Timeline.LogAfter", "", err)
	}
	_, size, err = checkPage(1, size, v.PageSize, v.MaxPageSize)
	if err != nil {
		return p, err
	}
	if err := v.checkCursorKey(); err != nil {
		return p, err
	}
	p.Rows, p.Size, p.Total, p.Pages = []Entry{}, size, -1, -1
	last, final, more := "", "", false
	if after != "" {
		it, err := v.core.Cursor.Decode(v.cursorBinding(), after, []cursor.Attr{{Name: "p", Type: types.ScalarAttributeTypeS}})
		if err != nil {
			return p, err
		}
		last = it["p"].(*types.AttributeValueMemberS).Value
	}
	p.Meta, err = v.read(ctx, "Timeline.LogAfter", last, opts, func(e Entry, at string) bool {
		if more = !p.add(e); !more {
			final = at
		}
		return !more
	})
	if err == nil && more {
		p.Next, err = v.core.Cursor.Encode(v.cursorBinding(), item.Item{"p": item.S(final)})
	}
	return p, err
}

// checkCursorKey rejects cursors that would reveal secret parts of event keys.
func (v *LogView) checkCursorKey() error {
	for _, o := range v.all {
		if o.core == nil {
			continue
		}
		if err := v.core.Cursor.Allow(o.core.Schema, o.core.Schema.PK, o.core.Schema.SK); err != nil {
			return err
		}
	}
	return nil
}

func (v *LogView) cursorBinding() string {
	return fmt.Sprintf("timeline log\x00%s\x00%t", v.Name, v.Oldest)
}

// All yields every event and stops at the first error. It reads the whole history; see [ForKey].
func (v *LogView) All(ctx context.Context, opts ...LogOption) iter.Seq2[Entry, error] {
	return sequence(func(give func(Entry) bool) error {
		_, err := v.opened().read(ctx, "Timeline.LogAll", "", opts, func(e Entry, _ string) bool { return give(e) })
		return err
	})
}

// read gives the events after position last, in order, until give has enough.
func (v *LogView) read(ctx context.Context, verb, last string, opts []LogOption, give func(Entry, string) bool) (meta Meta, err error) {
	err = v.core.Measure(ctx, verb, v.Name, func(ctx context.Context) (err error) {
		o, err := collectReadOptions(opts)
		if err != nil {
			return err
		}
		ctx = bind.WithPace(ctx, o.budget)
		if o.forKey != nil && !slices.ContainsFunc(v.all, func(x *origin) bool { return o.keyFor(x).IsValid() }) {
			return badOption("ForKey: no source of the log reads items of %s", reflect.TypeOf(o.forKey).Elem())
		}
		var w window
		if w, meta, err = replayWindowOf(v.Name, v.all, v.core.Runner.Clock().UTC(), o); err != nil {
			return err
		}
		s := spool.New(max(v.Memory, minMemory), v.TempDir)
		defer func() { err = joinClose(err, s.Close()) }()
		var n Counters
		if err := v.collect(ctx, w, o, last, s, &n); err != nil {
			return inView(v.Name, err)
		}
		if o.addCounters(&meta, n); o.requireComplete && !meta.HistoryComplete {
			return fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
		}
		for e, err := range s.Sorted() {
			if err != nil {
				return err
			}
			r, err := parseRecord(e.Value)
			if err != nil {
				return err
			}
			x, err := v.all[r.origin].decodeEvent(r)
			if err != nil {
				return inView(v.Name, err)
			}
			at, err := position(v.all[r.origin], r)
			if err != nil || !give(x.Event, at) {
				return err
			}
		}
		return nil
	})
	return meta, err
}

// collect sorts the wanted events.
func (v *LogView) collect(ctx context.Context, w window, o readOptions, last string, s *spool.Spool, n *Counters) error {
	for i, from := range v.all {
		to := recordSink{event: func(r *record) error {
			r.origin = i
			n.Scanned++
			if from.isBaseline(r) {
				n.Baselines++
			}
			if !w.includes(from, r) {
				return nil
			}
			at, err := position(from, r)
			if err != nil || last != "" && (at <= last) == v.Oldest || at == last {
				return err
			}
			if len(v.listed) > 0 || from.classify != nil {
				x, err := from.decodeEvent(r)
				if err != nil {
					return err
				}
				if x.Name == "" || len(v.listed) > 0 && !v.listed[x.Name] {
					n.Unhandled++
					return nil
				}
			}
			b, err := appendRecord(nil, r)
			if err != nil {
				return err
			}
			return s.Add(sortKey("", at, !v.Oldest), b)
		}, duplicate: func() { n.Duplicates++ }, dir: v.TempDir}
		var err error
		switch key := o.keyFor(from); {
		case o.forKey == nil:
			err = from.readWhole(ctx, w.now, to)
		case key.IsValid():
			err = from.readPartition(ctx, key, w.now, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reads reports whether the log lists events of any of these names.
func (v *LogView) Reads(events ...string) bool {
	v = v.opened()
	return slices.ContainsFunc(events, func(name string) bool {
		if len(v.listed) > 0 {
			return v.listed[name]
		}
		return slices.ContainsFunc(v.all, func(o *origin) bool { return slices.Contains(o.eventNames, name) })
	})
}
