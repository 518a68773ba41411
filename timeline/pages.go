package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/item"
)

// checkPage checks the number and size of a page; 0 means the default.
func checkPage(page, size, defaultSize, most int) (int, int, error) {
	if page == 0 {
		page = 1
	}
	if size == 0 {
		size = defaultSize
	}
	switch {
	case page < 0:
		return 0, 0, badOption("the page number must be 1 or more, or 0 for the first page")
	case size < 0 || size > most:
		return 0, 0, badOption("the page size must be from 1 to %d, or 0 for %d", most, defaultSize)
	}
	return page, size, nil
}

// rowOffset returns the number of rows before a page, saturating at MaxInt64.
func rowOffset(page, size int) int64 {
	if int64(page-1) > math.MaxInt64/int64(size) {
		return math.MaxInt64
	}
	return int64(page-1) * int64(size)
}

// Page returns a page of rows in group order by its number, from 1; 0 is the first page. size is the number of rows, 0
// for the default. A page beyond the last is empty, and so is each before the first build has ended. Expired rows are neither returned nor counted. While groups are
// added or removed between calls, pages can miss or repeat rows; [View.After] does neither.
//
// It costs three reads, and one more for each of Projection.Partitions above 1. With Projection.Retention the second is a query of the page directory, about 40 KB for 10,000
// rows. With [AsOf] or [AsKnownAt] it replays the whole history. Errors: *[StaleError]; [ErrIncomplete];
// *[HistoryExpiredError]; *[EventError]; *entity.InputError.
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
		ctx = bind.WithPace(ctx, o.budget)
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

// fillPage adds rows to a page. One more than its size means that there is a next page.
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

// After returns the rows after a cursor, "" for the first ones. size is the number of rows, 0 for the default. The
// cursors of one listing stay with the rows that it started with, for at least 15 minutes after a rebuild replaced
// them; Meta describes these rows. The cursor contains the group of the page's last row, so set Config.CursorKey if
// groups are secret.
//
// It costs two reads, one more for each of Projection.Partitions above 1, and one, strongly consistent, for rows that were
// replaced. Partitions with many of the next rows are read more than once. With [AsOf] or [AsKnownAt] it
// replays the whole history. Errors: those of [View.Page], and an *entity.CursorError, also if the rows were removed,
// or are of another definition without [AllowStale].
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
		ctx = bind.WithPace(ctx, o.budget)
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

// errRowsGone is the error of a cursor into rows that cannot be listed any more.
var errRowsGone error = &cursor.Error{Reason: cursor.Gone}

// listable returns the generation with an id if it can be listed: it was completed, by this definition unless stale is
// set, and its removal has not started. The served one is always listable.
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

// checkListable checks that no row of a generation was missing from what was read until now. Removals are announced in
// the manifest first.
func (v *view) checkListable(ctx context.Context, id string, stale bool) error {
	m, err := v.manifest(ctx, entity.Consistent())
	if err == nil && v.listable(m, id, stale) == nil {
		err = errRowsGone
	}
	return err
}

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

// All yields every row in group order, of the rows that are served when it starts, and stops at the first error. It
// yields none before the first build; see [RequireComplete]. At the end it checks that these rows were not removed
// meanwhile, which can happen 15 minutes after a rebuild replaced them, and otherwise fails with
// entity.ErrInvalidCursor.
//
// It costs two reads of the manifest and a query of all rows in each partition.
func (v *View[K, S]) All(ctx context.Context, opts ...RowsOption) iter.Seq2[Row[K, S], error] {
	return sequence(func(give func(Row[K, S]) bool) error {
		return v.opened().eachRow(ctx, opts, func(row anyRow) bool { return give(typedRow[K, S](row)) })
	})
}

// eachRow gives every row until give has enough.
func (v *view) eachRow(ctx context.Context, opts []RowsOption, give func(anyRow) bool) error {
	return v.core.Measure(ctx, "Timeline.All", v.Name, func(ctx context.Context) error {
		o, err := collectRowOptions(opts)
		if err != nil {
			return err
		}
		ctx = bind.WithPace(ctx, o.budget)
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

const (
	anchorEvery = 100 // rows from one entry of the directory to the next
	chunkLength = 200 // entries of one item of the directory
)

// listPages counts the rows of a generation and writes its directory: the group of every hundredth row and, if rows
// expire, the expiry of each block of a hundred.
func (b *builder) listPages(ctx context.Context, id string) (rows int64, err error) {
	chunk := directory{Generation: id, Fence: b.fence}
	f := entity.Fields[directory]()
	var ends []int64 // of the rows since the last entry
	closeBlock := func() {
		if len(ends) > 0 {
			chunk.Ends = appendEnds(chunk.Ends, ends)
			ends = ends[:0]
		}
	}
	write := func() error {
		err := retryUnknown(ctx, func() error {
			_, err := b.pages.Put(ctx, chunk, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, chunk.Fence))), fenced())
			return err
		})
		if errors.Is(err, entity.ErrConditionFailed) {
			return ErrLeaseLost
		}
		chunk.Chunk++
		chunk.Groups, chunk.Ends = nil, nil
		return err
	}
	for g, err := range b.rows.list(ctx, id, entity.Consistent()) {
		if err != nil {
			return 0, err
		}
		if rows%anchorEvery == 0 {
			closeBlock()
			if len(chunk.Groups) == chunkLength {
				if err := write(); err != nil {
					return 0, err
				}
			}
			chunk.Groups = append(chunk.Groups, g.Group)
		}
		if b.Retention > 0 {
			ends = append(ends, endOf(g.Touched, b.Retention))
		}
		rows++
	}
	closeBlock()
	if err := write(); err != nil || b.Retention == 0 {
		return rows, err
	}
	for d, err := range b.pages.Query(directory{Generation: id}, entity.Ge(&f.Chunk, chunk.Chunk), entity.Consistent()).All(ctx) {
		if err != nil {
			return 0, err
		}
		if len(d.Groups) > 0 { // from when there were more rows
			if err := write(); err != nil {
				return 0, err
			}
		}
	}
	return rows, nil
}

// appendEnds encodes the expiry times of the rows of a block, in seconds since 1970: their number, then the times in
// order, each as the difference from the one before.
func appendEnds(b []byte, ends []int64) []byte {
	slices.Sort(ends)
	b = binary.AppendVarint(b, int64(len(ends)))
	last := int64(0)
	for _, end := range ends {
		b = binary.AppendVarint(b, end-last)
		last = end
	}
	return b
}

var errDirectory = errors.New("timeline: malformed page directory")

// endsAfter returns how many rows of the first block in b expire after now, and the other blocks.
func endsAfter(b []byte, now int64) (n int64, rest []byte, err error) {
	var numbers [1 + anchorEvery]int64
	for i, most := 0, 1; i < most; i++ {
		number, size := binary.Varint(b)
		if size <= 0 || i == 0 && (number < 0 || number > anchorEvery) {
			return 0, nil, errDirectory
		}
		b = b[size:]
		if numbers[i] = number; i == 0 {
			most += int(number)
		}
	}
	end := int64(0)
	for _, distance := range numbers[1 : 1+numbers[0]] {
		if end += distance; end > now {
			n++
		}
	}
	return n, b, nil
}

// anchor is a row in the directory.
type anchor struct {
	group  string
	number int64 // of the row, among those that have not expired
}

// anchors returns the anchors that a page needs to find its rows, and the number of all rows. Without a retention rows
// do not expire, and the anchors around the page are enough. Otherwise it reads all anchors and leaves out what has
// expired.
func (v *view) anchors(ctx context.Context, g *generation, offset int64, size int) (all []anchor, total int64, err error) {
	if v.Retention == 0 {
		if total = g.Rows; offset < total {
			all, err = v.anchorsAround(ctx, g.ID, offset/anchorEvery, (offset+int64(size)-1)/anchorEvery+1)
		}
		return all, total, err
	}
	now, left := v.now().Unix(), g.Rows
	for d, err := range v.pages.Query(directory{Generation: g.ID}).All(ctx) {
		if err != nil {
			return nil, 0, err
		}
		ends := d.Ends
		for _, group := range d.Groups {
			all = append(all, anchor{group, total})
			n := min(left, anchorEvery) // for a directory of an earlier program, without expiry times
			if left -= n; len(ends) > 0 {
				if n, ends, err = endsAfter(ends, now); err != nil {
					return nil, 0, err
				}
			}
			total += n
		}
	}
	return all, total, nil
}

// anchorsAround returns the anchors with numbers from from to to.
func (v *view) anchorsAround(ctx context.Context, id string, from, to int64) (all []anchor, err error) {
	for chunk := from / chunkLength; chunk <= to/chunkLength; chunk++ {
		d, err := v.pages.Get(ctx, directory{Generation: id, Chunk: int(chunk)})
		if errors.Is(err, entity.ErrNotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		for i, group := range d.Groups {
			if at := chunk*chunkLength + int64(i); from <= at && at <= to {
				all = append(all, anchor{group, at * anchorEvery})
			}
		}
	}
	return all, nil
}

// rowsAt returns the rows with numbers from offset to offset+size, and the group after which those with higher numbers
// follow, "" if there are none. Numbering restarts at each anchor, so that rows added or removed since the listing
// neither repeat nor hide others.
func (v *view) rowsAt(ctx context.Context, id string, anchors []anchor, offset int64, size int) (rows []*groupState, next string, err error) {
	end, at := offset+int64(size), -1
	for at+1 < len(anchors) && anchors[at+1].number <= offset {
		at++
	}
	if at < 0 {
		return nil, "", nil
	}
	behind, number := anchors[at].group, anchors[at].number
	read := int(offset-number) + size + 1
	for r, err := range v.rows.all(ctx, id, v.rows.from(anchors[at].group), entity.Limit(read)) {
		if err != nil {
			return nil, "", err
		}
		for at+1 < len(anchors) && r.group >= anchors[at+1].group {
			at++
			number = anchors[at].number
		}
		if number >= end || len(rows) == size {
			return rows, behind, nil
		}
		if number >= offset {
			rows = append(rows, r)
		}
		behind = r.group
		number++
	}
	return rows, "", nil
}
