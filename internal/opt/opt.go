// Package opt seals the option interfaces of the public packages: their methods are unexported here and reach other
// packages only by embedding one of the For types. What options ask for is collected in a Spec.
package opt

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Spec is what the options of one call ask for.
type Spec struct {
	If            []Cond   // conditions of a write
	Changes       []Change // of an update
	Range         []Cond   // of a query, on key fields
	Filters       []Cond   // of a query, on other fields
	Desc          bool
	Limit         *int
	Evaluate      *int                                                   // most items that a query evaluates
	Requests      *int                                                   // most requests that a query sends
	Segments      *int                                                   // segments that a scan reads at the same time
	Current       bool                                                   // the current state too, in a list of versions
	Strong        bool                                                   // strongly consistent
	Expired       bool                                                   // expired items too
	Idempotent    bool                                                   // send the write as a transaction under a token
	Expect        *int64                                                 // version that a write expects
	Any           bool                                                   // a write expects no version, whatever the given struct holds
	Keep          func(it map[string]types.AttributeValue, table string) // where a read puts the item as it was read
	From          Image                                                  // item that a write is planned from
	Old           any                                                    // *T, for the item as it was before the write
	Was           func(map[string]types.AttributeValue) error            // fills it; nil where the verb has no item before
	NoReturn      bool                                                   // skip the read of the current item after an append
	Progress      func(deleted int)                                      // called by a purge with what it has removed
	Scanned       func(ScanProgress)                                     // called by a scan with what it has read
	Unconditional bool                                                   // batch writes replace what is stored, whatever it is
	After         *time.Duration                                         // how long items live, for a declared time to live
	NoExpiry      bool                                                   // items of a declared time to live do not expire by themselves
	Name          string
	Table         string // logical table of a store, instead of what its declaration says
	Own           bool   // of this module alone: keys keep their case, and times their nanoseconds, whatever the database says
	SoleWriter    bool   // of this module alone: a write whose answer was lost may be sent again, since nobody else writes what it writes
	Derived       bool   // its items are made from others, and made again when their form changes
	Handle        string // the constructor that is at work, "" for entity.New
	Errs          []error
}

// The option interfaces. A value may be an option of several calls.
type (
	Read   interface{ read(*Spec) }
	Query  interface{ query(*Spec) }
	Write  interface{ write(*Spec) }
	Update interface{ update(*Spec) }
	Append interface{ append(*Spec) }
	Store  interface{ store(*Spec) }
	Purge  interface{ purge(*Spec) }
	Batch  interface{ batch(*Spec) }
)

// The For types carry what an option does; embedding one under an unexported name makes an option of it.
type (
	ForRead   struct{ Do func(*Spec) }
	ForQuery  struct{ Do func(*Spec) }
	ForWrite  struct{ Do func(*Spec) }
	ForUpdate struct{ Do func(*Spec) }
	ForAppend struct{ Do func(*Spec) }
	ForStore  struct{ Do func(*Spec) }
	ForPurge  struct{ Do func(*Spec) }
	ForBatch  struct{ Do func(*Spec) }
)

func (o ForRead) read(s *Spec)     { s.do(o.Do) }
func (o ForRead) query(s *Spec)    { s.do(o.Do) }
func (o ForQuery) query(s *Spec)   { s.do(o.Do) }
func (o ForWrite) write(s *Spec)   { s.do(o.Do) }
func (o ForWrite) update(s *Spec)  { s.do(o.Do) }
func (o ForWrite) append(s *Spec)  { s.do(o.Do) }
func (o ForUpdate) update(s *Spec) { s.do(o.Do) }
func (o ForAppend) append(s *Spec) { s.do(o.Do) }
func (o ForStore) store(s *Spec)   { s.do(o.Do) }
func (o ForPurge) purge(s *Spec)   { s.do(o.Do) }
func (o ForBatch) batch(s *Spec)   { s.do(o.Do) }

var errEmpty = errors.New("an option is nil or a zero value; use the functions that make options")

func (s *Spec) do(f func(*Spec)) {
	if f == nil {
		s.Errs = append(s.Errs, errEmpty)
		return
	}
	f(s)
}

// Collect applies options of one call; which says as what kind of option each is used.
func Collect[O, K any](opts []O, which func(K, *Spec)) Spec {
	var s Spec
	for _, o := range opts {
		k, ok := any(o).(K)
		if !ok {
			s.Errs = append(s.Errs, errEmpty)
			continue
		}
		which(k, &s)
	}
	return s
}

// Reads collects options of a read.
func Reads[O any](opts []O) Spec { return Collect(opts, func(o Read, s *Spec) { o.read(s) }) }

// Queries collects options of a query.
func Queries[O any](opts []O) Spec { return Collect(opts, func(o Query, s *Spec) { o.query(s) }) }

// Writes collects options of a write.
func Writes[O any](opts []O) Spec { return Collect(opts, func(o Write, s *Spec) { o.write(s) }) }

// Updates collects options of an update.
func Updates[O any](opts []O) Spec { return Collect(opts, func(o Update, s *Spec) { o.update(s) }) }

// Appends collects options of an append.
func Appends[O any](opts []O) Spec { return Collect(opts, func(o Append, s *Spec) { o.append(s) }) }

// Stores collects options of a store.
func Stores[O any](opts []O) Spec { return Collect(opts, func(o Store, s *Spec) { o.store(s) }) }

// Purges collects options of a purge.
func Purges[O any](opts []O) Spec { return Collect(opts, func(o Purge, s *Spec) { o.purge(s) }) }

// Batches collects options of a batch write.
func Batches[O any](opts []O) Spec { return Collect(opts, func(o Batch, s *Spec) { o.batch(s) }) }
