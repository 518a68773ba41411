package timeseries

import (
	"context"
	"maps"
	"reflect"
	"slices"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/sentinel"
)

// Remove deletes one event: it was wrong, or a person asks for it. Of ev only the key, orderBy and id count. If the current item
// shows the event, it gets orderBy, id and the fields that the event reported of the newest other event that reports each. A
// pointer, slice or map that the event reported goes the same way if the current item still has its value. Enrichment stays. Without
// another event the item loses these fields, and is deleted if it has no enrichment. Events that have expired count as removed.
//
// Event and current item change in one transaction. If another program writes one of them meanwhile, Remove plans again. A copy of a
// refused append's request (with current:"none" of any append's) that arrives after it is a new append. Remove also repairs a current
// item that shows an event which has expired; the append fields are then those of the events that are left.
//
// It costs a read of the event and one of the current item; if that has something of the event, also a read of the newest events, in
// each of the partitions of shards, and of earlier ones until each field is found; and a transaction of a delete, a write or check
// of the current item, and a check of each event whose values it takes, at 2 write units each for items up to 1 KB. With
// current:"none" it costs a read and a transaction of one delete. Errors: entity.ErrNotFound if there is no such event;
// entity.ErrConflict; *entity.InputError before any request, also in a table that is shared with effect-dynamodb (EDD-9192); an error
// for which entity.IsAmbiguous reports true if the outcome is unknown.
func (s *Series[T]) Remove(ctx context.Context, ev T) error {
	_, err := newRemoval(engine.Of(s), s.opened().e, reflect.ValueOf(ev)).Run(ctx, nil)
	return err
}

// Remove is [Series.Remove] as a value. Its result is the zero T. A transaction has one write of each series.
func (o *Ops[T]) Remove(ev T) entity.Write[T] {
	return engine.NewWrite[T](newRemoval(engine.Of(o), o.opened().e, reflect.ValueOf(ev)))
}

// removal is an event to be removed, of which carried has the key parts, orderBy and id.
type removal struct{ *event }

func newRemoval(c *engine.Core, e *events, v reflect.Value) engine.Operation {
	op := &plan.Op{Verb: "Remove", Schema: c.Schema, Table: c.Table}
	x, err := removed(c, e, v)
	if op.Err = err; err == nil {
		op.Key, op.Plan = x.primary, x.plan
		op.Read, op.More, op.Idempotent = !e.noCurrent, true, true
		if e.noCurrent {
			op.Key = x.at
		}
	}
	return engine.Operation{Core: c, Op: op}
}

func removed(c *engine.Core, e *events, v reflect.Value) (removal, error) {
	s := c.Schema
	if err := c.Err(); err != nil {
		return removal{}, err
	}
	if !s.HasMetadata {
		return removal{}, bind.Invalid(s, bind.CodeRemove, nil, "effect-dynamodb, which shares the table, records late events without a trace on the current item")
	}
	primary, parts, err := bind.Key(s, v, nil, nil)
	if err != nil {
		return removal{}, err
	}
	x := removal{&event{c: c, e: e, primary: primary, carried: item.Clone(parts)}}
	for _, a := range e.order() {
		if x.carried[a.Name], err = bind.EncodeAttr(s, a, v); err == nil {
			err = bind.CheckPart(s, a, x.carried[a.Name])
		}
		if err != nil {
			return removal{}, err
		}
	}
	return x, x.place()
}

// plan sends together
//
//	delete         the event, if it is as it was read
//	put or delete  the current item, if it is as it was read; a check of that if it stays
//	check          each event whose values the item takes, that it is as it was read
func (x removal) plan(ctx context.Context, r layout.Reader, in *plan.Input) (*plan.Plan, error) {
	s, table := x.c.Schema, x.c.Table
	stored, err := layout.GetItem(ctx, r, s, table, x.at)
	if err != nil {
		return nil, err
	}
	expired := stored.Raw == nil || layout.Expired(s, stored.Raw, in.Now)
	shown := !slices.ContainsFunc(x.e.order(), func(a *schema.Attr) bool { return !item.Equal(in.Image[a.Name], x.carried[a.Name]) })
	if expired && !shown {
		return nil, sentinel.ErrNotFound
	}
	var actions []plan.Action
	add := func(kind plan.ActionKind, key, read item.Item) error { // under the condition that the item is as it was read
		guard, pin := s.Absent, (*expr.Cond)(nil)
		if read != nil {
			guard, pin, err = plan.Unchanged(s, read)
		}
		actions = append(actions, plan.Action{Kind: kind, Table: table, Key: key, Cond: guard, Pin: pin, Refusal: plan.Again})
		return err
	}
	if stored.Raw != nil {
		err = add(plan.Delete, x.at, stored.Raw)
	}
	if err == nil && !x.e.noCurrent {
		err = add(plan.Check, x.primary, in.Image)
	}
	if err != nil {
		return nil, err
	}
	if expired {
		stored.Item = nil // whether DynamoDB has removed it makes no difference
	}
	fields := x.taken(stored.Item, in.Image, shown)
	if x.e.noCurrent || len(fields) == 0 {
		return plan.Join(actions, len(actions), plan.Result{}), nil
	}
	left, err := x.newest(ctx, r, in, fields)
	if err != nil {
		return nil, err
	}
	if shown && len(left) == 0 { // then nothing is left of what events reported
		fields = x.taken(nil, in.Image, shown)
	}
	current, it, sources := &actions[len(actions)-1], item.Clone(in.Image), map[string]item.Item{}
	for _, a := range fields {
		delete(it, a.Name)
		if from := left[a]; from.Raw != nil {
			if av, has := from.Item[a.Name]; has {
				it[a.Name] = av
			}
			sk, _ := layout.SortKey(s, from.Raw)
			sources[sk] = from.Raw
		}
	}
	if shown && len(sources) == 0 && !x.enriched(it) {
		current.Kind = plan.Delete
		return plan.Join(actions, len(actions), plan.Result{}), nil
	}
	if err := bind.ComposeIndexKeys(s, it, in.Image); err != nil {
		return nil, err
	}
	layout.SetHidden(s, it, in.WriteID)
	current.Kind, current.Item, current.WriteID = plan.Put, it, in.WriteID
	for _, sk := range slices.Sorted(maps.Keys(sources)) {
		if err := add(plan.Check, layout.KeyOf(s, sources[sk]), sources[sk]); err != nil {
			return nil, err
		}
	}
	return plan.Join(actions, len(actions), plan.Result{}), bind.CheckSize(s, item.Size(it))
}

// taken returns the attributes that the current item has, or may have, of the stored event.
func (x removal) taken(stored, current item.Item, shown bool) (fields []*schema.Attr) {
	for _, a := range x.c.Schema.Attrs {
		switch {
		case a.Clock && shown,
			a.Append && shown && stored == nil, // of which it is not known what it reported
			a.Append && (shown || a.Nilable()) && stored[a.Name] != nil && item.Equal(stored[a.Name], current[a.Name]):
			fields = append(fields, a)
		}
	}
	return fields
}

// newest returns, of each attribute, the newest other event that has it and has not expired; of orderBy and id, the newest one.
func (x removal) newest(ctx context.Context, r layout.Reader, in *plan.Input, fields []*schema.Attr) (map[*schema.Attr]layout.Stored, error) {
	s := x.c.Schema
	found, sortKeys := map[*schema.Attr]layout.Stored{}, map[*schema.Attr]string{}
	partitions := layout.EventPartitions(s, x.primary)
	if partitions == nil {
		partitions = []item.Item{x.primary}
	}
	for _, partition := range partitions {
		open := slices.Clone(fields) // for which an older event of the partition may be the newest
		events := layout.QueryRelated(s, x.c.Table, partition, schema.EventInfix)
		events.Desc, events.Limit = true, 10
		for page, err := range layout.Pages(ctx, r, s, events) {
			if err != nil {
				return nil, err
			}
			for _, ev := range page {
				sk, _ := layout.SortKey(s, ev.Raw)
				if sk == x.sortKey || layout.Expired(s, ev.Raw, in.Now) {
					continue
				}
				open = slices.DeleteFunc(open, func(a *schema.Attr) bool {
					reported := a.Clock || ev.Item[a.Name] != nil
					if reported && sk > sortKeys[a] {
						found[a], sortKeys[a] = ev, sk
					}
					return reported
				})
			}
			if events.Limit = 0; len(open) == 0 {
				break
			}
		}
	}
	return found, nil
}

// enriched reports whether a current item has more than keys, what appends write, and what the library stores.
func (x removal) enriched(it item.Item) bool {
	s := x.c.Schema
	keys := s.KeyNames()
	for _, k := range s.IndexKeys() {
		keys = append(keys, k.Attributes()...)
	}
	for name := range it {
		a := s.Attr(name)
		switch {
		case a == nil && !schema.Reserved(name) && !slices.Contains(keys, name), a != nil && !s.KeyPart(a) && !a.Append && !a.Clock && a != s.CreatedAt:
			return true
		}
	}
	return false
}
