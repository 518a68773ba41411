package timeline

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/entity"
)

const (
	anchorEvery = 100 // rows from one entry of the directory to the next
	chunkLength = 200 // entries of one item of the directory
)

// listed is what listing rows needs of them.
type rowSummary struct {
	Group   string    `dynamodbav:"group"`
	Touched time.Time `dynamodbav:"touched"`
}

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
