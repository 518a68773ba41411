package entity

import (
	"context"
	"reflect"

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
	found := make([]*T, len(keys))
	err := getMany(ctx, core.Of(s), len(keys), func(i int) reflect.Value { return reflect.ValueOf(keys[i]) }, opt.Reads(opts),
		func() any { return new(T) }, func(i int, v any) { found[i] = v.(*T) })
	if err != nil {
		return nil, err
	}
	return found, nil
}

// getMany reads the items with n keys. fresh makes a pointer to a value, which found gets, decoded, for each of its keys.
func getMany(ctx context.Context, c *core.Core, n int, key func(int) reflect.Value, spec opt.Read, fresh func() any, found func(int, any)) error {
	unique := []exec.Key{}
	places, given := map[string][]int{}, make([]item.Item, n)
	for i := range n {
		primary, parts, text, err := primaryKey(c, key(i), spec)
		if err != nil {
			return c.Measure(ctx, "GetMany", text, func(context.Context) error { return err })
		}
		id := plan.KeyID(primary)
		given[i] = parts
		if places[id] == nil {
			unique = append(unique, exec.Key{Table: c.Table, Key: primary})
		}
		places[id] = append(places[id], i)
	}
	return c.Measure(ctx, "GetMany", "", func(ctx context.Context) error {
		var misfit error
		err := c.Runner.GetMany(ctx, unique, spec.Strong, func(_ string, it item.Item) {
			if c.Schema.Expires && !spec.Expired && plan.Expired(c.Schema, it, c.Runner.Clock()) {
				return
			}
			v := fresh()
			if err := c.Decode(it, v); err != nil && misfit == nil {
				misfit = err
			}
			for _, i := range places[plan.KeyID(plan.KeyOf(c.Schema, it))] {
				if err := plan.SameCase(c.Schema, given[i], it); err != nil && misfit == nil {
					misfit = err
				}
				found(i, v)
			}
		})
		if err != nil {
			return err
		}
		return misfit
	})
}
