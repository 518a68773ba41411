package write

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Limits of DynamoDB for a transaction.
const (
	MaxActions          = 100             // in one transaction
	MaxTransactionBytes = 4 * 1024 * 1024 // of all items of a transaction
)

// Input is what a plan is made from.
type Input struct {
	Now        time.Time
	WriteID    string
	Joined     bool      // part of a transaction with other operations, so no image is returned
	Image      item.Item // the current item if Read, in today's payload version unless AsStored; nil if absent
	NewestCopy item.Item // the newest deleted copy, expired or not, if SoftDeletes
	Past       Past      // traces of earlier lives, if Past and there is no live item
	found      any       // what Prepare found; see PlanFrom
	Hints      []Hint    // what earlier attempts learned
	Context    item.Item // of the attributes with the role context: what they get; see InContext

	Once bool       // the operation is run once, by a caller that waits for it
	Room *[1]Action // for a plan of one action that is followed before the next is made; may be nil
}

// alone returns a as the only action of a plan.
func (in *Input) alone(a Action) []Action {
	if in.Room == nil {
		return []Action{a}
	}
	in.Room[0] = a
	return in.Room[:]
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
	// Undecoded makes the executor return the item as it is in the answer, without attribute values.
	Undecoded bool
	WriteID   string    // the write id that it stores; "" if none
	Payload   expr.Cond // the part of Cond about the payload version of the item; may be empty

	// Pin is the part of Cond that holds for what was read, never holds again once it fails, and fails after the write.
	// So Cond lets the action through at most once, and a failure is final. It is empty if there is no such part.
	Pin expr.Cond
	// Final reports whether Cond, which failed on an item, fails on all later states too. nil means unknown.
	Final func(item.Item) bool

	Fold     Folder // merges the action with another on the same item; nil if it cannot be merged
	Label    string // replaces the key in print if the key must not be shown; "" shows the key
	Claims   bool   // claims an item with one owner, such as a sentinel
	Releases bool   // gives up such an item
}

// Failure is why an action was refused. Code is DynamoDB's reason code, or "" or "None" if the action was not refused.
type Failure struct {
	Code   string
	Image  item.Item // the item whose condition failed; nil if there was none
	Hidden bool      // there was one, but the client does not return it, or it was made since
	There  item.Item // with Hidden: what a read found after the refusal; nil if only an item can have refused the action
}

// Failed reports whether the action's condition did not hold.
func (f Failure) Failed() bool { return f.Code == "ConditionalCheckFailed" }

// Result is the result of a write.
type Result struct {
	Item     item.Item // the item after the write as far as it is known; nil after a removal
	Stored   wire.Item // set instead of Item: the item that DynamoDB returned
	Encoded  bool      // Item was encoded by the codec of the entity, and the library has added keys, first times and version 1
	Existing item.Item // the stored event that an append found
	Old      item.Item // the item before the write, nil if there was none; set if the operation has an Old
	Created  bool      // an upsert created the item
	Skipped  bool      // nothing had to be written because of what is stored
	Reason   string    // why an event was skipped
}

// Resolution is the meaning of a definite failure. Exactly one field other than Hints is set.
type Resolution struct {
	Err    error   // the operation failed
	Replan error   // the item changed since it was read: plan again; the error to return if no attempt is left
	Result *Result // the operation is done
	Next   *Step   // send this step
	Hints  []Hint  // with Replan: hints for the next plan
}

// Returned is what DynamoDB returned for a successful lone action.
type Returned struct {
	Image     item.Item // what the action's Returns requested
	Undecoded wire.Item // set instead of Image, if the action's Undecoded is
	Proven    bool      // the answer was lost, and a read showed that the write was applied; Image is the item after it
	Again     bool      // the request arrived twice: the item before it, in Image, is the one after the first time
}

// Step is a set of actions that are sent together.
type Step struct {
	Actions       []Action
	EntityActions int       // how many of the first actions concern items of the entity; 0: all
	Whole         bool      // decide on a refusal only after every action was evaluated, with no conflict
	blind         time.Time // when the step was planned, if that was without reading the item
	Outcome
}

// Outcome says what the answer to a step means. Plans of verbs implement it.
type Outcome interface {
	// Resolve decides what a definite failure means. The failures are aligned with the step's actions.
	Resolve([]Failure) Resolution
	// Done returns the result of a successful step. returned is set for a lone action.
	Done(returned Returned) (Result, error)
}

// Fixed is the Outcome of a step that means the same whatever the answer has.
type Fixed struct {
	Result  Result
	Refused Resolution
}

// Resolve implements Outcome.
func (x *Fixed) Resolve([]Failure) Resolution { return x.Refused }

// Done implements Outcome.
func (x *Fixed) Done(Returned) (Result, error) { return x.Result, nil }

// Nothing returns a step that writes nothing, with its result.
func Nothing(result Result) Step { return Step{Outcome: &Fixed{Result: result}} }

// Planner plans a write. Plans of verbs implement it.
type Planner interface {
	// Plan returns the first step of the write. It is called for each attempt.
	Plan(Input) (Step, error)
}

// PlanFunc is a Planner.
type PlanFunc func(Input) (Step, error)

// Plan implements Planner.
func (f PlanFunc) Plan(in Input) (Step, error) { return f(in) }

// Op is one intended write or check.
type Op struct {
	Verb   string
	Schema *schema.Schema
	Table  string    // physical name
	Key    item.Item // primary key of the item
	Parts  item.Item // key parts as given and stored; nil if the operation guards them itself
	Err    error     // bad input

	Asked
	Needs
	Traits

	Planner
}

// Asked is what the caller of a write asked for.
type Asked struct {
	Expect     *int64                // the expected version; nil for any
	If         expr.Cond             // the conditions, for printing a plan that reads first
	Changes    []expr.Change         // the changes, likewise
	Old        func(item.Item) error // takes the item before the write, nil if there was none; nil if not requested
	IfPresent  bool                  // a missing item is no error
	Idempotent bool                  // sent as a transaction under a token, so that it can be repeated after a lost answer

	// SoleWriter reports that repeating or delaying the write does no harm: only this operation writes the item, or its
	// effect is wanted whenever its conditions hold. So a refusal is final, whether or not an earlier attempt was
	// applied.
	SoleWriter bool
}

// Needs is what must be read before a plan.
type Needs struct {
	Read        bool                                        // the current item
	Given       item.Item                                   // the current item as the caller has it, which saves the first read
	AsStored    bool                                        // the item as it is stored, also if its payload version is outdated
	Discards    bool                                        // of an outdated item nothing is kept, so that it need not be upgraded
	SoftDeletes bool                                        // the newest deleted copy: the operation makes one, which depends on it
	Past        bool                                        // traces of earlier lives, if there is no live item
	Context     bool                                        // what the context of the call has for the entity: it is stored
	Prepare     func(context.Context, Reader, *Input) error // reads what else the plan needs; nil for most operations
}

// Traits is what the executor knows about a write besides its plan.
type Traits struct {
	ChecksOnly  bool // it writes nothing
	Creates     bool // it fails if there is a live item
	Generated   bool // the value has an id that was generated for this operation
	Mergeable   bool // its actions have a Fold
	AlsoDeleted bool // the error for a missing item must also cover a deleted one

	// Unsure is called when the write is refused, and an earlier attempt may have been applied, or may still be. It may be
	// nil. An operation needs it if it goes on after such a refusal.
	Unsure func()
}

// PlanFrom makes op be planned by plan from what find finds before each plan. find may change the input too.
func PlanFrom[F any](op *Op, find func(context.Context, Reader, *Input) (F, error), plan func(Input, F) (Step, error)) {
	op.Prepare = func(ctx context.Context, r Reader, in *Input) error {
		found, err := find(ctx, r, in)
		in.found = found
		return err
	}
	op.Planner = PlanFunc(func(in Input) (Step, error) { return plan(in, in.found.(F)) })
}

// KeyText formats the key of the item for messages.
func (op *Op) KeyText() string { return KeyText(op.Schema, op.Key) }

// Reads reports whether op needs a read before planning, at least in a transaction.
func (op *Op) Reads() bool { return op.Read || op.Past || op.Prepare != nil || op.Old != nil }

// fromOld computes the result of changes from the old item that a lone action returned.
func (op *Op) fromOld(r Returned, changes []expr.Change) (Result, error) {
	base := r.Image
	if base == nil {
		base = item.Clone(op.Key)
	}
	it, err := expr.Apply(base, changes)
	return Result{Item: it, Old: r.Image, Created: r.Image == nil}, err
}

var errOldLost = fmt.Errorf("%w: the answer with the item before the write was lost", entitytype.ErrReadBack)

// NeedsRead reports whether op must be planned from the current item.
func (op *Op) NeedsRead(in Input) bool {
	return op.Read || in.Joined && op.Old != nil || len(in.Hints) > 0 && in.Hinted(ReadFirst)
}

// StoredResult returns the result of a write that stored it.
func StoredResult(it item.Item) Result { return Result{Item: it} }

// Skipped resolves a failure which shows that nothing has to be written.
func Skipped() Resolution { return Resolution{Result: &Result{Skipped: true}} }

// imageOf returns the stored item that an entity.Image holds for op.
func imageOf(op *Op, from Image) (item.Item, error) {
	image, table := from.Image()
	switch {
	case image == nil:
		return nil, Invalid(op.Schema, CodeOption, nil, "the image holds no item; pass it to a Get with KeepImage first")
	case table != op.Table || KeyID(KeyOf(op.Schema, image)) != KeyID(op.Key):
		return nil, Invalid(op.Schema, CodeOption, nil, "the image holds another item")
	}
	return image, nil
}

// newKeyless starts an operation on the item of v, whose key the caller sets.
func newKeyless(s *schema.Schema, table, verb string, v reflect.Value, spec *Options) *Op {
	op := &Op{Verb: verb, Schema: s, Table: table, Asked: Asked{Idempotent: spec.Idempotent, SoleWriter: spec.SoleWriter}}
	op.Context = s.Contexts != nil
	if len(spec.Errs) > 0 {
		op.Err = Invalid(s, CodeOption, nil, "%v", spec.Errs[0])
		return op
	}
	if s.LocksGiven || spec.Expect != nil || spec.AnyVersion {
		if op.Expect, op.Err = expectation(s, verb, v, spec); op.Err != nil {
			return op
		}
	}
	if spec.DecodeOld != nil { // a transaction does not return items
		op.Old, op.Read = spec.DecodeOld, op.Idempotent
	}
	return op
}

// newOp starts an operation on the item with the key of v. It also returns the key parts.
func newOp(s *schema.Schema, table, verb string, v reflect.Value, spec *Options) (*Op, item.Item) {
	op := newKeyless(s, table, verb, v, spec)
	if op.Err == nil {
		op.Key, op.Parts, op.Err = Key(s, v, nil)
	}
	if op.Err == nil && spec.From != nil { // the item in the caller's image
		op.Given, op.Err = imageOf(op, spec.From)
	}
	return op, op.Parts
}

// Begin starts an operation of a feature on the item with the key of v, and compiles its conditions. Errors are in the
// Err of the operation.
func Begin(s *schema.Schema, table, verb string, v reflect.Value, spec *Options) (*Op, expr.Cond) {
	op, _ := newOp(s, table, verb, v, spec)
	if op.Err != nil {
		return op, expr.Cond{}
	}
	user, err := Conditions(s, spec.If)
	op.Err = err
	return op, user
}
