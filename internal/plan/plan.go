package plan

import (
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Limits of DynamoDB for a transaction.
const (
	MaxActions          = 100             // in one transaction
	MaxTransactionBytes = 4 * 1024 * 1024 // of all items of a transaction
)

// A Plan has the actions that one attempt of a write sends together, and what their answers mean.
type Plan struct {
	Actions       []Action  // without actions there is nothing to write
	EntityActions int       // how many of the first actions concern items of the entity; 0: all
	Whole         bool      // decide on a refusal only after every action was evaluated, with no conflict
	blind         time.Time // when it was made, if that was without reading the item
	alone         [1]Action // room for Actions, so that a plan of one is one allocation
	Meaning
}

// Meaning says what the answers to the actions of a plan mean.
type Meaning interface {
	// Refused decides what a definite refusal of p means, which was made of in. The failures are aligned with the actions. What they show
	// about stored items is added to in.Learned.
	Refused(p *Plan, f []Failure, in *Input) Resolution
	// Applied returns the result of p. returned is set for a lone action.
	Applied(p *Plan, returned Returned, in *Input) (Result, error)
}

// ActionKind selects the request of an action.
type ActionKind int

// Kinds of actions.
const (
	Put ActionKind = iota
	Update
	Delete
	Check
)

// Returns selects the image that a lone action returns.
type Returns int

// Values of Returns.
const (
	ReturnNothing Returns = iota
	ReturnOld
	ReturnNew
)

// Action is one write or check of one item.
type Action struct {
	Kind    ActionKind
	Table   string
	Key     item.Item // for Update, Delete and Check
	Item    item.Item // for Put
	Cond    expr.Cond
	Changes []expr.Change
	Returns Returns
	WriteID string     // the write id that it stores; "" if none
	Payload *expr.Cond // the part of Cond about the payload version of the item; may be nil

	// Pin is the part of Cond that holds for what was read, never holds again once it fails, and fails after the write.
	// So Cond lets the action through at most once, and a failure is final. It is nil if there is no such part.
	Pin *expr.Cond
	// Final reports whether Cond, which failed on an item, fails on all later states too. nil means unknown.
	Final func(item.Item) bool

	// Refusal decides what a refusal of the action means, in a plan that Compose or Join makes.
	Refusal Refusal

	Fold     Folder // merges the action with another on the same item; nil if it cannot be merged
	Label    string // replaces the key in print if the key must not be shown; "" shows the key
	Claims   bool   // claims an item with one owner, such as a sentinel
	Releases bool   // gives up such an item
}

// A Failure says why an action was refused. Code is DynamoDB's reason code, or "" or "None" if the action was not refused.
type Failure struct {
	Code   string
	Image  item.Item // the item whose condition failed; nil if there was none
	Hidden bool      // there was one, but the client does not return it, or it was made since
	There  item.Item // with Hidden: what a read found after the refusal; nil if only an item can have refused the action
}

// Failed reports whether the action's condition did not hold.
func (f Failure) Failed() bool { return f.Code == "ConditionalCheckFailed" }

// Resolution is the meaning of a definite refusal. Exactly one field is set.
type Resolution struct {
	Err    error   // the operation failed
	Replan error   // the item changed since it was read: plan again; the error to return if no attempt is left
	Result *Result // the operation is done
	Next   *Plan   // send this plan
}

// Returned holds the answer to a successful lone action.
type Returned struct {
	Image  item.Item // the item before the action, if it asked for that; the item after it if Proven
	New    wire.Item // the item after the action, if it asked for that
	Proven bool      // the answer was lost, and a read showed that the write was applied
	Again  bool      // the request arrived twice: Image is the item after the first time
}

// Result is the result of a write.
type Result struct {
	Item     item.Item     // the item after the write as far as it is known; nil after a removal
	Given    reflect.Value // set with Item: the struct that it was encoded from; not valid for an item that was read or changed
	Stored   wire.Item     // set instead of Item: the item that DynamoDB returned
	Existing item.Item     // the stored event that an append found
	Old      item.Item     // the item before the write, nil if there was none; set if the operation has an Old
	Created  bool          // an upsert created the item
	Skipped  bool          // nothing had to be written because of what is stored
	Reason   string        // why an event was skipped
}

// Learned holds facts about stored items that the refusals of earlier attempts have shown.
type Learned struct {
	ReadFirst bool // plan from the current item
	Outdated  bool // the item has an earlier payload version, in which the plan means nothing: upgrade it first
	Expired   bool // the item had expired at the last attempt

	// Taken are versions of the item that snapshots of another life use, because a program that keeps no history created the item again.
	// The next plan continues after that history.
	Taken   []int64
	foreign map[string]bool // by KeyID of a sentinel's key: whether it belongs to another item, or the item has got it back
}

// Any reports whether anything was learned.
func (l *Learned) Any() bool {
	return l.ReadFirst || l.Outdated || l.Expired || l.Taken != nil || l.foreign != nil
}

// Sentinel says whether the sentinel under k belongs to another item, so that it must not be deleted or reserved. The item may get it back.
func (l *Learned) Sentinel(k item.Item, others bool) {
	if l.foreign == nil {
		l.foreign = map[string]bool{}
	}
	l.foreign[layout.KeyID(k)] = others
}

// Foreign reports whether the sentinel under k belongs to another item, as far as is known.
func (l *Learned) Foreign(k item.Item) bool { return l.foreign != nil && l.foreign[layout.KeyID(k)] }

// Input has the items, the time and the ids from which a plan is made.
type Input struct {
	Now        time.Time
	WriteID    string
	Joined     bool      // part of a transaction with other operations, so no image is returned
	Read       bool      // the operation is planned from the current item
	Image      item.Item // that item, in today's payload version unless AsStored; nil if absent
	NewestCopy item.Item // the newest deleted copy, expired or not, if SoftDeletes
	Past       Past      // traces of earlier lives, if Past and there is no live item
	Context    item.Item // of the attributes with the role context: what they get; see InContext
	Learned    Learned
}

// HistoryVersion returns the version under which the history keeps the stored item: its own, or, if that is taken, the
// first one after the history of other lives.
func (in *Input) HistoryVersion(s *schema.Schema, it item.Item) int64 {
	n := layout.StoredVersion(s, it)
	if slices.Contains(in.Learned.Taken, n) {
		return max(n, in.Past.Version) + 1
	}
	return n
}

// Refusal decides what the refusal of one action means, in a plan that was made of in.
type Refusal interface {
	Refused(f Failure, in *Input) Resolution
}

// Means is a Refusal that means the same whatever the item is.
type Means Resolution

func (x Means) Refused(Failure, *Input) Resolution { return Resolution(x) }

// Again is the Refusal of an action that is guarded by what was read: read and plan again.
var Again = Means{Replan: sentinel.ErrConflict}

// Fixed is the Meaning of answers that mean the same whatever they have.
type Fixed struct {
	Result    Result
	IfRefused Resolution
}

func (x *Fixed) Refused(*Plan, []Failure, *Input) Resolution { return x.IfRefused }

func (x *Fixed) Applied(*Plan, Returned, *Input) (Result, error) { return x.Result, nil }

func Nothing(result Result) *Plan { return &Plan{Meaning: &Fixed{Result: result}} }

// Skipped resolves a failure which shows that nothing has to be written.
func Skipped() Resolution { return Resolution{Result: &Result{Skipped: true}} }
