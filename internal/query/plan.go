// Package query compiles a read of one partition, of a table or an index, into a key condition and a filter, and runs it page by page.
package query

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/dynastrata/dynastrata/entity/entitytype"
	"github.com/dynastrata/dynastrata/internal/bind"
	"github.com/dynastrata/dynastrata/internal/cursor"
	"github.com/dynastrata/dynastrata/internal/engine"
	"github.com/dynastrata/dynastrata/internal/expr"
	"github.com/dynastrata/dynastrata/internal/item"
	"github.com/dynastrata/dynastrata/internal/layout"
	"github.com/dynastrata/dynastrata/internal/schema"
	"github.com/dynastrata/dynastrata/internal/wire"
)

// Source says what a query reads: a key of the table of an entity or of an index, and which items under it.
type Source struct {
	*engine.Core
	Index  *schema.Index    // nil: the table itself
	PK, SK *schema.KeyDef   // SK is nil if there is no sort key
	Spread []*schema.KeyDef // what PK is in each partition that is read; nil: one
	Verb   string           // for messages: Query, History
	// Exact makes the partition value have all parts of the primary key. Otherwise it has as many of the sort key as are set.
	Exact bool
	// Other explains what to do instead of a condition on anything but the next part. Code is the code of that error.
	Code, Other string
	// Base returns the condition for the items that the query is about.
	Base func() expr.Cond
	// Expire leaves out expired items.
	Expire bool
	// Own reports whether an item that passed the filter belongs to the query. nil means that the filter decides. An
	// error makes the whole query fail.
	Own func(item.Item) (bool, error)
	// Needs are the attributes that Own, After and Elsewhere read.
	Needs []string
	// After returns a position, in the partition of an item that the query yields, after which it goes on. nil: it goes on after each item.
	After func(wire.Item) item.Item
	// Elsewhere reports whether another item is yielded for one that After has found. nil: no.
	Elsewhere func(context.Context, wire.Item) (bool, error)
	// Scan reads the whole table or index instead of a partition.
	Scan bool
	// Truth makes all reads consistent, except those of a global index, and keeps them from ReadClient.
	Truth bool
}

// A Plan is one compiled query. It is immutable and can be run any number of times.
type Plan struct {
	Source
	parts              []*Plan // the queries of several partitions, which are read as one, in the order of their keys; nil for one: see BuildMerge
	Err                error
	where              string    // see Where; "" for that of Partition
	Key                expr.Cond // key condition: of the partition and of the sort key
	Partition          expr.Cond // that of the partition
	Range              expr.Cond // part of the filter that narrows the key condition
	InMemory           expr.Cond // checked after the read: an open end of Range
	User               expr.Cond // the caller's filter
	Nothing            bool      // nothing can match, so no request is needed
	Desc               bool
	Limit              int                           // 0: none
	Evaluate, Requests int                           // bounds of the cost of a run; 0: none
	Segments           int                           // of a scan, read concurrently; 0 or 1: one after the other
	Segment            *bind.Segment                 // the only segment that a scan reads; nil: the whole table
	Project            []string                      // attributes to return; nil: all
	Hydrate            bool                          // read the whole items of an index's entries
	Fresh              bool                          // read them consistently
	Scanned            func(entitytype.ScanProgress) // called after each request of a scan; nil: not reported
	Strong             bool
	Skip               bool
	Budget             *bind.Pace // paces the requests; may be nil
}

// filter returns the filter expression: everything besides the key condition.
func (p *Plan) filter(now time.Time) expr.Cond {
	base, alive := p.Base(), expr.Cond{}
	switch {
	case p.Expire:
		alive = layout.NotExpired(p.Schema, now)
	case p.Range.Op == expr.None && p.User.Op == expr.None:
		return base
	}
	return expr.All(base, p.Range, alive, p.User)
}

func terms(c expr.Cond) []expr.Cond {
	switch c.Op {
	case expr.None:
		return nil
	case expr.And:
		return slices.Clone(c.Conds)
	}
	return []expr.Cond{c}
}

// sent returns the part of the filter that DynamoDB evaluates. With Hydrate, it does not know attributes that the index does not carry.
func (p *Plan) sent(now time.Time) expr.Cond {
	if !p.Hydrate {
		return p.filter(now)
	}
	known := func(c expr.Cond) bool {
		carried := true
		c.Roots(func(name string) { carried = carried && p.Schema.Carries(p.Index, name) })
		return carried
	}
	q := *p
	q.Hydrate, q.Range, q.User = false, expr.Cond{}, expr.Cond{}
	conds := []expr.Cond{q.filter(now)}
	var split func(expr.Cond)
	split = func(c expr.Cond) {
		switch {
		case known(c):
			conds = append(conds, c)
		case c.Op == expr.And:
			for _, part := range c.Conds {
				split(part)
			}
		}
	}
	split(p.Range)
	split(p.User)
	return expr.All(conds...)
}

// String prints the query: what is read, the key condition and the filter; of several partitions the query of each.
func (p *Plan) String() string {
	if p.parts != nil {
		title := p.Verb + " " + p.Schema.Name + ": "
		if p.Err != nil {
			return title + p.Err.Error()
		}
		title += fmt.Sprintf("%d partitions in one order", len(p.parts))
		for _, part := range p.parts {
			title += "\n" + part.String()
		}
		return title
	}
	title := p.Verb + " " + p.Schema.Name + " on " + p.Table
	if p.Index != nil {
		title += " index " + p.Index.Index
	}
	if p.Err != nil {
		return title + ": " + p.Err.Error()
	}
	if p.Nothing {
		return title + "\n  nothing can match: no request"
	}
	r := layout.Printer(p.Schema)
	var b strings.Builder
	b.WriteString(title)
	if !p.Scan {
		b.WriteString("\n  key    " + r.Cond(p.Key))
	}
	now := p.Runner.Clock()
	if f := p.sent(now); f.Op != expr.None {
		b.WriteString("\n  filter " + r.Cond(f))
	}
	if p.InMemory.Op != expr.None {
		b.WriteString("\n  keep   " + r.Cond(p.InMemory))
	}
	if p.Hydrate {
		b.WriteString("\n  then   read the whole items")
		if p.Fresh {
			b.WriteString(" consistently")
		}
		if f := p.filter(now); f.Op != expr.None {
			b.WriteString(", keep " + r.Cond(f))
		}
	}
	if p.Segment != nil {
		fmt.Fprintf(&b, "\n  part   segment %d of %d", p.Segment.Number, p.Segment.Of)
	}
	if p.Desc {
		b.WriteString("\n  order  descending")
	}
	if p.Limit > 0 {
		fmt.Fprintf(&b, "\n  limit  %d", p.Limit)
	}
	if p.Strong {
		b.WriteString("\n  read   consistently")
	}
	return b.String()
}

// Found returns what a write of an item that was read needs: its primary key; the item, nil if the query returns a part of it; and what
// holds as long as it matches the query and has the same keys of its index.
func (p *Plan) Found(it wire.Item) (key, whole item.Item, match expr.Cond) {
	conds := []expr.Cond{p.Schema.Exists, p.Base(), p.User}
	if p.Project == nil && (p.Index == nil || p.Hydrate || p.Index.Project.All) {
		whole = it.Map()
	}
	if p.Index != nil {
		for _, name := range slices.Concat(p.PK.Attributes(), p.SK.Attributes()) {
			conds = append(conds, expr.Compare(expr.Eq, expr.Attr(name), it.Get(name)))
		}
	}
	return it.Pick(p.Schema.KeyNames()...), whole, expr.All(conds...)
}

// binding returns the text whose fingerprint binds cursors to this query.
func (p *Plan) binding() string {
	if p.parts != nil {
		texts := []string{p.Verb}
		for _, part := range p.parts {
			texts = append(texts, part.binding())
		}
		return strings.Join(texts, "\x00\x00")
	}
	index := ""
	if p.Index != nil {
		index = p.Index.Index
	}
	order := "asc"
	if p.Desc {
		order = "desc"
	}
	key := expr.Printer(expr.Path.String, func(_ []expr.Path, av types.AttributeValue) string { return item.ValueText(av) }).Cond(p.Key)
	parts := []string{p.Verb, p.Table, p.Schema.Name, index, order, key}
	if p.Segment != nil {
		parts = append(parts, fmt.Sprintf("segment %d of %d", p.Segment.Number, p.Segment.Of))
	}
	return strings.Join(parts, "\x00")
}

// keyAttrs returns the attributes that are an item's position in the query.
func (p *Plan) keyAttrs() []cursor.Attr {
	keys := []*schema.KeyDef{p.Schema.PK, p.Schema.SK}
	if p.Index != nil {
		keys = append(keys, p.PK, p.SK)
	}
	var attrs []cursor.Attr
	for _, k := range keys {
		for i, name := range k.Attributes() {
			a := cursor.Attr{Name: name, Type: k.Type}
			if k.Native != nil {
				a.Type = k.Native[i].Scalar
			}
			if !slices.Contains(attrs, a) {
				attrs = append(attrs, a)
			}
		}
	}
	return attrs
}

// fixed returns the key attributes that have one value in the whole query. Cursors leave them out: the query has them,
// and they may be secret or expose how an index is built.
func (p *Plan) fixed() item.Item {
	it := item.Item{}
	for _, c := range terms(p.Key) {
		if c.Op == expr.Eq && len(c.Path) == 1 {
			it[c.Path.Root()] = c.Values[0]
		}
	}
	return it
}

// Where returns the partition, for errors and reports; secret and unique parts are hidden.
func (p *Plan) Where() string {
	if p.where != "" {
		return p.where
	}
	return layout.ErrorText(p.Schema, p.Partition)
}
