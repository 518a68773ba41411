package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// newOp starts an op about the item whose key v has. The key parts of the item are returned too.
func newOp(s *schema.Schema, table, verb string, v reflect.Value, spec opt.Spec) (*Op, item.Item) {
	op := &Op{Verb: verb, Schema: s, Table: table, Exact: spec.Exactly}
	if len(spec.Errs) > 0 {
		op.Err = input(s, CodeOption, nil, "%v", spec.Errs[0])
		return op, nil
	}
	primary, parts, err := Key(s, v)
	op.Key, op.Err, op.KeyIs = primary, err, KeyText(s, primary)
	return op, parts
}

// NewCreate plans the write of a new item: one Put under the condition that there is none.
func NewCreate(s *schema.Schema, table string, v reflect.Value, spec opt.Spec) *Op {
	op, _ := newOp(s, table, "Create", v, spec)
	if op.Err != nil {
		return op
	}
	base, err := whole(s, v, nil)
	if err != nil {
		op.Err = err
		return op
	}
	user, err := Conditions(s, spec.If)
	if err != nil {
		op.Err = err
		return op
	}
	op.Plan = func(in Input) (Step, error) {
		it, err := fresh(s, op.Key, base, in)
		if err != nil {
			return Step{}, err
		}
		guard := absent(s, in.Now)
		return Step{
			Actions: []Action{{
				Kind: Put, Table: table, Key: op.Key, Item: it, Cond: and(guard, user),
				WriteID: writeID(s, in), Resend: s.Hidden,
			}},
			Judge: func(f []Failure) Verdict {
				if live(s, f[0].Image, in.Now) {
					return Verdict{Err: ErrExists}
				}
				return Verdict{Err: ErrCondition}
			},
			Done: func(Returned) (any, error) { return it, nil },
		}, nil
	}
	return op
}

// writeID is the id that an action stores, "" for entities without hidden attributes.
func writeID(s *schema.Schema, in Input) string {
	if s.Hidden {
		return in.WriteID
	}
	return ""
}

// fresh completes base to the item that a new life begins with: version 1, both timestamps the same.
func fresh(s *schema.Schema, primary, base item.Item, in Input) (item.Item, error) {
	it := item.Clone(base)
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
	if s.Version != nil {
		it[s.Version.Name] = item.N("1")
	}
	return complete(s, primary, it, in)
}

// complete adds to it the keys, the index halves and the hidden attributes, and checks its size.
func complete(s *schema.Schema, primary, it item.Item, in Input) (item.Item, error) {
	for name, av := range primary {
		it[name] = av
	}
	for _, h := range s.IndexHalves() {
		if err := SetIndexHalf(s, h, it, isSortHalf(s, h)); err != nil {
			return nil, err
		}
	}
	hidden(s, it, in.WriteID)
	return it, CheckSize(s, it)
}
