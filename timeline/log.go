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
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/spool"
)

// Log defines a list of events themselves: nothing is folded and nothing stored, so that it is always up to date.
type Log struct {
	Name        string
	Source      Source
	Events      []string // names of the events that are listed; nil: all of the source
	Oldest      bool     // oldest first; default newest first
	PageSize    int      // events of a page when the caller does not say; default 25
	MaxPageSize int      // more are refused; default 100
	Memory      int      // bytes of events held in memory; default 64 MiB
	TempDir     string   // where the rest goes; default the system's
}

// LogView reads the events of a [Log].
type LogView struct {
	Log
	all    []*origin
	listed map[string]bool
	core   *core.Core
}

// NewLog checks a log. It does no I/O. The error joins an *entity.SchemaError for every mistake; without a
// database it is an *entity.InputError.
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
			c.bad(schema.CodeTimelineHandler, "Events", "no source has events named %q%s", name, nearest(name, byName))
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
	s, err := entity.New[manifest](db, entity.Named("TimelineLog-"+l.Name), forStore{Do: func(o *opt.Store) { o.Derived = true }}) // of feeds alone: nothing is stored
	if err != nil {
		return nil, err
	}
	v.core = core.Of(s)
	return v, nil
}

// opened is v, or a log of which every call fails.
func (v *LogView) opened() *LogView {
	if v == nil || v.core == nil {
		return &LogView{core: core.Closed(reflect.TypeOf(v))}
	}
	return v
}

// Entry is one event of a log, whatever its payload type: an Event[P] with the payload as any.
type Entry = Event[any]

// LogOption is accepted by the reads of a log: [AsOf], [AsKnownAt], [Partial], [RequireComplete] as for rows, [ForKey] and
// [Since].
type LogOption = RowsOption

// ForKey narrows a log to the events of one item, or partition: key has the partition key's fields, and as many of the sort
// key's, from the left, as are to be fixed. It is read by a query. Sources of other entities are
// left out; one of the log's must be of this one.
func ForKey[T any](key T) LogOption {
	return func(o *rowsOptions) { o.of = &key }
}

// Since leaves out of a log what happened before t. The zero time is as if it was not given.
func Since(t time.Time) LogOption {
	return func(o *rowsOptions) { o.since = t.UTC() }
}

// Page returns a page of events by its number, from 1; 0 is the first page, and size 0 the default size. A page beyond the
// last has no rows. The history is read whole for every page; see [ForKey]. While events come in at the front, those of later
// pages move on; [LogView.After] does not mind.
func (v *LogView) Page(ctx context.Context, page, size int, opts ...LogOption) (p Page[Entry], err error) {
	v = v.opened()
	if err := v.core.Err(); err != nil {
		return p, v.core.Wrap("Timeline.LogPage", "", err)
	}
	page, size, err = sizes(page, size, v.PageSize, v.MaxPageSize)
	if err != nil {
		return p, err
	}
	p.Page, p.Size = page, size
	offset := before(page, size)
	p.Meta, err = v.read(ctx, "Timeline.LogPage", "", opts, func(e Entry, _ string) bool {
		if p.Total >= offset && len(p.Rows) < size {
			p.Rows = append(p.Rows, e)
		}
		p.Total++
		return true
	})
	p.Meta.Rows, p.Pages = p.Total, max((p.Total+int64(size)-1)/int64(size), 1)
	return p, err
}

// After returns the events that follow a cursor, "" for the first ones; size 0 is the default size. Events that come in
// meanwhile do not move the others. The history is read whole for every page; see [ForKey]. Errors: an *entity.CursorError;
// an *entity.InputError where a source's key has secret parts and Config.CursorKey is not set.
func (v *LogView) After(ctx context.Context, after string, size int, opts ...LogOption) (p Page[Entry], err error) {
	v = v.opened()
	if err := v.core.Err(); err != nil {
		return p, v.core.Wrap("Timeline.LogAfter", "", err)
	}
	_, size, err = sizes(1, size, v.PageSize, v.MaxPageSize)
	if err != nil {
		return p, err
	}
	if err := v.cursors(); err != nil {
		return p, err
	}
	p.Size, p.Total, p.Pages = size, -1, -1
	last, final, more := "", "", false
	if after != "" {
		it, err := v.core.Cursor.Decode(v.binding(), after, []cursor.Attr{{Name: "p", Type: types.ScalarAttributeTypeS}})
		if err != nil {
			return p, err
		}
		last = it["p"].(*types.AttributeValueMemberS).Value
	}
	p.Meta, err = v.read(ctx, "Timeline.LogAfter", last, opts, func(e Entry, at string) bool {
		if len(p.Rows) < size {
			p.Rows, final = append(p.Rows, e), at
		} else {
			more = true
		}
		return !more
	})
	if err == nil && more {
		p.Next, err = v.core.Cursor.Encode(v.binding(), item.Item{"p": item.S(final)})
	}
	return p, err
}

// cursors refuses cursors that would show the keys of events that have secret parts.
func (v *LogView) cursors() error {
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

func (v *LogView) binding() string {
	return fmt.Sprintf("timeline log\x00%s\x00%t", v.Name, v.Oldest)
}

// All yields every event; it stops at the first error.
func (v *LogView) All(ctx context.Context, opts ...LogOption) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		stopped := false
		_, err := v.opened().read(ctx, "Timeline.LogAll", "", opts, func(e Entry, _ string) bool {
			stopped = !yield(e, nil)
			return !stopped
		})
		if err != nil && !stopped {
			yield(Entry{}, err)
		}
	}
}

// read gives the events behind position last, in order, until give is satisfied.
func (v *LogView) read(ctx context.Context, verb, last string, opts []LogOption, give func(Entry, string) bool) (meta Meta, err error) {
	err = v.core.Measure(ctx, verb, v.Name, func(ctx context.Context) (err error) {
		o, err := collectRows(opts)
		if err != nil {
			return err
		}
		if o.of != nil && !slices.ContainsFunc(v.all, func(x *origin) bool { return o.key(x).IsValid() }) {
			return badOption("Of: no source of the log has items of %s", reflect.TypeOf(o.of).Elem())
		}
		var w window
		if w, meta, err = past(v.Name, v.all, v.core.Runner.Clock().UTC(), o); err != nil {
			return err
		}
		s := spool.New(max(v.Memory, leastMemory), v.TempDir)
		defer func() { err = joined(err, s.Close()) }()
		var n Counters
		if err := v.gather(ctx, w, o, last, s, &n); err != nil {
			return inView(v.Name, err)
		}
		if o.counted(&meta, n); o.complete && !meta.HistoryComplete {
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
			x, err := v.all[r.origin].open(r)
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

// gather sorts the wanted events.
func (v *LogView) gather(ctx context.Context, w window, o rowsOptions, last string, s *spool.Spool, n *Counters) error {
	for i, from := range v.all {
		to := sink{event: func(r *record) error {
			r.origin = i
			n.Scanned++
			if from.baseline(r) {
				n.Baselines++
			}
			if !w.holds(from, r) {
				return nil
			}
			at, err := position(from, r)
			if err != nil || last != "" && (at <= last) == v.Oldest || at == last {
				return err
			}
			if len(v.listed) > 0 || from.classify != nil {
				x, err := from.open(r)
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
		}, repeated: func() { n.Duplicates++ }, dir: v.TempDir}
		var err error
		switch key := o.key(from); {
		case o.of == nil:
			err = from.everything(ctx, w.now, to)
		case key.IsValid():
			err = from.partition(ctx, key, w.now, to)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reads reports whether the log lists events of these names.
func (v *LogView) Reads(events ...string) bool {
	v = v.opened()
	return slices.ContainsFunc(events, func(name string) bool {
		if len(v.listed) > 0 {
			return v.listed[name]
		}
		return slices.ContainsFunc(v.all, func(o *origin) bool { return slices.Contains(o.names, name) })
	})
}
