package timeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/lease"
)

// Status is the state of a view's stored rows.
type Status string

// The states of a view's rows.
const (
	Pending     Status = "pending"     // never built
	InProgress  Status = "in_progress" // a build holds the lease; rows of an earlier build are served meanwhile
	Interrupted Status = "interrupted" // a build gave up or lost its lease; Resume can continue it
	Complete    Status = "complete"    // built by the running definition
	Failed      Status = "failed"      // the last build or catch-up failed; see Failure
	Stale       Status = "stale"       // built by another definition
)

// Meta describes how complete and how recent rows are. Every read returns it.
//
// HistoryComplete reports that the rows account for everything the sources accepted up to Through, or AsOf. It is true
// only if that is proven: the history was read completely, no state of an item is missing, no event lacked a group
// key, and no source lets events, or all states of an item, expire. Where a source expires events it is always false,
// because expired events leave no trace. The proof trusts the declarations: they never had a time to live before, and
// a [Feed] yields all of its events. What was purged or deleted on purpose is not part of the history.
//
// NoGapSeen is the same judgement without the proof: nothing that was read shows that anything is missing. For a
// source that expires events it means that the view's builds, one after the other within the time to live, have seen
// no event that has expired since. It starts with a build that found such sources empty, or without events in the
// older half of their retention; what had expired before is unknown. It ends when the first event since then has
// expired, or the definition changes. For items whose expiry is a field of their own it is always false.
//
// For a [Log] both are about events at or after HistoryFloor.
type Meta struct {
	RebuildStatus   Status     `json:"rebuild_status"`
	RebuildProgress *float64   `json:"rebuild_progress"` // 0 to 1: fraction of the history that has been read; nil if unknown
	HistoryComplete bool       `json:"history_complete"` // the rows are proven to account for the whole history up to Through, or AsOf
	NoGapSeen       bool       `json:"no_gap_seen"`      // nothing shows that they do not, which is no proof if events expire
	Through         time.Time  `json:"through"`          // the rows account for events accepted up to here
	HistoryFloor    time.Time  `json:"history_floor"`    // events at or after it have not expired; zero if events do not expire
	StartedAt       time.Time  `json:"rebuild_started_at"`
	FinishedAt      time.Time  `json:"rebuild_finished_at"`
	AsOf            *time.Time `json:"as_of_applied,omitempty"`    // events that happened up to here, from [AsOf]
	KnownAt         *time.Time `json:"known_at_applied,omitempty"` // events accepted up to here, from [AsKnownAt]
	Generation      string     `json:"generation,omitempty"`       // of the rows; "" for a replay
	Rows            int64      `json:"rows"`                       // number of rows
	Counters        Counters   `json:"counters"`                   // of the build, or of the replay
	Failure         *Failure   `json:"failure,omitempty"`          // of the last build or catch-up, if it failed
}

// Counters count the events of a replay.
type Counters struct {
	Scanned    int64 `dynamodbav:"scanned" json:"scanned"`       // read
	Folded     int64 `dynamodbav:"folded" json:"folded"`         // applied to a state
	Unhandled  int64 `dynamodbav:"unhandled" json:"unhandled"`   // without a handler
	Ungrouped  int64 `dynamodbav:"ungrouped" json:"ungrouped"`   // ignored because they lack a group key
	Upgraded   int64 `dynamodbav:"upgraded" json:"upgraded"`     // upgraded from an earlier payload version
	Duplicates int64 `dynamodbav:"duplicates" json:"duplicates"` // read more than once
	Baselines  int64 `dynamodbav:"baselines" json:"baselines"`   // states whose earlier states are missing

	// Oldest is the time of the oldest event of sources with expiring events; zero if there was none.
	Oldest time.Time `dynamodbav:"oldest,omitempty" json:"-"`
}

func (c *Counters) add(o Counters) {
	c.Scanned += o.Scanned
	c.Folded += o.Folded
	c.Unhandled += o.Unhandled
	c.Ungrouped += o.Ungrouped
	c.Upgraded += o.Upgraded
	c.Duplicates += o.Duplicates
	c.Baselines += o.Baselines
	if c.Oldest.IsZero() || !o.Oldest.IsZero() && o.Oldest.Before(c.Oldest) {
		c.Oldest = o.Oldest
	}
}

// Failure describes why a build or catch-up stopped.
type Failure struct {
	At      time.Time `dynamodbav:"at" json:"at"`
	Stage   Stage     `dynamodbav:"category,omitempty" json:"category,omitempty"` // "" if no event was the cause
	Event   string    `dynamodbav:"event,omitempty" json:"event,omitempty"`
	Source  string    `dynamodbav:"source,omitempty" json:"source,omitempty"`
	Key     string    `dynamodbav:"key,omitempty" json:"key,omitempty"`
	Group   string    `dynamodbav:"group,omitempty" json:"group,omitempty"` // key of the row that could not be stored
	Payload int       `dynamodbav:"payload,omitempty" json:"payload,omitempty"`
	Message string    `dynamodbav:"message" json:"message"`
}

// Row is one group.
type Row[K comparable, S any] struct {
	Key       K         `json:"key"`
	State     S         `json:"state"`
	Events    int64     `json:"events"`              // number of events applied
	First     time.Time `json:"first,omitzero"`      // time of its first event
	Last      time.Time `json:"last,omitzero"`       // time of its last event
	ExpiresAt time.Time `json:"expires_at,omitzero"` // when its retention ends; zero: never
}

// Page is a page of rows.
type Page[R any] struct {
	Rows  []R    `json:"rows"`
	Meta  Meta   `json:"meta"`
	Page  int    `json:"page"`           // number of the page, from 1; 0 for a page after a cursor
	Size  int    `json:"size"`           // largest number of rows on the page
	Total int64  `json:"total"`          // rows on all pages; -1 if not counted
	Pages int64  `json:"pages"`          // number of pages, at least 1; -1 if not counted
	Next  string `json:"next,omitempty"` // cursor of the next page, "" after the last page
}

// add appends a row unless the page is full, and reports whether it did.
func (p *Page[R]) add(row R) bool {
	if len(p.Rows) == p.Size {
		return false
	}
	p.Rows = append(p.Rows, row)
	return true
}

// count counts a row, and adds it if it belongs on the page, which starts at offset.
func (p *Page[R]) count(row R, offset int64) {
	if p.Total >= offset {
		p.add(row)
	}
	p.setTotal(p.Total + 1)
}

// setTotal sets the number of rows, and with it the number of pages.
func (p *Page[R]) setTotal(rows int64) {
	p.Total, p.Pages = rows, max((rows+int64(p.Size)-1)/int64(p.Size), 1)
}

// sequence returns an iterator over what run gives. It yields run's error last.
func sequence[R any](run func(give func(R) bool) error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		stopped := false
		err := run(func(row R) bool {
			stopped = !yield(row, nil)
			return !stopped
		})
		if err != nil && !stopped {
			var none R
			yield(none, err)
		}
	}
}

// Authoritative reports whether the rows are proven to account for the whole history. It is Meta.HistoryComplete.
func (p Page[R]) Authoritative() bool { return p.Meta.HistoryComplete }

// View builds and reads the rows of a [Projection]. It is safe for concurrent use.
type View[K comparable, S any] struct {
	_    viewOf[K, S]
	view *view
}

// view is a [View] without its types.
type view struct {
	*definition
	stores
}

// New checks a projection and declares its rows on db, so that tables.Create creates their table. It does no
// I/O. The error joins an *entity.SchemaError for every mistake, including a name that another definition has. Without
// a database it is an *entity.InputError.
func New[K comparable, S any](db *entity.DB, p Projection[K, S]) (*View[K, S], error) {
	d, err := define(p.erased(), rowTypesOf[K, S]())
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	rows, err := entity.New[storedRow[K, S]](db, rowOptions(d)...)
	if err != nil {
		return nil, err
	}
	opened, err := newView(db, d, &typedRowStore[K, S]{db, rows})
	if err != nil {
		return nil, err
	}
	return &View[K, S]{view: opened}, nil
}

func newView(db *entity.DB, d *definition, rows rowStore) (*view, error) {
	s, err := openStores(db, d.Projection, rows)
	if err != nil {
		return nil, err
	}
	if !s.core.DB.View(d.Name, d.fingerprint) {
		return nil, &schema.Error{Code: schema.CodeTimelineName, Type: "timeline.Projection " + d.Name, Field: "Name", Problem: "another definition has this name"}
	}
	return &view{d, s}, nil
}

// opened returns the view of v, or one of which every call fails.
func (v *View[K, S]) opened() *view {
	if v != nil && v.view != nil {
		return v.view
	}
	none := &view{definition: &definition{}}
	none.core = engine.Closed(reflect.TypeOf(v))
	return none
}

// Fingerprint returns the identity of the definition. Rows of another fingerprint are not served.
func (v *View[K, S]) Fingerprint() string { return v.opened().fingerprint }

// DependsOn reports whether events of any of these names can change rows.
func (v *View[K, S]) DependsOn(events ...string) bool {
	byEvent := v.opened().byEvent
	return slices.ContainsFunc(events, func(name string) bool { _, handled := byEvent[name]; return handled })
}

func (v *view) now() time.Time { return v.core.Runner.Clock().UTC() }

// String returns the name, version and fingerprint of the definition.
func (v *View[K, S]) String() string {
	d := v.opened()
	return fmt.Sprintf("timeline %s version %d, definition %s", d.Name, d.Version, d.fingerprint)
}

// anyRow is a row without its types: the state is a pointer.
type anyRow = Row[any, any]

// typedRow restores the types of a row.
func typedRow[K comparable, S any](r anyRow) Row[K, S] {
	row := Row[K, S]{Events: r.Events, First: r.First, Last: r.Last, ExpiresAt: r.ExpiresAt}
	if r.State != nil { // there is a row
		row.Key, row.State = r.Key.(K), *r.State.(*S)
	}
	return row
}

// typedPage restores the types of the rows on a page.
func typedPage[K comparable, S any](p Page[anyRow]) Page[Row[K, S]] {
	typed := Page[Row[K, S]]{Meta: p.Meta, Rows: []Row[K, S]{}, Page: p.Page, Size: p.Size, Total: p.Total, Pages: p.Pages, Next: p.Next}
	for _, r := range p.Rows {
		typed.Rows = append(typed.Rows, typedRow[K, S](r))
	}
	return typed
}

// toRow returns a group as callers see it.
func (v *view) toRow(g *groupState) anyRow {
	row := anyRow{Key: g.key, State: g.state, Events: g.events, First: g.first, Last: g.last}
	if v.Retention > 0 {
		row.ExpiresAt = g.touched.Add(v.Retention)
	}
	return row
}

// Meta returns how complete and how recent the stored rows are. It costs one read.
func (v *View[K, S]) Meta(ctx context.Context) (Meta, error) { return v.opened().readMeta(ctx) }

func (v *view) readMeta(ctx context.Context) (meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.Meta", v.Name, func(ctx context.Context) error {
		m, err := v.manifest(ctx)
		meta = v.meta(m, m.Active)
		return err
	})
	return meta, err
}

// manifest reads the view's manifest. It is empty for a view that was never built.
func (v *view) manifest(ctx context.Context, opts ...entity.GetOption) (*manifest, error) {
	m, err := v.manifests.Get(ctx, manifest{View: v.Name}, opts...)
	if errors.Is(err, entity.ErrNotFound) {
		return &manifest{}, nil
	}
	if err == nil {
		err = m.checkFormat(v.Name)
	}
	return &m, err
}

// putManifest writes a manifest over the one with a write less.
func (v *view) putManifest(ctx context.Context, m manifest) (manifest, error) {
	return v.manifests.Put(ctx, m, lease.After(&entity.Fields[manifest]().Writes, &m.Term)...)
}

// meta describes the rows of a generation; g is nil if there are none.
func (v *view) meta(m *manifest, g *generation) Meta {
	now := v.now()
	meta := Meta{RebuildStatus: Pending, HistoryFloor: v.historyFloor(now), Failure: m.Failure}
	one, none := 1.0, 0.0
	meta.RebuildProgress = &none
	if g != nil {
		meta.RebuildStatus, meta.RebuildProgress = Complete, &one
		meta.Through, meta.StartedAt, meta.FinishedAt = g.Through, g.Started, g.Finished
		meta.Generation, meta.Rows, meta.Counters = g.ID, g.Rows, g.Counts
		meta.NoGapSeen = g.Fingerprint == v.fingerprint && !g.Baselines && g.Counts.Baselines == 0 && g.Counts.Ungrouped == 0 && v.gapFree(g)
		meta.HistoryComplete = meta.NoGapSeen && provable(v.all)
		if g.Fingerprint != v.fingerprint {
			meta.RebuildStatus = Stale
		}
	}
	switch g := m.Building; {
	case m.Failure != nil:
		meta.RebuildStatus = Failed
	case g != nil:
		meta.RebuildStatus, meta.RebuildProgress, meta.StartedAt = Interrupted, g.progress(), g.Started
		if m.activeBuild(now) != nil {
			meta.RebuildStatus = InProgress
		}
	}
	return meta
}

// serve checks that a generation may answer a read, and returns its id, "" before the first build.
func (v *view) serve(m *manifest, g *generation, o readOptions) (Meta, string, error) {
	meta := v.meta(m, g)
	if o.requireComplete && !meta.HistoryComplete {
		return meta, "", fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
	}
	switch {
	case g == nil:
		return meta, "", nil
	case g.Fingerprint != v.fingerprint && !o.allowStale:
		return meta, "", &StaleError{View: v.Name, Have: g.Fingerprint, Want: v.fingerprint}
	default:
		return meta, g.ID, nil
	}
}

// Get returns the row of one group. It costs two reads, whatever Projection.Partitions is. With [AsOf] or [AsKnownAt] the events of the group are
// replayed instead: by a query of its partition in a source with [PartitionKey], otherwise by a scan of the source,
// which [FullReplay] must allow. Errors: entity.ErrNotFound if the group has no event, and for every group before the first build
// has ended, while Meta.RebuildStatus is not [Complete]; *[StaleError]; [ErrIncomplete];
// *[HistoryExpiredError]; *[EventError]; *entity.InputError.
func (v *View[K, S]) Get(ctx context.Context, k K, opts ...RowsOption) (Row[K, S], Meta, error) {
	row, meta, err := v.opened().get(ctx, k, opts)
	return typedRow[K, S](row), meta, err
}

func (v *view) get(ctx context.Context, k any, opts []RowsOption) (row anyRow, meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.Get", v.Name, func(ctx context.Context) error {
		o, err := collectRowOptions(opts)
		if err != nil {
			return err
		}
		ctx = bind.WithPace(ctx, o.budget)
		group, err := v.keyCodec.text(reflect.ValueOf(k))
		if err != nil {
			return badOption("%v", err)
		}
		if o.isReplay() {
			if from := v.withoutPartitionKey(); from != nil && !o.fullReplay {
				return &entitytype.InputError{Code: bind.CodeFullReplay, Type: "timeline", Problem: fmt.Sprintf(
					"%s would be scanned for one group of %s: give the source PartitionKey, or the read FullReplay", from.id, v.Name)}
			}
			row, meta, err = v.replayRow(ctx, k, group, o)
			return err
		}
		m, err := v.manifest(ctx)
		if err != nil {
			return err
		}
		var id string
		if meta, id, err = v.serve(m, m.Active, o); err != nil {
			return err
		}
		if id == "" {
			return entity.ErrNotFound
		}
		g, err := v.rows.get(ctx, id, group)
		if err == nil {
			row = v.toRow(g)
		}
		return err
	})
	return row, meta, err
}
