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
type RowsOption func(*readOptions)

type readOptions struct {
	asOf, knownAt                        *time.Time
	allowStale, requireComplete, partial bool
	fullReplay                           bool      // sources may be read whole for one group
	forKey                               any       // pointer to the key that a log is narrowed to
	since                                time.Time // from when on a log is read
}

// AsOf gives rows as they were at t: events that happened at or before t count. They are replayed from the history, and
// stored rows have no part in it. The zero time is as if it was not given. An event that a clock dated ahead counts from
// when it was accepted; where the source does not tell, from its At on. At a moment that has not come yet everything counts.
//
// [View.Get] needs [PartitionKey] on every source for it, or [FullReplay].
func AsOf(t time.Time) RowsOption {
	return func(o *readOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.asOf = &t
		}
	}
}

// AsKnownAt gives rows as they could be known at t: events that the store accepted at or before t count. It can be
// combined with [AsOf]. Sources that do not tell when events were accepted make it fail with [ErrNoAcceptTime].
func AsKnownAt(t time.Time) RowsOption {
	return func(o *readOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.knownAt = &t
		}
	}
}

// AllowStale gives rows of another definition, if there are such and they can be decoded; Meta says so.
func AllowStale() RowsOption { return func(o *readOptions) { o.allowStale = true } }

// RequireComplete makes a read fail with [ErrIncomplete] unless the rows are proven to account for the whole history, which
// those of a source whose events or states expire never are.
func RequireComplete() RowsOption { return func(o *readOptions) { o.requireComplete = true } }

// Partial replays what is left where history before the wanted instant has expired, instead of failing with a *[HistoryExpiredError];
// Meta.HistoryComplete and Meta.NoGapSeen are false then.
func Partial() RowsOption { return func(o *readOptions) { o.partial = true } }

// FullReplay lets [View.Get] read a source whole to find the events of one group as of a moment, where the source has no
// [PartitionKey]. It costs what a build reads; see [View.Explain].
func FullReplay() RowsOption { return func(o *readOptions) { o.fullReplay = true } }

// badOption is a mistake in the arguments of a call.
func badOption(format string, args ...any) error {
	return &plan.InputError{Code: plan.CodeTimeline, Type: "timeline", Problem: fmt.Sprintf(format, args...)}
}

func collectReadOptions(opts []RowsOption) (o readOptions, err error) {
	for _, opt := range opts {
		if opt == nil {
			return o, badOption("an option is nil")
		}
		opt(&o)
	}
	return o, nil
}

func (o readOptions) isReplay() bool { return o.asOf != nil || o.knownAt != nil }

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

// collectView is collectRows without what is for logs.
func collectRowOptions(opts []RowsOption) (readOptions, error) {
	o, err := collectReadOptions(opts)
	if err == nil && (o.forKey != nil || !o.since.IsZero()) {
		err = badOption("Of and Since are for logs")
	}
	return o, err
}

// past is the window of a replay, and the meta of its rows.
func (v *view) replayWindow(ctx context.Context, o readOptions) (window, Meta, error) {
	w, meta, err := replayWindowOf(v.Name, v.all, v.now(), o)
	if err == nil && meta.NoGapSeen {
		meta.NoGapSeen, err = v.noGapSeen(ctx, w.now)
	}
	return w, meta, err
}

func replayWindowOf(view string, all []*origin, now time.Time, o readOptions) (window, Meta, error) {
	w := window{now: now, since: o.since}
	meta := Meta{RebuildStatus: Complete, HistoryComplete: provable(all), NoGapSeen: true, HistoryFloor: historyFloor(all, now), Through: now}
	one := 1.0
	meta.RebuildProgress = &one
	if o.asOf != nil {
		if meta.AsOf = o.asOf; o.asOf.Before(now) { // otherwise everything has happened
			w.asOf = *o.asOf
		}
	}
	if o.knownAt != nil {
		for _, x := range all {
			if !x.hasAcceptTimes {
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
	if o.requireComplete && !meta.HistoryComplete {
		return w, meta, fmt.Errorf("timeline %s: %w", view, ErrIncomplete)
	}
	return w, meta, nil
}

// key is the key that a log is narrowed to, for the sources of its entity.
func (o readOptions) keyFor(from *origin) reflect.Value {
	if o.forKey == nil || from.core == nil {
		return reflect.Value{}
	}
	v := reflect.ValueOf(o.forKey).Elem()
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
func (o readOptions) addCounters(meta *Meta, n Counters) {
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

func (v *view) replayRow(ctx context.Context, k any, group string, o readOptions) (row anyRow, meta Meta, err error) {
	w, meta, err := v.replayWindow(ctx, o)
	if err != nil {
		return row, meta, err
	}
	var n Counters
	g, err := v.replayGroup(ctx, k, group, w, &n)
	if err != nil {
		return row, meta, err
	}
	if o.addCounters(&meta, n); o.requireComplete && !meta.HistoryComplete {
		return row, meta, fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
	}
	if g == nil || v.expired(g.touched, w) {
		return row, meta, entity.ErrNotFound
	}
	meta.Rows = 1
	row, err = v.replayedRow(g)
	return row, meta, err
}
