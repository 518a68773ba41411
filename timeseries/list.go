package timeseries

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/query"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// List reads every series in the table, each once, in no order: its current item or, with current:"none", the first event of one of its
// partitions that has not expired and matches the filters. It scans the table, but leaves out the events after the one that it
// returns: a series costs one request, which evaluates up to 25 items, or all of its items if they are fewer; other items cost what
// they do in [entity.Store.Scan]. With shards, the events of a series with a current item are all read, and a series without one costs
// two requests for each of its partitions.
func (s *Series[T]) List(opts ...entity.ScanOption) entity.Query[T] {
	s = s.opened()
	p := *query.OfOne(s.store.Scan(opts...))
	c := p.Core
	p.Verb = "List"
	if p.Err == nil {
		p.After = func(it wire.Item) item.Item { // all events of the series that the item belongs to, in its partition
			key := layout.KeyOf(c.Schema, it.Map())
			sk, _ := layout.SortKey(c.Schema, key)
			if current, ok := layout.CurrentKey(c.Schema, key, schema.EventInfix); ok && it.Get(schema.KindAttr) != nil {
				sk, _ = layout.SortKey(c.Schema, current)
			}
			key[c.Schema.SK.Attr] = item.S(sk + "#e$") // "$" follows "#"
			return key
		}
		p.Needs = append(p.Needs, schema.KindAttr)
	}
	if p.Err == nil && s.e.noCurrent {
		isEvent := expr.All(c.Schema.InNamespace, c.Schema.Own, expr.Compare(expr.Eq, expr.Attr(schema.KindAttr), item.S(layout.EventKind)))
		p.Expire, p.Base = true, func() expr.Cond { return isEvent }
		p.Own = func(it item.Item) (bool, error) {
			_, ok := layout.CurrentKey(c.Schema, it, schema.EventInfix)
			return ok, nil
		}
		for _, a := range slices.Concat(c.Schema.PK.Parts, c.Schema.SK.Parts) {
			p.Needs = append(p.Needs, a.Name)
		}
		p.Elsewhere = func(ctx context.Context, it wire.Item) (bool, error) { return s.inEarlier(ctx, it, bind.Collect(opts)) }
	}
	return &query.Query[T]{From: query.Items(&p)}
}

// inEarlier reports whether a partition of the event's series before that of the event has an event that the query lists.
func (s *Series[T]) inEarlier(ctx context.Context, it wire.Item, spec *bind.Options) (bool, error) {
	c := engine.Of(s)
	n := len(c.Schema.EventPartitions)
	if n == 0 {
		return false, nil
	}
	var v T
	if err := c.ReadFound(&c.Schema.Codec, it, &v); err != nil {
		return false, err
	}
	sk, _ := layout.SortKey(c.Schema, it.Map())
	_, plans := eventPlans(c, s.e, "List", reflect.ValueOf(v), &bind.Options{Filters: spec.Filters, Strong: spec.Strong, Expired: spec.Expired})
	for _, p := range plans[:key.Shard(sk, n)] {
		err := p.AtMost(1).Each(ctx, func(wire.Item) (bool, error) { return false, nil }, func() error { return sentinel.ErrNotFound })
		if !errors.Is(err, sentinel.ErrNotFound) {
			return true, err
		}
	}
	return false, nil
}
