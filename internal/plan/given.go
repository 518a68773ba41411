package plan

import (
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// given is the image that a handle holds for op.
func given(op *Op, from opt.Image) (item.Item, error) {
	image, table := from.Image()
	switch {
	case image == nil:
		return nil, input(op.Schema, CodeOption, nil, "the handle holds no item; give it to a Get with Keep first")
	case table != op.Table || KeyID(KeyOf(op.Schema, image)) != KeyID(op.Key):
		return nil, input(op.Schema, CodeOption, nil, "the handle holds another item")
	}
	return image, nil
}
