package entity

import (
	"context"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
	"github.com/dynastrata/dynastrata/internal/plan"
)

// UnprocessedError says that DynamoDB left part of a batch undone, however often it was asked.
type UnprocessedError = exec.UnprocessedError

// GetMany reads the items with the given keys. The result has a pointer per key, in order, nil where there is no item;
// keys may repeat and then share the item. It costs a request per 100 different keys, more when DynamoDB leaves some
// unprocessed. Errors: *[InputError] for a missing key part, before any request; *[UnprocessedError].
func (s *Store[T]) GetMany(ctx context.Context, keys []T, opts ...ReadOption) ([]*T, error) {
	c, spec := core.Of(s), opt.Reads(opts)
	if spec.Keep != nil {
		return nil, c.Wrap("GetMany", "", &InputError{Code: plan.CodeOption, Type: c.Schema.Type.String(), Problem: "Keep is for Get"})
	}
	ids, unique := make([]string, len(keys)), []exec.Key{}
	places, given := map[string][]int{}, make([]item.Item, len(keys))
	for i, key := range keys {
		primary, parts, text, err := primaryKey(c, key, spec)
		if err != nil {
			return nil, c.Measure(ctx, "GetMany", text, func(context.Context) error { return err })
		}
		ids[i], given[i] = plan.KeyID(primary), parts
		if places[ids[i]] == nil {
			unique = append(unique, exec.Key{Table: c.Table, Key: primary})
		}
		places[ids[i]] = append(places[ids[i]], i)
	}
	found := make([]*T, len(keys))
	err := c.Measure(ctx, "GetMany", "", func(ctx context.Context) error {
		var misfit error
		err := c.Runner.GetMany(ctx, unique, spec.Strong, func(_ string, it item.Item) {
			if c.Schema.Expires && !spec.Expired && plan.Expired(c.Schema, it, c.Runner.Clock()) {
				return
			}
			v, err := core.Decode[T](c, it)
			if err != nil && misfit == nil {
				misfit = err
			}
			for _, i := range places[plan.KeyID(plan.KeyOf(c.Schema, it))] {
				if err := plan.SameCase(c.Schema, given[i], it); err != nil && misfit == nil {
					misfit = err
				}
				found[i] = &v
			}
		})
		if err != nil {
			return err
		}
		return misfit
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}
