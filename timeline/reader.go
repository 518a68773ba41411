package timeline

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// RowsOption is accepted by the reads of a view: [AsOf], [AsKnownAt], [AllowStale], [RequireComplete], [Partial],
// [FullReplay].
type RowsOption func(*rowsOptions)

type rowsOptions struct {
	asOf, knownAt            *time.Time
	stale, complete, partial bool
	full                     bool      // sources may be read whole for one group
	of                       any       // pointer to the key that a log is narrowed to
	since                    time.Time // from when on a log is read
}

// AsOf gives rows as they were at t: events that happened at or before t count. They are replayed from the history, and
// stored rows have no part in it. The zero time is as if it was not given. An event that a clock dated ahead counts from
// when it was accepted; where the source does not tell, from its At on. At a moment that has not come yet everything counts.
//
// [View.Get] needs [PartitionKey] on every source for it, or [FullReplay].
func AsOf(t time.Time) RowsOption {
	return func(o *rowsOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.asOf = &t
		}
	}
}

// AsKnownAt gives rows as they could be known at t: events that the store accepted at or before t count. It can be
// combined with [AsOf]. Sources that do not tell when events were accepted make it fail with [ErrNoAcceptTime].
func AsKnownAt(t time.Time) RowsOption {
	return func(o *rowsOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.knownAt = &t
		}
	}
}

// AllowStale gives rows of another definition, if there are such and they can be decoded; Meta says so.
func AllowStale() RowsOption { return func(o *rowsOptions) { o.stale = true } }

// RequireComplete makes a read fail with [ErrIncomplete] unless the rows are proven to account for the whole history, which
// those of a source whose events or states expire never are.
func RequireComplete() RowsOption { return func(o *rowsOptions) { o.complete = true } }

// Partial replays what is left where history before the wanted instant has expired, instead of failing with a *[HistoryExpiredError];
// Meta.HistoryComplete and Meta.NoGapSeen are false then.
func Partial() RowsOption { return func(o *rowsOptions) { o.partial = true } }

// FullReplay lets [View.Get] read a source whole to find the events of one group as of a moment, where the source has no
// [PartitionKey]. It costs what a build reads; see [View.Explain].
func FullReplay() RowsOption { return func(o *rowsOptions) { o.full = true } }

// badOption is a mistake in the arguments of a call.
func badOption(format string, args ...any) error {
	return &plan.InputError{Code: plan.CodeTimeline, Type: "timeline", Problem: fmt.Sprintf(format, args...)}
}

func collectRows(opts []RowsOption) (o rowsOptions, err error) {
	for _, opt := range opts {
		if opt == nil {
			return o, badOption("an option is nil")
		}
		opt(&o)
	}
	return o, nil
}

func (o rowsOptions) replays() bool { return o.asOf != nil || o.knownAt != nil }

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
func (v *view) manifest(ctx context.Context, opts ...entity.GetOption) (*manifest, error) {
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
	meta := Meta{RebuildStatus: Pending, HistoryFloor: v.floor(now), Failure: m.Failure}
	one, none := 1.0, 0.0
	meta.RebuildProgress = &none
	if g != nil {
		meta.RebuildStatus, meta.RebuildProgress = Complete, &one
		meta.Through, meta.StartedAt, meta.FinishedAt = g.Through, g.Started, g.Finished
		meta.Generation, meta.Rows, meta.Counters = g.ID, g.Rows, g.Counts
		meta.NoGapSeen = g.Print == v.print && !g.Baselines && g.Counts.Baselines == 0 && g.Counts.Ungrouped == 0 && v.whole(g)
		meta.HistoryComplete = meta.NoGapSeen && proves(v.all)
		if g.Print != v.print {
			meta.RebuildStatus = Stale
		}
	}
	switch g := m.Building; {
	case m.Failure != nil:
		meta.RebuildStatus = Failed
	case g != nil:
		meta.RebuildStatus, meta.RebuildProgress, meta.StartedAt = Interrupted, g.progress(), g.Started
		if m.working(now) != nil {
			meta.RebuildStatus = InProgress
		}
	}
	return meta
}

// serve checks the generation that answers a read, nil before the first build, and returns its id.
func (v *view) serve(m *manifest, g *generation, o rowsOptions) (Meta, string, error) {
	meta := v.meta(m, g)
	if o.complete && !meta.HistoryComplete {
		return meta, "", fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
	}
	switch {
	case g == nil:
		return meta, "", nil
	case g.Print != v.print && !o.stale:
		return meta, "", &StaleError{View: v.Name, Have: g.Print, Want: v.print}
	default:
		return meta, g.ID, nil
	}
}

// collectView is collectRows without what is for logs.
func collectView(opts []RowsOption) (rowsOptions, error) {
	o, err := collectRows(opts)
	if err == nil && (o.of != nil || !o.since.IsZero()) {
		err = badOption("Of and Since are for logs")
	}
	return o, err
}

// past is the window of a replay, and the meta of its rows.
func (v *view) past(ctx context.Context, o rowsOptions) (window, Meta, error) {
	w, meta, err := past(v.Name, v.all, v.now(), o)
	if err == nil && meta.NoGapSeen {
		meta.NoGapSeen, err = v.remembered(ctx, w.now)
	}
	return w, meta, err
}

func past(view string, all []*origin, now time.Time, o rowsOptions) (window, Meta, error) {
	w := window{now: now, since: o.since}
	meta := Meta{RebuildStatus: Complete, HistoryComplete: proves(all), NoGapSeen: true, HistoryFloor: floor(all, now), Through: now}
	one := 1.0
	meta.RebuildProgress = &one
	if o.asOf != nil {
		if meta.AsOf = o.asOf; o.asOf.Before(now) { // otherwise everything has happened
			w.asOf = *o.asOf
		}
	}
	if o.knownAt != nil {
		for _, x := range all {
			if !x.accepted {
				return w, meta, fmt.Errorf("timeline %s: %w: %s", view, ErrNoAcceptTime, x.id)
			}
		}
		w.until, meta.KnownAt = earlier(*o.knownAt, now), o.knownAt
		meta.Through = w.until
	}
	for _, t := range []*time.Time{o.asOf, o.knownAt} {
		if t == nil || !t.Before(meta.HistoryFloor) {
			continue
		}
		if !o.partial {
			return w, meta, &HistoryExpiredError{View: view, At: *t, Floor: meta.HistoryFloor}
		}
		meta.HistoryComplete, meta.NoGapSeen = false, false
	}
	if o.complete && !meta.HistoryComplete {
		return w, meta, fmt.Errorf("timeline %s: %w", view, ErrIncomplete)
	}
	return w, meta, nil
}

// key is the key that a log is narrowed to, for the sources of its entity.
func (o rowsOptions) key(from *origin) reflect.Value {
	if o.of == nil || from.core == nil {
		return reflect.Value{}
	}
	v := reflect.ValueOf(o.of).Elem()
	if v.Type() != from.core.Schema.Type {
		return reflect.Value{}
	}
	return v
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// counted completes the meta of a replay.
func (o rowsOptions) counted(meta *Meta, n Counters) {
	meta.Counters = n
	if n.Baselines > 0 || n.Ungrouped > 0 {
		meta.HistoryComplete, meta.NoGapSeen = false, false
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
		o, err := collectView(opts)
		if err != nil {
			return err
		}
		group, err := v.shape.text(reflect.ValueOf(k))
		if err != nil {
			return badOption("%v", err)
		}
		if o.replays() {
			if from := v.scattered(); from != nil && !o.full {
				return &plan.InputError{Code: plan.CodeFullReplay, Type: "timeline", Problem: fmt.Sprintf(
					"%s would be read whole for one group of %s: give the source Within, or the read FullReplay", from.id, v.Name)}
			}
			row, meta, err = v.getPast(ctx, k, group, o)
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
			row = v.row(g)
		}
		return err
	})
	return row, meta, err
}

func (v *view) getPast(ctx context.Context, k any, group string, o rowsOptions) (row anyRow, meta Meta, err error) {
	w, meta, err := v.past(ctx, o)
	if err != nil {
		return row, meta, err
	}
	var n Counters
	g, err := v.replayGroup(ctx, k, group, w, &n)
	if err != nil {
		return row, meta, err
	}
	if o.counted(&meta, n); o.complete && !meta.HistoryComplete {
		return row, meta, fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
	}
	if g == nil || v.expired(g.touched, w) {
		return row, meta, entity.ErrNotFound
	}
	meta.Rows = 1
	row, err = v.replayed(g)
	return row, meta, err
}
