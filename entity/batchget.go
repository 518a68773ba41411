package entity

import (
	"context"
	"fmt"

	"github.com/dynastrata/dynastrata/internal/exec"
	"github.com/dynastrata/dynastrata/internal/item"
)

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
	got, err := db.readAll(ctx, loads)
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
func (db *DB) readAll(ctx context.Context, loads []loading) (map[string]item.Item, error) {
	got, names := map[string]item.Item{}, map[string]item.Item{}
	for _, strong := range []bool{true, false} { // consistent reads first: they will do for other loads of the item
		var keys []exec.Key
		for _, l := range loads {
			if _, asked := got[l.id()]; !asked && l.spec.Strong == strong {
				got[l.id()] = nil
				keys, names[l.key.Table] = append(keys, l.key), l.key.Key
			}
		}
		err := db.runner.GetMany(ctx, keys, strong, func(table string, it item.Item) {
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
