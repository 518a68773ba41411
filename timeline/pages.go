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

const (
	anchorEvery = 100 // rows from one entry of the directory to the next
	chunkLength = 200 // entries of one item of the directory
)

// listPages counts the rows of a generation and writes its directory: the groups of every hundredth row, and where rows have
// an end, the ends of these hundred.
func (b *builder) listPages(ctx context.Context, id string) (rows int64, err error) {
	chunk := directory{Generation: id, Fence: b.fence}
	f := entity.Fields[directory]()
	var ends []int64 // of the rows since the last note
	closeBlock := func() {
		if len(ends) > 0 {
			chunk.Ends = appendEnds(chunk.Ends, ends)
			ends = ends[:0]
		}
	}
	write := func() error {
		_, err := b.pages.Put(ctx, chunk, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, chunk.Fence))), fenced())
		if errors.Is(err, entity.ErrConditionFailed) {
			return ErrLeaseLost
		}
		chunk.Chunk++
		chunk.Groups, chunk.Ends = nil, nil
		return err
	}
	all := b.rows.list(id, entity.Consistent())
	for g, err := range all.All(ctx) {
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
		if rows%1000 == 0 {
			if err := b.renewIfDue(ctx); err != nil {
				return 0, err
			}
		}
	}
	closeBlock()
	if err := write(); err != nil || b.Retention == 0 {
		return rows, err
	}
	for d, err := range b.pages.Query(directory{Generation: id}, entity.Ge(&f.Chunk, chunk.Chunk), entity.Consistent()).All(ctx) {
		if err != nil {
			return 0, err
		}
		if len(d.Groups) > 0 { // of a time when more rows were left
			if err := write(); err != nil {
				return 0, err
			}
		}
	}
	return rows, nil
}

// appendEnds writes when the rows of a block end, in seconds since 1970: how many there are, and the ends in their order, each
// as the distance from the one before.
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

var errDirectory = errors.New("timeline: the directory of a view's pages is damaged")

// endsAfter is how many rows of the first block in b end after now, and the other blocks.
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

// anchor is a row that the directory notes.
type anchor struct {
	group  string
	number int64 // of the row, among those that have not ended
}

// anchors are the rows that a page needs to find its own, and how many rows there are in all. Rows of a view without
// retention never end: the notes around the page are enough. Otherwise every note is read, and what has ended left out.
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
			n := min(left, anchorEvery) // of a directory without ends, which an earlier program has written
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

// around are the notes from the from-th to the to-th.
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

// rowsAt are the rows with the numbers from offset to offset+size, and the group behind which those with higher numbers lie,
// "" when there are none. Rows are numbered again from each anchor, so that where others have come or gone since they were
// listed no row has two numbers, and none is left out.
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
