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
	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Status says in what state the stored rows of a view are.
type Status string

// The states of a view.
const (
	Pending     Status = "pending"     // never built
	InProgress  Status = "in_progress" // being built, under a lease; rows of an earlier build are served meanwhile
	Interrupted Status = "interrupted" // a build was cut off: its builder gave up, or its lease has ended. Resume goes on with it
	Complete    Status = "complete"    // built by the running definition
	Failed      Status = "failed"      // the last build or catch-up failed; see Failure
	Stale       Status = "stale"       // built by another definition
)

// Meta says how complete and how recent rows are. It comes with every result.
//
// HistoryComplete says that the rows account for everything that the sources have accepted up to Through, or AsOf, and is
// true only when that is proven: the history was read whole, no state of an item is missing in it, no event was passed over for
// want of a group key, and no source lets events, or all the states of an item, expire. It is false always where one does: what
// has expired leaves nothing to see it by. The proof takes the declarations at their word: they never had a time to live, and a [Feed] gives all
// of its events. What was purged or deleted on purpose is no part of the history.
//
// NoGapSeen is the judgement without the proof: nothing that was read shows that anything is missing. Of a source that
// expires it says that the builds of the view, one after the other within the time to live, have seen no event that has
// expired since; it begins with a build that found such sources empty, or nothing in the older half of what is kept, and what
// had expired before that is not known. It ends when the first event since then has expired, or the definition changes. Items
// whose end is a field of their own have it false always.
//
// For a [Log] both are about what is at or after HistoryFloor.
type Meta struct {
	RebuildStatus   Status     `json:"rebuild_status"`
	RebuildProgress *float64   `json:"rebuild_progress"` // 0 to 1: how much of the history has been read; nil if unknown
	HistoryComplete bool       `json:"history_complete"` // it is proven that the rows account for the whole history up to Through, or AsOf
	NoGapSeen       bool       `json:"no_gap_seen"`      // nothing shows that they do not, which proves nothing where events expire
	Through         time.Time  `json:"through"`          // the rows account for events accepted up to here
	HistoryFloor    time.Time  `json:"history_floor"`    // nothing at or after it has expired; zero when nothing expires
	StartedAt       time.Time  `json:"rebuild_started_at"`
	FinishedAt      time.Time  `json:"rebuild_finished_at"`
	AsOf            *time.Time `json:"as_of_applied,omitempty"`    // events that happened up to here, given by [AsOf]
	KnownAt         *time.Time `json:"known_at_applied,omitempty"` // events accepted up to here, given by [AsKnownAt]
	Generation      string     `json:"generation,omitempty"`       // of the rows; "" for a replay
	Rows            int64      `json:"rows"`                       // how many there are
	Counters        Counters   `json:"counters"`                   // of the build, or of the replay
	Failure         *Failure   `json:"failure,omitempty"`          // why the last build or catch-up failed
}

// Counters say what became of the events of a replay.
type Counters struct {
	Scanned    int64 `dynamodbav:"scanned" json:"scanned"`       // read
	Folded     int64 `dynamodbav:"folded" json:"folded"`         // applied to a state
	Unhandled  int64 `dynamodbav:"unhandled" json:"unhandled"`   // without a handler
	Ungrouped  int64 `dynamodbav:"ungrouped" json:"ungrouped"`   // passed over for want of a group key
	Upgraded   int64 `dynamodbav:"upgraded" json:"upgraded"`     // brought from an earlier payload version
	Duplicates int64 `dynamodbav:"duplicates" json:"duplicates"` // there more than once
	Baselines  int64 `dynamodbav:"baselines" json:"baselines"`   // states before which others are missing

	// Oldest is the time of the oldest event that was read of sources that expire without a trace; zero: there was none.
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

// Failure is why a build or catch-up stopped.
type Failure struct {
	At      time.Time `dynamodbav:"at" json:"at"`
	Stage   Stage     `dynamodbav:"category,omitempty" json:"category,omitempty"` // "" when it was no event's
	Event   string    `dynamodbav:"event,omitempty" json:"event,omitempty"`
	Source  string    `dynamodbav:"source,omitempty" json:"source,omitempty"`
	Key     string    `dynamodbav:"key,omitempty" json:"key,omitempty"`
	Group   string    `dynamodbav:"group,omitempty" json:"group,omitempty"` // of a row that could not be stored
	Payload int       `dynamodbav:"payload,omitempty" json:"payload,omitempty"`
	Message string    `dynamodbav:"message" json:"message"`
}

// Row is one group.
type Row[K comparable, S any] struct {
	Key         K
	State       S
	Events      int64     // how many brought it about
	First, Last time.Time // of its events
	ExpiresAt   time.Time // when its retention ends; zero: never
}

// Page is a page of rows.
type Page[R any] struct {
	Rows  []R
	Meta  Meta
	Page  int    // number of the page, from 1; 0 for one that a cursor led to
	Size  int    // rows that a page has at most
	Total int64  // rows of all pages; -1 where they are not counted
	Pages int64  // how many pages there are, at least 1; -1 where rows are not counted
	Next  string // cursor of what follows, "" after the last page
}

// add appends a row unless the page is full, and reports whether it did.
func (p *Page[R]) add(row R) bool {
	if len(p.Rows) == p.Size {
		return false
	}
	p.Rows = append(p.Rows, row)
	return true
}

// count takes the next of all rows, of which the page has those from offset on.
func (p *Page[R]) count(row R, offset int64) {
	if p.Total >= offset {
		p.add(row)
	}
	p.setTotal(p.Total + 1)
}

// setTotal sets the number of rows, and with it that of pages.
func (p *Page[R]) setTotal(rows int64) {
	p.Total, p.Pages = rows, max((rows+int64(p.Size)-1)/int64(p.Size), 1)
}

// sequence makes an iterator of a function that gives rows until give has enough. The iterator yields the function's error last.
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

// Authoritative reports that it is proven that the rows account for the whole history: Meta.HistoryComplete.
func (p Page[R]) Authoritative() bool { return p.Meta.HistoryComplete }

// View builds and reads the rows of a [Projection]. It is safe for concurrent use.
type View[K comparable, S any] struct{ view *view }

// view is a [View] whose types are erased.
type view struct {
	*definition
	stores
}

// New checks a definition and declares its rows on db, so that entity.DB.CreateTables makes their table. It does no I/O.
// The error joins an *entity.SchemaError for every mistake, one of them being that another definition has the name;
// without a database it is an *entity.InputError.
func New[K comparable, S any](db *entity.DB, f Projection[K, S]) (*View[K, S], error) {
	d, err := define(f.erased(), rowTypesOf[K, S]())
	if err != nil {
		return nil, err
	}
	if db == nil {
		return nil, errNoDB
	}
	rows, err := entity.New[storedRow[K, S]](db, rowOptions(d.Projection)...)
	if err != nil {
		return nil, err
	}
	opened, err := newView(db, d, typedRowStore[K, S]{rows})
	if err != nil {
		return nil, err
	}
	return &View[K, S]{opened}, nil
}

func newView(db *entity.DB, d *definition, rows rowStore) (*view, error) {
	s, err := openStores(db, d.Projection, rows)
	if err != nil {
		return nil, err
	}
	if other, taken := s.core.Views.LoadOrStore(d.Name, d.fingerprint); taken && other != d.fingerprint {
		return nil, &schema.Error{Code: schema.CodeTimelineName, Type: "timeline.Projection " + d.Name, Field: "Name", Problem: "another definition has the name"}
	}
	return &view{d, s}, nil
}

// opened is the view of v, or one of which every call fails.
func (v *View[K, S]) opened() *view {
	if v != nil && v.view != nil {
		return v.view
	}
	none := &view{definition: &definition{}}
	none.core = core.Closed(reflect.TypeOf(v))
	return none
}

// Fingerprint identifies the definition: rows of another one are not served.
func (v *View[K, S]) Fingerprint() string { return v.opened().fingerprint }

// DependsOn reports whether rows may change by events of these names.
func (v *View[K, S]) DependsOn(events ...string) bool {
	byEvent := v.opened().byEvent
	return slices.ContainsFunc(events, func(name string) bool { _, handled := byEvent[name]; return handled })
}

func (v *view) now() time.Time { return v.core.Runner.Clock().UTC() }

// String prints the definition.
func (v *View[K, S]) String() string {
	d := v.opened()
	return fmt.Sprintf("timeline %s version %d, definition %s", d.Name, d.Version, d.fingerprint)
}

// anyRow is a row whose types are erased: the state is a pointer.
type anyRow = Row[any, any]

// typed gives a row its types back.
func typedRow[K comparable, S any](r anyRow) Row[K, S] {
	row := Row[K, S]{Events: r.Events, First: r.First, Last: r.Last, ExpiresAt: r.ExpiresAt}
	if r.State != nil { // there is a row
		row.Key, row.State = r.Key.(K), *r.State.(*S)
	}
	return row
}

// typedPage gives the rows of a page their types back.
func typedPage[K comparable, S any](p Page[anyRow]) Page[Row[K, S]] {
	typed := Page[Row[K, S]]{Meta: p.Meta, Page: p.Page, Size: p.Size, Total: p.Total, Pages: p.Pages, Next: p.Next}
	for _, r := range p.Rows {
		typed.Rows = append(typed.Rows, typedRow[K, S](r))
	}
	return typed
}

// row is a stored row as callers see it.
func (v *view) toRow(g *groupState) anyRow {
	row := anyRow{Key: g.key, State: g.state, Events: g.events, First: g.first, Last: g.last}
	if v.Retention > 0 {
		row.ExpiresAt = g.touched.Add(v.Retention)
	}
	return row
}

// Meta says how complete and how recent the stored rows are. It costs one read.
func (v *View[K, S]) Meta(ctx context.Context) (Meta, error) { return v.opened().readMeta(ctx) }

func (v *view) readMeta(ctx context.Context) (meta Meta, err error) {
	err = v.core.Measure(ctx, "Timeline.Meta", v.Name, func(ctx context.Context) error {
		m, err := v.manifest(ctx)
		meta = v.meta(m, m.Active)
		return err
	})
	return meta, err
}

// manifest reads what there is about the view; it is empty for one that was never built.
func (v *view) manifest(ctx context.Context, opts ...entity.ReadOption) (*manifest, error) {
	m, err := v.manifests.Get(ctx, manifest{View: v.Name}, opts...)
	if errors.Is(err, entity.ErrNotFound) {
		return &manifest{}, nil
	}
	if err == nil && m.Format != formatVersion {
		err = fmt.Errorf("timeline %s: its manifest has format %d, this program reads %d", v.Name, m.Format, formatVersion)
	}
	return &m, err
}

// meta is what a manifest says about the rows of a generation; nil when there are none.
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

// serve checks the generation that answers a read, nil before the first build, and returns its id.
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

// Get returns the row of one group. Stored rows cost two reads. With [AsOf] or [AsKnownAt] the events of the group are
// read: by a query of its partition in a source with [PartitionKey], else of the whole source, which [FullReplay] has to allow.
// Errors: entity.ErrNotFound when the group has no event; *[StaleError]; *[HistoryExpiredError]; *[EventError]; *entity.InputError.
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
		group, err := v.keyCodec.text(reflect.ValueOf(k))
		if err != nil {
			return badOption("%v", err)
		}
		if o.isReplay() {
			if from := v.withoutPartitionKey(); from != nil && !o.fullReplay {
				return &plan.InputError{Code: plan.CodeFullReplay, Type: "timeline", Problem: fmt.Sprintf(
					"%s would be read whole for one group of %s: give the source Within, or the read FullReplay", from.id, v.Name)}
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
