package entity

import (
	"context"
	"fmt"
	"reflect"

	"github.com/dynastrata/dynastrata/internal/core"
	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/opt"
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
	loads := make([]loading, n)
	for i := range loads {
		if loads[i] = newLoading(c, key(i), opt.Get{Read: spec}); loads[i].err != nil {
			return c.Measure(ctx, "GetMany", loads[i].text, func(context.Context) error { return loads[i].err })
		}
	}
	return c.Measure(ctx, "GetMany", "", func(ctx context.Context) error {
		got, err := readAll(ctx, c.Runner, loads)
		if err != nil {
			return err
		}
		decoded := map[string]any{}
		for i, l := range loads {
			it, err := l.fits(got[l.id()])
			if err != nil {
				return err
			}
			if it == nil {
				continue
			}
			v := decoded[l.id()]
			if v == nil {
				v = fresh()
				if err := c.Decode(it, v); err != nil {
					return err
				}
				decoded[l.id()] = v
			}
			found(i, v)
		}
		return nil
	})
}

// BatchGet reads items of any entities and tables of db, each into the struct that its [Ops.GetInto] was given. found says
// for each load, in order, whether its item is there; the struct of one that is not stays as it was. Loads of one item
// share it. What is read is not of one instant: for that, see [DB.TransactGet].
//
// It costs a request per 100 different items, those to be read with [Consistent] in requests of their own, more when
// DynamoDB leaves some unprocessed, and half the read units of TransactGet. With an error no struct is changed. Errors:
// *[InputError] before any request; *[UnprocessedError]; *[DecodeError].
func (db *DB) BatchGet(ctx context.Context, loads ...GetOp) (found []bool, err error) {
	parts, err := db.loadings(loads)
	if err != nil {
		return nil, err
	}
	err = db.measure(ctx, "BatchGet", func(ctx context.Context) error {
		found, err = db.batchGet(ctx, parts)
		return err
	})
	return found, err
}

func (db *DB) batchGet(ctx context.Context, loads []loading) ([]bool, error) {
	for i, l := range loads {
		if l.err != nil {
			return nil, loadFailed(i, l, l.err)
		}
	}
	got, err := readAll(ctx, db.runner, loads)
	if err != nil {
		return nil, &Error{Verb: "BatchGet", Err: err}
	}
	found, fills := make([]bool, len(loads)), []func(){}
	for i, l := range loads {
		it, err := l.fits(got[l.id()])
		if err != nil {
			return nil, loadFailed(i, l, err)
		}
		fills = append(fills, func() { l.kept(it) })
		if found[i] = it != nil; !found[i] {
			continue
		}
		fill, err := l.decode(it)
		if err != nil {
			return nil, loadFailed(i, l, err)
		}
		fills = append(fills, fill)
	}
	for _, fill := range fills {
		fill()
	}
	return found, nil
}

func loadFailed(i int, l loading, err error) error {
	return &Error{Verb: "BatchGet", Err: fmt.Errorf("load %d: %w", i, l.c.Wrap("GetInto", l.text, err))}
}

// readAll reads the items of loads, each once, and returns them by their ids.
func readAll(ctx context.Context, r *exec.Runner, loads []loading) (map[string]item.Item, error) {
	got, names := map[string]item.Item{}, map[string]item.Item{}
	for _, strong := range []bool{true, false} { // consistent reads first: they will do for other loads of the item
		var keys []exec.Key
		for _, l := range loads {
			if _, asked := got[l.id()]; !asked && l.spec.Strong == strong {
				got[l.id()] = nil
				keys, names[l.key.Table] = append(keys, l.key), l.key.Key
			}
		}
		err := r.GetMany(ctx, keys, strong, func(table string, it item.Item) {
			key := item.Item{}
			for name := range names[table] {
				key[name] = it[name]
			}
			got[itemID(table, key)] = it
		})
		if err != nil {
			return nil, err
		}
	}
	return got, nil
}
