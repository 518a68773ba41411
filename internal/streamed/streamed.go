// Package streamed carries a change that package stream has read to package timeline.
package streamed

import (
	"time"

	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
)

// Change is a change that package stream has read, as package timeline needs it.
type Change struct {
	Core      *engine.Core // of the entity
	Inserted  bool         // the item is new
	Item      item.Item    // after the write; nil if it was removed, or if the view of the stream leaves it out
	Removed   bool         // the item was removed
	Withdrawn bool         // it was an event that had not expired: Item is as it was
	Sequence  string       // of the record
	At        time.Time    // when the item was written, by the clock of DynamoDB; zero if unknown
}

// Recorded is embedded by the public types of changes: it has the change as it is stored, out of the reach of programs.
type Recorded struct{ c Change }

// Record returns c, to be embedded.
func Record(c Change) Recorded { return Recorded{c} }

func (r Recorded) change() Change { return r.c }

// Changed is any public change.
type Changed interface{ change() Change }

// Of returns a public change as it is stored.
func Of(x Changed) Change { return x.change() }
