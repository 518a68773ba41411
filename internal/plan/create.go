package plan

import (
	"context"
	"fmt"
	"maps"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/schema"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Complete adds the primary key, the index keys and the hidden attributes to it, and checks its size.
func Complete(s *schema.Schema, primary, it item.Item, writeID string) (item.Item, error) {
	maps.Copy(it, primary)
	if len(s.Indexes) > 0 {
		if err := bind.ComposeIndexKeys(s, it, nil); err != nil {
			return nil, err
		}
	}
	layout.SetHidden(s, it, writeID)
	return it, bind.CheckSize(s, item.Size(it))
}

// completeNew completes it, to which changes are applied, as a new item: with version 1, or the version after those of
// earlier lives, and with both timestamps.
func completeNew(s *schema.Schema, primary, it item.Item, changes []expr.Change, in *Input) (item.Item, error) {
	for _, a := range [...]*schema.Attr{s.CreatedAt, s.UpdatedAt} {
		if a == nil {
			continue
		}
		av, err := a.Format.Value(in.Now)
		if err != nil {
			return nil, bind.ValueError(s, a, err)
		}
		it[a.Name] = av
	}
	if s.Contexts != nil {
		in.setContext(s, it)
	}
	if s.Version != nil {
		layout.SetVersion(s, it, in.Past.Version+1)
	}
	if s.SetsExpiry {
		x := bind.Expiry(s)
		if chosen := x.Chosen(it[x.Stamps()]) || bind.ChangeOf(changes, x.Stamps()) != nil; !chosen { // by the caller, in the value or by a change
			if err := setExpiry(s, x, it, in); err != nil {
				return nil, err
			}
		}
	}
	return Complete(s, primary, it, in.WriteID)
}

// holdsOnNone rejects conditions of a write that may create its item if what they give without an item is not known before the write:
// an expired item counts as absent. It is for entities whose items expire.
func (op *Op) holdsOnNone() error {
	if _, known := op.If.OnNone(); known {
		return nil
	}
	return bind.InMemory(op.Schema, op.If, "a "+op.Verb+" over an item that may have expired")
}

// created plans the creation of it. It sends together
//
//	put  the item, if it is absent and the caller's conditions hold without it; or if it has expired   refused: see refusal
//	put  the claim of each unique value, if it is free, has ended or is the item's                     refused: a violation
//	put  the snapshot of the new state, with history, if it is absent                                  refused: plan again
func (op *Op) created(in *Input, it item.Item, result Result, refusal Refusal) (*Plan, error) {
	s := op.Schema
	if in.Image != nil && layout.Live(s, in.Image, in.Now) {
		return nil, &Refused{Class: sentinel.ErrExists, Schema: s, Image: in.Image}
	}
	switch past := &in.Past; {
	case past.Copy != nil && s.LooksBack && past.CaseErr != nil:
		return nil, fmt.Errorf("%w: %w: %w", sentinel.ErrExists, sentinel.ErrDeleted, past.CaseErr)
	case past.Copy != nil && s.LooksBack:
		return nil, fmt.Errorf("%w: %w", sentinel.ErrExists, sentinel.ErrDeleted)
	case past.CaseErr != nil:
		return nil, past.CaseErr
	}
	none := expr.All(s.Absent, op.If)
	if s.Options.Derived { // rows are read, and guarded, as they are stored
		none = expr.All(layout.AbsentOrExpired(s, in.Now), op.If)
	} else if s.Expires {
		if holds, _ := op.If.OnNone(); holds { // whatever the expired item holds
			none = expr.Any(none, layout.HasExpired(s, in.Now))
		}
	}
	put := Action{Kind: Put, Table: op.Table, Key: op.Key, Item: it, Cond: none, WriteID: WriteID(s, in), Refusal: refusal}
	return Compose(Mutation{Kind: Created, Op: op, In: in, New: it}, []Action{put}, result)
}

// NewCreate plans the write of a new item: one Put under the condition that there is no item.
func NewCreate(s *schema.Schema, table string, v reflect.Value, spec *bind.Options) *Op {
	it, wrong := s.Codec.Encode(v)
	op := new(Op).Begin(s, table, "Create", v, it, spec)
	if op.Err != nil {
		return op
	}
	given, err := bind.WholeItem(s, v, it, wrong, nil, nil)
	if op.Err = err; err == nil && s.Expires {
		op.Err = op.holdsOnNone()
	}
	op.Past, op.Creates = s.LooksBack, true
	op.Plan = func(_ context.Context, _ layout.Reader, in *Input) (*Plan, error) {
		it := given
		if in.Joined || s.SetsExpiry { // otherwise the op is run once, and to complete it again gives the same
			it = maps.Clone(given)
		}
		it, err := completeNew(s, op.Key, it, nil, in)
		if err != nil {
			return nil, err
		}
		return op.created(in, it, Result{Item: it, Given: v}, absent{s})
	}
	return op
}

// absent is the Refusal of a Create.
type absent struct{ s *schema.Schema }

// Refused implements Refusal: there is an item, or a condition of the caller did not hold.
func (x absent) Refused(f Failure, in *Input) Resolution {
	if layout.Live(x.s, f.Image, in.Now) {
		return Resolution{Err: sentinel.ErrExists}
	}
	return Resolution{Err: sentinel.ErrConditionFailed}
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
func CheckBatch(s *schema.Schema, spec *bind.Options) error {
	if err := spec.Err(); err != nil {
		return bind.Invalid(s, bind.CodeOption, nil, "%v", err)
	}
	if why := Transactional(s); why != "" {
		return bind.Invalid(s, bind.CodeBatch, nil, "%s", why)
	}
	if spec.Unconditional {
		return nil
	}
	for _, a := range s.Attrs {
		if a == s.Version || a == s.CreatedAt || a.IsOnce {
			return bind.Invalid(s, bind.CodeBatch, a, "the value depends on the stored item, which a batch does not read; entity.Unconditional() writes anyway")
		}
	}
	if s.Profile.KeysLowerCase() && s.Templated {
		return bind.Invalid(s, bind.CodeBatch, nil, "keys are in lower case, and a batch does not check the case of the stored key parts; entity.Unconditional() writes anyway")
	}
	return nil
}

// BatchItem completes base, which it changes, as the item that a batch writes. key is nil if base has its key.
func BatchItem(s *schema.Schema, key, base item.Item, in *Input) (item.Item, error) {
	return completeNew(s, key, base, nil, in)
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
