package query

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/key"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Collection reads several queries of one partition in one pass.
type Collection struct {
	parts []*Part
	cover Plan // one query that finds what any part does
}

// attributes returns the attributes that the parts need, or nil for all if a part needs whole items.
func (g *Collection) attributes() []string {
	names := []string{}
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, part := range g.parts {
		p := part.Plan
		switch {
		case p.Nothing:
			continue
		case p.Project == nil:
			return nil
		}
		for _, name := range slices.Concat(p.Project, p.Needs) {
			add(name)
		}
		p.Key.Roots(add)
		p.filter(p.Runner.Clock()).Roots(add)
	}
	if len(new(expr.Renderer).Project(names)) > bind.MaxExpression {
		return nil
	}
	return names
}

// anyWanted returns a condition that holds for what any part wants. It only saves transfer, because the parts decide
// about each item. So it can be left out if it is too long for one expression.
func (g *Collection) anyWanted() expr.Cond {
	var filters []expr.Cond
	now := g.cover.Runner.Clock() // one time for all, so that equal filters are found
	for _, p := range g.parts {
		f := p.Plan.filter(now)
		switch {
		case p.Plan.Nothing || slices.ContainsFunc(filters, func(k expr.Cond) bool { return reflect.DeepEqual(k, f) }):
			continue
		case f.Op == expr.None:
			return expr.Cond{}
		}
		filters = append(filters, f)
	}
	some := expr.Any(filters...)
	if some.Operators() > bind.MaxOperators || len(new(expr.Renderer).Cond(some)) > bind.MaxExpression {
		return expr.Cond{}
	}
	return some
}

// String prints the one query.
func (g *Collection) String() string { return g.cover.String() }

// samePartition reports whether two conditions on the partition key have equal values.
func samePartition(a, b expr.Cond) bool {
	return slices.EqualFunc(terms(a), terms(b), func(x, y expr.Cond) bool {
		return x.Path.String() == y.Path.String() && item.Equal(x.Values[0], y.Values[0])
	})
}

// mismatch describes how p is read differently from q, or returns "" if they can be read together. It does not quote
// values, which may be secret.
func (p *Plan) mismatch(q *Plan) string {
	place := func(x *schema.Index) string {
		if x == nil {
			return "the table itself"
		}
		return "the index " + x.Index
	}
	order := map[bool]string{false: "ascending", true: "descending"}
	const hint = "; a partition key that begins with `$` holds the name of its entity, so that no other entity shares it"
	a, b := p.Schema.Name, q.Schema.Name
	switch {
	case p.Table != q.Table:
		return fmt.Sprintf("%s is read from the table %s, %s from %s", a, p.Table, b, q.Table)
	case place(p.Index) != place(q.Index):
		return fmt.Sprintf("%s is read from %s, %s from %s", a, place(p.Index), b, place(q.Index))
	case !samePartition(p.Partition, q.Partition) && p.Schema != q.Schema && (p.PK.Prefixed || q.PK.Prefixed):
		return fmt.Sprintf("%s and %s are read from different partitions%s", a, b, hint)
	case !samePartition(p.Partition, q.Partition):
		return fmt.Sprintf("%s and %s are read from different partitions", a, b)
	case p.Desc != q.Desc:
		return fmt.Sprintf("%s is read in %s order, %s in %s order", a, order[p.Desc], b, order[q.Desc])
	case p.Truth || q.Truth: // the reading is consistent
	case p.Strong && !q.Strong:
		return fmt.Sprintf("%s is read consistently, %s is not", a, b)
	case !p.Strong && q.Strong:
		return fmt.Sprintf("%s is read consistently, %s is not", b, a)
	}
	return ""
}

// boundsOf returns inclusive bounds of the attribute where c holds. nil is an open end.
func boundsOf(c expr.Cond) (lo, hi types.AttributeValue) {
	switch c.Op {
	case expr.Eq:
		return c.Values[0], c.Values[0]
	case expr.Between:
		return c.Values[0], c.Values[1]
	case expr.Gt, expr.Ge:
		return c.Values[0], nil
	case expr.Lt, expr.Le:
		return nil, c.Values[0]
	case expr.BeginsWith:
		if s, ok := c.Values[0].(*types.AttributeValueMemberS); ok {
			if end := key.Successor(s.Value); end != "" && len(end) <= key.MaxSortKey { // above all keys that begin with the prefix
				return s, item.S(end)
			}
		}
		return c.Values[0], nil
	}
	return nil, nil
}

// outermost returns the bound that is further in the direction. nil is an open end.
func outermost(a, b types.AttributeValue, direction int) types.AttributeValue {
	if a == nil || b == nil {
		return nil
	}
	switch order, ok := expr.Compares(b, a); {
	case !ok:
		return nil
	case order*direction > 0:
		return b
	}
	return a
}

// covering returns one condition that covers several on the same attribute, or the empty condition if no condition does.
func covering(conds []expr.Cond) expr.Cond {
	same := true
	lo, hi := boundsOf(conds[0])
	for _, c := range conds[1:] {
		same = same && reflect.DeepEqual(c, conds[0])
		from, to := boundsOf(c)
		lo, hi = outermost(lo, from, -1), outermost(hi, to, +1)
	}
	path := conds[0].Path
	switch {
	case same:
		return conds[0]
	case lo == nil && hi == nil:
		return expr.Cond{}
	case hi == nil:
		return expr.Compare(expr.Ge, path, lo)
	case lo == nil:
		return expr.Compare(expr.Le, path, hi)
	case item.Equal(lo, hi):
		return expr.Compare(expr.Eq, path, lo)
	}
	return expr.Compare(expr.Between, path, lo, hi)
}

// coveringCond returns a condition on the sort key that holds whenever one of sorts does. It may also hold between their ranges.
func coveringCond(sorts [][]expr.Cond) expr.Cond {
	var out []expr.Cond
	for i := 0; ; i++ {
		var at []expr.Cond // the conditions on the i-th attribute of the key
		for _, conds := range sorts {
			if i >= len(conds) {
				return expr.All(out...)
			}
			at = append(at, conds[i])
		}
		wide := covering(at)
		if out = append(out, wide); wide.Op != expr.Eq {
			return expr.All(out...)
		}
	}
}

// BuildCollection compiles parts into one query for a verb. There must be at least one, and none may have an error. All must read
// one partition, in the same order and with the same consistency; that of a part with Truth is for all.
func BuildCollection(verb string, parts []*Part) (*Collection, error) {
	first := parts[0].Plan
	g := &Collection{parts: parts}
	var sorts [][]expr.Cond
	for _, part := range parts {
		p := part.Plan
		switch {
		case p.Scan:
			return nil, bind.Invalid(p.Schema, bind.CodeCollection, nil, "a scan cannot be part of a collection: it reads no partition")
		case p.Hydrate:
			return nil, bind.Invalid(p.Schema, bind.CodeHydrate, nil, "a query in a collection returns what the index carries; run a query with Hydrate alone")
		case p.Evaluate > 0 || p.Requests > 0 || p.Skip:
			return nil, bind.Invalid(p.Schema, bind.CodeOption, nil, "a query in a collection takes Limit, but not MaxEvaluated, MaxRequests and SkipUndecodable")
		}
		if err := bind.InMemory(p.Schema, p.User, verb); err != nil {
			return nil, err
		}
		if what := p.mismatch(first); what != "" {
			return nil, bind.Invalid(p.Schema, bind.CodeCollectionMismatch, nil, "%s; the queries of a collection must have the same table, index, partition, direction and consistency", what)
		}
		if !p.Nothing {
			sorts = append(sorts, terms(p.Key)[len(terms(p.Partition)):])
		}
	}
	g.cover = *first
	g.cover.Source.Verb, g.cover.Base, g.cover.Own, g.cover.Needs = verb, g.anyWanted, nil, nil
	for _, p := range parts {
		g.cover.Strong, g.cover.Truth = g.cover.Strong || p.Plan.Strong, g.cover.Truth || p.Plan.Truth
	}
	g.cover.Range, g.cover.User, g.cover.Expire, g.cover.Limit = expr.Cond{}, expr.Cond{}, false, 0
	if g.cover.Nothing = len(sorts) == 0; !g.cover.Nothing {
		g.cover.Key = joinKey(first.Partition, coveringCond(sorts))
	}
	g.cover.Project = g.attributes()
	return g, nil
}

// taker is a part in one run.
type taker struct {
	*Part
	group  reflect.Value // the items for a slice
	left   int           // how many items it may still take; 0 or less: any number
	done   bool
	filter expr.Cond
}

// deal passes each item to the takers whose queries, run alone, would return it, until one ends the reading or none takes more. failed is
// the part whose item gave the error, nil for another error.
func deal(takers []taker, items []wire.Item) (more bool, failed *Part, err error) {
	defer wire.ReleaseAll(items)
	for i := range takers {
		takers[i].filter = takers[i].Plan.filter(takers[i].Plan.Runner.Clock())
	}
	for _, stored := range items {
		it := stored.Map()
		for i := range takers {
			t, stop := &takers[i], false
			if t.done || !t.Plan.Key.Holds(it) || !t.filter.Holds(it) {
				continue
			}
			ours, err := true, error(nil)
			if t.Plan.Own != nil {
				ours, err = t.Plan.Own(it)
			}
			switch {
			case err != nil:
				return false, nil, layout.OfItem(t.Plan.Schema, it, err)
			case !ours:
				continue
			case t.Into == nil:
				stop, err = t.Take(wire.Of(it))
			default:
				err = t.add(t.group, wire.Of(it))
			}
			if stop || err != nil {
				return false, t.Part, err
			}
			t.left--
			t.done = t.left == 0
		}
	}
	return slices.ContainsFunc(takers, func(t taker) bool { return !t.done }), nil, nil
}

// Run reads answer after answer and passes each item to the parts that want it, in sort key order. A part with a limit takes
// no more items than that. Reading ends when no part takes more. Without an error, and if a function of a part ends it, the
// slices are set. failed is the part whose item gave the error, nil for another error.
func (g *Collection) Run(ctx context.Context) (failed *Part, err error) {
	takers, sum, bounded := make([]taker, len(g.parts)), 0, true
	for i, p := range g.parts {
		t := &takers[i]
		t.Part, t.left, t.done = p, p.Plan.Limit, p.Plan.Nothing
		if p.Into != nil {
			t.group = reflect.New(reflect.TypeOf(p.Into).Elem()).Elem()
			t.group.Set(reflect.MakeSlice(t.group.Type(), 0, 0))
		}
		if !t.done {
			sum, bounded = sum+t.left, bounded && t.left > 0
		}
		ctx = bind.WithPace(ctx, p.Plan.Budget)
	}
	if g.cover.Truth {
		ctx = g.cover.Runner.Direct(ctx)
	}
	s := g.cover.stream(nil, 0, g.cover.budget())
	if bounded { // items of other parts come in between, so ask for more than the sum
		s.ask = min(max(sum, 25), maxEvaluated)
	}
	for more := !g.cover.Nothing; more && !s.over(); {
		got, err := s.next(ctx)
		if err == nil {
			more, failed, err = deal(takers, got.Rows)
		}
		if err != nil {
			return failed, err
		}
	}
	for _, t := range takers {
		if t.Into != nil {
			reflect.ValueOf(t.Into).Elem().Set(t.group)
		}
	}
	return nil, nil
}
