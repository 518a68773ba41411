// Package plan turns an intent (a verb, a value, options) into a plan: the item that must be read first, and the
// actions that DynamoDB applies together, each with its guard. Plans are made without a network and can be printed.
package plan

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Limits of DynamoDB.
const (
	MaxActions          = 100             // of one transaction
	MaxTransactionBytes = 4 * 1024 * 1024 // of all its items
	MaxPartitionKey     = 2048
	MaxSortKey          = 1024
)

// Op is one intended write.
type Op struct {
	Verb        string
	Schema      *schema.Schema
	Table       string    // physical name
	Key         item.Item // primary key of the item that the op is about
	KeyIs       string    // the key for messages; empty when it must not be shown
	Parts       item.Item // key parts as given and stored; nil when the op guards them itself
	Err         error     // bad input
	Exact       bool      // sent as a transaction under a token, so that a lost answer can be asked for again
	Read        bool      // the current item must be read before the op can be planned
	Past        bool      // what earlier lives left must be read when there is no live item
	Checks      bool      // the op writes nothing
	Creates     bool      // the op fails where there is a live item
	SoftDeletes bool      // the op makes a deleted copy, which needs the newest of those that are there
	Folds       bool      // the op's writes have a Fold
	Expect      *int64    // version that the caller expects; nil for any
	Given       item.Item // the current item as the caller's handle has it, which saves the first read

	Old func(item.Item) error // takes the item as it was before the write, nil when there was none; nil: nobody asks for it

	// Idempotent says that the op does no harm when it is applied again, or late: nobody else writes what it writes, or what
	// it does is wanted whenever its conditions hold. What its refusal says is then true whatever became of earlier attempts.
	SoleWriter bool

	AlsoDeleted bool // an item that is not found may have been deleted, which the error says too

	If      expr.Cond     // the caller's conditions
	Changes []expr.Change // the caller's changes

	Prepare func(context.Context, Reader, *Input) error // reads what else the plan needs; nil for most
	Plan    func(Input) (Step, error)
}

// Reads reports that op cannot be planned without a read, at least not as part of a transaction.
func (op *Op) Reads() bool { return op.Read || op.Past || op.Prepare != nil || op.Old != nil }

// Input is what an op is planned from.
type Input struct {
	Now     time.Time
	WriteID string
	Joined  bool      // part of a transaction with other ops: there is no returned image
	Image   item.Item // the current item, when Read; nil if absent
	Beside  item.Item // the newest deleted copy, expired or not, when the op SoftDeletes
	Past    Past      // what earlier lives left, when Past and there is no live item
	Found   any       // what Prepare read
	Hints   []any     // what failures of earlier rounds taught
}

// ReadFirst, when it was learned, makes the next plan one from the current item.
type ReadFirst struct{}

// NeedsRead reports that op is to be planned from the current item.
func (op *Op) NeedsRead(in Input) bool {
	return op.Read || in.Joined && op.Old != nil || slices.Contains(in.Hints, any(ReadFirst{}))
}

// Step is what is sent together.
type Step struct {
	Actions []Action
	Own     int  // how many of the first actions are about items of the entity; 0: all
	Whole   bool // a refusal is decided only when every action was heard, none disturbed by a conflict
	// Resolve decides what a definite failure means; failures are aligned with Actions.
	Resolve func([]Failure) Resolution
	// Done turns success into the op's result; returned is what a lone action gave back, nil otherwise.
	Done func(returned Returned) (Result, error)
}

// Result is what became of a write.
type Result struct {
	Item     item.Item // the item as it is now, as far as the plan or the answer shows it; nil after a removal, or when nothing shows it
	Existing item.Item // the stored event that an append met
	Created  bool      // of an upsert: there was no item before
	Skipped  bool      // what is stored decided that nothing had to be written, or something else
	Reason   string    // why an event was skipped
}

// Stored is the result of a write that leaves it behind.
func Stored(it item.Item) Result { return Result{Item: it} }

// Returned is what a successful lone action gave back.
type Returned struct {
	Image  item.Item // as the action's Returns asked
	Proven bool      // the item itself proves that the write was applied, its answer did not come; Image is the item, as the write left it
}

// ActionKind is what an action does.
type ActionKind int

// Kinds of actions.
const (
	Put ActionKind = iota
	Update
	Delete
	Check
)

// Returns says which image a lone action gives back.
type Returns int

// What a lone action can return.
const (
	ReturnNothing Returns = iota
	ReturnOld
	ReturnNew
)

// Action is one write or check of one item.
type Action struct {
	Kind    ActionKind
	Table   string
	Key     item.Item // of Update, Delete and Check
	Item    item.Item // of Put
	Cond    expr.Cond
	Changes []expr.Change
	Returns Returns
	WriteID string // the `_w` that it stores, "" when it stores none

	// Pin is the part of Cond that holds for what was read, does not come back once it is gone, and is ended by the write. So
	// Cond lets the action through once at most, and once it has failed, it fails for good. Empty when there is none.
	Pin expr.Cond
	// Final reports that Cond, having failed on an item, fails on all that can follow; nil: nothing is known.
	Final func(item.Item) bool

	Fold     Folder // how the action becomes one with another of its kind on the same item; nil when it cannot
	Label    string // what the key is called in print, when it must not be shown; "" shows it
	Claims   bool   // takes an item of exclusive ownership, such as a unique value
	Releases bool   // gives one up
}

// Failure is why an action was refused: Code is DynamoDB's reason code, "" or "None" when it was not.
type Failure struct {
	Code   string
	Image  item.Item // the item that made a condition fail; nil when there was none
	Hidden bool      // there was one, but the client does not show it
}

// Failed reports that the action's condition did not hold.
func (f Failure) Failed() bool { return f.Code == "ConditionalCheckFailed" }

// Resolution is what a definite failure means. Exactly one field but Hints is set.
type Resolution struct {
	Err    error   // the op failed
	Replan error   // the item changed since it was read: plan again; the error to give when attempts are used up
	Result *Result // the op is done
	Next   *Step   // send this now
	Hints  []any   // with Replan: what the next plan has to know
}

// Skipped resolves a failure by which what is stored decided that nothing is to be written.
func Skipped() Resolution { return Resolution{Result: &Result{Skipped: true}} }

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

// Bound is the number that the option called name gives a read, 0 when it is not given. DynamoDB counts in 32 bits.
func Bound(s *schema.Schema, name string, given *int) (int, error) {
	switch {
	case given == nil:
		return 0, nil
	case *given <= 0:
		return 0, input(s, CodeOption, nil, "%s must be greater than zero", name)
	case *given > math.MaxInt32:
		return 0, input(s, CodeOption, nil, "%s can be at most %d", name, math.MaxInt32)
	}
	return *given, nil
}
