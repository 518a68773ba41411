package plan

import (
	"reflect"

	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/schema"
)

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
	return verb + " " + s.Name + " on " + table + "\n" + actionLines(s, []Action{a}, "", "")
}
