package write

import (
	"reflect"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Complete adds the primary key, the index keys and the hidden attributes to it, and checks its size.
func Complete(s *schema.Schema, primary item.Item, it Sized, in Input) (item.Item, error) {
	for name, av := range primary {
		it.Item[name] = av
	}
	if len(s.Indexes) > 0 {
		if err := Recompose(s, it.Item); err != nil {
			return nil, err
		}
	}
	SetHidden(s, it.Item, in.WriteID)
	return it.Item, it.Check(s)
}

// newItem applies changes to base and completes it as a new item.
func (op *Op) newItem(base item.Item, changes []expr.Change, in Input) (item.Item, error) {
	it, err := apply(op.Schema, base, changes)
	if err != nil {
		return nil, err
	}
	return completeNew(op.Schema, op.Key, Sized{Item: it}, changes, in)
}

// completeNew completes it, to which changes are applied, as a new item: with version 1, or the version after those of
// earlier lives, and with both timestamps.
func completeNew(s *schema.Schema, primary item.Item, sized Sized, changes []expr.Change, in Input) (item.Item, error) {
	it := sized.Item
	for _, a := range [...]*schema.Attr{s.CreatedAt, s.UpdatedAt} {
		if a == nil {
			continue
		}
		av, err := a.Format.Value(in.Now)
		if err != nil {
			return nil, ValueError(s, a, err)
		}
		it[a.Name] = av
	}
	if s.Contexts != nil {
		in.setContext(s, it)
	}
	if s.Version != nil {
		SetVersion(s, it, in.Past.Version+1)
	}
	if s.SetsExpiry {
		if err := setNewExpiry(s, it, changes, in); err != nil {
			return nil, err
		}
	}
	return Complete(s, primary, sized, in)
}

// created returns the step that creates it.
func (op *Op) created(in Input, it item.Item, user expr.Cond, result Result, resolve func(Failure) Resolution) (Step, error) {
	s := op.Schema
	if in.Image != nil && Live(s, in.Image, in.Now) {
		return Step{}, &Refused{Class: entitytype.ErrExists, Schema: s, Image: in.Image}
	}
	if s.LooksBack || in.Past.CaseErr != nil {
		if err := in.Past.createError(s); err != nil {
			return Step{}, err
		}
	}
	main := Part{Action{
		Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: expr.All(AbsentOrExpired(s, in.Now), user), WriteID: WriteID(s, in),
	}, resolve}
	return op.compose(Mutation{Kind: Created, New: it}, in, main, result)
}

// planValue is the encoded value of an operation. Each plan adds to an item of its own. The first plan gets the item that was
// encoded. What it consisted of is kept for later plans, which must not see what the caller changes in the value meanwhile.
type planValue struct {
	mu     sync.Mutex
	sized  Sized
	others []attribute // of the item, once a plan has it
}

type attribute struct {
	name  string
	value types.AttributeValue
}

// take returns the value for one plan. It returns no item for a later plan of an operation that is run once, which need not keep
// it: its caller waits.
func (p *planValue) take(once bool) Sized {
	p.mu.Lock()
	defer p.mu.Unlock()
	given := p.sized
	p.sized.Item = nil
	switch {
	case p.others != nil:
		given.Item = make(item.Item, len(p.others)+4)
		for _, a := range p.others {
			given.Item[a.name] = a.value
		}
	case !once:
		p.others = make([]attribute, 0, len(given.Item))
		for name, av := range given.Item {
			p.others = append(p.others, attribute{name, av})
		}
	}
	return given
}

// create is a Create of v.
type create struct {
	op    *Op
	v     reflect.Value
	value planValue // of v
	user  expr.Cond
}

// NewCreate plans the write of a new item: one Put under the condition that there is no item.
func NewCreate(s *schema.Schema, table string, v reflect.Value, spec *Options) *Op {
	op := newKeyless(s, table, "Create", v, spec)
	if op.Err != nil {
		return op
	}
	c := &create{op: op, v: v}
	if op.Key, op.Parts, c.value.sized, op.Err = KeyAndSized(s, v); op.Err != nil {
		return op
	}
	if len(spec.If) > 0 {
		if c.user, op.Err = Conditions(s, spec.If); op.Err != nil {
			return op
		}
	}
	op.Past, op.Creates, op.Planner = s.LooksBack, true, c
	return op
}

// Plan implements Planner.
func (c *create) Plan(in Input) (Step, error) {
	s, value := c.op.Schema, c.value.take(in.Once)
	if value.Item == nil { // an earlier plan has it
		var err error
		if _, _, value, err = KeyAndSized(s, c.v); err != nil {
			return Step{}, err
		}
	}
	it, err := completeNew(s, c.op.Key, value, nil, in)
	if err != nil {
		return Step{}, err
	}
	now := in.Now
	result := Result{Item: it, Encoded: in.Past.Version == 0 && !s.SetsExpiry && s.Contexts == nil}
	return c.op.created(in, it, c.user, result, func(f Failure) Resolution {
		if Live(s, f.Image, now) {
			return Resolution{Err: entitytype.ErrExists}
		}
		return Resolution{Err: entitytype.ErrConditionFailed}
	})
}

// Transactional returns why the writes of an entity are transactions, or "" if each is a single request.
func Transactional(s *schema.Schema) string {
	switch {
	case s.Handle != "":
		return "a time series is written by appends"
	case s.KeepsHistory, s.SoftDeletes, s.HasUnique:
		return "versions, soft delete and unique values need a transaction for each item"
	}
	return ""
}

// CheckBatch rejects entities whose writes need a condition or a transaction, since a batch has neither. With
// [Options.Unconditional] it accepts entities whose writes need only a condition.
func CheckBatch(s *schema.Schema, spec *Options) error {
	if err := spec.Err(); err != nil {
		return Invalid(s, CodeOption, nil, "%v", err)
	}
	if why := Transactional(s); why != "" {
		return Invalid(s, CodeBatch, nil, "%s", why)
	}
	if spec.Unconditional {
		return nil
	}
	for _, a := range s.Attrs {
		if a == s.Version || a == s.CreatedAt || a.IsOnce {
			return Invalid(s, CodeBatch, a, "the value depends on the stored item, which a batch does not read; entity.Unconditional() writes anyway")
		}
	}
	if s.Profile.KeysLowerCase() && s.Templated {
		return Invalid(s, CodeBatch, nil, "keys are in lower case, and a batch does not check the case of the stored key parts; entity.Unconditional() writes anyway")
	}
	return nil
}

// NewBatchPut checks v. It returns its primary key and what [BatchItem] makes the item of.
func NewBatchPut(s *schema.Schema, v reflect.Value) (key, base item.Item, err error) {
	key, _, base, err = KeyAndItem(s, v)
	if err != nil {
		return nil, nil, err
	}
	return key, base, nil
}

// BatchItem completes base, which it changes, as the item that a batch writes.
func BatchItem(s *schema.Schema, key, base item.Item, in Input) (item.Item, error) {
	return completeNew(s, key, Sized{Item: base}, nil, in)
}

// BatchPut is NewBatchPut and BatchItem. It returns the item alone, which has the key.
func BatchPut(s *schema.Schema, v reflect.Value, in Input) (item.Item, error) {
	key, it, err := KeyedItem(s, v)
	if err != nil {
		return nil, err
	}
	return completeNew(s, key, it, nil, in)
}

// BatchText prints one write of a batch, or only its head if a is nil. asGiven says that the Prepare method of the value has
// still to be called.
func BatchText(s *schema.Schema, verb, table string, asGiven bool, a *Action) string {
	text := verb + " " + s.Name + " on " + table
	if asGiven {
		text += preparing
	}
	if a != nil {
		text += "\n" + actionLines(s, []Action{*a})
	}
	return text
}
