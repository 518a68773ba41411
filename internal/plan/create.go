package plan

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// newOp starts an op about the item whose key v has. The key parts of the item are returned too.
func newOp(s *schema.Schema, table, verb string, v reflect.Value, spec opt.Write) (*Op, item.Item) {
	op := &Op{Verb: verb, Schema: s, Table: table, Exact: spec.Idempotent, SoleWriter: spec.SoleWriter}
	if err := spec.Err(); err != nil {
		op.Err = input(s, CodeOption, nil, "%v", err)
		return op, nil
	}
	if op.Expect, op.Err = expectation(s, verb, v, spec); op.Err != nil {
		return op, nil
	}
	op.takeOld(spec)
	primary, parts, err := Key(s, v)
	op.Key, op.Err, op.KeyIs, op.Parts = primary, err, KeyText(s, primary), parts
	if err == nil && spec.From != nil {
		op.Given, op.Err = given(op, spec.From)
	}
	return op, parts
}

// Begin starts the op of a feature about the item whose key v has, and resolves its conditions. Mistakes are in the
// op's Err.
func Begin(s *schema.Schema, table, verb string, v reflect.Value, spec opt.Write) (*Op, expr.Cond) {
	op, _ := newOp(s, table, verb, v, spec)
	if op.Err != nil {
		return op, expr.Cond{}
	}
	user, err := Conditions(s, spec.If)
	op.Err = err
	return op, user
}

// NewCreate plans the write of a new item: one Put under the condition that there is none.
func NewCreate(s *schema.Schema, table string, v reflect.Value, spec opt.Create) *Op {
	op, _ := newOp(s, table, "Create", v, opt.Write{Restore: opt.Restore{Create: spec}})
	if op.Err != nil {
		return op
	}
	base, err := whole(s, v, nil, nil)
	if err != nil {
		op.Err = err
		return op
	}
	user, err := Conditions(s, spec.If)
	if err != nil {
		op.Err = err
		return op
	}
	op.Past, op.Creates = looksBack(s), true
	op.Plan = func(in Input) (Step, error) {
		it, err := op.fresh(base, nil, in)
		if err != nil {
			return Step{}, err
		}
		return op.created(in, it, user, Stored(it), func(f Failure) Resolution {
			if live(s, f.Image, in.Now) {
				return Resolution{Err: ErrExists}
			}
			return Resolution{Err: ErrConditionFailed}
		})
	}
	return op
}

// created is the step that begins a new life with it.
func (op *Op) created(in Input, it item.Item, user expr.Cond, result Result, resolve func(Failure) Resolution) (Step, error) {
	s := op.Schema
	if live(s, in.Image, in.Now) {
		return Step{}, &Refused{Class: ErrExists, Schema: s, Image: in.Image}
	}
	if err := in.Past.forbids(s); err != nil {
		return Step{}, err
	}
	main := Part{Action{
		Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: and(absent(s, in.Now), user), WriteID: WriteID(s, in),
	}, resolve}
	step, err := Compose(&Mutation{Kind: Created, Op: op, In: in, New: it}, []Part{main}, result)
	return op.over(nil, step), err
}

// WriteID is the id that an action stores, "" for entities without hidden attributes.
func WriteID(s *schema.Schema, in Input) string {
	if s.HasMetadata {
		return in.WriteID
	}
	return ""
}

// fresh completes base, with changes made to it, to the item that a new life begins with: version 1, or the next one
// where earlier lives have left theirs, and both timestamps the same.
func (op *Op) fresh(base item.Item, changes []expr.Change, in Input) (item.Item, error) {
	s := op.Schema
	it, err := apply(s, base, changes)
	if err != nil {
		return nil, err
	}
	for _, a := range []*schema.Attr{s.CreatedAt, s.UpdatedAt} {
		if a == nil {
			continue
		}
		av, err := TimeValue(a, in.Now)
		if err != nil {
			return nil, valueError(s, a, err)
		}
		it[a.Name] = av
	}
	SetVersion(s, it, in.Past.Version+1)
	if err := stampNew(s, it, changes, in); err != nil {
		return nil, err
	}
	return complete(s, op.Key, it, in)
}

// complete adds to it the keys, the index halves and the hidden attributes, and checks its size.
func complete(s *schema.Schema, primary, it item.Item, in Input) (item.Item, error) {
	for name, av := range primary {
		it[name] = av
	}
	if err := Recompose(s, it); err != nil {
		return nil, err
	}
	hidden(s, it, in.WriteID)
	return it, CheckSize(s, it)
}

// Recompose brings the index keys of it up to date with its attributes.
func Recompose(s *schema.Schema, it item.Item) error { return setIndexes(s, it, nil) }

// CheckBatch refuses batch writes of an entity. A batch has no conditions and no transaction: where more than one item
// has to be written together it is never right, and where a write depends on what is stored, only if the caller says
// that nothing is.
func CheckBatch(s *schema.Schema, spec opt.Batch) error {
	if err := spec.Err(); err != nil {
		return input(s, CodeOption, nil, "%v", err)
	}
	switch {
	case s.Handle != "":
		return input(s, CodeBatch, nil, "a time series is written by appends")
	case snapshotter(s) != nil, softDeleter(s) != nil, len(UniqueConstraints(s)) > 0:
		return input(s, CodeBatch, nil, "versions, soft delete and unique values need a transaction for each item")
	case spec.Unconditional:
		return nil
	}
	for _, a := range s.Attrs {
		if a == s.Version || a == s.CreatedAt || a.WriteOnce() {
			return input(s, CodeBatch, a, "what is stored decides about the attribute, and a batch does not see it; entity.Unconditional() writes all the same")
		}
	}
	if s.Profile.KeysLowerCase() && s.Templated {
		return input(s, CodeBatch, nil, "keys are in lower case, and a batch does not see whether the stored key parts are the given ones; entity.Unconditional() writes all the same")
	}
	return nil
}

// NewBatchPut checks v and returns its primary key, and how to make the item for an instant and a write id.
func NewBatchPut(s *schema.Schema, verb, table string, v reflect.Value) (key item.Item, make func(Input) (item.Item, error), err error) {
	op, _ := newOp(s, table, verb, v, opt.Write{})
	if op.Err != nil {
		return nil, nil, op.Err
	}
	base, err := whole(s, v, nil, nil)
	if err != nil {
		return nil, nil, err
	}
	return op.Key, func(in Input) (item.Item, error) { return op.fresh(base, nil, in) }, nil
}

// BatchText prints one write of a batch.
func BatchText(s *schema.Schema, verb, table string, a Action) string {
	return verb + " " + s.Name + " on " + table + "\n" + actionLines(s, []Action{a})
}

// SizeError says what is larger than DynamoDB allows. It is ErrTooLarge.
type SizeError struct{ Type, Problem string }

func (e *SizeError) Error() string { return e.Type + ": too large: " + e.Problem }

// Is makes the error an ErrTooLarge.
func (e *SizeError) Is(target error) bool { return target == ErrTooLarge }

func tooLarge(s *schema.Schema, format string, args ...any) error {
	return &SizeError{s.Type.String(), fmt.Sprintf(format, args...)}
}

// CheckSize refuses an item that DynamoDB would not store.
func CheckSize(s *schema.Schema, it item.Item) error {
	if n := item.Size(it); n > item.MaxBytes {
		return tooLarge(s, "the item is %d bytes, %d are allowed", n, item.MaxBytes)
	}
	return nil
}

func sortedNames(it item.Item) []string { return slices.Sorted(maps.Keys(it)) }
