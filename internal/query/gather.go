package query

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/plan"
	"github.com/dynastrata/dynastrata/internal/schema"
)

// Gathering reads several queries of one partition in one pass.
type Gathering struct {
	parts []*Plan
	cover Plan // one query that finds whatever a part does
}

// Gather compiles parts, at least one and each without error, into one query. They must read one partition in one way.
func Gather(parts []*Plan) (*Gathering, error) {
	first := parts[0]
	g := &Gathering{parts: parts}
	var sorts []expr.Cond
	for _, p := range parts {
		switch {
		case p.Scan:
			return nil, p.apart(plan.CodeGather, "a scan cannot be gathered: it reads no partition")
		case p.Evaluate > 0 || p.Requests > 0:
			return nil, p.apart(plan.CodeOption, "MaxEvaluated and MaxRequests are for a query alone; when several are gathered, Limit bounds each")
		}
		if err := plan.InMemory(p.Schema, p.User, "GetCollection"); err != nil {
			return nil, err
		}
		if what := p.differs(first); what != "" {
			return nil, p.apart(plan.CodeApart, "%s; queries are gathered that share table, index, partition, direction and consistency", what)
		}
		if !p.Nothing {
			sorts = append(sorts, p.Sort)
		}
	}
	g.cover = *first
	g.cover.Source.Verb, g.cover.Base, g.cover.Own, g.cover.Needs = "GetCollection", g.wanted, nil, nil
	g.cover.Range, g.cover.User, g.cover.Expire, g.cover.Limit = expr.Cond{}, expr.Cond{}, false, 0
	if g.cover.Nothing = len(sorts) == 0; !g.cover.Nothing {
		g.cover.Key = flat(first.Partition, hull(sorts))
	}
	g.cover.Project = g.attributes()
	return g, nil
}

func (p *Plan) apart(code, format string, args ...any) error {
	return &plan.InputError{Code: code, Type: p.Schema.Type.String(), Problem: fmt.Sprintf(format, args...)}
}

// differs says in what p is read otherwise than q; it is empty when they can be read together. It quotes no values, which
// may be secret.
func (p *Plan) differs(q *Plan) string {
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
	case p.Strong && !q.Strong:
		return fmt.Sprintf("%s is read consistently, %s is not", a, b)
	case !p.Strong && q.Strong:
		return fmt.Sprintf("%s is read consistently, %s is not", b, a)
	}
	return ""
}

// samePartition reports that two conditions on the partition key have equal values.
func samePartition(a, b expr.Cond) bool {
	return slices.EqualFunc(terms(a), terms(b), func(x, y expr.Cond) bool {
		return x.Path.String() == y.Path.String() && item.Equal(x.Values[0], y.Values[0])
	})
}

// attributes are what the parts decode and are distinguished by; nil, which is everything, if one of them needs whole items.
func (g *Gathering) attributes() []string {
	names := []string{}
	add := func(name string) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, p := range g.parts {
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
	if len(new(expr.Renderer).Project(names)) > plan.MaxExpression {
		return nil
	}
	return names
}

// wanted holds for what some part wants. It saves transfer: the parts decide about each item that comes, so that
// alternatives which are too many for one expression can be left out.
func (g *Gathering) wanted(now time.Time) expr.Cond {
	var filters []expr.Cond
	for _, p := range g.parts {
		f := p.filter(now)
		switch {
		case p.Nothing || slices.ContainsFunc(filters, func(k expr.Cond) bool { return reflect.DeepEqual(k, f) }):
			continue
		case f.Op == expr.None:
			return expr.Cond{}
		}
		filters = append(filters, f)
	}
	some := expr.Any(filters...)
	if some.Operators() > plan.MaxOperators || len(new(expr.Renderer).Cond(some)) > plan.MaxExpression {
		return expr.Cond{}
	}
	return some
}

// String prints the one query.
func (g *Gathering) String() string { return g.cover.String() }
