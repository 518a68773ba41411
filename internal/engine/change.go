package engine

import (
	"time"

	"github.com/dynastrata/dynastrata/internal/item"
)

// Change is a change that package stream has read, as package timeline needs it.
type Change struct {
	Core     *Core     // of the entity
	Inserted bool      // the item is new
	Item     item.Item // after the write; nil if it was removed, or if the view of the stream leaves it out
	Removed  bool      // the item was removed
	Sequence string    // of the record
	At       time.Time // when the item was written, by the clock of DynamoDB; zero if unknown
}
