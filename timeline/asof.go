package timeline

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
)

// RowsOption configures reads of a view: [AsOf], [AsKnownAt], [AllowStale], [RequireComplete], [Partial],
// [FullReplay].
type RowsOption func(*readOptions)

type readOptions struct {
	asOf, knownAt                        *time.Time
	allowStale, requireComplete, partial bool
	fullReplay                           bool      // sources may be scanned for one group
	forKey                               any       // pointer to the key that a log is limited to
	since                                time.Time // start of a log
	budget                               *bind.Pace
	err                                  error
}

// AsOf returns rows as they were at t. Events that happened at or before t count; they are replayed from the history,
// and stored rows are not used. An event that a clock dated ahead of its accept time counts from when it was accepted;
// if the source does not record that, from its At. If t is in the future, every event counts. The zero time has no
// effect.
//
// For [View.Get] every source needs [PartitionKey], or the read [FullReplay].
func AsOf(t time.Time) RowsOption {
	return func(o *readOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.asOf = &t
		}
	}
}

// AsKnownAt returns rows as they were known at t. Events that the store accepted at or before t count. It can be
// combined with [AsOf]. The read fails with [ErrNoAcceptTime] if a source does not record accept times. The zero time
// has no effect.
func AsKnownAt(t time.Time) RowsOption {
	return func(o *readOptions) {
		if t = t.UTC(); !t.IsZero() {
			o.knownAt = &t
		}
	}
}

// AllowStale returns rows of another definition, if there are any and they can be decoded. Meta.RebuildStatus is
// [Stale] then.
func AllowStale() RowsOption { return func(o *readOptions) { o.allowStale = true } }

// RequireComplete makes a read fail with [ErrIncomplete] unless the rows are proven to account for the whole history,
// which is impossible if events or states of a source expire.
func RequireComplete() RowsOption { return func(o *readOptions) { o.requireComplete = true } }

// Partial replays what is left if history before the requested time has expired, instead of failing with a
// *[HistoryExpiredError]. Meta.HistoryComplete and Meta.NoGapSeen are false then.
func Partial() RowsOption { return func(o *readOptions) { o.partial = true } }

// FullReplay allows [View.Get] to scan a source without [PartitionKey] for the events of one group. The scan costs as
// much as a build reads; see [View.Explain].
func FullReplay() RowsOption { return func(o *readOptions) { o.fullReplay = true } }

// ReadBudget bounds the capacity units that a read consumes per second, as made by entity.Budget. It is for replays and
// logs, which read the whole history.
func ReadBudget(b *entity.UnitBudget) RowsOption {
	return func(o *readOptions) {
		budget, err := bind.PaceOf(b)
		if o.budget = budget; err != nil {
			o.err = badOption("%v", err)
		}
	}
}

func collectReadOptions(opts []RowsOption) (o readOptions, err error) {
	for _, set := range opts {
		if set == nil {
			return o, badOption("an option is nil")
		}
		set(&o)
	}
	return o, o.err
}

func (o readOptions) isReplay() bool { return o.asOf != nil || o.knownAt != nil }

// collectRowOptions collects the options of a view, without those of logs.
func collectRowOptions(opts []RowsOption) (readOptions, error) {
	o, err := collectReadOptions(opts)
	if err == nil && (o.forKey != nil || !o.since.IsZero()) {
		err = badOption("ForKey and Since are for logs")
	}
	return o, err
}

// replayWindow returns the window of a replay, and the meta of its rows.
func (v *view) replayWindow(ctx context.Context, o readOptions) (window, Meta, error) {
	w, meta, err := replayWindowOf(v.Name, v.all, v.now(), o)
	if err == nil && meta.NoGapSeen {
		meta.NoGapSeen, err = v.noGapSeen(ctx, w.now)
	}
	return w, meta, err
}

// replayWindowOf returns the window of a replay of these sources, and the meta of its rows.
func replayWindowOf(view string, all []*origin, now time.Time, o readOptions) (window, Meta, error) {
	w := window{now: now, since: o.since}
	meta := Meta{RebuildStatus: Complete, HistoryComplete: provable(all), NoGapSeen: true, HistoryFloor: historyFloor(all, now), Through: now}
	one := 1.0
	meta.RebuildProgress = &one
	if o.asOf != nil {
		if meta.AsOf = o.asOf; o.asOf.Before(now) { // otherwise all events count
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

// keyFor returns the key that a log is limited to if it is of the source's entity, otherwise the zero Value.
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

// addCounters completes the meta of a replay.
func (o readOptions) addCounters(meta *Meta, n Counters) {
	meta.Counters = n
	if n.Baselines > 0 || n.Ungrouped > 0 {
		meta.HistoryComplete, meta.NoGapSeen = false, false
	}
}

// expired reports whether a row would have expired at the time of a replay.
func (v *view) expired(touched time.Time, w window) bool {
	at := w.now
	if !w.asOf.IsZero() {
		at = earlier(w.asOf, at)
	}
	if !w.until.IsZero() {
		at = earlier(w.until, at)
	}
	return v.Retention > 0 && touched.Add(v.Retention).Unix() <= at.Unix()
}

// replayedRow returns a group as its stored row would be.
func (v *view) replayedRow(g *groupState) (anyRow, error) {
	row := v.toRow(g)
	k, err := v.keys.roundTrip(reflect.ValueOf(g.key))
	if err == nil {
		state := reflect.ValueOf(g.state).Elem()
		if err = v.states.checkRoundTrip(state); err == nil {
			state, err = v.states.roundTrip(state)
		}
		if err == nil {
			row.Key, row.State = k.Interface(), state.Addr().Interface()
		}
	}
	if err != nil {
		return anyRow{}, g.storeError(err)
	}
	return row, nil
}

func (v *view) replayRow(ctx context.Context, k any, group string, o readOptions) (row anyRow, meta Meta, err error) {
	w, meta, err := v.replayWindow(ctx, o)
	if err != nil {
		return row, meta, err
	}
	var n Counters
	g, err := v.replayGroup(ctx, k, group, w, 0, nil, &n)
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

// replayRows replays the history and gives every row, until give has enough.
func (v *view) replayRows(ctx context.Context, o readOptions, give func(group string, row anyRow) bool) (Meta, error) {
	w, meta, err := v.replayWindow(ctx, o)
	if err != nil {
		return meta, err
	}
	var n Counters
	err = v.replay(ctx, w, &n, func(g *groupState) error {
		if v.expired(g.touched, w) {
			return nil
		}
		row, err := v.replayedRow(g)
		if err != nil {
			return err
		}
		if !give(g.group, row) {
			return errStop
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	if o.addCounters(&meta, n); o.requireComplete && err == nil && !meta.HistoryComplete {
		err = fmt.Errorf("timeline %s: %w", v.Name, ErrIncomplete)
	}
	return meta, err
}

// errStop ends a replay early.
var errStop = fmt.Errorf("enough")

// replayPage replays the history and keeps the rows of one page.
func (v *view) replayPage(ctx context.Context, p *Page[anyRow], offset int64, o readOptions) error {
	meta, err := v.replayRows(ctx, o, func(_ string, row anyRow) bool {
		p.count(row, offset)
		return true
	})
	p.Meta, p.Meta.Rows = meta, p.Total
	return err
}

func (v *view) replayAfter(ctx context.Context, p *Page[anyRow], after string, o readOptions) error {
	last := ""
	if after != "" {
		id, group, err := v.readCursor(after)
		switch {
		case err != nil:
			return err
		case id != replayCursorID:
			return &cursor.Error{Reason: cursor.Foreign}
		}
		last = group
	}
	final, more := "", false
	meta, err := v.replayRows(ctx, o, func(group string, row anyRow) bool {
		if group <= last {
			return true
		}
		if more = !p.add(row); !more {
			final = group
		}
		return !more
	})
	if p.Meta = meta; err == nil && more {
		p.Next, err = v.cursorAfter(replayCursorID, final)
	}
	return err
}

// replayCursorID stands for a generation in the cursors of replays.
const replayCursorID = "-"
