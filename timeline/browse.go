package timeline

import (
	"context"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/item"
)

// sizes checks the number and size of a page; 0 is the default of either.
func checkPage(page, size, defaultSize, most int) (int, int, error) {
	if page == 0 {
		page = 1
	}
	if size == 0 {
		size = defaultSize
	}
	switch {
	case page < 0:
		return 0, 0, badOption("a page has a number from 1, or 0 for the first")
	case size < 0 || size > most:
		return 0, 0, badOption("a page has from 1 to %d rows, or 0 for %d", most, defaultSize)
	}
	return page, size, nil
}

// before is how many rows come before a page; no view has as many as an int64 does not hold.
func rowOffset(page, size int) int64 {
	if int64(page-1) > math.MaxInt64/int64(size) {
		return math.MaxInt64
	}
	return int64(page-1) * int64(size)
}

// Page returns a page of rows in the order of their groups, by its number, from 1; 0 is the first page, and size 0 the
// default size. A page beyond the last has no rows. Rows that have expired are neither in it nor counted. It costs three
// reads; of a view with Fold.Retention the second one is a query of the list of its rows, of some 40 KB for 10,000 rows. Where
// groups come and go while a reader turns pages, rows can be missed or come twice; [View.After] has neither.
//
// With [AsOf] or [AsKnownAt] the whole history is replayed for every page.
func (v *View[K, S]) Page(ctx context.Context, page, size int, opts ...RowsOption) (Page[Row[K, S]], error) {
	p, err := v.opened().pageAt(ctx, page, size, opts)
	return typedPage[K, S](p), err
}

func (v *view) pageAt(ctx context.Context, page, size int, opts []RowsOption) (p Page[anyRow], err error) {
	err = v.core.Measure(ctx, "Timeline.Page", v.Name, func(ctx context.Context) error {
		o, err := collectRowOptions(opts)
		if err == nil {
			page, size, err = checkPage(page, size, v.PageSize, v.MaxPageSize)
		}
		if err != nil {
			return err
		}
		p.Page, p.Size, p.Pages = page, size, 1
		offset := rowOffset(page, size)
		if o.isReplay() {
			return v.replayPage(ctx, &p, offset, o)
		}
		m, err := v.manifest(ctx)
		if err != nil {
			return err
		}
		var id string
		if p.Meta, id, err = v.serve(m, m.Active, o); err != nil || id == "" {
			return err
		}
		anchors, total, err := v.anchors(ctx, m.Active, offset, size)
		if err != nil {
			return err
		}
		p.setTotal(total)
		if offset >= p.Total {
			return nil
		}
		rows, next, err := v.rowsAt(ctx, id, anchors, offset, size)
		if err != nil {
			return err
		}
		for _, r := range rows {
			p.Rows = append(p.Rows, v.toRow(r))
		}
		if next != "" {
			p.Next, err = v.cursorAfter(id, next)
		}
		return err
	})
	return p, err
}

// fill puts rows into a page that has room for one less than there may be.
func (v *view) fillPage(p *Page[anyRow], rows []*groupState, id string) (err error) {
	if len(rows) > p.Size {
		rows = rows[:p.Size]
		p.Next, err = v.cursorAfter(id, rows[p.Size-1].group)
	}
	for _, r := range rows {
		p.Rows = append(p.Rows, v.toRow(r))
	}
	return err
}

// pagePast replays the history and keeps the rows of one page.
func (v *view) replayPage(ctx context.Context, p *Page[anyRow], offset int64, o readOptions) error {
	meta, err := v.replayRows(ctx, o, func(_ string, row anyRow) bool {
		p.count(row, offset)
		return true
	})
	p.Meta, p.Meta.Rows = meta, p.Total
	return err
}

// rowsPast replays the history and gives every row, until give is satisfied.
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

// errEnough ends a replay whose caller needs no more.
var errStop = fmt.Errorf("enough")

// expired reports that a row would have been gone at the moment of a replay.
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

// After returns the rows that follow a cursor, "" for the first ones; size 0 is the default size. The cursors of one
// listing stay with the rows that it began with, even when a rebuild replaces them meanwhile, for 15 minutes at least; Meta is
// about these. It costs two reads, and one more, strongly consistent, for rows that were replaced. The group of a page's
// last row stands in its cursor: where groups are secret, set Config.CursorKey. Errors: an *entity.CursorError, also when
// those rows are gone, or are of another definition and [AllowStale] was not given.
//
// With [AsOf] or [AsKnownAt] the whole history is replayed for every page.
func (v *View[K, S]) After(ctx context.Context, cursor string, size int, opts ...RowsOption) (Page[Row[K, S]], error) {
	p, err := v.opened().pageAfter(ctx, cursor, size, opts)
	return typedPage[K, S](p), err
}

func (v *view) pageAfter(ctx context.Context, cursor string, size int, opts []RowsOption) (p Page[anyRow], err error) {
	err = v.core.Measure(ctx, "Timeline.After", v.Name, func(ctx context.Context) error {
		o, err := collectRowOptions(opts)
		if err == nil {
			_, size, err = checkPage(1, size, v.PageSize, v.MaxPageSize)
		}
		if err != nil {
			return err
		}
		p.Size, p.Total, p.Pages = size, -1, -1
		if o.isReplay() {
			return v.replayAfter(ctx, &p, cursor, o)
		}
		m, err := v.manifest(ctx)
		if err != nil {
			return err
		}
		served, id, group := m.Active, "", ""
		if cursor != "" {
			if id, group, err = v.readCursor(cursor); err != nil {
				return err
			}
			if served = v.listable(m, id, o.allowStale); served == nil {
				return errRowsGone
			}
		}
		if p.Meta, id, err = v.serve(m, served, o); err != nil || id == "" {
			return err
		}
		query := []entity.QueryOption{entity.Limit(size + 1)}
		if group != "" {
			query = append(query, v.rows.after(group))
		}
		var rows []*groupState
		for g, err := range v.rows.all(ctx, id, query...) {
			if err != nil {
				return err
			}
			rows = append(rows, g)
		}
		if served != m.Active {
			if err := v.checkListable(ctx, id, o.allowStale); err != nil {
				return err
			}
		}
		return v.fillPage(&p, rows, id)
	})
	return p, err
}

// errGone is the error of cursors into rows that cannot be listed any more.
var errRowsGone error = &cursor.Error{Reason: cursor.Gone}

// kept is the generation with this id, if it can be listed: it was built, by this definition or whatever one was asked for,
// and nobody has begun to remove its rows. The one that is served is kept in any case.
func (v *view) listable(m *manifest, id string, stale bool) *generation {
	if m.Active != nil && m.Active.ID == id {
		return m.Active
	}
	for _, r := range m.Retired {
		if r.ID == id && r.Was != nil && !r.Sweeping && (stale || r.Was.Fingerprint == v.fingerprint) {
			return r.Was
		}
	}
	return nil
}

// still makes sure that no row of a generation was missing in what was read until now: their removal is announced first.
func (v *view) checkListable(ctx context.Context, id string, stale bool) error {
	m, err := v.manifest(ctx, entity.Consistent())
	if err == nil && v.listable(m, id, stale) == nil {
		err = errRowsGone
	}
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

// replayed stands for a generation in the cursors of replays.
const replayCursorID = "-"

func (v *view) cursorAfter(id, group string) (string, error) {
	return v.core.Cursor.Encode("timeline\x00"+v.Name, item.Item{"g": item.S(id), "k": item.S(group)})
}

func (v *view) readCursor(text string) (id, group string, err error) {
	it, err := v.core.Cursor.Decode("timeline\x00"+v.Name, text, []cursor.Attr{{Name: "g", Type: types.ScalarAttributeTypeS}, {Name: "k", Type: types.ScalarAttributeTypeS}})
	if err != nil {
		return "", "", err
	}
	return it["g"].(*types.AttributeValueMemberS).Value, it["k"].(*types.AttributeValueMemberS).Value, nil
}

// All yields every row in the order of groups, of the rows that were served when it began; it stops at the first error.
// Where there are no rows yet it yields none; see [RequireComplete]. At the end it reads once more whether these rows were
// there all the time, and fails with entity.ErrInvalidCursor when they were removed, 15 minutes or more after others had
// replaced them.
func (v *View[K, S]) All(ctx context.Context, opts ...RowsOption) iter.Seq2[Row[K, S], error] {
	return sequence(func(give func(Row[K, S]) bool) error {
		return v.opened().eachRow(ctx, opts, func(row anyRow) bool { return give(typedRow[K, S](row)) })
	})
}

// each gives every row until give has enough.
func (v *view) eachRow(ctx context.Context, opts []RowsOption, give func(anyRow) bool) error {
	return v.core.Measure(ctx, "Timeline.All", v.Name, func(ctx context.Context) error {
		o, err := collectRowOptions(opts)
		if err != nil {
			return err
		}
		if o.isReplay() {
			_, err := v.replayRows(ctx, o, func(_ string, row anyRow) bool { return give(row) })
			return err
		}
		m, err := v.manifest(ctx)
		if err != nil {
			return err
		}
		_, id, err := v.serve(m, m.Active, o)
		if err != nil || id == "" {
			return err
		}
		for g, err := range v.rows.all(ctx, id) {
			if err != nil {
				return err
			}
			if !give(v.toRow(g)) {
				return nil
			}
		}
		return v.checkListable(ctx, id, true)
	})
}
