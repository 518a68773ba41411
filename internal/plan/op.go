package plan

import (
	"cmp"
	"context"
	"fmt"
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

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

	// Plan plans one attempt, without the guards that Make adds. It reads through r what Needs does not name.
	Plan func(ctx context.Context, r layout.Reader, in *Input) (*Plan, error)
}

// Asked holds the options of the caller of a write.
type Asked struct {
	Expect     *int64                // the expected version; nil for any
	Created    types.AttributeValue  // with Expect: the expected created_at, in its format; nil for any
	ExpectNone bool                  // no live item is expected
	If         expr.Cond             // the conditions
	Changes    []expr.Change         // the changes
	Old        func(item.Item) error // takes the item before the write, nil if there was none; nil if not requested
	IfPresent  bool                  // a missing item is no error
	Idempotent bool                  // sent as a transaction under a token, so that it can be repeated after a lost answer

	// SoleWriter reports that repeating or delaying the write does no harm: only this operation writes the item, or its effect is wanted
	// whenever its conditions hold. So a refusal is final, whether or not an earlier attempt was applied.
	SoleWriter bool
}

// Needs lists the reads that come before a plan.
type Needs struct {
	Read        bool      // the current item
	Given       item.Item // the current item as the caller has it, which saves the first read
	AsStored    bool      // the item as it is stored, also if its payload version is outdated
	Discards    bool      // of an outdated item nothing is kept, so that it need not be upgraded
	SoftDeletes bool      // the newest deleted copy: the operation makes one, which depends on it
	Past        bool      // traces of earlier lives, if there is no live item
	Context     bool      // what the context of the call has for the entity: it is stored
	More        bool      // what Plan reads
}

// Traits describe a write to the executor, besides its plan.
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

// KeyText formats the key of the item for messages.
func (op *Op) KeyText() string { return layout.KeyText(op.Schema, op.Key) }

// Reads reports whether op needs a read before planning, at least in a transaction.
func (op *Op) Reads() bool { return op.Read || op.Past || op.More || op.Old != nil }

// fromOld computes the result of changes from the old item that a lone action returned.
func (op *Op) fromOld(r Returned, changes []expr.Change) (Result, error) {
	base := r.Image
	if base == nil {
		base = item.Clone(op.Key)
	}
	it, err := expr.Apply(base, changes)
	return Result{Item: it, Old: r.Image, Created: r.Image == nil}, err
}

var errOldLost = fmt.Errorf("%w: the answer with the item before the write was lost", sentinel.ErrReadBack)

// Begin makes op an operation on the item with the key of v, with compiled conditions. v may be encoded already, as it; otherwise that is
// nil. Mistakes are in the Err of op, which it returns.
func (op *Op) Begin(s *schema.Schema, table, verb string, v reflect.Value, it item.Item, spec *bind.Options) *Op {
	op.Verb, op.Schema, op.Table, op.Context = verb, s, table, s.Contexts != nil
	op.Key, op.Parts, op.Err = bind.Key(s, v, it, nil)
	if spec.Terms != (bind.Terms{}) || spec.Errs != nil || s.LocksGiven {
		op.Err = op.accept(v, spec)
	}
	if op.Err == nil && len(spec.If) > 0 {
		op.If, op.Err = bind.Conditions(s, spec.If)
	}
	return op
}

// accept applies the options of a write whose key was composed, or could not be: that error is in op. It returns the first mistake.
func (op *Op) accept(v reflect.Value, spec *bind.Options) error {
	s := op.Schema
	op.Idempotent, op.SoleWriter = spec.Idempotent, spec.SoleWriter
	switch {
	case len(spec.Errs) > 0:
		return bind.Invalid(s, bind.CodeOption, nil, "%v", spec.Errs[0])
	case spec.Old != nil && reflect.TypeOf(spec.Old) != reflect.PointerTo(s.Type):
		return bind.Invalid(s, bind.CodeOption, nil, "Returning takes a pointer to a %s, not a %T", s.Type, spec.Old)
	}
	if err := op.expects(v, spec); err != nil || op.Err != nil {
		return cmp.Or(err, op.Err)
	}
	if spec.Old != nil {
		op.Read = op.Idempotent // a transaction does not return items
		op.Old = func(it item.Item) error {
			old := reflect.New(s.Type)
			if it != nil {
				if err := layout.Decode(s, &s.Codec, it, old.Interface()); err != nil {
					return err
				}
			}
			reflect.ValueOf(spec.Old).Elem().Set(old.Elem())
			return nil
		}
	}
	if spec.From == nil {
		return nil
	}
	image, table := spec.From.Image()
	switch {
	case image == nil:
		return bind.Invalid(s, bind.CodeOption, nil, "the image holds no item; pass it to a Get with KeepImage first")
	case table != op.Table || layout.KeyID(layout.KeyOf(s, image)) != layout.KeyID(op.Key):
		return bind.Invalid(s, bind.CodeOption, nil, "the image holds another item")
	}
	op.Given = image
	return nil
}
