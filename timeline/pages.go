package timeline

import (
	"context"
	"errors"

	"github.com/dynastrata/dynastrata/entity"
)

const (
	anchorEvery = 100 // rows from one entry of the directory to the next
	chunkLength = 200 // entries of one item of the directory
)

// groupOnly is what listing rows needs of them.
type groupOnly struct {
	Group string `dynamodbav:"group"`
}

// listPages counts the rows of a generation and writes its directory: the groups of every hundredth row.
func (b *builder[K, S]) listPages(ctx context.Context, id string) (rows int64, err error) {
	chunk := directory{Generation: id, Fence: b.fence}
	f := entity.Fields[directory]()
	write := func() error {
		_, err := b.pages.Put(ctx, chunk, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, chunk.Fence))), fenced())
		if errors.Is(err, entity.ErrCondition) {
			return ErrLeaseLost
		}
		chunk.Chunk++
		chunk.Groups = nil
		return err
	}
	all := entity.As[groupOnly](b.rows.Query(stored[K, S]{Generation: id}, entity.Consistent()))
	for g, err := range all.All(ctx) {
		if err != nil {
			return 0, err
		}
		if rows%anchorEvery == 0 {
			chunk.Groups = append(chunk.Groups, g.Group)
		}
		rows++
		if len(chunk.Groups) == chunkLength {
			if err := write(); err != nil {
				return 0, err
			}
		}
		if rows%1000 == 0 {
			if err := b.beat(ctx); err != nil {
				return 0, err
			}
		}
	}
	return rows, write()
}

// anchors are the groups of the rows that a directory notes, from the from-th note to the to-th: "" where there is none.
func (v *View[K, S]) anchors(ctx context.Context, id string, from, to int64) ([]string, error) {
	all := make([]string, to-from+1)
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
				all[at-from] = group
			}
		}
	}
	return all, nil
}

// rowsAt are the rows with the numbers from offset to offset+size, and the group behind which those with higher numbers lie,
// "" when there are none. Rows are numbered anew from each row that the directory notes, so that where others have expired
// no row has two numbers, and none is left out.
func (v *View[K, S]) rowsAt(ctx context.Context, id string, offset int64, size int) (rows []stored[K, S], next string, err error) {
	first, end := offset/anchorEvery, offset+int64(size)
	anchors, err := v.anchors(ctx, id, first, (end-1)/anchorEvery+1)
	if err != nil || anchors[0] == "" {
		return nil, "", err
	}
	group := &entity.Fields[stored[K, S]]().Group
	read := int(offset%anchorEvery) + size + 1
	behind, block, number := anchors[0], 0, first*anchorEvery
	for r, err := range v.rows.Query(stored[K, S]{Generation: id}, entity.Ge(group, anchors[0]), entity.Limit(read)).All(ctx) {
		if err != nil {
			return nil, "", err
		}
		for block+1 < len(anchors) && anchors[block+1] != "" && r.Group >= anchors[block+1] {
			block++
			number = (first + int64(block)) * anchorEvery
		}
		if number >= end || len(rows) == size {
			return rows, behind, nil
		}
		if number >= offset {
			rows = append(rows, r)
		}
		behind = r.Group
		number++
	}
	return rows, "", nil
}
