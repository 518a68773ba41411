package write

import (
	"errors"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
)

// Mistakes holds the errors of a call's options.
type Mistakes struct{ Errs []error }

// Err returns the first mistake, or nil.
func (m *Mistakes) Err() error {
	if len(m.Errs) == 0 {
		return nil
	}
	return m.Errs[0]
}

// Add adds a mistake.
func (m *Mistakes) Add(err error) { m.Errs = append(m.Errs, err) }

// Options of reads.
type (
	// Read is for every read.
	Read struct {
		Mistakes
		Strong  bool  // strongly consistent
		Expired bool  // return expired items too
		Budget  *Pace // paces the requests; nil: they are not paced
	}
	// Get is for the read of one item.
	GetOptions struct {
		Read
		Keep func(it map[string]types.AttributeValue, table string) // takes the item as it was read; nil: not requested
	}
	// Select is for reads of many items.
	Select struct {
		Read
		Filters []Cond
		Limit   *int // maximum number of items
	}
	// Bounded is for reads of many items whose requests can be bounded.
	Bounded struct {
		Select
		Hydrate      bool // read whole items by the entries of an index
		MaxEvaluated *int // maximum number of evaluated items
		MaxRequests  *int // maximum number of requests
	}
	// Order is for reads in the order of a sort key.
	Order struct {
		Range []Cond // conditions on key fields
		Desc  bool
	}
	// Parallel is for reads of a whole table or index.
	Parallel struct {
		Segments *int     // parts that are read concurrently
		Segment  *Segment // the only part to read; nil: the whole table
	}
	// Segment is one of several parts of a table.
	Segment struct{ Number, Of int }
	// Query is for reads of one partition.
	Query struct {
		Bounded
		Order
	}
	// Scan is for reads of a whole table or index.
	Scan struct {
		Bounded
		Parallel
		Scanned func(ScanProgress) // called with the progress of the scan; nil: not reported
	}
	// List is for lists of versions.
	List struct {
		Select
		Order
		Current bool // list the current state too
	}
	// Verify is for checks of a whole table.
	Verify struct {
		Mistakes
		Parallel
		Budget   *Pace
		Progress func(compared int)
	}
)

// Options of writes.
type (
	// Guard is for every write.
	Guard struct {
		Mistakes
		If []Cond
	}
	// Append is for events of a series.
	Append struct{ Guard }
	// Create is for the writes of one item.
	Create struct {
		Guard
		Idempotent bool // send the write as a transaction under a token
		SoleWriter bool // of this module only: a write with a lost answer may be repeated, since nothing else writes the item
	}
	// Restore is for writes that can expect a version.
	Restore struct {
		Create
		Expect     *int64
		AnyVersion bool // expect no version, whatever the given struct holds
	}
	// Write is for writes over a stored item.
	Write struct {
		Restore
		From      Image                                       // the item that the write is planned from; nil: it is read
		Old       any                                         // *T, receives the item before the write; nil: not requested
		DecodeOld func(map[string]types.AttributeValue) error // decodes that item into Old

		Filled []string // of this module only: attributes that the caller's value left empty and the declaration filled
	}
	// Update is for writes that name their changes.
	UpdateOptions struct {
		Write
		Changes []Change
	}
	// Batch is for the writes of a batch.
	Batch struct {
		Mistakes
		Unconditional bool // replace what is stored without a condition
		Budget        *Pace
	}
	// Purge is for the removal of everything that belongs to an item.
	Purge struct {
		Mistakes
		Progress func(deleted int) // called with the number of removed items; nil: not reported
		Budget   *Pace
	}
	// Pass is for calls that read a whole table, segment by segment.
	Pass struct {
		Mistakes
		Parallel
		Budget   *Pace
		Progress func(RewriteProgress) // called after each page; nil: not reported
	}
	// Copy is for the copy of all items of an entity.
	Copy struct {
		Pass
		Dry     bool // read only
		Strict  bool // end at the first item that stays as it is for a problem
		Restart bool // begin again, whatever the checkpoint says
	}
	// Rewrite is for the rewrite of all items of an entity.
	Rewrite struct {
		Copy
		NewVersion bool // as an update, with a version and a time
		Checkpoint *string
	}
	// Tables is for the creation of tables.
	Tables struct {
		Mistakes
		AddIndexes bool                // add missing global indexes to existing tables
		Building   func(IndexProgress) // called while an index is built; nil: not reported
	}
)

// Store is for the declaration of a store.
type Store struct {
	Mistakes
	Name     string         // replaces the declared name of the entity
	After    *time.Duration // how long items live, for a declared time to live
	NoExpiry bool           // items do not expire, although a time to live is declared
	Handle   string         // the constructor that runs, "" for entity.New
	Upgrades []Upgrade      // from earlier payload versions, in order

	// Of this module only.
	Table   string   // logical table, instead of the declared one
	Own     bool     // keys keep their case, and times their nanoseconds, whatever the configuration of the database says
	Derived bool     // the items are derived from others, and rebuilt when their form changes
	Sources []string // of derived items: the entities that they are made from
}

// The option interfaces of the families of verbs.
type (
	ReadOption    interface{ read(*Read) }
	GetOption     interface{ get(*GetOptions) }
	QueryOption   interface{ query(*Query) }
	ScanOption    interface{ scan(*Scan) }
	BoundedOption interface{ bounded(*Bounded) }
	ListOption    interface{ list(*List) }
	VerifyOption  interface{ verify(*Verify) }
	AppendOption  interface{ append(*Append) }
	CreateOption  interface{ create(*Create) }
	RestoreOption interface{ restore(*Restore) }
	WriteOption   interface{ write(*Write) }
	UpdateOption  interface{ update(*UpdateOptions) }
	BatchOption   interface{ batch(*Batch) }
	PurgeOption   interface{ purge(*Purge) }
	PassOption    interface{ pass(*Pass) }
	CopyOption    interface{ copy(*Copy) }
	RewriteOption interface{ rewrite(*Rewrite) }
	StoreOption   interface{ store(*Store) }
	TablesOption  interface{ tables(*Tables) }
)

// The For types carry the effect of an option. Embedding one under an unexported name makes a type an option.
type (
	ForRead     struct{ Do func(*Read) }
	ForGet      struct{ Do func(*GetOptions) }
	ForSelect   struct{ Do func(*Select) }
	ForBounded  struct{ Do func(*Bounded) }
	ForOrder    struct{ Do func(*Order) }
	ForIndex    struct{ Do func(*Bounded) }
	ForParallel struct{ Do func(*Parallel) }
	ForSegment  struct{ Do func(*Parallel) }
	ForScan     struct{ Do func(*Scan) }
	ForList     struct{ Do func(*List) }
	ForGuard    struct{ Do func(*Guard) }
	ForCreate   struct{ Do func(*Create) }
	ForRestore  struct{ Do func(*Restore) }
	ForWrite    struct{ Do func(*Write) }
	ForUpdate   struct{ Do func(*UpdateOptions) }
	ForBatch    struct{ Do func(*Batch) }
	ForPurge    struct{ Do func(*Purge) }
	ForVerify   struct{ Do func(*Verify) }
	ForPass     struct{ Do func(*Pass) }
	ForCopy     struct{ Do func(*Copy) }
	ForRewrite  struct{ Do func(*Rewrite) }
	ForStore    struct{ Do func(*Store) }
	ForTables   struct{ Do func(*Tables) }
)

func (o ForRead) read(s *Read)       { set(o.Do, s, s) }
func (o ForRead) get(s *GetOptions)  { set(o.Do, &s.Read, s) }
func (o ForRead) query(s *Query)     { set(o.Do, &s.Read, s) }
func (o ForRead) scan(s *Scan)       { set(o.Do, &s.Read, s) }
func (o ForRead) list(s *List)       { set(o.Do, &s.Read, s) }
func (o ForRead) bounded(s *Bounded) { set(o.Do, &s.Read, s) }

func (o ForGet) get(s *GetOptions) { set(o.Do, s, s) }

func (o ForSelect) query(s *Query)     { set(o.Do, &s.Select, s) }
func (o ForSelect) scan(s *Scan)       { set(o.Do, &s.Select, s) }
func (o ForSelect) list(s *List)       { set(o.Do, &s.Select, s) }
func (o ForSelect) bounded(s *Bounded) { set(o.Do, &s.Select, s) }

func (o ForBounded) query(s *Query)     { set(o.Do, &s.Bounded, s) }
func (o ForBounded) scan(s *Scan)       { set(o.Do, &s.Bounded, s) }
func (o ForBounded) bounded(s *Bounded) { set(o.Do, s, s) }

func (o ForIndex) query(s *Query) { set(o.Do, &s.Bounded, s) }
func (o ForIndex) scan(s *Scan)   { set(o.Do, &s.Bounded, s) }

func (o ForOrder) query(s *Query) { set(o.Do, &s.Order, s) }
func (o ForOrder) list(s *List)   { set(o.Do, &s.Order, s) }

func (o ForParallel) scan(s *Scan)     { set(o.Do, &s.Parallel, s) }
func (o ForParallel) verify(s *Verify) { set(o.Do, &s.Parallel, s) }

func (o ForParallel) pass(s *Pass)       { set(o.Do, &s.Parallel, s) }
func (o ForParallel) copy(s *Copy)       { set(o.Do, &s.Parallel, s) }
func (o ForParallel) rewrite(s *Rewrite) { set(o.Do, &s.Parallel, s) }

func (o ForSegment) scan(s *Scan)       { set(o.Do, &s.Parallel, s) }
func (o ForSegment) rewrite(s *Rewrite) { set(o.Do, &s.Parallel, s) }

func (o ForScan) scan(s *Scan) { set(o.Do, s, s) }

func (o ForList) list(s *List) { set(o.Do, s, s) }

func (o ForGuard) append(s *Append)        { set(o.Do, &s.Guard, s) }
func (o ForGuard) create(s *Create)        { set(o.Do, &s.Guard, s) }
func (o ForGuard) restore(s *Restore)      { set(o.Do, &s.Guard, s) }
func (o ForGuard) write(s *Write)          { set(o.Do, &s.Guard, s) }
func (o ForGuard) update(s *UpdateOptions) { set(o.Do, &s.Guard, s) }

func (o ForCreate) create(s *Create)        { set(o.Do, s, s) }
func (o ForCreate) restore(s *Restore)      { set(o.Do, &s.Create, s) }
func (o ForCreate) write(s *Write)          { set(o.Do, &s.Create, s) }
func (o ForCreate) update(s *UpdateOptions) { set(o.Do, &s.Create, s) }

func (o ForRestore) restore(s *Restore)      { set(o.Do, s, s) }
func (o ForRestore) write(s *Write)          { set(o.Do, &s.Restore, s) }
func (o ForRestore) update(s *UpdateOptions) { set(o.Do, &s.Restore, s) }

func (o ForWrite) write(s *Write)          { set(o.Do, s, s) }
func (o ForWrite) update(s *UpdateOptions) { set(o.Do, &s.Write, s) }

func (o ForUpdate) update(s *UpdateOptions) {
	if o.Do == nil {
		s.Add(errEmpty)
		return
	}
	o.Do(s)
}

func (o ForBatch) batch(s *Batch)    { set(o.Do, s, s) }
func (o ForPurge) purge(s *Purge)    { set(o.Do, s, s) }
func (o ForVerify) verify(s *Verify) { set(o.Do, s, s) }
func (o ForStore) store(s *Store)    { set(o.Do, s, s) }
func (o ForTables) tables(s *Tables) { set(o.Do, s, s) }

func (o ForPass) pass(s *Pass)       { set(o.Do, s, s) }
func (o ForPass) copy(s *Copy)       { set(o.Do, &s.Pass, s) }
func (o ForPass) rewrite(s *Rewrite) { set(o.Do, &s.Pass, s) }

func (o ForCopy) copy(s *Copy)       { set(o.Do, s, s) }
func (o ForCopy) rewrite(s *Rewrite) { set(o.Do, &s.Copy, s) }

func (o ForRewrite) rewrite(s *Rewrite) { set(o.Do, s, s) }

var errEmpty = errors.New("an option is nil or a zero value; use the functions that make options")

// set runs an option on its part of a call's options.
func set[P any](do func(*P), part *P, all interface{ Add(error) }) {
	if do == nil {
		all.Add(errEmpty)
		return
	}
	do(part)
}

// collect applies the options of one call. as converts them to the options of its family.
func collect[O, K any](opts []O, as func(K), all interface{ Add(error) }) {
	for _, o := range opts {
		if k, ok := any(o).(K); ok {
			as(k)
		} else {
			all.Add(errEmpty)
		}
	}
}

// Reads collects the options of a read.
func Reads[O any](opts []O) (s Read) {
	collect(opts, func(o ReadOption) { o.read(&s) }, &s)
	return s
}

// Gets collects the options of a Get.
func Gets[O any](opts []O) GetOptions {
	if len(opts) == 0 {
		return GetOptions{}
	}
	var s GetOptions // on the heap, since options change it
	collect(opts, func(o GetOption) { o.get(&s) }, &s)
	return s
}

// Queries collects the options of a query.
func Queries[O any](opts []O) (s Query) {
	if len(opts) == 0 {
		return s
	}
	collect(opts, func(o QueryOption) { o.query(&s) }, &s)
	return s
}

// Scans collects the options of a scan.
func Scans[O any](opts []O) (s Scan) {
	collect(opts, func(o ScanOption) { o.scan(&s) }, &s)
	return s
}

// Bounds collects the options of a read of many items with an order of its own.
func Bounds[O any](opts []O) (s Bounded) {
	collect(opts, func(o BoundedOption) { o.bounded(&s) }, &s)
	return s
}

// Lists collects the options of a list of versions.
func Lists[O any](opts []O) (s List) {
	collect(opts, func(o ListOption) { o.list(&s) }, &s)
	return s
}

// Verifies collects the options of a check of a whole table.
func Verifies[O any](opts []O) (s Verify) {
	collect(opts, func(o VerifyOption) { o.verify(&s) }, &s)
	return s
}

// Appends collects the options of an append.
func Appends[O any](opts []O) (s Append) {
	if len(opts) == 0 {
		return s
	}
	collect(opts, func(o AppendOption) { o.append(&s) }, &s)
	return s
}

// Creates collects the options of a Create.
func Creates[O any](opts []O) Create {
	if len(opts) == 0 {
		return Create{}
	}
	var s Create // on the heap, since options change it
	collect(opts, func(o CreateOption) { o.create(&s) }, &s)
	return s
}

// Restores collects the options of a Restore.
func Restores[O any](opts []O) (s Restore) {
	collect(opts, func(o RestoreOption) { o.restore(&s) }, &s)
	return s
}

// Writes collects the options of a write over a stored item.
func Writes[O any](opts []O) Write {
	if len(opts) == 0 {
		return Write{}
	}
	var s Write // on the heap, since options change it
	collect(opts, func(o WriteOption) { o.write(&s) }, &s)
	return s
}

// Updates collects the options of an update.
func Updates[O any](opts []O) UpdateOptions {
	if len(opts) == 0 {
		return UpdateOptions{}
	}
	var s UpdateOptions // on the heap, since options change it
	for _, o := range opts {
		if k, ok := any(o).(UpdateOption); ok {
			k.update(&s)
		} else {
			s.Add(errEmpty)
		}
	}
	return s
}

// Batches collects the options of a batch write.
func Batches[O any](opts []O) Batch {
	if len(opts) == 0 {
		return Batch{}
	}
	var s Batch // on the heap, since options change it
	collect(opts, func(o BatchOption) { o.batch(&s) }, &s)
	return s
}

// Purges collects the options of a purge.
func Purges[O any](opts []O) (s Purge) {
	collect(opts, func(o PurgeOption) { o.purge(&s) }, &s)
	return s
}

// Passes collects the options of a call that reads a whole table.
func Passes[O any](opts []O) (s Pass) {
	collect(opts, func(o PassOption) { o.pass(&s) }, &s)
	return s
}

// Copies collects the options of a copy.
func CopiesOptions[O any](opts []O) (s Copy) {
	collect(opts, func(o CopyOption) { o.copy(&s) }, &s)
	return s
}

// Rewrites collects the options of a rewrite.
func Rewrites[O any](opts []O) (s Rewrite) {
	collect(opts, func(o RewriteOption) { o.rewrite(&s) }, &s)
	return s
}

// ForCreation collects the options of the creation of tables.
func ForCreation[O any](opts []O) (s Tables) {
	collect(opts, func(o TablesOption) { o.tables(&s) }, &s)
	return s
}

// Stores collects the options of a store.
func Stores[O any](opts []O) (s Store) {
	collect(opts, func(o StoreOption) { o.store(&s) }, &s)
	return s
}

// Upgrade converts items of one payload version to the next.
type Upgrade struct {
	From     int
	Old, New reflect.Type
	Apply    func(any) (any, error)
}

// Image is an item exactly as it was read, with its table; nil if there was none.
type Image interface {
	Image() (it map[string]types.AttributeValue, table string)
}

// ScanProgress is the progress of a scan.
type ScanProgress = entitytype.ScanProgress

// IndexProgress is the progress of an index that is built.
type IndexProgress = entitytype.IndexProgress

// RewriteProgress is the progress of a rewrite.
type RewriteProgress = entitytype.RewriteProgress

// Target is what a condition or change is about: a pointer into a prototype, a map entry or list element of such a
// field, a path in text, or an attribute by name. Inside names a place within one of these.
type Target struct {
	Pointer any
	Entry   *string // key in the map at Pointer
	Key     any     // the same key as the caller gave it
	Elem    *int    // index in the list at Pointer
	Text    string  // path, when Pointer is nil
	Attr    string  // name, when Pointer is nil and there is no Text
	Inside  string  // path from there; it may begin with an index
}

// Where is the operator of a condition that was built with the SDK's expression package.
const Where expr.Op = "Where"

// Cond is a condition before it is checked against a schema: Values are Go values of the target's type.
type Cond struct {
	Op     expr.Op
	Target Target
	Values []any
	Conds  []Cond
	Built  expr.Cond // of Where, with encoded values
	Err    error     // why Where failed
}

// Change is an update's change before it is checked against a schema.
type Change struct {
	Kind   expr.Kind
	Target Target
	Value  any  // of the target's type; the elements for Push, Insert and Discard
	Once   bool // Set only when absent
}
