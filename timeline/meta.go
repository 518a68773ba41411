package timeline

import (
	"iter"
	"time"
)

// Status says in what state the stored rows of a view are.
type Status string

// The states of a view.
const (
	Pending     Status = "pending"     // never built
	InProgress  Status = "in_progress" // being built, under a lease; rows of an earlier build are served meanwhile
	Interrupted Status = "interrupted" // a build was cut off: its builder gave up, or its lease has ended. Resume goes on with it
	Complete    Status = "complete"    // built by the running definition
	Failed      Status = "failed"      // the last build or catch-up failed; see Failure
	Stale       Status = "stale"       // built by another definition
)

// Meta says how complete and how recent rows are. It comes with every result.
//
// HistoryComplete says that the rows account for everything that the sources have accepted up to Through, or AsOf, and is
// true only when that is proven: the history was read whole, no state of an item is missing in it, no event was passed over for
// want of a group key, and no source lets events, or all the states of an item, expire. It is false always where one does: what
// has expired leaves nothing to see it by. The proof takes the declarations at their word: they never had a time to live, and a [Feed] gives all
// of its events. What was purged or deleted on purpose is no part of the history.
//
// NoGapSeen is the judgement without the proof: nothing that was read shows that anything is missing. Of a source that
// expires it says that the builds of the view, one after the other within the time to live, have seen no event that has
// expired since; it begins with a build that found such sources empty, or nothing in the older half of what is kept, and what
// had expired before that is not known. It ends when the first event since then has expired, or the definition changes. Items
// whose end is a field of their own have it false always.
//
// For a [Log] both are about what is at or after HistoryFloor.
type Meta struct {
	RebuildStatus   Status     `json:"rebuild_status"`
	RebuildProgress *float64   `json:"rebuild_progress"` // 0 to 1: how much of the history has been read; nil if unknown
	HistoryComplete bool       `json:"history_complete"` // it is proven that the rows account for the whole history up to Through, or AsOf
	NoGapSeen       bool       `json:"no_gap_seen"`      // nothing shows that they do not, which proves nothing where events expire
	Through         time.Time  `json:"through"`          // the rows account for events accepted up to here
	HistoryFloor    time.Time  `json:"history_floor"`    // nothing at or after it has expired; zero when nothing expires
	StartedAt       time.Time  `json:"rebuild_started_at"`
	FinishedAt      time.Time  `json:"rebuild_finished_at"`
	AsOf            *time.Time `json:"as_of_applied,omitempty"`    // events that happened up to here, given by [AsOf]
	KnownAt         *time.Time `json:"known_at_applied,omitempty"` // events accepted up to here, given by [AsKnownAt]
	Generation      string     `json:"generation,omitempty"`       // of the rows; "" for a replay
	Rows            int64      `json:"rows"`                       // how many there are
	Counters        Counters   `json:"counters"`                   // of the build, or of the replay
	Failure         *Failure   `json:"failure,omitempty"`          // why the last build or catch-up failed
}

// Counters say what became of the events of a replay.
type Counters struct {
	Scanned    int64 `dynamodbav:"scanned" json:"scanned"`       // read
	Folded     int64 `dynamodbav:"folded" json:"folded"`         // applied to a state
	Unhandled  int64 `dynamodbav:"unhandled" json:"unhandled"`   // without a handler
	Ungrouped  int64 `dynamodbav:"ungrouped" json:"ungrouped"`   // passed over for want of a group key
	Upgraded   int64 `dynamodbav:"upgraded" json:"upgraded"`     // brought from an earlier payload version
	Duplicates int64 `dynamodbav:"duplicates" json:"duplicates"` // there more than once
	Baselines  int64 `dynamodbav:"baselines" json:"baselines"`   // states before which others are missing

	// Oldest is the time of the oldest event that was read of sources that expire without a trace; zero: there was none.
	Oldest time.Time `dynamodbav:"oldest,omitempty" json:"-"`
}

func (c *Counters) add(o Counters) {
	c.Scanned += o.Scanned
	c.Folded += o.Folded
	c.Unhandled += o.Unhandled
	c.Ungrouped += o.Ungrouped
	c.Upgraded += o.Upgraded
	c.Duplicates += o.Duplicates
	c.Baselines += o.Baselines
	if c.Oldest.IsZero() || !o.Oldest.IsZero() && o.Oldest.Before(c.Oldest) {
		c.Oldest = o.Oldest
	}
}

// Failure is why a build or catch-up stopped.
type Failure struct {
	At      time.Time `dynamodbav:"at" json:"at"`
	Stage   Stage     `dynamodbav:"category,omitempty" json:"category,omitempty"` // "" when it was no event's
	Event   string    `dynamodbav:"event,omitempty" json:"event,omitempty"`
	Source  string    `dynamodbav:"source,omitempty" json:"source,omitempty"`
	Key     string    `dynamodbav:"key,omitempty" json:"key,omitempty"`
	Group   string    `dynamodbav:"group,omitempty" json:"group,omitempty"` // of a row that could not be stored
	Payload int       `dynamodbav:"payload,omitempty" json:"payload,omitempty"`
	Message string    `dynamodbav:"message" json:"message"`
}

// Row is one group.
type Row[K comparable, S any] struct {
	Key         K
	State       S
	Events      int64     // how many brought it about
	First, Last time.Time // of its events
	ExpiresAt   time.Time // when its retention ends; zero: never
}

// Page is a page of rows.
type Page[R any] struct {
	Rows  []R
	Meta  Meta
	Page  int    // number of the page, from 1; 0 for one that a cursor led to
	Size  int    // rows that a page has at most
	Total int64  // rows of all pages; -1 where they are not counted
	Pages int64  // how many pages there are, at least 1; -1 where rows are not counted
	Next  string // cursor of what follows, "" after the last page
}

// add appends a row unless the page is full, and reports whether it did.
func (p *Page[R]) add(row R) bool {
	if len(p.Rows) == p.Size {
		return false
	}
	p.Rows = append(p.Rows, row)
	return true
}

// count takes the next of all rows, of which the page has those from offset on.
func (p *Page[R]) count(row R, offset int64) {
	if p.Total >= offset {
		p.add(row)
	}
	p.setTotal(p.Total + 1)
}

// setTotal sets the number of rows, and with it that of pages.
func (p *Page[R]) setTotal(rows int64) {
	p.Total, p.Pages = rows, max((rows+int64(p.Size)-1)/int64(p.Size), 1)
}

// sequence makes an iterator of a function that gives rows until give has enough. The iterator yields the function's error last.
func sequence[R any](run func(give func(R) bool) error) iter.Seq2[R, error] {
	return func(yield func(R, error) bool) {
		stopped := false
		err := run(func(row R) bool {
			stopped = !yield(row, nil)
			return !stopped
		})
		if err != nil && !stopped {
			var none R
			yield(none, err)
		}
	}
}

// Authoritative reports that it is proven that the rows account for the whole history: Meta.HistoryComplete.
func (p Page[R]) Authoritative() bool { return p.Meta.HistoryComplete }
