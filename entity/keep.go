package entity

import (
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
)

// Image holds an item exactly as Get read it, attributes unknown to the struct included, so that a write which is
// planned from the stored item can save its read. The zero value is empty; it is filled by a Get with [KeepImage], is safe
// for concurrent use, and must not be copied.
type Image struct {
	mu    sync.Mutex
	image item.Item
	table string
}

// KeepImage makes Get put the item into h, as it was read; when Get finds none, h is emptied.
func KeepImage(h *Image) GetOption {
	if h == nil {
		return forGet{}
	}
	return forGet{Do: func(s *opt.Get) {
		s.Keep = func(it map[string]types.AttributeValue, table string) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.image, h.table = item.Clone(it), table
			if it == nil {
				h.image = nil
			}
		}
	}}
}

// FromImage plans a write of the same item from what h holds instead of reading it. The write is guarded by what h holds:
// when the item has changed since, it is read and planned again, as if there were no image. A write that needs no read
// ignores it. An empty image, or one of another item, is an *[InputError].
func FromImage(h *Image) WriteOption {
	if h == nil {
		return forWrite{}
	}
	return forWrite{Do: func(s *opt.Write) { s.From = held{h} }}
}

// held opens a handle for the planner.
type held struct{ h *Image }

func (x held) Image() (it map[string]types.AttributeValue, table string) {
	x.h.mu.Lock()
	defer x.h.mu.Unlock()
	return x.h.image, x.h.table
}
