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
		_, err := b.pages.Put(ctx, chunk, entity.If(entity.Or(entity.NotExists(&f.Fence), entity.Le(&f.Fence, chunk.Fence))))
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

// anchor is the group of the row that is offset rows from the beginning, or of one before it, and how many rows are to be
// passed over from there. There is none when the offset lies beyond the directory.
func (v *View[K, S]) anchor(ctx context.Context, id string, offset int64) (group string, skip int, err error) {
	entry := offset / anchorEvery
	chunk, err := v.pages.Get(ctx, directory{Generation: id, Chunk: int(entry / chunkLength)})
	if errors.Is(err, entity.ErrNotFound) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, err
	}
	if at := entry % chunkLength; at < int64(len(chunk.Groups)) {
		return chunk.Groups[at], int(offset % anchorEvery), nil
	}
	return "", 0, nil
}
