package studio

import (
	"context"
	"time"
)

// Data is what the pages show. Nothing that it returns has a secret in it, but for the values of a [Key]. Its reads ask the
// [Meter] of their context before each request, and end with [ErrBudget] and what they have when it is used up.
type Data interface {
	// Entities returns the declared entities, in order, read models after the others. It does no I/O.
	Entities() []Entity
	// Tables describes the physical tables: one request each, which costs no read units.
	Tables(ctx context.Context) ([]Table, error)
	// Find returns the items that have each of some words, and to which a key, a unique constraint or the key of an index leads with them. A word is a
	// value, or attribute=value.
	Find(ctx context.Context, words []string) (Found, error)
	// Browse returns a page of items.
	Browse(ctx context.Context, q Question) (Rows, error)
	// Life returns the states of an item.
	Life(ctx context.Context, q LifeQuestion) (Life, error)
	// Content returns all of a value of which a part was left out, as it was: a [Mistaken] is the error if it has changed.
	Content(ctx context.Context, whole []byte) (Content, error)

	// Count counts the items of a table by entity and kind. It reads the whole table.
	Count(ctx context.Context, table string, report func(Progress)) ([]Count, error)
	// Check compares the tables and their items with the declarations. It reads all tables.
	Check(ctx context.Context, report func(Progress)) (Health, error)
	// Search returns the items that have, or had, each of some words in any attribute, also deleted ones. It reads all tables.
	Search(ctx context.Context, words []string, report func(Progress)) (Found, error)

	// Preview returns what a write would do, and sends nothing that changes an item.
	Preview(ctx context.Context, w Write) (Preview, error)
	// Apply writes. A [Conflict] is the error if the item is not as it was seen.
	Apply(ctx context.Context, w Write) error
}

// Key holds the parts of an item's primary key, as text. Its values can be secret: see Entity.HidesKey.
type Key map[string]string

// Cost is what was read.
type Cost struct {
	Requests int
	Units    float64
}

// Entity is a declared entity or a part of a read model.
type Entity struct {
	Name     string
	Table    string // physical
	Derived  bool   // of a read model
	Series   bool
	Keys     []KeyPath
	Features []string
	Stored   []Stored
	Secrets  []string
	HidesKey bool   // a part of the primary key is secret: it must be in no page and no URL
	Attrs    []Attr // that a filter can be on
	Writable bool   // the program has a handle for it
}

// KeyPath is a way to items: the key of the table, or an index.
type KeyPath struct {
	Name       string // of the index; "" for the table
	Index      string // its name in DynamoDB
	Partition  string // template
	Sort       string
	Parts      []Part // of the partition
	SortParts  []Part
	Projection string
	When       string
	Secret     bool // a part is secret: its values are not put into a URL
}

// Part is an attribute of a key.
type Part struct {
	Name    string
	Kind    string // string, int, uint, bool, time, number or binary
	Secret  bool
	Example string
}

// Stored is a kind of items that an entity stores.
type Stored struct{ Kind, Partition, Sort, Lives string }

// Attr is an attribute of an entity.
type Attr struct {
	Name    string
	Type    string // of DynamoDB: S, N, B; "" for others
	Time    bool
	Numeric bool // events of a series have it as a number
}

// Table is a physical table, by its statistics, which DynamoDB renews about every six hours.
type Table struct {
	Name   string
	Items  int64
	Bytes  int64
	Units  float64 // that reading it costs, eventually consistent
	Strong float64 // that reading it consistently costs
}

// Found are the results of a search.
type Found struct {
	Hits    []Hit
	Cost    Cost
	Partial bool // the budget was used up
}

// Hit is an item that a search has found.
type Hit struct {
	Entity string
	Key    Key
	Label  string // the key as it is shown
	Why    string
	Kind   string // current, deleted copy, expired, or gone: it has left versions or events only
}

// Operators on a sort key.
const (
	OpEq      = "eq"
	OpBegins  = "begins"
	OpBetween = "between"
	OpLt      = "lt"
	OpLe      = "le"
	OpGt      = "gt"
	OpGe      = "ge"
	OpNe      = "ne"       // of a filter
	OpHas     = "contains" // of a filter
	OpExists  = "exists"   // of a filter
	OpMissing = "missing"  // of a filter
)

// Question asks for a page of items of an entity.
type Question struct {
	Entity  string
	Index   string // "" for the table
	Given   Key    // parts of the partition, and leading parts of the sort key. Without any the table is scanned.
	Op      string // on the next part of the sort key: "" for no condition
	Lo, Hi  string
	Filter  *Filter
	Desc    bool
	Related bool // versions, events and deleted copies too
	Start   []byte
	Limit   int
}

// Filter is a condition on an attribute, which is evaluated after the read.
type Filter struct{ Name, Op, Value string }

// Rows is a page of items.
type Rows struct {
	Plan    string // the request in words
	Filter  string
	Items   []State
	Read    int    // items that were evaluated
	Next    []byte // where the next page starts; nil after the last. It holds keys.
	Cost    Cost
	Partial string // why the page is not full, although more may follow
}

// LifeQuestion asks for the states of an item.
type LifeQuestion struct {
	Entity   string
	Key      Key
	At       time.Time // the state at this time; zero for none
	From, To time.Time // of a series: the range of events; zero for the newest
	Older    []byte    // begin here; nil for the newest
	Limit    int
}

// Life is what is stored of an item.
type Life struct {
	Entity  Entity
	Label   string
	States  []State // newest first
	Order   string  // of a series: what orders the events
	Claims  []Claim
	Older   []byte // where older states begin; nil if there are none
	AtState int    // index of the state at the time that was asked for; -1 for none
	AtNote  string // what is known of that time
	Live    bool   // there is a current item
	Deleted bool   // it was deleted, and a copy can be restored
	Cost    Cost
	Partial string
}

// State is a stored item: the current one, a version, a deleted copy or an event.
type State struct {
	Entity   string
	Key      Key    // of the current item; nil if it cannot be opened
	Label    string // the key as it is shown
	Kind     string // current, version, deleted copy, event …
	Name     string // of a version its number, of an event its time
	Version  int64
	At       time.Time // when it was written, or of an event its time; zero if that is unknown
	Accepted time.Time // of an event
	Ended    bool      // the state of a deleted item
	Restored bool
	Late     bool // an event that was accepted after a later one
	Repeats  bool // an event that reports what the one before reports
	Expires  time.Time
	Expired  bool
	Size     int
	Problem  string
	Who      []Value // what the context of the write had
	Values   []Value // the attributes of the model
	Library  []Value // index keys and what the library adds
	Changed  []Difference
	Compared string // why Changed is empty: first, nothing, unknown
	Numbers  map[string]float64
	Storage  []Value // the primary key as it is stored
	Seen     string  // names the state for a write that is guarded by it; "" if it cannot be written
}

// Difference is an attribute that two states have not in common.
type Difference struct {
	Name     string
	Old, New *Value // nil: absent
}

// Claim is an item that holds a unique value.
type Claim struct {
	Constraint string
	Value      string // as it is shown
	Held       bool   // by this item
	Note       string
	Expires    time.Time
}

// Value is a value as it is shown.
type Value struct {
	Name   string
	Type   string // of DynamoDB
	Text   string // of a scalar
	Note   string // what Text means, such as a number's time
	Sub    []Value
	Nested bool // a list, map or set: Sub has its elements
	Hidden bool
	Odd    bool   // not declared
	Bytes  int    // of the whole value, if Text is shortened
	Cut    bool   // a part is left out
	Whole  []byte // where all of it is, for [Data.Content]; nil if it has no place of its own. It holds keys.
	Link   string // to all of it; set by the pages
}

// Content is all of a value.
type Content struct {
	Entity, Name string
	Type         string // of DynamoDB
	Bytes        []byte // a text, bytes, or JSON of a list, map or set
}

// Progress is how far long work is.
type Progress struct {
	Done, Total int64 // Total is 0 if unknown
	Text        string
}

// Count is how many items of a kind an entity has.
type Count struct {
	Entity, Kind string
	Items        int64
	Bytes        int64
}

// Health is what a check found.
type Health struct {
	Findings []Finding // the first of them
	Counts   []Count   // by finding, in Kind
	Items    int
	Cost     Cost
}

// Finding is something that does not belong in a table.
type Finding struct{ Kind, Table, Entity, Key, What string }

// Verbs of a [Write].
const (
	VerbEdit    = "edit"
	VerbRevert  = "revert"
	VerbRestore = "restore"
	VerbPurge   = "purge"
)

// Write is a change of one item.
type Write struct {
	Verb    string
	Entity  string
	Key     Key
	Version int64    // that Revert goes back to
	Changes []Change // of Edit
	Seen    string   // the State.Seen of what the person saw
	Actor   string
	Reason  string
}

// Change sets an attribute to what a text stands for, or removes it.
type Change struct {
	Name   string
	Text   string
	Remove bool
}

// Input is a field of a form that edits an item.
type Input struct {
	Name     string
	Kind     string // text, area, number, bool, time, json, set or bytes
	Type     string // of Go
	Text     string
	Present  bool
	Optional bool
	Secret   bool   // its value is not in Text; it can only be replaced, or removed if it is optional
	Why      string // it cannot be edited
}

// Preview is what a write would do.
type Preview struct {
	Label    string  // the key as it is shown
	Seen     string  // the State.Seen of what the plan is made from
	Inputs   []Input // of Edit without changes
	Plan     string
	Changed  []Difference
	Removes  []Count // of Purge
	Notes    []string
	Asks     []string // what the entity stores of the context of a write, such as actor and reason
	Required []string // those of them that it requires
}

// Conflict is the error of a write of an item that is not as it was seen.
type Conflict struct {
	Now    State   // what it is now; without a Kind if it is gone
	Inputs []Input // of what it is now
	Asks   []string
}

func (c *Conflict) Error() string { return "the item has changed since the page was opened" }
