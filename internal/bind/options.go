package bind

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
)

// Options are the settings of one call, as its options make them. A verb looks at the settings that its options can make.
type Options struct {
	Errs []error // the mistakes of options

	// Of reads.
	Strong       bool                                                   // strongly consistent
	Expired      bool                                                   // return expired items too
	Keep         func(it map[string]types.AttributeValue, table string) // takes the item as it was read; nil: not requested
	Filters      []Cond
	Limit        int    // maximum number of items; 0 without one, and so below
	MaxEvaluated int    // maximum number of evaluated items
	MaxRequests  int    // maximum number of requests
	Hydrate      bool   // read whole items by the entries of an index
	Range        []Cond // conditions on key fields
	Desc         bool
	Skip         bool                          // go on past items that do not decode
	Current      bool                          // list the current state too
	Segments     int                           // parts of a table that are read concurrently; 0: one after the other
	Segment      *Segment                      // the only part to read; nil: the whole table
	Scanned      func(entitytype.ScanProgress) // called with the progress of a scan; nil: not reported

	// Of writes of one item.
	If      []Cond
	Changes []Change
	Terms
	IfPresent bool  // a missing item is no error
	Missing   *bool // receives whether there was none; nil: not requested

	// Of transactions.
	Decisions int // the most that are made; 0 without the option

	// Of calls about many items.
	Budget        *Pace                            // paces the requests; nil: they are not paced
	Unconditional bool                             // replace what is stored without a condition
	Progress      func(n int)                      // called with the number of removed items; nil: not reported
	Passed        func(entitytype.RewriteProgress) // called after each page of a pass; nil: not reported
	Dry           bool                             // read only
	Strict        bool                             // end at the first item that stays as it is for a problem
	Restart       bool                             // begin again, whatever the checkpoint says
	NewVersion    bool                             // rewrite as an update, with a version and a time
	Ends          bool                             // set missing ends
	Checkpoint    *string

	// Of the declaration of a store.
	Name     string         // replaces the declared name of the entity
	After    *time.Duration // how long items live, for a declared time to live
	NoExpiry bool           // items do not expire, although a time to live is declared
	Upgrades []Upgrade      // from earlier payload versions, in order
	Bound    []Bound        // options for the handles that entity.Bind opens

	// Of this module only.
	Handle  string   // the constructor of a store that runs, "" for entity.New
	Table   string   // logical table of a store, instead of the declared one
	Own     bool     // keys keep their case, and times their nanoseconds, whatever the configuration of the database says
	Derived bool     // the items are derived from others, and rebuilt when their form changes
	Sources []string // of derived items: the entities that they are made from
	Secret  bool     // derived items are made from what has secret fields
}

// Terms are guards, images and results that few writes ask for. They can be compared: a write without any has the zero value.
type Terms struct {
	Idempotent bool   // send the write as a transaction under a token
	Expect     *int64 // version
	AnyVersion bool   // expect no version, whatever the given struct holds
	From       Image  // the item that the write is planned from; nil: it is read
	Old        any    // *T, receives the item before the write; nil: not requested
	SoleWriter bool   // a write with a lost answer may be repeated, since nothing else writes the item
}

// Segment is one of several parts of a table.
type Segment struct{ Number, Of int }

const (
	maxParts    = 1_000_000 // segments of a table that DynamoDB allows
	MaxSegments = 64        // segments that are read concurrently
)

// Err returns the first mistake, or nil.
func (o *Options) Err() error {
	if len(o.Errs) == 0 {
		return nil
	}
	return o.Errs[0]
}

// Add adds a mistake.
func (o *Options) Add(err error) { o.Errs = append(o.Errs, err) }

// Count sets an option with a name to n, which is 1 to most.
func (o *Options) Count(option *int, name string, n, most int) {
	*option = n
	if n < 1 || n > most {
		o.Add(fmt.Errorf("%s must be 1 to %d, not %d", name, most, n))
	}
}

// OnlySegment sets the only part of a table to read.
func (o *Options) OnlySegment(i, n int) {
	switch o.Segment = (&Segment{i, n}); {
	case n < 1 || n > maxParts:
		o.Add(fmt.Errorf("a table has 1 to %d segments, not %d", maxParts, n))
	case i < 0 || i >= n:
		o.Add(fmt.Errorf("there is no segment %d of %d: the first one is 0", i, n))
	}
}

// A Setting changes the Options of a call.
type Setting func(*Options)

var errEmpty = errors.New("an option is nil or a zero value; use the functions that make options")

func (f Setting) set(o *Options) {
	if f == nil {
		o.Add(errEmpty)
		return
	}
	f(o)
}

// setter is any option.
type setter interface{ set(*Options) }

// none are the settings of calls without options.
var none Options

// Collect returns the settings that the options of a call make. Calls without options share them, so they are not changed.
func Collect[O any](opts []O) *Options {
	if len(opts) == 0 {
		return &none
	}
	all := new(Options)
	for _, o := range opts {
		if o, ok := any(o).(setter); ok {
			o.set(all)
		} else {
			all.Add(errEmpty)
		}
	}
	return all
}

// The options of each family of verbs.
type (
	GetOption     interface{ get() }
	QueryOption   interface{ query() }
	ScanOption    interface{ scan() }
	ListOption    interface{ list() }    // of lists of versions
	DeletedOption interface{ deleted() } // of lists of deleted copies
	UpdateOption  interface{ update() }
	DeleteOption  interface{ remove() }
	WriteOption   interface{ write() } // of the other writes over a stored item
	RestoreOption interface{ restore() }
	CreateOption  interface{ create() }
	AppendOption  interface{ append() }
	BatchOption   interface{ batch() }
	PurgeOption   interface{ purge() }
	RewriteOption interface{ rewrite() }
	CopyOption    interface{ copy() }
	PassOption    interface{ pass() } // of checks of a whole table
	StoreOption   interface{ store() }
	BindOption    interface{ bind() }
	DecideOption  interface{ decide() } // of transactions that a function decides
)

// Option is an option of any verb. The functions that make options return interfaces, which say where each is accepted.
type Option struct{ Setting }

func (Option) get()     {}
func (Option) query()   {}
func (Option) scan()    {}
func (Option) list()    {}
func (Option) deleted() {}
func (Option) update()  {}
func (Option) remove()  {}
func (Option) write()   {}
func (Option) restore() {}
func (Option) create()  {}
func (Option) append()  {}
func (Option) batch()   {}
func (Option) purge()   {}
func (Option) rewrite() {}
func (Option) copy()    {}
func (Option) pass()    {}
func (Option) store()   {}
func (Option) bind()    {}
func (Option) decide()  {}

// OrderSetting is an option of queries and of lists of versions alone.
type OrderSetting struct{ Setting }

func (OrderSetting) query() {}
func (OrderSetting) list()  {}

// Bound is a value for the handle of a type that entity.Bind opens: options for the store of an entity, or the definition of a view.
type Bound struct {
	Type  reflect.Type
	Value any
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

// Target names the place of a condition or change: a pointer into a prototype, a map entry or list element of such a
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
	Value  any // of the target's type; the elements for Push, Insert and Discard
}
