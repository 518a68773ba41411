package entity

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// GetOp is one read of [DB.TransactGet] or [DB.BatchGet], made by [Ops.GetInto].
type GetOp interface{ load() loading }

// loading is one read and its destination.
type loading struct {
	c      *engine.Core
	spec   *bind.Options
	key    engine.Key
	parts  item.Item // key parts as given
	err    error
	decode func(wire.Item) (fill func(), err error)
}

func (l loading) load() loading { return l }

// fits returns the item, or none if it is missing or has expired. An item whose key differs in case from the given one is an error.
func (l loading) fits(it wire.Item) (wire.Item, error) {
	if it = unexpired(l.c, it, l.spec); it.Missing() {
		return it, nil
	}
	return it, sameCase(l.c.Schema, l.parts, it)
}

// kept passes the item to the destination of [KeepImage].
func (l loading) kept(it wire.Item) {
	if l.spec.Keep != nil {
		l.spec.Keep(it.Map(), l.c.Table)
	}
}

// newLoading returns a read into the struct that dst points to, of the item with its key parts.
func newLoading(h engine.Holder, dst any, opts []GetOption) loading {
	c, to := engine.Of(h), reflect.ValueOf(dst)
	if to.IsNil() {
		return loading{c: c, err: &InputError{Code: bind.CodePointer, Type: c.Schema.Type.String(), Problem: "GetInto needs a pointer to read into, not nil"}}
	}
	spec := bind.Collect(opts)
	var primary, parts item.Item
	err := c.Readable(spec)
	if err == nil {
		primary, parts, err = bind.Key(c.Schema, to.Elem(), nil, nil)
	}
	return loading{
		c: c, spec: spec, key: engine.Key{Table: c.Table, Key: primary}, parts: parts, err: err,
		decode: func(it wire.Item) (func(), error) {
			v := reflect.New(to.Type().Elem())
			return func() { to.Elem().Set(v.Elem()) }, c.ReadBy(&c.Schema.Codec, it, v.Interface())
		},
	}
}

// GetInto reads *dst, whose key parts are set, in a [DB.TransactGet] or [DB.BatchGet]. The option [Consistent] is for
// BatchGet; a transaction always reads consistently.
func (o *Ops[T]) GetInto(dst *T, opts ...GetOption) GetOp {
	return newLoading(o.opened(), dst, opts)
}

// getMany reads the items with the keys in a slice. It makes the slice that found points to: a pointer for each key.
func getMany(ctx context.Context, h engine.Holder, given any, opts []ReadOption, found any) error {
	c, spec, to := engine.Of(h), bind.Collect(opts), reflect.ValueOf(found).Elem()
	n := reflect.ValueOf(given).Len()
	var err error
	if n > 0 {
		err = c.Readable(spec)
	}
	keys, parts := make([]item.Primary, n), []item.Item(nil) // parts are what the case of stored keys is compared with, if it has to be
	for i, memory := 0, bind.NewKeys(c.Schema, n); i < n && err == nil; i++ {
		var composed, of item.Item
		if composed, of, err = bind.Key(c.Schema, reflect.ValueOf(given).Index(i), nil, memory); err != nil {
			break
		}
		if keys[i] = (item.Primary{Names: c.Schema.SortedKey}).With(composed); c.Schema.Folded != nil {
			parts = append(parts, maps.Clone(of))
		}
	}
	if err != nil {
		return c.MeasureItem(ctx, "GetMany", nil, func(context.Context) error { return err })
	}
	return c.MeasureBatch(ctx, "GetMany", n, func(ctx context.Context) error {
		got, err := c.Runner.FindManyIn(bind.WithPace(ctx, spec.Budget), c.Table, keys, spec.Strong)
		if err != nil {
			return err
		}
		defer wire.ReleaseAll(got.Items)
		l, decoded, skipped := loading{c: c, spec: spec}, []reflect.Value(nil), new(query.Skipped)
		if len(got.Items) < n { // some keys are equal
			decoded = make([]reflect.Value, len(got.Items))
		}
		all := reflect.MakeSlice(to.Type(), n, n)
		for i := range n {
			if parts != nil {
				l.parts = parts[i]
			}
			it, err := l.fits(got.Of(i))
			if err != nil {
				return layout.OfItem(c.Schema, it.Map(), err)
			}
			if it.Missing() {
				continue
			}
			if decoded != nil && decoded[got.At[i]].IsValid() {
				all.Index(i).Set(decoded[got.At[i]])
				continue
			}
			v := reflect.New(c.Schema.Type)
			if err := c.ReadFound(&c.Schema.Codec, it, v.Interface()); err != nil {
				if err = skipped.Take(spec.Skip, err); err != nil {
					return err
				}
				continue
			}
			all.Index(i).Set(v)
			if decoded != nil {
				decoded[got.At[i]] = v
			}
		}
		to.Set(all)
		return skipped.End()
	})
}

// GetMany reads the items with the given keys. The result has a pointer per key, in order, nil if there is no item;
// equal keys share one value. It costs one request per 100 different keys, more if DynamoDB leaves some unprocessed. It
// sends up to four at the same time; the first error ends the others. The reads are not a snapshot; use [DB.TransactGet]
// for that. Errors: *[InputError] for a missing key part, before any request; *[UnprocessedError].
func (s *Store[T]) GetMany(ctx context.Context, keys []T, opts ...ReadOption) (found []*T, err error) {
	err = getMany(ctx, s, keys, opts, &found)
	return found, err
}

// BatchGet reads items of any entities and tables of db, each into the struct given to its [Ops.GetInto]. found reports
// for each load, in order, whether the item exists; the struct of a missing item is unchanged. Loads of the same item
// share one read. The reads are not a snapshot; use [DB.TransactGet] for that.
//
// It costs one request per 100 different items, up to four at the same time, separate ones for those with [Consistent], more
// if DynamoDB leaves some unprocessed, and half the read units of TransactGet. With an error no struct is changed.
// Errors: *[InputError] before any request; *[UnprocessedError]; *[DecodeError].
func (db *DB) BatchGet(ctx context.Context, loads ...GetOp) (found []bool, err error) {
	err = db.measure(ctx, "BatchGet", len(loads), func(ctx context.Context) error {
		parts, err := db.loadings(loads)
		if err != nil {
			return &Error{Verb: "BatchGet", Err: err}
		}
		keys := make([]engine.Key, len(parts))
		for i, l := range parts {
			if keys[i] = l.key; l.err != nil {
				return loadFailed(i, l, l.err)
			}
		}
		if slices.ContainsFunc(parts, func(l loading) bool { return l.spec.Keep != nil }) {
			ctx = db.runner.Direct(ctx)
		}
		got, err := db.runner.FindMany(paced(ctx, parts), keys, func(i int) bool { return parts[i].spec.Strong })
		if err != nil {
			return &Error{Verb: "BatchGet", Err: err}
		}
		defer wire.ReleaseAll(got.Items)
		exists, fills, skipped := make([]bool, len(parts)), []func(){}, new(query.Skipped)
		for i, l := range parts {
			it, err := l.fits(got.Of(i))
			if err != nil {
				return loadFailed(i, l, err)
			}
			fills = append(fills, func() { l.kept(it) })
			if exists[i] = !it.Missing(); !exists[i] {
				continue
			}
			fill, err := l.decode(it)
			if exists[i] = err == nil; exists[i] {
				fills = append(fills, fill)
			} else if err = skipped.Take(l.spec.Skip, loadFailed(i, l, err)); err != nil {
				return err
			}
		}
		for _, fill := range fills {
			fill()
		}
		found = exists
		if err := skipped.End(); err != nil {
			return &Error{Verb: "BatchGet", Err: err}
		}
		return nil
	})
	return found, err
}

// paced returns a context with the budgets of loads.
func paced(ctx context.Context, loads []loading) context.Context {
	for i := range loads {
		ctx = bind.WithPace(ctx, loads[i].spec.Budget)
	}
	return ctx
}

func loadFailed(i int, l loading, err error) error {
	return &Error{Verb: "BatchGet", Err: fmt.Errorf("load %d: %w", i, l.c.Wrap("GetInto", layout.KeyText(l.c.Schema, l.key.Key), err))}
}

// loadings returns the reads of loads, which must belong to db.
func (db *DB) loadings(loads []GetOp) ([]loading, error) {
	parts := make([]loading, len(loads))
	for i, l := range loads {
		if l == nil {
			return nil, &InputError{Code: bind.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("load %d is nil", i)}
		}
		if parts[i] = l.load(); parts[i].c.DB != engine.DatabaseOf(db) {
			return nil, &InputError{Code: bind.CodeForeign, Type: "entity.DB", Problem: fmt.Sprintf("load %d belongs to another DB", i)}
		}
	}
	return parts, nil
}

// TransactGet reads a snapshot of up to 100 items, each into the struct given to its [Ops.GetInto]. If an item does not
// exist, the error is a *[TransactError] that names it ([ErrNotFound]), and every struct is unchanged. It costs one
// request and twice the read units of consistent reads. Errors: *[InputError] before any request; [ErrConflict].
func (db *DB) TransactGet(ctx context.Context, loads ...GetOp) error {
	return db.measure(ctx, "TransactGet", len(loads), func(ctx context.Context) error {
		if len(loads) == 0 {
			return nil
		}
		if len(loads) > plan.MaxActions {
			problem := fmt.Sprintf("%d loads, a transaction can have %d", len(loads), plan.MaxActions)
			return &Error{Verb: "TransactGet", Err: &InputError{Code: bind.CodeTooMany, Type: "entity.DB", Problem: problem}}
		}
		parts, err := db.loadings(loads)
		if err != nil {
			return &Error{Verb: "TransactGet", Err: err}
		}
		keys, te, seen := make([]engine.Key, len(parts)), &TransactError{}, map[string]bool{}
		fail := func(i int, err error) {
			te.Failed = append(te.Failed, OpError{Index: i, Err: parts[i].c.Wrap("GetInto", layout.KeyText(parts[i].c.Schema, parts[i].key.Key), err)})
		}
		for i, l := range parts {
			if keys[i] = l.key; l.err != nil {
				fail(i, l.err)
				continue
			}
			id := l.key.Table + " " + layout.KeyID(l.key.Key)
			if seen[id] {
				fail(i, &InputError{Code: bind.CodeSameItem, Type: l.c.Schema.Type.String(), Problem: "the item is loaded twice; a transaction can read an item once"})
			}
			seen[id] = true
		}
		if len(te.Failed) > 0 {
			return te
		}
		items, err := db.runner.FindTogether(paced(ctx, parts), keys)
		if err != nil {
			return &Error{Verb: "TransactGet", Err: err}
		}
		defer wire.ReleaseAll(items)
		fills := make([]func(), len(items))
		for i, it := range items {
			it, err := parts[i].fits(it)
			if err == nil && it.Missing() {
				err = ErrNotFound
			}
			if err == nil {
				fills[i], err = parts[i].decode(it)
			}
			if err != nil {
				fail(i, err)
			}
		}
		if len(te.Failed) > 0 {
			return te
		}
		for i, fill := range fills {
			parts[i].kept(items[i])
			fill()
		}
		return nil
	})
}
