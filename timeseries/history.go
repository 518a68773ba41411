package timeseries

import (
	"context"
	"reflect"
	"time"

	"github.com/dynastrata/dynastrata/entity"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/query"
)

// History reads the events of one series in the order of orderBy and id, or newest first with entity.Desc. A condition must be on orderBy,
// or on the id after an entity.Eq of orderBy: entity.Between, entity.Eq, a lower bound (Ge or Gt) and an upper bound (Le or Lt), or
// entity.BeginsWith for strings. A range of orderBy has all events of its ends. Conditions on other fields go into entity.Filter. Expired
// events are left out unless entity.IncludeExpired is given. An event has the key, orderBy, id and the append fields that it carried, but
// no enrichment. key may be a current item: fields outside the primary key are ignored. It costs one request per MB of events read.
//
// A series with shards:"P" is read from P partitions in one order, eight at the same time. At most one answer of each is held,
// and another one of those that run out. Each costs at least one request. entity.MaxRequests and entity.MaxEvaluated must be P or
// more. Such a history cannot be part of a collection.
func (s *Series[T]) History(key T, opts ...entity.QueryOption) entity.Query[T] {
	c := engine.Of(s)
	return &query.Query[T]{From: history(c, s.opened().e, "History", reflect.ValueOf(key), bind.Collect(opts))}
}

// history reads a series' events. Events of several partitions are merged in the order of their sort keys.
func history(c *engine.Core, e *events, verb string, key reflect.Value, spec *bind.Options) query.Decoding {
	if c.Err() != nil {
		return query.Items(query.ClosedQuery(c, verb))
	}
	return query.Items(query.OfEach(eventPlans(c, e, verb, key, spec)))
}

// eventPlans returns the queries of each partition of a series' events, and how the one partition that several spread is printed.
func eventPlans(c *engine.Core, e *events, verb string, key reflect.Value, spec *bind.Options) (where string, plans []*query.Plan) {
	s := c.Schema
	src := query.Source{
		Core: c, PK: s.PK, SK: e.eventKey, Spread: s.EventPartitions, Verb: verb, Expire: true,
		Exact: true,
		Code:  bind.CodeOrderByRange, Other: "a history is read by ranges of " + e.orderBy.Field + "; put conditions on other fields into entity.Filter",
		Base: func() expr.Cond { return expr.Cond{} },
	}
	primary, parts, err := bind.Key(s, key, nil, nil)
	if err == nil && s.EventPartitions != nil { // several partitions are printed as the one that they spread
		where = layout.Printer(s).Cond(expr.Compare(expr.Eq, s.PK.Path, primary[s.PK.Attr]))
	}
	if err == nil && (len(s.Folded) > 0 || s.Profile.PadsNumbers()) {
		src.Own = func(it item.Item) (bool, error) {
			if attr, problem := s.Profile.CheckDigits(e.eventKey, it); problem != "" {
				return false, &entity.DecodeError{Entity: s.Name, Attr: attr, Problem: problem}
			}
			return true, layout.SameCase(s, parts, it)
		}
		for _, a := range s.Folded {
			src.Needs = append(src.Needs, a.Name)
		}
		if s.Profile.PadsNumbers() {
			for _, a := range e.eventKey.Parts {
				src.Needs = append(src.Needs, a.Name)
			}
		}
	}
	return where, query.BuildEach(src, key, spec)
}

// At returns the newest event at time t: the last one whose orderBy is not after t, of several with that time the one with the greatest id.
// It reads strongly consistently, skips expired events and usually costs one request, or with shards:"P" P requests. orderBy must be a
// time; for others, use History with entity.Le and entity.Desc. Errors: entity.ErrNotFound; *entity.InputError.
func (s *Series[T]) At(ctx context.Context, key T, t time.Time) (T, error) {
	c := engine.Of(s)
	var none T
	if err := c.Err(); err != nil {
		return none, c.Wrap("At", "", err)
	}
	if !s.e.ordersByTime() {
		return none, c.Wrap("At", "", &entity.InputError{Code: bind.CodeOption, Type: c.Schema.Type.String(), Field: s.e.orderBy.Field, Problem: "At needs an orderBy that is a time; use History with Le, Desc and First"})
	}
	return (&query.Query[T]{From: history(c, s.e, "At", reflect.ValueOf(key), &bind.Options{
		Strong: true, Desc: true, Range: []bind.Cond{{Op: expr.Le, Target: bind.Target{Attr: s.e.orderBy.Name}, Values: []any{t}}},
	})}).First(ctx)
}
